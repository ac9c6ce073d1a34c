"""A compiled function as a CPython built-in: calls from Python without a foreign-function layer.

The wrapper reads the arrays' headers (layout of NumPy's ``PyArrayObject``, stable since 1.7), checks type, shape, memory
order and that inputs are finite, and calls the code.  Whatever is not exactly as expected makes it return
``NotImplemented``; the caller then takes the careful way, which converts or explains.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

#: Entries of the context array that the wrapper finds through ``self``.
ARRAY_TYPE, FLOAT64, NONE, NOT_IMPLEMENTED, CONSTANTS, WORKSPACE = range(6)
_CONTIGUOUS_ALIGNED = 0x101
_WRITEABLE = 0x400


@cache
def available() -> bool:
    """Whether this Python has the object layout that the wrapper relies on."""
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    debug = hasattr(sys, "gettotalrefcount")
    if sys.implementation.name != "cpython" or free_threaded or debug or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    probe = np.arange(6.0).reshape(2, 3)
    header = (ctypes.c_int64 * 9).from_address(id(probe))
    dims = (ctypes.c_int64 * 2).from_address(header[4])
    return header[1] == id(np.ndarray) and header[2] == probe.ctypes.data and list(dims) == [2, 3] and header[7] == id(probe.dtype)


def wrapper_ir(name: str, inputs: Sequence[int], outputs: Sequence[tuple[int, ...]]) -> str:
    """IR of ``name_fast(self, argv, n)`` for input sizes and output shapes."""
    n_in, n = len(inputs), len(inputs) + len(outputs)
    lines = [
        "entry:",
        f"  %slots = alloca ptr, i64 {n + 2}",
        "  %cp = getelementptr i8, ptr %self, i64 16",
        "  %context = load ptr, ptr %cp",
    ]
    for label, index in (("type", ARRAY_TYPE), ("dtype", FLOAT64), ("none", NONE), ("notimp", NOT_IMPLEMENTED)):
        lines += [f"  %{label}p = getelementptr ptr, ptr %context, i64 {index}", f"  %{label} = load ptr, ptr %{label}p"]
    lines += [f"  %count = icmp eq i64 %n, {n}", "  br i1 %count, label %arg0, label %careful"]
    for i in range(n):
        shape = (inputs[i],) if i < n_in else outputs[i - n_in]
        lines += _check_array(i, shape, i >= n_in)
        follow = f"arg{i + 1}" if i + 1 < n else "run"
        if i < n_in and inputs[i]:
            lines += [
                f"  %fin{i} = call i1 @jd_finite(ptr %data{i}, i64 {inputs[i]})",
                f"  br i1 %fin{i}, label %{follow}, label %careful",
            ]
        else:
            lines += [f"  br label %{follow}"]
    for i, index in enumerate((CONSTANTS, WORKSPACE)):
        if i == 0:
            lines.append("run:")
        lines += [
            f"  %from{i} = getelementptr ptr, ptr %context, i64 {index}",
            f"  %value{i} = load ptr, ptr %from{i}",
            f"  %to{i} = getelementptr ptr, ptr %slots, i64 {n + i}",
            f"  store ptr %value{i}, ptr %to{i}",
        ]
    lines += [
        f"  %status = call i32 @{name}(ptr %slots)",
        "  call void @jd_incref(ptr %none)", "  ret ptr %none",
        "careful:", "  call void @jd_incref(ptr %notimp)", "  ret ptr %notimp",
    ]  # fmt: skip
    body = "\n".join(lines)
    return f"declare void @jd_incref(ptr)\n{_FINITE}define ptr @{name}_fast(ptr %self, ptr %argv, i64 %n) #0 {{\n{body}\n}}\n"


def _check_array(i: int, shape: tuple[int, ...], writeable: bool) -> list[str]:
    flags = _CONTIGUOUS_ALIGNED | (_WRITEABLE if writeable else 0)
    lines = [
        f"arg{i}:",
        f"  %op{i} = getelementptr ptr, ptr %argv, i64 {i}",
        f"  %o{i} = load ptr, ptr %op{i}",
        f"  %tp{i} = getelementptr i8, ptr %o{i}, i64 8",
        f"  %t{i} = load ptr, ptr %tp{i}",
        f"  %isarray{i} = icmp eq ptr %t{i}, %type",
        f"  br i1 %isarray{i}, label %header{i}, label %careful",
        f"header{i}:",
        f"  %dp{i} = getelementptr i8, ptr %o{i}, i64 16",
        f"  %data{i} = load ptr, ptr %dp{i}",
        f"  %np{i} = getelementptr i8, ptr %o{i}, i64 24",
        f"  %nd{i} = load i32, ptr %np{i}",
        f"  %dimp{i} = getelementptr i8, ptr %o{i}, i64 32",
        f"  %dims{i} = load ptr, ptr %dimp{i}",
        f"  %descp{i} = getelementptr i8, ptr %o{i}, i64 56",
        f"  %desc{i} = load ptr, ptr %descp{i}",
        f"  %flagp{i} = getelementptr i8, ptr %o{i}, i64 64",
        f"  %flag{i} = load i32, ptr %flagp{i}",
        f"  %need{i} = and i32 %flag{i}, {flags}",
        f"  %okf{i} = icmp eq i32 %need{i}, {flags}",
        f"  %okd{i} = icmp eq ptr %desc{i}, %dtype",
        f"  %okn{i} = icmp eq i32 %nd{i}, {len(shape)}",
        f"  %ok1_{i} = and i1 %okf{i}, %okd{i}",
        f"  %ok2_{i} = and i1 %ok1_{i}, %okn{i}",
        f"  br i1 %ok2_{i}, label %shape{i}, label %careful",
        f"shape{i}:",
    ]
    ok = "true"
    for j, size in enumerate(shape):
        lines += [
            f"  %dim{i}_{j}p = getelementptr i64, ptr %dims{i}, i64 {j}",
            f"  %dim{i}_{j} = load i64, ptr %dim{i}_{j}p",
            f"  %eq{i}_{j} = icmp eq i64 %dim{i}_{j}, {size}",
            f"  %all{i}_{j} = and i1 {ok}, %eq{i}_{j}",
        ]
        ok = f"%all{i}_{j}"
    lines += [
        f"  %slot{i} = getelementptr ptr, ptr %slots, i64 {i}",
        f"  store ptr %data{i}, ptr %slot{i}",
        f"  br i1 {ok}, label %good{i}, label %careful",
        f"good{i}:",
    ]
    return lines


#: Whether n numbers are all finite: x·0 is 0 for finite x and NaN otherwise.
_FINITE = """define internal i1 @jd_finite(ptr %x, i64 %n) #0 {
entry:
  %quads = and i64 %n, -4
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%i4, %body]
  %sum = phi <4 x double> [zeroinitializer, %entry], [%sum2, %body]
  %more = icmp slt i64 %i, %quads
  br i1 %more, label %body, label %rest
body:
  %at = getelementptr double, ptr %x, i64 %i
  %v = load <4 x double>, ptr %at, align 8
  %z = fmul <4 x double> %v, zeroinitializer
  %sum2 = fadd <4 x double> %sum, %z
  %i4 = add i64 %i, 4
  br label %loop
rest:
  %a = extractelement <4 x double> %sum, i32 0
  %b = extractelement <4 x double> %sum, i32 1
  %c = extractelement <4 x double> %sum, i32 2
  %d = extractelement <4 x double> %sum, i32 3
  %ab = fadd double %a, %b
  %cd = fadd double %c, %d
  %abcd = fadd double %ab, %cd
  br label %tail
tail:
  %j = phi i64 [%quads, %rest], [%j1, %step]
  %t = phi double [%abcd, %rest], [%t2, %step]
  %again = icmp slt i64 %j, %n
  br i1 %again, label %step, label %exit
step:
  %jp = getelementptr double, ptr %x, i64 %j
  %w = load double, ptr %jp, align 8
  %wz = fmul double %w, 0.0
  %t2 = fadd double %t, %wz
  %j1 = add i64 %j, 1
  br label %tail
exit:
  %ok = fcmp oeq double %t, 0.0
  ret i1 %ok
}
"""


class _MethodDef(ctypes.Structure):
    _fields_ = [  # noqa: RUF012
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_METH_FASTCALL = 0x0080


def builtin(address: int, name: str, context: np.ndarray) -> tuple[Callable[..., Any], Any]:
    """The built-in function at an address, and what must be kept alive with it."""
    definition = _MethodDef(name.encode(), address, _METH_FASTCALL, b"compiled function: inputs, then outputs")
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(definition), context, None), definition


def context_array(constants: np.ndarray, workspace: np.ndarray) -> np.ndarray:
    """Addresses the wrapper needs."""
    context = np.zeros(6, dtype=np.uintp)
    context[ARRAY_TYPE] = id(np.ndarray)
    context[FLOAT64] = id(np.dtype(np.float64))
    context[NONE] = id(None)
    context[NOT_IMPLEMENTED] = id(NotImplemented)
    context[CONSTANTS] = constants.ctypes.data
    context[WORKSPACE] = workspace.ctypes.data
    return context


def incref_address() -> int:
    """Address of CPython's ``Py_IncRef``."""
    return ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value or 0
