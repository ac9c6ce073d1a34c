"""Rates that change from piece to piece of a run: one function of a field that calls that of the present mode."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...native.call import call, words
from ...native.kernel import kernel
from ...native.record import Address, Integers, Record
from ..native_function import address
from .field import Map


class Modes(Record):
    """Slots as callers fill them (the third is that of the inputs, which is set once, or of three the result), and the functions of all modes with their arguments."""

    t: Address
    x: Address
    u: Address
    third: Address
    fourth: Address
    fifth: Address
    slots: int
    mode: Integers
    functions: Integers
    args: Integers


@kernel
def by_mode(args: int) -> int:
    """Calls the function of the present mode."""
    m = Modes.at(args)
    k = m.mode[0]
    inner = words(m.args[k], m.slots)
    inner[0], inner[1] = m.t, m.x
    if m.slots == 3:
        inner[2] = m.u
    else:
        inner[3] = m.third
    if m.slots > 4:
        inner[4], inner[5] = m.fourth, m.fifth
    return call(m.functions[k], inner)


@kernel
def nothing(args: int) -> int:
    """What leaves everything as it is."""
    return 0


def map_by_mode(maps: Sequence[Map], mode: np.ndarray, slots: int) -> tuple[Map, list[object]]:
    """The maps of all modes as one, and what must be kept alive; where a mode has none, nothing is done."""
    tables = [np.array([m.function or nothing.address for m in maps], np.int64), np.array([address(m.args) for m in maps], np.int64)]
    record = Modes(slots=slots, mode=mode, functions=tables[0], args=tables[1])
    return Map(function=by_mode.address, args=record.words.view(np.int64).copy()), [record, mode, *tables, *maps]


__all__ = ["map_by_mode"]
