"""Largest values along a run, in native code: first near the highest ends of steps, then by Brent's method on values as the walk reads them.

R. P. Brent, *Algorithms for Minimization without Derivatives* (1973), chapter 5.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...native.kernel import jit, kernel
from ...native.record import Floats, Integers, Matrix, Record
from ..ode.frame import EPS
from .field import evaluate, read
from .path import Path, enter
from .walk import Leg, inner_step

#: Peaks among the ends of steps that are looked at closer, parts of a step that are looked at, and how many times the fall beside a peak it may rise within a step.
CANDIDATES, PROBES, REACH = 6, 8, 2.0
#: Part of the duration to which an instant is found; within which an extremum and an event are one; within which values that differ by rounding end the search.
SHORT, CORNER, FLAT = 1e-11, 1e-8, 1e-6
GOLDEN, MOST = 0.3819660112501051, 80


class Sought(Record):
    """Values whose extrema are wanted (largest with a sign of 1, smallest with −1), and what is found: when, how much, and whether behind an event at that instant."""

    path: Path
    which: Integers
    signs: Floats
    #: Signed values at the ends of all steps.
    ends: Matrix
    #: Rows of the highest peaks.
    peaks: Integers
    t: Floats
    value: Floats
    behind: Integers


def new_sought(path: Path, which: list[int], signs: list[float], rows: int) -> Sought:
    """Room for extrema of runs with at most so many ends of steps."""
    n = len(which)
    return Sought(
        path=path, which=np.array(which, np.int64), signs=np.array(signs, dtype=float), ends=np.zeros((rows, n)), peaks=np.zeros(CANDIDATES, np.int64),
        t=np.zeros(n), value=np.zeros(n), behind=np.zeros(n, np.int64),
    )  # fmt: skip


@jit
def _read(leg: Leg, t: Any, x: Any) -> int:
    """All values at a point."""
    status = evaluate(leg.field, t, x, leg.rate)
    return status if status != 0 else read(leg.field, leg.values, t, x, leg.rate)


@jit
def _read_ends(s: Sought) -> int:
    """Values at the ends of all steps."""
    path = s.path
    leg = path.leg
    for i in range(path.begin, path.end):
        enter(path, i)
        for k in range(leg.first, leg.last + 1):
            status = _read(leg, leg.t[k:], leg.x[k])
            if status != 0:
                return status
            for j in range(s.which.size):
                s.ends[k][j] = s.signs[j] * leg.values.y[s.which[j]]
    return 0


@jit
def _find_peaks(s: Sought, j: int) -> int:
    """Rows of the highest ends of steps that no neighbour in their piece exceeds, the highest first; how many."""
    path, found = s.path, 0
    for i in range(path.begin, path.end):
        first, last = path.first[i], path.last[i]
        for k in range(first, last + 1):
            y = s.ends[k][j]
            if (k > first and s.ends[k - 1][j] > y) or (k < last and s.ends[k + 1][j] > y):
                continue
            if k > first and k < last and s.ends[k - 1][j] == y and s.ends[k + 1][j] == y and found > 0:
                continue  # within a plateau
            place = found
            while place > 0 and s.ends[s.peaks[place - 1]][j] < y:
                place -= 1
            if place >= CANDIDATES:
                continue
            found = min(found + 1, CANDIDATES)
            for m in range(found - 1, place, -1):
                s.peaks[m] = s.peaks[m - 1]
            s.peaks[place] = k
    return found


@jit
def _piece_of(path: Path, k: int) -> int:
    """The piece to which a row belongs."""
    i = path.begin
    while path.last[i] < k:
        i += 1
    return i


@jit
def _at(s: Sought, j: int, k: int, t: float) -> Any:
    """The signed value at an instant in one of the steps beside row k of the present leg, as a walk reads it there; with the status."""
    leg = s.path.leg
    if t == leg.t[k]:
        return 0, s.ends[k][j]
    status = inner_step(leg, k - 1 if t < leg.t[k] else k, t)
    if status == 0:
        status = _read(leg, leg.one, leg.inner.end)
    return status, s.signs[j] * leg.values.y[s.which[j]]


@jit
def _look(s: Sought, j: int, k: int) -> Any:
    """The best of some instants in the steps beside row k, its value, and its neighbours: status, t, value, low, high."""
    leg = s.path.leg
    best, value = leg.t[k], s.ends[k][j]
    low = leg.t[k] if k == leg.first else leg.t[k] - (leg.t[k] - leg.t[k - 1]) / PROBES
    high = leg.t[k] if k == leg.last else leg.t[k] + (leg.t[k + 1] - leg.t[k]) / PROBES
    for side in range(2):
        start = k - 1 + side
        if start < leg.first or start >= leg.last:
            continue
        a, width = leg.t[start], (leg.t[start + 1] - leg.t[start]) / PROBES
        for q in range(1, PROBES):
            t = a + q * width
            status, y = _at(s, j, k, t)
            if status != 0:
                return status, t, y, t, t
            if y > value:
                best, value, low, high = t, y, a + (q - 1) * width, a + (q + 1) * width
    return 0, best, value, low, high


@jit
def _climb(s: Sought, j: int, k: int, best: float, value: float, low: float, high: float) -> Any:
    """Brent's search for the largest value between low and high: status, t, value."""
    leg = s.path.leg
    T = abs(leg.t[s.path.last[s.path.end - 1]] - leg.t[s.path.first[s.path.begin]])
    x, w, v = best, best, best
    fx, fw, fv = value, value, value
    d, e = 0.0, 0.0
    tol = max(SHORT * T, 4.0 * EPS * abs(best))
    for _ in range(MOST):
        m = 0.5 * (low + high)
        if abs(x - m) <= 2.0 * tol - 0.5 * (high - low):
            break
        p, q, r = 0.0, 0.0, 0.0
        if abs(e) > tol:
            r = (x - w) * (fv - fx)
            q = (x - v) * (fw - fx)
            p = (x - v) * q - (x - w) * r
            q = 2.0 * (q - r)
            if q > 0.0:
                p = -p
            else:
                q = -q
            r, e = e, d
        if abs(p) < abs(0.5 * q * r) and p > q * (low - x) and p < q * (high - x):
            d = p / q
            if x + d - low < 2.0 * tol or high - x - d < 2.0 * tol:
                d = math.copysign(tol, m - x)
        else:
            e = high - x if x < m else low - x
            d = GOLDEN * e
        t = x + (d if abs(d) >= tol else math.copysign(tol, d))
        status, y = _at(s, j, k, t)
        if status != 0:
            return status, x, fx
        flat = abs(y - fx) <= 4.0 * EPS * abs(fx) and abs(t - x) <= FLAT * T
        if y >= fx:
            if t < x:
                high = x
            else:
                low = x
            v, fv, w, fw, x, fx = w, fw, x, fx, t, y
        else:
            if t < x:
                low = t
            else:
                high = t
            if y >= fw or w == x:
                v, fv, w, fw = w, fw, t, y
            elif y >= fv or not (v != x and v != w):
                v, fv = t, y
        if flat:
            break
    return 0, x, fx


@jit
def _settle(s: Sought, j: int, i: int, t: float, value: float) -> None:
    """Keeps an extremum of piece i; one next to an event is there, on its side."""
    path = s.path
    leg = path.leg
    near = CORNER * abs(leg.t[path.last[path.end - 1]] - leg.t[path.first[path.begin]])
    first, last, behind = path.first[i], path.last[i], 0
    if i + 1 < path.end and abs(leg.t[last] - t) <= near:
        t, value = leg.t[last], s.ends[last][j]
    elif i > path.begin and abs(t - leg.t[first]) <= near:
        t, value, behind = leg.t[first], s.ends[first][j], 1
        before = s.ends[path.last[i - 1]][j]
        if value <= before + 4.0 * EPS * abs(before):
            value, behind = before, 0
    s.t[j], s.value[j], s.behind[j] = t, s.signs[j] * value, behind


@jit
def seek(s: Sought) -> int:
    """All extrema of the run along the path."""
    path = s.path
    leg = path.leg
    status = _read_ends(s)
    for j in range(s.which.size):
        if status != 0:
            return status
        count = _find_peaks(s, j)
        best, value, low, high, row = 0.0, -math.inf, 0.0, 0.0, -1
        for c in range(count):
            k = s.peaks[c]
            i = _piece_of(path, k)
            enter(path, i)
            y = s.ends[k][j]
            least = min(s.ends[k - 1][j] if k > leg.first else y, s.ends[k + 1][j] if k < leg.last else y)
            if y + REACH * (y - least) < value:
                continue
            status, t, y, a, b = _look(s, j, k)
            if status != 0:
                return status
            if y > value:
                best, value, low, high, row = t, y, a, b, k
        i = _piece_of(path, row)
        enter(path, i)
        status, best, value = _climb(s, j, row, best, value, low, high)
        _settle(s, j, i, best, value)
    return status


@kernel
def find_extrema(address: int) -> int:
    """Finds them."""
    return seek(Sought.at(address))


__all__ = ["Sought", "find_extrema", "new_sought", "seek"]
