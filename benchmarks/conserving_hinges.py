"""Chains and loops of N hinged bodies by directors with energy–momentum steps: how work, fill and memory grow with N for the reductions.

python -m benchmarks.conserving_hinges [--quick]

A chain starts horizontally and hangs by its first hinge; its axes are parallel, or alternate between two directions. A ring is a closed
polygon, scissors are bars crossed in pairs (a loop for each two bars); both are planar, so that three rows of every loop are redundant. Times
are processor times of the march on one thread; "ready" is the time from the system to its first step (equations, rank, tables, order, analysis).
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.conserving import GRAVITY, INERTIA, LENGTH, MASS

END, STEP = 0.1, 0.005
REDUCTIONS = ("none", "bodies", "joints")


class Hinged:
    """A system of bodies between points, put together by hinges."""

    def __init__(self, name: str, gravity: tuple[float, float, float]) -> None:
        import jourdain as jd
        from jourdain.elements.carriers import Ground
        from jourdain.elements.pairs import Revolute
        from jourdain.elements.rigid import DirectorBody

        self.system, self._type = jd.AssembledSystem(name), DirectorBody()
        self._between, self._ground = Revolute(), Revolute(a=Ground())
        self._numbers = DirectorBody.numbers(MASS, INERTIA, gravity=gravity)

    def body(self, name: str, start: np.ndarray, end: np.ndarray) -> tuple[Any, np.ndarray]:
        """A body along the line between two points, with its y axis in the plane of x and y where that is possible."""
        x = (end - start) / np.linalg.norm(end - start)
        y = np.cross((0.0, 0.0, 1.0), x)
        q = self._type.coordinates_of(0.5 * (start + end), np.column_stack([x, y, np.cross(x, y)]))
        handle = self.system.coordinates(name, 12, q)
        self.system.add(self._type, f"mass of {name}", {"body": handle}, self._numbers)
        return handle, q

    def hinge(self, name: str, at: np.ndarray, axis: tuple[float, float, float], b: Any, a: Any = None) -> None:
        """A hinge between two bodies, or on the ground."""
        if a is None:
            self.system.add(self._ground, name, {"b": b[0]}, self._ground.place(at, axis, b=b[1]))
        else:
            self.system.add(self._between, name, {"a": a[0], "b": b[0]}, self._between.place(at, axis, a[1], b[1]))


def chain(n: int, alternating: bool = False) -> Any:
    """Bodies along x that hang by the first hinge; axes along y, or along y and z in turn."""
    made, last = Hinged("chain", (0.0, 0.0, -GRAVITY)), None
    points = np.column_stack([LENGTH * np.arange(n + 1), np.zeros((n + 1, 2))])
    for i in range(n):
        body = made.body(f"b{i}", points[i], points[i + 1])
        made.hinge(f"j{i}", points[i], (0.0, 0.0, 1.0) if alternating and i % 2 else (0.0, 1.0, 0.0), body, last)
        last = body
    return made.system


def ring(n: int) -> Any:
    """A closed polygon in the plane, one corner on the ground."""
    made, angle = Hinged("ring", (0.0, -GRAVITY, 0.0)), 2.0 * np.pi * np.arange(n + 1) / n
    corners = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle]) * n * LENGTH / (2.0 * np.pi)
    bodies = [made.body(f"b{i}", corners[i], corners[i + 1]) for i in range(n)]
    for i, body in enumerate(bodies):
        made.hinge(f"j{i}", corners[i], (0.0, 0.0, 1.0), body, bodies[i - 1] if i else None)
    made.hinge("closing", corners[0], (0.0, 0.0, 1.0), bodies[0], bodies[-1])
    return made.system


def scissors(n: int) -> Any:
    """n bars (an even number) crossed in pairs in the plane; the lower bar of the first pair hangs on the ground."""
    made, before, axis = Hinged("scissors", (0.0, -GRAVITY, 0.0)), None, (0.0, 0.0, 1.0)
    for i in range(n // 2):
        low, high = (np.array([LENGTH * i, y, 0.0]) for y in (0.0, 0.6 * LENGTH))
        step = np.array([LENGTH, 0.0, 0.0])
        rising, falling = made.body(f"up{i}", low, high + step), made.body(f"down{i}", high, low + step)
        made.hinge(f"middle{i}", 0.5 * (low + high + step), axis, falling, rising)
        made.hinge(f"low{i}", low, axis, rising, before[1] if before else None)
        if before:
            made.hinge(f"high{i}", high, axis, falling, before[0])
        before = rising, falling
    return made.system


SHAPES: dict[str, Callable[[int], Any]] = {
    "chain, parallel": chain, "chain, alternating": lambda n: chain(n, True), "ring": ring, "scissors": scissors,
}  # fmt: skip


def measured(shape: str, n: int, reduction: str, again: int = 2) -> dict[str, float]:
    """Times to build and to get ready (s), of a body in a step (µs), fill and non-zeros of a body, energy drift (J)."""
    from jourdain.elements.discrete.schemes import scheme
    from jourdain.solvers.stepping import frame as ap

    begun = time.process_time()
    system = SHAPES[shape](n)
    built = time.process_time()
    row: dict[str, float] = {"build": built - begun, "march": np.inf}
    for k in range(again):
        begun = time.process_time()
        run, _ = system.new_run(scheme("energy-momentum"), reduction, 0.0, END, STEP, 1, 1e-12, 20)
        run.begin()
        ready = time.process_time()
        rows, reason = run.march()
        if reason != ap.FINISHED:
            raise RuntimeError(f"{shape} of {n}, {reduction}: failed at t = {run.clock.t:g} s")
        if k == 0:
            row["ready"] = ready - begun
        row["march"] = min(row["march"], time.process_time() - ready)
    energy, steps = rows.joined()[4][:, ap.TOTAL], run.count.steps
    fill = run.lu.fill if run.lu is not None else run.joints.unknowns**2
    return {
        **row, "steps": steps, "us_per_body_step": 1e6 * row["march"] / steps / n, "iterations": run.count.iterations / steps,
        "factorisations": run.count.factorisations / steps, "unknowns": run.r.size if run.lu is not None else run.joints.unknowns,
        "fill_per_body": fill / n, "drift": float(np.abs(energy - energy[0]).max()),
    }  # fmt: skip


def exponent(rows: dict[int, dict[str, float]], of: str, per_body: bool = False) -> float:
    """The power of N with which a quantity grows, fitted to the sizes from 100 on (to all when there are not two such)."""
    sizes = [n for n in rows if n >= 100] if len([n for n in rows if n >= 100]) > 1 else list(rows)
    return float(np.polyfit(np.log(sizes), np.log([rows[n][of] * (n if per_body else 1) for n in sizes]), 1)[0])


def memory(n: int) -> dict[str, float]:
    """Largest memory that Python and NumPy hold while a chain is built and made ready (MB), and of one body (kB)."""
    from jourdain.elements.discrete.schemes import scheme

    tracemalloc.start()
    chain(n, True).new_run(scheme("energy-momentum"), "bodies", 0.0, END, STEP, 1, 1e-12, 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"n": n, "peak": peak / 1e6, "per_body": peak / 1e3 / n}


def run(quick: bool = False) -> dict[str, Any]:
    """Sizes, reductions and shapes, with the exponents of growth."""
    sizes = (10, 30, 100) if quick else (10, 30, 100, 300, 1000, 5000)
    largest = {"joints": 300, "ring": 1000, "scissors": 1000}
    figures: dict[str, Any] = {"rows": {}, "growth": {}}
    for reduction in REDUCTIONS:
        measured("ring", 4, reduction, 1)  # code is compiled or loaded before clocks run
    for shape in SHAPES:
        for reduction in REDUCTIONS if shape.startswith("chain") else REDUCTIONS[:2]:
            name, limit = f"{shape}, {reduction}", min(largest.get(shape, 5000), largest.get(reduction, 5000))
            rows = {n: measured(shape, n, reduction) for n in sizes if n <= limit}
            growth = {of: exponent(rows, of, of == "fill_per_body") for of in ("build", "ready", "march", "fill_per_body")}
            figures["rows"][name], figures["growth"][name] = rows, growth
            for n, row in rows.items():
                print(f"{name}, {n} bodies: " + ", ".join(f"{k} {x:.3g}" for k, x in row.items()), flush=True)
            print(f"{name}: growth as N to the power " + ", ".join(f"{k} {x:.2f}" for k, x in growth.items()), flush=True)
    figures["memory"] = [memory(n) for n in sizes[-2:]]
    print(f"memory: {figures['memory']}")
    return figures


if __name__ == "__main__":
    run("--quick" in sys.argv)
