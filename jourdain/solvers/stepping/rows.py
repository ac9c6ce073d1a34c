"""Constraints of an assembled system at a state, evaluated natively: their values, their rows, what is prescribed, and first-order rates."""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import hot, kernel
from ...native.record import Address, Floats, Integers, Record, Table
from .frame import SCALARS


class RowType(Record):
    """Elements of one type: sizes (coordinates, rows, history, entries, rates), function and constants, offsets into the shared arrays."""

    count: int
    n: int
    m: int
    k: int
    entries: int
    rates: int
    function: Address
    constant_at: int
    constant_stride: int
    gather_at: int
    row_at: int
    slot_at: int
    history_at: int
    rate_at: int


class RowFrame(Record):
    """State and result: Φ and what is prescribed by row, entries of G, ż by coordinate."""

    types: Table[RowType]
    gather: Integers
    slots: Integers
    rate_of: Integers
    constants: Floats
    t: float
    q: Floats
    v: Floats
    history: Floats
    value: Floats
    drift: Floats
    entries: Floats
    rates: Floats
    args: Integers
    x: Floats
    y: Floats
    work: Floats


@hot
def _pack(f: RowFrame, of: RowType, i: int, x: Any) -> None:
    """A step of no length at the state: both its ends, the rate, internal variables."""
    n, index = of.n, f.gather[of.gather_at + i * of.n :]
    for a in range(n):
        x[SCALARS + a] = x[SCALARS + n + a] = f.q[index[a]]
        x[SCALARS + 2 * n + a] = x[SCALARS + 3 * n + a] = f.v[index[a]]
    for a in range(of.m):
        x[SCALARS + 4 * n + a] = 0.0
    for a in range(of.k):
        x[SCALARS + 4 * n + of.m + a] = f.history[of.history_at + i * of.k + a]


@kernel
def rows_at(address: int) -> int:
    """Evaluates all types."""
    f = RowFrame.at(address)
    x, y, args, m = f.x, f.y, f.args, 0
    x[0], x[1], x[2], x[3], x[4] = 0.0, f.t, 1.0, 1.0, 0.0
    for e in range(f.entries.size):
        f.entries[e] = 0.0
    args[0], args[1], args[3] = at(f.x), at(f.y), at(f.work)
    for g in range(len(f.types)):
        of = f.types[g]
        m = of.m
        for i in range(of.count):
            _pack(f, of, i, x)
            args[2] = at(f.constants[of.constant_at + i * of.constant_stride :])
            call(of.function, f.args)
            for a in range(m):
                f.value[of.row_at + i * m + a] = y[a]
                f.drift[of.row_at + i * m + a] = y[m + a]
            for e in range(of.entries):
                slot = f.slots[of.slot_at + i * of.entries + e]
                if slot >= 0:
                    f.entries[slot] += y[2 * m + e]
            for a in range(of.rates):
                f.rates[f.gather[of.gather_at + i * of.n + f.rate_of[of.rate_at + a]]] = y[2 * m + of.entries + a]
    return 0
