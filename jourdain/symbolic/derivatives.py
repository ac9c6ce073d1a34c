"""Exact derivatives of the graph: forward, reverse, Jacobians with their sparsity, and second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .expr import (
    HALF,
    ONE,
    ZERO,
    Expr,
    add,
    as_expr,
    binary,
    constant,
    div,
    halves,
    mul,
    nary,
    neg,
    power,
    scalar_product,
    sub,
    unary,
    where,
)
from .graph import topological

Partials = tuple[Expr, ...]


def _of_sqrt(e: Expr, a: Expr) -> Partials:
    return (div(HALF, e),)


def _of_mul(e: Expr, a: Expr, b: Expr) -> Partials:
    for root, base, order in ((a, b, (0, 1)), (b, a, (1, 0))):
        n = _whole_exponent(base, root.args[0]) if root.op == "sqrt" else 0
        if n:
            # u^(n + ½): the chain through √u would give 0·∞ at u = 0, where the derivative is 0 (Hertz's contact law)
            whole = (ZERO, mul(constant((n + 0.5) / n), root))
            return whole[order[0]], whole[order[1]]
    return b, a


def _whole_exponent(e: Expr, base: Expr) -> int:
    """n of e = baseⁿ written as products, 0 when it is none."""
    if e is base:
        return 1
    if e.op != "mul":
        return 0
    first = _whole_exponent(e.args[0], base)
    second = first and _whole_exponent(e.args[1], base)
    return first + second if second else 0


def _of_pow(e: Expr, a: Expr, b: Expr) -> Partials:
    by_base = mul(b, power(a, sub(b, ONE)))
    return by_base, (mul(e, unary("log", a)) if b.op != "const" else ZERO)


def _of_atan2(e: Expr, y: Expr, x: Expr) -> Partials:
    r2 = add(mul(x, x), mul(y, y))
    return div(x, r2), neg(div(y, r2))


def _of_min(e: Expr, a: Expr, b: Expr) -> Partials:
    first = binary("lt", a, b)
    return where(first, ONE, ZERO), where(first, ZERO, ONE)


def _of_max(e: Expr, a: Expr, b: Expr) -> Partials:
    first = binary("lt", b, a)
    return where(first, ONE, ZERO), where(first, ZERO, ONE)


def _of_table(e: Expr, *x: Expr) -> Partials:
    table, orders = e.data
    return tuple(nary("table", x, (table, tuple(n + (i == j) for j, n in enumerate(orders)))) for i in range(len(x)))


def _of_dot(e: Expr, *args: Expr) -> Partials:
    row, x = halves(args)
    return *x, *row


def _one_minus_square(a: Expr) -> Expr:
    return sub(ONE, mul(a, a))


#: Partial derivatives of every operation with respect to its operands.
PARTIALS: dict[str, Callable[..., Partials]] = {
    "add": lambda e, a, b: (ONE, ONE),
    "sub": lambda e, a, b: (ONE, constant(-1.0)),
    "mul": _of_mul,
    "div": lambda e, a, b: (div(ONE, b), neg(div(e, b))),
    "neg": lambda e, a: (constant(-1.0),),
    "pow": _of_pow,
    "sqrt": _of_sqrt,
    "exp": lambda e, a: (e,),
    "log": lambda e, a: (div(ONE, a),),
    "sin": lambda e, a: (unary("cos", a),),
    "cos": lambda e, a: (neg(unary("sin", a)),),
    "tan": lambda e, a: (add(ONE, mul(e, e)),),
    "asin": lambda e, a: (div(ONE, unary("sqrt", _one_minus_square(a))),),
    "acos": lambda e, a: (neg(div(ONE, unary("sqrt", _one_minus_square(a)))),),
    "atan": lambda e, a: (div(ONE, add(ONE, mul(a, a))),),
    "sinh": lambda e, a: (unary("cosh", a),),
    "cosh": lambda e, a: (unary("sinh", a),),
    "tanh": lambda e, a: (_one_minus_square(e),),
    "abs": lambda e, a: (unary("sign", a),),
    "sign": lambda e, a: (ZERO,),
    "floor": lambda e, a: (ZERO,),
    "atan2": _of_atan2,
    "min": _of_min,
    "max": _of_max,
    "lt": lambda e, a, b: (ZERO, ZERO),
    "le": lambda e, a, b: (ZERO, ZERO),
    "and": lambda e, a, b: (ZERO, ZERO),
    "or": lambda e, a, b: (ZERO, ZERO),
    "not": lambda e, a: (ZERO,),
    "where": lambda e, c, a, b: (ZERO, where(c, ONE, ZERO), where(c, ZERO, ONE)),
    "table": _of_table,
    "dot": _of_dot,
}


def _push(e: Expr, tangents: Sequence[Expr]) -> Expr:
    """Derivative of one node from those of its operands; linear operations and branches in their short form."""
    op = e.op
    if op == "add":
        return add(tangents[0], tangents[1])
    if op == "sub":
        return sub(tangents[0], tangents[1])
    if op == "neg":
        return neg(tangents[0])
    if op == "where":
        return where(e.args[0], tangents[1], tangents[2])
    if op in ("min", "max"):
        a, b = e.args
        return where(binary("lt", a, b) if op == "min" else binary("lt", b, a), tangents[0], tangents[1])
    if op == "mul" and e.args[0] is e.args[1]:
        return mul(constant(2.0), mul(e.args[0], tangents[0]))
    if op == "div" and tangents[1] is ZERO:
        return div(tangents[0], e.args[1])
    if op == "dot":
        (row, x), (d_row, d_x) = halves(e.args), halves(tangents)
        return add(scalar_product(row, d_x), scalar_product(d_row, x))
    total = ZERO
    for p, d in zip(PARTIALS[op](e, *e.args), tangents, strict=True):
        if d is not ZERO:
            total = add(total, mul(p, d))
    return total


def jvp(outputs: Sequence[Expr], direction: Mapping[Expr, Any]) -> list[Expr]:
    """Directional derivative Σ ∂f/∂xᵢ·dᵢ by forward accumulation (a time derivative when dᵢ = ẋᵢ)."""
    tangent: dict[int, Expr] = {key.id: as_expr(value) for key, value in direction.items()}
    for e in topological(outputs):
        if e.id in tangent:
            continue
        ds = [tangent[a.id] for a in e.args]
        tangent[e.id] = _push(e, ds) if any(d is not ZERO for d in ds) else ZERO
    return [tangent[e.id] for e in outputs]


def _pull(e: Expr, bar: Expr) -> Partials:
    """Adjoints of the operands of one node; branches not taken get an exact zero, never 0·∞."""
    op = e.op
    if op == "where":
        c = e.args[0]
        return ZERO, where(c, bar, ZERO), where(c, ZERO, bar)
    if op in ("min", "max"):
        a, b = e.args
        first = binary("lt", a, b) if op == "min" else binary("lt", b, a)
        return where(first, bar, ZERO), where(first, ZERO, bar)
    return tuple(_scaled(p, bar) for p in PARTIALS[op](e, *e.args))


def _scaled(p: Expr, bar: Expr) -> Expr:
    """p·bar with the product inside the branch when bar is guarded by one."""
    if bar.op == "where" and p is not ZERO:
        c, a, b = bar.args
        if b is ZERO:
            return where(c, mul(p, a), ZERO)
        if a is ZERO:
            return where(c, ZERO, mul(p, b))
    return mul(p, bar)


def vjp(outputs: Sequence[Expr], weights: Sequence[Any], wrt: Sequence[Expr]) -> list[Expr]:
    """Σ wᵢ·∂fᵢ/∂xⱼ for every xⱼ by reverse accumulation: the cost does not grow with the number of x.

    An x that is a whole expression counts as a variable of its own: what it depends on is not looked at through it.
    """
    order = topological(outputs)
    leaves = {x.id for x in wrt}
    active = set(leaves)
    for e in order:
        if any(a.id in active for a in e.args):
            active.add(e.id)
    adjoint: dict[int, Expr] = {}
    for e, w in zip(outputs, weights, strict=True):
        adjoint[e.id] = add(adjoint.get(e.id, ZERO), as_expr(w))
    for e in reversed(order):
        bar = adjoint.get(e.id, ZERO)
        if bar is ZERO or e.id not in active or e.id in leaves or not e.args:
            continue
        for a, part in zip(e.args, _pull(e, bar), strict=True):
            if a.id in active and part is not ZERO:
                adjoint[a.id] = add(adjoint.get(a.id, ZERO), part)
    return [adjoint.get(x.id, ZERO) for x in wrt]


def gradient(f: Expr, wrt: Sequence[Expr]) -> list[Expr]:
    """Gradient of one expression by reverse accumulation."""
    return vjp([f], [ONE], wrt)


def sparse_jacobian(outputs: Sequence[Expr], wrt: Sequence[Expr]) -> dict[tuple[int, int], Expr]:
    """Structurally non-zero entries {(row, column): ∂fᵢ/∂xⱼ}, by forward accumulation of sparse tangents."""
    column = {x.id: j for j, x in enumerate(wrt)}
    tangents: dict[int, dict[int, Expr]] = {}
    nothing: dict[int, Expr] = {}
    for e in topological(outputs):
        if e.id in column:
            tangents[e.id] = {column[e.id]: ONE}
            continue
        parts = [tangents[a.id] for a in e.args]
        if not any(parts):
            tangents[e.id] = nothing
            continue
        columns = sorted(set().union(*parts))
        new = {j: _push(e, [p.get(j, ZERO) for p in parts]) for j in columns}
        tangents[e.id] = {j: d for j, d in new.items() if d is not ZERO}
    return {(i, j): d for i, e in enumerate(outputs) for j, d in sorted(tangents[e.id].items())}


def jacobian(outputs: Sequence[Expr], wrt: Sequence[Expr]) -> list[list[Expr]]:
    """Dense table of ∂fᵢ/∂xⱼ (zeros where nothing depends).

    >>> from jourdain.symbolic import symbols
    >>> x, y = symbols("x y")
    >>> jacobian([x * y], [x, y])
    [[y, x]]
    """
    rows = [[ZERO] * len(wrt) for _ in outputs]
    for (i, j), d in sparse_jacobian(outputs, wrt).items():
        rows[i][j] = d
    return rows


def second_directional(outputs: Sequence[Expr], u: Mapping[Expr, Any], w: Mapping[Expr, Any]) -> list[Expr]:
    """Second derivative along two directions, Σ ∂²f/∂xᵢ∂xⱼ·uᵢwⱼ (directions held constant)."""
    return jvp(jvp(outputs, u), w)
