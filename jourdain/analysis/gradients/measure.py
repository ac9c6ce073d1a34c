"""Values of criteria on results: integrals, values at instants and extrema of a motion, numbers of other verbs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...results.solution import Solution
from ..design.criteria import OF_MOTION, Criterion
from . import sampled
from .expressions import Expressions, expressions_of
from .grids import is_grid, measured
from .transfers import entry_places, part_of, response_place

if TYPE_CHECKING:
    from ...systems.system import System

#: Points of Gauss's rule within a step; peaks that are looked at closer, and points on each side of them.
GAUSS, CANDIDATES, PROBES = 6, 6, 8
#: Instants of a closer look at an extremum: a look costs more than its instants.
CLOSER = 65


#: Expressions that are read again: of which system and criteria, and what was compiled for them.
Kept = dict[Any, Expressions]
#: How many of them are kept.
MOST_KEPT = 32


def _expressions(system: System, criteria: Mapping[str, Criterion], kept: Kept | None) -> Expressions:
    """The expressions of criteria, with their machine code where they were read before."""
    if kept is None:
        return expressions_of(system, criteria)
    key = (id(system), *criteria.items())
    found = kept.get(key)
    if found is None or found.system is not system:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        found = kept[key] = expressions_of(system, criteria)
    return found


def measure(
    result: Any,
    criteria: Mapping[str, Criterion],
    system: System | None = None,
    inputs: Mapping[str, float] | None = None,
    kept: Kept | None = None,
) -> dict[str, float]:
    """The values of criteria by name on the result of an analysis, whose ``inputs`` may be needed beside it; ``kept`` belongs to one thread."""
    if isinstance(result, Solution):
        return _of_motion(result, criteria, kept)
    owner = system or getattr(result, "system", None)
    if is_grid(result) and owner is not None:
        return measured(owner.reference, result, criteria, {"inputs": inputs})
    return {name: _of_other(result, name, c, owner, kept) for name, c in criteria.items()}


def _of_motion(solution: Solution, criteria: Mapping[str, Criterion], kept: Kept | None = None) -> dict[str, float]:
    system = solution.system
    if system is None:
        raise InputError("criteria: the solution was loaded from a file and does not know its system; simulate it anew")
    for name, c in criteria.items():
        if c.kind not in OF_MOTION:
            raise InputError(f"criterion '{name}' ({c}) is none of a motion in time; those are {', '.join(OF_MOTION)}")
    found = Motion(solution, _expressions(system, criteria, kept))
    return {name: float(KINDS[c.kind](found, name, c)) for name, c in criteria.items()}


class Motion:
    """A solution as criteria read it: expressions at any times, from the interpolant of the method."""

    def __init__(self, solution: Solution, expressions: Expressions) -> None:
        if not solution.metadata.get("every_step", False):
            raise InputError("criteria: the solution has not kept every step; simulate it without times= and outputs=")
        self.solution, self.expressions = solution, expressions
        s = expressions.system
        self._states = [*s.coordinate_names, *s.velocity_names, *s.model.states]
        t = np.asarray(solution.t)
        inside = np.flatnonzero(np.diff(t) > 0)
        self.begin, self.end = t[inside], t[inside + 1]

    @property
    def span(self) -> tuple[float, float]:
        """First and last instant."""
        return float(self.solution.t[0]), float(self.solution.t[-1])

    def read(self, name: str, times: np.ndarray) -> np.ndarray:
        """The expression of a criterion at times."""
        return self.read_all((name,), times)[:, 0]

    def read_all(self, names: tuple[str, ...], times: np.ndarray) -> np.ndarray:
        """Expressions of criteria side by side at times."""
        reader = self.expressions.reader(names)
        sample = self.solution.at(times)
        both = sample.columns([*self._states, *self.expressions.system.model.inputs])
        return reader(times, both[:, : len(self._states)], both[:, len(self._states) :])

    def integral(self, name: str, of: Callable[[np.ndarray], np.ndarray] = lambda f: f) -> float:
        """∫ F dt over all steps."""
        nodes, weights = np.polynomial.legendre.leggauss(GAUSS)
        half = 0.5 * (self.end - self.begin)
        times = (0.5 * (self.end + self.begin))[:, None] + half[:, None] * nodes
        return float(np.sum(half[:, None] * weights * of(self.read(name, times.ravel())).reshape(times.shape)))

    def extremum(self, name: str, sign: float) -> tuple[float, float]:
        """When the expression is largest (sign 1) or smallest (−1), and its value."""
        t, values = self.extrema((name,), np.array([sign]))
        return float(t[0]), float(values[0])

    def extrema(self, names: tuple[str, ...], signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """When expressions are largest (sign 1) or smallest (−1), and their values, all of them sought at once: near the best of the steps' ends, then ever closer."""
        table = getattr(self.solution.frame_provider, "table", None)
        if table is None:
            return self._sought(names, signs, self.read_all)
        with table.then.held():
            # states are read without their channels where the table has all names that expressions speak of, in their order
            if table.between is None or self.expressions.system.reference is not table.system.reference:
                return self._sought(names, signs, self.read_all)
            reader = self.expressions.reader(names)
            return self._sought(names, signs, lambda _, times: reader(times, *table.sampled(times)))

    def _sought(
        self, names: tuple[str, ...], signs: np.ndarray, read: Callable[[tuple[str, ...], np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        ends, each = np.append(self.begin, self.end[-1]), np.arange(len(names))
        values = signs * read(names, ends)
        near = np.array([self._windows(ends, column) for column in values.T])  # criteria × windows × instants
        best = near.reshape(len(names), -1)
        found = self._own(read(names, best.ravel()), signs)
        k = np.argmax(found, axis=1)
        window, place = np.divmod(k, near.shape[2])
        times, last = near[each, window], near.shape[2] - 1
        low, high = times[each, np.maximum(place - 1, 0)], times[each, np.minimum(place + 1, last)]
        short = 1e-9 * (self.span[1] - self.span[0])
        part = np.linspace(0.0, 1.0, CLOSER)
        for _ in range(30):
            times = low[:, None] + part * (high - low)[:, None]
            found = self._own(read(names, times.ravel()), signs)
            k = np.argmax(found, axis=1)
            low, high = times[each, np.maximum(k - 1, 0)], times[each, np.minimum(k + 1, CLOSER - 1)]
            if (high - low < short).all():
                break
        return times[each, k], signs * found[each, k]

    @staticmethod
    def _own(values: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """Of all expressions at all instants those of each at its own (criteria × instants)."""
        count = len(signs)
        own = values.reshape(count, -1, count)
        return signs[:, None] * own[np.arange(count), :, np.arange(count)]

    @staticmethod
    def _windows(ends: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Instants around the highest peaks of the steps' ends, always as many."""
        padded = np.concatenate([[-np.inf], values, [-np.inf]])
        peaks = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
        best = peaks[np.argsort(-values[peaks], kind="stable")[:CANDIDATES]]
        best = np.resize(best, CANDIDATES)
        low, high = ends[np.maximum(best - 1, 0)], ends[np.minimum(best + 1, len(ends) - 1)]
        return np.asarray(np.linspace(low, high, 2 * PROBES + 1, axis=1))


def _mean(m: Motion, name: str, c: Criterion) -> float:
    return m.integral(name) / (m.span[1] - m.span[0])


def _rms(m: Motion, name: str, c: Criterion) -> float:
    return float(np.sqrt(m.integral(name, np.square) / (m.span[1] - m.span[0])))


def _final(m: Motion, name: str, c: Criterion) -> float:
    return float(m.read(name, np.array([m.span[1]]))[0])


def _at(m: Motion, name: str, c: Criterion) -> float:
    t = c.options["t"]
    if not m.span[0] <= t <= m.span[1]:
        raise InputError(f"criterion '{name}' ({c}): the run goes from {m.span[0]:g} to {m.span[1]:g} s")
    return float(m.read(name, np.array([t]))[0])


def _largest(m: Motion, name: str, c: Criterion) -> float:
    p = c.options.get("smooth")
    if p is None:
        return m.extremum(name, 1.0)[1]
    return float((m.integral(name, lambda f: np.abs(f) ** p) / (m.span[1] - m.span[0])) ** (1.0 / p))


def _there_are(events: Mapping[str, Any]) -> str:
    return f"there are {', '.join(events)}" if events else "the model has none, see m.event(…)"


def _event_time(m: Motion, name: str, c: Criterion) -> float:
    event, count = c.options["event"], c.options["count"]
    events = m.solution.events
    times = [t for t, name in zip(events.t.tolist(), events.names, strict=True) if name == event]
    model = m.expressions.system.model
    known = (model.whole or model).events
    if event not in known:
        raise InputError(f"criterion '{name}': there is no event '{event}'; {_there_are(known)}")
    if len(times) < count:
        raise InputError(f"criterion '{name}': event '{event}' happened {len(times)} times in the run, not {count}")
    return times[count - 1]


def _least_squares(m: Motion, name: str, c: Criterion) -> float:
    o = c.options
    return 0.5 * float(np.sum(o["weights"] * (m.read(name, o["times"]) - o["values"]) ** 2))


def _sampled(m: Motion, name: str, c: Criterion) -> float:
    return sampled.value(c, m.read(name, sampled.instants(name, c, *m.span)))


#: What each kind of criterion of a motion is.
KINDS: dict[str, Callable[[Motion, str, Criterion], float]] = {
    "integral": lambda m, name, c: m.integral(name), "mean": _mean, "rms": _rms, "final": _final, "at": _at, "largest": _largest,
    "smallest": lambda m, name, c: m.extremum(name, -1.0)[1], "event_time": _event_time, "end_time": lambda m, name, c: m.span[1],
    "least_squares": _least_squares, **dict.fromkeys(sampled.SAMPLED, _sampled),
}  # fmt: skip


# -- other verbs ------------------------------------------------------------------------------------------------------


def _of_other(result: Any, name: str, c: Criterion, system: System | None, kept: Kept | None) -> float:
    """A number of modes, of an equilibrium or of an assembled state."""
    if c.kind in ("eigenvalue", "frequency", "damping_ratio"):
        modes = getattr(result, "modes", None)
        if modes is None:
            raise InputError(f"criterion '{name}' ({c}) is one of modes; the analysis gives {type(result).__name__}, use verb 'modal'")
        index = c.options["index"]
        if not -len(modes) <= index < len(modes):
            raise InputError(f"criterion '{name}': there is no mode {index}; there are {len(modes)}")
        mode = modes[index]
        if c.kind == "eigenvalue":
            part = c.options["part"]
            return float(abs(mode.eigenvalue) if part == "abs" else getattr(mode.eigenvalue, part))
        return float(getattr(mode, c.kind))
    if c.kind == "entry" and hasattr(result, "A"):
        matrix, i, j = entry_places(result, c)
        return float(getattr(result, matrix)[i, j])
    if c.kind == "response" and hasattr(result, "frequencies") and hasattr(result, "magnitude"):
        return part_of(complex(result.values[response_place(result.frequencies, result.values, c)]), c.options["part"])
    if c.kind == "value" and system is not None:
        state = getattr(result, "state", result)
        reader = _expressions(system, {name: c}, kept).reader((name,))
        u = system.inputs_at(state, getattr(result, "inputs", None))
        return float(reader(np.array([state.t]), state.x[None], u[None])[0, 0])
    raise InputError(f"criterion '{name}' ({c}) cannot be read from {type(result).__name__}")


__all__ = ["Motion", "measure"]
