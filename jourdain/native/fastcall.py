"""A compiled function as CPython built-ins: calls from Python without a foreign-function layer.

``name_fast`` takes inputs and output arrays; ``name_call`` takes inputs and ``out=``, and makes the result arrays where
that is not given.  Both read the arrays' headers (layout of NumPy's ``PyArrayObject``, stable since 1.7), check type,
shape, memory order, that inputs are finite and that no output overlaps another array, and call the code.  Whatever is
not exactly as expected goes the careful way, which converts or explains: ``name_fast`` returns ``NotImplemented``,
``name_call`` calls the careful function.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

#: Entries of the context array that the wrappers find through ``self``.
ARRAY_TYPE, FLOAT64, NONE, NOT_IMPLEMENTED, CONSTANTS, WORKSPACE, OUT, TUPLE_TYPE, CAREFUL, EMPTY, SCRATCH = range(11)
_CONTIGUOUS_ALIGNED = 0x101
_WRITEABLE = 0x400
#: Place of ``PyArray_Empty`` in the table of NumPy's C interface, part of its binary contract.
_PYARRAY_EMPTY = 184


def _free_threaded() -> bool:
    """Whether objects of this Python have the heads of builds without a global lock, which came with 3.13."""
    if sys.version_info < (3, 13):
        return False
    import sysconfig  # reads a table of all settings of the build

    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


@cache
def available() -> bool:
    """Whether this Python has the object layout that the wrapper relies on."""
    debug = hasattr(sys, "gettotalrefcount")
    if sys.implementation.name != "cpython" or _free_threaded() or debug or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    probe = np.arange(6.0).reshape(2, 3)
    header = (ctypes.c_int64 * 9).from_address(id(probe))
    dims = (ctypes.c_int64 * 2).from_address(header[4])
    return header[1] == id(np.ndarray) and header[2] == probe.ctypes.data and list(dims) == [2, 3] and header[7] == id(probe.dtype)


def context_ir(*entries: tuple[str, int]) -> list[str]:
    """Loads of entries of the context array."""
    lines = ["  %cp = getelementptr i8, ptr %self, i64 16", "  %context = load ptr, ptr %cp"]
    for label, index in entries:
        lines += [f"  %{label}p = getelementptr ptr, ptr %context, i64 {index}", f"  %{label} = load ptr, ptr %{label}p"]
    return lines


def wrapper_ir(name: str, inputs: Sequence[int], outputs: Sequence[tuple[int, ...]]) -> str:
    """IR of ``name_fast(self, argv, n)`` and ``name_call(self, argv, n, keywords)`` for input sizes and output shapes."""
    return (
        declarations()
        + _checked_ir(name, inputs, outputs)
        + _fast_ir(name, len(inputs) + len(outputs))
        + _call_ir(name, len(inputs), outputs)
    )


def declarations() -> str:
    """What every module with wrappers begins with: symbols of CPython and the check of numbers."""
    return _DECLARATIONS + _FINITE


def function_ir(head: str, lines: list[str]) -> str:
    body = "\n".join(lines)
    return f"define {head} #0 {{\n{body}\n}}\n"


def _checked_ir(name: str, inputs: Sequence[int], outputs: Sequence[tuple[int, ...]]) -> str:
    """``name_checked(self, argv)``: checks inputs and outputs and runs the code; false when something is unusual."""
    n_in, n = len(inputs), len(inputs) + len(outputs)
    entries = (("type", ARRAY_TYPE), ("dtype", FLOAT64), ("constants", CONSTANTS), ("workspace", WORKSPACE))
    lines = ["entry:", f"  %slots = alloca ptr, i64 {n + 2}", *context_ir(*entries), "  br label %arg0"]
    for i in range(n):
        shape = (inputs[i],) if i < n_in else outputs[i - n_in]
        lines += _check_array(i, shape, i >= n_in)
        follow = f"arg{i + 1}" if i + 1 < n else "apart"
        if i < n_in and inputs[i]:
            lines += [
                f"  %fin{i} = call i1 @jd_finite(ptr %data{i}, i64 {inputs[i]})",
                f"  br i1 %fin{i}, label %{follow}, label %careful",
            ]
        else:
            lines += [f"  br label %{follow}"]
    lines += _check_apart([*inputs, *map(prod, outputs)], n_in)
    for i, value in enumerate(("constants", "workspace")):
        lines += [f"  %to{i} = getelementptr ptr, ptr %slots, i64 {n + i}", f"  store ptr %{value}, ptr %to{i}"]
    lines += [f"  %status = call i32 @{name}(ptr %slots)", "  ret i1 true", "careful:", "  ret i1 false"]
    return function_ir(f"internal i1 @{name}_checked(ptr %self, ptr %argv)", lines)


def _check_apart(sizes: Sequence[int], n_in: int) -> list[str]:
    """Outputs are written while inputs are still read: an overlap is left to the careful way."""
    lines = ["apart:"]
    lines += [f"  %end{i} = getelementptr double, ptr %data{i}, i64 {size}" for i, size in enumerate(sizes)]
    return [*lines, *overlap_ir(sizes, n_in), "run:"]


def overlap_ir(sizes: Sequence[int], n_in: int) -> Iterator[str]:
    """To ``careful`` where an output shares memory, from %data to %end, with an input or another output, else to ``run``."""
    together = "false"
    for j in range(n_in, len(sizes)):
        for i in range(j):
            if sizes[i] and sizes[j]:
                yield f"  %above{i}_{j} = icmp ult ptr %data{i}, %end{j}"
                yield f"  %below{i}_{j} = icmp ult ptr %data{j}, %end{i}"
                yield f"  %both{i}_{j} = and i1 %above{i}_{j}, %below{i}_{j}"
                yield f"  %any{i}_{j} = or i1 {together}, %both{i}_{j}"
                together = f"%any{i}_{j}"
    yield f"  br i1 {together}, label %careful, label %run"


def _fast_ir(name: str, n: int) -> str:
    """All arrays given: None when the code ran."""
    lines = [
        "entry:", *context_ir(("none", NONE), ("notimp", NOT_IMPLEMENTED)),
        f"  %count = icmp eq i64 %n, {n}", "  br i1 %count, label %run, label %careful",
        "run:", f"  %ok = call i1 @{name}_checked(ptr %self, ptr %argv)", "  br i1 %ok, label %done, label %careful",
        "done:", "  call void @jd_incref(ptr %none)", "  ret ptr %none",
        "careful:", "  call void @jd_incref(ptr %notimp)", "  ret ptr %notimp",
    ]  # fmt: skip
    return function_ir(f"ptr @{name}_fast(ptr %self, ptr %argv, i64 %n)", lines)


def _call_ir(name: str, n_in: int, outputs: Sequence[tuple[int, ...]]) -> str:
    """Inputs and perhaps ``out=``: the result."""
    n = n_in + len(outputs)
    single = len(outputs) == 1
    entries = (("dtype", FLOAT64), ("none", NONE), ("outname", OUT), ("tuple", TUPLE_TYPE), ("slow", CAREFUL), ("empty", EMPTY))
    lines = [
        "entry:", f"  %all = alloca ptr, i64 {n}", *context_ir(*entries),
        f"  %count = icmp eq i64 %n, {n_in}", "  br i1 %count, label %begin, label %careful", "begin:",
        *copied_ir(n_in),
        *given_ir(n_in, outputs),
        f"  %okg = call i1 @{name}_checked(ptr %self, ptr %all)", "  br i1 %okg, label %back, label %careful",
        "back:", "  call void @jd_incref(ptr %out)", "  ret ptr %out",
    ]  # fmt: skip
    for j, shape in enumerate(outputs):
        follow = f"make{j + 1}" if j + 1 < len(outputs) else "made"
        lines += [
            f"make{j}:", "  call void @jd_incref(ptr %dtype)",  # PyArray_Empty takes over a reference
            f"  %new{j} = call ptr %empty(i32 {len(shape)}, ptr @{name}_shape{j}, ptr %dtype, i32 0)",
            f"  %at{j} = getelementptr ptr, ptr %all, i64 {n_in + j}", f"  store ptr %new{j}, ptr %at{j}",
            f"  %nil{j} = icmp eq ptr %new{j}, null", f"  br i1 %nil{j}, label %lost{j}, label %{follow}",
            f"lost{j}:", *(f"  call void @jd_decref(ptr %new{k})" for k in range(j)), "  ret ptr null",
        ]  # fmt: skip
    lines += [
        "made:", f"  %okm = call i1 @{name}_checked(ptr %self, ptr %all)", "  br i1 %okm, label %result, label %drop",
        "drop:", *(f"  call void @jd_decref(ptr %new{k})" for k in range(len(outputs))), "  br label %careful",
        "careful:", "  %slowly = call ptr @PyObject_Vectorcall(ptr %slow, ptr %argv, i64 %n, ptr %keywords)", "  ret ptr %slowly",
        "result:", *(["  ret ptr %new0"] if single else tuple_ir(len(outputs))),
    ]  # fmt: skip
    shapes = "".join(shape_ir(f"{name}_shape{j}", shape) for j, shape in enumerate(outputs))
    return shapes + function_ir(f"ptr @{name}_call(ptr %self, ptr %argv, i64 %n, ptr %keywords)", lines)


def copied_ir(n_in: int) -> Iterator[str]:
    for i in range(n_in):
        yield f"  %from{i} = getelementptr ptr, ptr %argv, i64 {i}"
        yield f"  %in{i} = load ptr, ptr %from{i}"
        yield f"  %to{i} = getelementptr ptr, ptr %all, i64 {i}"
        yield f"  store ptr %in{i}, ptr %to{i}"


def given_ir(n_in: int, outputs: Sequence[tuple[int, ...]]) -> Iterator[str]:
    """The arrays of ``out=`` behind the inputs, one or a tuple of as many as there are outputs; to ``make0`` where none are given."""
    yield from (
        "  %plain = icmp eq ptr %keywords, null", "  br i1 %plain, label %make0, label %keyword",
        # one keyword, and it is "out" (the interned string, or the careful way)
        "keyword:", "  %lp = getelementptr i8, ptr %keywords, i64 16", "  %length = load i64, ptr %lp",
        "  %one = icmp eq i64 %length, 1", "  br i1 %one, label %named, label %careful",
        "named:", "  %key = call ptr @PyTuple_GetItem(ptr %keywords, i64 0)",
        f"  %outp = getelementptr ptr, ptr %argv, i64 {n_in}", "  %out = load ptr, ptr %outp",
        "  %isout = icmp eq ptr %key, %outname", "  br i1 %isout, label %isgiven, label %careful",
        "isgiven:", "  %absent = icmp eq ptr %out, %none", "  br i1 %absent, label %make0, label %given", "given:",
    )  # fmt: skip
    if len(outputs) == 1:
        yield f"  %og = getelementptr ptr, ptr %all, i64 {n_in}"
        yield "  store ptr %out, ptr %og"
        return
    yield from ("  %otp = getelementptr i8, ptr %out, i64 8", "  %ot = load ptr, ptr %otp", "  %istuple = icmp eq ptr %ot, %tuple")
    yield from ("  br i1 %istuple, label %sized, label %careful", "sized:", "  %osp = getelementptr i8, ptr %out, i64 16")
    yield from ("  %os = load i64, ptr %osp", f"  %fits = icmp eq i64 %os, {len(outputs)}")
    yield from ("  br i1 %fits, label %items, label %careful", "items:")
    for j in range(len(outputs)):
        yield f"  %item{j} = call ptr @PyTuple_GetItem(ptr %out, i64 {j})"
        yield f"  %og{j} = getelementptr ptr, ptr %all, i64 {n_in + j}"
        yield f"  store ptr %item{j}, ptr %og{j}"


def tuple_ir(n: int) -> list[str]:
    lines = [f"  %results = call ptr @PyTuple_New(i64 {n})", "  %failed = icmp eq ptr %results, null"]
    lines += ["  br i1 %failed, label %none0, label %fill", "none0:", *(f"  call void @jd_decref(ptr %new{j})" for j in range(n))]
    lines += ["  ret ptr null", "fill:"]
    lines += [f"  %set{j} = call i32 @PyTuple_SetItem(ptr %results, i64 {j}, ptr %new{j})" for j in range(n)]
    return [*lines, "  ret ptr %results"]


def shape_ir(name: str, shape: tuple[int, ...]) -> str:
    entries = ", ".join(f"i64 {k}" for k in shape) or "i64 0"
    return f"@{name} = private unnamed_addr constant [{max(1, len(shape))} x i64] [{entries}]\n"


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


#: Symbols of CPython; see :func:`python_symbols`.
_DECLARATIONS = """declare void @jd_incref(ptr)
declare void @jd_decref(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
"""

#: Whether n numbers are all finite: x·0 is 0 for finite x and NaN otherwise.
_FINITE = """define internal i1 @jd_finite(ptr %x, i64 %n) #0 {
entry:
  %blocks = and i64 %n, -16
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%i16, %body]
  %sum = phi <16 x double> [zeroinitializer, %entry], [%sum2, %body]
  %more = icmp slt i64 %i, %blocks
  br i1 %more, label %body, label %rest
body:
  %at = getelementptr double, ptr %x, i64 %i
  %v = load <16 x double>, ptr %at, align 8
  %z = fmul <16 x double> %v, zeroinitializer
  %sum2 = fadd <16 x double> %sum, %z
  %i16 = add i64 %i, 16
  br label %loop
rest:
  %total = call reassoc double @llvm.vector.reduce.fadd.v16f64(double 0.0, <16 x double> %sum)
  br label %tail
tail:
  %j = phi i64 [%blocks, %rest], [%j1, %step]
  %t = phi double [%total, %rest], [%t2, %step]
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
declare double @llvm.vector.reduce.fadd.v16f64(double, <16 x double>)
"""


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_METH_KEYWORDS, _METH_FASTCALL = 0x0002, 0x0080


class Context(np.ndarray):
    """Addresses the wrappers need; it keeps alive what they point to, and so do the built-ins, whose ``self`` it is."""

    keep: list[Any]


def context(constants: np.ndarray, workspace: np.ndarray, careful: Callable[..., Any], library: Any) -> Context:
    """The context of one function; ``careful(*arrays, out=None)`` serves the unusual calls."""
    result = np.zeros(11, dtype=np.uintp).view(Context)
    entries = {
        ARRAY_TYPE: id(np.ndarray), FLOAT64: id(np.dtype(np.float64)), NONE: id(None), NOT_IMPLEMENTED: id(NotImplemented),
        CONSTANTS: constants.ctypes.data, WORKSPACE: workspace.ctypes.data, OUT: id(sys.intern("out")), TUPLE_TYPE: id(tuple),
        CAREFUL: id(careful), EMPTY: _array_interface(_PYARRAY_EMPTY),
    }  # fmt: skip
    for index, value in entries.items():
        result[index] = value
    result.keep = [constants, workspace, careful, library]
    return result


def hand_on(given: Context, careful: Callable[..., Any]) -> None:
    """Unusual calls go to another function from now on."""
    given.keep.append(careful)
    given[CAREFUL] = id(careful)


@cache
def _array_interface(index: int) -> int:
    """Address of a function of NumPy's C interface."""
    core = import_module("numpy._core._multiarray_umath")
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(core._ARRAY_API, None)
    return int(ctypes.c_void_p.from_address(table + index * ctypes.sizeof(ctypes.c_void_p)).value or 0)


def builtin(address: int, name: str, context: Context, keywords: bool = False) -> Callable[..., Any]:
    """The built-in function at an address."""
    flags = _METH_FASTCALL | (_METH_KEYWORDS if keywords else 0)
    definition = _MethodDef(name.encode(), address, flags, b"compiled function")
    context.keep.append(definition)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Callable[..., Any] = make(ctypes.addressof(definition), context, None)
    return made


def python_symbols() -> dict[str, int]:
    """Addresses of the functions of CPython that the wrappers call."""
    names = {"jd_incref": "Py_IncRef", "jd_decref": "Py_DecRef"}
    names |= {n: n for n in ("PyTuple_GetItem", "PyTuple_New", "PyTuple_SetItem", "PyObject_Vectorcall")}
    return {symbol: ctypes.cast(getattr(ctypes.pythonapi, n), ctypes.c_void_p).value or 0 for symbol, n in names.items()}
