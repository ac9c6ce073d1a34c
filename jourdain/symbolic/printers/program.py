"""Straight-line programs: a symbolic function as one assignment for each shared value, in any language."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from ..expr import PARAMETER, Expr, halves
from ..function import Argument, Result, SymbolicFunction
from ..graph import Operations, topological
from ..tables import Table

OR, AND, COMPARE, SUM, PRODUCT, ATOM = range(1, 7)
_INFIX = {"add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT)}
#: Longest text of a value that is written where it is used instead of getting a name.
INLINE = 64


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


class Piece(NamedTuple):
    """Text of a value, how tightly its outermost operation binds, and whether it is a truth value."""

    text: str
    precedence: int
    logical: bool = False


def wrapped(piece: Piece, precedence: int) -> str:
    """The text, in parentheses if it binds less tightly than asked for."""
    return piece.text if piece.precedence >= precedence else f"({piece.text})"


class Language:
    """How a language writes numbers, operations, array elements and names; subclasses fill in the tables."""

    name = ""
    comment = "//"
    keywords: frozenset[str] = frozenset()
    case_sensitive = True
    #: Calls of functions; {0} … are the operands.
    calls: Mapping[str, str] = MappingProxyType({})
    conjunction, disjunction, negation = "&&", "||", "!({0})"
    unequal = "!="
    truth = "({0} ? 1.0 : 0.0)"

    def number(self, value: float) -> str:
        """A literal that reads back to the same value."""
        return repr(float(value))

    def element(self, array: str, index: int) -> str:
        """Element of an input array, counted from zero."""
        return f"{array}[{index}]"

    def lookup(self, function: str, table: str, content: Table, orders: Sequence[int], operands: Sequence[str]) -> str:
        """Call of the look-up routine for a table or its partial derivative."""
        raise NotImplementedError

    def piece(self, e: Expr, operands: Sequence[Piece]) -> Piece:
        """Text of one operation on written operands."""
        op = e.op
        if op in _INFIX:
            return self._infix(op, e, [self._numeric(p) for p in operands])
        if op == "dot":
            pairs = zip(*halves([self._numeric(p) for p in operands]), strict=True)
            return Piece(" + ".join(f"{wrapped(a, PRODUCT)}*{wrapped(b, PRODUCT)}" for a, b in pairs), SUM)
        if op == "neg":
            return Piece("-" + wrapped(self._numeric(operands[0]), PRODUCT), SUM)
        if op in ("lt", "le"):
            a, b = (wrapped(self._numeric(p), SUM) for p in operands)
            return Piece(f"{a} {'<' if op == 'lt' else '<='} {b}", COMPARE, True)
        if op in ("and", "or", "not"):
            return self._logical_operation(op, [self._logical(p) for p in operands])
        if op == "where":
            condition = self._logical(operands[0]).text
            return self.branch(condition, *(self._numeric(p).text for p in operands[1:]))
        return self.call(op, [self._numeric(p) for p in operands])

    def call(self, op: str, operands: Sequence[Piece]) -> Piece:
        """Call of a function of numbers."""
        return Piece(self.calls[op].format(*(p.text for p in operands)), ATOM)

    def branch(self, condition: str, a: str, b: str) -> Piece:
        """Choice between two values."""
        return Piece(self.calls["where"].format(condition, a, b), ATOM)

    def _logical_operation(self, op: str, operands: Sequence[Piece]) -> Piece:
        if op == "not":
            return Piece(self.negation.format(operands[0].text), ATOM, True)
        sign, precedence = (self.conjunction, AND) if op == "and" else (self.disjunction, OR)
        # A mixture of "and" and "or" always gets parentheses: compilers warn and readers stumble without.
        a, b = (p.text if p.precedence >= COMPARE else f"({p.text})" for p in operands)
        return Piece(f"{a} {sign} {b}", precedence, True)

    def _infix(self, op: str, e: Expr, operands: list[Piece]) -> Piece:
        sign, precedence = _INFIX[op]
        a, b = operands
        if op == "add" and e.args[0].op == "const":
            if e.args[0].data < 0.0:
                return Piece(f"{wrapped(b, SUM)} - {self.number(-e.args[0].data)}", SUM)
            a, b = b, a
        elif op in ("add", "mul") and b.precedence == precedence < a.precedence and not b.text.startswith("-"):
            a, b = b, a  # x + (y + z) is y + z + x, evaluated in the same order
        right = wrapped(b, precedence + 1)
        if right.startswith("-"):
            right = f"({right})"
        space = " " if precedence == SUM else ""
        return Piece(f"{wrapped(a, precedence)}{space}{sign}{space}{right}", precedence)

    def _numeric(self, piece: Piece) -> Piece:
        return Piece(self.truth.format(piece.text), ATOM) if piece.logical else piece

    def _logical(self, piece: Piece) -> Piece:
        if piece.logical:
            return piece
        return Piece(f"{wrapped(piece, SUM)} {self.unequal} {self.number(0.0)}", COMPARE, True)

    def value(self, piece: Piece) -> str:
        """Text of a value to be stored."""
        return self._numeric(piece).text

    def identifier(self, name: str, taken: Iterable[str] = ()) -> str:
        """A legal name close to the given one, different from those taken."""
        text = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "x"
        if text[0].isdigit():
            text = "x" + text
        same = (lambda s: s) if self.case_sensitive else str.lower
        used = {same(t) for t in taken} | self.keywords
        candidates = itertools.chain([text, text + "_"], (f"{text}_{n}" for n in itertools.count(2)))
        return next(c for c in candidates if same(c) not in used)


@dataclass
class Program:
    """Assignments in order of evaluation: those of parameters alone first, then the rest, then the results."""

    function: SymbolicFunction
    language: Language
    name: str
    inputs: list[str]
    outputs: list[str]
    prepare: list[tuple[str, str]] = field(default_factory=list)
    body: list[tuple[str, str]] = field(default_factory=list)
    results: list[list[str]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    tables: dict[Table, str] = field(default_factory=dict)
    ops: set[str] = field(default_factory=set)

    def assignments(self, result: int) -> list[tuple[tuple[int, ...], str, Expr]]:
        """(index, text, expression) of every element of a result."""
        r = self.function.outputs[result]
        return [(i, t, e) for i, t, e in zip(indices(r.shape), self.results[result], r.expressions, strict=True)]


def indices(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Index tuples of an array, row by row."""
    out: list[tuple[int, ...]] = [()]
    for n in shape:
        out = [(*i, j) for i in out for j in range(n)]
    return out


def argument_names(f: SymbolicFunction) -> list[str]:
    """Names of inputs and outputs."""
    return [a.name for a in f.inputs] + [r.name for r in f.outputs]


def is_parameters(a: Argument) -> bool:
    """Whether an argument holds parameters alone."""
    return bool(a.symbols) and all(s.deps == PARAMETER for s in a.symbols)


def use_counts(order: Sequence[Expr], outputs: Sequence[Expr]) -> dict[int, int]:
    """How often each value is used; a change of sign passes its uses on, being written wherever it occurs."""
    uses = dict.fromkeys((e.id for e in order), 0)
    for e in outputs:
        uses[e.id] += 1
    for e in reversed(order):
        n = uses[e.id] if e.op == "neg" else 1
        for a in e.args:
            uses[a.id] += n
    return uses


def _boundary(order: Sequence[Expr], outputs: Sequence[Expr]) -> dict[int, Expr]:
    """Values of parameters alone that the rest of the function needs (without their signs)."""
    found: dict[int, Expr] = {}

    def note(e: Expr) -> None:
        if e.op == "neg":
            e = e.args[0]
        if not e.deps & ~PARAMETER and e.op != "const":
            found.setdefault(e.id, e)

    for e in order:
        if e.deps & ~PARAMETER:
            for a in e.args:
                note(a)
    for e in outputs:
        note(e)
    return found


class _Names:
    """Names of temporaries: s1 and c1 for sine and cosine of the same angle, k1 … prepared values, t1 … the rest."""

    def __init__(self, taken: Iterable[str]) -> None:
        taken = [t.lower() for t in taken]
        self.prefix = {}
        for p in "sckt":
            free = p
            while any(re.fullmatch(free + r"\d+", t) for t in taken):
                free += "_"
            self.prefix[p] = free
        self.angles: dict[int, int] = {}
        self.counts = {"k": 0, "t": 0}

    def __call__(self, e: Expr, prepared: bool) -> str:
        if e.op in ("sin", "cos") and not prepared:
            number = self.angles.setdefault(e.args[0].id, len(self.angles) + 1)
            return f"{self.prefix[e.op[0]]}{number}"
        kind = "k" if prepared else "t"
        self.counts[kind] += 1
        return f"{self.prefix[kind]}{self.counts[kind]}"


def _elements(f: SymbolicFunction, language: Language, inputs: Sequence[str]) -> dict[int, str]:
    """Text of every input symbol."""
    pairs = zip(f.inputs, inputs, strict=True)
    return {s.id: language.element(name, i) for a, name in pairs for i, s in enumerate(a.symbols)}


def straight_line(f: SymbolicFunction, language: Language, keep: str = "") -> Program:
    """The program of a function; with ``keep`` the prepared values come from an array of that name instead."""
    taken: list[str] = [language.identifier(f.name)]
    for name in argument_names(f):
        taken.append(language.identifier(name, taken))
    n = len(f.inputs)
    program = Program(f, language, taken[0], taken[1 : n + 1], taken[n + 1 :])
    outputs = f.expressions
    order = topological(outputs)
    uses = use_counts(order, outputs)
    boundary = _boundary(order, outputs)
    new_name = _Names([*taken, *language.keywords])
    pieces: dict[int, Piece] = {i: Piece(text, ATOM) for i, text in _elements(f, language, program.inputs).items()}
    inside = dict(pieces)  # what the prepared part itself sees; the rest sees the array of kept values

    for prepared in (True, False):
        known = inside if prepared else pieces
        target = program.prepare if prepared else program.body
        for e in order:
            if bool(e.deps & ~PARAMETER) == prepared:
                continue
            if e.op == "symbol":
                piece = known[e.id]
            elif e.op == "const":
                piece = Piece(language.number(e.data), ATOM if e.data >= 0 else SUM)
            else:
                piece = _written(program, e, [known[a.id] for a in e.args])
                wanted = uses[e.id] > 1 or len(piece.text) > INLINE or (prepared and e.id in boundary)
                if wanted and e.op != "neg":
                    name = new_name(e, prepared)
                    target.append((name, language.value(piece)))
                    piece = Piece(name, ATOM)
            known[e.id] = piece
            if prepared:
                pieces[e.id] = piece
                if keep and e.id in boundary:
                    pieces[e.id] = Piece(language.element(keep, len(program.kept)), ATOM)
                    program.kept.append(language.value(piece))
                elif keep and e.op == "neg" and e.args[0].id in boundary:
                    pieces[e.id] = language.piece(e, [pieces[e.args[0].id]])
    values = iter([language.value(pieces[e.id]) for e in outputs])
    program.results = [[next(values) for _ in r.expressions] for r in f.outputs]
    return program


def _written(program: Program, e: Expr, operands: list[Piece]) -> Piece:
    language = program.language
    if e.op != "table":
        program.ops.add(e.op)
        return language.piece(e, operands)
    table, orders = e.data
    if table not in program.tables:
        program.tables[table] = language.identifier(f"{program.name}_{table.name}", program.tables.values())
    texts = [language.value(p) for p in operands]
    return Piece(language.lookup(program.name, program.tables[table], table, orders, texts), ATOM)


# --- header ------------------------------------------------------------------------------------------------------


def _plain(text: str) -> str:
    """Text safe inside a comment of any language: one line, no end-of-comment marks."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *").rstrip("\\")


def operation_counts(n: Operations) -> str:
    """Operation counts in words."""
    return f"{n.adds} additions, {n.mults} multiplications, {n.divs} divisions, {n.functions} function calls"


def header(program: Program, extra: Sequence[str] = ()) -> list[str]:
    """What every printed file says first: model, function, operations, arguments and their meaning."""
    f, language = program.function, program.language
    lines = [_plain(f.title or f.name), f"Function {f.name}; generated by Jourdain, SI units."]
    lines += [_plain(note) for note in f.notes]
    lines += ["", f"Operations of a call: {operation_counts(f.operations())}"]
    lines += [f"Once for given parameters: {operation_counts(f.prepare_operations())}"]
    lines += ["", "Arguments:"]
    for a, name in zip(f.inputs, program.inputs, strict=True):
        lines.append(f"  {name} ({len(a.symbols)}){_about(a)}")
        lines += [f"    {language.element(name, i)}  {_plain(s.name)} ({s.data[1]})" for i, s in enumerate(a.symbols)]
    lines.append("Results:")
    for r, name in zip(f.outputs, program.outputs, strict=True):
        lines.append(f"  {name} ({' x '.join(map(str, r.shape)) or 'scalar'}){_about(r)}")
    lines += ["", *extra] if extra else []
    return [f"{language.comment} {line}".rstrip() for line in lines]


def _about(item: Argument | Result) -> str:
    return f"  {_plain(item.description)}" if item.description else ""


def wrap_list(items: Sequence[str], separator: str = ", ", width: int = 100) -> list[str]:
    """Items joined into lines of at most about ``width`` characters."""
    lines: list[str] = []
    line = ""
    for i, item in enumerate(items):
        part = item + (separator if i + 1 < len(items) else "")
        if line and len(line) + len(part) > width:
            lines.append(line.rstrip())
            line = ""
        line += part
    return [*lines, line] if line else lines
