"""Many states by one call of a CPython built-in: tables of states in, tables of results out, no Python between.

``name_rows`` stands where the built-in of one state (:mod:`.fastcall`) hands on what it does not know.  It takes inputs as most batches give
them, states in the rows of a contiguous table (two at least) or one common to all, and ``out=`` likewise; it checks what
:mod:`.fastcall` checks and runs the driver of the SIMD variant in the calling thread.  Everything else, and work so large that the
interpreter should go on meanwhile, goes the careful way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from .fastcall import (
    ARRAY_TYPE,
    CAREFUL,
    CONSTANTS,
    EMPTY,
    FLOAT64,
    NONE,
    OUT,
    SCRATCH,
    TUPLE_TYPE,
    WORKSPACE,
    Context,
    builtin,
    context,
    context_ir,
    copied_ir,
    declarations,
    function_ir,
    given_ir,
    overlap_ir,
    shape_ir,
    tuple_ir,
)  # fmt: skip

#: Work of one call, in operations, up to which the interpreter's lock is held (about half a millisecond).
HELD = 4_000_000


def rows_ir(name: str, inputs: Sequence[int], outputs: Sequence[tuple[int, ...]], operations: int) -> str:
    """IR of ``name_rows(self, argv, n, keywords)`` for input sizes, output shapes and the operations of one state."""
    shapes = "".join(shape_ir(f"{name}_row{j}", shape) for j, shape in enumerate(outputs))
    return declarations() + _ROWS + shapes + _call_ir(name, inputs, outputs, max(2, HELD // max(1, operations)))


def rows_builtin(
    address: int, name: str, constants: np.ndarray, memory: tuple[np.ndarray, int, int], careful: Callable[..., Any], library: Any
) -> Callable[..., Any]:
    """The built-in at an address; ``memory`` is an array that holds scratch and the pointers of the inner call, with their addresses."""
    array, scratch, inner = memory
    made: Context = context(constants, array, careful, library)
    made[WORKSPACE], made[SCRATCH] = inner, scratch
    return builtin(address, name, made, keywords=True)


def _call_ir(name: str, inputs: Sequence[int], outputs: Sequence[tuple[int, ...]], most: int) -> str:
    n_in, n_out = len(inputs), len(outputs)
    n, rank = n_in + n_out, 1 + max(map(len, outputs))
    entries = (
        ("type", ARRAY_TYPE), ("dtype", FLOAT64), ("constants", CONSTANTS), ("inner", WORKSPACE), ("scratch", SCRATCH), ("none", NONE),
        ("outname", OUT), ("tuple", TUPLE_TYPE), ("slow", CAREFUL), ("empty", EMPTY),
    )  # fmt: skip
    lines = [
        "entry:", f"  %all = alloca ptr, i64 {n}", f"  %slots = alloca ptr, i64 {n + 1}", f"  %strides = alloca i64, i64 {n}",
        f"  %dims = alloca i64, i64 {rank}", *context_ir(*entries),
        f"  %count = icmp eq i64 %n, {n_in}", "  br i1 %count, label %begin, label %careful", "begin:",
        *copied_ir(n_in), *_inputs(inputs),
        f"  %some = icmp sgt i64 %rows{n_in}, 1", f"  %few = icmp sle i64 %rows{n_in}, {most}", "  %usual = and i1 %some, %few",
        "  br i1 %usual, label %where, label %careful", "where:", f"  store i64 %rows{n_in}, ptr %dims",
        *given_ir(n_in, outputs), *_results(name, inputs, outputs), *_run(name, n, "g"),
        "  call void @jd_incref(ptr %out)", "  ret ptr %out",
    ]  # fmt: skip
    for j, shape in enumerate(outputs):
        lines += _made(j, n_in, shape, f"make{j + 1}" if j + 1 < n_out else "made")
    lines += ["made:", *_run(name, n, "m"), *(["  ret ptr %new0"] if n_out == 1 else tuple_ir(n_out))]
    lines += ["careful:", "  %slowly = call ptr @PyObject_Vectorcall(ptr %slow, ptr %argv, i64 %n, ptr %keywords)", "  ret ptr %slowly"]
    return function_ir(f"ptr @{name}_rows(ptr %self, ptr %argv, i64 %n, ptr %keywords)", lines)


def _inputs(sizes: Sequence[int]) -> Iterator[str]:
    """Each input is a table with the rows of those before it, or one row for all; −1 rows when something is unusual."""
    for i, size in enumerate(sizes):
        yield f"  %islot{i} = getelementptr ptr, ptr %slots, i64 {i}"
        yield f"  %istride{i} = getelementptr i64, ptr %strides, i64 {i}"
        rows = f"%rows{i}" if i else "0"
        arguments = f"ptr %in{i}, ptr %type, ptr %dtype, i64 {size}, i64 {rows}, ptr %islot{i}, ptr %istride{i}"
        yield f"  %rows{i + 1} = call i64 @jd_rows({arguments})"


def _results(name: str, inputs: Sequence[int], outputs: Sequence[tuple[int, ...]]) -> Iterator[str]:
    """Arrays of ``out=``: as many rows, writeable, and apart from all others."""
    n_in, ok = len(inputs), "true"
    sizes = [*inputs, *map(prod, outputs)]
    for j, shape in enumerate(outputs):
        yield f"  %ra{j} = getelementptr ptr, ptr %all, i64 {n_in + j}"
        yield f"  %r{j} = load ptr, ptr %ra{j}"
        yield f"  %rs{j} = getelementptr ptr, ptr %slots, i64 {n_in + j}"
        yield f"  %rt{j} = getelementptr i64, ptr %strides, i64 {n_in + j}"
        yield f"  store i64 {prod(shape)}, ptr %rt{j}"
        arguments = f"ptr %r{j}, ptr %type, ptr %dtype, i32 {len(shape)}, ptr @{name}_row{j}, i64 %rows{n_in}, ptr %rs{j}"
        yield f"  %rok{j} = call i1 @jd_result({arguments})"
        yield f"  %rall{j} = and i1 {ok}, %rok{j}"
        ok = f"%rall{j}"
    yield f"  br i1 {ok}, label %apart, label %careful"
    yield "apart:"
    for i, size in enumerate(sizes):
        yield f"  %bp{i} = getelementptr ptr, ptr %slots, i64 {i}"
        yield f"  %data{i} = load ptr, ptr %bp{i}"
        yield f"  %wp{i} = getelementptr i64, ptr %strides, i64 {i}"
        yield f"  %w{i} = load i64, ptr %wp{i}"
        yield f"  %wide{i} = mul i64 %w{i}, %rows{n_in}"
        yield f"  %common{i} = icmp eq i64 %w{i}, 0"
        yield f"  %span{i} = select i1 %common{i}, i64 {size}, i64 %wide{i}"
        yield f"  %end{i} = getelementptr double, ptr %data{i}, i64 %span{i}"
    yield from overlap_ir(sizes, n_in)
    yield "run:"


def _made(j: int, n_in: int, shape: tuple[int, ...], follow: str) -> Iterator[str]:
    """A new array for output j; those made before are given back when there is no memory."""
    yield f"make{j}:"
    for k, size in enumerate(shape):
        yield f"  %d{j}_{k} = getelementptr i64, ptr %dims, i64 {k + 1}"
        yield f"  store i64 {size}, ptr %d{j}_{k}"
    yield "  call void @jd_incref(ptr %dtype)"  # PyArray_Empty takes over a reference
    yield f"  %new{j} = call ptr %empty(i32 {len(shape) + 1}, ptr %dims, ptr %dtype, i32 0)"
    yield f"  %nil{j} = icmp eq ptr %new{j}, null"
    yield f"  br i1 %nil{j}, label %lost{j}, label %filled{j}"
    yield f"lost{j}:"
    yield from (f"  call void @jd_decref(ptr %new{k})" for k in range(j))
    yield "  ret ptr null"
    yield f"filled{j}:"
    yield f"  %ndp{j} = getelementptr i8, ptr %new{j}, i64 16"
    yield f"  %nd{j} = load ptr, ptr %ndp{j}"
    yield f"  %ns{j} = getelementptr ptr, ptr %slots, i64 {n_in + j}"
    yield f"  store ptr %nd{j}, ptr %ns{j}"
    yield f"  %nt{j} = getelementptr i64, ptr %strides, i64 {n_in + j}"
    yield f"  store i64 {prod(shape)}, ptr %nt{j}"
    yield f"  br label %{follow}"


def _run(name: str, n: int, way: str) -> list[str]:
    return [
        f"  %k{way} = getelementptr ptr, ptr %slots, i64 {n}", f"  store ptr %constants, ptr %k{way}", f"  %last{way} = load i64, ptr %dims",
        f"  %status{way} = call i32 @{name}_batch(ptr %slots, ptr %strides, i64 0, i64 %last{way}, ptr %scratch, ptr %inner)",
    ]  # fmt: skip


#: Checks of one table each.  ``jd_rows`` gives the number of rows so far (0: no table yet) or −1.
_ROWS = """define internal i1 @jd_array(ptr %o, ptr %type, ptr %dtype, i32 %flags) #0 {
entry:
  %tp = getelementptr i8, ptr %o, i64 8
  %t = load ptr, ptr %tp
  %isarray = icmp eq ptr %t, %type
  br i1 %isarray, label %header, label %no
header:
  %dp = getelementptr i8, ptr %o, i64 56
  %d = load ptr, ptr %dp
  %fp = getelementptr i8, ptr %o, i64 64
  %f = load i32, ptr %fp
  %has = and i32 %f, %flags
  %okf = icmp eq i32 %has, %flags
  %okd = icmp eq ptr %d, %dtype
  %ok = and i1 %okf, %okd
  ret i1 %ok
no:
  ret i1 false
}
define internal i64 @jd_rows(ptr %o, ptr %type, ptr %dtype, i64 %size, i64 %rows, ptr %slot, ptr %stride) #0 {
entry:
  %gone = icmp slt i64 %rows, 0
  br i1 %gone, label %no, label %check
check:
  %usual = call i1 @jd_array(ptr %o, ptr %type, ptr %dtype, i32 257)
  br i1 %usual, label %shape, label %no
shape:
  %datap = getelementptr i8, ptr %o, i64 16
  %data = load ptr, ptr %datap
  %np = getelementptr i8, ptr %o, i64 24
  %nd = load i32, ptr %np
  %dimp = getelementptr i8, ptr %o, i64 32
  %dims = load ptr, ptr %dimp
  %isrow = icmp eq i32 %nd, 1
  br i1 %isrow, label %row, label %perhaps
row:
  %length = load i64, ptr %dims
  %okrow = icmp eq i64 %length, %size
  br i1 %okrow, label %finite, label %no
perhaps:
  %istable = icmp eq i32 %nd, 2
  br i1 %istable, label %table, label %no
table:
  %lines = load i64, ptr %dims
  %widep = getelementptr i64, ptr %dims, i64 1
  %wide = load i64, ptr %widep
  %okwide = icmp eq i64 %wide, %size
  %first = icmp eq i64 %rows, 0
  %same = icmp eq i64 %rows, %lines
  %fits = or i1 %first, %same
  %many = icmp sgt i64 %lines, 1
  %ok1 = and i1 %okwide, %fits
  %ok2 = and i1 %ok1, %many
  br i1 %ok2, label %counted, label %no
counted:
  %total = mul i64 %lines, %size
  br label %finite
finite:
  %count = phi i64 [%size, %row], [%total, %counted]
  %step = phi i64 [0, %row], [%size, %counted]
  %now = phi i64 [%rows, %row], [%lines, %counted]
  %okfinite = call i1 @jd_finite(ptr %data, i64 %count)
  br i1 %okfinite, label %good, label %no
good:
  store ptr %data, ptr %slot
  store i64 %step, ptr %stride
  ret i64 %now
no:
  ret i64 -1
}
define internal i1 @jd_result(ptr %o, ptr %type, ptr %dtype, i32 %rank, ptr %shape, i64 %rows, ptr %slot) #0 {
entry:
  %usual = call i1 @jd_array(ptr %o, ptr %type, ptr %dtype, i32 1281)
  br i1 %usual, label %ranked, label %no
ranked:
  %datap = getelementptr i8, ptr %o, i64 16
  %data = load ptr, ptr %datap
  store ptr %data, ptr %slot
  %np = getelementptr i8, ptr %o, i64 24
  %nd = load i32, ptr %np
  %more = add i32 %rank, 1
  %okrank = icmp eq i32 %nd, %more
  br i1 %okrank, label %lines, label %no
lines:
  %dimp = getelementptr i8, ptr %o, i64 32
  %dims = load ptr, ptr %dimp
  %found = load i64, ptr %dims
  %okrows = icmp eq i64 %found, %rows
  %last = sext i32 %rank to i64
  br i1 %okrows, label %loop, label %no
loop:
  %i = phi i64 [0, %lines], [%next, %step]
  %again = icmp slt i64 %i, %last
  br i1 %again, label %step, label %yes
step:
  %next = add i64 %i, 1
  %ap = getelementptr i64, ptr %dims, i64 %next
  %a = load i64, ptr %ap
  %bp = getelementptr i64, ptr %shape, i64 %i
  %b = load i64, ptr %bp
  %equal = icmp eq i64 %a, %b
  br i1 %equal, label %loop, label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""
