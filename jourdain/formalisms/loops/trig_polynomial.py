"""Constraint rows as polynomials in the cosines and sines of unknown angles and in unknown displacements.

Coordinates enter a row inside sines and cosines as sums of angles, or bare.  An *angle variable* is such a sum, an
unknown part U plus what is already known (the absolute angle of a coupler, say); arguments with the same U share it.
Angles already solved are known by their cosine and sine, never by the angle itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...symbolic.expr import ONE, ZERO, Expr, add, constant, mul, neg, sub, unary
from ...symbolic.graph import evaluate, free_symbols, rebuild, topological

#: A generator of a polynomial: ("C" or "S", angle variable) or ("V", coordinate).
Generator = tuple[str, "Variable"]
Monomial = tuple[tuple[Generator, int], ...]
Polynomial = dict[Monomial, Expr]

HIGHEST_DEGREE = 4


class NotPolynomial(Exception):
    """The row is no polynomial of the wanted kind; the text says why."""


@dataclass
class Form:
    """Σ coefficient·symbol + rest, the symbols being unknown coordinates and solved angles."""

    parts: dict[Expr, float]
    rest: Expr

    def plus(self, other: Form, factor: float = 1.0) -> Form:
        """This + factor·other."""
        parts = dict(self.parts)
        for s, k in other.parts.items():
            parts[s] = parts.get(s, 0.0) + factor * k
        return Form({s: k for s, k in parts.items() if k != 0.0}, add(self.rest, mul(constant(factor), other.rest)))

    def expression(self) -> Expr:
        """The form as an expression."""
        total = self.rest
        for s, k in self.parts.items():
            total = add(total, mul(constant(k), s))
        return total


@dataclass(frozen=True)
class Variable:
    """An unknown of a row: a coordinate itself, or an angle (unknown part + known offset)."""

    key: tuple[tuple[int, float], ...]
    angle: bool
    form: Form = field(compare=False, hash=False)

    @property
    def unknowns(self) -> set[int]:
        """Numbers of the coordinates in it."""
        return {i for i, _ in self.key}


class Rewriter:
    """Knows which coordinates are unknown, and how those already solved follow from solved variables."""

    def __init__(self, unknown: Iterable[Expr]) -> None:
        self.unknown: dict[int, Expr] = {q.id: q for q in unknown}
        self.dependent = set(self.unknown)
        #: coordinates already expressed by unknown ones, solved angles and known quantities
        self.forms: dict[int, Form] = {}
        #: cosine and sine of each solved angle
        self.turns: dict[Expr, tuple[Expr, Expr]] = {}
        self._touched: dict[int, bool] = {}

    def touched(self, e: Expr) -> bool:
        """Whether an expression depends on a dependent coordinate, solved or not."""
        found = self._touched.get(e.id)
        if found is None:
            for node in topological([e]):
                if node.id not in self._touched:
                    self._touched[node.id] = node.id in self.dependent or any(self._touched[a.id] for a in node.args)
            found = self._touched[e.id]
        return found

    # -- sums of angles -------------------------------------------------------------------------------------------

    def form(self, e: Expr) -> Form | None:
        """An expression as a sum with numbers as factors of dependent coordinates; None if it is none."""
        if not self.touched(e):
            return Form({}, e)
        if e.id in self.forms:
            return self.forms[e.id]
        if e.op == "symbol":
            return Form({e: 1.0}, ZERO)
        if e.op == "neg":
            a = self.form(e.args[0])
            return None if a is None else Form({}, ZERO).plus(a, -1.0)
        if e.op in ("add", "sub"):
            a, b = (self.form(x) for x in e.args)
            return None if a is None or b is None else a.plus(b, 1.0 if e.op == "add" else -1.0)
        if e.op == "mul" and e.args[0].is_number:
            a = self.form(e.args[1])
            return None if a is None else Form({}, ZERO).plus(a, float(e.args[0]))
        return None

    def turn(self, known: Form) -> tuple[Expr, Expr]:
        """Cosine and sine of a known sum of angles."""
        c, s = unary("cos", known.rest), unary("sin", known.rest)
        for angle, k in known.parts.items():
            ck, sk = self.turns[angle]
            if abs(k) != round(abs(k)) or abs(k) > 4:
                ck, sk, n = unary("cos", mul(constant(k), angle)), unary("sin", mul(constant(k), angle)), 1
            else:
                n, sk = int(abs(k)), sk if k > 0 else neg(sk)
            for _ in range(n):
                c, s = sub(mul(c, ck), mul(s, sk)), add(mul(s, ck), mul(c, sk))
        return c, s

    # -- everything solved ----------------------------------------------------------------------------------------

    def rewrite(self, expressions: Sequence[Expr]) -> list[Expr]:
        """Expressions in terms of independent coordinates and solved variables (nothing may be unknown any more)."""
        new: dict[int, Expr] = {i: f.expression() for i, f in self.forms.items()}
        for e in topological(expressions):
            if e.id in new:
                continue
            if e.op in ("sin", "cos") and self.touched(e):
                known = self.form(e.args[0])
                if known is not None:
                    new[e.id] = self.turn(known)[e.op == "sin"]
                    continue
            args = [new[a.id] for a in e.args]
            new[e.id] = e if all(p is q for p, q in zip(args, e.args, strict=True)) else rebuild(e, args)
        return [new[e.id] for e in expressions]


class Expansion:
    """Polynomials of rows in the unknowns that a rewriter still has."""

    def __init__(self, rewriter: Rewriter, zero: ZeroTest) -> None:
        self.rewriter = rewriter
        self.zero = zero
        self.variables: dict[tuple[tuple[int, float], ...], Variable] = {}
        self._memo: dict[int, Polynomial] = {}

    def polynomial(self, e: Expr) -> Polynomial:
        """The row with terms that vanish identically left out."""
        return self.clean(self._expand(e))

    def clean(self, p: Polynomial) -> Polynomial:
        """Without terms whose coefficient is zero."""
        return {m: k for m, k in p.items() if not self.zero(k)}

    def _expand(self, e: Expr) -> Polynomial:
        for node in topological([e]):
            if node.id not in self._memo:
                self._memo[node.id] = self._node(node)
        return self._memo[e.id]

    def _node(self, e: Expr) -> Polynomial:
        r = self.rewriter
        if not r.touched(e):
            return {(): e} if e is not ZERO else {}
        if e.op == "symbol":
            return self._bare(r.forms.get(e.id, Form({e: 1.0}, ZERO)))
        if e.op in ("sin", "cos"):
            return self._trigonometric(e)
        parts = [self._memo[a.id] for a in e.args]
        if e.op in ("add", "sub"):
            return sum_of(parts[0], parts[1], 1.0 if e.op == "add" else -1.0)
        if e.op == "neg":
            return sum_of({}, parts[0], -1.0)
        if e.op == "mul":
            return self.product(parts[0], parts[1])
        known = [value_of(p) for p in parts]
        if all(k is not None for k in known):
            return {(): rebuild(e, [k for k in known if k is not None])}
        if e.op == "div" and known[1] is not None:
            inverse: Polynomial = {(): ONE / known[1]}
            return self.product(parts[0], inverse)
        raise NotPolynomial(f"an unknown stands under '{e.op}'")

    def _bare(self, form: Form) -> Polynomial:
        unknown, known = self._split(form)
        p: Polynomial = {(): known.expression()} if known.parts or known.rest is not ZERO else {}
        for s, k in unknown.items():
            p[(((("V", self._variable({s: 1.0}, None)), 1)),)] = constant(k)
        return p

    def _split(self, form: Form) -> tuple[dict[Expr, float], Form]:
        unknown = {s: k for s, k in form.parts.items() if s.id in self.rewriter.unknown}
        return unknown, Form({s: k for s, k in form.parts.items() if s.id not in self.rewriter.unknown}, form.rest)

    def _variable(self, unknown: dict[Expr, float], known: Form | None) -> Variable:
        key = tuple(sorted((s.id, k) for s, k in unknown.items()))
        lookup = key if known is not None else ((-1, 0.0), *key)
        if lookup not in self.variables:
            offset = known if known is not None else Form({}, ZERO)
            self.variables[lookup] = Variable(key, known is not None, Form(dict(unknown), ZERO).plus(offset))
        return self.variables[lookup]

    def _trigonometric(self, e: Expr) -> Polynomial:
        """cos or sin of (angle variable + known difference), the sign of the variable taken positive."""
        form = self.rewriter.form(e.args[0])
        if form is None:
            inner = value_of(self._memo[e.args[0].id])
            if inner is None:
                raise NotPolynomial("an unknown angle is multiplied by a parameter or stands in a law")
            return {(): unary(e.op, inner)}
        unknown, known = self._split(form)
        if not unknown:
            c, s = self.rewriter.turn(known)
            return {(): c if e.op == "cos" else s}
        sign = 1.0 if min(unknown.items(), key=lambda item: item[0].id)[1] > 0 else -1.0
        unknown = {s: sign * k for s, k in unknown.items()}
        known = Form({}, ZERO).plus(known, sign)
        v = self._variable(unknown, known)
        shift = known.plus(self._split(v.form)[1], -1.0)
        c0, s0 = self.rewriter.turn(shift)
        C, S = ((("C", v), 1),), ((("S", v), 1),)
        p: Polynomial = {C: c0, S: neg(s0)} if e.op == "cos" else {S: mul(constant(sign), c0), C: mul(constant(sign), s0)}
        return {m: k for m, k in p.items() if k is not ZERO}

    def product(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """a·b with sin² of every variable replaced by 1 − cos²."""
        total: Polynomial = {}
        for m1, k1 in a.items():
            for m2, k2 in b.items():
                powers: dict[Generator, int] = dict(m1)
                for g, n in m2:
                    powers[g] = powers.get(g, 0) + n
                if sum(powers.values()) > HIGHEST_DEGREE:
                    raise NotPolynomial(f"unknowns are multiplied with each other to a degree above {HIGHEST_DEGREE}")
                for m, k in _reduced(powers, mul(k1, k2)):
                    total[m] = add(total.get(m, ZERO), k)
        return {m: k for m, k in total.items() if k is not ZERO}


def _reduced(powers: dict[Generator, int], k: Expr) -> list[tuple[Monomial, Expr]]:
    for g, n in powers.items():
        if g[0] == "S" and n >= 2:
            less = {**powers, g: n - 2}
            cosine = ("C", g[1])
            return _reduced(less, k) + _reduced({**less, cosine: less.get(cosine, 0) + 2}, neg(k))
    return [(tuple(sorted(((g, n) for g, n in powers.items() if n), key=_order)), k)]


def _order(item: tuple[Generator, int]) -> tuple[str, str]:
    return item[0][0], repr(item[0][1].key)


def sum_of(a: Mapping[Monomial, Expr], b: Mapping[Monomial, Expr], factor: float = 1.0) -> Polynomial:
    """a + factor·b."""
    total = dict(a)
    for m, k in b.items():
        total[m] = add(total.get(m, ZERO), mul(constant(factor), k))
    return {m: k for m, k in total.items() if k is not ZERO}


def value_of(p: Mapping[Monomial, Expr]) -> Expr | None:
    """The value of a polynomial without unknowns."""
    return p.get((), ZERO) if all(m == () for m in p) else None


def variables_of(p: Iterable[Monomial]) -> list[Variable]:
    """The variables of a polynomial, in order of appearance."""
    found: dict[Variable, None] = {}
    for m in p:
        for g, _ in m:
            found.setdefault(g[1])
    return list(found)


class ZeroTest:
    """Whether an expression vanishes identically: tried at random values (cosine and sine of one angle belong together)."""

    def __init__(self, samples: int = 3) -> None:
        self._rngs = [np.random.default_rng(k) for k in range(samples)]
        self._values: list[dict[Expr, float]] = [{} for _ in range(samples)]

    def tie(self, angle: Expr, cosine: Expr, sine: Expr) -> None:
        """Makes three symbols an angle with its cosine and sine."""
        for rng, values in zip(self._rngs, self._values, strict=True):
            x = float(rng.uniform(-3.0, 3.0))
            values[angle], values[cosine], values[sine] = x, float(np.cos(x)), float(np.sin(x))

    def __call__(self, e: Expr) -> bool:
        if e.is_number:
            return e is ZERO
        symbols, nodes = free_symbols([e]), topological([e])
        for rng, values in zip(self._rngs, self._values, strict=True):
            for s in symbols:
                if s not in values:
                    values[s] = float(rng.uniform(0.3, 1.7))
            numbers = {n.id: abs(float(x)) for n, x in zip(nodes, evaluate(nodes, {s: values[s] for s in symbols}), strict=True)}
            if not numbers[e.id] <= 1e-11 * _size(nodes, numbers):
                return False
        return True


def _size(nodes: Sequence[Expr], numbers: Mapping[int, float]) -> float:
    """Size that the last node would have if nothing in it cancelled."""
    size: dict[int, float] = {}
    for e in nodes:
        parts = [size[a.id] for a in e.args]
        if e.op in ("add", "sub"):
            size[e.id] = parts[0] + parts[1]
        elif e.op == "mul":
            size[e.id] = parts[0] * parts[1]
        elif e.op == "div":
            size[e.id] = parts[0] / numbers[e.args[1].id]
        else:
            size[e.id] = parts[0] if e.op == "neg" else numbers[e.id]
    return size[nodes[-1].id]
