"""What rows of constraints and velocities are multiplied by where their sizes are compared, so that units do not decide which constraints count."""

from __future__ import annotations

import numpy as np

from ...native.record import Floats, Record


class Units(Record):
    """Factors of rows and of velocities, powers of 1000; not ``differ`` where all are one."""

    differ: int
    row: Floats
    velocity: Floats


def units(rows: np.ndarray, velocities: np.ndarray) -> Units:
    """The record of some factors."""
    differ = bool((rows != 1.0).any() or (velocities != 1.0).any())
    return Units(differ=int(differ), row=rows, velocity=velocities)


def plain(rows: int, velocities: int) -> Units:
    """Where nothing is to be multiplied."""
    return units(np.ones(rows), np.ones(velocities))


__all__ = ["Units", "plain", "units"]
