"""Calls of machine code by address, and views of raw memory, in kernels.

Addresses are always arguments: an address frozen into a cached kernel would be wrong in the next process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .kernel_types import BUILTIN, COMPLEX, FLOAT, INT, INT32, RAW, KernelError, Scalar, Value

if TYPE_CHECKING:
    from .kernel_operations import Operations


def call(address: int, args: Any) -> int:
    """The status of ``int32_t f(void* args)`` at an address; the argument is a record, a view or an address."""
    raise KernelError(f"call({address}, {args}) works in kernels only")


def _called(w: Operations, arguments: list[Value]) -> Value:
    function, args = (w.pointer(a) for a in arguments)
    return Value(INT, (w.op(f"sext i32 {w.op(f'call i32 {function}(ptr {args})')} to i64"),))


def _viewer(item: Scalar, description: str) -> Callable[[int, int], Any]:
    def view(address: int, size: int) -> Any:
        raise KernelError(f"a view of {size} numbers at {address} works in kernels only")

    view.__doc__ = description
    BUILTIN[view] = lambda w, a: w.viewed(item, a[0], a[1])
    return view


def address(x: Any) -> int:
    """Where a view or a record begins in memory."""
    found: int = x.address if hasattr(x, "address") else x.__array_interface__["data"][0]
    return found


BUILTIN[call] = _called
BUILTIN[address] = lambda w, a: w.address(a[0])
doubles = _viewer(FLOAT, "View of `size` doubles at `address`: doubles(address, size).")
complexes = _viewer(COMPLEX, "View of `size` complex numbers at `address`: complexes(address, size).")
integers = _viewer(RAW, "View of `size` 64-bit integers at `address`: integers(address, size).")
integers32 = _viewer(INT32, "View of `size` 32-bit integers at `address`: integers32(address, size).")
words = _viewer(RAW, "View of `size` machine words (pointers) at `address`: words(address, size).")
