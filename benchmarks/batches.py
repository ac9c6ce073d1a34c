"""Small batches and many coupled loops: what a call costs before its first state, and how evaluation, projection and assembly grow."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

STATES = (2, 16, 64, 256, 1024)
LOOPS = (1, 2, 10, 40, 100, 200, 400, 800, 1600, 2000)


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


def loops(sizes: tuple[int, ...] = LOOPS) -> list[dict[str, float]]:
    """µs of an evaluation and of a projection, ms of a second assembly, of four-bars in a row."""
    from jourdain import library
    from jourdain.systems.tree.projected import NativeSystem

    found = []
    for n in sizes:
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


#: What a process of its own does with four-bars in a row: a first run from nothing.
FIRST_RUN = """
import resource, sys, time
from jourdain import library
begun = time.process_time()
s = library.n_four_bar(int(sys.argv[1])).compile()
start = s.assemble({"A0.angle": 0.3}, velocities={"A0.angle_rate": -1.0})
s.simulate(start, 0.1)
print(time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def first_runs(sizes: tuple[int, ...] = LOOPS) -> list[dict[str, float]]:
    """Processor time (s) and memory (MB) of a first run in an empty cache but for the kernels, and again with what was kept."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "JOURDAIN_CACHE": folder}

        def run(n: int) -> list[float]:
            command = [sys.executable, "-c", FIRST_RUN, str(n)]
            return [float(x) for x in subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()]

        run(65)  # kernels, those of many constraints among them
        run(3)
        for n in sizes:
            (first, memory), (again, later) = run(n), run(n)
            found.append({"loops": n, "first_s": first, "memory_MB": memory, "again_s": again, "later_MB": later})
    return found


def exponents(rows: list[dict[str, float]], least: int = 100) -> None:
    """Prints how figures grow with the loops, from each size to the next."""
    rows = [row for row in rows if row["loops"] >= least]
    for name in list(rows[0])[1:]:
        steps = [f"{np.log(b[name] / a[name]) / np.log(b['loops'] / a['loops']):.2f}" for a, b in pairwise(rows)]
        whole = np.log(rows[-1][name] / rows[0][name]) / np.log(rows[-1]["loops"] / rows[0]["loops"])
        print(f"{name}: exponents {', '.join(steps)}; {whole:.2f} over all")


def run(quick: bool = False) -> dict[str, Any]:
    """All tables, printed."""
    figures = {"batches": batches()} if quick else {"batches": batches(), "loops": loops(), "first runs": first_runs()}
    for rows in figures.values():
        for row in rows:
            print("  ".join(f"{name} {value:.4g}" for name, value in row.items()))
        if "loops" in rows[0]:
            exponents(rows)
    return figures


if __name__ == "__main__":
    run()
