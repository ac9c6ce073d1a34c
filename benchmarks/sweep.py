"""A sweep over parameters of the car: many lane changes in one call, on one thread and on all cores.

    python -m benchmarks.run sweep [--quick]

Two efficiencies are given.  By the clock: time on one thread over (threads × time on all), which other programs on the machine spoil.
By processor time: what a run costs on one thread over what it costs in company.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

#: Least parallel efficiency on two cores.
TARGET = 0.8


def sets(runs: int) -> dict[str, np.ndarray]:
    """Chassis masses, stiffnesses and dampings around the car's own."""
    rng = np.random.default_rng(0)
    return {
        "chassis.mass": rng.uniform(1000.0, 1500.0, runs),
        "front.bar": rng.uniform(0.5, 1.5, runs),
        "rear.bar": rng.uniform(0.5, 1.5, runs),
    }


def run(quick: bool = False) -> dict[str, Any]:
    """A thousand runs of 10 s (quick: 40 of 2 s) on all cores, with some on one thread before and after."""
    from rich.console import Console
    from rich.table import Table

    from jourdain.library import car as cars
    from jourdain.native.lanes import thread_count

    from .car import lane_change

    runs, seconds, alone = (40, 2.0, 10) if quick else (1000, 10.0, 50)
    system = cars.car(lane_change, cruise=True).compile()
    start = system.assemble({}, velocities=cars.rolling(25.0))
    own = system.parameters
    values = {n: x * (1.0 if n == "chassis.mass" else own[n]) for n, x in sets(runs).items()}
    threads = thread_count()

    def part(first: int, last: int, count: int) -> dict[str, float]:
        """Wall and processor seconds of some of the runs."""
        chosen = {n: x[first:last] for n, x in values.items()}
        wall, cpu = time.perf_counter(), time.process_time()
        result = system.sweep(
            start, seconds, parameters=chosen, outputs=["chassis.y"], method="dopri5", rtol=1e-6, atol=1e-8, times=np.array([0.0, seconds]),
            threads=count, progress=False,
        )  # fmt: skip
        spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "failed": float(len(result.failures))}
        return spent | {"spread": float(np.ptp(result["chassis.y"]))}

    part(0, 2 * threads, threads)  # loads the code
    before = part(0, alone, 1)
    together = part(0, runs, threads)
    after = part(runs - alone, runs, 1)
    wall_alone, cpu_alone = ((before[k] + after[k]) / (2 * alone) for k in ("wall", "cpu"))
    figures = {
        "runs": runs, "seconds": seconds, "threads": threads, "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "wall": together["wall"], "cpu": together["cpu"], "failed": int(together["failed"]), "spread": together["spread"],
        "wall_alone": wall_alone, "cpu_alone": cpu_alone, "real_time": runs * seconds / together["wall"],
        "efficiency": runs * wall_alone / (threads * together["wall"]), "cpu_efficiency": runs * cpu_alone / together["cpu"],
        "busy": together["cpu"] / (threads * together["wall"]), "target": TARGET,
    }  # fmt: skip
    table = Table(title=f"{runs} lane changes of {seconds:g} s on {threads} threads")
    for column in ("wall, s", "processor, s", "× real time", "efficiency (clock)", "efficiency (processor)", "failed"):
        table.add_column(column, justify="right")
    table.add_row(
        f"{figures['wall']:.1f}", f"{figures['cpu']:.1f}", f"{figures['real_time']:.0f}", f"{100 * figures['efficiency']:.0f} %",
        f"{100 * figures['cpu_efficiency']:.0f} %", str(figures["failed"]),
    )  # fmt: skip
    Console().print(table)
    return figures


if __name__ == "__main__":
    run("--quick" in sys.argv)
