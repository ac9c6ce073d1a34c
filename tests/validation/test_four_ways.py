"""The same motion by different formulations: positions, multipliers and reactions agree to integrator tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jourdain import Model
from jourdain.library import four_bar
from tests.validation.circles import closed_four_bar

LENGTHS = {"crank": 0.35, "coupler": 0.8, "rocker": 0.7}
TIMES = np.linspace(0.0, 2.0, 41)
OPTIONS: dict[str, Any] = {"method": "dop853", "rtol": 1e-11, "atol": 1e-13, "times": TIMES}


def start(system: Any) -> Any:
    """Crank at 0.5 rad, turning with 6 rad/s."""
    coupler, rocker = closed_four_bar(0.5, 1)
    return system.assemble({"crank": 0.5}, guess={"coupler": coupler, "rocker": rocker}, velocities={"crank": 6.0})


def absolute_four_bar() -> Model:
    """The same linkage with every rod free in the plane and every joint a constraint (eight equations)."""
    m = Model("absolute four-bar", gravity=(0, -9.81, 0))
    rods = {}
    for name, length in LENGTHS.items():
        rods[name] = m.body(name, mass=length, com=(length / 2, 0, 0), inertia=(0, length**3 / 12, length**3 / 12))
        m.planar(name, m.ground, rods[name])
    m.close("A", m.ground, rods["crank"], "ball")
    m.close("B", rods["crank"].at(0.35, 0, 0), rods["coupler"], "ball")
    m.close("C", m.ground.at(1.0, 0, 0), rods["rocker"], "ball")
    m.close("loop", rods["coupler"].at(0.8, 0, 0), rods["rocker"].at(0.7, 0, 0), "ball")
    return m


@pytest.fixture(scope="module")
def motion() -> Any:
    """Joint coordinates, all of them, put back onto the constraints."""
    system = four_bar().compile()
    return system.simulate(start(system), 2.0, **OPTIONS)


@pytest.mark.parametrize("formulation", ["reduced", "closed"])
def test_independent_coordinates(motion: Any, formulation: str) -> None:
    """One independent coordinate, the loop closed by Newton or in closed form."""
    system = four_bar().compile()
    other = system.simulate(start(system), 2.0, reduction=formulation, **OPTIONS)
    for name in ("crank", "coupler", "rocker"):
        assert other[f"{name}.angle"] == pytest.approx(motion[f"{name}.angle"], abs=2e-9)
        assert other[f"{name}.angle_rate"] == pytest.approx(motion[f"{name}.angle_rate"], abs=2e-8)
    assert other["loop.reaction"] == pytest.approx(motion["loop.reaction"], abs=1e-6)


def test_absolute_coordinates(motion: Any) -> None:
    """Nine coordinates and eight constraints: same motion, same pin forces as reactions of the tree's joints."""
    system = absolute_four_bar().compile()
    first = motion.system.configuration
    angles = {"crank": motion["crank.angle"][0], "rocker": motion["rocker.angle"][0]}
    angles["coupler"] = angles["crank"] + motion["coupler.angle"][0]
    guess = {f"{n}.angle": a for n, a in angles.items()}
    guess |= {"coupler.x": 0.35 * np.cos(0.5), "coupler.y": 0.35 * np.sin(0.5), "rocker.x": 1.0}
    state = system.assemble({"crank.angle": 0.5}, guess=guess, velocities={"crank.angle": 6.0})
    assert (state.report.freedoms, first.nv, system.nv) == (1, 3, 9)
    other = system.simulate(state, 2.0, **OPTIONS)
    assert other["crank.angle"] == pytest.approx(motion["crank.angle"], abs=2e-9)
    assert other["rocker.angle"] == pytest.approx(motion["rocker.angle"], abs=2e-9)
    assert other["coupler.angle"] == pytest.approx(motion["crank.angle"] + motion["coupler.angle"], abs=2e-9)
    for pin, joint in {"A": "crank", "B": "coupler", "C": "rocker", "loop": "loop"}.items():
        assert other[f"{pin}.reaction"] == pytest.approx(motion[f"{joint}.reaction"], abs=1e-6)


def test_differential_algebraic_equations_with_multipliers(motion: Any) -> None:
    """Generalised-α on the index-3 equations converges to the same motion with order 2, and to the same pin force."""
    system = four_bar().compile()
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        other = system.simulate(start(system), 2.0, method="generalized-alpha", step=step, rho=0.9)
        rows = np.searchsorted(other.t, TIMES - 1e-9)
        errors.append(np.abs(other["crank.angle"][rows] - motion["crank.angle"]).max())
    assert errors[-1] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.2)
    assert np.abs(other["loop.reaction"][rows] - motion["loop.reaction"]).max() < 0.02 * np.abs(motion["loop.reaction"]).max()


def test_stiff_springs_in_place_of_the_pin(motion: Any) -> None:
    """Penalty limit: a spring of stiffness k closes the loop; the difference to the ideal pin falls like 1/k."""
    differences = []
    for stiffness in (1e5, 1e6):
        m = Model("elastic four-bar", gravity=(0, -9.81, 0))
        rods = {n: m.body(n, mass=L, com=(L / 2, 0, 0), inertia=(0, L**3 / 12, L**3 / 12)) for n, L in LENGTHS.items()}
        m.revolute("crank", m.ground, rods["crank"], axis="z")
        m.revolute("coupler", rods["crank"].at(0.35, 0, 0), rods["coupler"], axis="z")
        m.revolute("rocker", m.ground.at(1.0, 0, 0), rods["rocker"], axis="z")
        end, pin = m.sensor("end", rods["coupler"].at(0.8, 0, 0)), m.sensor("pin", rods["rocker"].at(0.7, 0, 0))
        pull = (pin.position - end.position) * stiffness + (pin.velocity - end.velocity) * (stiffness * 1e-3)
        m.load("pin on coupler", rods["coupler"].at(0.8, 0, 0), force=pull)
        m.load("pin on rocker", rods["rocker"].at(0.7, 0, 0), force=-pull)
        system = m.compile()
        state = {n: motion[n][0] for n in motion.system.coordinate_names + motion.system.velocity_names}
        other = system.simulate(state, 0.5, method="radau", rtol=1e-9, atol=1e-11)
        expected = motion.at(0.5)["crank.angle"]
        differences.append(abs(other["crank.angle"][-1] - expected))
    assert differences[0] < 5e-3
    assert differences[1] < 0.15 * differences[0]
