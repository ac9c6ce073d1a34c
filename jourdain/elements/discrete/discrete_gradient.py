"""Discrete gradients ∇̄f(x, y) with ∇̄f·(y − x) = f(y) − f(x), derived symbolically.

O. Gonzalez, "Time integration and discrete Hamiltonian systems", J. Nonlinear Sci. 6 (1996): the mid-point gradient with a
correction along y − x; for functions of quadratic invariants the formula is applied in the space of the invariants, which keeps
the symmetries of f and with them the momenta (the G-equivariant form).  Of one invariant it is Greenspan's difference quotient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...errors import ModelError
from ...symbolic.derivatives import gradient
from ...symbolic.expr import HALF, ZERO, Expr, add, brief, constant, div, mul, sub, symbol, where
from ...symbolic.functions import absolute
from ...symbolic.graph import substitute, topological
from ..element import Composite, Term

#: Relative distance of the ends below which the quotient of one invariant is replaced by Gauss quadrature of f′ (error of 4th order).
NEAR = 3e-4
#: The same for the correction term of several invariants, which is of second order.
NEAR_SEVERAL = 1e-5

_GAUSS = 0.5 / math.sqrt(3.0)


def degree(e: Expr, variables: Sequence[Expr]) -> float:
    """Degree of a polynomial in the variables; infinite for anything else.

    >>> from jourdain.symbolic import sin, symbols
    >>> x, a = symbols("x a")
    >>> degree(a * x * x + sin(a), [x]), degree(sin(x), [x])
    (2.0, inf)
    """
    of = {v.id: 1.0 for v in variables}
    for node in topological([e]):
        if node.id not in of:
            of[node.id] = _node_degree(node, [of[a.id] for a in node.args])
    return of[e.id]


def _node_degree(node: Expr, of: list[float]) -> float:
    if not any(of):
        return 0.0
    if node.op in ("add", "sub", "neg"):
        return max(of)
    if node.op == "mul":
        return sum(of)
    if node.op == "div" and of[1] == 0.0:
        return of[0]
    if node.op == "pow" and node.args[1].is_number and float(node.args[1]) == abs(int(float(node.args[1]))):
        return of[0] * float(node.args[1])
    return math.inf


def midpoint(x0: Sequence[Expr], x1: Sequence[Expr]) -> list[Expr]:
    """The mean of two points."""
    return [mul(HALF, add(a, b)) for a, b in zip(x0, x1, strict=True)]


def at_point(expressions: Sequence[Expr], variables: Sequence[Expr], point: Sequence[Expr]) -> list[Expr]:
    """Expressions of the variables evaluated at a point."""
    return substitute(expressions, dict(zip(variables, point, strict=True)))


def term_value(term: Term) -> Expr:
    """A term as an expression of the coordinates."""
    return term.value() if isinstance(term, Composite) else term


def quotient(f: Callable[[Expr], Expr], a: Expr, b: Expr) -> Expr:
    """Greenspan's [f(b) − f(a)]/(b − a); near a = b the mean of f′ over the interval by two Gauss points."""
    x = symbol("x", "position")
    fx = f(x)
    if degree(fx, [x]) <= 2:
        return at_point(gradient(fx, [x]), [x], midpoint([a], [b]))[0]
    d, m = sub(b, a), mul(HALF, add(a, b))
    (slope,) = gradient(fx, [x])
    shift = mul(constant(_GAUSS), d)
    close = mul(HALF, add(*(at_point([slope], [x], [p])[0] for p in (sub(m, shift), add(m, shift)))))
    apart = constant(NEAR) * (absolute(a) + absolute(b)) < absolute(d)
    # the division is made safe inside the branch: a derivative of the branch not taken must stay finite too
    safe = where(apart, d, constant(1.0))
    ends = [at_point([fx], [x], [p])[0] for p in (b, a)]
    return where(apart, div(sub(ends[0], ends[1]), safe), close)


def gonzalez(f: Expr, x: Sequence[Expr], x0: Sequence[Expr], x1: Sequence[Expr]) -> list[Expr]:
    """Gonzalez' gradient in the variables themselves: ∇f(z) + [f(y) − f(x) − ∇f(z)·(y − x)]/|y − x|² (y − x)."""
    slope = at_point(gradient(f, x), x, midpoint(x0, x1))
    if degree(f, x) <= 2:
        return slope
    d = [sub(b, a) for a, b in zip(x0, x1, strict=True)]
    d2, size = ZERO, ZERO
    for di, a, b in zip(d, x0, x1, strict=True):
        d2, size = add(d2, mul(di, di)), add(size, add(mul(a, a), mul(b, b)))
    defect = sub(at_point([f], x, x1)[0], at_point([f], x, x0)[0])
    for g, di in zip(slope, d, strict=True):
        defect = sub(defect, mul(g, di))
    apart = constant(NEAR_SEVERAL**2) * size < d2
    factor = where(apart, div(defect, where(apart, d2, constant(1.0))), ZERO)
    return [add(g, mul(factor, di)) for g, di in zip(slope, d, strict=True)]


def discrete_gradient(term: Term, x: Sequence[Expr], x0: Sequence[Expr], x1: Sequence[Expr], what: str = "a term") -> list[Expr]:
    """The G-equivariant discrete gradient of a term between the points x0 and x1.

    >>> from jourdain.symbolic import symbols
    >>> x, a, b = symbols("x a b", "position")
    >>> discrete_gradient(x * x, [x], [a], [b])
    [a + b]
    """
    if not isinstance(term, Composite):
        _check_degree(term, x, what)
        return at_point(gradient(term, x), x, midpoint(x0, x1))
    for invariant in term.invariants:
        _check_degree(invariant, x, f"an invariant of {what}")
    before, after = at_point(term.invariants, x, x0), at_point(term.invariants, x, x1)
    if len(term.invariants) == 1:
        q = term.quotient(before[0], after[0]) if term.quotient else quotient(term.function, before[0], after[0])
        weights = [q]
    elif term.gradient:
        weights = list(term.gradient(before, after))
    else:
        pi = [symbol(f"pi{k}", "position") for k in range(len(before))]
        weights = gonzalez(term.function(*pi), pi, before, after)
    mid = midpoint(x0, x1)
    total = [ZERO] * len(x)
    for invariant, weight in zip(term.invariants, weights, strict=True):
        for i, g in enumerate(at_point(gradient(invariant, x), x, mid)):
            total[i] = add(total[i], mul(weight, g))
    return total


def _check_degree(e: Expr, x: Sequence[Expr], what: str) -> None:
    if degree(e, x) > 2:
        raise ModelError(f"{what}: {brief(e)} is not quadratic in the coordinates; write it as Composite(function, invariants)")
