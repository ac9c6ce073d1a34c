"""Constraints that follow from others wherever the mechanism moves, told apart from those lost in a singular position only.

A mechanism such as Bricard's has more equations than it needs.  Which rows are left out is decided once: near the constraints a
redundant row looks independent by the amount of their violation, and deciding anew at each instant would mistake that for a
constraint.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...native.function import Function
from ...solvers.linear.sparse_rows import LARGE, loses_rank
from ..constraints import jacobian, look_at_start
from ..state import State

if TYPE_CHECKING:
    from ...solvers.constraints.plan import Compiled
    from ..dynamics import Dynamics

#: Rows of a large system whose singular values differ by less are independent; others are looked at closely.
CLEAR = 1e-5
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
    if not system.packed and LARGE <= m <= system.nv and not loses_rank(jacobian(system, state.q, state.t), CLEAR):
        return []
    found = np.zeros(m, dtype=np.int64)
    count = redundant_nearby(memory.record, state.q, state.t, found)
    return sorted(found[:count].tolist()) if count else []


def redundant_names(system: Dynamics, state: State) -> list[str]:
    """Names of all constraints that follow from others around a closed position, those that hold by themselves included."""
    eq = system.equations_of_motion
    found = {eq.rows[i].name for i in redundant_rows(system, state)} | set(eq.idle_rows)
    return [name for name in eq.declared_rows if name in found]


class _Memory:
    """The compiled constraints of a system as the kernel takes them."""

    def __init__(self, system: Dynamics) -> None:
        from ...solvers.constraints.nearby import nearby

        eq = system.equations_of_motion
        velocity = system.function("constraint_velocities")
        position = system.function("constraints") if eq.holonomic else velocity
        self._time, self._zeros = np.zeros(1), np.zeros(max(size for _, size in velocity.signature.inputs))
        turns = np.array([i for pair in system.configuration.quaternions for i in pair], dtype=np.int64)
        # the same for every start: what is found does not depend on chance
        directions = np.random.default_rng(0).normal(size=(SAMPLES, system.nv))
        self.record = nearby(
            len(eq.rows), system.nv, system.nq, holonomic=eq.holonomic, position=self._compiled(position), velocity=self._compiled(velocity),
            time=self._time, quaternions=turns, directions=directions,
        )  # fmt: skip

    def _compiled(self, f: Function) -> Compiled:
        """A function of t, q and others that are zero."""
        from ...solvers.constraints.plan import Compiled

        outputs = {name: np.zeros(math.prod(shape)) for name, shape in f.signature.outputs}
        args = f.arguments(self._time, *[self._zeros] * (len(f.signature.inputs) - 1), *outputs.values())
        return Compiled(function=f.address, args=args, **outputs)
