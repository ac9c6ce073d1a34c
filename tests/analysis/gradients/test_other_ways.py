"""Gradients of runs by implicit methods, by methods without a tableau, and in other coordinates: the same derivatives as by explicit steps of the tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain import library
from jourdain.analysis.gradients.switches import bracketed

TIGHT = {"rtol": 1e-11, "atol": 1e-13}
START = {"crank.angle": 0.5, "crank.angle_rate": 3.0}
WRT = ["crank_length", "rod_length", "piston_mass", "crank.angle", "crank.angle_rate"]
CRITERIA = {
    "end": cr.final("piston.displacement"),
    "work": cr.integral("crank.angle_rate^2*t"),
    "force": cr.integral("'piston.displacement_acc'^2"),
    "most": cr.largest("piston.displacement"),
    "inside": cr.at(0.0777, "crank.angle_rate"),
}

#: Options of compile and of simulate.
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "radau": ({}, {"method": "radau", **TIGHT}),
    "rosenbrock": ({}, {"method": "rosenbrock", "rtol": 1e-9, "atol": 1e-11}),
    "adams": ({}, {"method": "adams", **TIGHT}),
    "generalised-α": ({}, {"method": "generalized-alpha", "step": 1e-3}),
    "rosenbrock2": ({}, {"method": "rosenbrock2", "step": 1e-3}),
    "verlet": ({}, {"method": "velocity-verlet", "step": 1e-3}),
    "reduced": ({}, {"reduction": "reduced", **TIGHT}),
    "closed": ({}, {"reduction": "closed", **TIGHT}),
    "cartesian": ({"formulation": "cartesian"}, TIGHT),
    "cartesian radau": ({"formulation": "cartesian"}, {"method": "radau", **TIGHT}),
    "natural": ({"formulation": "natural"}, TIGHT),
    "semi-recursive": ({"formulation": "semi-recursive"}, TIGHT),
    "directors": ({"formulation": "directors"}, {"step": 1e-3}),
}


def scaled(gap: np.ndarray, g: Any) -> float:
    """The largest entry, each measured by its size or a hundredth of the largest of its row."""
    return float((np.abs(gap) / np.maximum(np.abs(g.matrix), 0.01 * np.abs(g.matrix).max(axis=1, keepdims=True))).max())


@pytest.fixture(scope="module")
def expected() -> Any:
    run = jd.Analysis(library.slider_crank().compile(), "simulate", START, t=0.2, method="dop853", rtol=1e-12, atol=1e-14)
    return run.gradient(CRITERIA, WRT)


@pytest.mark.parametrize("way", WAYS)
def test_a_loop_in_every_way(way: str, expected: Any) -> None:
    compiled, given = WAYS[way]
    run = jd.Analysis(library.slider_crank().compile(**compiled), "simulate", START, t=0.2, **given)
    adjoint, forward = (run.gradient(CRITERIA, WRT, method=m) for m in ("adjoint", "forward"))
    assert scaled(adjoint.matrix - forward.matrix, forward) < 1e-11
    assert scaled(forward.matrix - expected.matrix, expected) < 1e-8
    others = run.gradient(CRITERIA, WRT, method="differences")
    assert scaled(others.matrix - forward.matrix, forward) < 1e-7
    assert run.evaluate(CRITERIA) == pytest.approx(dict(forward.values), rel=1e-13)
    assert any("are those of steps of" in n for n in forward.notes) is (way != "radau")


def ball() -> jd.Model:
    m = jd.Model("ball", gravity=(0, 0, -9.81))
    b = m.body("ball", mass=1.0)
    z = m.prismatic("z", m.ground, b, axis="z")
    e = m.parameter("e", 0.8)
    m.force(z, -m.parameter("drag", 0.3) * z.velocity)
    m.event("floor", z.position, direction=-1, jump={z.velocity: -e * z.velocity})
    return m


@pytest.mark.parametrize("way", [w for w in WAYS if w not in ("reduced", "closed", "semi-recursive")])
def test_impacts_in_every_way(way: str) -> None:
    """The first of two impacts of a ball with drag, and the height after both, against explicit steps of the tree."""
    compiled, given = WAYS[way]
    criteria = {"first": cr.event_time("floor"), "second": cr.event_time("floor", 2), "high": cr.final("z.displacement")}
    wrt = ["e", "drag", "z.displacement", "z.displacement_rate"]
    start = {"z.displacement": 1.0}
    exact = jd.Analysis(ball().compile(), "simulate", start, t=1.3, method="dop853", rtol=1e-12, atol=1e-14).gradient(criteria, wrt)
    run = jd.Analysis(ball().compile(**compiled), "simulate", start, t=1.3, **given)
    adjoint, forward = (run.gradient(criteria, wrt, method=m) for m in ("adjoint", "forward"))
    assert scaled(adjoint.matrix - forward.matrix, forward) < 1e-11
    first_order = given.get("method") in ("rosenbrock2", "velocity-verlet", "generalized-alpha") or way == "directors"
    assert scaled(forward.matrix - exact.matrix, exact) < (1e-3 if first_order else 1e-7)


def test_a_stiff_run_by_radau() -> None:
    """A pendulum held by a spring of 1e7 N/m: explicit steps would need some 1e5 of them; against differences of independent runs."""
    m = library.pendulum()
    hinge = m.joints["hinge"]
    m.force(hinge, -m.parameter("k", 1e7) * (hinge.position - 0.1) - m.parameter("c", 1e4) * hinge.velocity)
    run = jd.Analysis(m.compile(), "simulate", {"hinge.angle": 0.11}, t=1.0, method="radau", rtol=1e-8, atol=1e-11)
    criteria = {"end": cr.final("hinge.angle"), "dip": cr.integral("(hinge.angle-0.1)^2")}
    g = run.gradient(criteria, ["k", "c"], method="adjoint")
    assert g.cost["steps"] < 2000
    k, c = run.system.parameters["k"], run.system.parameters["c"]
    for j, (name, x) in enumerate((("k", k), ("c", c))):
        ends = [run.evaluate(criteria, {name: x * (1 + h)}) for h in (1e-4, -1e-4)]
        for i, n in enumerate(criteria):
            assert g.matrix[i, j] == pytest.approx((ends[0][n] - ends[1][n]) / (2e-4 * x), rel=1e-5)


@pytest.mark.parametrize("way", ["radau", "rosenbrock", "cartesian", "cartesian radau", "natural", "adams"])
def test_a_law_that_turns_a_crank_back_in_every_way(way: str) -> None:
    """The crank passes a surface twice within 2 ms: instants of implicit steps, found anew, are where these meet it."""

    def mechanism() -> jd.Model:
        m = library.slider_crank()
        crank = m.joints["crank"]
        m.force(crank, jd.where(crank.position > m.parameter("place", 0.6), -m.parameter("F", 3.0), 0.0 * crank.position))
        return m

    compiled, given = WAYS[way]
    start, criteria = {"crank.angle": 0.47, "crank.angle_rate": 1.8}, {"rms": cr.rms("crank.angle"), "end": cr.final("crank.angle")}
    wrt = ["F", "place", "crank_length"]
    best = jd.Analysis(mechanism().compile(), "simulate", start, t=0.3, method="dop853", rtol=1e-12, atol=1e-14)
    run = jd.Analysis(mechanism().compile(**compiled), "simulate", start, t=0.3, **given)
    g, expected = run.gradient(criteria, wrt), best.gradient(criteria, wrt)
    assert len(expected.switches) == 2
    assert scaled(g.matrix - expected.matrix, expected) < 1e-6


@pytest.mark.parametrize("way", ["directors", "cartesian", "generalised-α", "radau"])
def test_a_sampled_law_in_every_way(way: str) -> None:
    """Some runs have one row where a law acts, others two: the law acts there in all of them."""

    def analysis(compiled: dict[str, Any], given: dict[str, Any]) -> jd.Analysis:
        m = library.slider_crank()
        crank, piston = m.joints["crank"], m.joints["piston"]
        m.force(crank, m.input("F"))
        law = -m.parameter("k", 0.2) * piston.position - m.parameter("d", 0.005) * crank.velocity
        return jd.Analysis(m.compile(**compiled), "simulate", START, t=0.2, inputs={"F": jd.Controller(law, 0.03)}, **given)

    wrt = ["k", "d", "crank_length", "crank.angle"]
    criteria = {"end": cr.final("crank.angle_rate"), "way": cr.integral("crank.angle_rate^2")}
    expected = analysis({}, {"method": "dop853", **TIGHT}).gradient(criteria, wrt)
    g = analysis(*WAYS[way]).gradient(criteria, wrt)
    assert scaled(g.matrix - expected.matrix, expected) < 1e-6


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("grain", [1e-3, 1e-7, 1e-13])
def test_zeros_of_surfaces_are_between_points_that_are_surely_beside_them(side: float, grain: float) -> None:
    """Between rows 10⁻¹¹ s apart states are coarse, and the zero is a plateau, which laws take for one of the sides."""
    values = lambda part: side * np.round((0.4892 - part) / grain) * grain
    low, high = bracketed(values, np.zeros(1), np.ones(1), np.array([side]))
    assert np.sign(values(low)) == side and np.sign(values(high)) == -side
    assert low < 0.4892 < high and high - low < max(300.0 * grain, 1e-10)
