"""Piles of spheres against MuJoCo: time a step, deepest penetration, drift of what should rest.

python -m benchmarks.contact [spheres …]

The same scene for both: layers of spheres dropped on a plane, friction 0.5, no rebound, one thread, 2 ms.  MuJoCo with its Newton solver and elliptic cones,
once with its own softness of contact and once with the hardest that it runs stably with (solref of two steps).
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np

import jourdain as jd

RADIUS, STEP, SPAN = 0.05, 2e-3, 1.0


def places(n: int) -> np.ndarray:
    """Centres of n spheres in layers, slightly out of line."""
    rng = np.random.default_rng(1)
    side = max(2, math.ceil((n / 3) ** 0.5))
    grid = np.array([(i % side, (i // side) % side, i // side**2) for i in range(n)], dtype=float)
    return grid * [2.3 * RADIUS, 2.3 * RADIUS, 2.2 * RADIUS] + [0, 0, 1.1 * RADIUS] + rng.uniform(-0.1, 0.1, (n, 3)) * RADIUS * [1, 1, 0]


def ours(n: int) -> dict[str, float]:
    """Moreau's stepping; the second run is timed."""
    m = jd.Model("pile")
    m.ground.shapes.append(jd.plane())
    start: dict[str, float] = {}
    for i, p in enumerate(places(n)):
        m.free(f"f{i}", m.ground, m.body(f"b{i}", shape=jd.sphere(RADIUS, density=1000.0)))
        start |= {f"f{i}.{c}": float(x) for c, x in zip("xyz", p, strict=True)}
    m.contact("all", law=jd.contact.rigid(friction=0.5))
    s = m.compile()
    s.simulate(start, 2 * STEP, "moreau", step=STEP)
    begun = time.perf_counter()
    sol = s.simulate(start, SPAN, "moreau", step=STEP, outputs=2, tolerance=1e-5)
    used = time.perf_counter() - begun
    whole = s.simulate(start, SPAN, "moreau", step=STEP, tolerance=1e-5)
    return {
        "µs a step": 1e6 * used * STEP / SPAN,
        "depth, mm": 1e3 * float(whole["contacts.depth"].max()),
        "contacts": float(sol["contacts.acting"][-1]),
    }


def mujoco(n: int, solref: str) -> dict[str, float]:
    """MuJoCo's own stepping."""
    import mujoco as mj

    bodies = "".join(
        f'<body pos="{p[0]} {p[1]} {p[2]}"><freejoint/><geom type="sphere" size="{RADIUS}" density="1000"/></body>' for p in places(n)
    )
    text = (
        f'<mujoco><option timestep="{STEP}" cone="elliptic" solver="Newton" integrator="implicitfast"/><default><geom friction="0.5 0 0" '
        f'condim="3" solref="{solref}" solimp="0.99 0.999 1e-4"/></default><worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>'
    )
    model = mj.MjModel.from_xml_string(text)
    data: Any = mj.MjData(model)
    deepest, count = 0.0, round(SPAN / STEP)
    for _ in range(count):
        mj.mj_step(model, data)
        if data.ncon:
            deepest = max(deepest, -float(data.contact.dist.min()))
    mj.mj_resetData(model, data)
    begun = time.perf_counter()
    mj.mj_step(model, data, count)
    used = time.perf_counter() - begun
    return {"µs a step": 1e6 * used / count, "depth, mm": 1e3 * deepest, "contacts": float(data.ncon)}


def main(sizes: list[int]) -> None:
    """Prints a table."""
    for n in sizes:
        rows = {"Jourdain": ours(n)}
        try:
            rows |= {"MuJoCo, default": mujoco(n, "0.02 1"), "MuJoCo, hard": mujoco(n, f"{2 * STEP} 1")}
        except ImportError:
            print("MuJoCo is not installed")
        for name, row in rows.items():
            print(f"{n:6} spheres  {name:16} " + "  ".join(f"{key} {value:.4g}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [10, 30, 100])
