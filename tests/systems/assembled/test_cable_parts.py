"""Cables of models, their ends on bodies and what slides along them: reductions, the assembled system by hand, beams, files, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import elements as el
from jourdain.errors import InputError, ModelError
from jourdain.structures import Material, beam, cable, circle

SECTION, RUBBER = circle(0.02), Material(5e6, 0.45, 1100.0)


def line(**resistance: Any) -> jd.Model:
    """A cable between two points with a ring on it."""
    m = jd.Model("line")
    viscosity = resistance.pop("viscosity", 0.0)
    rope = m.flexible_body("rope", cable((0, 0, 0), (2, 0, 0), SECTION, RUBBER, elements=8, viscosity=viscosity), modes=3)
    m.spherical("left", m.ground, rope.node("start"))
    m.spherical("right", m.ground.at(2, 0, 0), rope.node("end"))
    ring = m.body("ring", 0.3, inertia=(1e-4, 1e-4, 1e-4))
    m.free("ring", m.ground, ring)
    m.initial["ring.x"] = 0.6
    rope.slide("along", ring, at=0.6, **resistance)
    return m


@pytest.mark.parametrize(
    "resistance",
    [
        {},
        {"damping": 0.3},
        {"friction": 0.1, "stiffness": 1e3},
        {"friction": 0.05, "damping": 0.05, "stiffness": 1e3},
        {"coefficient": 0.03, "speed": 0.01},
        {"viscosity": 30.0},
        {"coefficient": 0.02, "damping": 0.05, "viscosity": 10.0},
    ],
)
def test_every_reduction_gives_the_same_motion(resistance: dict[str, float]) -> None:
    """Over bounds of pieces, with each resistance; the balance is exact."""
    expected: Any = None
    for reduction in ("none", "projection", "bodies", "joints"):
        sol = line(**resistance).compile(formulation="directors", reduction=reduction).simulate({}, t=0.6, step=0.005)
        expected = expected or sol
        assert sol["ring.position"] == pytest.approx(expected["ring.position"], abs=1e-9)
        assert np.ptp(sol["energy.total"] + sol["energy.dissipated"]) < 1e-11
        assert sol["constraints.violation"].max() < 1e-12
        assert sol["along"].max() > 0.75  # the next piece
        assert (sol["energy.dissipated"][-1] > 1e-3) == bool(resistance)


def test_it_is_the_assembled_system_by_hand() -> None:
    s = jd.AssembledSystem("by hand")
    about = {"axial": RUBBER.E * SECTION.area, "bending": RUBBER.E * SECTION.Iy, "mass_per_length": RUBBER.density * SECTION.area}
    rope = s.cable("rope", np.linspace((0, 0, 0), (2, 0, 0), 9), **about, gravity=(0, 0, -9.81), start="pinned", end="pinned")
    ring = s.coordinates("ring", 12, el.DirectorBody.coordinates_of((0.6, 0, 0)))
    s.add(el.DirectorBody(), "ring.body", {"body": ring}, el.DirectorBody.numbers(0.3, (1e-4,) * 3, gravity=(0, 0, -9.81)))
    s.slide("along", rope, ring, at=0.6)
    expected = s.simulate(0.6, 0.005)
    sol = line().compile(formulation="directors").simulate({}, t=0.6, step=0.005)
    assert sol["along"] == pytest.approx(expected["along"], abs=1e-9)
    assert sol["rope.4"] == pytest.approx(expected["rope.4"], abs=1e-9)


def test_runs_go_on_and_start_again() -> None:
    s = line(damping=0.1).compile(formulation="directors", reduction="bodies")
    whole = s.simulate({}, t=0.6, step=0.005)
    last = s.simulate(s.simulate({}, t=0.5, step=0.005), t=0.1, step=0.005)
    assert last["ring.position"][-1] == pytest.approx(whole["ring.position"][-1], abs=1e-10)
    assert s.simulate({}, t=0.6, step=0.005)["along"] == pytest.approx(whole["along"], abs=1e-12)


def hinged(kind: Any, elements: int) -> jd.Solution:
    """A rod that a hinged body carries by its root, with a body at its end."""
    m = jd.Model("rod")
    hub, tip = m.body("hub", 0.5, inertia=(0.01, 0.01, 0.01)), m.body("tip", 0.05, inertia=(1e-5, 1e-5, 1e-5))
    m.joint_spring(m.revolute("hinge", m.ground, hub, axis="y"), stiffness=5.0)
    part = kind((0, 0, 0), (1, 0, 0), SECTION, Material(2e7, 0.45, 1100.0), elements=elements)
    m.flexible_body("rod", part, attach={"start": hub, "end": tip}, modes=3)
    return m.compile(formulation="directors", reduction="bodies").simulate({}, t=0.5, step=0.005)


def test_ends_on_bodies_are_clamped() -> None:
    """Place and turn of what a cable carries are those of a beam by directors, which shears little, as elements become smaller."""
    errors = []
    for n in (8, 16):
        a, b = hinged(cable, n), hinged(beam, n)
        assert np.ptp(a["energy.total"]) < 1e-11 and np.abs(a["tip.position"][:, 2]).max() > 0.9
        errors.append(np.abs(a["tip.position"] - b["tip.position"]).max())
    assert errors[1] < 1e-3 and errors[1] < 0.2 * errors[0]
    assert np.einsum("tij,tij->t", a["tip.rotation"], b["tip.rotation"]).min() > 2.9995


@pytest.mark.parametrize("resistance", [{"friction": 0.1, "damping": 0.05}, {"coefficient": 0.2, "speed": 0.02, "viscosity": 20.0}])
def test_files_and_sub_models(tmp_path: Path, resistance: dict[str, float]) -> None:
    m = line(**resistance)
    m.save(tmp_path / "line.toml")
    again = jd.load_model(tmp_path / "line.toml")
    again.save(tmp_path / "again.toml")
    assert (tmp_path / "line.toml").read_text() == (tmp_path / "again.toml").read_text()
    a, b = (x.compile(formulation="directors").simulate({}, t=0.2, step=0.01) for x in (m, again))
    assert (a["ring.position"] == b["ring.position"]).all()
    whole = jd.Model("two lines")
    whole.include(line(**resistance), "first")
    sol = whole.compile(formulation="directors").simulate({}, t=0.2, step=0.01)
    assert sol["first.along"] == pytest.approx(a["along"], abs=1e-12)


def test_by_modes_it_is_a_beam() -> None:
    part, other = (f((0, 0, 0), (1, 0, 0), SECTION, RUBBER, elements=8) for f in (cable, beam))
    assert part.fixed_frequencies("start", 4) == pytest.approx(other.fixed_frequencies("start", 4), rel=1e-12)


def test_refusals() -> None:
    for formulation in ("recursive", "cartesian", "semi-recursive"):
        with pytest.raises(InputError, match=f"formulation '{formulation}' lets nothing slide along a cable, but 'along' slides on 'rope'"):
            line().compile(formulation=formulation)
        m = jd.Model("m")
        m.flexible_body(
            "rope", cable((0, 0, 0), (1, 0, 0), SECTION, RUBBER, elements=4, viscosity=3.0), attach={"start": m.ground}, modes=2
        )
        with pytest.raises(
            InputError, match=f"formulation '{formulation}' takes cables by their modes .* 'rope' has 3 N s; use formulation 'directors'"
        ):
            m.compile(formulation=formulation)
    with pytest.raises(InputError, match="viscosity = -1 N s must not be negative"):
        cable((0, 0, 0), (1, 0, 0), SECTION, RUBBER, viscosity=-1.0)
    m = line()
    rope: Any = m.bodies["rope"]
    with pytest.raises(ModelError, match="slider 'more' on 'rope': speed = 0 must be positive"):
        rope.slide("more", m.bodies["ring"], at=0.5, speed=0.0)
    with pytest.raises(ModelError, match="slider 'along' on 'rope': the name is taken"):
        rope.slide("along", m.bodies["ring"], at=0.5)
    with pytest.raises(ModelError, match="slider 'more' on 'rope': friction = -1 must not be negative"):
        rope.slide("more", m.bodies["ring"], at=0.5, friction=-1.0)
    with pytest.raises(ModelError, match="what slides is a point of a rigid body"):
        rope.slide("more", m.ground, at=0.5)
    m.initial["ring.z"] = 0.1
    with pytest.raises(InputError, match="flexible body 'rope': .*the point of 'ring' is 0.1 m away from the cable at 0.6 m"):
        m.compile(formulation="directors").simulate({}, t=0.1, step=0.01)
    m = jd.Model("m")
    rod = m.flexible_body("rod", cable((0, 0, 0), (1, 0, 0), SECTION, RUBBER, elements=4), modes=2)
    m.revolute("hinge", m.ground, rod.node("start"), axis="y")
    with pytest.raises(InputError, match="joint 'hinge' is revolute, but a cable transmits no moments"):
        m.compile(formulation="directors")
    m = jd.Model("m")
    rod = m.flexible_body("rod", cable((0, 0, 0), (1, 0, 0), SECTION, RUBBER, elements=4), attach={"start": m.ground}, modes=2)
    m.load("twist", rod.node("end"), torque=(0, 1.0, 0))
    with pytest.raises(InputError, match="load 'twist' has a torque, but a cable's node takes none"):
        m.compile(formulation="directors")
    bar = m.flexible_body("bar", beam((0, 0, 0), (1, 0, 0), SECTION, RUBBER, elements=4), modes=2)
    with pytest.raises(ModelError, match="slider 's' on 'bar': 'bar' is no cable"):
        bar.slide("s", m.body("b", 1.0), at=0.0)
