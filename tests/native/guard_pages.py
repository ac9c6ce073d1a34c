"""NumPy arrays between memory pages that nobody may touch: native code that leaves an array by one number faults there and then.

NumPy takes the memory of arrays from a replaceable allocator (NEP 49).  This one gives every array pages of its own::

    header | forbidden | … array … | forbidden

and lets the array end at the second forbidden page, or begin behind the first; what is freed is unmapped.  As a plugin of pytest
(``JOURDAIN_GUARD=end pytest -p tests.native.guard_pages``) it holds for all arrays of a run of tests.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Any

from jourdain.native import engine, fastcall

SIDES = ("end", "begin")
PAGE = 4096
#: Place of ``PyDataMem_SetHandler`` in the table of NumPy's C interface.
_SET_HANDLER = 304
_READ_WRITE, _FORBIDDEN, _PRIVATE_ANONYMOUS = 3, 0, 0x22


def available() -> bool:
    """Whether pages can be forbidden here as the allocator does it."""
    return sys.platform == "linux" and os.sysconf("SC_PAGE_SIZE") == PAGE


def _allocator_ir(side: str) -> str:
    # the end is reached exactly: an array of 3 numbers of 4 bytes is aligned to 4 bytes, as its numbers must be
    place = "%rooms" if side == "begin" else "%last"
    return f"""declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @mprotect(ptr, i64, i32)
declare i32 @munmap(ptr, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define ptr @guarded_malloc(ptr %context, i64 %asked) {{
  %none = icmp eq i64 %asked, 0
  %size = select i1 %none, i64 8, i64 %asked
  %up = add i64 %size, {PAGE - 1}
  %room = and i64 %up, {-PAGE}
  %whole = add i64 %room, {3 * PAGE}
  %base = call ptr @mmap(ptr null, i64 %whole, i32 {_READ_WRITE}, i32 {_PRIVATE_ANONYMOUS}, i32 -1, i64 0)
  %bits = ptrtoint ptr %base to i64
  %failed = icmp eq i64 %bits, -1
  br i1 %failed, label %lost, label %mapped
lost:
  ret ptr null
mapped:
  store i64 %whole, ptr %base
  %second = getelementptr i64, ptr %base, i64 1
  store i64 %size, ptr %second
  %before = getelementptr i8, ptr %base, i64 {PAGE}
  %s1 = call i32 @mprotect(ptr %before, i64 {PAGE}, i32 {_FORBIDDEN})
  %rooms = getelementptr i8, ptr %base, i64 {2 * PAGE}
  %behind = getelementptr i8, ptr %rooms, i64 %room
  %s2 = call i32 @mprotect(ptr %behind, i64 {PAGE}, i32 {_FORBIDDEN})
  %back = sub i64 0, %size
  %last = getelementptr i8, ptr %behind, i64 %back
  %s12 = or i32 %s1, %s2
  %ok = icmp eq i32 %s12, 0
  br i1 %ok, label %good, label %undo
undo:
  %s3 = call i32 @munmap(ptr %base, i64 %whole)
  ret ptr null
good:
  ret ptr {place}
}}
define ptr @guarded_calloc(ptr %context, i64 %n, i64 %each) {{
  %size = mul i64 %n, %each
  %p = call ptr @guarded_malloc(ptr %context, i64 %size)
  ret ptr %p
}}
define internal ptr @header(ptr %p) {{
  %bits = ptrtoint ptr %p to i64
  %page = and i64 %bits, {-PAGE}
  %at = sub i64 %page, {2 * PAGE}
  %found = inttoptr i64 %at to ptr
  ret ptr %found
}}
define void @guarded_free(ptr %context, ptr %p, i64 %size) {{
  %nothing = icmp eq ptr %p, null
  br i1 %nothing, label %done, label %unmap
unmap:
  %head = call ptr @header(ptr %p)
  %whole = load i64, ptr %head
  %s = call i32 @munmap(ptr %head, i64 %whole)
  br label %done
done:
  ret void
}}
define ptr @guarded_realloc(ptr %context, ptr %p, i64 %size) {{
  %new = call ptr @guarded_malloc(ptr %context, i64 %size)
  %nothing = icmp eq ptr %p, null
  %failed = icmp eq ptr %new, null
  %either = or i1 %nothing, %failed
  br i1 %either, label %done, label %copy
copy:
  %head = call ptr @header(ptr %p)
  %second = getelementptr i64, ptr %head, i64 1
  %old = load i64, ptr %second
  %less = icmp ult i64 %old, %size
  %n = select i1 %less, i64 %old, i64 %size
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %p, i64 %n, i1 false)
  call void @guarded_free(ptr %context, ptr %p, i64 %old)
  br label %done
done:
  ret ptr %new
}}
"""


class _Handler(ctypes.Structure):
    """``PyDataMem_Handler`` of NumPy's C interface."""

    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p)]
    _fields_ += [(name, ctypes.c_void_p) for name in ("malloc", "calloc", "realloc", "free")]


_kept: list[Any] = []


def guard(side: str) -> None:
    """From now on every new array of this process ends at (or begins behind) a forbidden page, in every thread started later."""
    library = engine.Library([engine.compile_ir(_allocator_ir(side))])
    found = [library.address(f"guarded_{name}") for name in ("malloc", "calloc", "realloc", "free")]
    handler = _Handler(b"guard pages", 1, None, *found)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))
    name = ctypes.create_string_buffer(b"mem_handler")
    capsule = make(ctypes.addressof(handler), ctypes.addressof(name), None)
    install = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(fastcall._array_interface(_SET_HANDLER))
    install(capsule)
    _kept.extend([library, handler, name, capsule])  # arrays outlive everything else

    usual = threading.Thread.run

    def run(self: threading.Thread) -> None:
        install(capsule)  # the allocator is a variable of the context, and a thread begins with an empty one
        usual(self)

    threading.Thread.run = run  # type: ignore[method-assign]


if os.environ.get("JOURDAIN_GUARD"):
    guard(os.environ["JOURDAIN_GUARD"])
