"""Dot products as native loops: a row of numbers, common to all lanes, with values that stand side by side."""

from __future__ import annotations

#: Terms that are summed side by side, so that no addition waits for the one before.
WIDE = 8


def dot_ir(lanes: int) -> str:
    """``@jd_dot_lanes(row, x, n)``: Σ rowᵢ xᵢ."""
    return _scalar() if lanes == 1 else _by_lanes(lanes)


def _scalar() -> str:
    """Eight partial sums in a vector, then the terms that are left."""
    V = f"<{WIDE} x double>"
    return f"""define internal double @jd_dot_1(ptr %row, ptr %x, i64 %n) #2 {{
entry:
  %whole = and i64 %n, {-WIDE}
  br label %wide
wide:
  %i = phi i64 [0, %entry], [%inext, %block]
  %sum = phi {V} [zeroinitializer, %entry], [%sumnext, %block]
  %more = icmp slt i64 %i, %whole
  br i1 %more, label %block, label %folded
block:
  %ra = getelementptr double, ptr %row, i64 %i
  %xa = getelementptr double, ptr %x, i64 %i
  %rv = load {V}, ptr %ra, align 8
  %xv = load {V}, ptr %xa, align 8
  %product = fmul contract {V} %rv, %xv
  %sumnext = fadd contract {V} %sum, %product
  %inext = add i64 %i, {WIDE}
  br label %wide
folded:
  %begin = call reassoc double @llvm.vector.reduce.fadd.v{WIDE}f64(double 0.0, {V} %sum)
  br label %rest
rest:
  %j = phi i64 [%whole, %folded], [%jnext, %single]
  %total = phi double [%begin, %folded], [%totalnext, %single]
  %left = icmp slt i64 %j, %n
  br i1 %left, label %single, label %done
single:
  %rb = getelementptr double, ptr %row, i64 %j
  %xb = getelementptr double, ptr %x, i64 %j
  %r1 = load double, ptr %rb, align 8
  %x1 = load double, ptr %xb, align 8
  %p1 = fmul contract double %r1, %x1
  %totalnext = fadd contract double %total, %p1
  %jnext = add i64 %j, 1
  br label %rest
done:
  ret double %total
}}
declare double @llvm.vector.reduce.fadd.v{WIDE}f64(double, {V})
"""


def _by_lanes(lanes: int) -> str:
    """One sum a lane."""
    T = f"<{lanes} x double>"
    return f"""define internal {T} @jd_dot_{lanes}(ptr %row, ptr %x, i64 %n) #2 {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %term]
  %sum = phi {T} [zeroinitializer, %entry], [%sumnext, %term]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %term, label %done
term:
  %at = mul i64 %i, {lanes}
  %ra = getelementptr double, ptr %row, i64 %i
  %xa = getelementptr double, ptr %x, i64 %at
  %r = load double, ptr %ra, align 8
  %first = insertelement {T} poison, double %r, i32 0
  %rv = shufflevector {T} %first, {T} poison, <{lanes} x i32> zeroinitializer
  %xv = load {T}, ptr %xa, align 8
  %product = fmul contract {T} %rv, %xv
  %sumnext = fadd contract {T} %sum, %product
  %next = add i64 %i, 1
  br label %loop
done:
  ret {T} %sum
}}
"""


__all__ = ["dot_ir"]
