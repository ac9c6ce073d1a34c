"""Events of runs whose instants are walked along by another method: guards are zero in the states of that walk.

A run in other coordinates, or by a method that is not walked along itself, has found its events in its own states.  At these instants the guard
g(τ, x(τ)) of the walk is as little zero as both motions differ, and states behind a jump would be those of the other run: such a walk is no
function whose derivative saltation gives.  Newton's method, τ ← τ − g/(g_t + g_x ẋ), puts the instants where the walk itself meets its guards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...solvers.ode.frame import EPS
from .runs import NotCarried

if TYPE_CHECKING:
    from .simulated import Simulated

#: Walks after which events must have come to rest, besides one for each of them.
MOST = 20
#: Instants nearer to an event than this part of the piece are left out where states are found anew.
NEAR = 1e-7
#: Criteria read at instants that move with events.
MOVING = ("final", "largest", "smallest")


def with_restarts(t: np.ndarray, x: np.ndarray, events: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which every event inside the run stands twice, before and behind it; some runs write one row where a jump changes nothing."""
    single = [i for i in np.flatnonzero(np.isin(t, events)).tolist() if i < len(t) - 1 and np.count_nonzero(t == t[i]) == 1]
    return np.insert(t, single, t[single]), np.insert(x, single, x[single], axis=0)


def thin(walk: Simulated) -> None:
    """Leaves out instants so near to events that rounding would choose the side of a law on which stages between them lie."""
    if not walk.run.moves_events or walk.run.renews or len(walk.pieces) == 1:  # memories are renewed at all of them
        return
    t, drop = walk.t, list[int]()
    for i, piece in enumerate(walk.pieces):
        inside = np.arange(piece.first + 1, piece.last)
        near = NEAR * (t[piece.last] - t[piece.first])
        if i:
            drop += inside[t[inside] - t[piece.first] < near].tolist()
        if piece.event is not None:
            drop += inside[t[piece.last] - t[inside] < near].tolist()
    if drop:
        _leave_out(walk, drop)
        walk.lay_out()


def settle(walk: Simulated) -> None:
    """Moves the instants of events, with states found anew, until all guards are zero there."""
    crossing = [p for p in walk.pieces if p.event is not None and walk.run.crosses(p.event)]
    if not crossing or not walk.run.moves_events:
        return
    least = 8.0 * EPS * max(abs(walk.span[0]), abs(walk.span[1]))
    nearest = np.inf
    for _ in range(MOST + len(crossing)):
        moves = _moves(walk)
        largest = float(np.abs(moves).max())
        if largest <= least or (largest <= 1e3 * least and largest >= nearest):  # rounding of the guards themselves
            return
        nearest = largest
        _shift(walk, moves)
        walk.found()
    worst = walk.pieces[int(np.argmax(np.abs(moves)))]
    raise _lost(walk, worst.event, float(walk.t[worst.last]))


def _lost(walk: Simulated, event: str | None, t: float) -> NotCarried:
    return NotCarried(
        f"gradient of '{walk.system.model.name}': {walk.told_of(str(event))} at t = {t:.9g} s is not met by steps of '{walk.run.method}' in joint "
        f"coordinates, along which derivatives of runs by '{walk.solution.metadata['method']}' are found; use smaller steps, compile without formulation=, or "
        "use method='differences'"
    )


def _moves(walk: Simulated) -> np.ndarray:
    """How far the last instant of every piece is from the zero of its guard."""
    run, found = walk.run, np.zeros(len(walk.pieces))
    rate = np.zeros(walk.x.shape[1])
    for i, piece in enumerate(walk.pieces):
        if piece.event is None or not run.crosses(piece.event):
            continue
        t, x = walk.t[piece.last : piece.last + 1], walk.x[piece.last]
        f = run.guard(piece.event, walk.symbols)
        g = float(np.atleast_1d(f.value(t, x, run.given(piece.event)))[0])
        if g == 0.0:
            continue
        run.rate(t[:1], x[None], rate[None], piece.mode)
        bar = run.pulled(f, float(t[0]), x, np.ones(1), piece.event)[0]
        speed = float(bar[0] + bar[1 : 1 + len(rate)] @ rate)
        found[i] = -g / speed if speed else np.inf
        width = float(walk.t[piece.last] - walk.t[piece.first])
        if not abs(found[i]) < width:
            raise _lost(walk, piece.event, float(t[0]))
    return found


def _shift(walk: Simulated, moves: np.ndarray) -> None:
    """Moves the ends of pieces; a step that would have no length is joined with that next to it."""
    t, drop = walk.t, []
    for i, piece in enumerate(walk.pieces):
        if not moves[i]:
            continue
        before = float(t[piece.last])
        new = before + float(moves[i])
        t[piece.last] = new
        behind = [*range(piece.last - 1, piece.first, -1)]
        ahead: list[int] = []
        if piece.goes_on:
            following = walk.pieces[i + 1]
            t[following.first] = new
            ahead = [*range(following.first + 1, following.last)]
            if not new < t[following.last]:
                raise _lost(walk, piece.event, before)
        if not new > t[piece.first]:
            raise _lost(walk, piece.event, before)
        drop += [k for k in behind if t[k] >= new] + [k for k in ahead if t[k] <= new]
        for item in walk.primitives.items:
            if item.criterion.kind in MOVING:
                item.times = np.where(item.times == before, new, item.times)
    if drop:
        _leave_out(walk, drop)
    walk.span = float(walk.t[0]), float(walk.t[-1])
    walk.lay_out()


def _leave_out(walk: Simulated, drop: list[int]) -> None:
    """Takes instants away."""
    gone = np.unique(drop)
    walk.t, walk.x = np.delete(walk.t, gone), np.ascontiguousarray(np.delete(walk.x, gone, axis=0))
    for piece in walk.pieces:
        piece.first -= int(np.searchsorted(gone, piece.first))
        piece.last -= int(np.searchsorted(gone, piece.last))


__all__ = ["settle", "thin", "with_restarts"]
