"""Work of the energy-consistent schemes for every example: unknowns, Newton iterations, time a step and condition numbers.

The table continues those of S. Uhlar's thesis (5.3, 5.7, 5.9), which compare the scheme with all constraints (BEM) with that in
joint coordinates (REM).  python -m benchmarks.energy_consistent_work
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from jourdain.elements.discrete.schemes import scheme  # noqa: E402
from jourdain.library import conserving, conserving_loops, manipulators  # noqa: E402
from jourdain.systems.assembled.system import AssembledSystem  # noqa: E402


@dataclass(frozen=True)
class Example:
    """A system, the duration and step of its run (s), tolerance of Newton's method, and the thesis' ratio of computing times."""

    name: str
    make: Callable[[], AssembledSystem]
    duration: float
    step: float
    tolerance: float = 1e-12
    reductions: tuple[str, ...] = ("none", "bodies", "joints")
    published: str = ""


EXAMPLES = (
    Example("E1 dumbbell", conserving.dumbbell, 5.0, 0.01, reductions=("none",)),
    Example("E2 pair with motor", conserving.pair_with_motor, 2.0, 0.01),
    Example("E3 screw pair", conserving.screw_pair, 1.0, 0.02, published="5 : 1"),
    Example("E4 parallel manipulator", lambda: manipulators.planar_manipulator(0.05), 2.0, 0.01, published="3 : 1"),
    Example("E5 radio telescope", manipulators.radio_telescope, 4.0, 0.01, published="26 : 1"),
    Example("E6 damped oscillator", conserving.damped_oscillator, 10.0, 0.05, reductions=("none",)),
    Example("E7 viscous joint", conserving.pendulum_with_viscous_joint, 10.0, 0.02),
    Example("E8 viscoelastic oscillator", conserving.viscoelastic_oscillator, 10.0, 0.02, reductions=("none",)),
    Example("E9 plastic joint", lambda: conserving.pendulum_with_plastic_joint(150.0), 5.0, 0.02),
    Example("E10 friction oscillator", conserving.friction_oscillator, 10.0, 0.02, reductions=("none",)),
    Example("E11 double wishbone", conserving_loops.double_wishbone, 5.0, 0.02),
    Example("E12 3-RPR manipulator", conserving_loops.rpr_manipulator, 2.9, 0.01),
    Example("E13 ball on plate", conserving.ball_on_plate, 11.0, 0.1),
    Example("E14 two-wheeled robot", lambda: conserving.two_wheeled_robot([2.0, 0.0], [0.0, 1.5]), 4.0, 0.01),
    Example("7.1 blob and sphere", conserving.cavity_pendulum, 5.0, 1e-3, 1e-15, ("none",)),
    Example("7.1 two spheres", lambda: conserving.cavity_pendulum(two_spheres=True), 5.0, 7e-3, 1e-15, ("none",)),
    Example("7.2 angular play", conserving.prism_pendulum, 5.0, 4e-3, 1e-14, ("none",)),
)
WORDS = {"none": "all constraints", "bodies": "bodies", "joints": "joint coordinates"}


@dataclass(frozen=True)
class Work:
    """Measured: unknowns, iterations a step, time a step (µs), condition numbers as printed in the thesis and as solved, at h and h/100."""

    unknowns: int
    iterations: float
    microseconds: float
    printed: tuple[float, float]
    solved: tuple[float, float]


def measure(example: Example, reduction: str, budget: float = 0.3) -> Work:
    """The shortest of repeated marches to the end (s of ``budget``): building and compiling do not count."""
    s = example.make()
    best, spent, figures = float("inf"), 0.0, {}
    while spent < budget or not figures:
        run, _ = s.new_run(scheme("energy-momentum"), reduction, 0.0, example.duration, example.step, 10**9, example.tolerance, 20)
        run.begin()
        begun = time.perf_counter()
        run.march()
        seconds = time.perf_counter() - begun
        figures = run.statistics(seconds)
        best, spent = min(best, seconds), spent + seconds
    reports = [s.report(h, reduction=reduction) for h in (example.step, 0.01 * example.step)]
    printed, solved = ((r[0], r[1]) for r in ([r[k] for r in reports] for k in ("condition_unscaled", "condition")))
    steps = figures["steps"]
    return Work(int(reports[0]["unknowns"]), figures["iterations"] / steps, 1e6 * best / steps, printed, solved)


def work(console: Any = None) -> str:
    """The table in Markdown."""
    head = ("example", "scheme", "unknowns", "h, s", "iterations a step", "µs a step", "time ratio", "thesis", "condition as printed, h and h/100",
            "condition as solved, h and h/100")  # fmt: skip
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for example in EXAMPLES:
        found = {r: measure(example, r) for r in example.reductions}
        base = found["none"].microseconds
        for reduction, w in found.items():
            ratio = "" if reduction == "none" else f"{base / w.microseconds:.1f} : 1"
            cells = (example.name, WORDS[reduction], w.unknowns, f"{example.step:g}", f"{w.iterations:.1f}", f"{w.microseconds:.1f}", ratio,
                     example.published if reduction == "joints" else "", *(f"{a:.1e}, {b:.1e}" for a, b in (w.printed, w.solved)))  # fmt: skip
            lines.append(f"| {' | '.join(map(str, cells))} |")
            if console is not None:
                console.print("  ".join(f"{c!s:>12s}" for c in cells), markup=False)
    return "\n".join(lines)


if __name__ == "__main__":
    from rich.console import Console

    work(Console(width=200))
