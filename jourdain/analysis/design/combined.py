"""Criteria made of others, ``combined("(LE - 1.4e6)^2", LE=largest("coupler.energy"))``: their parts are found in one run, and derivatives follow by the chain rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np

from ...errors import InputError
from ...symbolic.derivatives import gradient as slopes_of
from ...symbolic.expr import Expr, symbol
from ...symbolic.graph import evaluate, free_symbols
from ..gradients.gradient import Gradient
from ..gradients.hessian import Hessian
from .criteria import Criterion
from .formulas import parsed


def parts_of(criteria: Mapping[str, Criterion]) -> dict[str, Criterion]:
    """The criteria with those that are made of others taken apart: ``name(part)``."""
    found: dict[str, Criterion] = {}
    for name, c in criteria.items():
        inner = {f"{name}({n})": _in_scenario(p, c) for n, p in c.parts.items()}
        found |= parts_of(inner) if inner else {name: c}
    return found


def _in_scenario(part: Criterion, c: Criterion) -> Criterion:
    return replace(part, options={**part.options, "scenario": c.options["scenario"]}) if "scenario" in c.options else part


def joined(criteria: Mapping[str, Criterion], found: Mapping[str, float]) -> tuple[dict[str, float], np.ndarray]:
    """Values of criteria from those of their parts, and ∂(criterion)/∂(part), a row a criterion."""
    places = {n: i for i, n in enumerate(found)}
    values, matrix = {}, np.zeros((len(criteria), len(found)))
    for i, (name, c) in enumerate(criteria.items()):
        if not c.parts:
            values[name] = float(found[name])
            matrix[i, places[name]] = 1.0
            continue
        inner = {f"{name}({n})": p for n, p in c.parts.items()}
        own, rows = joined(inner, found)
        expression, symbols, slopes = _formula(str(c.expression), tuple(c.parts), tuple(c.constants))
        known = {symbols[n]: y for n, y in zip(c.parts, own.values(), strict=True)} | {symbols[n]: x for n, x in c.constants.items()}
        values[name] = float(evaluate([expression], known)[0])
        matrix[i] = np.asarray(evaluate(list(slopes), known), dtype=float) @ rows
    return values, matrix


@lru_cache(maxsize=256)
def _formula(text: str, parts: tuple[str, ...], constants: tuple[str, ...]) -> tuple[Expr, dict[str, Expr], tuple[Expr, ...]]:
    """The expression of parts, their symbols, and its derivatives by the parts."""
    symbols = {n: symbol(n, "parameter") for n in (*parts, *constants)}
    found = parsed(text, symbols, "no part of it", f"criterion combined '{text}'")
    idle = [n for n in parts if symbols[n] not in free_symbols([found])]
    if idle:
        raise InputError(f"criterion combined '{text}': part '{idle[0]}' is not in it")
    return found, symbols, tuple(slopes_of(found, [symbols[n] for n in parts]))


def evaluated(criteria: Mapping[str, Criterion], find: Callable[[dict[str, Criterion]], Mapping[str, float]]) -> dict[str, float]:
    """Values of criteria, some of them made of others; one that is met again is found once."""
    parts = parts_of(criteria)
    first: dict[Any, str] = {}
    for n, c in parts.items():
        first.setdefault(_once(n, c), n)
    if len(first) == len(parts) == len(criteria) and not any(c.parts for c in criteria.values()):
        return dict(find(parts))
    found = find({n: parts[n] for n in first.values()})
    return joined(criteria, {n: found[first[_once(n, c)]] for n, c in parts.items()})[0]


def _once(name: str, c: Criterion) -> Any:
    """What a criterion is known by: itself, or its name where variables may change its constants."""
    return name if c.constants else id(c)


@dataclass(frozen=True, eq=False)
class CombinedGradient(Gradient):
    """A gradient of criteria that are made of others; ``parts`` is that of what they are made of."""

    parts: Gradient | None = None

    def check(self, rtol: float = 1e-6) -> Self:
        """Compares the derivatives of the parts with differences."""
        assert self.parts is not None
        self.parts.check(rtol)
        return self


def differentiated(criteria: Mapping[str, Criterion], find: Callable[[dict[str, Criterion]], Gradient]) -> Gradient:
    """The gradient of criteria, some of them made of others."""
    if not any(c.parts for c in criteria.values()):
        return find(dict(criteria))
    g = find(parts_of(criteria))
    values, by = joined(criteria, g.values)
    same = {n: getattr(g, n) for n in ("analysis", "variables", "method", "cost", "result", "notes", "switches")}
    return CombinedGradient(criteria=dict(criteria), values=values, matrix=by @ g.matrix, parts=g, **same)


def curved(criteria: Mapping[str, Criterion], find: Callable[[dict[str, Criterion]], Hessian]) -> Hessian:
    """Second derivatives of criteria, some of them made of others: H d = Σ φᵢ Hᵢd + Σ φᵢⱼ (gⱼ·d) gᵢ."""
    if not any(c.parts for c in criteria.values()):
        return find(dict(criteria))
    h = find(parts_of(criteria))
    values, by = joined(criteria, h.values)
    products = np.einsum("cp,pdn->cdn", by, h.products)
    along = h.gradient @ h.directions.T  # parts × directions
    for i, (name, c) in enumerate(criteria.items()):
        products[i] += np.einsum("pq,qd,pn->dn", _bent(name, c, h.values), along, h.gradient)
    return replace(h, criteria=dict(criteria), values=values, gradient=by @ h.gradient, products=products)


def _bent(name: str, c: Criterion, found: Mapping[str, float]) -> np.ndarray:
    """Second derivatives of a criterion by all parts."""
    total = np.zeros((len(found), len(found)))
    if not c.parts:
        return total
    inner = {f"{name}({n})": p for n, p in c.parts.items()}
    own, rows = joined(inner, found)
    _, symbols, slopes = _formula(str(c.expression), tuple(c.parts), tuple(c.constants))
    known = {symbols[n]: y for n, y in zip(c.parts, own.values(), strict=True)} | {symbols[n]: x for n, x in c.constants.items()}
    wrt = [symbols[n] for n in c.parts]
    table = [float(x) for s in slopes for x in evaluate(slopes_of(s, wrt), known)]
    total += rows.T @ np.reshape(table, (len(wrt), len(wrt))) @ rows
    for slope, (n, part) in zip(evaluate(list(slopes), known), inner.items(), strict=True):
        total += float(slope) * _bent(n, part, found)
    return total


__all__ = ["CombinedGradient", "curved", "differentiated", "evaluated", "joined", "parts_of"]
