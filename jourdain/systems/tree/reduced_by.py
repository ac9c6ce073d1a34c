"""A constrained system whose accelerations come from a reduction chosen by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError
from ...solvers.constraints.native_reductions import WAYS, reduced_state_derivative, work_size
from ...solvers.native_function import NativeFunction, address
from .projected import NativeSystem

#: Reductions that run in native code; "partition" is that of :class:`NativeSystem` itself.
NATIVE_REDUCTIONS = ("partition", *WAYS)


class ReducedBy(NativeSystem):
    """The right-hand side by a named reduction of M a = f + Jᵀλ, J a = g; projection, events and derivatives are those of the system.

    As many rows count as redundant as at the start; "partition" alone passes singular positions.
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
        keep: list[object] = [f, self.u]
        pointers = self._pointers(f, 2, keep)
        pointers[2] = address(self.u)
        rows = len(s.equations_of_motion.rows)
        listed, m = np.array([rows, *range(rows)], dtype=np.int64), rows - len(self._redundant)
        work, pivots = np.zeros(work_size(s.nv, rows)), np.zeros(s.nv + m, dtype=np.int64)
        memory = map(address, (pointers, work, pivots))
        words = [0, 0, 0, s.nq, s.nv, s.nz, address(listed), m, f.address, *memory, WAYS[self.reduction]]
        keep += [pointers, listed, work, pivots]
        return NativeFunction(reduced_state_derivative.address, np.array(words, dtype=np.uintp), tuple(keep))


__all__ = ["NATIVE_REDUCTIONS", "ReducedBy"]
