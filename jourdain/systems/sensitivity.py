"""Functions of a system with their derivatives, as the walks along a run call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Any

import numpy as np

from ..native.function import Function, compile_function
from ..native.lanes import Lanes, aligned
from ..solvers.native_function import NativeFunction, address
from ..solvers.sensitivity.field import Field, Map, Readings, map_of
from ..symbolic.expr import Expr
from ..symbolic.graph import free_symbols
from ..symbolic.linearised import Linearised


@dataclass(eq=False)
class Derived:
    """A function y = f(arrays; p) of a system, compiled when first needed, with its push, its pull and the slopes of its constants."""

    linear: Linearised
    #: Values of all its parameters.
    p: np.ndarray
    _lanes: dict[int, Lanes] = dataclass_field(default_factory=dict)

    def _compiled(self, word: str) -> Function:
        return compile_function(getattr(self.linear, word)(), self.p if self.linear.parameters else None)

    @cached_property
    def value(self) -> Function:
        """y."""
        return self._compiled("value")

    @cached_property
    def push(self) -> Function:
        """dy."""
        return self._compiled("push")

    @cached_property
    def pull(self) -> Function:
        """Weights of the active arrays and of the constants."""
        return self._compiled("pull")

    @cached_property
    def bend(self) -> Function:
        """How weights of the active arrays and of the constants change, those of y held."""
        return self._compiled("bend")

    @cached_property
    def _curvature(self) -> Function | None:
        f = self.linear.curvature() if self.nc and self.linear.wrt else None
        return None if f is None else compile_function(f, self.p)

    def curvature(self, cbar: np.ndarray, dp: np.ndarray) -> np.ndarray:
        """Σ c̄ₖ ∂²cₖ/∂p² dp (chosen parameters)."""
        f = self._curvature
        return np.zeros(len(self.linear.wrt)) if f is None else np.atleast_1d(f(np.ascontiguousarray(cbar), np.ascontiguousarray(dp)))

    @cached_property
    def _slopes(self) -> Function | None:
        return self._compiled("slopes") if self.nc and self.linear.wrt else None

    @property
    def slopes(self) -> np.ndarray:
        """∂c/∂p (constants × chosen parameters)."""
        return np.zeros((self.nc, len(self.linear.wrt))) if self._slopes is None else np.asarray(self._slopes())

    @property
    def nc(self) -> int:
        """Number of constants."""
        return len(self.linear.constants)

    def uses(self, array: str) -> bool:
        """Whether the function depends on an array."""
        own = {s.id for s in self.linear.arrays[array]}
        return any(s.id in own for s in free_symbols(self.linear.outputs))

    def set_parameters(self, p: np.ndarray) -> None:
        """Other values of the parameters for all that is compiled."""
        self.p = p
        for name in ("value", "push", "pull", "bend", "_slopes", "_curvature"):
            f = self.__dict__.get(name)
            if f is not None and f.signature.parameters:
                f.set_parameters(p)

    def map(self, word: str, u: np.ndarray, outputs: int) -> tuple[Map, list[Any]]:
        """A function as kernels call it: slots of the arrays (inputs u in the third), of what is given behind them, and of ``outputs``."""
        f: Function = getattr(self, word)
        inputs = len(f.signature.inputs)
        work = np.zeros(max(1, f.signature.workspace))
        k = f.constants
        args = np.zeros(inputs + outputs + 2, dtype=np.int64)
        args[2], args[-2], args[-1] = address(u), address(k), address(work)
        return Map(function=f.address, args=args), [f, u, k, work]

    def lanes_map(self, u: np.ndarray, lanes: int) -> tuple[Map, list[Any]]:
        """The push of several directions at once, in SIMD lanes, as kernels call it: the point is one, what depends on it alone is computed once."""
        f = self.push
        wide = self._lanes.get(lanes)
        if wide is None:
            wide = self._lanes[lanes] = Lanes(f.symbolic, lanes, self.linear.arrays)
        work = aligned(max(1, wide.workspace))
        args = np.zeros(len(f.signature.inputs) + 3, dtype=np.int64)
        args[2], args[-2], args[-1] = address(u), address(f.constants), address(work)
        return Map(function=wide.address, args=args), [wide, u, f.constants, work]


def derived(
    name: str, arrays: Mapping[str, Sequence[Expr]], outputs: Sequence[Expr], active: Sequence[str], parameters: Sequence[Expr],
    values: np.ndarray, wrt: Sequence[Expr], shared: Sequence[Expr] | None = None,
) -> Derived:  # fmt: skip
    """A function with its derivatives; see :class:`.Linearised`."""
    return Derived(Linearised(name, arrays, outputs, active, parameters, wrt, shared), values)


def readings(of: Derived | None, n: int, nv: int, m: int, u: np.ndarray, keep: list[Any]) -> Readings:
    """Functions F(t, x, a, λ) as kernels read them; without any an empty record."""
    size = 1 + n + nv + m
    count, nc = (0, 0) if of is None else (len(of.linear.outputs), of.nc)
    found = Readings(
        count=count, nc=nc, forces=0 if of is None else int(of.uses("lam")), y=np.zeros(max(1, count)), lam=np.zeros(max(1, m)), change=np.zeros(size), bar=np.zeros(size),
        cbar=np.zeros(max(1, nc)), value=map_of(None, 8), push=map_of(None, 8), pull=map_of(None, 8), bend=map_of(None, 10),
    )  # fmt: skip
    if of is not None and count:
        give(found, of, "value", u, keep)
    return found


#: How many results each function has.
RESULTS = {"value": 1, "push": 1, "pull": 2, "bend": 2}


def give(record: Any, of: Derived, word: str, u: np.ndarray, keep: list[Any], name: str | None = None) -> None:
    """Lets a record have a function, perhaps under another ``name``, if it has not yet."""
    if getattr(record, name or word).function == 0:
        made, kept = of.map(word, u, RESULTS[word])
        setattr(record, name or word, made)
        keep += kept


def field(rhs: NativeFunction, n: int, first: int, nv: int, m: int, nc: int, held: int = 0) -> Field:
    """A rate and the memory of one point; its push and pull are given when they are needed."""
    words = (
        "push",
        "pull",
        "bend",
        "balance",
        "project",
        "project_push",
        "project_pull",
        "project_bend",
        "renew",
        "renew_push",
        "renew_pull",
    )
    none = {name: map_of(None, 8) for name in words}
    return Field(
        n=n, first=first, nv=nv, m=m, nc=nc, held=held, slot=2, lanes=1, mode=np.zeros(1, dtype=np.int64), keep=map_of(None, 5), points=np.zeros(1, dtype=np.int64), keeping=0, known=np.zeros(1, dtype=np.int64), impulse=np.zeros(max(1, nv)), shift=np.zeros(max(1, first)), impulse_change=np.zeros(max(1, nv)), shift_change=np.zeros(max(1, first)), value=map_of(rhs, 3), **none, before=np.zeros(n), heldbar=np.zeros(max(1, held)), change=np.zeros(1 + n), bar=np.zeros(1 + n), cbar=np.zeros(max(1, nc)), dlam=np.zeros(max(1, m)),
        lambar=np.zeros(max(1, m)),
    )  # fmt: skip


def widened(record: Any, narrow: Any, lanes: int, of: Mapping[str, Derived | None], u: np.ndarray, sizes: Mapping[str, int]) -> list[Any]:
    """Lets a record be like another with pushes of several directions at once, in memory of its own; what must be kept alive."""
    record.restore(narrow)
    keep: list[Any] = []
    for name, size in sizes.items():
        setattr(record, name, aligned(max(1, size) * lanes))
    for name, f in of.items():
        if f is not None:
            made, kept = f.lanes_map(u, lanes)
            setattr(record, name, made)
            keep += kept
    return keep


__all__ = ["Derived", "derived", "field", "give", "readings", "widened"]
