"""Vehicles with loops: time per evaluation of the accelerations, and a lane change simulated against real time on one core.

The right-hand side takes positions and velocities on the constraints (kept there by a projection after each accepted step; nothing
is solved iteratively inside), evaluates mass matrix, forces with tyres, constraint Jacobian, eliminates each loop by itself and
solves the reduced system.  Times are processor times, so that other work on the machine counts less.

    python -m benchmarks.car [--quick]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .chain import call_time

#: Largest µs for an evaluation of the accelerations, and least factor of real time.
TARGETS = {"five-link, rods removed": 1.5, "car, Magic Formula": 8.0, "real time": 50.0}


def lane_change(t: Any) -> Any:
    """Rack displacement of a double lane change (m): left at 1 s, back at 3 s."""
    import jourdain as jd

    pulse = lambda start: jd.step(t, start, start + 0.3) - 2.0 * jd.step(t, start + 0.7, start + 1.0) + jd.step(t, start + 1.4, start + 1.7)
    return 0.004 * (pulse(1.0) - pulse(3.5))


def systems() -> dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """Models and their states by title."""
    from jourdain.library import car as cars
    from jourdain.library import suspensions as s

    still = lambda system: system.assemble({})
    ahead = lambda system: system.assemble({}, velocities=cars.rolling(25.0))
    return {
        "five-link, rods removed": (lambda: s.five_link_suspension("removed"), still),
        "five-link, cut balls": (lambda: s.five_link_suspension("bodies"), still),
        "McPherson": (s.mcpherson_suspension, still),
        "double wishbone": (s.double_wishbone_suspension, still),
        "car, no tyres": (lambda: cars.car(tyres=None), ahead),
        "car, linear tyres": (lambda: cars.car(lane_change, "linear", cruise=True), ahead),
        "car, Magic Formula": (lambda: cars.car(lane_change, cruise=True), ahead),
        "car, Magic Formula, relaxation": (lambda: cars.car(lane_change, cruise=True, relaxation=True), ahead),
        "car, cut balls, no tyres": (lambda: cars.car(tyres=None, rods="bodies"), ahead),
    }


def evaluation(system: Any, state: Any) -> dict[str, float]:
    """µs of the right-hand side, of its symbolic part, and of the projection; sizes and operations."""
    from jourdain.systems.tree.projected import NativeSystem

    native = NativeSystem(system)
    x, out, clock = state.x.copy(), np.zeros(native.n), np.zeros(1)

    def timed(function: Any) -> float:
        args = function.args.copy()
        args[:3] = clock.ctypes.data, x.ctypes.data, out.ctypes.data
        return 1e6 * call_time(function.address, args)

    f = system.function("descriptor")
    arrays = [clock, x, np.append(system.input_values(), 0.0), *(np.zeros(max(1, int(np.prod(shape)))) for shape in f.outputs.values())]
    terms = f.arguments(*arrays)
    return {
        "coordinates": system.nv, "constraints": len(system.equations_of_motion.rows), "operations": f.operations.flops,
        "evaluation": timed(native.rhs), "terms": 1e6 * call_time(f.address, terms), "projection": timed(native.project),
    }  # fmt: skip


def processor_time(f: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Least processor time of several runs, and what the last one gave."""
    best, result = np.inf, None
    for _ in range(repeat):
        start = time.process_time()
        result = f()
        best = min(best, time.process_time() - start)
    return float(best), result


def manoeuvre(seconds: float, repeat: int) -> list[dict[str, Any]]:
    """The lane change by several methods: real-time factor, and the error against a tight run."""
    from jourdain.library import car as cars

    system = cars.car(lane_change, cruise=True).compile()
    start = system.assemble({}, velocities=cars.rolling(25.0))
    times = np.linspace(0.0, seconds, int(20 * seconds) + 1)
    run = lambda method, rtol: system.simulate(start, seconds, method=method, rtol=rtol, atol=1e-2 * rtol, times=times)
    exact = run("dop853", 1e-11)
    rows = []
    for method, rtol in (("dopri5", 1e-4), ("dopri5", 1e-6), ("dop853", 1e-6), ("adams", 1e-4), ("adams", 1e-6)):
        best, sol = processor_time(partial(run, method, rtol), repeat)
        error = max(float(np.abs(sol[n] - exact[n]).max()) for n in ("chassis.x", "chassis.y", "chassis.z"))
        rows.append({
            "method": method, "rtol": rtol, "real_time": seconds / best, "steps": sol.statistics["steps"], "evaluations": sol.statistics["rhs"],
            "microseconds": 1e6 * best / sol.statistics["rhs"], "error": error, "lateral": float(exact["chassis.y"][-1]),
        })  # fmt: skip
    return rows


def echelon(repeat: int) -> dict[str, Any]:
    """The suspension over a step of the road in 2 s by Adams' method, with rods removed and with cut balls (published: +26.5 %)."""
    import jourdain as jd
    from jourdain.library import suspensions as s

    found: dict[str, Any] = {}
    for rods in ("removed", "bodies"):
        system = s.five_link_suspension(rods, road=lambda t: jd.step(t, 0.2, 0.21, 0.0, 0.05)).compile()
        start = system.assemble({})
        ride = partial(system.simulate, start, 2.0, method="adams", rtol=1e-5, atol=1e-7)
        best, sol = processor_time(ride, repeat)
        found[rods] = {"seconds": best, "evaluations": sol.statistics["rhs"], "real_time": 2.0 / best}
    found["ratio"] = found["bodies"]["seconds"] / found["removed"]["seconds"]
    return found


def run(quick: bool = False) -> dict[str, Any]:
    """All figures; ``quick`` runs 2 s of the manoeuvre."""
    from rich.console import Console

    rows = {}
    for title, (make, state) in systems().items():
        system = make().compile()
        rows[title] = evaluation(system, state(system))
    repeat = 2 if quick else 7
    result: dict[str, Any] = {
        "evaluations": rows,
        "lane_change": manoeuvre(2.0 if quick else 10.0, repeat),
        "echelon": echelon(repeat),
        "targets": TARGETS,
    }
    console = Console()
    for table in tables(result):
        console.print(table)
    ratio = result["echelon"]["ratio"]
    console.print(f"five-link over a step: cut balls take {ratio:.2f} times the time of removed rods (published in an interpreter: 1.27)")
    return result


def tables(result: dict[str, Any]) -> list[Any]:
    """The figures as rich tables."""
    from rich.table import Table

    first = Table(title="Accelerations of n coordinates with m constraints, µs")
    for column in ("model", "n", "m", "flops", "total", "terms", "projection", "target"):
        first.add_column(column, justify="left" if column == "model" else "right", no_wrap=True)
    for title, row in result["evaluations"].items():
        goal = TARGETS.get(title)
        first.add_row(
            title, *(str(int(row[n])) for n in ("coordinates", "constraints", "operations")),
            *(f"{row[n]:.2f}" for n in ("evaluation", "terms", "projection")), f"≤ {goal:g}" if goal else "",
        )  # fmt: skip
    second = Table(title="Lane change at 25 m/s")
    for column in ("method", "rtol", "× real time", "steps", "evaluations", "µs each", "error, m"):
        second.add_column(column, justify="right")
    for row in result["lane_change"]:
        second.add_row(
            row["method"], f"{row['rtol']:g}", f"{row['real_time']:.0f}", str(row["steps"]), str(row["evaluations"]),
            f"{row['microseconds']:.2f}", f"{row['error']:.1e}",
        )  # fmt: skip
    return [first, second]


if __name__ == "__main__":
    run("--quick" in sys.argv)
