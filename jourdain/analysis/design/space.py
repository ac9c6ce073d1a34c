"""The space of designs: scaled variables, and criteria with their gradients at each design.  One that cannot run has a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, JourdainError
from ...model.values import number

if TYPE_CHECKING:
    from ..workers import Crew
    from .criteria import Criterion
    from .kept import Kept
    from .planned import Analysis
    from .search import Looks
    from .studied import Studied

#: No bounds.
FREE: tuple[float | None, float | None] = (None, None)
#: Step of differences of free runs, as part of the span of a variable.
FREE_STEP = 1e-3


@dataclass(frozen=True)
class Variable:
    """A variable of a design; scaled it is (x − offset)/span, from 0 to 1 between two bounds."""

    name: str
    unit: str
    lower: float
    upper: float
    value: float
    #: The only values that it may have, in order; empty where all between the bounds may be.
    values: tuple[float, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether it has both bounds."""
        return bool(np.isfinite(self.lower) and np.isfinite(self.upper))

    @property
    def span(self) -> float:
        """What one of the scaled variable is."""
        return self.upper - self.lower if self.closed else abs(self.value) or 1.0

    @property
    def offset(self) -> float:
        """Where the scaled variable is zero."""
        return self.lower if self.closed else 0.0


def variables_of(analysis: Analysis | Studied, given: Sequence[str] | Mapping[str, Any]) -> list[Variable]:
    """Variables by name with the bounds of the parameters, or with bounds of their own: ``{"c": (10, "5 kN s/m")}``."""
    if isinstance(given, str) or not len(given):
        raise InputError(f"problem: variables = {given!r} must be a list of names, or names with bounds such as {{'c': (10, 500)}}")
    bounds: Mapping[str, Any] = given if isinstance(given, Mapping) else dict.fromkeys(given)
    strange = [n for n in bounds if not isinstance(n, str)]
    if strange:
        raise InputError(f"problem: variable {strange[0]!r} is not a name")
    if len(bounds) < len(given):
        raise InputError(f"problem: a variable is named twice in {', '.join(given)}")
    return [_variable(analysis, name, pair) for name, pair in bounds.items()]


def _variable(analysis: Analysis | Studied, name: str, pair: Any) -> Variable:
    kind, own = analysis.variable(name)
    unit, known = analysis._unit(own) or "", FREE
    if kind == "parameter":
        owner = getattr(analysis, "owner_of", lambda _: analysis)(name)
        parameter = owner.system.model.parameter_set[own]
        unit, known = parameter.unit, parameter.bounds
    if isinstance(pair, (range, set, frozenset)):
        values = tuple(sorted({number(x, f"variable '{name}': choice", unit or None) for x in pair}))
        if len(values) < 2:
            raise InputError(f"variable '{name}': {len(values)} choices; give at least two, such as {{1, 2, 4}} or range(3, 9)")
        present = analysis.value_of(name)
        return Variable(name, unit, values[0], values[-1], min(values, key=lambda x: abs(x - present)), values)
    if pair is not None and (not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2):
        raise InputError(f"variable '{name}': bounds {pair!r} are not a pair; give (lower, upper), None for no bound")
    low, high = (
        free if b is None else number(b, f"variable '{name}': bound", unit or None)
        for b, free in zip(known if pair is None else pair, (-np.inf, np.inf), strict=True)
    )
    if not low < high:
        raise InputError(f"variable '{name}': the bounds {low:g} and {high:g} {unit} are crossed or equal; the lower must be less")
    return Variable(name, unit, low, high, float(np.clip(analysis.value_of(name), low, high)))


@dataclass
class Evaluated:
    """A design that was looked at: values of all criteria, or the message why there are none; derivatives by scaled variables if asked."""

    x: np.ndarray
    values: np.ndarray | None
    message: str = ""
    slopes: np.ndarray | None = None
    #: Units of the criteria, as far as its derivatives have told them.
    units: Mapping[str, str | None] | None = None


class Space:
    """Designs of an analysis by scaled variables; each is run once, and found again where it was kept."""

    def __init__(
        self, analysis: Analysis, variables: Sequence[Variable], criteria: Mapping[str, Criterion], keep: Kept | None = None
    ) -> None:
        self.keep = keep
        self.analysis, self.variables, self.criteria = analysis, list(variables), dict(criteria)
        self.span = np.array([v.span for v in variables])
        self.offset = np.array([v.offset for v in variables])
        self.low, self.high = np.array([v.lower for v in variables]), np.array([v.upper for v in variables])
        #: The method of gradients: differences once an analysis has shown that it is not carried.
        self.method = "auto"
        self.notes: list[str] = []
        self.failed: list[Evaluated] = []
        self.runs = self.gradients = 0
        #: Units of criteria, as far as the first gradient has told them.
        self.units: Mapping[str, str | None] = {}
        #: Who is told of every design.
        self.heard: Callable[[Evaluated], None] | None = None
        self._seen: dict[bytes, Evaluated] = {}

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many runs, gradients and failures there were."""
        return self.runs, self.gradients, len(self.failed)

    @property
    def lower(self) -> np.ndarray:
        """Bounds of scaled variables."""
        return (self.low - self.offset) / self.span

    @property
    def upper(self) -> np.ndarray:
        """Bounds of scaled variables."""
        return (self.high - self.offset) / self.span

    def scaled(self, values: Mapping[str, float]) -> np.ndarray:
        """A design in scaled variables."""
        return (np.array([values[v.name] for v in self.variables]) - self.offset) / self.span

    def named(self, x: np.ndarray) -> dict[str, float]:
        """A design by names."""
        own = np.clip(self.offset + self.span * x, self.low, self.high)
        return {
            v.name: float(min(v.values, key=lambda c, y=y: abs(c - y)) if v.values else y)  # type: ignore[misc]
            for v, y in zip(self.variables, own, strict=True)
        }

    def all_named(self, x: np.ndarray) -> np.ndarray:
        """Values of the variables of designs in rows, as :meth:`named` gives them."""
        own = np.clip(self.offset + self.span * x, self.low, self.high)
        for j, v in enumerate(self.variables):
            if v.values:
                own[:, j] = [min(v.values, key=lambda c, y=y: abs(c - y)) for y in own[:, j].tolist()]  # type: ignore[misc]
        return own

    def shown(self, x: np.ndarray) -> str:
        """A design in words."""
        return ", ".join(f"{n} = {y:.6g}" for n, y in self.named(x).items())

    def at(self, x: np.ndarray, slopes: bool = False) -> Evaluated:
        """The criteria of a design, with their derivatives where these are wanted."""
        key = np.ascontiguousarray(x, dtype=float).tobytes()
        known = self._seen.get(key)
        if known is None or (slopes and known.slopes is None and known.values is not None):
            known = self._seen[key] = self._kept(x, slopes) or self._new(np.array(x, dtype=float), slopes)
            self._tell(known)
        return known

    def _tell(self, design: Evaluated) -> None:
        self.units = self.units or design.units or {}
        if self.heard is not None:
            self.heard(design)

    def _kept(self, x: np.ndarray, slopes: bool) -> Evaluated | None:
        found = None if self.keep is None else self.keep.find(x, slopes)
        if found is not None and found.values is None:
            self.failed.append(found)
        return found

    def _new(self, x: np.ndarray, slopes: bool) -> Evaluated:
        found = self._evaluated(x, slopes)
        if self.keep is not None:
            self.keep.save([(found, slopes)])
        return found

    def at_all(self, designs: Sequence[np.ndarray], crew: Crew | None = None, slopes: bool = False) -> list[Evaluated]:
        """Many designs, by workers; each is committed when it is done."""
        from ..workers import Failed, results

        keys = [np.ascontiguousarray(x, dtype=float).tobytes() for x in designs]
        left = {}
        for key, x in zip(keys, designs, strict=True):
            known = self._seen.get(key) or self._kept(x, slopes)
            if known is None or (slopes and known.slopes is None and known.values is not None):
                left[key] = np.array(x, dtype=float)
            else:
                self._seen[key] = known
                self._tell(known)
        order, done = list(left), dict[int, Evaluated]()
        for i, result in results(self._looks, [(left[k], slopes) for k in order], crew=crew):
            x = left[order[i]]
            found, notes = (
                (Evaluated(x, None, f"{self.analysis.verb} at {self.shown(x)}: {result.message}"), [])
                if isinstance(result, Failed)
                else result
            )
            done[i] = found
            self.runs, self.gradients = self.runs + (not slopes), self.gradients + bool(slopes)
            self.notes += [n for n in notes if n not in self.notes]
            if self.keep is not None:
                self.keep.save([(found, slopes)])
            self._tell(found)
        for i, key in enumerate(order):  # in the order of the designs, whoever came first
            self._seen[key] = done[i]
            if done[i].values is None:
                self.failed.append(done[i])
        return [self._seen[k] for k in keys]

    @cached_property
    def _looks(self) -> Looks:
        """The task of workers, one for all generations: they know it again."""
        from .search import Looks

        return Looks(self.analysis, self.variables, self.criteria)

    def learn(self, designs: Sequence[Evaluated]) -> None:
        """Takes designs that were looked at elsewhere."""
        for e in designs:
            known = self._seen.get(key := np.ascontiguousarray(e.x, dtype=float).tobytes())
            if known is None or known.slopes is None:
                self._seen[key] = e
                self._tell(e)

    @property
    def designs(self) -> list[Evaluated]:
        """All designs that were looked at, in their order."""
        return list(self._seen.values())

    def spread(self, count: int, about: np.ndarray) -> np.ndarray:
        """Designs spread evenly over the space, by Sobol's sequence; where a variable has no bounds, by its size about a design."""
        from scipy.stats.qmc import Sobol

        low = np.where(np.isfinite(self.lower), self.lower, about - 1.0)
        high = np.where(np.isfinite(self.upper), self.upper, about + 1.0)
        places = Sobol(len(about), seed=0).random_base2(max(count - 1, 0).bit_length())[:count]
        return low + (high - low) * places

    def look_around(self, count: int, crew: Crew | None = None) -> None:
        """Runs designs spread over the space."""
        self.at_all(list(self.spread(count, self.scaled({v.name: v.value for v in self.variables}))), crew)

    @property
    def seen(self) -> list[Evaluated]:
        """All designs that have run."""
        return [e for e in self._seen.values() if e.values is not None]

    def size_of(self, a: np.ndarray, values: np.ndarray) -> float:
        """How large an objective a·y is: at a design with these values, or at half of the designs that have run if that is more (an optimum may be zero)."""
        known = [abs(float(a @ e.values)) for e in self.seen if e.values is not None]
        return max(abs(float(a @ values)), float(np.median(known)) if known else 0.0)

    def _evaluated(self, x: np.ndarray, slopes: bool) -> Evaluated:
        try:
            found, matrix = self.run(x, slopes)
        except (JourdainError, ArithmeticError, np.linalg.LinAlgError) as error:
            return self._failed(x, str(error) if isinstance(error, JourdainError) else f"{type(error).__name__}: {error}")
        strange = [n for n, y in zip(self.criteria, found, strict=True) if not np.isfinite(y)]
        if strange:
            return self._failed(x, self._reason(x, strange[0]))
        if matrix is not None and not np.isfinite(matrix).all():
            return self._failed(x, "the gradient is not finite")
        return Evaluated(x, found, "", matrix, self.units if slopes else None)

    def _reason(self, x: np.ndarray, name: str) -> str:
        """Why a criterion is no number at a design."""
        try:
            self.analysis.evaluate({name: self.criteria[name]}, self.named(x))
        except (JourdainError, ArithmeticError) as error:
            return str(error)
        return f"criterion '{name}' is not finite"

    def _failed(self, x: np.ndarray, message: str) -> Evaluated:
        bad = Evaluated(x, None, f"{self.analysis.verb} at {self.shown(x)}: {message}")
        self.failed.append(bad)
        return bad

    def run(self, x: np.ndarray, slopes: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """Values and derivatives by scaled variables; errors come through."""
        from ..gradients.runs import NotCarried

        values = self.named(x)
        if not slopes:
            self.runs += 1
            return np.array(list(self.analysis.evaluate(self.criteria, values).values())), None
        self.gradients += 1
        while self.method != "free runs":
            try:
                g = self.analysis.gradient(self.criteria, list(values), self.method, values)
                self.units = self.units or g.value_units
                return np.array([g.values[n] for n in self.criteria]), g.matrix * self.span
            except NotCarried as reason:
                self._differences("differences", "gradients by differences", reason)
            except InputError as reason:
                if self.method != "differences":
                    raise
                self._differences("free runs", "gradients by differences of runs with steps of their own, which are less exact", reason)
        return self._free_differences(x)

    def _differences(self, method: str, note: str, reason: Exception) -> None:
        self.method = method
        self.notes.append(f"{note}: {reason}")

    def _free_differences(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Differences where the run cannot be repeated with the same steps; the step is wide, for steps chosen anew are noise."""
        found = self.run(x, slopes=False)[0]
        columns = []
        for j in range(len(x)):
            h = FREE_STEP * np.eye(len(x))[j]
            ends = np.clip(x + h, self.lower, self.upper), np.clip(x - h, self.lower, self.upper)
            columns.append((self.run(ends[0], slopes=False)[0] - self.run(ends[1], slopes=False)[0]) / (ends[0] - ends[1])[j])
        return found, np.column_stack(columns)


__all__ = ["Evaluated", "Space", "Variable", "variables_of"]
