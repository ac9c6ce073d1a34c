"""A function of named arrays with its two linear maps: the push of changes forwards and the pull of weights back.

What depends on parameters alone is not differentiated at every call: the expressions c(p) that the rest of a function uses (its *constants*,
which native code prepares once) are variables of their own.  Weights of constants add up over a whole run and meet ∂c/∂p once, so that the
cost of a pull does not grow with the number of parameters.

Derivatives are taken of a copy in symbols of its own.  The operands of a sum stand in the order of their making, so that what has been derived
before would otherwise decide how rounding falls: derivatives in another thread, or after other work, would not have the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..errors import InputError
from .derivatives import jvp, sparse_jacobian, vjp
from .expr import PARAMETER, ZERO, Expr, halves, symbol
from .function import Argument, Result, SymbolicFunction, hoisted
from .graph import rebuild, substitute, topological


class Linearised:
    """y = f(arrays; p): ``value``, ``push`` (ẏ for changes of the active arrays and of the constants) and ``pull`` (weights of y to weights of
    the active arrays and of the constants), as symbolic functions; ``bend`` and ``curvature`` are what second derivatives need besides.

    Every function takes the arrays in the order given, so that native loops call them alike: ``value`` gives y; ``push`` takes behind them the
    changes of the active arrays in one row and those of the constants, and gives dy; ``pull`` takes the weights of y and gives those of the
    active arrays in one row and of the constants.
    """

    def __init__(
        self, name: str, arrays: Mapping[str, Sequence[Expr]], outputs: Sequence[Expr], active: Sequence[str], parameters: Sequence[Expr],
        wrt: Sequence[Expr], shared: Sequence[Expr] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.arrays, self.outputs, self.wrt = name, {n: tuple(a) for n, a in arrays.items()}, list(outputs), list(wrt)
        self.parameters, self._shared = tuple(parameters), shared
        self.variables = [s for n in active for s in self.arrays[n]]

    @cached_property
    def constants(self) -> list[Expr]:
        """Expressions of parameters alone that the function uses and that depend on the chosen parameters; or those that several share."""
        if self._shared is not None:
            self._check_shared(self._shared, self.outputs, self.wrt)
            return list(self._shared)
        order = topological(self.outputs)
        touched = {s.id for s in self.wrt}
        for e in order:
            if any(a.id in touched for a in e.args):
                touched.add(e.id)
                if e.op == "dot" and any(a.id in touched and a.deps == PARAMETER for a in halves(e.args)[0]):
                    raise InputError(f"{self.name}: a number of a structure depends on a variable; gradients by those are not carried")
        return [e for e in hoisted(self.outputs) if e.id in touched]

    def _check_shared(self, shared: Sequence[Expr], outputs: Sequence[Expr], wrt: Sequence[Expr]) -> None:
        """Whether the function depends on the chosen parameters through the shared constants alone: else a part of the derivative would be lost."""
        cut, wanted = {e.id for e in shared}, {s.id for s in wrt}
        seen, ahead = set(cut), [e for e in outputs if e.id not in cut]
        while ahead:
            e = ahead.pop()
            if e.id in wanted:
                raise RuntimeError(f"{self.name}: a constant of '{e.name}' is not among those that are shared")
            for a in e.args:
                if a.id not in seen:
                    seen.add(a.id)
                    ahead.append(a)

    def value(self) -> SymbolicFunction:
        """y."""
        return self._function("value", self, [], [Result("y", tuple(self.outputs), (len(self.outputs),))])

    def push(self) -> SymbolicFunction:
        """dy."""
        own = self._copied()
        d, dc = _symbols("d", own.variables), _symbols("dc", own.constants)
        moved = dict(zip([*own.variables, *own.constants], [*d, *dc], strict=True))
        found = jvp(own.outputs, moved)
        return self._function("push", own, [Argument("d", d), Argument("dc", dc)], [Result("dy", tuple(found), (len(found),))])

    def pull(self) -> SymbolicFunction:
        """Weights of the active arrays and of the constants."""
        own = self._copied()
        w = _symbols("w", own.outputs)
        n = len(own.variables)
        found = vjp(own.outputs, w, [*own.variables, *own.constants])
        parts = [Result("bar", tuple(found[:n]), (n,)), Result("cbar", tuple(found[n:]), (len(found) - n,))]
        return self._function("pull", own, [Argument("w", w)], parts)

    def bend(self) -> SymbolicFunction:
        """How the pull of fixed weights changes with the active arrays and the constants: forward over reverse accumulation."""
        own = self._copied()
        w, d, dc = _symbols("w", own.outputs), _symbols("d", own.variables), _symbols("dc", own.constants)
        # constants stand as symbols until both sweeps are done: products of them with numbers would be other expressions of the parameters
        free = dict(zip(own.constants, _symbols("c", own.constants), strict=True))
        wrt = [*own.variables, *free.values()]
        pulled = vjp(substitute(own.outputs, free), w, wrt)
        found = substitute(jvp(pulled, dict(zip(wrt, [*d, *dc], strict=True))), {s: e for e, s in free.items()})
        n = len(own.variables)
        parts = [Result("bar", tuple(found[:n]), (n,)), Result("cbar", tuple(found[n:]), (len(found) - n,))]
        return self._function("bend", own, [Argument("w", w), Argument("d", d), Argument("dc", dc)], parts)

    def curvature(self) -> SymbolicFunction | None:
        """Σ c̄ₖ ∂²cₖ/∂p² dp by the chosen parameters; None where constants are linear in them."""
        own = self._copied()
        w, d = _symbols("w", own.constants), _symbols("d", own.wrt)
        found = jvp(vjp(own.constants, w, own.wrt), dict(zip(own.wrt, d, strict=True)))
        if all(e is ZERO for e in found):
            return None
        inputs = (Argument("w", w), Argument("d", d), Argument("p", own.parameters))
        return SymbolicFunction(f"{self.name}_curvature", inputs, (Result("bar", tuple(found), (len(found),)),))

    def slopes(self) -> SymbolicFunction:
        """∂c/∂p by the chosen parameters, row by row."""
        own = self._copied()
        table = [[ZERO] * len(own.wrt) for _ in own.constants]
        for (i, j), e in sparse_jacobian(own.constants, own.wrt).items():
            table[i][j] = e
        result = Result("slopes", tuple(e for row in table for e in row), (len(table), len(own.wrt)))
        return SymbolicFunction(f"{self.name}_slopes", (Argument("p", own.parameters),), (result,))

    def _copied(self) -> _Copy:
        """The function in new symbols, its nodes made in the order of their use."""
        leaves = [*(s for a in self.arrays.values() for s in a), *self.parameters, *self.wrt]
        new: dict[int, Expr] = {}
        for e in topological([*leaves, *self.constants, *self.outputs]):
            new[e.id] = symbol(*e.data) if e.op == "symbol" else rebuild(e, [new[a.id] for a in e.args]) if e.args else e

        def of(several: Sequence[Expr]) -> tuple[Expr, ...]:
            return tuple(new[e.id] for e in several)

        arrays = {n: of(a) for n, a in self.arrays.items()}
        self._check_shared(of(self.constants), of(self.outputs), of(self.wrt))
        return _Copy(arrays, of(self.parameters), of(self.outputs), of(self.variables), of(self.constants), of(self.wrt))

    def _function(self, word: str, of: Linearised | _Copy, more: Sequence[Argument], results: Sequence[Result]) -> SymbolicFunction:
        inputs = [*(Argument(n, a) for n, a in of.arrays.items()), *more]
        if of.parameters:
            inputs.append(Argument("p", of.parameters))
        return SymbolicFunction(f"{self.name}_{word}", tuple(inputs), tuple(results))


@dataclass(frozen=True)
class _Copy:
    """A function in symbols of its own."""

    arrays: Mapping[str, tuple[Expr, ...]]
    parameters: tuple[Expr, ...]
    outputs: tuple[Expr, ...]
    variables: tuple[Expr, ...]
    constants: tuple[Expr, ...]
    wrt: tuple[Expr, ...]


def _symbols(word: str, of: Sequence[Expr]) -> tuple[Expr, ...]:
    return tuple(symbol(f"{word}_{i}", "input") for i in range(len(of)))


__all__ = ["Linearised"]
