"""What simulation in independent coordinates shares, whichever way the loops are closed: functions of the full state seen from x.

The state that is integrated is x = (q_u, v_u, z); solutions always hold the full coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError, SolverError
from ...native.function import Function
from ...solvers.native_function import NativeFunction, address
from ...solvers.ode.events import Switch
from ...solvers.ode.trajectory import Trajectory
from ...symbolic.expr import Expr
from ..callbacks import Callbacks
from ..constraints import jacobian
from ..state import State
from .partition import null_space
from .projected import NativeSystem
from .redundancy import redundant_rows

if TYPE_CHECKING:
    from .crossing import Watch
    from .system import TreeSystem

#: One choice of independent coordinates: from which time on, and places of its positions in q and of its velocities in v.
Choice = tuple[float, list[int], list[int]]


class IndependentSystem(NativeSystem):
    """Functions of the full state seen from the independent one."""

    system: TreeSystem
    start: State
    #: the independent state at the start, and the native full state of an independent one
    x0: np.ndarray
    full: NativeFunction
    #: the same for the ends of steps, where it finds more that is judged there
    full_of_steps: NativeFunction | None = None
    switch: Switch | None
    #: how many entries of x are positions, the independent coordinates by name, and how often they were changed
    positions: int
    independent: list[str]
    switches: int = 0
    #: the check that the motion stays on its branch, where a step leaves J, and margins that tell how near a singular position is
    watch: Watch | None = None
    output: NativeFunction
    jacobian_in_place: np.ndarray | None = None
    margins_tell: np.ndarray | None = None
    #: jumps are rare: pivoting projects them
    _order = ()

    def __init__(
        self, system: TreeSystem, start: State, u: np.ndarray | None, signals: Mapping[Expr, Expr] | None, parameters: np.ndarray | None
    ) -> None:
        model = system.model
        if not system.equations_of_motion.rows:
            raise InputError(f"simulate '{model.name}': it has no loops or constraints; use reduction='projected'")
        self.system, self.start = system, start
        self.u = np.array(system.input_values() if u is None else u, dtype=float)
        self._parameters = parameters
        self._signals = dict(signals or {})
        self.callbacks = None
        self.project = None
        self.n = system.nq + system.nv + system.nz

    def call_python(self) -> None:
        """Lets unknowns be found before each evaluation, and the model's Python callbacks set their inputs; they read the full state."""
        self.rhs = self.finding(self.rhs)
        if self.system.model.callbacks:
            self.callbacks = Callbacks(self, self.rhs, len(self.x0), self.expand)
            self.rhs = self.callbacks.rhs

    def expand(self, t: float, x: np.ndarray) -> np.ndarray:
        """The full state of an independent one."""
        X = np.zeros(self.n)
        status = self.full(t, np.ascontiguousarray(x), X)
        if status != 0 or not np.isfinite(X).all():
            raise SolverError(f"simulate '{self.system.model.name}': the loops cannot be closed at t = {t:.9g} s")
        return X

    def restrict(self, X: np.ndarray) -> np.ndarray:
        """The independent part of a full state."""
        raise NotImplementedError

    def choices(self) -> list[Choice]:
        """Which coordinates were independent from which time on."""
        raise NotImplementedError

    def memory(self) -> dict[str, np.ndarray]:
        """Arrays that, with the method's own memory, let a run go on as if it had never stopped."""
        raise NotImplementedError

    def remember(self, memory: Mapping[str, np.ndarray]) -> bool:
        """Takes over the arrays of an earlier run; False if they do not fit."""
        own = self.memory()
        if any(n not in memory or memory[n].shape != a.shape for n, a in own.items()):
            return False
        for name, array in own.items():
            array[...] = memory[name]
        return True

    def _accelerated(self) -> NativeFunction:
        if self.callbacks is not None:
            name = next(iter(self.system.model.callbacks))
            raise InputError(
                f"simulate '{self.system.model.name}': in independent coordinates accelerations cannot be read where '{name}' is a Python "
                "callback; use reduction='projected', or write it with jourdain's functions"
            )
        self._redundant = redundant_rows(self.system, self.start)
        return self._constrained()

    def of_state(self, f: Function) -> NativeFunction:
        """A function f(t, X, u) or f(t, X, u, a) of the full state as one of the independent state."""
        expansion = NativeFunction(self.full.address, self.full.args.copy(), self.full.keepalive)
        return self._of_expansion(self._of_full_state(f), expansion, np.zeros(self.n))

    def _of_expansion(self, inner: NativeFunction, expansion: NativeFunction, X: np.ndarray) -> NativeFunction:
        """A function of time and a state X that an expansion writes."""
        from ...solvers.constraints.reduced import OfFullState, of_full_state
        from ...solvers.ode.frame import Arguments

        args = OfFullState(
            expansion=expansion.address, expansion_args=Arguments.at(expansion.args), X=address(X), function=inner.address,
            args=inner.args.view(np.int64),
        )  # fmt: skip
        return NativeFunction.of(of_full_state.address, args, X, expansion, inner)

    def _jump(self, name: str) -> Callable[[float, np.ndarray], np.ndarray]:
        f = self._function("jump", event=name)
        project = self._projection_of_jump()

        def action(t: float, x: np.ndarray) -> np.ndarray:
            new = np.array(f(np.array([t]), self.expand(t, x), self.u[: self.system.nu]))
            project(t, new, new)
            self.moved(t, new)
            if self.watch is not None:
                self.watch.renew(t, new)
            return self.restrict(new)

        return action

    def _projection_of_jump(self) -> NativeFunction:
        self._redundant = redundant_rows(self.system, self.start)
        return self._projection()

    def explain(self, trajectory: Trajectory) -> str:
        """What a failure means for the mechanism."""
        t, x = trajectory.restart.t, trajectory.restart.x
        message = trajectory.message
        if "returned status 2 " in message:
            return f"the mass matrix of the independent coordinates {', '.join(self.independent)} is singular at t = {t:.9g} s: a body lacks mass"
        if any(f"status {k} " in message for k in (3, 4, -7, -8, -9)) or "not finite" in message or "fell below" in message:
            return self.dead_point(t, x)
        return message

    def moved(self, t: float, X: np.ndarray) -> None:
        """Takes note of a jump to another closed position."""

    def dead_point(self, t: float, x: np.ndarray) -> str:
        """Why the motion cannot go on."""
        raise NotImplementedError


def lock_up(system: TreeSystem, t: float, q: np.ndarray, otherwise: str) -> str:
    """A dead point in words: the joint whose direction the constraints lose (``otherwise`` where they lose none)."""
    J = jacobian(system, q, t)
    u, sigma, vt = np.linalg.svd(J / np.linalg.norm(J, axis=1, keepdims=True).clip(1e-300))
    row = system.equations_of_motion.rows[int(np.argmax(np.abs(u[:, min(len(sigma), len(J)) - 1])))].name
    names = [n.removesuffix("_rate") for n in system.velocity_names]
    if sigma[-1] > 1e-3 * sigma[0]:
        tangent = null_space(J)
        held = [names[j] for j in range(system.nv) if float(np.linalg.norm(tangent[j])) < 1e-4]
        return dead_point(system, t, q, held[0] if held else otherwise, row)
    return dead_point(system, t, q, names[int(np.argmax(np.abs(vt[len(sigma) - 1])))], row)


def dead_point(system: TreeSystem, t: float, q: np.ndarray, joint: str, row: str) -> str:
    """A dead point in words."""
    position = ", ".join(f"{n} = {x:.6g}" for n, x in zip(system.coordinate_names, q, strict=True))
    return f"dead point or lock-up at t = {t:.9g} s: '{joint}' cannot go on against '{row}' (position: {position})"
