"""Long runs within a bound on memory: states are kept where blocks of steps begin, and found again, bit for bit, when a walk needs them.

Everything the method remembers at the beginning of a block is kept (`Restart`), so that the block runs again exactly as it ran.  Blocks and what is kept of their beginnings share the
memory: with R rows of it runs of about R²/4 steps are walked back at the price of one more run (binomial checkpointing with one repetition: Griewank and Walther, *Evaluating
Derivatives*, ch. 12).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...results.solution import Solution
from ...symbolic.expr import Expr
from ...systems.inputs import Inputs
from ...systems.run import Outcome, Restart, SimulationError
from ...systems.state import State, split_state
from ..simulate import settings_of, span_of
from .runs import GradientWarning, NotCarried
from .switches import surface_text

if TYPE_CHECKING:
    from ...systems.system import System
    from ..design.planned import Analysis
    from .simulated import Simulated

#: Arguments of ``simulate`` by place.
PLACES = ("x0", "t", "method")
#: Bytes that a step of a run with its interpolant takes, in rows of its state.
ROWS_OF_A_STEP = 12
#: How it is told that slopes may be wrong.
BENDS = "a law or an integrand bends"
#: Least and most steps of a block.
FEWEST, MOST = 64, 4096


@dataclass(eq=False)
class Blocks:
    """The blocks of a run: all its instants, the places where blocks begin, and what is remembered there."""

    system: System
    plan: Analysis
    start: State
    end: float
    length: int
    method: str | None
    options: Mapping[str, Any]
    t: np.ndarray = field(default_factory=lambda: np.zeros(0))
    #: Numbers of the instants at which blocks begin, and of the last one.
    ends: list[int] = field(default_factory=lambda: [0])
    restarts: list[Restart | None] = field(default_factory=lambda: [None])
    #: The largest size of each state.
    sizes: np.ndarray = field(default_factory=lambda: np.zeros(0))
    #: What looks at the instants and states of a block when they are found again.
    look: Callable[[np.ndarray, np.ndarray], None] | None = None
    _last: tuple[int, np.ndarray] | None = None

    def run(self, restart: Restart | None) -> tuple[Outcome, np.ndarray]:
        """A block from what is remembered at its beginning."""
        start = self.start if restart is None else split_state(self.system.reference, restart.x, restart.t)
        span = (start.t, self.end)
        settings, rest = settings_of(self.system, span, self.method, {**self.options, "max_steps": self.length, "dense": False})
        run = self.system.run(start, span, Inputs(self.system, self.plan.kwargs.get("inputs"), start.memory), settings, rest)
        outcome = run.go(restart)
        rows: Any = outcome.states
        return outcome, np.asarray(rows() if callable(rows) else rows)

    def states(self, index: int) -> np.ndarray:
        """States at all instants of a block, its end included."""
        if self._last is None or self._last[0] != index:
            self._last = None
            rows = np.ascontiguousarray(self.run(self.restarts[index])[1])
            if self.look is not None:
                self.look(self.t[self.ends[index] : self.ends[index + 1] + 1], rows)
            self._last = index, rows
        return self._last[1]


def run_within(plan: Analysis, values: Mapping[str, float], memory: float, watch: Sequence[Expr] = ()) -> tuple[Solution, Blocks | None]:
    """A run with all its steps, some of which end where what is watched is zero, or, where they do not fit the memory (bytes), one in blocks with the solution of its
    last one."""
    system = plan._changed(values)
    args, kwargs = plan._started(system, plan.initial_of(values))
    given = dict(zip(PLACES, args, strict=False)) | kwargs
    rows = int(memory / (8.0 * max(1, system.nq + system.nv + system.nz)))
    wanted = given.get("max_steps")
    limit = max(FEWEST, rows // ROWS_OF_A_STEP)
    kept = plan.like(**{**plan.kwargs, "watch": list(watch)}) if watch else plan
    if (wanted is not None and wanted <= limit) or system.formulation == "directors":  # whose runs know no bound on their steps
        return kept.run(values), None
    try:
        return kept.like(**{**kept.kwargs, "max_steps": limit}).run(values), None
    except SimulationError as error:
        if error.solution.metadata["status"] != "max_steps":
            raise
    return _in_blocks(plan, system, given, rows, values)


def _in_blocks(plan: Analysis, system: System, given: dict[str, Any], rows: int, values: Mapping[str, float]) -> tuple[Solution, Blocks]:
    m, start = system.model, plan.start(values)
    head = f"gradient of '{m.name}': its steps do not fit the memory, and a run"
    for word, items in (("memory", m.memories), ("algebraic unknown", m.unknowns), ("contact", m.contacts), ("switch", m.switches)):
        if items:
            raise NotCarried(f"{head} with {word} '{next(iter(items))}' is not walked along in blocks; give more memory=")
    if Inputs(system, given.get("inputs")).controllers:
        raise NotCarried(f"{head} with controllers is not walked along in blocks; give more memory=")
    begun, end = span_of(m.name, start.t, given["t"])
    options = {n: x for n, x in given.items() if n not in (*PLACES, "inputs", "parameters", "max_steps", "dense")}
    blocks = Blocks(system, plan, start.with_values(t=begun), end, min(MOST, max(FEWEST, rows // 32)), given.get("method"), options)
    times: list[np.ndarray] = []
    most, count = rows // 16, 0
    while True:
        outcome, x = blocks.run(blocks.restarts[-1])
        if outcome.events is not None or outcome.status not in ("max_steps", "finished"):
            if outcome.status == "failed":
                raise SimulationError(outcome.message, plan.run(values))
            raise NotCarried(f"{head} with events is not walked along in blocks; give more memory=")
        times.append(outcome.t[1 if times else 0 :].copy())
        blocks.sizes = np.maximum(blocks.sizes, np.abs(x).max(axis=0)) if blocks.sizes.size else np.abs(x).max(axis=0)
        count += len(times[-1])
        blocks.ends.append(count - 1)
        if outcome.status == "finished":
            break
        blocks.restarts.append(outcome.restart)
        if len(blocks.restarts) > most:
            raise InputError(f"{head} of more than {count} steps needs more than this memory= for the beginnings of its blocks alone")
    blocks.t = np.concatenate(times)
    last = blocks.restarts[-1]
    assert last is not None
    more: dict[str, Any] = {n: x for n, x in (("method", blocks.method), ("inputs", given.get("inputs"))) if x is not None}
    solution: Solution = system.simulate(split_state(system.reference, last.x, last.t), t=(last.t, end), **options, **more)
    return solution, blocks


def bytes_of(given: float | str) -> float:
    """A size of memory: bytes, or a text such as "64 MB"."""
    if isinstance(given, str):
        number, _, unit = given.strip().partition(" ")
        sizes = {"": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}
        try:
            return float(number) * sizes[unit.strip()]
        except (ValueError, KeyError):
            raise InputError(f"gradient: memory = {given!r} is no size; write bytes, or '64 MB'") from None
    if not float(given) > 0:
        raise InputError(f"gradient: memory = {given!r} must be positive")
    return float(given)


def look_for_surfaces(walk: Simulated, head: str, t: np.ndarray, x: np.ndarray) -> None:
    """Refuses laws that jump within the steps of a block, and tells of those that bend: steps of a run in blocks do not end there."""
    surfaces = walk.code.surfaces
    jumps, bends = surfaces.crossed(t, x)
    if jumps:
        raise NotCarried(
            f"{head} a law that jumps must be met by steps of a run that has all of them; give more memory=, or smooth the law where the motion stays on its surface, "
            "as a body that sticks by sign(v) does"
        )
    if bends and not any(n.startswith(BENDS) for n in walk.notes):
        told = f"{BENDS} where {surface_text(surfaces.items[bends[0]])} is zero, and steps of a run in blocks do not end there: slopes of steps over it may be wrong; give more memory="
        walk.notes.append(told)
        warnings.warn(f"gradient of '{walk.system.model.name}': {told}", GradientWarning, stacklevel=7)


__all__ = ["Blocks", "bytes_of", "look_for_surfaces", "run_within"]
