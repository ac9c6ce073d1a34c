"""Gaps between pairs of shapes as functions of (t, x): steps that are to be differentiated end where these are zero."""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import doubles
from ...native.kernel import jit, kernel
from ...native.record import Address, Record
from .touch import Touch, law_between, look


class PairGap(Record):
    """Two shapes of a scene; beyond ``near`` their gap counts as that."""

    t: Address
    x: Address
    out: Address
    touch: Touch
    shape_a: int
    shape_b: int
    near: float


@kernel
def pair_gap(args: int) -> int:
    """The least gap of a pair."""
    a = PairGap.at(args)
    c = a.touch
    count = look(c, a.t, a.x, a.near)
    if count < 0:
        return count
    least = a.near
    for i in range(count):
        contact = c.found[i]
        if contact.shape_a == a.shape_a and contact.shape_b == a.shape_b:
            least = min(least, contact.gap)
    doubles(a.out, 1)[0] = least
    return 0


@jit
def touching_rows(c: Touch, t: Any, x: Any, pairs: Any, out: Any) -> int:
    """Whether pairs (numbers a · shapes + b) touch at states in rows; pairs that are new are added while there is room: how many there are, negative where it fails."""
    known = 0
    for i in range(t.size):
        count = look(c, at(t[i:]), at(x[i]), 0.0)
        if count < 0:
            return count  # type: ignore[no-any-return]
        for k in range(count):
            contact = c.found[k]
            if contact.gap >= 0.0 or law_between(c, contact) < 0:
                continue
            pair, place = contact.shape_a * c.shapes + contact.shape_b, -1
            for j in range(known):
                if pairs[j] == pair:
                    place = j
            if place < 0 and known < pairs.size:
                place = known
                pairs[place] = pair
                known += 1
            if place >= 0:
                out[i, place] = 1
    return known


__all__ = ["PairGap", "pair_gap", "touching_rows"]
