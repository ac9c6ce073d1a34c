"""Expressions as readable text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ..expr import Expr
from ..function import SymbolicFunction
from .layout import ATOM, COMPARISON, LOGIC_AND, LOGIC_OR, POWER, PRODUCT, SUM, Factor, Style, Written, write
from .program import indices

_SIGNS = {"lt": ("<", COMPARISON), "le": ("<=", COMPARISON), "and": ("&", LOGIC_AND), "or": ("|", LOGIC_OR)}


def number(value: float) -> str:
    """A number as short as it can be without loss; simple fractions as such."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    fraction = simple_fraction(value)
    if fraction is not None and len(repr(value)) > 6:
        return f"{fraction.numerator}/{fraction.denominator}"
    return repr(value)


def simple_fraction(value: float) -> Fraction | None:
    """The fraction of small whole numbers that is this number, if there is one."""
    fraction = Fraction(value).limit_denominator(360)
    simple = fraction.denominator > 1 and abs(fraction.numerator) < 1000 and float(fraction) == value
    return fraction if simple else None


class Text(Style):
    """Plain text on one line."""

    def number(self, value: float) -> Written:
        """A number or a fraction."""
        text = number(value)
        return Written(text, PRODUCT if "/" in text else (SUM if value < 0 else ATOM), (-1, 0, ()), ())

    def symbol(self, name: str) -> str:
        """The name itself."""
        return name

    def product(self, coefficient: float, over: Sequence[Factor], under: Sequence[Factor]) -> tuple[str, int]:
        """2*a*b^2/(3*c)."""
        top = [self._power(f) for f in over]
        bottom = [self._power(f) for f in under]
        numerator, _, denominator = number(coefficient).partition("/")
        if denominator:
            bottom.insert(0, denominator)
        if numerator != "1" or not top:
            top.insert(0, numerator)
        text = "*".join(top)
        if bottom:
            text += "/" + (bottom[0] if len(bottom) == 1 else f"({'*'.join(bottom)})")
        single = len(top) == 1 and not bottom
        return text, (POWER if "^" in text else ATOM) if single else PRODUCT

    def _power(self, f: Factor) -> str:
        base = f.written
        if f.exponent == 1.0:
            return base.text if base.precedence > PRODUCT else f"({base.text})"
        exponent = number(f.exponent)
        exponent = exponent if exponent.isdigit() else f"({exponent})"
        return f"{base.text if base.precedence == ATOM else f'({base.text})'}^{exponent}"

    def call(self, e: Expr, operands: Sequence[Written]) -> tuple[str, int]:
        """sin(x), a < b, a^b."""
        op = e.op
        if op in _SIGNS:
            sign, precedence = _SIGNS[op]
            a, b = (w.text if w.precedence > precedence else f"({w.text})" for w in operands)
            return f"{a} {sign} {b}", precedence
        if op == "pow":
            a, b = (w.text if w.precedence == ATOM else f"({w.text})" for w in operands)
            return f"{a}^{b}", POWER
        name = e.data[0].name + "'" * sum(e.data[1]) if op == "table" else op
        return f"{name}({', '.join(w.text for w in operands)})", ATOM


def to_text(e: Expr, limit: int | None = None, named: Mapping[int, str] | None = None) -> str:
    """The expression as one line of text, cut at ``limit`` characters; nodes in ``named`` appear under their name.

    >>> from jourdain.symbolic import sin, symbols
    >>> m, g, l, q = symbols("m g l q")
    >>> to_text(m * g * l * sin(q) - 2 * m * l * l)
    'm*g*l*sin(q) - 2*m*l^2'
    """
    text = write(e, Text(), named, limit).text
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def print_text(f: SymbolicFunction) -> str:
    """Every non-zero result of the function as an explicit equation."""
    lines = [f.title or f.name]
    for r in f.outputs:
        for index, e in zip(indices(r.shape), r.expressions, strict=True):
            if not e.is_zero:
                place = f"[{', '.join(map(str, index))}]" if index else ""
                lines.append(f"{r.name}{place} = {to_text(e)}")
    return "\n".join(lines) + "\n"
