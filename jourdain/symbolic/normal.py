"""Normal forms: expressions as sums of products of atoms, for proofs of equality and for equations people read.

An *atom* is a symbol, a function of expanded arguments, or the inverse of a sum.  Even powers of a sine are written
with the cosine (sin² = 1 − cos²), squares of roots and absolute values are removed; sines and cosines of sums of
angles are expanded where asked.  Coefficients are floating-point numbers, and a term is dropped only when its
coefficient is exactly zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ..errors import InputError
from .expr import ONE, PARAMETER, ZERO, Expr, add, as_expr, constant, div, mul, nary, neg, sub, unary
from .graph import build, evaluate, free_symbols, topological

Monomial = tuple[tuple[int, int], ...]
Polynomial = dict[Monomial, float]

#: Products of two terms after which an expansion is given up (a few seconds).
MOST_WORK = 1_000_000


class _Algebra:
    """Polynomials in atoms; an atom is known by the number of its expression."""

    def __init__(self, trig: bool) -> None:
        self.trig = trig
        self.atoms: dict[int, Expr] = {}
        self.squares: dict[int, Polynomial] = {}
        self.sums: dict[int, Polynomial] = {}
        self.keys: dict[int, tuple[Any, ...]] = {}
        self.largest = 0.0
        self.work = 0

    # --- arithmetic ---

    def atom(self, e: Expr) -> Polynomial:
        """The polynomial of an expression taken as a whole."""
        if e.op == "const":
            return {(): e.data} if e.data else {}
        if e.op == "neg":
            return scaled(self.atom(e.args[0]), -1.0)
        self.atoms[e.id] = e
        return {((e.id, 1),): 1.0}

    def plus(self, a: Polynomial, b: Polynomial, factor: float = 1.0) -> Polynomial:
        """a + factor·b."""
        out = dict(a)
        for m, c in b.items():
            self._accumulate(out, m, factor * c)
        return out

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """a·b with squares of sines, roots and absolute values reduced."""
        self.work += len(a) * len(b)
        if self.work > MOST_WORK:
            raise InputError(f"multiplying out takes more than {MOST_WORK} products of terms: expand smaller parts")
        out: Polynomial = {}
        for ma, ca in a.items():
            for mb, cb in b.items():
                for m, c in self._product(ma, mb).items():
                    self._accumulate(out, m, ca * cb * c)
        return out

    def power(self, a: Polynomial, n: int) -> Polynomial:
        """aⁿ, n ≥ 0."""
        out: Polynomial = {(): 1.0}
        for _ in range(n):
            out = self.times(out, a)
        return out

    def inverse(self, a: Polynomial) -> Polynomial:
        """1/a: negative powers of the common factor and of what is left of the sum."""
        if not a:
            raise InputError("division by an expression that is zero when expanded")
        common = common_monomial(a)
        lead = a[min(a, key=self.monomial_key)]
        rest = {divided(m, common): c / lead for m, c in a.items()}
        out: Polynomial = {tuple((i, -n) for i, n in common): 1.0 / lead}
        if len(rest) == 1:
            return out
        if (square := self._inverse_sine_square(rest)) is not None:
            return self.times(out, square)
        total = self.expression(rest)
        sign = -1.0 if total.op == "neg" else 1.0
        total = total.args[0] if total.op == "neg" else total
        # the kernel writes a sum of products as the sine or cosine of a sum of angles: still a sum here
        if total.op not in ("add", "sub") and not (self.trig and total.op in ("sin", "cos")):
            return self.times(out, scaled(self.inverse_atom(total), sign))
        self.atoms[total.id] = total
        self.sums[total.id] = scaled(rest, sign)
        return self.times(out, {((total.id, -1),): sign})

    def _inverse_sine_square(self, a: Polynomial) -> Polynomial | None:
        """1/(cos² − 1) as −1/sin²."""
        if len(a) != 2 or a.get(()) != -1.0:
            return None
        [m] = (m for m in a if m)
        if len(m) != 1 or m[0][1] != 2 or self.atoms[m[0][0]].op != "cos":
            return None
        [(sine, sign)] = self.function("sin", self.atoms[m[0][0]].args[0]).items()
        return {tuple((i, -2 * n) for i, n in sine): -1.0 / sign**2}

    def inverse_atom(self, e: Expr) -> Polynomial:
        """1/e for a sum that the kernel has simplified to something else."""
        [(m, c)] = self.atom(e).items()
        return {tuple((i, -n) for i, n in m): 1.0 / c}

    def _accumulate(self, out: Polynomial, m: Monomial, c: float) -> None:
        total = out.get(m, 0.0) + c
        self.largest = max(self.largest, abs(c))
        if total == 0.0:
            out.pop(m, None)
        else:
            out[m] = total

    def _product(self, a: Monomial, b: Monomial) -> Polynomial:
        exponents = dict(a)
        for i, n in b:
            exponents[i] = exponents.get(i, 0) + n
        reduced: list[Polynomial] = []
        for i, n in exponents.items():
            if n >= 1 and i in self.sums:
                reduced.append(self.power(self.sums[i], n))
                exponents[i] = 0
            elif n >= 2 and i in self.squares:
                reduced.append(self.power(self.squares[i], n // 2))
                exponents[i] = n % 2
        out: Polynomial = {tuple(sorted((i, n) for i, n in exponents.items() if n)): 1.0}
        for p in reduced:
            out = self.times(out, p)
        return out

    # --- from expressions ---

    def polynomial(self, e: Expr) -> Polynomial:
        """The expression as a polynomial in atoms."""
        known: dict[int, Polynomial] = {}
        for x in topological([e]):
            known[x.id] = self._of_node(x, [known[a.id] for a in x.args])
        return known[e.id]

    def _of_node(self, e: Expr, operands: list[Polynomial]) -> Polynomial:
        op = e.op
        if not e.args:
            return self.atom(e)
        if op == "add" or op == "sub":
            return self.plus(operands[0], operands[1], 1.0 if op == "add" else -1.0)
        if op == "neg":
            return scaled(operands[0], -1.0)
        if op == "mul":
            return self.times(operands[0], operands[1])
        if op == "div":
            return self.times(operands[0], self.inverse(operands[1]))
        if op in ("sin", "cos", "tan") and self.trig:
            sine, cosine = self._angle(operands[0])
            if op == "tan":
                return self.times(sine, self.inverse(cosine))
            return sine if op == "sin" else cosine
        if op == "exp" and self.trig:
            return self._exponential(operands[0])
        args = [self.expression(p) for p in operands]
        made = nary("table", args, e.data) if op == "table" else build(op, args)
        self._note_square(made, operands[0])
        return self.atom(made)

    def _exponential(self, exponent: Polynomial) -> Polynomial:
        """exp of a sum as a product of powers."""
        out: Polynomial = {(): 1.0}
        for m in sorted(exponent, key=self.monomial_key):
            c = exponent[m]
            whole = int(c) if abs(c) in range(1, 9) and m else 1
            [(base, factor)] = self.atom(unary("exp", self.expression({m: c / whole}))).items()
            out = self.times(out, {tuple((i, whole * n) for i, n in base): factor})
        return out

    def _note_square(self, e: Expr, operand: Polynomial) -> None:
        """Remember what the square of a function is."""
        if e.op == "neg":
            e = e.args[0]
        if e.id in self.squares:
            return
        if e.op == "sqrt":
            self.squares[e.id] = operand
        elif e.op == "abs":
            self.squares[e.id] = self.times(operand, operand)
        elif e.op in ("sin", "sinh"):
            other = unary("cos" if e.op == "sin" else "cosh", e.args[0])
            square = self.times(self.atom(other), self.atom(other))
            one: Polynomial = {(): 1.0}
            self.squares[e.id] = self.plus(one, square, -1.0) if e.op == "sin" else self.plus(square, one, -1.0)

    def function(self, op: str, angle: Expr) -> Polynomial:
        """Sine or cosine of an angle as an atom."""
        made = unary(op, angle)
        self._note_square(made, {})
        return self.atom(made)

    def _angle(self, angle: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Sine and cosine of a sum by the addition theorem, term by term."""
        sine: Polynomial = {}
        cosine: Polynomial = {(): 1.0}
        for m in sorted(angle, key=self.monomial_key):
            s, c = self._single_angle(m, angle[m])
            sine, cosine = (
                self.plus(self.times(sine, c), self.times(cosine, s)),
                self.plus(self.times(cosine, c), self.times(sine, s), -1.0),
            )
        return sine, cosine

    def _single_angle(self, m: Monomial, coefficient: float) -> tuple[Polynomial, Polynomial]:
        if not m:
            # The nearest numbers to multiples of π/2 stand for them.
            sine, cosine = float(np.sin(coefficient)), float(np.cos(coefficient))
            return ({(): sine} if abs(sine) > 1e-15 else {}), ({(): cosine} if abs(cosine) > 1e-15 else {})
        times = int(abs(coefficient)) if abs(coefficient) in range(1, 9) else 1
        base = self.expression({m: abs(coefficient) / times})
        s1, c1 = self.function("sin", base), self.function("cos", base)
        s, c = s1, c1
        for _ in range(times - 1):
            s, c = (
                self.plus(self.times(s, c1), self.times(c, s1)), self.plus(self.times(c, c1), self.times(s, s1), -1.0)
            )  # fmt: skip
        return (scaled(s, -1.0) if coefficient < 0 else s), c

    # --- to expressions ---

    def atom_key(self, i: int) -> tuple[Any, ...]:
        """Place of an atom by its text, so that the order does not depend on how an expression was made."""
        found = self.keys.get(i)
        if found is None:
            from .printers.layout import natural
            from .printers.text import to_text

            e = self.atoms[i]
            found = self.keys[i] = (e.op != "symbol", natural(to_text(e, limit=300)), i)
        return found

    def monomial_key(self, m: Monomial) -> tuple[Any, ...]:
        """Order of terms: higher degree first, then by name; numbers last."""
        return (-sum(abs(n) for _, n in m), sorted((self.atom_key(i), -n) for i, n in m))

    def product(self, m: Monomial) -> Expr:
        """The expression of a monomial."""
        over, under = ONE, ONE
        for i, n in sorted(m, key=lambda f: self.atom_key(f[0])):
            p = self.atoms[i]
            for _ in range(abs(n)):
                over, under = (mul(over, p), under) if n > 0 else (over, mul(under, p))
        return over if under is ONE else div(over, under)

    def expression(self, a: Polynomial) -> Expr:
        """The expression of a polynomial, its terms in the order of names."""
        total = ZERO
        for m in sorted(a, key=self.monomial_key):
            term = mul(constant(abs(a[m])), self.product(m))
            total = add(total, term) if a[m] > 0 else sub(total, term)
        return total


def scaled(a: Polynomial, factor: float) -> Polynomial:
    """factor·a."""
    return {m: factor * c for m, c in a.items()}


def common_monomial(terms: Iterable[Monomial]) -> Monomial:
    """Greatest monomial that divides every term."""
    terms = list(terms)
    shared = dict(terms[0])
    for m in terms[1:]:
        exponents = dict(m)
        shared = {i: min(shared.get(i, 0), exponents.get(i, 0)) for i in {**shared, **exponents}}
    return tuple(sorted((i, n) for i, n in shared.items() if n))


def divided(a: Monomial, b: Monomial) -> Monomial:
    """a/b."""
    exponents = dict(a)
    for i, n in b:
        exponents[i] = exponents.get(i, 0) - n
    return tuple(sorted((i, n) for i, n in exponents.items() if n))


# --- what people use ---------------------------------------------------------------------------------------------


def expand(e: Any, trig: bool = False) -> Expr:
    """The expression multiplied out, like terms collected; with ``trig`` by the addition theorems as well.

    >>> from jourdain.symbolic import symbols
    >>> x, y = symbols("x y")
    >>> expand((x + y) ** 2 - x * x)
    2*x*y + y^2
    """
    algebra = _Algebra(trig)
    return algebra.expression(algebra.polynomial(as_expr(e)))


def coefficients(e: Any, wrt: Sequence[Expr]) -> dict[tuple[int, ...], Expr]:
    """Coefficients of the powers of the given symbols: {(2, 0): …} is the factor of wrt[0]²."""
    algebra = _Algebra(False)
    column = {x.id: k for k, x in enumerate(wrt)}
    parts: dict[tuple[int, ...], Polynomial] = {}
    for m, c in algebra.polynomial(as_expr(e)).items():
        powers = [0] * len(wrt)
        rest = []
        for i, n in m:
            if i in column:
                powers[column[i]] = n
            else:
                rest.append((i, n))
        parts.setdefault(tuple(powers), {})[tuple(rest)] = c
    return {powers: algebra.expression(p) for powers, p in sorted(parts.items(), reverse=True)}


def collect(e: Any, wrt: Sequence[Expr]) -> Expr:
    """The expression ordered by powers of the given symbols.

    >>> from jourdain.symbolic import symbols
    >>> a, b, x = symbols("a b x")
    >>> collect(a * x + b * x + a, [x])
    (a + b)*x + a
    """
    total = ZERO
    for powers, c in coefficients(e, wrt).items():
        term = c
        for x, n in zip(wrt, powers, strict=True):
            term = mul(term, x**n)
        total = add(total, term)
    return total


def factor_common(e: Any) -> Expr:
    """The expression with what all its terms have in common taken out.

    >>> from jourdain.symbolic import symbols
    >>> a, b, x = symbols("a b x")
    >>> factor_common(a * x * x + b * x)
    (a*x + b)*x
    """
    algebra = _Algebra(False)
    return _factored(algebra, algebra.polynomial(as_expr(e)), nested=False)


def equal(a: Any, b: Any) -> bool | None:
    """Whether two expressions are the same function, decided by algebra and checked by numbers.

    True: the difference, multiplied out with denominators cleared and angles expanded, vanishes (coefficients to
    rounding), and values at random points agree.  False: the values at some random point differ by more than rounding.
    None: the values agree but the algebra does not show why (functions it does not know enough about).
    """
    a, b = as_expr(a), as_expr(b)
    if a is b:
        return True
    if not _same_values(a, b):
        return False
    algebra = _Algebra(True)
    try:
        difference = algebra.plus(algebra.polynomial(a), algebra.polynomial(b), -1.0)
        difference = _without_denominators(algebra, difference)
    except InputError:
        return None
    bound = 1e-12 * algebra.largest
    return True if all(abs(c) <= bound for c in difference.values()) else None


def _without_denominators(algebra: _Algebra, a: Polynomial) -> Polynomial:
    for _ in range(20):
        lowest: dict[int, int] = {}
        for m in a:
            for i, n in m:
                lowest[i] = min(lowest.get(i, 0), n)
        clear = tuple(sorted((i, -n) for i, n in lowest.items() if n < 0))
        if not clear:
            break
        # One factor at a time: powers that cancel must do so before what is left of a sum is multiplied out.
        for i, n in clear:
            out: Polynomial = {}
            for m, c in a.items():
                for m2, c2 in algebra._product(m, ((i, n),)).items():
                    algebra._accumulate(out, m2, c * c2)
            a = out
    return a


def _same_values(a: Expr, b: Expr, points: int = 6) -> bool:
    """Whether values at random points agree within what rounding of the largest intermediate value explains."""
    rng = np.random.default_rng(20260101)
    values = {s: rng.uniform(0.2, 1.8, points) * rng.choice([-1.0, 1.0, 1.0], points) for s in free_symbols([a, b])}
    nodes = topological([a, b])
    results = evaluate(nodes, values)
    known = {e.id: np.broadcast_to(v, (points,)) for e, v in zip(nodes, results, strict=True)}
    good = np.isfinite(known[a.id]) & np.isfinite(known[b.id])
    sizes = np.array([np.where(np.isfinite(v), np.abs(v), 0.0) for v in known.values()])
    return bool(np.all(np.abs(known[a.id] - known[b.id])[good] <= 1e-10 * np.max(sizes, axis=0)[good]))


# --- readable form -----------------------------------------------------------------------------------------------


def readable(e: Any) -> Expr:
    """A short explicit form: multiplied out, angles gathered, common factors of parameters taken out; best effort.

    >>> from jourdain.symbolic import cos, sin, symbols
    >>> m, l = symbols("m l")
    >>> a, b = symbols("a b", "position")
    >>> readable(m * l * (cos(a) * cos(b) + sin(a) * sin(b)) + l * cos(a - b))
    (m + 1)*l*cos(a - b)
    """
    e = as_expr(e)
    best: tuple[int, Expr] | None = None
    for trig in (False, True):
        algebra = _Algebra(trig)
        terms = _gathered_angles(algebra, algebra.polynomial(e))
        size = sum(1 + len(m) for m in terms)
        if best is None or size < best[0]:
            best = size, _grouped(algebra, terms)
    assert best is not None
    return best[1]


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-12 * max(abs(a), abs(b))


def _gathered_angles(algebra: _Algebra, a: Polynomial) -> Polynomial:
    """Pairs of terms that make one: cos α cos β ∓ sin α sin β, sin α cos β ± cos α sin β, 1 − cos²."""
    if len(a) > 3000:  # nobody reads this, and pairing takes long
        return a
    changed = True
    while changed:
        changed = False
        for m in sorted(a, key=algebra.monomial_key):
            if m not in a:
                continue
            found = _partner(algebra, a, m)
            if found is not None:
                other, replacement = found
                c = a.pop(m)
                a.pop(other)
                for m2, c2 in replacement.items():
                    algebra._accumulate(a, m2, c * c2)
                changed = True
    return a


def _partner(algebra: _Algebra, a: Polynomial, m: Monomial) -> tuple[Monomial, Polynomial] | None:
    """A term that joins ``m``, and what both become (in units of the coefficient of ``m``)."""
    trig = [(algebra.atoms[i], n) for i, n in m if n > 0 and algebra.atoms[i].op in ("sin", "cos")]
    for p, n in trig:
        if p.op == "cos" and n >= 2:
            other = divided(m, ((p.id, 2),))
            if other in a and _close(a[other], -a[m]):
                return other, _with_sine_square(algebra, other, p.args[0])
    for (p, _), (q, _) in combinations(trig, 2):
        if p.args[0] is q.args[0]:
            continue
        rest = divided(m, tuple(sorted(((p.id, 1), (q.id, 1)))))
        p2, q2 = (unary("cos" if x.op == "sin" else "sin", x.args[0]) for x in (p, q))
        if "neg" in (p2.op, q2.op):
            continue
        other = divided(rest, tuple(sorted(((p2.id, -1), (q2.id, -1)))))
        if other in a and other != m and _close(abs(a[other]), abs(a[m])):
            return other, _joined(algebra, rest, p, q, a[other] * a[m] > 0)
    return None


def _with_sine_square(algebra: _Algebra, m: Monomial, angle: Expr) -> Polynomial:
    """m·sin²(angle), as (in units of the coefficient of the cosine term) −m·sin²."""
    sine = unary("sin", angle)
    algebra.atoms[sine.id] = sine
    exponents = dict(m)
    exponents[sine.id] = exponents.get(sine.id, 0) + 2
    return {tuple(sorted(exponents.items())): -1.0}


def _joined(algebra: _Algebra, rest: Monomial, p: Expr, q: Expr, same_sign: bool) -> Polynomial:
    """rest·(p q ± p' q') with the cofunctions p', q' as one sine or cosine of a sum or difference."""
    x, y = algebra.polynomial(p.args[0]), algebra.polynomial(q.args[0])
    plus = same_sign if p.op != q.op else not same_sign
    angle = algebra.expression(algebra.plus(x, y, 1.0 if plus else -1.0))
    if p.op == q.op:
        total = unary("cos", angle)
        if p.op == "sin" and not same_sign:
            total = neg(total)
    else:
        total = unary("sin", angle)
        if p.op == "cos" and not same_sign:
            total = neg(total)
    sign = 1.0
    if total.op == "neg":
        sign, total = -1.0, total.args[0]
    if total.op == "const":
        return {rest: sign * total.data}
    algebra.atoms[total.id] = total
    exponents = dict(rest)
    exponents[total.id] = exponents.get(total.id, 0) + 1
    return {tuple(sorted(exponents.items())): sign}


def _grouped(algebra: _Algebra, a: Polynomial) -> Expr:
    """Terms with the same dependence on the state together, their factors of parameters taken out."""
    groups: dict[Monomial, Polynomial] = {}
    for m in sorted(a, key=algebra.monomial_key):
        dynamic = tuple((i, n) for i, n in m if algebra.atoms[i].deps & ~PARAMETER)
        groups.setdefault(dynamic, {})[divided(m, dynamic)] = a[m]
    total = ZERO
    for dynamic, parameters in groups.items():
        total = add(total, mul(_factored(algebra, parameters), algebra.product(dynamic)))
    return total


def _factored(algebra: _Algebra, a: Polynomial, nested: bool = True) -> Expr:
    """Common factor times sum; inside the sum, terms that share most are bracketed together."""
    if not a:
        return ZERO
    common = common_monomial(a)
    rest = {divided(m, common): c for m, c in a.items()}
    size = min(abs(c) for c in rest.values())
    if any(not _close(abs(c) / size, round(abs(c) / size)) for c in rest.values()) or len(rest) == 1:
        size = 1.0
    lead = rest[min(rest, key=algebra.monomial_key)]
    size = -size if lead < 0 else size
    rest = {m: c / size for m, c in rest.items()}
    inner = _bracketed(algebra, rest) if nested and 2 < len(rest) <= 60 else algebra.expression(rest)
    return mul(constant(size), mul(inner, algebra.product(common)))


def _bracketed(algebra: _Algebra, a: Polynomial) -> Expr:
    """The sum with the group of terms that saves most multiplications put in brackets, as often as it pays."""
    savings: dict[Monomial, int] = {}
    for m, n in combinations(a, 2):
        shared = tuple((i, k) for i, k in common_monomial([m, n]) if k > 0)
        if shared:
            savings[shared] = savings.get(shared, 0) + sum(k for _, k in shared)
    if not savings:
        return algebra.expression(a)
    best = min(savings, key=lambda s: (-savings[s], algebra.monomial_key(s)))
    inside = {m: c for m, c in a.items() if all(dict(m).get(i, 0) >= k for i, k in best)}
    outside = {m: c for m, c in a.items() if m not in inside}
    bracket = _factored(algebra, inside)
    return add(bracket, _bracketed(algebra, outside)) if outside else bracket
