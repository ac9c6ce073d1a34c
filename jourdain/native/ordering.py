"""The order in which the nodes of a function are computed."""

from __future__ import annotations

from collections.abc import Sequence

from ..symbolic.expr import Expr
from ..symbolic.graph import topological


def evaluation_order(outputs: Sequence[Expr], leaf: set[int]) -> list[Expr]:
    """Nodes to compute in the order they were made (a formalism works link by link, which keeps operands near); sines and
    cosines of inputs and of their sums come first, where no register waits for them."""
    order = sorted((e for e in topological_until(outputs, leaf) if e.args and e.id not in leaf), key=lambda e: e.id)
    early = [e for e in order if e.op in ("sin", "cos") and _is_angle(e.args[0], leaf)]
    if not early:
        return order
    early.sort(key=lambda e: half_of(e.args[0]) is not None)
    sums = {e.args[0].id: e.args[0] for e in early if e.args[0].args and e.args[0].id not in leaf}
    chosen = {e.id for e in early} | set(sums)
    return [*sums.values(), *early, *(e for e in order if e.id not in chosen)]


def _is_angle(e: Expr, leaf: set[int]) -> bool:
    """Whether an expression is an input, a sum or difference of two, or a multiple of one."""
    below = e.args if e.op in ("add", "sub", "mul") and e.id not in leaf else (e,)
    return all(not x.args or x.id in leaf for x in below)


def half_of(e: Expr) -> Expr | None:
    """x of 2 x."""
    if e.op == "mul" and e.args[0].op == "const" and e.args[0].data == 2.0:
        return e.args[1]
    return None


def topological_until(outputs: Sequence[Expr], leaf: set[int]) -> list[Expr]:
    """Topological order that does not look below the nodes in ``leaf``."""
    if not leaf:
        return topological(outputs)
    order: list[Expr] = []
    seen: set[int] = set()
    for root in outputs:
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            e, done = stack.pop()
            if done:
                order.append(e)
                continue
            if e.id in seen:
                continue
            seen.add(e.id)
            stack.append((e, True))
            if e.id not in leaf:
                stack.extend((a, False) for a in reversed(e.args) if a.id not in seen)
    return order
