"""Difference quotients of expressions without cancellation: the derivative rules, read between two points.

The quotient f[x₀, x₁] = (f(x₁) − f(x₀))/(x₁ − x₀) obeys rules as the derivative does, with means where the derivative has
values: (ab)[·] = a[·] b̄ + ā b[·], (√a)[·] = a[·]/(√a₀ + √a₁), (sin a)[·] = cos ā · sinc(½Δa) · a[·].  Built by these
rules it tends to f′ for x₁ → x₀ without a guard, and fulfils Σ ∇̄ᵢf Δxᵢ = Δf to rounding for any step (Greenspan's
quotient for one variable; a discrete gradient in the sense of Gonzalez for several).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...symbolic.derivatives import gradient
from ...symbolic.expr import HALF, ONE, ZERO, Expr, as_expr, symbol, unary
from ...symbolic.functions import absolute, cos, cosh, exp, log, sin, sinh, sqrt, where
from ...symbolic.graph import substitute, topological

#: Nodes and weights of the three-point Gauss rule on [−1, 1].
_GAUSS = ((-0.7745966692414834, 5.0 / 9.0), (0.0, 8.0 / 9.0), (0.7745966692414834, 5.0 / 9.0))


def sinc(x: Expr) -> Expr:
    """sin x / x, by its series for small x."""
    y = x * x
    series = 1.0 - y / 6.0 * (1.0 - y / 20.0 * (1.0 - y / 42.0 * (1.0 - y / 72.0)))
    return where(y < 0.01, series, sin(x) / x)


def sinhc(x: Expr) -> Expr:
    """sinh x / x, by its series for small x."""
    y = x * x
    series = 1.0 + y / 6.0 * (1.0 + y / 20.0 * (1.0 + y / 42.0 * (1.0 + y / 72.0)))
    return where(y < 0.01, series, sinh(x) / x)


def _gauss(op: str, a0: Expr, a1: Expr) -> Expr:
    """Quotient of a smooth function; the mean of its derivative by Gauss's rule where the difference is small."""
    x = symbol("x")
    slope = gradient(unary(op, x), [x])[0]
    mean, half = (a0 + a1) * HALF, (a1 - a0) * HALF
    total = ZERO
    for node, weight in _GAUSS:
        total = total + 0.5 * weight * substitute([slope], {x: mean + node * half})[0]
    near = absolute(half) < 5e-3 * (1.0 + absolute(mean))
    return where(near, total, (unary(op, a1) - unary(op, a0)) / (a1 - a0))


def _exp(a0: Expr, a1: Expr) -> Expr:
    half = (a1 - a0) * HALF
    # far apart the difference itself loses no digits, and sinh would overflow
    return where(absolute(half) < 1.0, exp((a0 + a1) * HALF) * sinhc(half), (exp(a1) - exp(a0)) / (a1 - a0))


def _log(a0: Expr, a1: Expr) -> Expr:
    z = (a1 - a0) / (a1 + a0)
    y = z * z
    series = 1.0 + y * (1.0 / 3.0 + y * (0.2 + y * (1.0 / 7.0 + y / 9.0)))
    return where(y < 1e-3, 2.0 * series / (a0 + a1), (log(a1) - log(a0)) / (a1 - a0))


def _tan(a0: Expr, a1: Expr) -> Expr:
    return sinc(a1 - a0) / (cos(a0) * cos(a1))


def _tanh(a0: Expr, a1: Expr) -> Expr:
    d = a1 - a0
    return sinhc(d) / (cosh(a0) * cosh(a1))


def _absolute(a0: Expr, a1: Expr) -> Expr:
    total = absolute(a0) + absolute(a1)
    return where(total > 0.0, (a0 + a1) / total, ZERO)


#: f[a₀, a₁] of the elementary functions.
_FUNCTIONS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "neg": lambda a0, a1: -ONE,
    "sqrt": lambda a0, a1: 1.0 / (sqrt(a0) + sqrt(a1)),
    "sin": lambda a0, a1: cos((a0 + a1) * HALF) * sinc((a1 - a0) * HALF),
    "cos": lambda a0, a1: -sin((a0 + a1) * HALF) * sinc((a1 - a0) * HALF),
    "exp": _exp,
    "sinh": lambda a0, a1: cosh((a0 + a1) * HALF) * sinhc((a1 - a0) * HALF),
    "cosh": lambda a0, a1: sinh((a0 + a1) * HALF) * sinhc((a1 - a0) * HALF),
    "log": _log,
    "tan": _tan,
    "tanh": _tanh,
    "abs": _absolute,
    "asin": lambda a0, a1: _gauss("asin", a0, a1),
    "acos": lambda a0, a1: _gauss("acos", a0, a1),
    "atan": lambda a0, a1: _gauss("atan", a0, a1),
}


def _two_operands(op: str, p0: tuple[Expr, ...], p1: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """Discrete partials of an operation of two operands, None where no rule exists."""
    if op == "add":
        return ONE, ONE
    if op == "sub":
        return ONE, -ONE
    (a0, b0), (a1, b1) = p0, p1
    if op == "mul":
        return (b0 + b1) * HALF, (a0 + a1) * HALF
    if op == "div":
        over = 1.0 / (b0 * b1)
        return (b0 + b1) * HALF * over, -((a0 + a1) * HALF * over)
    if op == "pow" and b0 is b1:
        # a^p = exp(p log a), read with the rules of both
        l0, l1 = b0 * log(a0), b0 * log(a1)
        return _exp(l0, l1) * b0 * _log(a0, a1), ZERO
    return None


class _Reading:
    """The nodes of an expression at both points."""

    def __init__(self, f: Expr, variables: Sequence[Expr], start: Sequence[Expr], end: Sequence[Expr]) -> None:
        self.order = topological([f])
        at0 = dict(zip(variables, start, strict=True))
        at1 = dict(zip(variables, end, strict=True))
        self.value0 = {e.id: v for e, v in zip(self.order, substitute(self.order, at0), strict=True)}
        self.value1 = {e.id: v for e, v in zip(self.order, substitute(self.order, at1), strict=True)}

    def ends(self, e: Expr) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """The operands of a node at the first and at the second point."""
        return tuple(self.value0[a.id] for a in e.args), tuple(self.value1[a.id] for a in e.args)


def divided_difference(f: Expr, x: Expr, x0: Expr, x1: Expr) -> Expr:
    """(f(x₁) − f(x₀))/(x₁ − x₀) of an expression of the symbol x, without cancellation.

    Branches (``where``, ``minimum``, ``maximum``) taken alike at both ends follow the branch; a quotient over a change of
    branch is formed directly, where the difference of the ends is not small against f's.

    >>> from jourdain.symbolic import symbols, evaluate
    >>> x, a, b = symbols("x a b")
    >>> float(evaluate(divided_difference(x * x * x, x, a, b), {a: 1.0, b: 1.0}))
    3.0
    """
    read = _Reading(f, [x], [as_expr(x0)], [as_expr(x1)])
    quotient: dict[int, Expr] = {}
    for e in read.order:
        if e is x:
            quotient[e.id] = ONE
            continue
        parts = [quotient[a.id] for a in e.args]
        quotient[e.id] = ZERO if all(p is ZERO for p in parts) else _one_variable(e, parts, read, x0, x1)
    return quotient[f.id]


def _one_variable(e: Expr, parts: list[Expr], read: _Reading, x0: Expr, x1: Expr) -> Expr:
    p0, p1 = read.ends(e)
    raw = (read.value1[e.id] - read.value0[e.id]) / (x1 - x0)
    if e.op == "where":
        return where(p0[0], where(p1[0], parts[1], raw), where(p1[0], raw, parts[2]))
    if e.op in ("min", "max"):
        first0, first1 = (p0[0] < p0[1], p1[0] < p1[1]) if e.op == "min" else (p0[0] > p0[1], p1[0] > p1[1])
        return where(first0, where(first1, parts[0], raw), where(first1, raw, parts[1]))
    partials = _partials(e, p0, p1)
    if partials is None:
        return raw
    total = ZERO
    for weight, part in zip(partials, parts, strict=True):
        total = total + weight * part
    return total


def _partials(e: Expr, p0: tuple[Expr, ...], p1: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    if len(e.args) == 2:
        return _two_operands(e.op, p0, p1)
    rule = _FUNCTIONS.get(e.op)
    return None if rule is None else (rule(p0[0], p1[0]),)


def discrete_gradient_by_rules(f: Expr, variables: Sequence[Expr], start: Sequence[Expr], end: Sequence[Expr]) -> list[Expr]:
    """∇̄f with Σ ∇̄ᵢf (x₁ − x₀)ᵢ = f(x₁) − f(x₀), by the rules in reverse order, for a smooth f of several variables.

    No division by |x₁ − x₀|² occurs, so it is as accurate for tiny steps as for large ones.  Branches have no rule here
    (raises ``ValueError``): put them into an outer law of one variable and use :func:`divided_difference` for it.
    """
    read = _Reading(f, variables, start, end)
    active = {x.id for x in variables}
    for e in read.order:
        if any(a.id in active for a in e.args):
            active.add(e.id)
    adjoint: dict[int, Expr] = {f.id: ONE}
    for e in reversed(read.order):
        bar = adjoint.get(e.id, ZERO)
        if bar is ZERO or e.id not in active or not e.args:
            continue
        partials = _partials(e, *read.ends(e))
        if partials is None:
            raise ValueError(f"the discrete gradient has no rule for '{e.op}': use it only in an outer law of one variable")
        for a, weight in zip(e.args, partials, strict=True):
            if a.id in active:
                adjoint[a.id] = adjoint.get(a.id, ZERO) + weight * bar
    return [adjoint.get(x.id, ZERO) for x in variables]
