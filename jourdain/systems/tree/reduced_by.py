"""A constrained system whose accelerations come from a reduction chosen by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError
from ...solvers.constraints.native_reductions import WAYS, ByReduction, reduced_state_derivative, work_size
from ...solvers.linear.units import plain
from ...solvers.native_function import NativeFunction
from ..units import units_of
from .projected import NativeSystem

#: Reductions that run in native code; "partition" is that of :class:`NativeSystem` itself.
NATIVE_REDUCTIONS = ("partition", *WAYS)


class ReducedBy(NativeSystem):
    """The right-hand side by a named reduction of M a = f + Jᵀλ, J a = g; projection, events and derivatives are those of the system.

    As many rows count as redundant as at the start.
    """

    def __init__(self, reduction: str, system: Any, *args: Any, **options: Any) -> None:
        if reduction not in NATIVE_REDUCTIONS:
            raise InputError(
                f"simulate '{system.model.name}': reduction '{reduction}' has no native form (accelerations and multipliers of single states "
                f"take it); compile with one of {', '.join(NATIVE_REDUCTIONS)} to simulate"
            )
        self.reduction = reduction
        super().__init__(system, *args, **options)

    def _constrained(self) -> NativeFunction:
        if self.reduction == "partition":
            return super()._constrained()
        s, f = self.system, self._function("descriptor")
        keep: list[object] = [self.u]
        rows = len(s.equations_of_motion.rows)
        m = rows - len(self._redundant)
        args = ByReduction(
            nq=s.nq, nv=s.nv, nz=s.nz, rows=np.arange(rows), rank=m, way=WAYS[self.reduction], descriptor=self.compiled(f, 2, keep),
            work=np.zeros(work_size(s.nv, rows)), pivots=np.zeros(s.nv + m, dtype=np.int64), units=units_of(s, f), same=plain(rows, s.nv),
        )  # fmt: skip
        return NativeFunction.of(reduced_state_derivative.address, args, keep)


__all__ = ["NATIVE_REDUCTIONS", "ReducedBy"]
