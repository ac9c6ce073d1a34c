"""How a derivation is written: equations as groups of terms, names taken from the model, text and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...symbolic.expr import Expr, mul
from ...symbolic.graph import operations, substitute, topological
from ...symbolic.printers.latex import symbol_latex
from ..explicit import Notation, shortened
from .free_bodies import Mechanics
from .speeds import MOST_SIMPLIFIED, Speeds, tidy

#: Letters of a line of text, and letters beyond which an expression is counted instead of shown.
WIDTH = 110
LONGEST = 1500
#: Brackets within brackets are not broken.
DEEPEST = 1


# --- what is shown ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Formula:
    """Something written as it stands, in text and in LaTeX."""

    text: str
    latex: str


def name(text: str) -> Formula:
    """A name such as ``F_rod_x``, with its parts as subscripts in LaTeX."""
    text = re.sub(r"[^0-9A-Za-z_δΔ]+", "_", text)
    return Formula(text, symbol_latex(text))


def indexed(text: str, latex: str, *index: str) -> Formula:
    """A letter with an index, such as ω_disk_x."""
    inner = symbol_latex("_".join(["x", *index])).removeprefix("x_{").removesuffix("}")
    return Formula("_".join([text, *index]), f"{latex}_{{{inner}}}")


@dataclass(frozen=True)
class Scaled:
    """factor·rate, the factor in brackets where it is a sum: an inertia with its acceleration."""

    factor: Expr
    rate: Expr


Term = Expr | Formula | Scaled


@dataclass(frozen=True)
class Line:
    """One displayed equation: the terms of both sides, each term a group with one physical meaning."""

    left: Sequence[Term]
    right: Sequence[Term]
    note: str = ""


@dataclass(frozen=True)
class Step:
    """One step of a derivation: a title, a few sentences and equations."""

    title: str
    text: str
    lines: Sequence[Line] = ()


def equals(left: str | Term, *right: Term, note: str = "") -> Line:
    """name = terms."""
    return Line([name(left) if isinstance(left, str) else left], right, note)


# --- notation --------------------------------------------------------------------------------------------------------


class ModelNotation(Notation):
    """Short names taken from the model: a joint of one coordinate by its name, others by the coordinate's."""

    def __init__(self, mechanics: Mechanics, speeds: Speeds, names: Mapping[str, str] | None) -> None:
        super().__init__(mechanics.tree, {**short_names(mechanics), **dict(names or {})}, shortened)
        if speeds.quasi:
            for u, rate, text in zip(speeds.u, speeds.u_dot, speeds.names, strict=True):
                latex = symbol_latex(text)
                self.entries.append((u, text, latex, ""))
                self.entries.append((rate, f"{text}'", rf"\dot{{{latex}}}", ""))

    def shown(self, e: Expr) -> Expr:
        """The readable form, where it is not too large to be made, with fractions as such."""
        if operations([e]).flops > MOST_SIMPLIFIED:
            return e
        e = super().shown(tidy(e))
        fractions = {x: f for x in topological([e]) if x.op == "const" and (f := _fraction(x.data)) != x.data}
        return substitute([e], fractions)[0] if fractions else e


def _fraction(x: float) -> float:
    """The fraction of small whole numbers that rounding has turned into this number."""
    near = Fraction(x).limit_denominator(360)
    return float(near) if near and abs(float(near) - x) <= 1e-11 * abs(x) else x


def short_names(mechanics: Mechanics) -> dict[str, str]:
    """Coordinate → short name; where a name is taken already, the full one with underscores."""
    taken = {*mechanics.model.parameter_set.names, *mechanics.model.inputs, *mechanics.model.states, "g", "t"}
    coordinates = [c for c in mechanics.tree.coordinates if not c.is_quaternion]
    joints = [c.names[0].rpartition(".")[0] for c in coordinates]
    wanted = [j if joints.count(j) == 1 else c.names[0].rpartition(".")[2] for c, j in zip(coordinates, joints, strict=True)]
    found = {}
    for c, short in zip(coordinates, wanted, strict=True):
        free = short.isidentifier() and short not in taken and wanted.count(short) == 1
        found[c.names[0]] = short if free else re.sub(r"\W+", "_", c.names[0])
    return found


# --- rendering -------------------------------------------------------------------------------------------------------


def expressions_of(term: Term) -> list[Expr]:
    if isinstance(term, Scaled):
        return [term.factor, term.rate]
    return [] if isinstance(term, Formula) else [term]


def _joined(terms: Sequence[str]) -> str:
    shown = [t for t in terms if t != "0"]
    return shown[0] + "".join(f" - {t[1:]}" if t.startswith("-") else f" + {t}" for t in shown[1:]) if shown else "0"


def _written(term: Term, write: Callable[[Expr], str], notation: ModelNotation, latex: bool) -> str:
    if isinstance(term, Formula):
        return term.latex if latex else term.text
    if isinstance(term, Scaled):
        factor = notation.shown(term.factor)
        if factor.op in ("add", "sub") and factor.args:
            inner = _short(factor, write, latex)
            rate = write(term.rate)
            return rf"\bigl({inner}\bigr) {rate}" if latex else f"({inner})*{rate}"
        return _short(mul(factor, term.rate), write, latex)
    return _short(notation.shown(term), write, latex)


def _short(e: Expr, write: Callable[[Expr], str], latex: bool) -> str:
    size = operations([e]).flops
    text = write(e) if size <= MOST_SIMPLIFIED else ""
    if text and len(text) <= LONGEST * (3 if latex else 1):
        return text
    return rf"\langle {size}\ \text{{operations}} \rangle" if latex else f"<{size} operations>"


def text_line(line: Line, notation: ModelNotation) -> str:
    left, right = (_joined([_written(t, notation.text, notation, False) for t in side]) for side in (line.left, line.right))
    note = f"   [{line.note}]" if line.note else ""
    return "\n       ".join(broken(f"{left} = {right}", WIDTH - 10, len)) + note


def latex_line(line: Line, notation: ModelNotation) -> str:
    left, right = (_joined([_written(t, notation.latex, notation, True) for t in side]) for side in (line.left, line.right))
    note = rf" && \text{{{escaped(line.note)}}}" if line.note else ""
    if _seen(f"{left} = {right}") <= 95:
        return f"{left} &= {right}{note}"
    return "& " + " \\\\\n& \\quad ".join(broken(f"{left} = {right}", 95, _seen)) + note


def _seen(latex: str) -> int:
    """Letters that a reader sees of LaTeX source, roughly."""
    return len(re.sub(r"\\(?:d?dot|left|right|bigl|bigr|mathrm|frac|quad)|[{}_^\\ ]", "", latex))


def broken(text: str, width: int, length: Callable[[str], int], depth: int = 0) -> list[str]:
    """A sum or equation in lines, broken before signs that stand outside all brackets, or inside where a bracket is too long."""
    lines: list[str] = []
    for piece in _pieces(text, depth):
        parts = [piece]
        if length(piece) > width and depth < DEEPEST:
            parts = broken(piece, width, length, depth + 1)
        if lines and len(parts) == 1 and length(f"{lines[-1]} {piece}") <= width:
            lines[-1] += f" {piece}"
        else:
            lines += parts
    return lines


def _pieces(text: str, at: int) -> list[str]:
    depth, pieces, last = 0, [], 0
    for match in re.finditer(r"\\begin|\\end|[{}()\[\]]| [+=-] ", text):
        token = match[0]
        if token in ("{", "(", "[", r"\begin"):
            depth += 1
        elif token in ("}", ")", "]", r"\end"):
            depth -= 1
        elif depth == at:
            pieces.append(text[last : match.start()])
            last = match.start() + 1
    return [*pieces, text[last:]]


def escaped(text: str) -> str:
    return re.sub(r"([#$%&_{}])", r"\\\1", text.replace("\\", r"\textbackslash "))
