"""Walking the graph: order of evaluation, substitution, operation counts and the compile-free evaluator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from .expr import KINDS, Expr, add, as_expr, binary, brief, div, halves, mul, nary, neg, power, scalar_product, sub, unary, where


def topological(outputs: Iterable[Expr]) -> list[Expr]:
    """Every node the outputs need, each after its operands (depth first; the order is that of first use)."""
    order: list[Expr] = []
    seen: set[int] = set()
    push = order.append
    for root in outputs:
        if root.id in seen:
            continue
        stack: list[Any] = [root]
        while stack:
            e = stack.pop()
            if e.__class__ is tuple:
                push(e[0])
                continue
            if e.id in seen:
                continue
            seen.add(e.id)
            args = e.args
            if not args:
                push(e)
                continue
            stack.append((e,))
            for a in reversed(args):
                if a.id not in seen:
                    stack.append(a)
    return order


def free_symbols(outputs: Iterable[Expr]) -> list[Expr]:
    """The symbols the outputs depend on, in order of first use."""
    return [e for e in topological(outputs) if e.op == "symbol"]


def rebuild(e: Expr, args: Sequence[Expr]) -> Expr:
    """The node ``e`` with other operands, simplified anew."""
    return nary("table", args, e.data) if e.op == "table" else build(e.op, args)


def build(op: str, args: Sequence[Expr]) -> Expr:
    """The operation ``op`` (any but tables and leaves) of operands, simplified."""
    if op == "add":
        return add(args[0], args[1])
    if op == "sub":
        return sub(args[0], args[1])
    if op == "mul":
        return mul(args[0], args[1])
    if op == "div":
        return div(args[0], args[1])
    if op == "neg":
        return neg(args[0])
    if op == "pow":
        return power(args[0], args[1])
    if op == "where":
        return where(*args)
    if op == "dot":
        return scalar_product(*halves(args))
    return unary(op, args[0]) if len(args) == 1 else binary(op, args[0], args[1])


def substitute(outputs: Sequence[Expr], values: Mapping[Expr, Any]) -> list[Expr]:
    """The outputs with symbols (or whole subexpressions) replaced.

    >>> from jourdain.symbolic import symbols
    >>> x, y = symbols("x y")
    >>> substitute([x * y], {x: 2})
    [2*y]
    """
    new: dict[int, Expr] = {key.id: as_expr(value) for key, value in values.items()}
    for e in topological(outputs):
        if e.id in new:
            continue
        args = [new[a.id] for a in e.args]
        new[e.id] = e if all(p is q for p, q in zip(args, e.args, strict=True)) else rebuild(e, args)
    return [new[e.id] for e in outputs]


@dataclass(frozen=True)
class Operations:
    """Counts of operations: additions and subtractions, multiplications, divisions, function calls."""

    adds: int = 0
    mults: int = 0
    divs: int = 0
    functions: int = 0

    @property
    def flops(self) -> int:
        """Additions plus multiplications, the measure used in the literature."""
        return self.adds + self.mults

    def __add__(self, other: Operations) -> Operations:
        return Operations(self.adds + other.adds, self.mults + other.mults, self.divs + other.divs, self.functions + other.functions)

    def __str__(self) -> str:
        return f"{self.adds} +, {self.mults} ×, {self.divs} ÷, {self.functions} functions"


_CLASS = {"add": 0, "sub": 0, "mul": 1, "div": 2}


def count(nodes: Iterable[Expr]) -> Operations:
    """Operations of the given nodes; a change of sign is not counted (it is absorbed by the operation around it)."""
    n = [0, 0, 0, 0]
    for e in nodes:
        if e.op == "dot":
            n[0] += len(e.args) // 2 - 1
            n[1] += len(e.args) // 2
        elif e.args and e.op != "neg":
            n[_CLASS.get(e.op, 3)] += 1
    return Operations(*n)


def operations(outputs: Sequence[Expr]) -> Operations:
    """Operations needed for all outputs together."""
    return count(topological(outputs))


def operations_by_layer(outputs: Sequence[Expr]) -> dict[str, Operations]:
    """Operations split by what they depend on: parameters alone are computed once, the rest at every call."""
    groups: dict[str, list[Expr]] = {}
    for e in topological(outputs):
        if e.args:
            groups.setdefault(layer_name(e.deps), []).append(e)
    return {name: count(nodes) for name, nodes in sorted(groups.items())}


def layer_name(deps: int) -> str:
    """Name of a layer: the kinds of symbols it depends on."""
    return "+".join(name for name, bit in KINDS.items() if deps & bit) or "constant"


# --- evaluator ---------------------------------------------------------------------------------------------------

_NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "pow": np.power,
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "abs": np.abs,
    "sign": np.sign, "floor": np.floor, "atan2": np.arctan2, "min": np.minimum, "max": np.maximum,
    "lt": lambda a, b: np.less(a, b).astype(float), "le": lambda a, b: np.less_equal(a, b).astype(float),
    "and": lambda a, b: np.logical_and(a, b).astype(float), "or": lambda a, b: np.logical_or(a, b).astype(float),
    "dot": lambda *args: sum(a * b for a, b in zip(*halves(args), strict=True)), "not": lambda a: np.logical_not(a).astype(float), "where": lambda c, a, b: np.where(np.not_equal(c, 0.0), a, b),
}  # fmt: skip


def evaluate(outputs: Any, values: Mapping[Expr, Any], check: bool = True) -> Any:
    """Values of expressions by a NumPy tape over the graph, without compiling; values may be arrays (broadcast).

    ``outputs`` is one expression or a sequence; every free symbol needs a finite value.

    >>> from jourdain.symbolic import symbols
    >>> x, y = symbols("x y")
    >>> float(evaluate(x * y + 1, {x: 2.0, y: 3.0}))
    7.0
    """
    single = isinstance(outputs, Expr)
    roots = [outputs] if single else [as_expr(o) for o in outputs]
    known: dict[int, Any] = {}
    for key, value in values.items():
        array = np.asarray(value, dtype=complex if np.iscomplexobj(value) else float)
        if check and not np.all(np.isfinite(array)):
            raise InputError(f"the value of {brief(key)} is not finite: {array}")
        known[key.id] = array
    with np.errstate(all="ignore"):
        for e in topological(roots):
            if e.id in known:
                continue
            if e.op == "const":
                known[e.id] = np.float64(e.data)
            elif e.op == "symbol":
                raise InputError(f"no value given for the symbol '{e.name}'")
            elif e.op == "table":
                known[e.id] = e.data[0].value(e.data[1], *(known[a.id] for a in e.args))
            else:
                known[e.id] = _NUMPY[e.op](*(known[a.id] for a in e.args))
    result = [known[e.id] for e in roots]
    return result[0] if single else result
