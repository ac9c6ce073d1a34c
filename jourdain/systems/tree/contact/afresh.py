"""Runs with contacts begun one after the other in native code: what steps remember is forgotten, bodies that overlap at the start are refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....native.call import address as at
from ....native.call import call
from ....native.kernel import jit, kernel
from ....native.record import Floats, Record
from ....solvers.collision.search import collide
from ....solvers.nonsmooth.moreau import STREAK
from ....solvers.nonsmooth.records import Moreau
from .rows import TreeContacts as NativeRows
from .rows import _body_poses, _rope_end

if TYPE_CHECKING:
    from .contacts import TreeContacts

#: Parts of the slack by which bodies may overlap, and of its bound by which a joint may be beyond a rigid stop: half of what single runs allow, which are asked in doubt.
OVERLAP, BEYOND = 0.5e-3, 0.5e-2


class Afresh(Record):
    """Contacts of runs that begin at an instant, with the state of the one that begins."""

    moreau: Moreau
    rows: NativeRows
    t: Floats
    x: Floats


@jit
def _overlaps(c: Any) -> bool:
    """Whether shapes that may touch penetrate, or there are too many near each other to tell."""
    found = collide(c.scene, c.body_poses, 0.0, c.found)
    for i in range(found):
        contact = c.found[i]
        if (
            c.law_of[c.group[c.source[contact.shape_a]] * c.groups + c.group[c.source[contact.shape_b]]] >= 0
            and contact.gap < -OVERLAP * c.slack
        ):
            return True
    return found < 0  # type: ignore[no-any-return]


@jit
def _out_of_reach(c: Any, q: Any) -> bool:
    """Whether a joint is beyond a rigid stop, or a rope is too short."""
    for i in range(c.stop_q.size):
        bound = c.stop_bound[i]
        if c.stop_sign[i] * (bound - q[c.stop_q[i]]) > BEYOND * max(abs(bound), 0.1):
            return True
    for i in range(c.rope_law.size):
        first, second, square = c.ends, c.ends[3:], 0.0
        _rope_end(c, i, 0, first)
        _rope_end(c, i, 1, second)
        for k in (0, 1, 2):
            square += (second[k] - first[k]) * (second[k] - first[k])
        if math.sqrt(square) - c.rope_length[i] > OVERLAP * c.slack:
            return True
    return False


@kernel
def begin_afresh(address: int) -> int:
    """Forgets the run before; 1 where a single run may refuse the start."""
    a = Afresh.at(address)
    m, c = a.moreau, a.rows
    m.contacts.old_count = 0
    m.last.t, m.last.h, m.last.sum = 0.0, 0.0, 0.0
    m.worst.residual, m.worst.t, m.worst.speed, m.worst.shape_a, m.worst.shape_b = 0.0, 0.0, 0.0, 0, 0
    m.worst.unsettled = m.worst.streak = 0
    c.t, c.x = at(a.t), at(a.x)
    if c.motion.function != 0:
        c.motion.args[0], c.motion.args[1] = c.t, at(c.prescribed)
        call(c.motion.function, c.motion.args)
    if _body_poses(c, c.x, c.body_poses) != 0:
        return 1
    return 1 if _overlaps(c) or _out_of_reach(c, a.x) else 0


@kernel
def laws_missed(address: int) -> int:
    """1 where a law was not met in some step, or what follows velocities did not settle, of which a single run tells."""
    worst = Afresh.at(address).moreau.worst
    return 1 if worst.residual > 0.0 or worst.unsettled >= STREAK else 0


def afresh(contacts: TreeContacts, t: float, x: np.ndarray) -> Afresh:
    """The record for runs that begin at an instant, whose states are in ``x``."""
    return Afresh(moreau=contacts.record, rows=contacts.rows, t=np.array([t]), x=x)


__all__ = ["Afresh", "afresh", "begin_afresh", "laws_missed"]
