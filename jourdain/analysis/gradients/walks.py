"""Native walks along a run with the memory that they use, kept from run to run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...native.lanes import aligned
from ...solvers.ode.frame import EPS
from ...solvers.ode.guards import APPROACH
from ...solvers.sensitivity.field import Field, Readings, map_of
from ...solvers.sensitivity.path import Path, Transition, forwards
from ...solvers.sensitivity.walk import AT_BEGIN, AT_END, BEHIND, INSIDE, Leg, new_leg
from ...symbolic.expr import Expr
from ...systems.sensitivity import Derived, give, widened
from .runs import Differentiable

#: Directions from which on they are carried side by side in SIMD lanes, and how many at most: what all of them share is computed once.
SIDE_BY_SIDE, LANES = 3, 8

#: By which part of its length a step to a surface of a law stops short of it: explicit stages at its end are less near to the motion than the step itself, and on the
#: other side slopes or values are others.
BESIDE = 1e-4
#: Part of a leg within which they stop at least: a step that short may have been taken with stages beyond the surface, which its error hides.
SHORT = 1e-6


@dataclass(eq=False)
class Piece:
    """Steps without an event inside, and the event at their end."""

    first: int
    last: int
    event: str | None = None
    #: Whether the run goes on behind the event.
    goes_on: bool = False
    #: What happens at the same instant besides.
    others: tuple[str, ...] = ()
    #: Whether all its instants move with those at its ends.
    stretched: bool = False
    #: Which of several rates holds.
    mode: int = 0


@dataclass(eq=False)
class Points:
    """Where values are read, in the order of the steps: which criterion and which of its instants each is; where the points of each piece begin."""

    item: np.ndarray
    number: np.ndarray
    first: np.ndarray
    step: np.ndarray
    kind: np.ndarray
    t: np.ndarray


def placed(t: np.ndarray, pieces: Sequence[Piece], times: Sequence[np.ndarray], behind: Sequence[bool] = ()) -> Points:
    """The steps in which values are read, an entry of ``times`` a criterion; an instant at the end of a piece belongs to it, of criteria that are read
    ``behind`` events to the next."""
    last = np.array([p.last for p in pieces])
    if not any(len(x) for x in times):
        none = np.zeros(0, dtype=np.int64)
        return Points(none, none, np.zeros(len(pieces) + 1, dtype=np.int64), none, none, np.zeros(0))
    wanted = np.concatenate(times)
    item = np.repeat(np.arange(len(times)), [len(x) for x in times])
    number = np.concatenate([np.arange(len(x)) for x in times])
    row = np.clip(np.searchsorted(t, wanted, side="left") - 1, 0, len(t) - 2)
    piece = np.minimum(np.searchsorted(last, row, side="right"), len(pieces) - 1)
    first = np.array([p.first for p in pieces])
    step = np.clip(row - first[piece], 0, np.maximum(last[piece] - first[piece] - 1, 0))
    moving = np.array([p.stretched for p in pieces])[piece] & (first[piece] + step + 1 < last[piece])
    kind = np.where((wanted == t[np.minimum(first[piece] + step + 1, len(t) - 1)]) & ~moving, AT_END, INSIDE)
    for i in np.flatnonzero(behind).tolist():
        starts_here = np.flatnonzero(t[first] == times[i][0])
        piece[item == i], step[item == i], kind[item == i] = starts_here[-1], 0, AT_BEGIN
    order = np.lexsort((number, item, wanted, kind, step, piece))
    starts = np.searchsorted(piece[order], np.arange(len(pieces) + 1))
    step, kind = (np.ascontiguousarray(x[order], dtype=np.int64) for x in (step, kind))
    return Points(item[order], number[order], starts.astype(np.int64), step, kind, np.ascontiguousarray(wanted[order]))


class Walks:
    """Records of whole runs: one for weights and single directions, one for directions in SIMD lanes."""

    def __init__(self, run: Differentiable, field: Field, readings: Sequence[Readings], derived: Sequence[Derived | None]) -> None:
        self.run, self.field, self.readings, self.derived = run, field, readings, derived
        self.path = self._new_path(new_leg(field, run.scheme, *readings))
        self._wide: dict[int, Wide] = {}
        self._arrays: dict[tuple[int, str], np.ndarray] = {}
        self._transitions: dict[tuple[int, int], Transition] = {}
        self._keep: list[Any] = []

    def _new_path(self, leg: Leg) -> Path:
        n = self.field.n
        tip = new_leg(self.field, self.run.scheme, *self.readings)
        integrals = max(1, leg.integrands.count)
        for name, shape in (
            ("dta", (1,)), ("dx", (1, n)), ("total", (integrals,)), ("dtotal", (1, integrals)),
            ("dc", (1, max(1, self.field.nc))), ("dr", (1, max(1, leg.integrands.nc))), ("dv", (1, max(1, leg.values.nc))),
        ):  # fmt: skip
            setattr(tip, name, np.zeros(shape))
        tip.dtb = np.ones(1)
        return Path(leg=leg, tip=tip, forwards=0, alone=0, one=np.ones(1), change=np.zeros(1 + n), after=np.zeros(n))

    def need(self, word: str) -> None:
        """Compiles the pushes or the pulls of all functions, if they are not yet."""
        self.run.need(word)
        for record, f in zip(self.readings, self.derived, strict=False):
            if f is not None:
                give(record, f, word, self.run.u, self._keep)

    def _zeros(self, owner: Any, name: str, *shape: int) -> np.ndarray:
        """A field of a record, of zeros; its memory is used again where it fits."""
        key = (id(owner), name)
        found = self._arrays.get(key)
        if found is None or found.shape != shape:
            found = self._arrays[key] = aligned(max(1, math.prod(shape)))[: math.prod(shape)].reshape(shape)
            setattr(owner, name, found)
        else:
            found.fill(0.0)
        return found

    # -- a run ----------------------------------------------------------------------------------------------------

    def lay(self, pieces: Sequence[Piece], points: Points, t: np.ndarray, symbols: Sequence[Expr]) -> None:
        """Takes the pieces and points of a run."""
        self.pieces, self.points, self.symbols = pieces, points, symbols
        n = len(pieces)
        self.first, self.last = np.array([p.first for p in pieces]), np.array([p.last for p in pieces])
        self.margin, self.nudge, self.renews = np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
        self.stretched = np.array([p.stretched for p in pieces], np.int64)
        self.mode = np.array([p.mode for p in pieces], np.int64)
        self.guard, self.jump, self.timed = (np.zeros(n, np.int64) for _ in range(3))
        self.impulses = np.zeros((n, max(1, self.field.nv)))
        for i, piece in enumerate(pieces):
            self.renews[i], self.timed[i] = piece.event is None, piece.goes_on and self.run.found_again(piece.event)
            if piece.event is not None and not self.run.timed(piece.event):
                end, width = t[piece.last], t[piece.last] - t[piece.last - 1]
                implicit = (
                    self.run.scheme.implicit
                )  # its stages are found anew: they need not be on the side on which those of the run were
                self.nudge[i + 1 : i + 2] = 0.0 if implicit else APPROACH
                least = BEHIND * (end - t[piece.first]) if implicit else 0.0
                if not implicit and piece.event in self.run.watched and piece.event not in self.run.steep:
                    least = max(BESIDE * width, SHORT * (end - t[piece.first]))
                self.margin[i] = min(max(APPROACH * width, least, 8.0 * EPS * abs(end)), 0.5 * width)
        self._placed = False

    def put(self, path: Path, t: np.ndarray, x: np.ndarray, alone: int | None = None) -> None:
        """Gives a path the steps, or those of one block."""
        leg, tip, points = path.leg, path.tip, self.points
        leg.t = tip.t = t
        leg.x = tip.x = x
        first, last = self.first, self.last
        if alone is not None:
            first, last = first - first[alone], last - first[alone]
        path.first, path.last, path.points = first, last, points.first
        path.margin, path.nudge, path.renews, path.mode, path.stretched = self.margin, self.nudge, self.renews, self.mode, self.stretched
        path.begin, path.end = (0, len(self.pieces)) if alone is None else (alone, alone + 1)
        for of in (leg, tip):
            of.point_step, of.point_kind, of.point_t = points.step, points.kind, points.t

    def begin(self, path: Path) -> None:
        """Values from zero on."""
        leg = path.leg
        if leg.anew and self.timed.any():
            self._place_events(path)
        self._zeros(leg, "total", max(1, leg.integrands.count))
        for of, name in ((leg, "point_y"), (path.tip, "point_y"), (path.tip, "point_dy")):
            self._zeros(of, name, len(self.points.t), max(1, leg.values.count))
        self._zeros(path, "dtimes", len(self.pieces), 1)
        path.guard, path.jump, path.timed, path.impulses = self.guard, self.jump, self.timed, self.impulses
        leg.groups = leg.criteria = 0

    def begin_forwards(self, directions: int) -> Path:
        """A path with room for changes in so many directions."""
        side_by_side = directions >= SIDE_BY_SIDE and not self.run.scheme.implicit
        path = self._wide_path(LANES if directions > LANES // 2 else LANES // 2) if side_by_side else self.path
        self.begin(path)
        leg = path.leg
        lanes, n, P = leg.field.lanes, self.field.n, len(self.points.t)
        groups = -(-directions // lanes)
        leg.groups = groups
        count, integrals = leg.values.count, max(1, leg.integrands.count)
        self._zeros(leg, "dta", groups * lanes)
        self._zeros(leg, "dtb", groups * lanes)
        for name, width in (("dx", n), ("dc", max(1, self.field.nc)), ("dr", max(1, leg.integrands.nc)), ("dv", max(1, leg.values.nc)), ("dtotal", integrals)):  # fmt: skip
            self._zeros(leg, name, groups, width * lanes)
        self._zeros(leg, "point_dy", P, max(1, groups * count * lanes))
        self._zeros(path, "dtimes", len(self.pieces), groups * lanes)
        self._place_events(path)
        self._zeros(path, "de", groups * lanes, max(1, len(self.slopes)))
        self._zeros(path, "speed", len(self.pieces))
        self._zeros(path, "scale", len(self.pieces))
        path.guard, path.jump, path.timed, path.impulses = self.guard, self.jump, self.timed, self.impulses
        return path

    def begin_back(self, criteria: int) -> Path:
        """The path with room for weights of so many criteria."""
        path = self.path
        self.begin(path)
        leg, r = path.leg, criteria
        leg.criteria, n = r, self.field.n
        count, integrals = leg.values.count, max(1, leg.integrands.count)
        for name, width in (("xbar", n), ("weights", integrals), ("cbar", max(1, self.field.nc)), ("rbar", max(1, leg.integrands.nc)), ("vbar", max(1, leg.values.nc)), ("largest", n)):  # fmt: skip
            self._zeros(leg, name, r, width)
        self._zeros(leg, "tabar", r)
        self._zeros(leg, "point_weights", len(self.points.t), max(1, r * count))
        self._zeros(path, "tau", r)
        self._zeros(path, "time_weights", len(self.pieces), r)
        self._place_events(path)
        self._zeros(path, "ebar", r, max(1, len(self.slopes)))
        self._zeros(path, "speed", len(self.pieces))
        self._zeros(path, "scale", len(self.pieces))
        path.guard, path.jump, path.timed, path.impulses = self.guard, self.jump, self.timed, self.impulses
        return path

    # -- events ---------------------------------------------------------------------------------------------------

    def _place_events(self, path: Path) -> None:
        """Gives every event its guard and its jump, and finds the slopes of their constants (constants × symbols)."""
        self._find_events()
        if self.guard.any():
            path.forwards = forwards.address

    @property
    def ends_move(self) -> bool:
        """Whether the instant of an event moves with the state or with a variable, so that walks back need pushes, too."""
        self._find_events()
        return bool(self.guard.any())

    def _find_events(self) -> None:
        if self._placed:
            return
        self._placed = True
        run, symbols, parts = self.run, self.symbols, []
        first = 0
        places: dict[tuple[int, int], Transition] = {}
        for i, piece in enumerate(self.pieces):
            if piece.event is None:
                continue
            wanted = []
            jump = run.jump(piece.event, symbols) if piece.goes_on else None
            if run.crosses(piece.event):
                guard = run.guard(piece.event, symbols)
                if jump is not None or guard.nc or guard.uses("x"):  # else it is zero at an instant that nothing moves
                    wanted.append((self.guard, guard))
            if jump is not None:
                wanted.append((self.jump, jump))
            u = run.inputs_of(piece.event)
            for table, f in wanted:
                record = places.get((id(f), id(u)))
                if record is None:
                    record = places[id(f), id(u)] = self._transition(f, u)
                    record.first = first
                    first += f.nc
                    parts.append(run.wide_slopes(f, symbols))
                table[i] = record.address
        self.slopes = np.concatenate(parts) if parts else np.zeros((0, len(symbols)))

    def _transition(self, f: Derived, u: np.ndarray) -> Transition:
        found = self._transitions.get((id(f), id(u)))
        if found is None:
            found = Transition(
                nc=f.nc,
                bar=np.zeros(1 + self.field.n),
                cbar=np.zeros(max(1, f.nc)),
                **{w: map_of(None, 8) for w in ("value", "push", "pull")},
            )
            self._transitions[id(f), id(u)] = found
            self._keep += [f, u]
        for word in ("value", "push", "pull"):
            give(found, f, word, u, self._keep)
        return found

    # -- lanes ----------------------------------------------------------------------------------------------------

    def _wide_path(self, lanes: int) -> Path:
        """The path whose directions stand side by side, with the functions of the present run."""
        field = self.field
        if lanes not in self._wide:
            wide = Field(n=field.n, nc=field.nc, lanes=lanes)
            self._wide[lanes] = Wide(self._new_path(new_leg(wide, self.run.scheme, *(r.copy() for r in self.readings))))
        found = self._wide[lanes]
        leg = found.path.leg
        if found.attached is not self.run.attached:
            found.attached = self.run.attached
            found.kept = self.run.widen(leg.field, lanes)
            sizes = {"change": 1 + field.n + field.nv + field.m}
            for record, narrow, f in zip((leg.integrands, leg.values), self.readings, self.derived, strict=False):
                found.kept += widened(record, narrow, lanes, {"push": f}, self.run.u, sizes)
        return found.path


@dataclass(eq=False)
class Wide:
    """A path in lanes with the native functions for which it was made."""

    path: Path
    attached: object = None
    kept: list[Any] = field(default_factory=list)


def side_by_side(a: np.ndarray, lanes: int) -> np.ndarray:
    """Rows as groups of ``lanes`` of them whose entries stand side by side."""
    groups = -(-len(a) // lanes)
    full = np.zeros((groups * lanes, a.shape[1]))
    full[: len(a)] = a
    return full.reshape(groups, lanes, -1).transpose(0, 2, 1).reshape(groups, -1)


def apart(a: np.ndarray, lanes: int, rows: int) -> np.ndarray:
    """The inverse."""
    return a.reshape(len(a), -1, lanes).transpose(0, 2, 1).reshape(len(a) * lanes, -1)[:rows]


__all__ = ["Piece", "Points", "Walks", "apart", "placed", "side_by_side"]
