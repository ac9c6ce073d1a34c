"""A function of named arrays with its two linear maps: the push of changes forwards and the pull of weights back.

What depends on parameters alone is not differentiated at every call: the expressions c(p) that the rest of a function uses (its *constants*,
which native code prepares once) are variables of their own.  Weights of constants add up over a whole run and meet ∂c/∂p once, so that the
cost of a pull does not grow with the number of parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from ..errors import InputError
from .derivatives import jvp, sparse_jacobian, vjp
from .expr import PARAMETER, ZERO, Expr, halves, symbol
from .function import Argument, Result, SymbolicFunction, hoisted
from .graph import substitute, topological


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
            self._check_shared(self._shared)
            return list(self._shared)
        order = topological(self.outputs)
        touched = {s.id for s in self.wrt}
        for e in order:
            if any(a.id in touched for a in e.args):
                touched.add(e.id)
                if e.op == "dot" and any(a.id in touched and a.deps == PARAMETER for a in halves(e.args)[0]):
                    raise InputError(f"{self.name}: a number of a structure depends on a variable; gradients by those are not carried")
        return [e for e in hoisted(self.outputs) if e.id in touched]

    def _check_shared(self, shared: Sequence[Expr]) -> None:
        """Whether the function depends on the chosen parameters through the shared constants alone: else a part of the derivative would be lost."""
        cut, wanted = {e.id for e in shared}, {s.id for s in self.wrt}
        seen, ahead = set(cut), [e for e in self.outputs if e.id not in cut]
        while ahead:
            e = ahead.pop()
            if e.id in wanted:
                raise RuntimeError(f"{self.name}: a constant of '{e.name}' is not among those that are shared")
            new = {a.id: a for a in e.args if a.id not in seen}
            seen |= new.keys()
            ahead += new.values()

    def value(self) -> SymbolicFunction:
        """y."""
        return self._function("value", [], [Result("y", tuple(self.outputs), (len(self.outputs),))])

    def push(self) -> SymbolicFunction:
        """dy."""
        d, dc = self._symbols("d", self.variables), self._symbols("dc", self.constants)
        moved = dict(zip([*self.variables, *self.constants], [*d, *dc], strict=True))
        found = jvp(self.outputs, moved)
        return self._function("push", [Argument("d", d), Argument("dc", dc)], [Result("dy", tuple(found), (len(found),))])

    def pull(self) -> SymbolicFunction:
        """Weights of the active arrays and of the constants."""
        w = self._symbols("w", self.outputs)
        n = len(self.variables)
        found = vjp(self.outputs, w, [*self.variables, *self.constants])
        parts = [Result("bar", tuple(found[:n]), (n,)), Result("cbar", tuple(found[n:]), (len(found) - n,))]
        return self._function("pull", [Argument("w", w)], parts)

    def bend(self) -> SymbolicFunction:
        """How the pull of fixed weights changes with the active arrays and the constants: forward over reverse accumulation."""
        w, d, dc = self._symbols("w", self.outputs), self._symbols("d", self.variables), self._symbols("dc", self.constants)
        # constants stand as symbols until both sweeps are done: products of them with numbers would be other expressions of the parameters
        free = dict(zip(self.constants, self._symbols("c", self.constants), strict=True))
        wrt = [*self.variables, *free.values()]
        pulled = vjp(substitute(self.outputs, free), w, wrt)
        found = substitute(jvp(pulled, dict(zip(wrt, [*d, *dc], strict=True))), {s: e for e, s in free.items()})
        n = len(self.variables)
        parts = [Result("bar", tuple(found[:n]), (n,)), Result("cbar", tuple(found[n:]), (len(found) - n,))]
        return self._function("bend", [Argument("w", w), Argument("d", d), Argument("dc", dc)], parts)

    def curvature(self) -> SymbolicFunction | None:
        """Σ c̄ₖ ∂²cₖ/∂p² dp by the chosen parameters; None where constants are linear in them."""
        w, d = self._symbols("w", self.constants), self._symbols("d", self.wrt)
        found = jvp(vjp(self.constants, w, self.wrt), dict(zip(self.wrt, d, strict=True)))
        if all(e is ZERO for e in found):
            return None
        inputs = (Argument("w", w), Argument("d", d), Argument("p", self.parameters))
        return SymbolicFunction(f"{self.name}_curvature", inputs, (Result("bar", tuple(found), (len(found),)),))

    def slopes(self) -> SymbolicFunction:
        """∂c/∂p by the chosen parameters, row by row."""
        table = [[ZERO] * len(self.wrt) for _ in self.constants]
        for (i, j), e in sparse_jacobian(self.constants, self.wrt).items():
            table[i][j] = e
        result = Result("slopes", tuple(e for row in table for e in row), (len(table), len(self.wrt)))
        return SymbolicFunction(f"{self.name}_slopes", (Argument("p", self.parameters),), (result,))

    def _symbols(self, word: str, of: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(symbol(f"{word}_{i}", "input") for i in range(len(of)))

    def _function(self, word: str, more: Sequence[Argument], results: Sequence[Result]) -> SymbolicFunction:
        inputs = [*(Argument(n, a) for n, a in self.arrays.items()), *more]
        if self.parameters:
            inputs.append(Argument("p", self.parameters))
        return SymbolicFunction(f"{self.name}_{word}", tuple(inputs), tuple(results))


__all__ = ["Linearised"]
