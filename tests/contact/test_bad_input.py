"""What cannot be answered is refused by one line that names the object, the value and the remedy."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.cli import main

C = jd.contact

BALL = C.ball(0.015, E=210e9, nu=0.3, density=7780.0)
ROD = C.rod(1.0, 0.01, E=70.5e9, density=2710.0)
ALUMINIUM = {"E": 70.5e9, "density": 2710.0}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: C.ball(-0.015, E=210e9, density=7780.0), ["ball", "radius = -0.015", "positive"]),
        (lambda: C.rod(1.0, 0.01, E=-1.0, density=2710.0), ["E = -1", "positive"]),
        (lambda: C.rod(1.0, 0.01, E=1e11, nu=0.6, density=2710.0), ["nu = 0.6"]),
        (lambda: C.rod(1.0, 0.01, density=2710.0), ["rod", "E is missing"]),
        (lambda: C.rod(1.0, 0.01, E=1e11), ["rod", "density is missing"]),
        (lambda: C.rod(1.0, 0.01, viscousity=1e-8, **ALUMINIUM), ["rod", "viscousity", "viscosity"]),
        (lambda: C.rod(1.0, 0.01, viscosity=-1.0, **ALUMINIUM), ["rod", "viscosity = -1"]),
        (lambda: C.rod(1.0, 0.01, other_end="held", **ALUMINIUM), ["rod", "held", "'free' or 'fixed'"]),
        (lambda: C.beam(1.0, 0.01, at=2.0, **ALUMINIUM), ["beam", "at = 2", "length 1"]),
        (lambda: C.beam(1.0, 0.01, at=0.3333, **ALUMINIUM).elastic(), ["beam", "at = 0.3333", "elements"]),
        (lambda: jd.restitution(BALL, ROD, 0.0), ["speed = 0.0", "positive"]),
        (lambda: jd.restitution(BALL, ROD, float("nan")), ["speed = nan"]),
        (lambda: jd.restitution(BALL, "rod", 0.3), ["'rod'", "jd.contact.rod"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "magic"), ["magic", "waves"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "waves", modes=10), ["modes = 10", "'waves'", "'modes'"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "modes", mode=10), ["'mode'", "modes"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "modes", cutoff=-1.0), ["cutoff = -1.0", "positive"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, hardening=0.0), ["hardening = 0"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, hardening=2.0, law=C.NormalForce(1e9)), ["hardening = 2", "law"]),
        (lambda: jd.restitution(ROD, ROD, 0.3, "waves"), ["rod", "touch in a point", "law="]),
        (lambda: jd.restitution(BALL, C.plate(0.2, 0.005, **ALUMINIUM), 0.3, "waves"), ["plate", "'waves'", "'modes'"]),
        (lambda: jd.restitution(BALL, C.rod(1.0, 0.01, viscosity=1e-8, **ALUMINIUM), 0.3, "waves"), ["viscosity = 1e-08", "'modes'"]),
        (lambda: jd.restitution(BALL, C.rod(1.0, 0.01, other_end="fixed", **ALUMINIUM), 0.3, "modes"), ["fixed", "'waves'"]),
        (lambda: jd.restitution(BALL, C.plate(0.2, 0.005, **ALUMINIUM), 0.3, "finite elements", contact="penalty"), ["plate", "penalty", "hertz"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "finite elements", contact="glue"), ["glue", "penalty"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "finite elements", contact="penalty", hardening=1.7), ["penalty", "hardening"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "finite elements", law=C.NormalForce(1e9, 1.0, 10.0)), ["damping = 10", "'modes'"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "waves").table(0.8, 0.05), ["0.8", "0.05", "increase"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "waves").history.b.strain(1.5, 0.0), ["1.5", "length 1"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "waves").history.a.strain(0.0, 0.0), ["rigid"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "waves", until=1e-4).history.b.velocity(0.0, 1.0), ["until"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "finite elements", penalty=2.0), ["penalty = 2.0", "contact='penalty'"]),
        (lambda: jd.restitution(BALL, ROD, 0.3, "finite elements", contact="penalty", size=0.01), ["size = 0.01", "'hertz'"]),
        (lambda: jd.restitution(BALL, C.rod(1.0, 0.01, other_end="fixed", **ALUMINIUM), 0.3, "finite elements"), ["fixed", "'waves'"]),
        (lambda: C.NormalForce(-1.0), ["stiffness = -1"]),
        (lambda: C.NormalForce(1e9, 0.5), ["exponent = 0.5"]),
        (lambda: C.curvature_factor(1.5), ["A/B = 1.5"]),
        (lambda: C.hertz_stiffness(C.Surface(1e11, 0.3), C.Surface(1e11, 0.3, (5.0, 0.0))), ["surface", "point"]),
        (lambda: C.regularised_friction(1.0, 1.0, -0.1, 1e-3), ["mu = -0.1"]),
        (lambda: C.regularised_friction(1.0, 1.0, 0.1, 0.0), ["speed = 0"]),
        (lambda: C.ResponseBounds(np.eye(2), np.eye(2), np.diag([1.0, 0.0]), [0, 0], [1, 1]), ["K", "positive definite", "rigid"]),
        (lambda: C.ResponseBounds(np.eye(2), [[0, 1], [-1, 0]], np.eye(2), [0, 0], [1, 1]), ["D", "symmetric"]),
        (lambda: C.ResponseBounds(np.eye(2), np.eye(2), np.eye(2), [0], [1]), ["y0", "2 rows"]),
        (lambda: C.rigid_impacts(np.eye(2), [[1.0], [0.0]], [1.0, 0.0], 1.2), ["1.2", "at most 1"]),
        (lambda: C.rigid_impacts(np.zeros((2, 2)), [[1.0], [0.0]], [1.0, 0.0], 1.0), ["M", "mass"]),
        (lambda: C.rigid_impacts(np.eye(2), [[1.0]], [1.0, 0.0], 1.0), ["W (1, 1)", "column"]),
        (lambda: C.strike(BALL, ROD, 0.3, until=0.0), ["until = 0.0"]),
        (lambda: C.strike(BALL, ROD, 0.3, until=1.0, relative=-1.0), ["relative = -1"]),
        (lambda: C.strike(BALL, ROD, 0.3, until=1e-3, modes=3).velocity(0.0, 0.0, body="c"), ["'c'", "'a'"]),
        (lambda: C.power_spectrum(np.arange(100) / 1e3, np.zeros(100), window=1.0), ["window", "0.099"]),
        (lambda: C.power_spectrum(np.arange(100.0) ** 2, np.zeros(100)), ["equal time steps"]),
        (lambda: C.identify_damping(np.arange(100) / 1e5, np.zeros(100), ROD), ["suspension"]),
        (lambda: C.write_wav("x.wav", [np.nan]), ["finite"]),
        (lambda: C.structure(jd.structures.block((1, 1, 1), (1, 1, 1), jd.structures.STEEL), 0, "w", E=2e11), ["'w'", "'-z'"]),
    ],
)  # fmt: skip
def test_refusals(call, words: list[str]) -> None:
    with pytest.raises(jd.InputError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"


def test_bodies_that_do_not_part() -> None:
    """A heavy ball on a short fixed rod is still there when the run must end: told, unless the user says until when."""
    heavy, wall = C.ball(0.1, E=210e9, density=7780.0), C.rod(0.1, 0.01, **ALUMINIUM, other_end="fixed")
    law = C.NormalForce(1e12, 1.0)
    with pytest.raises(jd.SolverError, match=r"'ball' and 'rod' did not part.*until="):
        jd.restitution(heavy, wall, 0.05, "waves", law=law)
    early = jd.restitution(heavy, wall, 0.05, "waves", law=law, until=2e-4)
    assert not early.history.finished
    assert "longer until=" in str(early)


def test_names_of_the_room() -> None:
    assert set(C.__all__) <= set(dir(C))
    for name in C.__all__:
        assert getattr(C, name) is not None
    with pytest.raises(AttributeError, match="jd.contact has no 'rodd'"):
        getattr(C, "rodd")  # noqa: B009


ARGUMENTS = ["restitution", "ball:radius=15mm,E=210GPa,nu=0.3,density=7780", "rod:length=1,radius=10mm,E=70.5GPa,density=2710"]


def test_command(capsys, tmp_path) -> None:
    assert main([*ARGUMENTS, "--model", "waves", "--table", "0.2:0.4", "-o", str(tmp_path / "e.csv")]) == 0
    told = capsys.readouterr().out
    assert "e = 0.6440" in told
    data = np.genfromtxt(tmp_path / "e.csv", delimiter=",", skip_header=1)
    assert abs(np.interp(0.3, data[:, 0], data[:, 1]) - 0.6440) < 1e-3
    assert main([*ARGUMENTS, "-o", str(tmp_path / "f.csv")]) == 0
    assert np.genfromtxt(tmp_path / "f.csv", delimiter=",", skip_header=1)[:, 1].max() == pytest.approx(472, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["restitution", "egg:radius=1", ARGUMENTS[2]], "egg"),
        (["restitution", "ball:radius=15kg,E=210GPa,density=7780", ARGUMENTS[2]], "radius"),
        (["restitution", "ball:E=210GPa,density=7780", ARGUMENTS[2]], "radius"),
        (["restitution", "ball:radius", ARGUMENTS[2]], "NAME=VALUE"),
        ([*ARGUMENTS, "--table", "high"], "LOW:HIGH"),
    ],
)
def test_command_refuses(capsys, arguments: list[str], word: str) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert word in told
    assert told.count("\n") == 1
