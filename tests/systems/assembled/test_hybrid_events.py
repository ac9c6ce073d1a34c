"""Rigid and elastic bodies with events, rolling, friction, walls and play: the trebuchet and the manipulator of the thesis (T13: E16, E17), and others."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.structures import Material, beam, rectangle
from jourdain.symbolic.functions import maximum, sqrt

REDUCTIONS = ("none", "projection", "bodies", "joints")


@cache
def throw(reduction: str, coupling: str = "null space") -> jd.Solution:
    m = jd.library.elastic_trebuchet(cells=(4, 1, 1))
    return m.compile(formulation="directors", reduction=reduction, coupling=coupling).simulate({}, t=2.4, step=0.02)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_18_T13_e16_energy_through_both_events(reduction: str) -> None:
    sol, expected = throw(reduction), throw("none")
    assert [e.name for e in sol.events] == ["leaves", "throws"]
    assert np.ptp(sol["energy.total"]) < 1e-13 * sol["energy.kinetic"].max()
    for name in ("missile.position", "pivot.angle", "elastic arm.7", "cart.displacement"):
        assert sol[name] == pytest.approx(expected[name], abs=1e-9)
    assert sol["constraints.violation"].max() < 1e-12


def test_coupling_by_constraints_is_the_same() -> None:
    sol, expected = throw("none", "constraints"), throw("none")
    assert sol["missile.position"] == pytest.approx(expected["missile.position"], abs=1e-9)


def test_18_T13_e16_the_missile_flies_on_a_parabola() -> None:
    sol = throw("bodies")
    t0 = next(e.t for e in sol.events if e.name == "throws")
    k = int(np.flatnonzero(sol.t == t0)[-1])
    p, v = sol["missile.position"][k], sol["missile.velocity"][k]
    assert v[0] == pytest.approx(v[2], rel=1e-9) and v[0] > 5.0
    t = sol.t[k:] - t0
    assert sol["missile.position"][k:, 0] == pytest.approx(p[0] + v[0] * t, abs=1e-9)
    assert sol["missile.position"][k:, 2] == pytest.approx(p[2] + v[2] * t - 0.5 * 9.81 * t**2, abs=1e-9)


def test_a_stiff_arm_throws_as_one_by_modes() -> None:
    """The same model in joint coordinates with modes: the stiffer the arm, the nearer the instants of both events."""
    for stiffness, most in ((10.0, 2e-3), (1e3, 1e-4)):
        m = jd.library.elastic_trebuchet(cells=(4, 1, 1), stiffness=stiffness)
        solids = m.compile(formulation="directors").simulate({}, t=2.2, step=0.01)
        modes = m.compile().simulate({}, t=2.2, rtol=1e-8)
        for a, b in zip(solids.events, modes.events, strict=True):
            assert a.name == b.name and a.t == pytest.approx(b.t, abs=most)


def test_runs_go_on_before_and_after_a_release() -> None:
    m = jd.library.elastic_trebuchet(cells=(4, 1, 1))
    s = m.compile(formulation="directors", reduction="bodies")
    whole = s.simulate({}, t=2.4, step=0.02)
    for first in (1.0, 2.2):
        last = s.simulate(s.simulate({}, t=first, step=0.02), t=2.4 - first, step=0.02)
        assert last["missile.position"][-1] == pytest.approx(whole["missile.position"][-1], abs=1e-8)


def _caught(reduction: str, young: float) -> jd.Solution:
    m = jd.Model("caught")
    rod = m.flexible_body("rod", beam((0, 0, 0), (1, 0, 0), rectangle(0.05, 0.02), Material(young, 0.3, 1000.0), elements=4), modes=3)
    m.revolute("hinge", m.ground, rod.node("start"), axis="y")
    eye = m.sensor("eye", rod.node("end"))
    hook = m.constraint("hook", eye.position.z + 0.4)
    m.release(hook)
    m.event("catch", eye.position.z + 0.4, direction=-1, engage=hook)
    return m.compile(formulation="directors", reduction=reduction).simulate({}, t=0.8, step=0.01)


def test_a_rod_is_caught() -> None:
    """The end of a beam is caught by a hook (an impact without rebound): energy falls once, by what is booked, and the end stays."""
    expected: Any = None
    for reduction in ("none", "bodies", "joints"):
        sol = _caught(reduction, 5e7)
        assert [e.name for e in sol.events] == ["catch"]
        late = sol.t > sol.events[0].t
        assert sol["rod.end.position"][late, 2] == pytest.approx(-0.4, abs=1e-12)
        assert np.ptp(sol["energy.total"] + sol["energy.dissipated"]) < 1e-11 and sol["energy.dissipated"][-1] > 0.01
        expected = expected or sol
        assert sol["rod.end.position"] == pytest.approx(expected["rod.end.position"], abs=1e-9)


def test_a_run_that_fails_tells_what_its_parts_did() -> None:
    """A soft rod that is caught folds: the error names the element and the time, and has the channels up to there."""
    with pytest.raises(jd.SimulationError, match="element 'rod.e1' of a beam turns by a right angle") as caught:
        _caught("bodies", 5e6)
    assert np.ptp((found := caught.value.solution)["energy.total"] + found["energy.dissipated"]) < 1e-11


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_18_T13_e17_the_manipulator_balances_its_energy_in_every_step(reduction: str) -> None:
    """Rolling carts, driven wheels, elastic legs, hinges with friction: H_{n+1} − H_n + ΔD = work of the drives, in every step."""
    m = jd.library.rolling_manipulator()
    s = m.compile(formulation="directors", reduction=reduction)
    sol = s.simulate({}, t=0.8, step=0.01, elements=jd.library.hinge_friction())
    left = np.diff(sol["energy.total"] - sol["energy.supplied"] + sol["energy.dissipated"])
    assert np.abs(left).max() < 1e-12 and np.ptp(sol["energy.supplied"]) > 1e-3 and sol["energy.dissipated"][-1] > 1e-9
    assert sol["constraints.violation"].max() < 1e-12
    if reduction == "none":
        test_18_T13_e17_the_manipulator_balances_its_energy_in_every_step.expected = sol  # type: ignore[attr-defined]
    expected = getattr(test_18_T13_e17_the_manipulator_balances_its_energy_in_every_step, "expected", sol)
    for name in ("platform.position", "leg2.9", "left1.axle.angle"):
        assert sol[name] == pytest.approx(expected[name], abs=1e-9)


def test_carts_of_the_manipulator_turn_and_roll() -> None:
    """After the first half second carts have turned by R·turn/b, and the platform's height has changed little; all legs are under load."""
    sol = jd.library.rolling_manipulator().compile(formulation="directors", reduction="bodies").simulate({}, t=0.5, step=0.005)
    for k in (1, 2, 3):
        assert sol[f"cart{k}.rz"][-1] == pytest.approx(-0.05 * np.pi / 11 / 0.08, rel=1e-3)
    assert 0.42 < sol["platform.position"][-1, 2] < 0.45


def walled(reduction: str) -> jd.Solution:
    """A rod that falls on a wall given by its potential."""
    m = jd.Model("wall")
    rod = m.flexible_body("rod", beam((0, 0, 0), (1, 0, 0), rectangle(0.05, 0.02), Material(5e7, 0.3, 1000.0), elements=4), modes=3)
    m.revolute("hinge", m.ground, rod.node("start"), axis="y")
    eye = m.sensor("eye", rod.node("end"))
    deep = maximum(-0.3 - eye.position.z, 0.0)
    wall = m.load("wall", rod.node("end"), force=(0, 0, 3e4 * deep**2))
    wall.potential = 1e4 * deep**3
    return m.compile(formulation="directors", reduction=reduction).simulate({}, t=0.5, step=0.005)


def in_play(reduction: str) -> jd.Solution:
    """A rod whose pin rattles in a hole a millimetre wide."""
    m = jd.Model("play")
    rod = m.flexible_body("rod", beam((0, 0, 0), (0.5, 0, 0), rectangle(0.05, 0.02), Material(5e7, 0.3, 1000.0), elements=4), modes=3)
    m.free("pin", m.ground, rod.node("start"))
    p = m.sensor("pin", rod.node("start")).position
    out = sqrt(p.x * p.x + p.y * p.y + p.z * p.z + 1e-12)
    deep = maximum(out - 1e-3, 0.0)
    force = [-3e7 * deep**2 * x / out for x in p]
    hole = m.load("hole", rod.node("start"), force=force)
    hole.potential = 1e7 * deep**3
    return m.compile(formulation="directors", reduction=reduction).simulate({}, t=0.15, step=0.001)


@pytest.mark.parametrize("run", [walled, in_play])
def test_walls_and_play_keep_the_energy_in_every_reduction(run: Any) -> None:
    expected = run("none")
    assert np.ptp(expected["energy.total"]) < 1e-11 and expected["energy.kinetic"].max() > 0.05
    for reduction in REDUCTIONS[1:]:
        sol = run(reduction)
        assert np.ptp(sol["energy.total"]) < 1e-11
        assert sol["rod.2.position"] == pytest.approx(expected["rod.2.position"], abs=1e-9)
