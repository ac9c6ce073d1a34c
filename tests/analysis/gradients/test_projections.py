"""States that long steps leave far from their constraints: what putting them back does to first and second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain import library
from jourdain.analysis.gradients.runs import NotCarried


def four_bar() -> tuple[jd.Analysis, dict[str, Any], list[str]]:
    """Its crank turns by a quarter of a radian in a step."""
    start = {"crank.angle": 0.5, "crank.angle_rate": 6.0}
    run = jd.Analysis(library.four_bar().compile(), "simulate", start, t=0.4, method="rk4", step=0.04)
    return (
        run,
        {"end": cr.final("rocker.angle"), "mid": cr.at(0.123, "rocker.angle"), "push": cr.integral("t*'rocker.angle_acc'")},
        ["coupler", *start],
    )


def top() -> tuple[jd.Analysis, dict[str, Any], list[str]]:
    """A top whose quaternion leaves unit length by 10⁻⁴ in a step."""
    m = jd.Model("top")
    b = m.body("b", mass=m.parameter("m", 1.0), inertia=(0.02, 0.03, m.parameter("I", 0.01)), com=(0.02, 0, m.parameter("l", 0.3)))
    m.spherical("s", m.ground, b)
    c = m.body("c", mass=0.3, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    m.joint_spring(m.revolute("j", b.at(0, 0, 0.5), c, axis="y"), m.parameter("k", 3.0))
    start = {f"s.orientation.omega_{n}": x for n, x in zip("xyz", (2.0, 3.0, 20.0), strict=True)}
    run = jd.Analysis(m.compile(), "simulate", start, t=0.4, method="rk4", step=0.04)
    return run, {"end": cr.final("j.angle"), "way": cr.integral("'j.angle_rate'^2")}, ["m", "I", "l", "k", "s.orientation.omega_x"]


def spatial(**how: Any) -> tuple[jd.Analysis, dict[str, Any], list[str]]:
    """Two hinges about skew axes and a rod between ball joints, one of which is a quaternion; the rod may turn about itself."""
    m = jd.Model("spatial four-bar")
    a = m.body("a", mass=m.parameter("ma", 1.0), com=(0.1, 0, 0), inertia=(0.02, 0.03, 0.025))
    b = m.body("b", mass=0.5, com=(0.4, 0.02, 0), inertia=(0.01, 0.03, 0.03))
    c = m.body("c", mass=m.parameter("mc", 0.8), com=(0.2, 0, 0), inertia=(0.02, 0.04, 0.03))
    m.revolute("j1", m.ground, a, axis="z")
    spring = m.revolute("j3", m.ground.at(0.9, 0.2, 0.1), c, axis=(0.1, 1, 0.2))
    m.spherical("s", a.at(m.parameter("la", 0.25), 0, 0), b)
    m.spherical("cut", b.at(m.parameter("lb", 0.9), 0, 0), c.at(0.5, 0, 0))
    m.joint_spring(spring, m.parameter("k", 5.0), damping=0.3)
    start = {"j1.angle": 0.3, "j1.angle_rate": 4.0}
    run = jd.Analysis(m.compile(), "simulate", start, t=0.2, **how)
    return run, {"end": cr.final("j3.angle"), "load": cr.integral("'j1.reaction.x'^2/100")}, ["ma", "la", "lb", "k", *start]


def nearest(run: jd.Analysis, criteria: dict[str, Any], wrt: list[str]) -> float:
    """How far both methods are from differences of runs with the same steps; they are to rounding from each other."""
    forward, adjoint, others = (run.gradient(criteria, wrt, method=n).matrix for n in ("forward", "adjoint", "differences"))
    size = np.maximum(np.abs(forward), 1e-2 * np.abs(forward).max(axis=1, keepdims=True))
    assert (np.abs(forward - adjoint) / size).max() < 1e-12
    return float((np.abs(forward - others) / size).max())


@pytest.mark.parametrize("case", [four_bar, top])
def test_long_steps(case: Any) -> None:
    """Changes of the constraints' matrices times what the projection has moved: 6·10⁻⁵ and 10⁻⁴ of the gradients."""
    assert nearest(*case()) < 1e-6


@pytest.mark.parametrize("case", [four_bar, top])
def test_second_derivatives_of_long_steps(case: Any) -> None:
    """Without the bend of the projection matrices were unsymmetric by 10⁻⁵."""
    run, criteria, wrt = case()
    h = run.hessian(criteria, wrt)
    for name in criteria:
        assert np.abs(h[name] - h[name].T).max() < 1e-9 * np.abs(h[name]).max()
    h.check(1e-7)


def test_starts_of_loops_with_quaternions() -> None:
    """Dependent orientations follow variables that move a loop, and what nothing holds moves least, as where loops are closed."""
    run, criteria, wrt = spatial(rtol=1e-9, atol=1e-11)
    assert nearest(run, criteria, wrt) < 1e-6


def test_hessians_of_loops_with_quaternions() -> None:
    run, criteria, wrt = spatial(method="rk4", step=0.02)
    h = run.hessian(criteria, ["ma", "mc", "k"])
    for name in criteria:
        assert np.abs(h[name] - h[name].T).max() < 1e-10 * np.abs(h[name]).max()
    with pytest.raises(NotCarried, match="move the start of a loop with quaternions"):
        run.hessian(criteria, wrt)
