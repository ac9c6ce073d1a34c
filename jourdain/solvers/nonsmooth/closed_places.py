"""What runs from event to event share: which contacts are closed and where they are, and J̇ v by differences along the motion."""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import call, doubles
from ...native.kernel import jit
from ...native.record import Address, Floats, Integers, Matrix, Record
from ..complementarity.problem import Problem
from ..complementarity.solve import Task
from ..ode.rotation import displaced
from .contact_set import Closures, ContactSet, Parts, contact_velocity
from .impacts import Impacts
from .records import Asked

#: Parts of a second for differences of J v.
EPSILON = 1e-4
#: Bits of the places of differences, −2, −1, 1 and 2: all, and those of either side.
BEHIND, AHEAD = 1 + 2, 8 + 16
ALL_SEEN = BEHIND + AHEAD


class Called(Record):
    """A function of (t, x) and its arguments; address 0: there is none."""

    function: Address
    args: Integers


class Closed(Record):
    """What all functions here share: their arguments now, the equations without contacts, rows of contacts, and which are closed."""

    t: Address
    x: Address
    out: Address
    base: Called
    projection: Called
    rows: Address
    rows_args: Asked
    nq: int
    nv: int
    nz: int
    turns: Integers
    contacts: ContactSet
    parts: Parts
    closures: Closures
    laws: Impacts
    problem: Problem
    task: Task
    solver: Address
    count: int
    key: Integers  # of each closed contact: shapes and feature
    slides: Integers  # STICKS, BEGINS, SLIDES or ENDS
    along: Floats  # where sliding began, in the world's axes
    place: Integers  # among the contacts found, −1: gone
    row: Integers  # of the problem, −1: it has none
    bound: Floats  # of what brakes
    lift: Floats  # by how much closed contacts press, and those that rest are held, in units of acceleration
    slip: Floats
    force: Floats  # λ: normal and two tangents
    known: Floats  # those with which the search begins: of the last rates, whatever guards and outputs asked in between
    moving: Floats  # u̇ after it, likewise
    change: Floats  # J̇ v: normal, then the vector in the world's axes
    ahead: Floats  # the same by differences to one side, where a contact is not there on the other
    behind: Floats
    seen: Integers  # at which of the four places of differences a contact was, a bit each
    J: Matrix
    Y: Matrix
    extra: Matrix  # one row
    basis: Matrix  # L of W = L Lᵀ, and what is left of its rows and of theirs of w
    left: Floats
    rest: Floats
    p: Floats
    values: Floats  # of the guards
    shifted: Floats
    rates: Floats
    clock: Floats
    scale: float
    #: energy that projections have given velocities of closed contacts, and taken: no law says it
    amiss: float
    layer: float  # of speeds, in parts of the scale
    #: where the last step ended, how far bodies may move in one, and the size of each position's turn (0: a shift)
    from_: Floats
    reach: float


class Arguments(Record):
    """Arguments of all functions here."""

    t: Address
    x: Address
    out: Address
    closed: Closed


@jit
def asked_of(args: int) -> Any:
    """The shared record with the arguments of a call."""
    a = Arguments.at(args)
    c = a.closed
    c.t, c.x, c.out = a.t, a.x, a.out
    return c


@jit
def find_closed(c: Any, t: int, x: int) -> int:
    """The contacts at (t, x), and the places of the closed ones among them."""
    asked, s = c.rows_args, c.contacts
    asked.t, asked.x, asked.start = t, x, x
    status = call(c.rows, asked)
    if status != 0:
        return status
    k = 0
    for i in range(c.count):
        while k < s.count and _earlier(s.key, k, c.key, i):
            k += 1
        c.place[i] = k if k < s.count and not _earlier(c.key, i, s.key, k) else -1
    return 0


@jit
def _earlier(a: Any, i: int, b: Any, j: int) -> bool:
    for m in (0, 1, 2):
        if a[3 * i + m] != b[3 * j + m]:
            return a[3 * i + m] < b[3 * j + m]
    return False


@jit
def changes_of(c: Any, x: Any, t: float) -> int:
    """J̇ v of the closed contacts: (8 (u₊ − u₋) − (u₊₊ − u₋₋))/12 ε."""
    v, q = x[c.nq :], c.shifted
    for i in range(4 * c.count):
        c.change[i] = c.ahead[i] = c.behind[i] = 0.0
    for i in range(c.count):
        c.seen[i] = 0
    for i in range(c.nq, c.nq + c.nv + c.nz):
        q[i] = x[i]
    for side in (-2, -1, 1, 2):
        weight = (8.0 if side == 1 else -8.0 if side == -1 else -1.0 if side == 2 else 1.0) / (12.0 * EPSILON)
        displaced(x, c.nq, c.turns, v, side * EPSILON, q)
        c.clock[0] = t + side * EPSILON
        status = find_closed(c, at(c.clock), at(q))
        if status != 0:
            return status
        for i in range(c.count):
            if c.place[i] < 0:
                continue
            c.seen[i] += 1 << (side + 2)
            _add_velocity(c, i, weight, v, c.change)
            if side > 0:
                _add_velocity(c, i, (4.0 if side == 1 else -1.0) / (2.0 * EPSILON), v, c.ahead)
            else:
                _add_velocity(c, i, (-4.0 if side == -1 else 1.0) / (2.0 * EPSILON), v, c.behind)
    return 0


@jit
def _add_velocity(c: Any, i: int, weight: float, v: Any, out: Any) -> None:
    """Adds J v of a closed contact, where the bodies are now: normal, and vector in the world's axes."""
    s, k = c.contacts, c.place[i]
    n, a, b = contact_velocity(s, c.parts, k, 0, v), contact_velocity(s, c.parts, k, 1, v), contact_velocity(s, c.parts, k, 2, v)
    out[4 * i] += weight * n
    for j in (0, 1, 2):
        axes = 9 * k + j
        out[4 * i + 1 + j] += weight * (s.axes[axes] * n + s.axes[axes + 3] * a + s.axes[axes + 6] * b)


@jit
def _changes_at_ends(c: Any, v: Any) -> None:
    """J̇ v of contacts that come from, or go to, another feature nearby: ± (−3 u + 4 u± − u±±)/2 ε to the side on which they are.

    A corner that slides over the end of a side is another contact there; differences over the end would have a share of its whole velocity.
    """
    for i in range(c.count):
        if c.seen[i] == ALL_SEEN or c.place[i] < 0:
            continue
        forwards, backwards = c.seen[i] & AHEAD == AHEAD, c.seen[i] & BEHIND == BEHIND
        if forwards:
            _add_velocity(c, i, -3.0 / (2.0 * EPSILON), v, c.ahead)
        elif backwards:
            _add_velocity(c, i, 3.0 / (2.0 * EPSILON), v, c.behind)
        for j in range(4 * i, 4 * i + 4):
            c.change[j] = c.ahead[j] if forwards else c.behind[j] if backwards else 0.0


@jit
def see_closed(c: Any, t: int, x: int) -> int:
    """The contacts at (t, x) after :func:`changes_of` them."""
    status = find_closed(c, t, x)
    if status == 0:
        _changes_at_ends(c, doubles(x, c.nq + c.nv)[c.nq :])
    return status


__all__ = ["Arguments", "Called", "Closed", "asked_of", "changes_of", "find_closed", "see_closed"]
