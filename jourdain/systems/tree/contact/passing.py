"""Bodies that move by more than their thickness within a step: whom they meet is found on the way.

Contacts of a step are those of one place, to which bodies have come from where the step began.  What has met another body before is deep in it there, or behind it; it is looked
for at places in between, no farther apart than what moves is thick, and then where both began to touch.  A contact found so is carried along with both its bodies, its normal and arms as they were, so that its gap says how far they have passed each other.
"""

from __future__ import annotations

from typing import Any

from ....native.kernel import hot, jit
from ....solvers.collision.search import collide
from ....solvers.nonsmooth.records import NO_ROOM
from ....solvers.ode.rotation import nearest_rotation

#: Most places in between.
MOST_LOOKS = 1000
#: What is returned where bodies would need more.
TOO_FAST = -76
#: How often the way to the first touch is halved.
HALVINGS = 30
#: Depths up to this part of the slack are those of bodies that rest on each other.
GRAZING = 1e-3
#: Normals whose product is larger are of the same side of a body.
SAME_SIDE = 0.5


@jit
def _go_to(c: Any, part: float) -> None:
    """Puts bodies at a part of their way."""
    for b in range(c.between.shape[0]):
        for i in range(12):
            c.between[b, i] = c.body_before[b, i] + part * (c.body_poses[b, i] - c.body_before[b, i])
        nearest_rotation(c.between[b])


@jit
def _carried(c: Any, body: int, x: float, y: float, z: float) -> Any:
    """A point that moves on as the origin of its body does, and the way of what is there on the body: Δr + θ × arm.  A ball touches with the same
    side, however it turns."""
    if body < 0:
        return x, y, z, 0.0, 0.0, 0.0
    old, new = c.between[body], c.body_poses[body]
    dx, dy, dz = new[9] - old[9], new[10] - old[10], new[11] - old[11]
    tx = ty = tz = 0.0
    for i in (0, 1, 2):  # columns of R' Rᵀ: the axial part of its skew half
        tx += 0.5 * (new[6 + i] * old[3 + i] - new[3 + i] * old[6 + i])
        ty += 0.5 * (new[i] * old[6 + i] - new[6 + i] * old[i])
        tz += 0.5 * (new[3 + i] * old[i] - new[i] * old[3 + i])
    u, v, w = x - old[9], y - old[10], z - old[11]
    return x + dx, y + dy, z + dz, dx + ty * w - tz * v, dy + tz * u - tx * w, dz + tx * v - ty * u


@hot
def _is_seen(c: Any, contact: Any, found: int) -> bool:
    """Whether a pair was met before, or is where bodies have come to, on the same side and not too deep."""
    for i in range(found):
        other = c.found[i]
        if other.shape_a == contact.shape_a and other.shape_b == contact.shape_b:
            along = contact.nx * other.nx + contact.ny * other.ny + contact.nz * other.nz
            if c.carried[i] == 1 or (along > SAME_SIDE and other.gap > -c.thin):
                return True
    return False


@jit
def _keep(c: Any, contact: Any, k: int) -> None:
    """Writes a contact, carried along, to a row."""
    x, y, z = 0.5 * (contact.ax + contact.bx), 0.5 * (contact.ay + contact.by), 0.5 * (contact.az + contact.bz)
    ax, ay, az, ua, va, wa = _carried(c, contact.body_a, x, y, z)
    bx, by, bz, ub, vb, wb = _carried(c, contact.body_b, x, y, z)
    new = c.found[k]
    new.shape_a, new.shape_b, new.body_a, new.body_b, new.feature = (
        contact.shape_a,
        contact.shape_b,
        contact.body_a,
        contact.body_b,
        contact.feature,
    )
    new.nx, new.ny, new.nz = contact.nx, contact.ny, contact.nz
    new.ax, new.ay, new.az, new.bx, new.by, new.bz = ax, ay, az, bx, by, bz
    new.curvature_a, new.curvature_b = contact.curvature_a, contact.curvature_b
    new.gap = contact.gap + (ua - ub) * contact.nx + (va - vb) * contact.ny + (wa - wb) * contact.nz
    c.carried[k] = 1


@jit
def _look(c: Any, part: float) -> int:
    """Contacts of bodies at a part of their way, to ``early``."""
    _go_to(c, part)
    return collide(c.scene, c.between, 2.0 * c.moved, c.early)  # type: ignore[no-any-return]


@jit
def _touches(c: Any, shape_a: int, shape_b: int, near: int) -> bool:
    """Whether a pair penetrates."""
    for i in range(near):
        other = c.early[i]
        if other.shape_a == shape_a and other.shape_b == shape_b and other.gap < 0.0:
            return True
    return False


@jit
def _keep_pair(c: Any, shape_a: int, shape_b: int, low: float, high: float, found: int) -> int:
    """Writes all contacts of a pair, those that are still open, too, as it begins to touch; how many rows there are then, or a negative number where
    they find no room."""
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _touches(c, shape_a, shape_b, _look(c, middle)):
            high = middle
        else:
            low = middle
    near = _look(c, high)
    for i in range(near):
        other = c.early[i]
        if other.shape_a == shape_a and other.shape_b == shape_b:
            if found >= c.found.size:
                return NO_ROOM
            _keep(c, other, found)
            found += 1
    return found


@hot
def _comes_first(c: Any, i: int, k: int) -> bool:
    """Whether one row comes before another."""
    a, b = c.found[i], c.found[k]
    if a.shape_a != b.shape_a:
        return a.shape_a < b.shape_a  # type: ignore[no-any-return]
    if a.shape_b != b.shape_b:
        return a.shape_b < b.shape_b  # type: ignore[no-any-return]
    return a.feature < b.feature  # type: ignore[no-any-return]


@jit
def _put_in_order(c: Any, known: int, found: int) -> int:
    """Leaves out contacts of other sides of pairs that were carried, and puts rows in order; how many there are."""
    kept = 0
    for i in range(found):
        stays = c.carried[i] == 1
        if not stays:
            stays = True
            for k in range(known, found):
                if c.found[k].shape_a == c.found[i].shape_a and c.found[k].shape_b == c.found[i].shape_b:
                    stays = False
        if stays:
            c.order[kept] = i
            kept += 1
    for i in range(1, kept):
        k, row = i, c.order[i]
        while k > 0 and _comes_first(c, row, c.order[k - 1]):
            c.order[k] = c.order[k - 1]
            k -= 1
        c.order[k] = row
    return kept


@jit
def find_passed(c: Any, known: int) -> int:
    """Adds contacts of pairs that have passed each other to those ``known``; rows that count, in order in ``order``, or a status."""
    for i in range(known):
        c.carried[i], c.order[i] = 0, i
    if not c.moved > c.thin:
        return known
    looks, found = int(c.moved / c.thin) + 1, known
    if looks > MOST_LOOKS:
        return TOO_FAST
    for look in range(1, looks):
        near = _look(c, look / looks)
        i = 0
        while i < near:
            contact = c.early[i]
            law = c.law_of[c.group[c.source[contact.shape_a]] * c.groups + c.group[c.source[contact.shape_b]]]
            i += 1
            if law >= 0 and contact.gap < -c.level and not _is_seen(c, contact, found):
                found = _keep_pair(c, contact.shape_a, contact.shape_b, (look - 1) / looks, look / looks, found)
                if found < 0:
                    return NO_ROOM
                near, i = _look(c, look / looks), 0
        if near < 0:
            return NO_ROOM
    return known if found == known else _put_in_order(c, known, found)


__all__ = ["GRAZING", "TOO_FAST", "find_passed"]
