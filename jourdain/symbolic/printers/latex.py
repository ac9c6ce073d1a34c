"""Expressions and functions as LaTeX equations."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from ..expr import Expr, halves
from ..function import SymbolicFunction
from ..graph import topological
from .layout import ATOM, COMPARISON, LOGIC_AND, LOGIC_OR, POWER, PRODUCT, SUM, Factor, Style, Written, write
from .program import indices, operation_counts, use_counts, words
from .text import simple_fraction

_LETTERS = words(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
_GREEK = set(_LETTERS)
_UNICODE = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", _LETTERS, strict=True))
_ACCENTS = {"dot": r"\dot", "ddot": r"\ddot", "hat": r"\hat", "bar": r"\bar", "tilde": r"\tilde"}
_OPERATORS = {
    "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan",
    "sinh": r"\sinh", "cosh": r"\cosh", "tanh": r"\tanh", "log": r"\ln", "exp": r"\exp", "min": r"\min", "max": r"\max",
    "atan2": r"\operatorname{atan2}", "sign": r"\operatorname{sgn}",
}  # fmt: skip
_POWERED = {"sin", "cos", "tan", "sinh", "cosh", "tanh"}
_SIGNS = {"lt": ("<", COMPARISON), "le": (r"\le", COMPARISON), "and": (r"\land", LOGIC_AND), "or": (r"\lor", LOGIC_OR)}


def symbol_latex(name: str) -> str:
    r"""A name in mathematical type: ``omega_dot`` is \dot{\omega}, ``m12`` m_{12}, ``I_xx`` I_{xx}.

    >>> symbol_latex("theta1_dot")
    '\\dot{\\theta}_{1}'
    """
    name = "".join(f" {_UNICODE[c]} " if c in _UNICODE else c for c in name).strip().replace(" ", "")
    head, *rest = [p for p in re.split(r"[_.\s]+", name) if p] or ["x"]
    match = re.fullmatch(r"([A-Za-z]+?)(\d+)", head)
    if match:
        head, rest = match[1], [match[2], *rest]
    accents = [p for p in rest if p in _ACCENTS]
    subscripts = [p for p in rest if p not in _ACCENTS]
    text = _word(head, 1)
    for accent in accents:
        text = f"{_ACCENTS[accent]}{{{text}}}"
    if not subscripts:
        return text
    return f"{text}_{{{','.join(_word(p, 2) for p in subscripts)}}}"


def _word(text: str, italic: int) -> str:
    """Greek letters by name, short words in italics, long ones upright."""
    if text in _GREEK:
        return "\\" + text
    if text.isdigit() or (len(text) <= italic and text.isalnum()):
        return text
    safe = re.sub(r"([#$%&{}^~\\])", "", text)
    return rf"\mathrm{{{safe}}}"


def number_latex(value: float) -> str:
    """A number; fractions with small whole numbers as such, powers of ten written out."""
    if value == int(value) and abs(value) < 1e7:
        return str(int(value))
    fraction = simple_fraction(value)
    if fraction is not None and (fraction.denominator <= 12 or len(repr(value)) > 8):
        sign = "-" if value < 0 else ""
        return rf"{sign}\frac{{{abs(fraction.numerator)}}}{{{fraction.denominator}}}"
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent and abs(value) >= 1e7:
        exponent = str(math.floor(math.log10(abs(value))))
        mantissa = repr(value / 10.0 ** int(exponent))
    mantissa = mantissa.removesuffix(".0")
    if not exponent:
        return mantissa
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \cdot {power}"


class Latex(Style):
    """LaTeX mathematics."""

    def number(self, value: float) -> Written:
        """A number."""
        text = number_latex(value)
        return Written(text, SUM if value < 0 else (PRODUCT if "cdot" in text else ATOM), (-1, 0, ()), ())

    def symbol(self, name: str) -> str:
        """A name."""
        return symbol_latex(name)

    def parentheses(self, text: str) -> str:
        """Parentheses as high as what they hold."""
        tall = r"\frac" in text or r"\begin" in text or r"\left" in text
        return rf"\left({text}\right)" if tall else f"({text})"

    def product(self, coefficient: float, over: Sequence[Factor], under: Sequence[Factor]) -> tuple[str, int]:
        """Factors side by side, fractions with a bar."""
        fraction = simple_fraction(coefficient) if coefficient != int(coefficient) else None
        if under:
            small = fraction is not None and fraction.denominator <= 12
            top = self._side(fraction.numerator if small and fraction else coefficient, over)
            bottom = self._side(fraction.denominator if small and fraction else 1.0, under)
            return rf"\frac{{{top}}}{{{bottom}}}", ATOM
        text = self._side(coefficient, over)
        return text, POWER if len(over) == 1 and coefficient == 1.0 else PRODUCT

    def _side(self, coefficient: float, items: Sequence[Factor]) -> str:
        if len(items) == 1 and coefficient == 1.0 and items[0].exponent == 1.0:
            return items[0].written.text
        parts = [] if coefficient == 1.0 and items else [number_latex(coefficient)]
        for f in items:
            power = self._power(f)
            glue = r"\cdot " if parts and (power[0].isdigit()) else ""
            parts.append(glue + power)
        return " ".join(parts)

    def _power(self, f: Factor) -> str:
        w, n = f.written, f.exponent
        if n == 1.0:
            return w.text if w.precedence > PRODUCT else self.parentheses(w.text)
        exponent = number_latex(n)
        head = _OPERATORS.get(f.base.op, "")
        if f.base.op in _POWERED and w.text.startswith(head) and n > 0:
            return f"{head}^{{{exponent}}}{w.text[len(head) :]}"
        simple = w.precedence == ATOM and not w.text.startswith(("\\frac", "\\begin"))
        return f"{w.text if simple else self.parentheses(w.text)}^{{{exponent}}}"

    def call(self, e: Expr, operands: Sequence[Written]) -> tuple[str, int]:
        """Functions, comparisons, branches and tables."""
        op, texts = e.op, [w.text for w in operands]
        if op == "sqrt":
            return rf"\sqrt{{{texts[0]}}}", ATOM
        if op == "abs":
            return rf"\left|{texts[0]}\right|", ATOM
        if op == "floor":
            return rf"\left\lfloor {texts[0]} \right\rfloor", ATOM
        if op == "not":
            return rf"\lnot {self.parentheses(texts[0])}", ATOM
        if op in _SIGNS:
            sign, precedence = _SIGNS[op]
            a, b = (w.text if w.precedence > precedence else self.parentheses(w.text) for w in operands)
            return f"{a} {sign} {b}", precedence
        if op == "pow":
            base = texts[0] if operands[0].precedence == ATOM else self.parentheses(texts[0])
            return f"{{{base}}}^{{{texts[1]}}}", POWER
        if op == "where":
            rows = rf"{texts[1]} & \text{{if }} {texts[0]} \\ {texts[2]} & \text{{otherwise}}"
            return rf"\begin{{cases}} {rows} \end{{cases}}", ATOM
        if op == "dot":
            return " + ".join(f"{a} \\cdot {self.parentheses(b)}" for a, b in zip(*halves(texts), strict=True)), SUM
        if op == "table":
            return f"{_table_name(e)}{self.parentheses(', '.join(texts))}", ATOM
        return f"{_OPERATORS[op]}{self.parentheses(', '.join(texts))}", ATOM


def _table_name(e: Expr) -> str:
    table, orders = e.data
    name = symbol_latex(table.name)
    if not any(orders):
        return name
    return name + "'" * orders[0] if len(orders) == 1 else f"{name}^{{({','.join(map(str, orders))})}}"


def to_latex(e: Expr, named: Mapping[int, str] | None = None) -> str:
    r"""The expression in LaTeX; nodes in ``named`` (by id) appear under their name.

    >>> from jourdain.symbolic import sin, symbols
    >>> m, l1, omega = symbols("m l1 omega")
    >>> to_latex(m * l1 * sin(omega) ** 2 / 2)
    '\\frac{1}{2} m l_{1} \\sin^{2}(\\omega)'
    """
    return write(e, Latex(), named).text


def _equation(left: str, e: Expr, named: Mapping[int, str], width: int = 150) -> str:
    """One row of an align environment; long sums are broken between terms."""
    text = to_latex(e, named)
    if len(text) <= width or e.op not in ("add", "sub", "neg"):
        return f"{left} &= {text}"
    depth, last, rows = 0, 0, []
    for match in re.finditer(r"\\left|\\right|\\begin|\\end|[{}()]| [+-] ", text):
        token = match[0]
        if token in ("{", "(", r"\begin"):
            depth += 1
        elif token in ("}", ")", r"\end"):
            depth -= 1
        elif token[0] == " " and depth == 0 and match.start() - last > width // 2:
            rows.append(text[last : match.start()])
            last = match.start() + 1
    rows.append(text[last:])
    return f"{left} &= " + " \\\\\n  &\\quad ".join(rows)


def _shared(f: SymbolicFunction) -> dict[int, tuple[str, Expr]]:
    """Values used more than once get a name when writing them out would make the equations long."""
    order = topological(f.expressions)
    if len(order) <= 150:
        return {}
    uses = use_counts(order, f.expressions)
    worth = (e for e in order if e.args and uses[e.id] > 1 and e.op != "neg" and any(a.args for a in e.args))
    return {e.id: (f"x_{{{i}}}", e) for i, e in enumerate(worth, 1)}


def print_latex(f: SymbolicFunction) -> str:
    """The function as an align environment; large functions with named intermediate values first."""
    shared = _shared(f)
    named = {i: name for i, (name, _) in shared.items()}
    operations = operation_counts(f.operations() + f.prepare_operations())
    lines = [f"% {f.title or f.name}".replace("\n", " "), f"% function {f.name}, operations: {operations}"]
    for a in f.inputs:
        names = ", ".join(f"{s.name} ({s.data[1]})" for s in a.symbols)
        lines.append(f"% {a.name}: {a.description + ': ' if a.description else ''}{names}".replace("\n", " "))
    rows = [_equation(name, e, named) for name, e in shared.values()]
    for r in f.outputs:
        for index, e in zip(indices(r.shape), r.expressions, strict=True):
            if not e.is_zero or len(r.expressions) == 1:
                place = "_{" + ",".join(str(k + 1) for k in index) + "}" if index else ""
                left = f"{symbol_latex(r.name)}" if not place else f"{{{symbol_latex(r.name)}}}{place}"
                rows.append(_equation(left, e, named) if e.id not in named else f"{left} &= {named[e.id]}")
    return "\n".join([*lines, r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"]) + "\n"
