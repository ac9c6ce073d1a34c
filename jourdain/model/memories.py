"""Memories: discrete variables that laws read and that are renewed only when a step is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..symbolic.expr import KINDS, Expr
from .values import traced, value

if TYPE_CHECKING:
    from .loads import Callback, Input
    from .unknowns import Unknown


@dataclass
class Memory:
    """A discrete variable m: between accepted steps it is constant, at the end tₙ of each it becomes m⁺ = update(tₙ, xₙ, m⁻).

    Its symbol is that of the input of the same name, which the run itself sets.
    """

    name: str
    symbol: Expr
    initial: Expr
    update: Expr | None = None
    unit: str = ""


class MemoryMethods:
    """The part of a model that declares memories."""

    name: str
    inputs: dict[str, Input]
    memories: dict[str, Memory]
    unknowns: dict[str, Unknown]
    callbacks: dict[str, Callback]

    if TYPE_CHECKING:

        def _unlocked(self, what: str) -> None: ...
        def _new_name(self, name: str, kind: str, existing: dict[str, Any]) -> None: ...
        def input(self, name: str, value: Any = 0.0, unit: str = "") -> Expr: ...
        @property
        def found_inputs(self) -> set[str]: ...

    def memory(self, name: str, initial: Any = 0.0, update: Callable[[Expr], Any] | Any = None, unit: str = "") -> Expr:
        """A discrete variable, renewed only when a step is accepted; laws, outputs, events and other updates may read it.

        ``update`` is an expression of the state, or a function of the memory itself: ``update=lambda crush: jd.maximum(crush, x)``; it may be
        given later by :meth:`update`.  ``initial`` is a number or an expression of parameters.
        """
        self._new_name(name, "memory", self.memories)
        what = f"memory '{name}'"
        first = value(initial, what, unit or None)
        if first.deps & ~KINDS["parameter"]:
            raise ModelError(f"{what}: the initial value {first} must be a number or depend on parameters alone; let update= do the rest")
        symbol = self.input(name, 0.0, unit)
        self.memories[name] = Memory(name, symbol, first, None, unit)
        if update is not None:
            try:
                self.update(symbol, update)
            except Exception:  # what is refused leaves nothing behind
                del self.memories[name], self.inputs[name]
                raise
        return symbol

    def update(self, memory: Expr, expression: Callable[[Expr], Any] | Any) -> None:
        """What a memory becomes at the end of each accepted step, from the state there and all memories as they were during the step."""
        for item in self.memories.values():
            if item.symbol is memory:
                what = f"update of memory '{item.name}'"
                self._unlocked(what)
                new = value(traced(expression, what, memory) if callable(expression) else expression, what, item.unit or None, law=True)
                if new.deps & KINDS["acceleration"]:
                    raise ModelError(
                        f"{what}: it speaks of accelerations, which depend on the memory itself; use positions, velocities and states"
                    )
                item.update = new
                return
        raise ModelError(f"{memory!r} is not a memory of the model '{self.name}'; declare it with m.memory(name, …)")

    @property
    def outer_inputs(self) -> list[str]:
        """Names of the inputs that come from outside: neither memories nor unknowns, nor what callbacks and contacts set."""
        called = (n for c in self.callbacks.values() for n in c.inputs)
        apart = {*self.memories, *self.unknowns, *called, *self.found_inputs}
        return [name for name in self.inputs if name not in apart]


__all__ = ["Memory", "MemoryMethods"]
