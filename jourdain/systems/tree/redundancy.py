"""Constraints that follow from others wherever the mechanism moves, told apart from those lost in a singular position only.

A mechanism such as Bricard's has more equations than it needs.  Which rows are left out is decided once: near the constraints a
redundant row looks independent by the amount of their violation, and deciding anew at each instant would mistake that for a
constraint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...native.function import Function
from ..constraints import look_at_start
from ..state import State

if TYPE_CHECKING:
    from ..dynamics import Dynamics

#: Closed positions around the given one in which the rank is looked at.
SAMPLES = 4


def redundant_rows(system: Dynamics, state: State) -> list[int]:
    """Indices of constraints that are redundant in the given closed position and around it."""
    m = len(system.equations_of_motion.rows)
    if not m or look_at_start(system, state)[0]:
        return []
    from ...solvers.constraints.nearby import redundant_nearby

    if "redundancy" not in system._idle:
        system._idle["redundancy"] = _Memory(system)
    memory: _Memory = system._idle["redundancy"]
    found = np.zeros(m, dtype=np.int64)
    count = redundant_nearby(*memory.functions, memory.time, memory.quaternions, memory.directions, *memory.work, found, state.q, state.t)
    return sorted(found[:count].tolist()) if count else []


def redundant_names(system: Dynamics, state: State) -> list[str]:
    """Names of all constraints that follow from others around a closed position, those that hold by themselves included."""
    eq = system.equations_of_motion
    found = {eq.rows[i].name for i in redundant_rows(system, state)} | set(eq.idle_rows)
    return [name for name in eq.declared_rows if name in found]


class _Memory:
    """The compiled constraints of a system as the kernel takes them: addresses, arguments, sizes, and what they point to."""

    def __init__(self, system: Dynamics) -> None:
        from ...solvers.constraints.nearby import memory_size

        eq = system.equations_of_motion
        velocity = system.function("constraint_velocities")
        position = system.function("constraints") if eq.holonomic else velocity
        self.time, self._zeros = np.zeros(1), np.zeros(max(size for _, size in velocity.signature.inputs))
        self._keep: list[np.ndarray] = []
        self._arguments = [self._pointers(f) for f in (position, velocity)]
        first, second = (a.ctypes.data for a in self._arguments)
        slot = len(velocity.signature.inputs) + 1
        self.functions = (position.address, first, velocity.address, second, slot, eq.holonomic, len(eq.rows), system.nv)
        self.quaternions = np.array([i for pair in system.configuration.quaternions for i in pair] + [0], dtype=np.int64)
        m, n = len(eq.rows), system.nv
        self.work = np.zeros(m + n, dtype=np.int64), np.zeros(memory_size(m, n, system.nq))
        # the same for every start: what is found does not depend on chance
        self.directions = np.random.default_rng(0).normal(size=(SAMPLES, system.nv))

    def _pointers(self, f: Function) -> np.ndarray:
        """Arguments of a function of t, q and others that are zero."""
        outputs = [np.zeros(shape) for _, shape in f.signature.outputs]
        self._keep += outputs
        return f.arguments(self.time, *[self._zeros] * (len(f.signature.inputs) - 1), *outputs)
