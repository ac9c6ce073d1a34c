"""The outcome of an integration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jourdain.errors import InputError, SolverError
from jourdain.solvers.ode.events import EventRecord

Array = NDArray[np.float64]


@dataclass
class Statistics:
    """The work done: accepted and rejected steps, evaluations, factorisations, events, time (s) on the wall."""

    steps: int = 0
    rejected: int = 0
    rhs: int = 0
    jacobians: int = 0
    factorizations: int = 0
    events: int = 0
    wall_time: float = 0.0

    def __str__(self) -> str:
        parts = [f"{self.steps} steps ({self.rejected} rejected)", f"{self.rhs} evaluations"]
        if self.jacobians or self.factorizations:
            parts.append(f"{self.jacobians} Jacobians, {self.factorizations} factorisations")
        if self.events:
            parts.append(f"{self.events} events")
        return ", ".join([*parts, f"{self.wall_time:.3g} s"])


@dataclass(eq=False)
class Checkpoint:
    """Everything a method remembers: give it as `x0` of a new integration to go on as if never interrupted."""

    method: str
    t: float
    x: NDArray[np.float64]
    memory: NDArray[np.int64] | None = field(default=None, repr=False)
    #: Where the parts of the memory lie.
    parts: Mapping[str, slice] = field(default_factory=dict, repr=False)

    def part(self, name: str) -> NDArray[np.int64]:
        """A part of the memory by its name in the frame."""
        assert self.memory is not None
        return self.memory[self.parts[name]]


class Segments:
    """The interpolants of all steps: x(t) = sum_k coefficients[k] s^k, s = (t - centre) / h."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    centre: NDArray[np.float64]
    h: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    _pieces: tuple[Sequence[tuple[Array, ...]], int]

    def __init__(self, start: Array, end: Array, centre: Array, h: Array, coefficients: Array) -> None:
        self.start, self.end, self.centre, self.h, self.coefficients = start, end, centre, h, coefficients

    @classmethod
    def of(cls, pieces: Sequence[tuple[Array, ...]], n: int) -> Segments:
        """From the march's own tables of (start, end, centre, h) and of coefficients of n states, put in order when first read."""
        found = cls.__new__(cls)
        found._pieces = pieces, n
        return found

    def __getattr__(self, name: str) -> Any:
        if name == "_pieces" or name not in Segments.__annotations__:
            raise AttributeError(name)
        pieces, n = self._pieces
        if pieces:  # else another thread has just done it
            span, coefficients = pieces[0] if len(pieces) == 1 else map(np.concatenate, zip(*pieces, strict=True))
            self.start, self.end, self.centre, self.h = span.T
            self.coefficients = coefficients.reshape(len(span), -1, n)
            self._pieces = (), n
        return self.__dict__[name]

    @property
    def n(self) -> int:
        """The number of states."""
        return int(self.coefficients.shape[2])

    @property
    def tables(self) -> tuple[Array, Array]:
        """(start, end, centre, h) and coefficients, one row a step."""
        spans = np.column_stack([self.start, self.end, self.centre, self.h])
        return spans, np.ascontiguousarray(self.coefficients).reshape(len(spans), -1)

    def at(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate at the times `t`, to the right of a jump."""
        direction = 1.0 if self.end[-1] >= self.start[0] else -1.0
        k = np.searchsorted(direction * self.start, direction * t, side="right") - 1
        k = np.clip(k, 0, self.start.size - 1)
        s = ((t - self.centre[k]) / self.h[k])[:, None]
        coefficients = self.coefficients[k]
        value = coefficients[:, -1]
        for power in range(coefficients.shape[1] - 2, -1, -1):
            value = value * s + coefficients[:, power]
        return value


@dataclass(eq=False)
class Trajectory:
    """States `x` (one row for each time in `t`) with how the integration went.

    `status` is "finished", "event" (ended by a terminal event), "interrupted", "max_steps" or "failed"; whatever it
    is, what was done is here and `restart` goes on from the last point. `y` holds the rows of the output function.
    """

    t: NDArray[np.float64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    status: str
    message: str
    stats: Statistics
    events: tuple[EventRecord, ...]
    restart: Checkpoint
    segments: Segments | None = field(default=None, repr=False)
    #: What a user's function raised, if that is why it ended.
    cause: BaseException | None = field(default=None, repr=False)
    #: Of methods in turns: when each began (t), which (method), and why it was left (left); none where the first did it all.
    turns: Sequence[Mapping[str, Any]] = ()

    @property
    def success(self) -> bool:
        """Whether the end or a terminal event was reached."""
        return self.status in ("finished", "event")

    def check(self) -> Trajectory:
        """Return self, or raise SolverError if the integration failed or ran out of steps."""
        if self.status in ("failed", "max_steps"):
            raise SolverError(self.message) from self.cause
        return self

    def at(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return the state at any time(s) covered, from the interpolant of the method."""
        if self.segments is None:
            raise InputError("trajectory: no interpolant was kept; integrate with dense=True")
        times = np.asarray(t, dtype=np.float64)
        flat = np.atleast_1d(times).ravel()
        lo, hi = sorted((float(self.segments.start[0]), float(self.segments.end[-1])))
        slack = 1e-12 * max(abs(lo), abs(hi))
        if flat.size and (flat.min() < lo - slack or flat.max() > hi + slack):
            raise InputError(f"trajectory: t from {flat.min():g} to {flat.max():g} s leaves [{lo:g}, {hi:g}] s")
        return self.segments.at(flat).reshape(*times.shape, -1)

    def __str__(self) -> str:
        return f"{self.status} at t = {self.restart.t:.9g} s: {self.stats}. {self.message}".rstrip()
