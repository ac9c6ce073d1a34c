"""Laws with infinite slopes beside a surface (Hertz, Hunt and Crossley): gradients keep the tolerance of their run, in a loop, by every way to run it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain import library

WRT = ["K", "D", "crank_length", "piston_mass", "crank.angle_rate"]
CRITERIA = {
    "end": cr.final("crank.angle"),
    "push": cr.integral("'crank.angle_acc'^2"),
    "mid": cr.at(0.2, "crank.angle_rate"),
    "rms": cr.rms("crank.angle_rate"),
}


def _stopped(law: str) -> jd.Model:
    """A slider-crank whose piston meets a stop, and leaves it."""
    m = library.slider_crank()
    K, D, piston = m.parameter("K", 2e4), m.parameter("D", 0.3), m.joints["piston"]
    if law == "contact":
        m.bodies["piston"].add_collision(jd.sphere(0.01))
        m.ground.add_collision(jd.plane("-x").at(0.2, 0, 0))
        m.contact("stop", m.bodies["piston"], m.ground, law=jd.contact.hunt_crossley(stiffness=K, damping=D))
    else:
        m.force(piston, -jd.maximum(K * jd.maximum(piston.position - 0.19, 0.0) ** 1.5 * (1.0 + D * piston.velocity), 0.0))
    return m


@cache
def _system(law: str, **options: Any) -> Any:
    return _stopped(law).compile(**options)


def _gradient(law: str, method: str, compiled: dict[str, Any], given: dict[str, Any]) -> Any:
    run = jd.Analysis(_system(law, **compiled), "simulate", {"crank.angle": -0.9, "crank.angle_rate": 6.0}, t=0.4, **given)
    return run.gradient(CRITERIA, WRT, method=method)


@cache
def _exact() -> np.ndarray:
    """By tiny steps of a method of order eight."""
    return np.asarray(_gradient("law", "forward", {}, {"method": "dop853", "rtol": 1e-13, "atol": 1e-15}).matrix)


TOLERANCES = {"rtol": 1e-9, "atol": 1e-11}
#: Options of compile and of simulate, and how near derivatives are.
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any], float]] = {
    "dopri5": ({}, TOLERANCES, 1e-7),
    "coarse": ({}, {"rtol": 1e-7, "atol": 1e-9}, 1e-5),
    "fine": ({}, {"rtol": 1e-12, "atol": 1e-14}, 1e-9),
    "rk4": ({}, {"method": "rk4", "step": 1e-3}, 2e-5),
    "radau": ({}, TOLERANCES | {"method": "radau"}, 1e-7),
    "adams": ({}, TOLERANCES | {"method": "adams"}, 1e-7),
    "reduced": ({}, TOLERANCES | {"reduction": "reduced"}, 1e-7),
    "semi-recursive": ({"formulation": "semi-recursive"}, TOLERANCES, 1e-7),
    "cartesian": ({"formulation": "cartesian"}, TOLERANCES, 1e-7),
    "natural": ({"formulation": "natural"}, TOLERANCES, 1e-7),
    "directors": ({"formulation": "directors"}, {"step": 1e-3}, 1e-5),
}


@pytest.mark.parametrize("law", ["contact", "law"])
@pytest.mark.parametrize("way", WAYS)
def test_a_stop_in_a_loop(way: str, law: str) -> None:
    compiled, given, near = WAYS[way]
    forward, adjoint = (_gradient(law, n, compiled, given).matrix for n in ("forward", "adjoint"))
    np.testing.assert_allclose(adjoint, forward, rtol=1e-11)
    np.testing.assert_allclose(forward, _exact(), rtol=near)


@pytest.mark.parametrize("event", [False, True], ids=["switch", "event"])
@pytest.mark.parametrize("method", ["dopri5", "dop853", "radau"])
def test_a_torque_switched_at_a_place_of_a_loop(method: str, event: bool) -> None:
    """Rounding decides on which side of a surface the first stage behind it lies; a rate of the wrong side had been in the derivative (7 % off with dopri5, 4 % with dop853)."""
    m = library.slider_crank()
    place, there = m.joints["piston"].position, m.parameter("there", 0.15)
    m.force(m.joints["crank"], jd.where(place > there, 0.3, -0.2))
    if event:
        m.event("there", place - there)
    run = jd.Analysis(m.compile(), "simulate", {"crank.angle": -0.9, "crank.angle_rate": 6.0}, t=0.4, method=method, rtol=1e-10, atol=1e-12)
    for way in ("forward", "adjoint"):
        g = run.gradient({"angle": cr.final("crank.angle"), "rate": cr.final("crank.angle_rate")}, ["there"], method=way)
        # central differences of runs by dop853 at 1e-12 whose steps end at the switch, with h = 1e-7
        assert g.matrix[:, 0] == pytest.approx([-521.29815, 4707.1611], rel=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "dopri5", "rtol": 1e-5, "atol": 1e-7},
        {"method": "rk4", "step": 2e-3},
        {"method": "radau", "rtol": 1e-5, "atol": 1e-7},
        {"method": "rosenbrock", "rtol": 1e-5, "atol": 1e-7},
    ],
    ids=lambda o: o["method"],
)
def test_last_steps_before_a_bend_may_be_long(options: dict[str, Any]) -> None:
    """∫|v| of a piston that turns three times: stages of the last steps before it lie beyond, and had the other sign (59, 64, 17 and 3 % of an entry)."""
    way = {"way": cr.integral("abs('piston.displacement_rate')")}
    wrt = ["crank_length", "rod_length", "crank.angle"]
    m = library.slider_crank()
    m.force(m.joints["crank"], 0.8 * jd.sin(5.0 * m.time))
    s = m.compile()
    start = {"crank.angle": 0.625, "crank.angle_rate": 3.108}
    run = jd.Analysis(s, "simulate", start, t=0.3, **options)
    fine = jd.Analysis(s, "simulate", start, t=0.3, rtol=1e-11, atol=1e-12).gradient(way, wrt)
    forward, adjoint = (run.gradient(way, wrt, method=m) for m in ("forward", "adjoint"))
    assert adjoint.matrix == pytest.approx(forward.matrix, rel=1e-9)
    assert forward.matrix == pytest.approx(fine.matrix, rel=1e-2)
