"""A native function of (t, x) at many points by one call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..native.call import address as at
from ..native.call import call
from ..native.kernel import kernel
from ..native.record import Address, Floats, Integers, Matrix, Record
from .native_function import NativeFunction


class Rows(Record):
    """A function with the points at which it is asked, and what it gives there, in rows."""

    function: Address
    args: Integers
    t: Floats
    x: Matrix
    out: Matrix


@kernel
def _each(address: int) -> int:
    rows = Rows.at(address)
    for k in range(len(rows.t)):
        rows.args[0], rows.args[1], rows.args[2] = at(rows.t[k:]), at(rows.x[k]), at(rows.out[k])
        status = call(rows.function, rows.args)
        if status != 0:
            return status
    return 0


def at_rows(f: NativeFunction, t: NDArray[np.float64], x: NDArray[np.float64], out: NDArray[np.float64]) -> int:
    """f at rows of points, written into rows of ``out``; the first status that is not zero ends it."""
    args = np.zeros(max(3, f.args.size), dtype=np.int64)
    args[: f.args.size] = f.args.view(np.int64)
    rows = Rows(function=f.address, args=args, t=t, x=x, out=out)
    return int(_each.call(rows.address))


__all__ = ["at_rows"]
