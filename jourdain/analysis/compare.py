"""All formulations of a model side by side: size, cost, agreement, drift.

Every row comes from an independent derivation of the same motion, so that the table is at once a lesson and a check of the program.
"""

from __future__ import annotations

import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, JourdainError
from ..results.solution import Solution
from ..shown import Shown
from ..systems.formulations import formulate
from ..systems.state import State
from ..systems.system import System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..model.model import Model

#: Formulations compared, by the name shown, with their options.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "recursive": ("recursive", {}),
    "semi-recursive, partition": ("semi-recursive", {}),
    "semi-recursive, range space": ("semi-recursive", {"reduction": "range-space"}),
    "semi-recursive, null space": ("semi-recursive", {"reduction": "null-space"}),
    "Cartesian": ("cartesian", {}),
    "Cartesian, rotation vectors": ("cartesian", {"rotation": "rotation-vector"}),
    "Cartesian, SVD": ("cartesian", {"reduction": "svd"}),
    "natural": ("natural", {}),
    "directors": ("directors", {}),
}


@dataclass
class Entry:
    """What one formulation gives; numbers that could not be had are NaN, with the reason in ``remark``."""

    name: str
    coordinates: int = 0
    constraints: int = 0
    redundant: list[str] = field(default_factory=list)
    operations: int = 0
    #: one evaluation of the equations of motion, s
    evaluation: float = np.nan
    #: largest relative difference of accelerations and of reactions from those of the recursive formulation
    accelerations: float = np.nan
    reactions: float = np.nan
    #: largest error of constraints (m, rad) and relative change of energy after the simulation, its wall time (s)
    drift: float = np.nan
    energy: float = np.nan
    wall: float = np.nan
    remark: str = ""


@dataclass
class Comparison(Shown):
    """The table of :func:`compare`: print it, plot it, or read its entries."""

    model: str
    dof: int
    duration: float
    entries: list[Entry]

    def __getitem__(self, name: str) -> Entry:
        return next(e for e in self.entries if e.name == name)

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=f"{self.model}: {self.dof} degrees of freedom, {self.duration:g} s simulated", title_justify="left")
        table.add_column("formulation")
        heads = ("coordinates", "constraints", "operations", "µs a call", "Δ acc.", "Δ react.", "drift", "Δ energy", "run, ms")
        for head in heads:
            table.add_column(head, justify="right")
        for e in self.entries:
            extra = f" (−{len(e.redundant)})" if e.redundant else ""
            numbers = (
                f"{1e6 * e.evaluation:.2f}",
                *(_small(x) for x in (e.accelerations, e.reactions, e.drift, e.energy)),
                f"{1e3 * e.wall:.1f}",
            )
            cells = [str(e.coordinates), f"{e.constraints}{extra}", str(e.operations), *("–" if "nan" in n else n for n in numbers)]
            table.add_row(e.name, *(cells if e.coordinates else ["–"] * len(cells)))
        notes = [f"{e.name}: {e.remark}" for e in self.entries if e.remark]
        if notes:
            table.caption = "\n".join(notes)
        return table

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=140, file=io.StringIO())
        console.print(self.__rich__())
        return console.file.getvalue().rstrip()  # type: ignore[attr-defined,no-any-return]

    def plot(self) -> Figure:
        """Operations, time of an evaluation and agreement as bars."""
        from ..results.style import COLOURS, house_style, new_figure

        shown = [e for e in self.entries if e.coordinates]
        columns = [
            ("operations of an evaluation", [float(e.operations) for e in shown], False),
            ("time of an evaluation, µs", [1e6 * e.evaluation for e in shown], False),
            ("difference of accelerations", [max(e.accelerations, 1e-17) for e in shown], True),
        ]
        with house_style():
            figure = new_figure(11.0, 0.34 * len(shown) + 1.4)
            for k, (title, values, log) in enumerate(columns):
                ax = figure.add_subplot(1, 3, k + 1)
                ax.barh(range(len(shown)), values, color=COLOURS[k])
                ax.set_yticks(range(len(shown)), [e.name for e in shown] if k == 0 else [""] * len(shown))
                ax.grid(False, axis="y")
                ax.invert_yaxis()
                ax.set_title(title)
                if log:
                    ax.set_xscale("log")
        return figure


def _small(x: float) -> str:
    return f"{x:.1e}"


def compare(
    model: Model | System, state: Any = None, t: float = 1.0, formulations: Sequence[str] | None = None, rtol: float = 1e-9, step: float = 5e-3,
) -> Comparison:  # fmt: skip
    """Compares the formulations that can express a model at a closed state (one with random velocities by default) and over ``t`` seconds.

    ``formulations`` picks some of :data:`VARIANTS`.  Directors are marched by the energy-momentum scheme in steps of ``step`` seconds, the
    others by an adaptive method with tolerance ``rtol``.

    >>> from jourdain.library import four_bar
    >>> c = compare(four_bar(), {"crank.angle": 0.9}, t=0.1, formulations=["recursive", "Cartesian", "natural"])
    >>> c.dof, [e.coordinates for e in c.entries], max(e.accelerations for e in c.entries) < 1e-12
    (1, [3, 9, 4], True)
    """
    system = model if isinstance(model, System) else formulate(model)
    unknown = [n for n in formulations or () if n not in VARIANTS]
    if unknown:
        raise InputError(f"formulation '{unknown[0]}' is not among those compared: {', '.join(VARIANTS)}")
    start = closed_state(system, state)
    reference = formulate(system, "recursive")
    expected = reference.accelerations(start), reference.reactions(start)
    entries = []
    for name in formulations or VARIANTS:
        word, options = VARIANTS[name]
        if word == "semi-recursive" and options and not system.equations_of_motion.rows:
            continue
        entries.append(_entry(name, system, word, options, start, expected, t, rtol, step))
    return Comparison(system.model.name, reference.dof(start), t, entries)


def closed_state(system: System, given: Any, seed: int = 0) -> State:
    """A closed state; velocities that the constraints allow are chosen at random where none are given."""
    if isinstance(given, State):
        return given
    if system.equations_of_motion.rows:
        start: State = system.assemble(given or {})
        if np.any(start.v):
            return start
        from scipy.linalg import null_space

        from ..systems.constraints import jacobian

        allowed = null_space(jacobian(system, start.q, start.t), rcond=1e-9)
        v = allowed @ np.random.default_rng(seed).normal(size=allowed.shape[1])
        return State(system, start.q, v, start.z, start.t) if not system.equations_of_motion.tree.prescribed else start
    return system.state(given)


def _entry(
    name: str, system: System, word: str, options: Mapping[str, Any], start: State, expected: tuple[np.ndarray, Any], t: float, rtol: float,
    step: float,
) -> Entry:  # fmt: skip
    entry = Entry(name)
    try:
        f = formulate(system, word, **options)
        entry.coordinates, entry.constraints = len(f.unknowns), len(f.constraints)
        entry.redundant = f.dependent(start)
        entry.operations = f.operations.flops
        a = f.accelerations(start)
        entry.accelerations = _difference(a, expected[0])
        entry.reactions = _reactions(f, start, expected[1])
        entry.evaluation = f.time_per_evaluation(start)
        _simulated(entry, f, start, t, {"step": step} if word == "directors" else {"rtol": rtol, "atol": 0.01 * rtol})
    except JourdainError as error:
        entry.remark = " ".join(str(error).split())
    return entry


def _simulated(entry: Entry, f: System, start: State, t: float, options: Mapping[str, Any]) -> None:
    f.simulate(start, t, **options)  # the first run compiles
    begun = time.perf_counter()
    solution = f.simulate(start, t, **options)
    entry.wall = time.perf_counter() - begun
    scale = max(np.ptp(solution["energy.kinetic"]), np.abs(solution["energy.total"]).max(), 1e-300)
    entry.energy = float(np.abs(_energy_error(solution)).max() / scale)
    entry.drift = f.drift(solution)[0]


def _energy_error(solution: Solution) -> np.ndarray:
    """Change of energy that no work accounts for; by the scheme's own books where it keeps them."""
    if "step.energy.total" not in solution:
        return solution["energy.error"]
    total = solution["step.energy.total"] + solution["step.energy.dissipated"] - solution["step.energy.supplied"]
    return total - total[0]


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max(initial=0.0) / max(1e-300, np.abs(b).max(initial=0.0))) if a.size else 0.0


def _reactions(f: System, start: State, expected: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> float:
    """Largest difference of forces of all joints, relative to the largest force."""
    found = f.reactions(start)
    if not expected:
        return float("nan")
    scale = max(np.abs(force).max() for force, _ in expected.values())
    return float(max(np.abs(found[n][0] - force).max() for n, (force, _) in expected.items()) / max(scale, 1e-300))


__all__ = ["VARIANTS", "Comparison", "Entry", "closed_state", "compare"]
