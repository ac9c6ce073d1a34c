"""LLVM IR of loops over many states: arrays with a state in each row are transposed into lanes and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..symbolic.expr import ZERO, Expr
from ..symbolic.function import SymbolicFunction
from .names import entry_name, is_parameters


def batch_ir(f: SymbolicFunction, lanes: int) -> str:
    """Driver over many states: ``name_batch(args, strides, first, last, scratch, inner)``.

    ``args`` as for the function but with the batch arrays, ``strides`` in doubles from one state to the next (0: common
    to all); scratch holds the transposed block, the pointers of the inner call, and the workspace.  Zeros of matrices are set in
    the block once, and squares of nothing but zeros are not read from it.
    """
    inputs = [a for a in f.inputs if not is_parameters(a.symbols)]
    sizes = [len(a.symbols) for a in inputs] + [int(np.prod(r.shape)) for r in f.outputs]
    lines = ["entry:"]
    offset = 0
    for i, size in enumerate(sizes):
        lines += [
            f"  %block{i} = getelementptr double, ptr %scratch, i64 {offset}",
            f"  %slot{i} = getelementptr ptr, ptr %inner, i64 {i}",
            f"  store ptr %block{i}, ptr %slot{i}",
            f"  %from{i} = getelementptr ptr, ptr %args, i64 {i}",
            f"  %array{i} = load ptr, ptr %from{i}",
            f"  %sp{i} = getelementptr i64, ptr %strides, i64 {i}",
            f"  %stride{i} = load i64, ptr %sp{i}",
        ]
        offset += size * lanes
    n, name = len(sizes), entry_name(f.name)
    blank = {i: _zero_squares(r.expressions, lanes) for i, r in enumerate(f.outputs, len(inputs))}
    lines += [
        f"  %kfrom = getelementptr ptr, ptr %args, i64 {n}", "  %k = load ptr, ptr %kfrom",
        f"  %kslot = getelementptr ptr, ptr %inner, i64 {n}", "  store ptr %k, ptr %kslot",
        f"  %work = getelementptr double, ptr %scratch, i64 {offset}",
        f"  %wslot = getelementptr ptr, ptr %inner, i64 {n + 1}", "  store ptr %work, ptr %wslot",
        "  %end = sub i64 %last, 1",
        "  br label %loop", "loop:", "  %row = phi i64 [%first, %entry], [%next, %done]",
        f"  %code = phi ptr [@{name}, %entry], [@{name}_kept, %done]",
        "  %more = icmp slt i64 %row, %last", "  br i1 %more, label %rows, label %exit", "rows:",
    ]  # fmt: skip
    for lane in range(lanes):
        lines += [
            f"  %rl{lane} = add i64 %row, {lane}",
            f"  %in{lane} = icmp slt i64 %rl{lane}, %last",
            f"  %r{lane} = select i1 %in{lane}, i64 %rl{lane}, i64 %end",
        ]
    previous = "rows"
    for i in range(len(inputs)):
        lines += _transfer(i, sizes[i], lanes, previous)
        previous = f"after{i}"
    lines += ["  %status = call i32 %code(ptr %inner)"]
    for i in range(len(inputs), n):
        lines += _transfer(i, sizes[i], lanes, previous, blank[i])
        previous = f"after{i}"
    lines += ["  br label %done", "done:", f"  %next = add i64 %row, {lanes}", "  br label %loop", "exit:", "  ret i32 0"]
    body = "\n".join(lines)
    tables = "".join(_table(i, flags) for i, flags in blank.items() if any(flags))
    return f"{tables}define i32 @{name}_batch(ptr %args, ptr %strides, i64 %first, i64 %last, ptr %scratch, ptr %inner) #0 {{\n{body}\n}}\n"


def _zero_squares(values: Sequence[Expr], lanes: int) -> list[bool]:
    """Which columns of a result, as many at a time as there are lanes, are zero in every state."""
    return [all(e is ZERO for e in values[c : c + lanes]) for c in range(0, len(values) - len(values) % lanes, lanes)]


def _table(i: int, flags: Sequence[bool]) -> str:
    return f"@zeros{i} = internal constant [{len(flags)} x i8] [{', '.join(f'i8 {int(z)}' for z in flags)}]\n"


def _transfer(i: int, size: int, lanes: int, previous: str, blank: Sequence[bool] | None = None) -> list[str]:
    """Code that transposes one array between states in rows and states in lanes: squares of lanes × lanes, then the rest.

    ``blank`` is given for results, which leave the lanes: squares that are zero.
    """
    inward, lines = blank is None, []
    for lane in range(lanes):
        lines += [
            f"  %o{i}_{lane} = mul i64 %r{lane}, %stride{i}",
            f"  %p{i}_{lane} = getelementptr double, ptr %array{i}, i64 %o{i}_{lane}",
        ]
    whole = size - size % lanes
    if whole:
        lines += _square(i, whole, lanes, previous, blank)
    for c in range(whole, size):
        for lane in range(lanes):
            name = f"{i}_{c}_{lane}"
            lines += [
                f"  %s{name} = getelementptr double, ptr %block{i}, i64 {c * lanes + lane}",
                f"  %g{name} = getelementptr double, ptr %p{i}_{lane}, i64 {c}",
            ]
            source, target = ("g", "s") if inward else ("s", "g")
            lines += [
                f"  %x{name} = load double, ptr %{source}{name}, align 8",
                f"  store double %x{name}, ptr %{target}{name}, align 8",
            ]
    return [*lines, f"  br label %after{i}", f"after{i}:"]


def _square(i: int, whole: int, lanes: int, previous: str, blank: Sequence[bool] | None) -> list[str]:
    """Loop over squares: vectors loaded from one side, transposed by log₂(lanes) stages of shuffles, stored to the other."""
    T, inward = f"<{lanes} x double>", blank is None
    lines = [
        f"  br label %copy{i}", f"copy{i}:",
        f"  %c{i} = phi i64 [0, %{previous}], [%c{i}n, %step{i}]",
        f"  %b{i} = mul i64 %c{i}, {lanes}",
        f"  %base{i} = getelementptr double, ptr %block{i}, i64 %b{i}",
    ]  # fmt: skip
    for k in range(lanes):
        lines += [
            f"  %s{i}_{k} = getelementptr double, ptr %base{i}, i64 {k * lanes}",
            f"  %g{i}_{k} = getelementptr double, ptr %p{i}_{k}, i64 %c{i}",
        ]
    if blank and any(blank):
        lines += [
            f"  %q{i} = udiv exact i64 %c{i}, {lanes}",
            f"  %zp{i} = getelementptr i8, ptr @zeros{i}, i64 %q{i}", f"  %z{i} = load i8, ptr %zp{i}",
            f"  %blank{i} = icmp ne i8 %z{i}, 0", f"  br i1 %blank{i}, label %zero{i}, label %full{i}", f"zero{i}:",
            *(f"  store {T} zeroinitializer, ptr %g{i}_{k}, align 8" for k in range(lanes)),
            f"  br label %step{i}", f"full{i}:",
        ]  # fmt: skip
    source, target = ("g", "s") if inward else ("s", "g")
    lines += [f"  %t{i}_0_{k} = load {T}, ptr %{source}{i}_{k}, align 8" for k in range(lanes)]
    stage, distance = 0, 1
    while distance < lanes:
        for k in range(lanes):
            if k & distance:
                continue
            a, b = f"%t{i}_{stage}_{k}", f"%t{i}_{stage}_{k | distance}"
            low = [j if not j & distance else lanes + j - distance for j in range(lanes)]
            high = [j + distance if not j & distance else lanes + j for j in range(lanes)]
            for name, mask in ((k, low), (k | distance, high)):
                entries = ", ".join(f"i32 {x}" for x in mask)
                lines.append(f"  %t{i}_{stage + 1}_{name} = shufflevector {T} {a}, {T} {b}, <{lanes} x i32> <{entries}>")
        stage, distance = stage + 1, distance * 2
    lines += [f"  store {T} %t{i}_{stage}_{k}, ptr %{target}{i}_{k}, align 8" for k in range(lanes)]
    return [
        *lines,
        f"  br label %step{i}", f"step{i}:",
        f"  %c{i}n = add i64 %c{i}, {lanes}",
        f"  %m{i} = icmp slt i64 %c{i}n, {whole}",
        f"  br i1 %m{i}, label %copy{i}, label %rest{i}",
        f"rest{i}:",
    ]  # fmt: skip
