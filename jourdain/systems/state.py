"""A state of a system: positions, velocities, user states and time, readable by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, short
from ..reals import reals
from ..shown import Shown
from ..solvers.native_function import is_finite

if TYPE_CHECKING:
    from ..results.solution import Solution
    from .compiled import Compiled
    from .dynamics import Dynamics


_FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True)
class State(Shown):
    """Positions q, velocities v and user states z at a time; ``state["joint.angle"]`` reads one by name.

    ``memory`` holds the values of memories and algebraic unknowns by name, where they are not those of the start of a run.
    """

    system: Compiled | Dynamics = field(repr=False)
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    t: float = 0.0
    memory: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        s = self.system
        if not (_fits(self.q, s.nq) and _fits(self.v, s.nv) and _fits(self.z, s.nz)):
            self._check()

    def _check(self) -> None:
        """Takes what can be read as numbers, and says what is wrong with the rest."""
        s = self.system
        for name, size in (("q", s.nq), ("v", s.nv), ("z", s.nz)):
            array = getattr(self, name)
            if array.__class__ is not np.ndarray or array.dtype is not _FLOAT64:
                array = self._numbers(name, array)
            if array.shape != (size,):
                raise InputError(f"state of '{s.model.name}': {name} has the shape {array.shape}; it must hold {size} numbers")
            if not np.isfinite(array).all():
                raise InputError(f"state of '{s.model.name}': {name} holds a number that is not finite: {array}")

    def _numbers(self, name: str, given: Any) -> np.ndarray:
        array = reals(given, f"state of '{self.system.model.name}': {name}")
        object.__setattr__(self, name, array)
        return array

    @property
    def x(self) -> np.ndarray:
        """The state vector (q, v, z)."""
        return np.concatenate((self.q, self.v, self.z) if self.z.size else (self.q, self.v))

    def __getitem__(self, name: str) -> float:
        configuration = self.system.configuration
        if name in self.system.model.states:
            return float(self.z[list(self.system.model.states).index(name)])
        if name in self.system.model.memories or name in self.system.model.unknowns:
            first = self.system.input_values()[list(self.system.model.inputs).index(name)]
            return float(self.memory.get(name, first))
        if name in configuration.velocity_names:
            return float(self.v[configuration.velocity_names.index(name)])
        return float(self.q[configuration.index(name)])

    def with_values(self, **changes: Any) -> State:
        """A copy with some arrays replaced."""
        known = [f.name for f in fields(self) if f.init]
        if unknown := [name for name in changes if name not in known]:
            raise InputError(
                f"a state has no '{unknown[0]}'; it has {', '.join(known)}; coordinates by name: system.state({{'{unknown[0]}': …}})"
            )
        return replace(self, **changes)

    def __str__(self) -> str:
        names = self.system.coordinate_names
        width = max((len(n) for n in names + self.system.velocity_names), default=4)
        lines = [f"state of {self.system.model.name} at t = {self.t:g} s"]
        lines += [f"  {n:<{width}} {x: .9g}" for n, x in zip(names, self.q, strict=True)]
        lines += [f"  {n:<{width}} {x: .9g}" for n, x in zip(self.system.velocity_names, self.v, strict=True)]
        lines += [f"  {n:<{width}} {x: .9g}" for n, x in zip(self.system.model.states, self.z, strict=True)]
        lines += [f"  {n:<{width}} {x: .9g}" for n, x in self.memory.items()]
        return "\n".join(lines)


def _fits(array: Any, size: int) -> bool:
    """Whether something is a vector of so many finite numbers, as most are."""
    if array.__class__ is not np.ndarray or array.dtype is not _FLOAT64 or array.shape != (size,):
        return False
    return size == 0 or is_finite(array)


def split_state(system: Any, x: np.ndarray, t: float) -> State:
    """A vector (q, v, z, …) as a state."""
    nq, nv, nz = system.nq, system.nv, system.nz
    return State(system, x[:nq].copy(), x[nq : nq + nv].copy(), x[nq + nv : nq + nv + nz].copy(), t)


def state_of(solution: Solution, index: int = -1) -> State:
    """The state at a sample of a solution."""
    system = solution.system
    if system is None:
        raise InputError(
            "this solution does not know its system (it was loaded from a file): build the state with system.state({name: value})"
        )
    if not len(solution):
        raise InputError("the solution is empty; there is no state in it")
    if isinstance(index, bool) or not isinstance(index, int | np.integer) or not -len(solution) <= index < len(solution):
        raise InputError(f"the solution has no sample {short(index)}; there are {len(solution)}, the last is -1")
    c = system.configuration
    q, v, z = (np.array([solution[n][index] for n in names]) for names in (c.position_names, c.velocity_names, system.model.states))
    memory = {n: float(solution[n][index]) for n in (*system.model.memories, *system.model.unknowns)}
    return State(system, q, v, z, float(solution.t[index]), memory)
