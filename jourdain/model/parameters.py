"""Named parameters: symbols in the equations, numbers that may change without compiling again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, ModelError, nearest
from ..symbolic.expr import Expr, symbol
from ..symbolic.graph import evaluate
from .units import unit as parse_unit
from .values import number


@dataclass
class Parameter:
    """A parameter: its symbol, present value, unit, bounds and meaning."""

    name: str
    symbol: Expr
    value: float
    unit: str = ""
    bounds: tuple[float | None, float | None] = (None, None)
    description: str = ""


class Parameters:
    """The parameters of a model in order of declaration."""

    def __init__(self) -> None:
        self._items: dict[str, Parameter] = {}

    def add(self, name: str, value: Any, unit: str = "", bounds: tuple[Any, Any] = (None, None), description: str = "") -> Expr:
        """Declares a parameter and gives its symbol; ``value`` is SI or text such as "5 mm", ``unit`` says its dimension."""
        if not name or not isinstance(name, str):
            raise ModelError(f"a parameter needs a name, got {name!r}")
        if name in self._items:
            raise ModelError(f"parameter '{name}' is declared twice; choose another name")
        if unit and parse_unit(unit).factor != 1.0:
            si = parse_unit(unit).si
            raise ModelError(f"parameter '{name}': unit '{unit}' is not an SI unit; give the value as text ('5 {unit}') and unit='{si}'")
        v = number(value, f"parameter '{name}'", unit or None)
        if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
            raise ModelError(f"parameter '{name}': bounds {bounds!r} are not a pair; give (lower, upper), None for no bound")
        low, high = (None if b is None else number(b, f"parameter '{name}': bound", unit or None) for b in bounds)
        if (low is not None and v < low) or (high is not None and v > high):
            raise ModelError(f"parameter '{name}': value {v:g} is outside its bounds ({low}, {high})")
        item = Parameter(name, symbol(name, "parameter"), v, unit, (low, high), description)
        self._items[name] = item
        return item.symbol

    def __getitem__(self, name: str) -> Parameter:
        try:
            return self._items[name]
        except KeyError:
            near = nearest(name, self._items, 3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise InputError(f"there is no parameter '{name}'{hint}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    @property
    def names(self) -> list[str]:
        """Names in order."""
        return list(self._items)

    @property
    def symbols(self) -> tuple[Expr, ...]:
        """Symbols in order."""
        return tuple(p.symbol for p in self)

    def values(self, changes: Mapping[str, Any] | None = None) -> np.ndarray:
        """Values in order, with some replaced."""
        vector = np.array([p.value for p in self], dtype=float)
        index = {name: i for i, name in enumerate(self._items)}
        for name, value in (changes or {}).items():
            item = self[name]
            vector[index[name]] = number(value, f"parameter '{name}'", item.unit or None)
        return vector

    def evaluate(self, expressions: Any, changes: Mapping[str, Any] | None = None) -> Any:
        """Numbers of expressions of parameters."""
        return evaluate(expressions, dict(zip(self.symbols, self.values(changes), strict=True)))
