"""Many short runs in one native loop: rows of parameters and starts in, integrals and values at instants out."""

from __future__ import annotations

from ...native.call import call, words
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Matrix, Record
from ..ode.frame import FINISHED, Frame
from .path import Path
from .walk import AT_END, INSIDE


class Rows(Record):
    """Runs ``first`` to ``last`` of a table, one after the other in the memory of one integration and one walk.

    ``changing`` is what a run changes in the memory of the integration, ``prepared`` what is there before it; functions of parameters take theirs from ``p``.
    """

    first: int
    last: int
    march: Address
    walk: Address
    frame: Address
    changing: Integers
    prepared: Integers
    x: Floats
    p: Floats
    prepare: Integers
    prepare_args: Integers
    row_t: Floats
    path: Path
    parameters: Matrix
    starts: Matrix
    #: Instants of values, in their order.
    wanted: Floats
    #: FINISHED, or why a run must be looked at alone.
    status: Integers
    totals: Matrix
    values: Matrix


@jit
def _begin(r: Rows, i: int) -> int:
    """Parameters and start of run i."""
    for j in range(r.p.size):
        r.p[j] = r.parameters[i][j]
    for k in range(r.changing.size):
        r.changing[k] = r.prepared[k]
    for j in range(r.x.size):
        r.x[j] = r.starts[i][j]
    for k in range(r.prepare.size):
        status = call(r.prepare[k], words(r.prepare_args[k], 3))
        if status != 0:
            return status
    return 0


@jit
def _place(r: Rows, last: int) -> None:
    """The steps in which values are read, of a run with so many of them."""
    leg = r.path.leg
    k = 0
    for j in range(r.wanted.size):
        while k < last - 1 and r.row_t[k + 1] < r.wanted[j]:
            k += 1
        leg.point_step[j] = k
        leg.point_kind[j] = AT_END if r.wanted[j] == r.row_t[k + 1] else INSIDE


@kernel
def run_rows(address: int) -> int:
    """Runs and walks all rows."""
    r = Rows.at(address)
    path = r.path
    leg = path.leg
    frame = Frame.at(r.frame)
    for i in range(r.first, r.last):
        status = _begin(r, i)
        if status == 0:
            status = call(r.march, frame)
        r.status[i] = status
        if status != FINISHED:
            continue
        last = frame.progress.rows - 1
        path.first[0], path.last[0], path.begin, path.end = 0, last, 0, 1
        _place(r, last)
        for j in range(leg.integrands.count):
            leg.total[j] = 0.0
        status = call(r.walk, path)
        if status != 0:
            r.status[i] = status
        for j in range(leg.integrands.count):
            r.totals[i][j] = leg.total[j]
        for j in range(r.wanted.size):
            for k in range(leg.values.count):
                r.values[i][j * leg.values.count + k] = leg.point_y[j][k]
    return 0


__all__ = ["Rows", "run_rows"]
