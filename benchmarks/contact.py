"""Piles of spheres and of boxes against MuJoCo: processor time a step, deepest penetration, drift of what should rest.

python -m benchmarks.contact [sphere|box …] [bodies …]

The same scene for both: layers of bodies dropped on a plane, friction 0.5, no rebound, one thread, 2 ms.  MuJoCo with its Newton solver and elliptic cones,
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


def ours(n: int, kind: str = "sphere") -> dict[str, float]:
    """Moreau's stepping; the second run is timed."""
    m = jd.Model("pile")
    m.ground.shapes.append(jd.plane())
    solid = jd.sphere(RADIUS, density=1000.0) if kind == "sphere" else jd.box(2 * RADIUS, 2 * RADIUS, 2 * RADIUS, density=1000.0)
    start: dict[str, float] = {}
    for i, p in enumerate(places(n)):
        m.free(f"f{i}", m.ground, m.body(f"b{i}", shape=solid))
        start |= {f"f{i}.{c}": float(x) for c, x in zip("xyz", p, strict=True)}
    m.contact("all", law=jd.contact.rigid(friction=0.5))
    s = m.compile()
    s.simulate(start, 2 * STEP, "moreau", step=STEP)
    begun = time.process_time()
    sol = s.simulate(start, SPAN, "moreau", step=STEP, outputs=2, tolerance=1e-5)
    used = time.process_time() - begun
    whole = s.simulate(start, SPAN, "moreau", step=STEP, tolerance=1e-5)
    return {
        "µs a step": 1e6 * used * STEP / SPAN,
        "depth, mm": 1e3 * float(whole["contacts.depth"].max()),
        "contacts": float(sol["contacts.acting"][-1]),
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
    deepest, count = 0.0, round(SPAN / STEP)
    for _ in range(count):
        mj.mj_step(model, data)
        if data.ncon:
            deepest = max(deepest, -float(data.contact.dist.min()))
    mj.mj_resetData(model, data)
    begun = time.process_time()
    mj.mj_step(model, data, count)
    used = time.process_time() - begun
    return {"µs a step": 1e6 * used / count, "depth, mm": 1e3 * deepest, "contacts": float(data.ncon)}


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
