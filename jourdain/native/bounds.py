"""Kernels with bounds checks: ``JOURDAIN_BOUNDS=1`` in the environment compiles every kernel anew with a check of each index and slice.

The kernel language has no bounds checks of its own; with the option a kernel that leaves a view ends the program with file, line, index and
size, instead of reading or writing what lies beside it.  Kernels take several times as long.  Generated functions have no indices that
depend on numbers: their offsets are compared with the sizes of their arrays while they are written (:func:`check_offsets`).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

INDEX, SLICE = '@"check.index"', '@"check.slice"'
#: The functions that a module with checks holds; the one that ends the program is given by this module.
IR = f"""declare void @jd_out_of_bounds(i64, i64, i64, ptr)
define internal void {INDEX}(i64 %i, i64 %n, ptr %place) alwaysinline nounwind {{
  %good = icmp ult i64 %i, %n
  br i1 %good, label %fine, label %bad
bad:
  call void @jd_out_of_bounds(i64 %i, i64 %i, i64 %n, ptr %place)
  br label %fine
fine:
  ret void
}}
define internal void {SLICE}(i64 %a, i64 %b, i64 %n, ptr %place) alwaysinline nounwind {{
  %above = icmp ule i64 %a, %b
  %below = icmp ule i64 %b, %n
  %good = and i1 %above, %below
  br i1 %good, label %fine, label %bad
bad:
  call void @jd_out_of_bounds(i64 %a, i64 %b, i64 %n, ptr %place)
  br label %fine
fine:
  ret void
}}"""


def checked() -> bool:
    """Whether kernels are compiled with checks in this process."""
    return os.environ.get("JOURDAIN_BOUNDS", "") not in ("", "0")


def _out_of_bounds(first: int, last: int, size: int, place: bytes) -> None:
    what = f"index {first}" if first == last else f"slice {first}:{last}"
    sys.stderr.write(f"{place.decode()}: {what} of a view of {size}\n")
    sys.stderr.flush()
    os.abort()


@cache
def end_of_program() -> tuple[Any, int]:
    """The function that ends the program, and its address."""
    made = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_char_p)(_out_of_bounds)
    return made, ctypes.cast(made, ctypes.c_void_p).value or 0


def check_offsets(name: str, sizes: Mapping[int, int], offsets: Iterable[tuple[int, int]]) -> None:
    """Compares what generated code reads and writes, as (array, offset), with the sizes of the arrays of its arguments."""
    for array, offset in offsets:
        if not 0 <= offset < sizes[array]:
            raise IndexError(f"function '{name}': offset {offset} of argument {array}, which has {sizes[array]} numbers")
