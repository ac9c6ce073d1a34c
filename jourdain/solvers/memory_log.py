"""When discrete variables became what: noted by native marches, collected by Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..native.kernel import jit
from ..native.record import Floats, Integers, Matrix, Record

#: Changes noted before they are collected.
ROOM = 1024
#: Instants (s) with the values from then on.
Noted = list[tuple[NDArray[np.float64], NDArray[np.float64]]]


class MemoryLog(Record):
    """New values, where they act (places in an array of the march), and the changes noted; `bad` is the first that is not finite."""

    new: Floats
    places: Integers
    t: Floats
    values: Matrix
    used: int
    bad: int


def make_log(places: NDArray[np.int64]) -> MemoryLog:
    """An empty log of variables that act at some places."""
    k = len(places)
    return MemoryLog(new=np.zeros(k), places=places, t=np.zeros(ROOM), values=np.zeros((ROOM, k)), bad=-1)


@jit
def renewed(log: MemoryLog, acting: Any) -> int:
    """Say whether the new values differ from those that act: 0 or 1; -1 where one of them is not finite."""
    new, places, found = log.new, log.places, 0
    for i in range(len(places)):
        if not math.isfinite(new[i]):
            log.bad = i
            return -1
        if new[i] != acting[places[i]]:
            found = 1
    return found


@jit
def take(log: MemoryLog, acting: Any, t: float) -> None:
    """Let the new values act, and note them."""
    new, places, kept = log.new, log.places, log.values[log.used]
    log.t[log.used] = t
    for i in range(len(places)):
        acting[places[i]] = new[i]
        kept[i] = new[i]
    log.used += 1


def collect(log: MemoryLog, noted: Noted) -> None:
    """Move what was noted out of the buffer."""
    k = log.used
    if k:
        noted.append((log.t[:k].copy(), log.values[:k].copy()))
        log.used = 0


def not_renewed(log: MemoryLog, names: list[str], t: float) -> str:
    """Which variable could not be renewed."""
    return (
        f"the update of memory '{names[log.bad]}' gives {log.new[log.bad]} at t = {t:.9g} s; "
        "look for a division by zero, a root or a logarithm of a negative number in it"
    )
