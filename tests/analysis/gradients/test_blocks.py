"""Gradients of runs whose steps do not fit a bound on memory: the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.analysis.gradients.simulated import GradientWarning
from jourdain.library import four_bar, plane_vehicle

CRITERIA = {
    "comfort": cr.integral("t^2*driver.acceleration.z^2"), "end": cr.final("body.z"), "at": cr.at(1.3, "body.z_rate"), "rms": cr.rms("body.z"),
    "peak": cr.largest("body.z", smooth=8),
}  # fmt: skip


@pytest.mark.parametrize("method", ["forward", "adjoint"])
def test_blocks_give_the_same_bits(method: str) -> None:
    run = jd.Analysis(plane_vehicle(active=100.0).compile(), "simulate", {}, t=2.0)
    wrt = ["d_F", "c_R", "h_3", "body.z"]
    whole, blocks = (run.gradient(CRITERIA, wrt, method=method, memory=m) for m in ("1 GB", "100 kB"))
    assert "blocks of at most 64" in blocks.notes[0]
    (told,) = whole.notes
    peak = np.abs(np.asarray(whole.result["body.z"])).max()
    assert f"{1 - whole.values['peak'] / peak:.1%} below the largest value {peak:.6g}" in told
    assert np.array_equal(whole.matrix, blocks.matrix) and dict(whole.values) == dict(blocks.values)


def test_loops_in_blocks() -> None:
    run = jd.Analysis(four_bar().compile(), "simulate", {"crank.angle": 0.5, "crank.angle_rate": 9.0}, t=3.0, max_step=0.005)
    criteria, wrt = {"end": cr.final("rocker.angle"), "sum": cr.integral("rocker.angle_rate^2")}, ["coupler", "crank.angle"]
    whole, blocks = (run.gradient(criteria, wrt, method="adjoint", memory=m) for m in (1e9, 30e3))
    assert "blocks" in blocks.notes[0] and np.array_equal(whole.matrix, blocks.matrix)


def bouncing() -> jd.Analysis:
    m = jd.Model("ball")
    z = m.prismatic("z", m.ground, m.body("ball", mass=1.0), axis="z")
    m.event("floor", z.position, direction=-1, jump={z.velocity: -m.parameter("e", 0.8) * z.velocity})
    return jd.Analysis(m.compile(), "simulate", {"z": 1.0}, t=1.0, max_step=1e-3)


@pytest.mark.parametrize(
    ("run", "criteria", "told"),
    [
        (bouncing, {"z": cr.final("z.displacement")}, "with events"),
        (lambda: jd.Analysis(plane_vehicle(active=100.0).compile(), "simulate", {}, t=2.0), {"z": cr.largest("body.z")}, "is sought among all"),
        (lambda: jd.Analysis(plane_vehicle(active=100.0).compile(), "simulate", {}, t=2.0, method="radau", max_step=1e-3), {"z": cr.final("body.z")}, "'radau'"),
    ],
)  # fmt: skip
def test_what_blocks_cannot_do_is_told(run: Any, criteria: dict[str, Any], told: str) -> None:
    plan = run()
    with pytest.raises(jd.InputError, match=told):
        plan.gradient(criteria, ["e" if "e" in plan.system.parameters else "d_F"], memory="100 kB")


def test_sizes_of_memory() -> None:
    run = bouncing()
    for bad in ("64 apples", "much", 0):
        with pytest.raises(jd.InputError, match="memory = "):
            run.gradient({"z": cr.final("z.displacement")}, ["e"], memory=bad)


def test_bends_within_blocks_are_told() -> None:
    """Steps of a run in blocks do not end where an integrand bends."""
    run = jd.Analysis(plane_vehicle(active=100.0).compile(), "simulate", {}, t=2.0)
    with pytest.warns(GradientWarning, match="an integrand bends where"):
        g = run.gradient({"way": cr.integral("abs(front.travel)")}, ["d_F"], memory="100 kB")
    assert sum("bends" in n for n in g.notes) == 1
