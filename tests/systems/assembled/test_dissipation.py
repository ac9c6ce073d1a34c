"""Dampers, memory and friction in every scheme: order of convergence against closed forms, and books of what is dissipated."""

import numpy as np
import pytest

import jourdain as jd
from jourdain.elements.discrete.schemes import NAMES
from jourdain.elements.dissipation import Plastic, PointDashpot, Viscoelastic, Viscous
from jourdain.elements.element import Element
from jourdain.elements.potentials import CoordinatePotential, PointMass
from jourdain.systems.assembled.system import AssembledSystem


def oscillator(damper: Element, constants: dict[str, float]) -> AssembledSystem:
    s = AssembledSystem("oscillator")
    x = s.coordinates("x", 1, 1.0)
    s.add(PointMass(1), "mass", {"x": x}, {"mass": 1.0})
    s.add(CoordinatePotential(), "spring", {"x": x}, {"stiffness": 4.0, "rest": 0.0})
    s.add(damper, "damper", {"x": x}, constants)
    return s


def linear(A: list[list[float]], start: list[float], t: float) -> float:
    """First component of exp(A t) start."""
    w, V = np.linalg.eig(np.array(A))
    return float((V @ (np.exp(w * t) * np.linalg.solve(V, np.array(start, complex))))[0].real)


#: A damper, its constants, and the exact position at t = 2 s.
CASES = {
    "viscous": (Viscous(), {"damping": 0.8}, linear([[0, 1], [-4, -0.8]], [1, 0], 2.0)),
    "standard solid": (
        Viscoelastic(), {"stiffness": 0.5, "branch": 3.0, "viscosity": 1.5},
        linear([[0, 1, 0], [-4 - 0.5 - 3, 0, 3], [2, 0, -2]], [1, 0, 1], 2.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", NAMES)
def test_every_scheme_keeps_its_order_with_damping(case: str, method: str) -> None:
    damper, constants, exact = CASES[case]
    s = oscillator(damper, constants)
    errors = []
    for h in (0.02, 0.01):
        sol = s.simulate(2.0, h, method)
        errors.append(abs(sol["x"][-1] - exact))
        assert sol["energy.dissipated"][-1] > 0.5
        if method == "energy-momentum":
            assert np.ptp(sol["energy.total"] + sol["energy.dissipated"]) < 1e-12
    assert errors[0] / errors[1] == pytest.approx(2.0 if method == "backward-euler" else 4.0, rel=0.1)


@pytest.mark.parametrize("method", ["trapezoidal", "hht", "generalized-alpha"])
def test_dashpots_between_points_too(method: str) -> None:
    m = jd.Model("damped")
    arm = m.body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.revolute("hinge", m.ground, arm, axis="y")
    m.spring("strut", m.ground.at(0, 0, 0.7), arm.at(0.6, 0, 0), stiffness=40.0, length=0.5, damping=2.0)
    exact = m.compile().simulate({"hinge.angle": 0.5}, 0.6, rtol=1e-11, atol=1e-12)["hinge.angle"][-1]
    directors = m.compile(formulation="directors")
    runs = [directors.simulate({"hinge.angle": 0.5}, 0.6, step=h, method=method) for h in (0.01, 0.005)]
    assert any(isinstance(i.element, PointDashpot) for i in directors.assembled().instances)
    errors = [abs(sol["hinge.angle"][-1] - exact) for sol in runs]
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.5)


def test_dry_friction_of_a_joint_is_dissipated() -> None:
    m = jd.Model("brake")
    rod = m.body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.revolute("hinge", m.ground, rod, axis="y", friction=1.0)
    start = {"hinge.angle": 0.3}
    sol = m.compile(formulation="directors").simulate(start, 0.4, step=0.002)
    turned = sol["hinge.angle"] - 0.3
    assert np.ptp(sol["step.energy.total"] + sol["step.energy.dissipated"]) < 1e-12 and np.all(sol["step.energy.supplied"] == 0.0)
    assert np.all(np.diff(sol["step.energy.dissipated"]) > 0.0)
    assert sol["step.energy.dissipated"][-1] == pytest.approx(turned[-1], rel=1e-3)  # limit times angle
    exact = m.compile().simulate(start, 0.4, rtol=1e-10, atol=1e-12)["hinge.angle"][-1]
    assert sol["hinge.angle"][-1] == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("method", NAMES)
def test_joint_damping_of_a_model_keeps_the_order_of_every_scheme(method: str) -> None:
    m = jd.Model("damped pendulum")
    rod = m.body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.revolute("hinge", m.ground, rod, axis="y", damping=0.5)
    exact = m.compile().simulate({}, 1.0, rtol=1e-11, atol=1e-12)["hinge.angle"][-1]
    directors = m.compile(formulation="directors")
    errors = [abs(directors.simulate({}, 1.0, step=h, method=method)["hinge.angle"][-1] - exact) for h in (0.01, 0.005)]
    assert errors[0] / errors[1] == pytest.approx(2.0 if method == "backward-euler" else 4.0, rel=0.1)


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("limit", [100.0, 1.0])
def test_plastic_elements_that_stick_or_slip(method: str, limit: float) -> None:
    """Second order when sticking; at yield the slope of the force jumps, an error of the second order too, whose size depends on where in a
    step that happens: the error is measured against a power of the step over four steps."""
    s = oscillator(Plastic(), {"stiffness": 20.0, "limit": limit})
    reference = s.simulate(1.0, 1e-4)["x"][-1]
    steps = np.array([0.02, 0.014, 0.01, 0.007, 0.005])
    errors = [abs(s.simulate(1.0, h, method)["x"][-1] - reference) for h in 1.0 / np.ceil(1.0 / steps)]
    order = 1 if method == "backward-euler" else 2
    assert np.max(errors / steps**order) < (2.5 if order == 1 else 3.0)
