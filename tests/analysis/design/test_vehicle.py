"""The plane vehicle with its driver, designed as in W. Schiehlen, Symbolic Computations in Multibody Systems (criteria 40 to 42, weighted sum 46)."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.library import plane_vehicle

CRITERIA = {
    "comfort": cr.integral("t^2*driver.acceleration.z^2"),
    "safety": cr.integral("front.tyre^2 + rear.tyre^2"),
    "travel": cr.integral("(front.travel/s)^6 + (rear.travel/s)^6", s=0.08),
}
PASSIVE = ["d_F", "d_R", "c_F", "c_R", "h_3"]


def shaking(sol: jd.Solution) -> tuple[float, float]:
    """The largest acceleration of the driver, and the root of its integral from 1.5 s on."""
    a = sol["driver.acceleration"][:, 2]
    return float(np.abs(a).max()), float(np.sqrt(np.trapezoid(np.where(sol.t > 1.5, a * a, 0.0), sol.t)))


@pytest.mark.slow
@pytest.mark.parametrize("active", [0.0, 100.0], ids=["passive", "active"])
def test_what_the_source_says_of_its_designs(active: float) -> None:
    """Comfort improves; each criterion alone makes another worse; the active element lowers peak and late vibration; the weighted sum costs the others little."""
    bump = jd.Analysis(plane_vehicle("cubic", active=active).compile(), "simulate", {}, t=4.0)
    problem = jd.Problem(bump, [*PASSIVE, "d_A"] if active else PASSIVE, CRITERIA)
    first, before = bump.evaluate(CRITERIA), shaking(bump.run())
    parts = {}
    for wanted in CRITERIA:
        best = problem.optimise(weights={n: float(n == wanted) for n in CRITERIA}, tolerance=1e-7)
        parts[wanted] = {n: best.criteria[n] / first[n] for n in CRITERIA}
        if wanted == "comfort":
            after = shaking(bump.run(best.values))
            assert after[1] < 0.1 * before[1] and (not active or after[0] < 0.3 * before[0])
    assert all(parts[n][n] < 0.6 and max(parts[n].values()) > 1.5 for n in CRITERIA)
    summed = problem.optimise({"comfort": 0.3, "safety": 0.5, "travel": 0.2}, form="relative", tolerance=1e-7)
    found = {n: summed.criteria[n] / first[n] for n in CRITERIA}
    assert summed.objective == pytest.approx(0.3 * found["comfort"] + 0.5 * found["safety"] + 0.2 * found["travel"], rel=1e-9)
    assert found["comfort"] < 0.5 and found["safety"] < 1.3 and found["travel"] < 1.3, found
    assert found["comfort"] > parts["comfort"]["comfort"]
