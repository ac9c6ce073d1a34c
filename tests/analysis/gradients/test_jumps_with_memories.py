"""Laws that jump beside memories, and at given instants: every method finds the switch, and the gradient is that of the located run."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.analysis.gradients.simulated import GradientWarning
from jourdain.library import slider_crank

CRITERIA = {"end": cr.final("hinge.angle"), "way": cr.integral("'hinge.angle_rate'^2")}
TIGHT = {"rtol": 1e-10, "atol": 1e-12, "max_step": 0.05}
METHODS = {
    "dopri5": TIGHT,
    "radau": TIGHT,
    "rosenbrock": TIGHT,
    "adams": TIGHT,
    "rk4": {"step": 5e-3},
}


def pendulum(law: str, at: float, remembers: str) -> jd.Model:
    """A pendulum whose torque turns round where it passes a place, or at an instant; what it remembers pushes it."""
    m = jd.Model("pendulum", gravity=(0, 0, -9.81))
    b = m.body("b", mass=m.parameter("mass", 1.0), inertia=(0.1, 0.1, 0.1), com=(0, 0, -0.5))
    hinge, F, switch = m.revolute("hinge", m.ground, b, axis="y"), m.parameter("F", 0.8), m.parameter("at", at)
    kept: Any = m.parameter("first", 0.2)
    if remembers:
        kept = m.memory("kept", kept)
        m.update(kept, jd.maximum(kept, 0.3 * hinge.position) if remembers == "most" else kept)
    m.force(hinge, -2.0 * kept)
    m.force(hinge, jd.where((hinge.position if law == "place" else m.time) > switch, -F, F))
    return m


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("law", "at"), [("place", 0.1), ("instant", 0.1), ("instant", 0.1037)])  # steps of 5 ms end at 0.1 s
@pytest.mark.parametrize("remembers", ["", "same", "most"])
def test_switches_are_found(law: str, at: float, remembers: str, method: str) -> None:
    wrt = ["first", "F", "at", "mass", "hinge.angle"]
    run = jd.Analysis(pendulum(law, at, remembers).compile(), "simulate", {"hinge.angle": 0.7}, t=0.6, method=method, **METHODS[method])
    forward, adjoint = (run.gradient(CRITERIA, wrt, method=n) for n in ("forward", "adjoint"))
    assert len(forward.switches) == 1
    found = np.zeros((2, len(wrt)))
    for j, name in enumerate(wrt):
        x, h = run.value_of(name), 1e-5 * max(abs(run.value_of(name)), 0.1)
        up, down = (run.gradient(CRITERIA, ["F"], values={name: x + way * h}).values for way in (1, -1))
        found[:, j] = [(up[n] - down[n]) / (2 * h) for n in CRITERIA]
    size = np.abs(found).max(axis=1, keepdims=True)
    assert (np.abs(adjoint.matrix - forward.matrix) / size).max() < 1e-12
    assert (np.abs(forward.matrix - found) / size).max() < 1e-4  # differences of runs that choose their steps anew


def test_a_step_does_not_begin_on_the_surface_itself() -> None:
    """Where a watched expression is zero to the last digit the next step begins beyond it: t > at is false at t = at."""
    m = pendulum("instant", 0.1037, "")
    s = m.compile()
    sol = s.simulate({"hinge.angle": 0.7}, t=0.6, method="rk4", step=5e-3, watch=[m.time - 0.1037])
    fine = s.simulate({"hinge.angle": 0.7}, t=0.6, method="radau", rtol=1e-11, atol=1e-13, watch=[m.time - 0.1037])
    assert sol["hinge.angle"][-1] == pytest.approx(fine["hinge.angle"][-1], abs=1e-8)  # it was off by 1e-3


def test_memories_of_a_start_in_loops() -> None:
    """A memory that a start gives by name is that of the planned run of a mechanism with loops, too."""
    m = slider_crank()
    kept = m.memory("kept", 0.2)
    m.update(kept, 0.9 * kept)
    m.force(m.joints["crank"], -2.0 * kept)
    run = jd.Analysis(m.compile(), "simulate", {"crank.angle": 0.5, "crank.angle_rate": 3.0, "kept": 0.9}, t=0.1, max_step=0.01)
    assert run.run()["kept"][0] == 0.9
    other = jd.Analysis(m.compile(), "simulate", {"crank.angle": 0.5, "crank.angle_rate": 3.0}, t=0.1, max_step=0.01)
    end = {"end": cr.final("crank.angle")}
    assert abs(run.evaluate(end)["end"] - other.evaluate(end)["end"]) > 1e-3
    run.gradient(end, ["crank_length", "crank.angle"]).check(1e-5)


def test_memories_that_count_steps_are_told() -> None:
    """A memory that each step renews anew makes a run depend on its steps; one that keeps the largest value does not."""
    for remembers, told in (("counts", True), ("most", False)):
        m = pendulum("place", 0.1, "most" if remembers == "most" else "")
        if remembers == "counts":
            kept = m.memory("kept", 0.1)
            m.update(kept, 0.9 * kept + 0.05 * m.joints["hinge"].velocity)
            m.force(m.joints["hinge"], -2.0 * kept)
        run = jd.Analysis(m.compile(), "simulate", {"hinge.angle": 0.7}, t=0.6, method="rk4", step=5e-3)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            g = run.gradient(CRITERIA, ["F", "at"])
        assert [w.category for w in found] == [GradientWarning] * told
        assert any("'kept' changes at the end of every step" in n for n in g.notes) is told
