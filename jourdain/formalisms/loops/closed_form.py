"""Closed-form loop closure: dependent coordinates as explicit expressions of the independent ones.

Rows of the constraints are solved one or two at a time (the characteristic pair of joints of Woernle; Schiehlen,
eqs. 26–30): a displacement from a linear or quadratic row; an angle from a + b cos φ + c sin φ = 0; a dyad of two
angles, of an angle and a displacement (crank and slider, slider on a rocker), or of two displacements from two rows.
What is solved is known in the rows that follow, so chains of such loops are solved one dyad at a time.  Each square
root has two branches; the sign is a constant of the motion that is read from an assembled position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from ...errors import InputError
from ...symbolic.expr import ONE, TWO, ZERO, Expr, add, constant, div, mul, neg, sub, symbol
from ...symbolic.functions import absolute, atan2, cos, sin, sqrt
from ...symbolic.graph import substitute
from ..equations import Equations
from .trig_polynomial import (
    Expansion,
    Form,
    Generator,
    Monomial,
    NotPolynomial,
    Polynomial,
    Rewriter,
    Variable,
    ZeroTest,
    sum_of,
    variables_of,
)


@dataclass
class Step:
    """One step of the solution: the rows used, the coordinates found, and how."""

    kind: str
    rows: tuple[int, ...]
    #: indices of the coordinates found, as many as rows
    coordinates: tuple[int, ...] = ()
    #: symbols with the expressions that define them, in order
    definitions: list[tuple[Expr, Expr]] = field(default_factory=list)
    #: what stands under the root divided by its scale: 1 well inside, 0 at a dead point, negative out of reach
    margin: Expr | None = None
    #: sign of the root, and the expression whose sign it has in an assembled position
    branch: Expr | None = None
    branch_sign: Expr | None = None


class ClosedForm:
    """The explicit solution of all loops for a choice of independent coordinates (empty ``reason``), or why there is none.

    ``rows`` names the constraints that may be used (all by default): what they do not give must be independent.
    """

    def __init__(self, eq: Equations, independent: Iterable[int], rows: Sequence[int] | None = None) -> None:
        self.eq = eq
        self._usable = list(range(len(eq.rows))) if rows is None else list(rows)
        self.independent = sorted(independent)
        self.dependent = [j for j in range(eq.tree.nv) if j not in set(self.independent)]
        self.steps: list[Step] = []
        self.redundant: list[int] = []
        self.reason = ""
        self._zero = ZeroTest()
        self._count = 0
        #: solved quantities read from all coordinates of an assembled position
        self._measured: dict[Expr, Expr] = {}
        self.solved_angles: list[tuple[Expr, Expr]] = []
        names = [c for c in eq.tree.coordinates for _ in c.v]
        held = [names[j].names[0] for j in self.dependent if names[j].is_quaternion]
        if held:
            self.reason = f"'{held[0]}' is part of a quaternion"
            return
        if eq.holonomic < len(eq.rows):
            self.reason = f"'{eq.rows[-1].name}' constrains velocities only"
            return
        self._velocity = {names[j].q[0].id: j for j in self.dependent}
        self.rewriter = Rewriter(names[j].q[0] for j in self.dependent)
        self._solve()

    @property
    def complete(self) -> bool:
        """Whether every dependent coordinate was found."""
        return not self.reason

    @property
    def solved(self) -> list[int]:
        """Velocity columns of the coordinates found so far."""
        return sorted(j for step in self.steps for j in step.coordinates)

    # -- the search -----------------------------------------------------------------------------------------------

    def _solve(self) -> None:
        left = self._usable
        while self.rewriter.unknown:
            step = self._next(left)
            if step is None:
                self.reason = self._why(left)
                return
            self.steps.append(step)
            left = [i for i in left if i not in step.rows]
        used = {i for step in self.steps for i in step.rows}
        self.redundant = [i for i in range(len(self.eq.rows)) if i not in used]

    def _next(self, left: Sequence[int]) -> Step | None:
        expansion = Expansion(self.rewriter, self._zero)
        self._refused: dict[int, str] = {}
        rows: dict[int, Polynomial] = {}
        for i in left:
            try:
                rows[i] = expansion.polynomial(self.eq.rows[i].expression)
            except NotPolynomial as reason:
                self._refused[i] = str(reason)
        self._rows = rows
        for i, p in rows.items():
            variables = variables_of(p)
            if len(variables) == 1:
                step = self._single(i, p, variables[0])
                if step is not None:
                    return step
        for i, j in combinations(rows, 2):
            variables = variables_of([*rows[i], *rows[j]])
            if len(variables) == 2 and _separate(variables):
                step = self._pair(expansion, (i, j), rows[i], rows[j], variables)
                if step is not None:
                    return step
        return None

    def _why(self, left: Sequence[int]) -> str:
        names = [self.eq.rows[i].name for i in left]
        for i in left:
            if i in self._refused:
                return f"{self.eq.rows[i].name}: {self._refused[i]}"
        counts = {i: len(variables_of(p)) for i, p in self._rows.items()}
        fewest = min((n for n in counts.values() if n), default=0)
        if fewest == 0:
            return f"{', '.join(names)} do not determine {', '.join(q.name for q in self.rewriter.unknown.values())}"
        if fewest > 2:
            return f"each of {', '.join(names)} holds at least {fewest} unknowns: no row or pair of rows can be solved by itself"
        return f"{', '.join(names)} give no equation of the form a + b cos φ + c sin φ = 0 for one unknown"

    # -- one row --------------------------------------------------------------------------------------------------

    def _single(self, row: int, p: Polynomial, v: Variable) -> Step | None:
        step = self._angle(p, v) if v.angle else self._displacement(p, v)
        if step is None:
            return None
        step.rows = (row,)
        self._found(step, v)
        return step

    def _displacement(self, p: Polynomial, v: Variable) -> Step | None:
        a, b, c = (p.get(_power("V", v, n), ZERO) for n in (0, 1, 2))
        if len(p) > sum(k is not ZERO for k in (a, b, c)):
            return None
        d = self._symbol("d")
        if c is ZERO:
            return Step("linear row", (), (), [(d, neg(div(a, b)))])
        root, sigma = self._symbol("w"), self._branch()
        under = sub(mul(b, b), mul(constant(4.0), mul(a, c)))
        step = Step("quadratic row", (), (), [(root, sqrt(under)), (d, div(sub(mul(sigma, root), b), mul(TWO, c)))])
        step.branch, step.branch_sign = sigma, add(mul(TWO, mul(c, d)), b)
        step.margin = div(under, add(mul(b, b), absolute(mul(constant(4.0), mul(a, c)))))
        return step

    def _angle(self, p: Polynomial, v: Variable) -> Step | None:
        """a + b cos φ + c sin φ = 0: with r² = b² + c², w² = r² − a² and a sign, cos φ = −(a b ± c w)/r², sin φ = −(a c ∓ b w)/r²."""
        a, b, c = p.get((), ZERO), p.get(_power("C", v), ZERO), p.get(_power("S", v), ZERO)
        if len(p) > sum(k is not ZERO for k in (a, b, c)) or (b is ZERO and c is ZERO):
            return None
        cosine, sine, root, over = (self._symbol(n) for n in ("c", "s", "w", "r"))
        sigma = self._branch()
        r2 = add(mul(b, b), mul(c, c))
        under = sub(r2, mul(a, a))
        signed = mul(sigma, root)
        step = Step("angle row", (), (), [(over, div(ONE, r2)), (root, sqrt(under))])
        step.definitions += [
            (cosine, neg(mul(add(mul(a, b), mul(c, signed)), over))),
            (sine, mul(sub(mul(b, signed), mul(a, c)), over)),
        ]
        step.branch, step.branch_sign = sigma, sub(mul(b, sine), mul(c, cosine))
        step.margin = mul(under, over)
        return step

    # -- two rows -------------------------------------------------------------------------------------------------

    def _pair(self, x: Expansion, rows: tuple[int, int], p: Polynomial, q: Polynomial, pair: Sequence[Variable]) -> Step | None:
        angles = [v for v in pair if v.angle]
        try:
            if len(angles) == 2:
                return self._dyad(x, rows, p, q, *angles) or self._dyad(x, rows, p, q, *reversed(angles))
            if len(angles) == 1:
                return self._slider(x, rows, p, q, angles[0], next(v for v in pair if not v.angle))
            return self._slides(rows, p, q, *pair)
        except NotPolynomial:
            return None

    def _dyad(self, x: Expansion, rows: tuple[int, int], p: Polynomial, q: Polynomial, g: Variable, h: Variable) -> Step | None:
        """Two angles: (cos, sin) of the second from both rows, which are linear in them; their squares add up to one."""
        C, S = _power("C", h), _power("S", h)
        A = [[r.get(m, ZERO) for m in (C, S)] for r in (p, q)]
        rest = [{m: k for m, k in r.items() if m not in (C, S)} for r in (p, q)]
        if any(h in variables_of(r) for r in rest):
            return None
        det = sub(mul(A[0][0], A[1][1]), mul(A[0][1], A[1][0]))
        if self._zero(det):
            return None
        scaled = [
            sum_of(_times(rest[1], A[0][1]), _times(rest[0], A[1][1]), -1.0),
            sum_of(_times(rest[0], A[1][0]), _times(rest[1], A[0][0]), -1.0),
        ]
        total = sum_of(x.product(scaled[0], scaled[0]), x.product(scaled[1], scaled[1]))
        condition = x.clean(sum_of(total, {(): mul(det, det)}, -1.0))
        step = self._angle(condition, g)
        if step is None:
            return None
        step.kind, step.rows = "dyad of two angles", rows
        turn = self._found(step, g)
        over = div(ONE, det)
        cosine, sine = (mul(over, _value(r, turn)) for r in scaled)
        second = [(self._symbol("c"), cosine), (self._symbol("s"), sine)]
        step.definitions += second
        self._found(step, h)
        return step

    def _slider(self, x: Expansion, rows: tuple[int, int], p: Polynomial, q: Polynomial, g: Variable, d: Variable) -> Step | None:
        """An angle and a displacement along known directions or along directions that turn with the angle."""
        if any(gen == ("V", d) and n > 1 for r in (p, q) for m in r for gen, n in m):
            return None
        along = [{_without(m, ("V", d)): k for m, k in r.items() if _holds(m, ("V", d))} for r in (p, q)]
        rest = [{m: k for m, k in r.items() if not _holds(m, ("V", d))} for r in (p, q)]
        condition = x.clean(sum_of(x.product(rest[0], along[1]), x.product(rest[1], along[0]), -1.0))
        step = self._angle(condition, g)
        if step is None:
            return None
        step.kind, step.rows = "dyad of an angle and a displacement", rows
        turn = self._found(step, g)
        (a0, a1), (r0, r1) = ((_value(w[0], turn), _value(w[1], turn)) for w in (along, rest))
        length = add(mul(a0, a0), mul(a1, a1))
        step.definitions.append((self._symbol("d"), neg(div(add(mul(a0, r0), mul(a1, r1)), length))))
        self._found(step, d)
        return step

    def _slides(self, rows: tuple[int, int], p: Polynomial, q: Polynomial, d: Variable, e: Variable) -> Step | None:
        """Two displacements from two linear rows."""
        A = [[r.get(_power("V", v), ZERO) for v in (d, e)] for r in (p, q)]
        right = [neg(r.get((), ZERO)) for r in (p, q)]
        if any(len(r) > sum(k is not ZERO for k in (*a, b)) for r, a, b in zip((p, q), A, right, strict=True)):
            return None
        det = sub(mul(A[0][0], A[1][1]), mul(A[0][1], A[1][0]))
        if self._zero(det):
            return None
        step = Step("two linear rows", rows)
        for v, column in ((d, 0), (e, 1)):
            other = 1 - column
            minor = sub(mul(right[column], A[other][other]), mul(A[column][other], right[other]))
            step.definitions.append((self._symbol("d"), div(minor, det)))
            self._found(step, v)
        return step

    # -- bookkeeping ----------------------------------------------------------------------------------------------

    def _symbol(self, name: str) -> Expr:
        self._count += 1
        return symbol(f"{name}{self._count}", "position")

    def _branch(self) -> Expr:
        return symbol(f"branch{len(self.steps) + 1}", "input")

    def _found(self, step: Step, v: Variable) -> dict[Generator, Expr]:
        """Makes a variable known by the last definitions of a step and removes a coordinate from the unknown ones."""
        turn: dict[Generator, Expr] = {}
        form = v.form
        for other, known in self.rewriter.forms.items():
            coordinate = next((s for s in form.parts if s.id == other), None)
            if coordinate is not None:
                k = form.parts[coordinate]
                form = Form({s: c for s, c in form.parts.items() if s is not coordinate}, form.rest).plus(known, k)
        if v.angle:
            cosine, sine = step.definitions[-2][0], step.definitions[-1][0]
            angle, reference = self._symbol("phi"), symbol(f"turn{len(self.solved_angles) + 1}", "input")
            self.solved_angles.append((angle, reference))
            c, s = cos(reference), sin(reference)
            step.definitions.append((angle, reference + atan2(sine * c - cosine * s, cosine * c + sine * s)))
            self.rewriter.turns[angle] = (cosine, sine)
            self._zero.tie(angle, cosine, sine)
            turn = {("C", v): cosine, ("S", v): sine}
            whole = substitute([v.form.expression()], self._measured)[0]
            self._measured |= {angle: whole, cosine: cos(whole), sine: sin(whole)}
            value = Form({angle: 1.0}, ZERO)
        else:
            value = Form({}, step.definitions[-1][0])
            self._measured[step.definitions[-1][0]] = substitute([v.form.expression()], self._measured)[0]
        unknown = [s for s in form.parts if s.id in self.rewriter.unknown]
        chosen = max(unknown, key=lambda s: (abs(abs(form.parts[s]) - 1.0) < 1e-12, s.id))
        k = form.parts[chosen]
        others = Form({s: c for s, c in form.parts.items() if s is not chosen}, form.rest)
        solution = Form({}, ZERO).plus(value.plus(others, -1.0), 1.0 / k)
        for i, known in self.rewriter.forms.items():
            if chosen in known.parts:
                rest = Form({s: c for s, c in known.parts.items() if s is not chosen}, known.rest)
                self.rewriter.forms[i] = rest.plus(solution, known.parts[chosen])
        self.rewriter.forms[chosen.id] = solution
        del self.rewriter.unknown[chosen.id]
        step.coordinates += (self._velocity[chosen.id],)
        return turn

    # -- results --------------------------------------------------------------------------------------------------

    @property
    def branches(self) -> list[Expr]:
        """Signs of the roots."""
        return [s.branch for s in self.steps if s.branch is not None]

    @property
    def references(self) -> list[Expr]:
        """A value near each solved angle: it chooses among the angles that differ by whole turns."""
        return [reference for _, reference in self.solved_angles]

    @property
    def choices(self) -> tuple[Expr, ...]:
        """Inputs beside the independent coordinates: signs of the roots and references of the angles."""
        return (*self.branches, *self.references)

    @cached_property
    def explicit(self) -> dict[Expr, Expr]:
        """Every solved quantity as an expression of the independent coordinates, time, parameters and choices."""
        known: dict[Expr, Expr] = {}
        for step in self.steps:
            for s, e in step.definitions:
                known[s] = substitute([e], known)[0]
        return known

    def apply(self, expressions: Sequence[Expr], known: Mapping[Expr, Expr] | None = None) -> list[Expr]:
        """Expressions of all coordinates written in the independent ones."""
        self._demand()
        return substitute(self.rewriter.rewrite(expressions), self.explicit if known is None else known)

    @cached_property
    def margins(self) -> list[Expr]:
        """Distance from a dead point of every step with a root (1 far, 0 at it)."""
        return substitute([s.margin for s in self.steps if s.margin is not None], self.explicit)

    @cached_property
    def branch_signs(self) -> list[Expr]:
        """Expressions of *all* coordinates whose signs are the branches in an assembled position."""
        return substitute([s.branch_sign for s in self.steps if s.branch_sign is not None], self._measured)

    @cached_property
    def angles(self) -> list[Expr]:
        """The solved angles as sums of all coordinates."""
        return [self._measured[angle] for angle, _ in self.solved_angles]

    def _demand(self) -> None:
        if self.reason:
            raise InputError(f"'{self.eq.model.name}': no closed form of the loops for these independent coordinates: {self.reason}")


def _power(kind: str, v: Variable, n: int = 1) -> Monomial:
    return (((kind, v), n),) if n else ()


def _holds(m: Monomial, g: Generator) -> bool:
    return any(gen == g for gen, _ in m)


def _without(m: Monomial, g: Generator) -> Monomial:
    return tuple((gen, n) for gen, n in m if gen != g)


def _times(p: Polynomial, k: Expr) -> Polynomial:
    return {m: mul(e, k) for m, e in p.items() if k is not ZERO}


def _value(p: Polynomial, known: Mapping[Generator, Expr]) -> Expr:
    """A polynomial with its generators known."""
    total = ZERO
    for m, k in p.items():
        for g, n in m:
            for _ in range(n):
                k = mul(k, known[g])
        total = add(total, k)
    return total


def _separate(variables: Sequence[Variable]) -> bool:
    """Whether two variables can be found independently: their sums of coordinates are not proportional."""
    a, b = (dict(v.key) for v in variables)
    if variables[0].angle != variables[1].angle and set(a) & set(b):
        return False
    names = sorted({*a, *b})
    table = [(a.get(i, 0.0), b.get(i, 0.0)) for i in names]
    return any(abs(x * w - y * z) > 1e-12 for (x, y), (z, w) in combinations(table, 2))
