"""A step from Python: what `advance` of a stepper costs beside the same step inside `simulate`, for a pendulum, a linkage and a car.

    python -m benchmarks.stepper [--quick]

Times are processor times, the least of several rounds, both in turn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

#: An advance costs at most so many times the step inside simulate, and so many µs more.
TARGET = (1.15, 3.0)
STEP = 1e-3


def systems() -> dict[str, tuple[Any, Any, list[str]]]:
    """System, start and outputs by title."""
    from jourdain import library
    from jourdain.library import car as cars
    from jourdain.library.mechanisms import four_bar

    pendulum, linkage, car = (m.compile() for m in (library.pendulum(), four_bar(), cars.car(steered(), cruise=True)))
    return {
        "pendulum": (pendulum, pendulum.state({"hinge.angle": 1.0}), ["hinge.angle"]),
        "four-bar": (linkage, linkage.assemble({"crank.angle": 1.0}), ["crank.angle", "rocker.angle"]),
        "car": (car, car.assemble({}, velocities=cars.rolling(25.0)), ["chassis.x", "chassis.y", "chassis.z"]),
    }


def steered() -> Callable[[Any], Any]:
    """The rack's displacement of a lane change."""
    from .car import lane_change

    return lane_change


def seconds_per_step(go: Callable[[int], Any], steps: int) -> float:
    """Processor seconds of one of some steps."""
    begun = time.process_time()
    go(steps)
    return (time.process_time() - begun) / steps


def compared(system: Any, start: Any, outputs: list[str], method: str, steps: int, seconds: float) -> dict[str, float]:
    """µs of a step inside simulate and of an advance."""
    stepper = system.stepper(start, STEP, method, outputs=outputs)
    token = stepper.save()
    u = np.array(system.input_values())

    def inside(n: int) -> None:
        system.simulate(start, n * STEP, method, step=STEP, dense=False)

    def advances(n: int) -> None:
        stepper.restore(token)
        advance = stepper.advance
        for _ in range(n):
            advance(u)

    inside(10)
    steps = min(steps, max(100, int(0.05 / seconds_per_step(advances, 10))))  # rounds short enough that some are not disturbed
    pairs, begun = [], time.process_time()
    while len(pairs) < 3 or time.process_time() - begun < seconds:
        pairs.append((seconds_per_step(inside, steps), seconds_per_step(advances, steps)))
    a, b = (1e6 * min(times) for times in zip(*pairs, strict=True))
    alone = 1e6 * min(seconds_per_step(lambda n: [system.simulate(start, STEP, method, step=STEP) for _ in range(n)], 20) for _ in range(3))
    return {"inside": a, "advance": b, "alone": alone, "allowed": TARGET[0] * a + TARGET[1]}


def run(quick: bool = False) -> dict[str, Any]:
    """Prints and returns the figures, µs."""
    from rich.console import Console
    from rich.table import Table

    steps, seconds = (300, 0.1) if quick else (2000, 1.5)
    figures = {
        f"{title}, {method}": compared(*given, method, steps, seconds)
        for title, given in systems().items()
        for method in ("rk4", "rosenbrock2")
    }
    table = Table(title="A step of 1 ms, µs: inside simulate, by advance, by a simulate of its own")
    for column in ("system, method", "inside", "advance", "ratio", "allowed", "alone"):
        table.add_column(column, justify="left" if column.startswith("system") else "right", no_wrap=True)
    for title, row in figures.items():
        table.add_row(
            title, *(f"{x:.2f}" for x in (row["inside"], row["advance"], row["advance"] / row["inside"], row["allowed"])), f"{row['alone']:.0f}"
        )  # fmt: skip
    Console().print(table)
    return figures


if __name__ == "__main__":
    run("--quick" in sys.argv)
