"""Named parameters: symbols in the equations, numbers that may change without compiling again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, ModelError, nearest
from ..symbolic.expr import Expr, as_expr, symbol
from ..symbolic.graph import evaluate, free_symbols
from .dimensions import declared
from .values import number


def _check_is_si(unit: str, name: str) -> None:
    """Parameters are in SI units."""
    from .units import unit as parse_unit  # loads with the first unit

    if parse_unit(unit).factor != 1.0:
        si = parse_unit(unit).si
        raise ModelError(f"parameter '{name}': unit '{unit}' is not an SI unit; give the value as text ('5 {unit}') and unit='{si}'")


@dataclass
class Parameter:
    """A parameter: its symbol, present value, unit, bounds and meaning."""

    name: str
    symbol: Expr
    value: float
    unit: str = ""
    bounds: tuple[float | None, float | None] = (None, None)
    description: str = ""
    #: whether it is a number of a structure: set with the structure as a whole, and not listed
    data: bool = False


class Parameters:
    """The parameters of a model in order of declaration, then the numbers of structures in the order of their names."""

    def __init__(self) -> None:
        self._own: dict[str, Parameter] = {}
        self._data: dict[str, Parameter] = {}
        self._all: dict[str, Parameter] = self._own
        #: Symbols made before the numbers of structures that they stand for, by name.
        self.premade: dict[str, Expr] = {}

    @property
    def _items(self) -> dict[str, Parameter]:
        """All by name; the order of structures' numbers does not tell which point was asked for first."""
        if len(self._all) != len(self._own) + len(self._data):
            self._all = self._own | dict(sorted(self._data.items())) if self._data else self._own
        return self._all

    def add(self, name: str, value: Any, unit: str = "", bounds: tuple[Any, Any] = (None, None), description: str = "") -> Expr:
        """Declares a parameter and gives its symbol; ``value`` is SI or text such as "5 mm", ``unit`` says its dimension."""
        if not name or not isinstance(name, str):
            raise ModelError(f"a parameter needs a name, got {name!r}")
        if name in self:
            raise ModelError(f"parameter '{name}' is declared twice; choose another name")
        if unit:
            _check_is_si(unit, name)
        v = number(value, f"parameter '{name}'", unit or None)
        if not unit and isinstance(value, str):
            from .units import unit_in

            unit = unit_in(value)
        if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
            raise ModelError(f"parameter '{name}': bounds {bounds!r} are not a pair; give (lower, upper), None for no bound")
        low, high = (None if b is None else number(b, f"parameter '{name}': bound", unit or None) for b in bounds)
        if (low is not None and v < low) or (high is not None and v > high):
            raise ModelError(f"parameter '{name}': value {v:g} is outside its bounds ({low}, {high})")
        item = Parameter(name, declared(symbol(name, "parameter"), unit), v, unit, (low, high), description)
        self._own[name] = item
        return item.symbol

    def add_data(self, name: str, value: float) -> Expr:
        """A number that equations hold as a symbol but that is no parameter of the user's."""
        if name in self:
            raise ModelError(f"parameter '{name}' is declared twice; choose another name")
        made = self.premade.get(name)
        self._data[name] = Parameter(name, symbol(name, "parameter") if made is None else made, value, data=True)
        return self._data[name].symbol

    def __getitem__(self, name: str) -> Parameter:
        if name in self._own:
            return self._own[name]
        if name in self._data:
            raise InputError(f"'{name}' is a number of a structure, not a parameter; change the structure instead")
        near = nearest(name, self._own, 3)
        known = ", ".join([*self._own][:8]) + (" …" if len(self._own) > 8 else "")
        hint = f"; did you mean {', '.join(near)}?" if near else f"; there are {known}" if known else "; the model has none"
        raise InputError(f"there is no parameter '{name}'{hint}")

    def symbol(self, name: str) -> Expr | None:
        """The symbol of that name, be it a parameter or a number of a structure; None if there is none."""
        return self._items[name].symbol if name in self else None

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._data

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    @property
    def names(self) -> list[str]:
        """Names in order."""
        return list(self._items)

    @property
    def listed(self) -> list[Parameter]:
        """Those that are the user's, without the numbers of structures."""
        return list(self._own.values())

    @property
    def digest(self) -> str:
        """A hash of the numbers of structures, which no list of parameters tells; empty where there are none."""
        if not self._data:
            return ""
        import hashlib  # loads a library of its own, which models of rigid bodies do without until they are compiled

        text = "\n".join(f"{p.name} {p.value!r}" for p in self if p.data)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def symbols(self) -> tuple[Expr, ...]:
        """Symbols in order."""
        return tuple(p.symbol for p in self)

    def values(self, changes: Mapping[str, Any] | None = None, base: np.ndarray | None = None) -> np.ndarray:
        """Values in order (``base`` where given), with some replaced."""
        vector = np.array([p.value for p in self] if base is None else base, dtype=float)
        index = {name: i for i, name in enumerate(self._items)}
        for name, value in (changes or {}).items():
            vector[index[name]] = self.read(name, value)
        return vector

    def read(self, name: str, given: Any) -> float:
        """A value given for a parameter, which may be written with a unit."""
        return number(given, f"parameter '{name}'", self[name].unit or None)

    def outside(self, changes: Mapping[str, Any], values: np.ndarray) -> list[str]:
        """What is said of changes that leave their bounds by more than the steps of difference quotients do."""
        found = []
        bounded = {n for n in changes if self[n].bounds != (None, None)}
        for (name, p), x in zip(self._items.items(), values.tolist(), strict=True) if bounded else ():
            if name not in bounded:
                continue
            low, high = p.bounds
            allowed = 1e-4 * max(abs(b) for b in (p.value, low or 0.0, high or 0.0))
            if (low is not None and x < low - allowed) or (high is not None and x > high + allowed):
                ends = f"({'any' if low is None else f'{low:g}'}, {'any' if high is None else f'{high:g}'})"
                unit = f" {p.unit}" if p.unit else ""
                found.append(f"parameter '{name}' = {x:g}{unit} is outside its bounds {ends}{unit}; results may mean nothing")
        return found

    def evaluate(self, expressions: Any, changes: Mapping[str, Any] | None = None) -> Any:
        """Numbers of expressions of parameters."""
        known = dict(zip(self.symbols, self.values(changes), strict=True))
        needed = free_symbols([expressions] if isinstance(expressions, Expr) else [as_expr(e) for e in expressions])
        return evaluate(expressions, {s: known[s] for s in needed if s in known})  # not the thousands of numbers of a structure
