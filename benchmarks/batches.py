"""Small batches and many coupled loops: what a call costs before its first state, and how evaluation, projection and assembly grow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

STATES = (2, 16, 64, 256, 1024)
LOOPS = (50, 100, 200, 400)


def shortest(f: Callable[[], Any], calls: int, rounds: int = 40) -> float:
    """Processor time of one call, s: the least of several rounds."""
    found = []
    for _ in range(rounds):
        begun = time.process_time()
        for _ in range(calls):
            f()
        found.append((time.process_time() - begun) / calls)
    return min(found)


def batches() -> list[dict[str, float]]:
    """µs a state of the UR5's inverse dynamics, by the number of states in a call."""
    from benchmarks.dynamics import urdf_path
    from jourdain.io import read_urdf

    f = read_urdf(urdf_path("ur5_robot.urdf"), meshes=False).compile().function("inverse_dynamics")
    rng, found = np.random.default_rng(0), []
    for n in STATES:
        tables = [rng.normal(size=(n, size)) for size in f.inputs.values()]
        f(*tables)
        call = shortest(lambda tables=tables: f(*tables), max(1, 4000 // n))
        found.append({"states": n, "call_us": call * 1e6, "state_us": call / n * 1e6})
    return found


def loops() -> list[dict[str, float]]:
    """µs of an evaluation and of a projection, ms of a second assembly, of four-bars in a row."""
    from jourdain import library
    from jourdain.systems.tree.projected import NativeSystem

    found = []
    for n in LOOPS:
        s = library.n_four_bar(n).compile()
        start = s.assemble({"A0.angle": 0.3}, velocities={"A0.angle_rate": -1.0})
        native = NativeSystem(s, start=start)
        assert native.project is not None
        x, rates = start.x.copy(), np.zeros(start.x.size)
        found.append(
            {
                "loops": n,
                "evaluation_us": shortest(lambda f=native.rhs, x=x, rates=rates: f(0.0, x, rates), 20) * 1e6,
                "projection_us": shortest(lambda f=native.project, x=x: f(0.0, x, x), 20) * 1e6,
                "assembly_ms": shortest(lambda s=s: s.assemble({"A0.angle": 0.3}, velocities={"A0.angle_rate": -1.0}), 1, 3) * 1e3,
            }
        )
    return found


def run(quick: bool = False) -> dict[str, Any]:
    """Both tables, printed."""
    figures = {"batches": batches(), "loops": [] if quick else loops()}
    for rows in figures.values():
        for row in rows:
            print("  ".join(f"{name} {value:.4g}" for name, value in row.items()))
    if not quick:
        few, many = figures["loops"][0], figures["loops"][-1]
        for name in ("evaluation_us", "projection_us", "assembly_ms"):
            print(f"{name}: exponent {np.log(many[name] / few[name]) / np.log(many['loops'] / few['loops']):.2f}")
    return figures


if __name__ == "__main__":
    run()
