"""What a collocation evaluates at its points: rates, integrands, path constraints and equations, with first and second derivatives from the graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...formalisms.functions.dynamics import state_rates
from ...formalisms.functions.linearisation import implicit_terms
from ...formalisms.functions.tree import multiplier_symbols
from ...native.function import Function, compile_function
from ...symbolic.derivatives import sparse_jacobian, vjp
from ...symbolic.expr import Expr, add, constant, mul, symbol
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.graph import substitute
from ...systems.tree.redundancy import redundant_rows

if TYPE_CHECKING:
    from ...systems.system import System

#: Loops are held closed by ḧ + 2αḣ + α²h = 0 with this α (1/s) at all points.
CLOSING = 20.0


class Points:
    """y = (ẋ, equations, further expressions) of z = (x, controls, accelerations and multipliers of loops) at time t, in rows.

    Trees have their accelerations as expressions.  Where loops are closed, accelerations and multipliers are unknowns of every point with the equations of
    motion and those of the closed loops.
    """

    def __init__(self, system: System, start: Any, controls: Sequence[str], more: Sequence[Expr]) -> None:
        self.system, self.controls = system, list(controls)
        eq = system.equations_of_motion
        if system.configuration.quaternions:
            raise InputError(f"optimal control of '{system.model.name}': orientations by quaternions are not taken; use joints with angles")
        self.x = (*eq.q, *eq.v, *eq.z)
        lam = multiplier_symbols(eq)
        own = [eq.u[list(system.model.inputs).index(name)] for name in self.controls]
        held = dict(zip(eq.u, map(constant, system.input_values()), strict=True))
        for u in own:
            del held[u]
        if eq.rows:
            left_out = set(redundant_rows(system.reference, start))
            kept = [i for i in range(len(eq.rows)) if i not in left_out]
            terms = implicit_terms(eq, lam)
            rates = [*eq.position_rates, *eq.a, *terms["f"]]
            equations = [*terms["r"], *(self._closed(terms, i, eq.holonomic) for i in kept)]
            self.unknowns: tuple[Expr, ...] = (*eq.a, *(lam[i] for i in kept))
            held |= {lam[i]: constant(0.0) for i in left_out}
        else:
            rates, equations, self.unknowns = state_rates(eq), [], ()
            more = substitute(list(more), dict(zip(eq.a, rates[system.nq : system.nq + system.nv], strict=True)))
        self.n, self.equations = len(self.x), len(equations)
        self.outputs = substitute([*rates, *equations, *more], held)
        self.variables = (*self.x, *own, *self.unknowns)
        self._symbols = (eq.t, *self.variables)
        self._p = eq.p

    @staticmethod
    def _closed(terms: dict[str, list[Expr]], i: int, holonomic: int) -> Expr:
        """The equation that holds a loop closed."""
        found = add(terms["g"][i], mul(constant(2.0 * CLOSING), terms["w"][i]))
        return add(found, mul(constant(CLOSING**2), terms["h"][i])) if i < holonomic else found

    def _compiled(self, name: str, outputs: Sequence[Expr], weights: Sequence[Expr] = ()) -> Function:
        eq = self.system.equations_of_motion
        inputs = [Argument("t", (eq.t,)), Argument("z", self.variables)]
        if weights:
            inputs.append(Argument("w", tuple(weights)))
        if self._p:
            inputs.append(Argument("p", self._p))
        f = SymbolicFunction(f"points_{name}", tuple(inputs), (Result("y", tuple(outputs), (len(outputs),)),))
        return compile_function(f, self.system.parameter_vector if self._p else None)

    @cached_property
    def _value(self) -> Function:
        return self._compiled("value", self.outputs)

    @cached_property
    def _first(self) -> tuple[np.ndarray, np.ndarray, Function]:
        table = sparse_jacobian(self.outputs, self._symbols)
        rows, columns = (np.array([key[k] for key in table], dtype=int) for k in (0, 1))
        return rows, columns, self._compiled("first", list(table.values()))

    @cached_property
    def _second(self) -> tuple[np.ndarray, np.ndarray, Function]:
        w = [symbol(f"w_{i}", "input") for i in range(len(self.outputs))]
        slopes = vjp(self.outputs, w, list(self._symbols))
        table = {key: e for key, e in sparse_jacobian(slopes, self._symbols).items() if key[0] >= key[1]}
        rows, columns = (np.array([key[k] for key in table], dtype=int) for k in (0, 1))
        return rows, columns, self._compiled("second", list(table.values()), w)

    @property
    def pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows (of y) and columns (0 is time) of the first derivatives."""
        return self._first[0], self._first[1]

    @property
    def second_pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns (0 is time), lower triangle, of the second derivatives of weighted sums."""
        return self._second[0], self._second[1]

    def values(self, t: np.ndarray, z: np.ndarray) -> np.ndarray:
        """y in rows."""
        return self._rows(self._value, len(self.outputs), t, z)

    def slopes(self, t: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Entries of ∂y/∂(t, z) in rows."""
        return self._rows(self._first[2], len(self._first[0]), t, z)

    def curvatures(self, t: np.ndarray, z: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Entries of the second derivatives of w·y in rows."""
        return self._rows(self._second[2], len(self._second[0]), t, z, w)

    @staticmethod
    def _rows(f: Function, width: int, t: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
        if not width:
            return np.zeros((len(t), 0))
        return np.asarray(f(np.ascontiguousarray(t[:, None]), *map(np.ascontiguousarray, arrays))).reshape(len(t), width)


__all__ = ["CLOSING", "Points"]
