"""A compiled function known by its address: the one form in which solvers receive machine code."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..native.record import Record

_first_byte = ctypes.c_char.from_buffer


def address(array: NDArray[Any]) -> int:
    """Where a writeable, contiguous array that is not empty lies in memory (``array.ctypes.data`` at a third of the time)."""
    return ctypes.addressof(_first_byte(array))  # type: ignore[arg-type]  # arrays are buffers


def is_finite(array: NDArray[np.float64]) -> bool:
    """Whether all numbers of a vector are finite (a product in a fifth of the time, which only very large numbers do not pass)."""
    return math.isfinite(array.dot(array)) or bool(np.isfinite(array).all())


_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


@dataclass(frozen=True)
class NativeFunction:
    """Machine code with the C signature `int32_t f(void** args)`; it returns 0 when all went well.

    `args` holds the pointers of every slot. Slots 0, 1 and 2 (time, state, output) are set by whoever calls; the
    further slots (parameters, workspace, ...) are preset here. `keepalive` owns what the pointers refer to. A method
    with error control answers a positive status with a smaller step; a negative one ends the integration.
    """

    address: int
    args: NDArray[np.uintp]
    keepalive: tuple[Any, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, address: int, args: Record, *keepalive: Any) -> NativeFunction:
        """A kernel whose arguments are a record; the first three fields are time, state and output."""
        return cls(address, args.words.view(np.uintp), (args, *keepalive))

    def own_arguments(self) -> NDArray[np.int64]:
        """Arguments for a caller of its own, with room for t, x and the result."""
        found = np.zeros(max(3, self.args.size), dtype=np.int64)
        found[: self.args.size] = self.args.view(np.int64)
        return found

    def __call__(self, t: float, x: NDArray[np.float64], out: NDArray[np.float64]) -> int:
        """Call once from Python on (t, x), write into `out` and return the status."""
        clock = np.array([t], dtype=np.float64)
        args = np.zeros(max(3, self.args.size), dtype=np.uintp)
        args[: self.args.size] = self.args
        args[:3] = clock.ctypes.data, x.ctypes.data, out.ctypes.data
        return int(_PROTOTYPE(self.address)(args.ctypes.data))
