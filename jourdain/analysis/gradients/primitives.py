"""What criteria of a motion are made of: integrals, values at instants and times, and how a criterion depends on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...symbolic.expr import Expr
from ...symbolic.functions import absolute
from ..design.criteria import OF_MOTION, Criterion
from . import sampled
from .sampled import SAMPLED

if TYPE_CHECKING:
    from .expressions import Expressions

#: Kinds that are a function of one integral and the duration.
INTEGRALS = ("integral", "mean", "rms", "largest")


@dataclass(eq=False)
class Primitive:
    """A criterion's own primitives: one integrand, or one value at some instants, or a time."""

    name: str
    criterion: Criterion
    #: Place among the integrands, or among the values; −1: none.
    integrand: int = -1
    value: int = -1
    #: Instants at which the value is read.
    times: np.ndarray = field(default_factory=lambda: np.zeros(0))
    #: Whether the instant is that of an event, and the value that behind it.
    behind: bool = False

    @property
    def smooth(self) -> float:
        """The power of a norm."""
        return 2.0 if self.criterion.kind == "rms" else float(self.criterion.options.get("smooth") or 1.0)

    def of(self, total: float, values: np.ndarray, T: float, when: float) -> float:
        """The criterion from its integral, its values, the duration and the time that it asks for."""
        kind, o = self.criterion.kind, self.criterion.options
        if kind == "integral":
            return total
        if kind == "mean":
            return total / T
        if kind in ("rms", "largest") and self.integrand >= 0:
            return float(max(total / T, 0.0) ** (1.0 / self.smooth))
        if kind in SAMPLED:
            return sampled.value(self.criterion, values)
        if kind == "least_squares":
            return 0.5 * float(np.sum(o["weights"] * (values - o["values"]) ** 2))
        return when if kind in ("event_time", "end_time") else float(values[0])

    def slopes(self, total: float, values: np.ndarray, T: float) -> tuple[float, np.ndarray, float]:
        """Derivatives by the integral, by the values and by the duration."""
        kind, o = self.criterion.kind, self.criterion.options
        none = np.zeros(len(values))
        if kind == "integral":
            return 1.0, none, 0.0
        if kind == "mean":
            return 1.0 / T, none, -total / T**2
        if kind in ("rms", "largest") and self.integrand >= 0:
            p = self.smooth
            by = (total / T) ** (1.0 / p - 1.0) / p if total > 0.0 else 0.0
            return by / T, none, -by * total / T**2
        if kind in SAMPLED:
            return 0.0, sampled.slopes(self.criterion, values), 0.0
        if kind == "least_squares":
            return 0.0, o["weights"] * (values - o["values"]), 0.0
        return 0.0, (none if kind in ("event_time", "end_time") else np.ones(len(values))), 0.0

    def bends(self, total: float, dtotal: float, dvalues: np.ndarray, T: float) -> tuple[float, np.ndarray]:
        """Changes of the derivatives by the integral and by the values along a direction."""
        kind = self.criterion.kind
        if kind == "least_squares":
            return 0.0, self.criterion.options["weights"] * dvalues
        by = 0.0
        if kind in ("rms", "largest") and self.integrand >= 0 and total > 0.0:
            p = self.smooth
            by = (1.0 / p - 1.0) / p * (total / T) ** (1.0 / p - 2.0) / T**2 * dtotal
        return by, np.zeros(len(dvalues))

    @property
    def needs_values(self) -> bool:
        """Whether its slopes depend on values that a walk must find first."""
        return self.criterion.kind in ("rms", "least_squares", *SAMPLED) or (self.criterion.kind == "largest" and self.integrand >= 0)


@dataclass(eq=False)
class Primitives:
    """All of the criteria, with the integrands and the values that are read."""

    items: list[Primitive]
    integrands: list[Expr]
    values: list[Expr]

    @property
    def sought(self) -> list[Primitive]:
        """Those that are extrema."""
        return [i for i in self.items if i.value >= 0 and i.criterion.kind in ("largest", "smallest")]


def primitives(criteria: Mapping[str, Criterion], expressions: Expressions) -> Primitives:
    """The primitives of criteria; instants of extrema are found later (:func:`locate`)."""
    found = Primitives([], [], [])
    for name, c in criteria.items():
        if c.kind not in OF_MOTION:
            raise InputError(f"criterion '{name}' ({c}) is none of a motion in time; those are {', '.join(OF_MOTION)}")
        item = Primitive(name, c)
        if c.expression is not None:
            e = expressions.resolved[name]
            if c.kind in ("integral", "mean", "rms") or (c.kind == "largest" and c.options.get("smooth")):
                item.integrand = len(found.integrands)
                found.integrands.append(_powered(e, c))
            else:
                item.value = len(found.values)
                found.values.append(e)
        found.items.append(item)
    return found


def _powered(e: Expr, c: Criterion) -> Expr:
    """What is integrated for a criterion."""
    if c.kind == "rms":
        return e * e
    p = c.options.get("smooth")
    if not p:
        return e
    if not p > 1:
        raise InputError(f"criterion '{c}': smooth = {p} must be greater than 1")
    return (e if float(p).is_integer() and int(p) % 2 == 0 else absolute(e)) ** p


def locate(found: Primitives, motion: Any, seek: bool = True) -> None:
    """Gives every value the instants at which it is read; ``motion`` has a ``span``, and finds ``extrema`` of values where they are sought (no instants without ``seek``)."""
    sought = found.sought
    for item in sought:
        item.times, item.behind = np.zeros(0), False
    if sought and seek:
        signs = [1.0 if i.criterion.kind == "largest" else -1.0 for i in sought]
        for item, t, behind in zip(sought, *motion.extrema([i.value for i in sought], signs), strict=True):
            item.times, item.behind = np.array([t]), bool(behind)
    for item in found.items:
        c = item.criterion
        if item.value < 0 or item in sought:
            continue
        if c.kind == "final":
            item.times = np.array([motion.span[1]])
        elif c.kind == "at":
            item.times = np.array([c.options["t"]])
        elif c.kind == "least_squares":
            item.times = c.options["times"]
        elif c.kind in SAMPLED:
            item.times = sampled.instants(item.name, c, *motion.span)
        low, high = motion.span
        if item.times.min() < low or item.times.max() > high:
            raise InputError(f"criterion '{item.name}' ({c}): the run goes from {low:g} to {high:g} s")


__all__ = ["Primitive", "Primitives", "locate", "primitives"]
