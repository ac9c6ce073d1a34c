"""Memories of an assembled system: prescribed coordinates that are renewed when a step has been accepted."""

from __future__ import annotations

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import kernel
from ..memory_log import renewed, take
from . import frame as ap
from .frame import Frame


@kernel
def renew(address: int) -> int:
    """Renew the memories at the present state; NOT_RENEWED where a new value is not finite."""
    frame = Frame.at(address)
    memories, clock, vec = frame.memories, frame.clock, frame.vec
    log, x, index, q0, q1, v0 = memories.log, memories.x, memories.gather, vec.q0, vec.q1, vec.v0
    n = len(index)
    x[0] = clock.t
    for i in range(n):
        x[1 + i], x[1 + n + i] = q0[index[i]], v0[index[i]]
    args = memories.args
    args[0], args[1], args[2], args[3] = at(x), at(log.new), at(memories.work), at(memories.work)
    call(memories.function, args)
    if memories.points != 0 and call(memories.points, memories.points_args) != 0:
        return ap.NOT_RENEWED
    changed = renewed(log, q0)
    if changed < 0:
        return ap.NOT_RENEWED
    if changed == 1:
        take(log, q0, clock.t)
        for i in range(len(log.places)):
            q1[log.places[i]] = q0[log.places[i]]
    return ap.OK
