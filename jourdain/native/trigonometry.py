"""Sine and cosine as LLVM IR: one text for scalars and SIMD vectors, at most 2 ulp off, the same on every platform.

Range reduction after Cody and Waite with π/2 in three parts and a tail (arguments up to about 8·10⁵; larger ones go to
the C library, lane by lane, and have its accuracy), then the minimax polynomials of fdlibm's kernels.  Single angles wait for the longest row of
operations that need each other, so rows are kept short.
"""

from __future__ import annotations

import struct

LIMIT = 823549.0


def literal(value: float) -> str:
    """A double as LLVM writes it exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


_SIN = [
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
    -2.50507602534068634195e-08, 1.58969099521155010221e-10,
]  # fmt: skip
_COS = [
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05, -2.75573143513906633035e-07,
    2.08757232129817482790e-09, -1.13596475577881948265e-11,
]  # fmt: skip


class _Writer:
    """Collects instructions; ``T`` is the type of every floating value."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.T = "double" if lanes == 1 else f"<{lanes} x double>"
        self.I = "i64" if lanes == 1 else f"<{lanes} x i64>"
        self.B = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.lines: list[str] = []
        self.n = 0

    def number(self, value: float) -> str:
        return literal(value) if self.lanes == 1 else f"splat (double {literal(value)})"

    def integer(self, value: int) -> str:
        return str(value) if self.lanes == 1 else f"splat (i64 {value})"

    def emit(self, text: str) -> str:
        self.n += 1
        name = f"%v{self.n}"
        self.lines.append(f"  {name} = {text}")
        return name

    def op(self, op: str, a: str, b: str) -> str:
        return self.emit(f"{op} {self.T} {a}, {b}")

    def fused(self, op: str, factor: str, other: str, term: str, first: bool = True) -> str:
        """factor · other ± term, or with ``first`` false term ± factor · other, with one rounding where the processor can."""
        product = self.op("fmul contract", factor, other)
        return self.op(f"{op} contract", *((product, term) if first else (term, product)))

    def polynomial(self, z: str, z2: str, z4: str, c: list[float]) -> str:
        """Of six coefficients, by pairs (Estrin): half of the operations that wait for each other in Horner's scheme."""
        low, middle, high = (self.fused("fadd", z, self.number(c[i + 1]), self.number(c[i])) for i in (0, 2, 4))
        return self.fused("fadd", z4, high, self.fused("fadd", z2, middle, low))


def _reduced(w: _Writer) -> tuple[str, str, str]:
    """x by π/2: remainder r − low and the quadrant's integer bits.

    The first two parts of π/2 have so many zeros that their products with k are exact, so that nothing but ``low`` depends on fused operations.
    """
    magic = 6755399441055744.0  # 1.5·2⁵²: adding it rounds to an integer left in the low bits
    shifted = w.fused("fadd", "%x", w.number(0.6366197723675814), w.number(magic))
    k = w.op("fsub", shifted, w.number(magic))
    a = w.fused("fsub", k, w.number(1.57079632673412561417e00), "%x", first=False)
    r = w.fused("fadd", k, w.number(-6.07710050630396597660e-11), a)
    # the part of k·π/2 not yet taken off; subtracted (not added) so that the zero of x = −0 keeps its sign
    excess = w.fused("fsub", k, w.number(6.07710050630396597660e-11), w.op("fsub", a, r))
    return r, w.fused("fadd", k, w.number(2.02226624879595063154e-21), excess), w.emit(f"bitcast {w.T} {shifted} to {w.I}")


def _kernels(w: _Writer, r: str, low: str) -> tuple[str, str]:
    """sin(r − low) and cos(r − low) for |r| ≤ π/4 and |low| ≤ 2e-15, which need not be below the last place of r."""
    z = w.op("fmul", r, r)
    z2 = w.op("fmul", z, z)
    z4, v, half = w.op("fmul", z2, z2), w.op("fmul", z, r), w.op("fmul", z, w.number(0.5))
    head = w.op("fsub", w.number(1.0), half)
    sine = w.op("fsub", r, w.fused("fsub", v, w.polynomial(z, z2, z4, _SIN), w.op("fmul", low, head), first=False))
    rest = w.op("fsub", w.op("fsub", w.number(1.0), head), half)
    rest = w.fused("fadd", w.fused("fadd", v, w.number(_SIN[0]), r), low, rest)
    return sine, w.op("fadd", head, w.fused("fadd", z2, w.polynomial(z, z2, z4, _COS), rest))


def _rotated(w: _Writer, sine: str, cosine: str, bits: str) -> tuple[str, str]:
    """Sine and cosine put into the quadrant."""
    odd = w.emit(f"icmp ne {w.I} {w.emit(f'and {w.I} {bits}, {w.integer(1)}')}, {w.integer(0)}")
    s = w.emit(f"select {w.B} {odd}, {w.T} {cosine}, {w.T} {sine}")
    c = w.emit(f"select {w.B} {odd}, {w.T} {sine}, {w.T} {cosine}")

    def signed(value: str, offset: int) -> str:
        shifted = w.emit(f"add {w.I} {bits}, {w.integer(offset)}") if offset else bits
        sign = w.emit(f"shl {w.I} {w.emit(f'and {w.I} {shifted}, {w.integer(2)}')}, {w.integer(62)}")
        raw = w.emit(f"bitcast {w.T} {value} to {w.I}")
        return w.emit(f"bitcast {w.I} {w.emit(f'xor {w.I} {raw}, {sign}')} to {w.T}")

    return signed(s, 0), signed(c, 1)


def _far(w: _Writer) -> tuple[str, str]:
    """By the C library; in a vector lane by lane, so that a lane's value does not depend on its neighbours."""
    if w.lanes == 1:
        return w.emit("call double @jd_sin(double %x)"), w.emit("call double @jd_cos(double %x)")
    values = ["poison", "poison"]
    for lane in range(w.lanes):
        x = w.emit(f"extractelement {w.T} %x, i32 {lane}")
        both = w.emit(f"call {{double, double}} @jd_sincos_1(double {x})")
        for i in range(2):
            y = w.emit(f"extractvalue {{double, double}} {both}, {i}")
            values[i] = w.emit(f"insertelement {w.T} {values[i]}, double {y}, i32 {lane}")
    return values[0], values[1]


def sincos_ir(lanes: int, attributes: str) -> str:
    """Text of ``@jd_sincos_<lanes>``, which returns the pair (sin x, cos x); vectors need the scalar one beside it."""
    w = _Writer(lanes)
    pair = f"{{{w.T}, {w.T}}}"
    suffix = "f64" if lanes == 1 else f"v{lanes}f64"
    magnitude = w.emit(f"call {w.T} @llvm.fabs.{suffix}({w.T} %x)")
    fine = w.emit(f"fcmp ole {w.T} {magnitude}, {w.number(LIMIT)}")
    if lanes > 1:
        fine = w.emit(f"call i1 @llvm.vector.reduce.and.v{lanes}i1({w.B} {fine})")
    w.lines.append(f"  br i1 {fine}, label %near, label %far, !prof !0")

    def pair_of(sine: str, cosine: str) -> None:
        first = w.emit(f"insertvalue {pair} undef, {w.T} {sine}, 0")
        w.lines.append(f"  ret {pair} {w.emit(f'insertvalue {pair} {first}, {w.T} {cosine}, 1')}")

    w.lines.append("near:")
    r, low, bits = _reduced(w)
    pair_of(*_rotated(w, *_kernels(w, r, low), bits))
    w.lines.append("far:")
    pair_of(*_far(w))
    body = "\n".join(w.lines)
    declarations = f"declare {w.T} @llvm.fabs.{suffix}({w.T})\n"
    if lanes > 1:
        declarations += f"declare i1 @llvm.vector.reduce.and.v{lanes}i1({w.B})\n"
    return f"{declarations}define internal {pair} @jd_sincos_{lanes}({w.T} %x) {attributes} {{\n{body}\n}}\n"
