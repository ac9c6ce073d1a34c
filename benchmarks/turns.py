"""What the default method costs: turns of "dopri5" and "radau" beside each of them, on every problem of the validation suite and on stiff ones.

    python -m benchmarks.run turns [--quick]

Whole calls of ``simulate`` in turns, processor time, minima, code compiled before; errors of coordinates at the end against tight tolerances.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jourdain as jd
from benchmarks.turn_problems import drawn

#: Relative tolerances; the absolute ones are a hundredth of them.
RTOLS = (1e-4, 1e-6, 1e-8)
METHODS = ("dopri5", "auto", "radau")
#: What is counted besides steps, and how many problems are drawn at random.
COUNTED, DRAWN = ("rhs", "jacobians", "factorizations"), 24
#: Where one method takes this many times as long as another, a single repetition is enough.
FAR = 4.0


def stored(name: str) -> tuple[str, Any, Any, float, bool]:
    """A problem of the validation suite."""
    from benchmarks.problems import PROBLEMS

    p = PROBLEMS[name]
    return p.title, p.system, p.system.state(p.start(p.system)), float(p.times[-1] - p.times[0]), name == "A05"


def hard_spring() -> tuple[str, Any, Any, float, bool]:
    """A kilogram on a hard spring with a damper, pushed slowly."""
    m = jd.Model("hard spring", gravity=(0, 0, 0))
    rail = m.prismatic("rail", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(rail, stiffness=1e9, damping=1e5)
    m.force(rail, lambda x, v, t: 1e3 * jd.sin(2.0 * t))
    s = m.compile()
    return "1 kg on 1e9 N/m, damped, pushed slowly", s, s.state({}), 5.0, True


def standing() -> tuple[str, Any, Any, float, bool]:
    """A quadruped that stands on feet that give way, its joints held by springs and dampers."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from examples.quadruped import CALF, FILE, HEIGHT, LEGS, THIGH

    m = jd.read_urdf(FILE, base="free")
    for leg in LEGS:
        for part, angle in (("hip", 0.0), ("thigh", THIGH), ("calf", CALF)):
            joint = m.joints[f"{leg}_{part}_joint"]
            m.force(joint, 80.0 * (angle - joint.position) - 2.0 * joint.velocity)
        m.initial |= {f"{leg}_thigh_joint": THIGH, f"{leg}_calf_joint": CALF}
    m.initial["root.z"] = HEIGHT
    m.contact("feet", m.shapes("*_foot"), m.ground, law=jd.contact.kelvin_voigt(stiffness=1e6, damping=2e3, friction=0.8))
    s = m.compile()
    return "quadruped standing on feet of 1e6 N/m", s, s.state({}), 2.0, True


def stiff_drive() -> tuple[str, Any, Any, float, bool]:
    """A slider-crank driven through a stiff, damped coupling."""
    m = jd.library.slider_crank()
    crank = m.joints["crank"]
    m.force(crank, lambda q, v, t: 200.0 * (5.0 - v))
    s = m.compile()
    return "slider-crank, its speed held by a hard governor", s, s.assemble({"crank.angle": 0.3}), 10.0, True


def cases(quick: bool) -> list[Callable[[], tuple[str, Any, Any, float, bool]]]:
    """What is run."""
    from benchmarks.problems import PROBLEMS

    names = ["A01", "A05"] if quick else list(PROBLEMS)
    return [*(lambda n=n: stored(n) for n in names), hard_spring, stiff_drive, *([] if quick else [standing])]


def measure(run: Callable[[], tuple[str, Any, Any, float, bool]], rtols: tuple[float, ...], budget: float) -> list[dict[str, Any]]:
    """Times (s), steps and errors of each method at each tolerance."""
    title, system, start, end, stiff = run()
    times = np.array([start.t, start.t + end])
    rows = []
    exact = end_of(system, system.simulate(start, end, "radau" if stiff else "dop853", times=times, rtol=1e-11, atol=1e-13))
    for rtol in rtols:

        def once(method: str, rtol: float = rtol) -> Any:
            return system.simulate(start, end, method, times=times, rtol=rtol, atol=1e-2 * rtol)

        best, steps, errors, counts = {}, {}, {}, {}
        for method in METHODS:
            begun = time.process_time()
            sol = once(method)
            best[method] = time.process_time() - begun if method != "auto" else math.inf
            steps[method] = int(sol.statistics["steps"])
            counts[method] = [int(sol.statistics[name]) for name in COUNTED]
            errors[method] = float(np.abs(end_of(system, sol) - exact).max())
            turns = [turn["method"] for turn in sol.metadata.get("turns", ())] if method == "auto" else []
        spent, k = time.process_time(), 0
        while k < 2 or (k < 80 and time.process_time() - spent < budget):
            for method in METHODS:
                if k >= 1 and best[method] > FAR * min(best.values()):
                    continue
                once(method)  # what another method has put out of the processor's caches is back
                begun = time.process_time()
                once(method)
                best[method] = min(best[method], time.process_time() - begun)
            k += 1
        rows.append(
            {
                "title": title, "stiff": stiff, "rtol": rtol, "seconds": best, "steps": steps, "counts": counts, "errors": errors,
                "turns": turns or ["dopri5"],
            }
        )  # fmt: skip
        print(f"{title:50} {rtol:g}  " + "  ".join(f"{m} {1e3 * best[m]:.3f} ms, {steps[m]}" for m in METHODS))
    return rows


def end_of(system: Any, sol: Any) -> np.ndarray:
    """Coordinates at the end."""
    return np.array([float(sol[name][-1]) for name in system.coordinate_names])


def run(quick: bool = False) -> dict[str, Any]:
    """All problems, and some drawn at random."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # explicit methods tell that problems are stiff
        rows = [row for case in cases(quick) for row in measure(case, RTOLS, 0.2 if quick else 0.8)]
        several = [] if quick else [row for seed in range(DRAWN) for row in measure(lambda seed=seed: drawn(seed), RTOLS, 0.3)]
        return {"rows": rows, "drawn": several}
