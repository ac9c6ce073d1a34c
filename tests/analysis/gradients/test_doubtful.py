"""Derivatives that hold in a small neighbourhood, on one side, or not at all: told by typed warnings, never numbers that are none."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.analysis.gradients.runs import GradientWarning, NotCarried


def _slide(law: Any = None) -> tuple[jd.Model, Any]:
    m = jd.Model("slide")
    return m, m.prismatic("x", m.ground, m.body("b", mass=1.0), axis="x")


def test_events_that_happen_at_once_are_told() -> None:
    """Jumps that do not commute: which of them comes first decides where the body goes."""
    m, x = _slide()
    m.event("halves", x.position - m.parameter("p", 0.5), direction=1, jump={x.velocity: 0.5 * x.velocity})
    m.event("adds", x.position - m.parameter("q", 0.5), direction=1, jump={x.velocity: x.velocity + 1.0})
    s = m.compile()
    run, end = jd.Analysis(s, "simulate", {"x.displacement_rate": 1.0}, t=1.0), {"x": cr.final("x.displacement")}
    with pytest.warns(GradientWarning, match="'adds' and 'halves' happen at once|'halves' and 'adds' happen at once"):
        run.gradient(end, ["p", "q"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", GradientWarning)
        run.gradient(end, ["p", "q"], values={"q": 0.6})


@pytest.mark.parametrize(("below", "told"), [(1e-9, True), (0.1, False)])
def test_a_guard_that_is_met_where_it_turns_round_is_told(below: float, told: bool) -> None:
    """A ball that just touches a roof: by the speed of its way there, not by terms of the guard, which are as slow as the guard itself."""
    m = jd.Model("roof")
    z = m.prismatic("z", m.ground, m.body("b", mass=1.0), axis="z")
    m.event("roof", z.position - 25.0 / (2 * 9.81) * (1.0 - below), direction=1, jump={z.velocity: -0.5 * z.velocity})
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement_rate": 5.0}, t=0.8, rtol=1e-9, atol=1e-11)
    for method in ("forward", "adjoint"):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            run.gradient({"z": cr.final("z.displacement")}, ["z.displacement_rate"], method=method)
        assert any("'roof'" in str(w.message) and "grazes" in str(w.message) for w in found) == told


@pytest.mark.parametrize(("above", "happens"), [(1e-9, False), (-1e-9, True)])
def test_a_guard_that_is_missed_by_little_makes_no_event(above: float, happens: bool) -> None:
    """As the guide says: beyond the touch the derivative is that of the run without the event, the height of a throw v t - g t²/2; on the other side a warning tells."""
    m = jd.Model("roof")
    z = m.prismatic("z", m.ground, m.body("b", mass=1.0), axis="z")
    m.event("roof", z.position - 25.0 / (2 * 9.81) * (1.0 + above), direction=1, jump={z.velocity: -0.5 * z.velocity})
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement_rate": 5.0}, t=0.8, rtol=1e-9, atol=1e-11)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        slope = float(np.ravel(run.gradient({"z": cr.final("z.displacement")}, ["z.displacement_rate"]).matrix)[0])
    assert any(w.category is GradientWarning for w in found) == happens
    assert (abs(slope - 0.8) < 1e-8) != happens


@pytest.mark.parametrize(("text", "told"), [("sqrt(x.displacement - 0.01)", "at t = 0 s"), ("sqrt(x.displacement)", "has no finite slope")])
def test_what_is_no_number_is_refused(text: str, told: str) -> None:
    m, x = _slide()
    m.force(x, m.parameter("p", 1.0))
    run = jd.Analysis(m.compile(), "simulate", {"x.displacement_rate": 0.1}, t=0.3)
    with pytest.raises(jd.errors.SolverError, match=told), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run.gradient({"x": cr.integral(text)}, ["p"])


def test_steps_that_leave_contacts_out_are_refused() -> None:
    """A ball on a floor by nonsmooth generalised-α was differentiated as if the floor were not there."""
    m = jd.Model("ball")
    b = m.body("b", mass=m.parameter("mb", 1.0), inertia=(0.1, 0.1, 0.1))
    m.planar("f", m.ground, b, plane="xz")
    b.add_collision(jd.sphere(0.1))
    m.ground.add_collision(jd.plane())
    m.contact("floor", b, m.ground, law=jd.contact.rigid(friction=m.parameter("mu", 0.3)))
    run = jd.Analysis(m.compile(), "simulate", {"f.z": 0.2, "f.x_rate": 1.0}, t=0.3, method="nonsmooth-generalized-alpha", step=2e-3)
    with pytest.raises(NotCarried, match="rigid contact 'floor' of .* runs is not carried"):
        run.gradient({"x": cr.final("f.x")}, ["mu"])
