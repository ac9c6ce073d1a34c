"""A named symbolic function: argument arrays of symbols, result arrays of expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

from ..errors import InputError
from .expr import PARAMETER, Expr, halves
from .graph import Operations, count, free_symbols, topological


@dataclass(frozen=True)
class Argument:
    """An input array of symbols."""

    name: str
    symbols: tuple[Expr, ...]
    description: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array (always one-dimensional)."""
        return (len(self.symbols),)


@dataclass(frozen=True)
class Result:
    """An output array of expressions, row by row."""

    name: str
    expressions: tuple[Expr, ...]
    shape: tuple[int, ...]
    description: str = ""
    #: of a matrix that is given by its entries alone: where they stand in it, counted row by row
    places: tuple[int, ...] | None = None


@dataclass(frozen=True)
class SymbolicFunction:
    """What a formalism gives: name, inputs, outputs; printers, evaluators and the native compiler take it.

    The argument holding parameters (if any) is the one whose symbols are of the kind "parameter"; expressions of
    parameters alone are hoisted into a *prepare* stage that runs when a parameter changes.
    """

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Result, ...]
    title: str = ""
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        known = {s.id for a in self.inputs for s in a.symbols}
        missing = [s.name for s in free_symbols(self.roots) if s.id not in known]
        if missing:
            raise InputError(
                f"function '{self.name}' depends on {', '.join(missing[:6])}, not among its inputs; laws read what their own model has declared, "
                "nothing of another model, or of an earlier one by the same name"
            )
        for r in self.outputs:
            if prod(r.shape) != len(r.expressions):
                raise InputError(f"function '{self.name}': output '{r.name}' of shape {r.shape} has {len(r.expressions)} expressions")

    def __reduce__(self) -> Any:
        from .exchange import pack_function, unpack_function

        return unpack_function, pack_function(self)

    @property
    def expressions(self) -> list[Expr]:
        """All output expressions in a row."""
        return [e for r in self.outputs for e in r.expressions]

    @cached_property
    def roots(self) -> list[Expr]:
        """The output expressions, each once, in the order of their first place: matrices may be mostly one zero."""
        return list({e.id: e for r in self.outputs for e in r.expressions}.values())

    @property
    def has_parameters(self) -> bool:
        """Whether one of the inputs holds parameters."""
        return any(s.deps == PARAMETER for a in self.inputs for s in a.symbols)

    def operations(self) -> Operations:
        """Operations at every call (what depends on parameters alone is not among them)."""
        return count(e for e in topological(self.roots) if e.deps & ~PARAMETER)

    def prepare_operations(self) -> Operations:
        """Operations done once when parameters change."""
        return count(e for e in topological(self.roots) if not e.deps & ~PARAMETER)


def hoisted(outputs: Sequence[Expr]) -> list[Expr]:
    """Parameter-only expressions that the rest of the function uses: the values ``prepare`` must deliver."""
    found: dict[int, Expr] = {}
    for e in topological(outputs):
        if e.deps & ~PARAMETER:
            for a in e.args if e.op != "dot" else halves(e.args)[1]:
                if a.deps == PARAMETER:
                    found.setdefault(a.id, a)
    for e in outputs:
        if e.deps == PARAMETER:
            found.setdefault(e.id, e)
    return list(found.values())


def rows_of(outputs: Sequence[Expr]) -> list[tuple[Expr, ...]]:
    """The rows of parameters that dot products of the function use: ``prepare`` lays each out side by side."""
    found = {tuple(halves(e.args)[0]): None for e in topological(outputs) if e.op == "dot" and e.deps & ~PARAMETER}
    return list(found)
