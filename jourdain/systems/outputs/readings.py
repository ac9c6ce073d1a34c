"""Expressions of a model read at single states: what a sampled law sees of sensors, gauges and encoders."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...formalisms.functions.registry import assemble, vector_result
from ...native.function import Function, compile_function
from ...symbolic.expr import Expr
from ...symbolic.graph import free_symbols
from .reactions import constrained_accelerations

if TYPE_CHECKING:
    from ..state import State
    from ..system import System


class Reading:
    """The value of an expression of time, coordinates, states, inputs and sensors at a state of a system with its inputs."""

    def __init__(self, system: System, expression: Expr, what: str) -> None:
        self.system, self.expression, self.what = system, expression, what

    @cached_property
    def function(self) -> Function:
        """The expression compiled, as a function of t, x, u and perhaps accelerations."""
        eq = self.system.equations_of_motion
        resolved = eq.resolve([self.expression])
        known = {eq.t, *eq.q, *eq.v, *eq.a, *eq.z, *eq.u, *eq.p}
        strange = [s.name for s in free_symbols(resolved) if s not in known]
        if strange:
            raise InputError(f"{self.what}: '{strange[0]}' is nothing of the model '{self.system.model.name}'")
        symbolic = assemble(eq, "reading", "t x u", [vector_result("y", resolved)], optional="a")
        return compile_function(symbolic, self.system.parameter_vector if eq.p else None)

    def __call__(self, state: State, u: np.ndarray) -> float:
        t, x = np.array([state.t]), state.x
        rows = [constrained_accelerations(self.system.reference, t, x[None], u[None])[0][0]] if "a" in self.function.inputs else []
        return float(self.function(t, x, u, *rows)[0])


__all__ = ["Reading"]
