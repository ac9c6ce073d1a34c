"""Look-up tables as LLVM IR: data, binary search and the polynomial of the piece."""

from __future__ import annotations

import numpy as np

from ..symbolic.tables import Table
from .trigonometry import literal


def _array(name: str, values: np.ndarray) -> str:
    entries = ", ".join(f"double {literal(v)}" for v in values.ravel())
    return f"@{name} = private unnamed_addr constant [{values.size} x double] [{entries}]\n"


def lookup_ir(table: Table) -> str:
    """Text of ``@table_<key>(x…, order…)`` giving the value or a partial derivative of the table."""
    key = table.key
    dims = len(table.breaks)
    text = _array(f"c_{key}", table.coefficients)
    for axis, grid in enumerate(table.breaks):
        text += _array(f"g{axis}_{key}", grid) + _locate_ir(f"locate{axis}_{key}", f"g{axis}_{key}", grid, table.extrapolate == "hold")
    text += _polynomial_ir(key)
    return text + (_one_ir(table) if dims == 1 else _two_ir(table))


def _locate_ir(name: str, grid: str, breaks: np.ndarray, hold: bool) -> str:
    """Piece, local coordinate and whether the value is held: {i64, double, i1}."""
    n = len(breaks)
    low, high = literal(breaks[0]), literal(breaks[-1])
    clamp = (
        f"""  %below = fcmp olt double %x0, {low}
  %above = fcmp ogt double %x0, {high}
  %outside = or i1 %below, %above
  %x1 = select i1 %below, double {low}, double %x0
  %x = select i1 %above, double {high}, double %x1
"""
        if hold
        else "  %outside = and i1 false, false\n  %x = fadd double %x0, 0x8000000000000000\n"
    )
    return f"""define internal {{i64, double, i1}} @{name}(double %x0) nounwind {{
entry:
{clamp}  br label %loop
loop:
  %lo = phi i64 [0, %entry], [%lo2, %body]
  %hi = phi i64 [{n - 1}, %entry], [%hi2, %body]
  %gap = sub i64 %hi, %lo
  %more = icmp sgt i64 %gap, 1
  br i1 %more, label %body, label %exit
body:
  %sum = add i64 %lo, %hi
  %mid = lshr i64 %sum, 1
  %at = getelementptr double, ptr @{grid}, i64 %mid
  %g = load double, ptr %at
  %right = fcmp oge double %x, %g
  %lo2 = select i1 %right, i64 %mid, i64 %lo
  %hi2 = select i1 %right, i64 %hi, i64 %mid
  br label %loop
exit:
  %start = getelementptr double, ptr @{grid}, i64 %lo
  %base = load double, ptr %start
  %s = fsub double %x, %base
  %r0 = insertvalue {{i64, double, i1}} undef, i64 %lo, 0
  %r1 = insertvalue {{i64, double, i1}} %r0, double %s, 1
  %r2 = insertvalue {{i64, double, i1}} %r1, i1 %outside, 2
  ret {{i64, double, i1}} %r2
}}
"""


def _polynomial_ir(key: str) -> str:
    """Cubic c0 + c1 s + c2 s² + c3 s³ or its derivative of order 1, 2, 3."""
    return f"""define internal double @poly_{key}(double %c0, double %c1, double %c2, double %c3, double %s, i64 %n) nounwind {{
entry:
  switch i64 %n, label %zero [ i64 0, label %value i64 1, label %first i64 2, label %second i64 3, label %third ]
value:
  %a1 = fmul contract double %c3, %s
  %a2 = fadd contract double %a1, %c2
  %a3 = fmul contract double %a2, %s
  %a4 = fadd contract double %a3, %c1
  %a5 = fmul contract double %a4, %s
  %a6 = fadd contract double %a5, %c0
  ret double %a6
first:
  %b0 = fmul double 3.0, %c3
  %b1 = fmul contract double %b0, %s
  %b2 = fmul double 2.0, %c2
  %b3 = fadd contract double %b1, %b2
  %b4 = fmul contract double %b3, %s
  %b5 = fadd contract double %b4, %c1
  ret double %b5
second:
  %d0 = fmul double 6.0, %c3
  %d1 = fmul contract double %d0, %s
  %d2 = fmul double 2.0, %c2
  %d3 = fadd contract double %d1, %d2
  ret double %d3
third:
  %e0 = fmul double 6.0, %c3
  ret double %e0
zero:
  ret double 0.0
}}
"""


def _loads(prefix: str, base: str) -> str:
    return "".join(
        f"  %{prefix}p{j} = getelementptr double, ptr {base}, i64 {j}\n  %{prefix}{j} = load double, ptr %{prefix}p{j}\n" for j in range(4)
    )


def _located(axis: int, key: str, variable: str) -> str:
    return f"""  %at{axis} = call {{i64, double, i1}} @locate{axis}_{key}(double %{variable})
  %i{axis} = extractvalue {{i64, double, i1}} %at{axis}, 0
  %s{axis} = extractvalue {{i64, double, i1}} %at{axis}, 1
  %out{axis} = extractvalue {{i64, double, i1}} %at{axis}, 2
  %der{axis} = icmp sgt i64 %n{axis}, 0
  %held{axis} = and i1 %out{axis}, %der{axis}
"""


def _one_ir(table: Table) -> str:
    key = table.key
    return f"""define internal double @table_{key}(double %x, i64 %n0) noinline nounwind {{
{_located(0, key, "x")}  %offset = mul i64 %i0, 4
  %base = getelementptr double, ptr @c_{key}, i64 %offset
{_loads("c", "%base")}  %y = call double @poly_{key}(double %c0, double %c1, double %c2, double %c3, double %s0, i64 %n0)
  %z = select i1 %held0, double 0.0, double %y
  ret double %z
}}
"""


def _two_ir(table: Table) -> str:
    key = table.key
    columns = len(table.breaks[1]) - 1
    rows = ""
    for a in range(4):
        rows += f"  %row{a} = getelementptr double, ptr %base, i64 {4 * a}\n" + _loads(f"c{a}", f"%row{a}")
        arguments = ", ".join(f"double %c{a}{j}" for j in range(4))
        rows += f"  %y{a} = call double @poly_{key}({arguments}, double %s1, i64 %n1)\n"
    return f"""define internal double @table_{key}(double %x, double %y, i64 %n0, i64 %n1) noinline nounwind {{
{_located(0, key, "x")}{_located(1, key, "y")}  %cell0 = mul i64 %i0, {columns}
  %cell = add i64 %cell0, %i1
  %offset = mul i64 %cell, 16
  %base = getelementptr double, ptr @c_{key}, i64 %offset
{rows}  %z = call double @poly_{key}(double %y0, double %y1, double %y2, double %y3, double %s0, i64 %n0)
  %held = or i1 %held0, %held1
  %w = select i1 %held, double 0.0, double %z
  ret double %w
}}
"""
