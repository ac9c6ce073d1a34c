"""A sleigh with a trailer, each on a knife edge, and a disk that rolls: velocities are constrained.  Every way gives the numbers of the default or
refuses."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.library.nonholonomic import rolling_wheel
from jourdain.results import Solution
from tests.systems.test_every_way import WAYS, Way


def sleigh_with_trailer(event: str = "") -> jd.Model:
    m = jd.Model("sleigh with trailer")
    sleigh = m.body("sleigh", mass=1.5, com=(0.2, 0.03, 0), inertia=(0.2, 0.2, 0.3))
    trailer = m.body("trailer", mass=0.8, com=(-0.3, 0, 0), inertia=(0.05, 0.05, 0.1))
    place = m.planar("place", m.ground, sleigh)
    hitch = m.revolute("hitch", sleigh.at(-0.2, 0, 0), trailer, axis="z", damping=0.05)
    x, y, heading = place.coordinates
    theta = heading.q[0]
    m.nonholonomic("blade", jd.cos(theta) * y.v[0] - jd.sin(theta) * x.v[0])
    edge = m.sensor("edge", trailer.at(-0.5, 0, 0))
    R, v = edge.rotation, edge.velocity
    m.nonholonomic("trail", R[0, 1] * v.x + R[1, 1] * v.y)
    m.force(hitch, m.input("motor", 0.4))
    m.load("push", sleigh, force=(1.0, 0, 0), axes=sleigh)
    if event == "terminal":
        m.event("wide", hitch.position - 0.0, terminal=True)
    if event == "jump":
        m.event("wide", hitch.position - 0.0, jump={hitch.velocity: 0.5 * hitch.velocity})
    return m


def start(s: jd.System) -> Any:
    return s.assemble({"place.angle": 0.3, "hitch.angle": -0.2}, velocities={"place.angle_rate": 0.5, "hitch.angle_rate": 0.7})


def controlled(s: jd.System, **run: Any) -> Solution:
    return s.simulate(start(s), 0.4, inputs={"motor": jd.Controller(lambda x: -2.0 * x["hitch.angle_rate"], 0.05)}, **run)


def restarted(s: jd.System, **run: Any) -> Solution:
    signal = {"motor": lambda t: 0.5 * jd.sin(9.0 * t)}
    return s.simulate(s.simulate(start(s), 0.13, inputs=signal, **run), (0.13, 0.4), inputs=signal, **run)


CASES: dict[str, Callable[..., Solution]] = {
    "terminal": lambda s, **run: s.simulate(start(s), 0.6, **run), "jump": lambda s, **run: s.simulate(start(s), 0.6, **run),
    "controller": controlled, "restart with a signal": restarted,
}  # fmt: skip


@functools.cache
def expected(case: str) -> Solution:
    return CASES[case](sleigh_with_trailer(case).compile(), rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_edges_give_the_same_numbers_or_a_refusal(way: Way, case: str) -> None:
    try:
        found = CASES[case](sleigh_with_trailer(case).compile(formulation=way.formulation, **way.compiled), **way.run)
    except InputError as error:
        assert any(word in f"{way}" for word in ("closed", "augmented-lagrangian")), error
        return
    exact = expected(case)
    assert found.t[-1] == pytest.approx(exact.t[-1], abs=10 * way.near)
    if case in ("terminal", "jump"):
        assert found.statistics["events"] == exact.statistics["events"] == 1
    for name, scale in {
        "place.x": 1,
        "place.y": 1,
        "hitch.angle": 1,
        "hitch.angle_rate": 10,
        "blade.multiplier": 30,
        "energy.supplied": 5,
    }.items():
        assert found[name][-1] == pytest.approx(exact[name][-1], abs=scale * way.near), name


# --- a disk that rolls, its orientation by Euler parameters ----------------------------------------------------------


def disk(event: str = "") -> jd.Model:
    m, r = jd.Model("disk", gravity=(0, 0, -9.81)), 0.1
    body = m.body("disk", mass=0.5, inertia=(0.5 * r**2 / 4, 0.5 * r**2 / 4, 0.5 * r**2 / 2))
    place = m.free("place", m.ground, body, orientation="quaternion")
    rolling_wheel(m, "rolling", body, body, r, axis="z")
    m.load("push", body, force=(m.input("motor", 0.3), 0, 0))
    if event == "terminal":
        m.event("far", place.coordinates[0].q[0] - 0.15, terminal=True)
    if event == "jump":  # all rates by the same part: the disk goes on rolling
        m.event("far", place.coordinates[0].q[0] - 0.05, jump={v: 0.9 * v for c in place.coordinates for v in c.v})
    return m


def leaning(s: jd.System) -> Any:
    lean = {"place.orientation.e0": np.cos(0.6), "place.orientation.e1": np.sin(0.6)}
    rates = {"place.orientation.omega_x": 0.3, "place.orientation.omega_z": -8.0}
    return s.assemble({}, guess={"place.z": 0.095, **lean}, velocities=rates)


def pushed(s: jd.System, **run: Any) -> Solution:
    signal = {"motor": lambda t: 0.5 * jd.sin(9.0 * t)}
    return s.simulate(s.simulate(leaning(s), 0.13, inputs=signal, **run), (0.13, 0.4), inputs=signal, **run)


ROLLS: dict[str, Callable[..., Solution]] = {
    "terminal": lambda s, **run: s.simulate(leaning(s), 0.4, **run), "jump": lambda s, **run: s.simulate(leaning(s), 0.4, **run),
    "restart with a signal": pushed,
}  # fmt: skip
#: Channels with the error allowed as a multiple of the way's own.
ROLLED = {
    "place.x": 1,
    "place.y": 1,
    "place.z": 1,
    "place.orientation.e3": 1,
    "place.x_rate": 10,
    "rolling.slip_x.multiplier": 10,
    "energy.supplied": 5,
}


@functools.cache
def rolled(case: str) -> Solution:
    return ROLLS[case](disk(case).compile(), rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", ROLLS)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_disk_rolls_with_the_same_numbers_or_a_refusal(way: Way, case: str) -> None:
    try:
        found = ROLLS[case](disk(case).compile(formulation=way.formulation, **way.compiled), **way.run)
    except InputError as error:
        assert any(word in f"{way}" for word in ("closed", "augmented-lagrangian")), error
        return
    exact = rolled(case)
    assert found.t[-1] == pytest.approx(exact.t[-1], abs=10 * way.near)
    shorter = (
        case == "terminal" and "generalized-alpha" in f"{way}"
    )  # a last step of another length: its multipliers are those of half a step before, and rise by 24 N/s
    for name, scale in (ROLLED | ({"rolling.slip_x.multiplier": 75} if shorter else {})).items():
        assert found[name][-1] == pytest.approx(exact[name][-1], abs=scale * way.near), name


@pytest.mark.parametrize("method", ["generalized-alpha", "hht", "newmark", "trapezoidal", "midpoint", "variational", "energy-momentum"])
def test_directors_roll_with_order_two(method: str) -> None:
    """Multipliers of rows on velocities act where the scheme evaluates forces; at the mean coordinates they would cost an order."""
    s, exact = disk().compile(formulation="directors"), disk().compile().simulate(leaning(disk().compile()), 0.2, rtol=1e-11, atol=1e-13)
    options = {"alpha": -0.1} if method == "hht" else {}
    errors = []
    for step in (2e-3, 1e-3):
        found = s.simulate(leaning(s), 0.2, method=method, step=step, **options)
        errors.append(max(abs(found[n][-1] - exact[n][-1]) for n in ("place.x", "place.y", "place.orientation.e3")))
    assert 3.5 < errors[0] / errors[1] < 4.5, errors
