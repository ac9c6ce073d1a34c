"""Piles of spheres and of boxes against MuJoCo: processor time a step, deepest penetration, speed of what should rest, energy, residual.

python -m benchmarks.contact [sphere|box …] [bodies …]

The same scene for both: layers of bodies dropped on a plane, friction 0.5, no rebound, one thread, 2 ms.  MuJoCo with its Newton solver and elliptic cones,
once with its own softness of contact and once with the hardest that it runs stably with (solref of two steps).  Times are the least of three runs.

Creep is the mean over the bodies of how far they go in the last tenth of a second; the energy's error is what the books of energy do not explain, as a part
of what contacts took (MuJoCo keeps no such books); the residual is the largest of the contact laws in a step.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jourdain as jd

RADIUS, STEP, SPAN, LAST = 0.05, 2e-3, 1.0, 50
#: Part of the largest velocity to which laws are met; boxes that stand are found again from the step before the sooner, the better that was solved.
TOLERANCE = {"sphere": 1e-3, "box": 1e-5}


def places(n: int) -> np.ndarray:
    """Centres of n spheres in layers, slightly out of line."""
    rng = np.random.default_rng(1)
    side = max(2, math.ceil((n / 3) ** 0.5))
    grid = np.array([(i % side, (i // side) % side, i // side**2) for i in range(n)], dtype=float)
    return grid * [2.3 * RADIUS, 2.3 * RADIUS, 2.2 * RADIUS] + [0, 0, 1.1 * RADIUS] + rng.uniform(-0.1, 0.1, (n, 3)) * RADIUS * [1, 1, 0]


def least_time(run: Callable[[], Any], repeats: int = 3) -> float:
    """The least processor time of some runs."""
    least = math.inf
    for _ in range(repeats):
        begun = time.process_time()
        run()
        least = min(least, time.process_time() - begun)
    return least


def pile(n: int, kind: str) -> tuple[jd.Model, dict[str, float]]:
    """The model and where it starts."""
    m = jd.Model("pile")
    m.ground.shapes.append(jd.plane())
    solid = jd.sphere(RADIUS, density=1000.0) if kind == "sphere" else jd.box(2 * RADIUS, 2 * RADIUS, 2 * RADIUS, density=1000.0)
    start: dict[str, float] = {}
    for i, p in enumerate(places(n)):
        m.free(f"f{i}", m.ground, m.body(f"b{i}", shape=solid))
        start |= {f"f{i}.{c}": float(x) for c, x in zip("xyz", p, strict=True)}
    m.contact("all", law=jd.contact.rigid(friction=0.5))
    return m, start


def ours(n: int, kind: str = "sphere") -> dict[str, float]:
    """Moreau's stepping; what is timed keeps two rows."""
    m, start = pile(n, kind)
    s = m.compile()
    s.simulate(start, 2 * STEP, "moreau", step=STEP)
    used = least_time(lambda: s.simulate(start, SPAN, "moreau", step=STEP, outputs=2, tolerance=TOLERANCE[kind]))
    whole = s.simulate(start, SPAN, "moreau", step=STEP, tolerance=TOLERANCE[kind])
    ways = [np.hypot(*(whole[f"f{i}.{c}"][-1] - whole[f"f{i}.{c}"][-1 - LAST] for c in "xy")) for i in range(n)]
    return {
        "µs a step": 1e6 * used * STEP / SPAN,
        "depth, mm": 1e3 * float(whole["contacts.depth"].max()),
        "creep, mm/s": 1e3 * float(np.mean(ways)) / (LAST * STEP),
        "energy": float(np.abs(whole["energy.error"]).max() / whole["contacts.dissipated"][-1]),
        "residual, m/s": float(whole["contacts.residual"].max()),
        "contacts": float(whole["contacts.acting"][-1]),
    }


def mujoco(n: int, solref: str, kind: str = "sphere") -> dict[str, float]:
    """MuJoCo's own stepping."""
    import mujoco as mj

    size = " ".join([str(RADIUS)] * (1 if kind == "sphere" else 3))
    bodies = "".join(
        f'<body pos="{p[0]} {p[1]} {p[2]}"><freejoint/><geom type="{kind}" size="{size}" density="1000"/></body>' for p in places(n)
    )
    text = (
        f'<mujoco><option timestep="{STEP}" cone="elliptic" solver="Newton" integrator="implicitfast"/><default><geom friction="0.5 0 0" '
        f'condim="3" solref="{solref}" solimp="0.99 0.999 1e-4"/></default><worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>'
    )
    model = mj.MjModel.from_xml_string(text)
    data: Any = mj.MjData(model)
    deepest, count, places_then = 0.0, round(SPAN / STEP), np.zeros((n, 2))
    for k in range(count):
        if k == count - LAST:
            places_then = data.qpos.reshape(n, 7)[:, :2].copy()
        mj.mj_step(model, data)
        if data.ncon:
            deepest = max(deepest, -float(data.contact.dist.min()))
    ways = np.linalg.norm(data.qpos.reshape(n, 7)[:, :2] - places_then, axis=1)

    def run() -> None:
        mj.mj_resetData(model, data)
        mj.mj_step(model, data, count)

    return {
        "µs a step": 1e6 * least_time(run) / count,
        "depth, mm": 1e3 * deepest,
        "creep, mm/s": 1e3 * float(ways.mean()) / (LAST * STEP),
        "contacts": float(data.ncon),
    }


def main(kinds: list[str], sizes: list[int]) -> None:
    """Prints a table."""
    for kind, n in ((kind, n) for kind in kinds for n in sizes):
        rows = {"Jourdain": ours(n, kind)}
        try:
            rows |= {"MuJoCo, default": mujoco(n, "0.02 1", kind), "MuJoCo, hard": mujoco(n, f"{2 * STEP} 1", kind)}
        except ImportError:
            print("MuJoCo is not installed")
        for name, row in rows.items():
            print(f"{n:6} {kind:6}  {name:16} " + "  ".join(f"{key} {value:.4g}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    words = [a for a in sys.argv[1:] if not a.isdigit()] or ["sphere", "box"]
    main(words, [int(a) for a in sys.argv[1:] if a.isdigit()] or [10, 30, 100])
