"""Time of a native function without the cost of calling it from Python."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ...native.call import call
from ...native.kernel import jit
from ..native_function import NativeFunction


@jit
def repeat(function: Any, args: Any, count: int) -> int:
    """Calls a function so many times; the last status that was not zero."""
    status = 0
    for _ in range(count):
        result = call(function, args)
        if result != 0:
            status = result
    return status


def seconds_per_call(function: NativeFunction, t: float, x: np.ndarray, rounds: int = 5, least: float = 2e-3) -> float:
    """Seconds of one call f(t, x): the best of several rounds, each of at least ``least`` seconds."""
    clock, state, out = np.array([t]), np.ascontiguousarray(x), np.zeros_like(x)
    args = function.args.copy()
    args[:3] = clock.ctypes.data, state.ctypes.data, out.ctypes.data
    count, best = 1, np.inf
    repeat(function.address, args.ctypes.data, 1)  # compiled, and memory warm
    while True:
        begin = time.perf_counter()
        repeat(function.address, args.ctypes.data, count)
        if time.perf_counter() - begin >= least:
            break
        count *= 4
    for _ in range(rounds):
        begin = time.perf_counter()
        repeat(function.address, args.ctypes.data, count)
        best = min(best, (time.perf_counter() - begin) / count)
    return float(best)
