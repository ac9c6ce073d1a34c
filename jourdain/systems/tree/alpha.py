"""Implicit integration of a whole system: generalised-α on its differential-algebraic equations, Jacobians for stiff methods."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...native.function import Function
from ...results.channel import Channel
from ...solvers.native_function import NativeFunction
from ...solvers.ode.events import Event, Samples
from ...solvers.ode.integrate import integrate
from ...solvers.ode.trajectory import Checkpoint, Trajectory
from ..reactions import multiplier_channel

if TYPE_CHECKING:
    from .projected import NativeSystem
    from .reduced import ReducedSystem
    from .system import TreeSystem

#: Methods that work on M v̇ = f + Jᵀλ, h(q, t) = 0 itself (see :mod:`jourdain.solvers.ode.generalized_alpha`).
ALPHA_METHODS = ("generalized-alpha", "hht", "newmark", "trapezoidal")


def integrate_alpha(
    native: NativeSystem, span: tuple[float, float], x0: np.ndarray | Checkpoint, method: str, rho: float, step: float | None,
    events: list[Event], samples: list[Samples], by: Callable[..., Any] = integrate, **options: Any,
) -> Any:  # fmt: skip
    """Integrates by a generalised-α scheme; rows of the result are (q, v, z, v̇, λ).

    Without a step the step adapts; velocities are then projected onto the constraints after every step, because what index 3
    leaves of their violation would spoil λ when the step shrinks.  ``by`` may only prepare the integration.
    """
    from ...solvers.ode import generalized_alpha as alpha

    system = native.system
    if native.callbacks is not None:
        raise InputError(
            f"simulate '{system.model.name}': method '{method}' needs derivatives of every law, and '{next(iter(system.model.callbacks))}' "
            "is a Python callback; write it with jourdain's functions, or use 'dopri5' or 'adams'"
        )
    if native.implicit is None:
        native.implicit = *_residual(native), _Consistent(native)
    plan, residual, consistent = native.implicit
    start = x0 if isinstance(x0, Checkpoint) else consistent.extended(span[0], x0)
    redundant = consistent.redundant(span[0], start.x if isinstance(start, Checkpoint) else start)
    chosen = alpha.method(method, rho, plan, adaptive=step is None, redundant=redundant)
    events = [replace(e, action=consistent.after(e.action)) if callable(e.action) else e for e in events]
    samples = [replace(s, action=consistent.after(s.action)) for s in samples]
    trajectory = by(
        native.rhs, span, start, chosen, jacobian=residual, events=events, samples=samples, step=step,
        project=native.project if step is None else None, **options,
    )  # fmt: skip
    if isinstance(trajectory, Trajectory) and system.configuration.quaternions and len(trajectory.t):
        trajectory.x[:, : system.nq] = system.configuration.normalise(trajectory.x[:, : system.nq])
    return trajectory


def alpha_channels(system: TreeSystem, x: np.ndarray) -> dict[str, Channel]:
    """Accelerations and multipliers as the scheme found them."""
    at = system.nq + system.nv + system.nz
    channels: dict[str, Channel] = {}
    for c in system.configuration.coordinates:
        for symbol in c.a:
            channels[symbol.name] = Channel(x[:, at].copy(), "m/s^2" if c.unit == "m" else "rad/s^2", "acceleration")
            at += 1
    for row in system.equations_of_motion.rows:
        channels[multiplier_channel(row.name)] = Channel(x[:, at].copy(), "", "constraint multiplier")
        at += 1
    return channels


def consistent_state(native: NativeSystem, t: float, x: np.ndarray) -> np.ndarray:
    """The state (q, v, z) of x with the accelerations and multipliers that belong to it."""
    return _Consistent(native).extended(t, x)


class _Consistent:
    """Accelerations and multipliers that belong to a state, for starts and after jumps."""

    def __init__(self, native: NativeSystem) -> None:
        self.native, self.system = native, native.system
        self._keep: list[object] = []
        self._f = native._function("implicit_equations")
        self._pointers = _pointers(native, self._f, self._keep)
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(self._f.address)

    def _equations(self, t: float, x: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """r = M v̇ − f and J."""
        clock, lam = np.array([t]), np.zeros(max(1, len(self.system.equations_of_motion.rows)))
        self._pointers[[0, 1, 3, 4]] = clock.ctypes.data, x.ctypes.data, a.ctypes.data, lam.ctypes.data
        self._call(self._pointers.ctypes.data)
        nv, rows = self.system.nv, len(self.system.equations_of_motion.rows)
        results: list[np.ndarray] = self._keep[2]  # type: ignore[assignment]
        return results[0][:nv], results[3][: nv * rows].reshape(rows, nv)

    def extended(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state followed by accelerations and multipliers (least norm where constraints repeat one another)."""
        n, nq, nv = self.native.n, self.system.nq, self.system.nv
        x = np.array(x[:n], dtype=float)
        rates = np.zeros(n)
        self.native.rhs(t, x, rates)
        a = rates[nq : nq + nv].copy()
        r, J = self._equations(t, x, a)
        lam = np.linalg.lstsq(J.T, r, rcond=1e-10)[0] if len(J) and np.isfinite(r).all() else np.zeros(len(J))
        return np.concatenate([x, a, lam])

    def after(self, action: Any) -> Callable[[float, np.ndarray], np.ndarray]:
        """An action on the state (q, v, z), followed by new accelerations and multipliers."""

        def act(t: float, x: np.ndarray) -> np.ndarray:
            new = action(t, x[: self.native.n].copy())
            return self.extended(t, x if new is None else new)

        return act

    def redundant(self, t: float, x: np.ndarray) -> bool:
        """Whether some constraints repeat others."""
        _, J = self._equations(t, np.array(x[: self.native.n]), np.zeros(max(1, self.system.nv)))
        return len(J) > 0 and int(np.linalg.matrix_rank(J, tol=1e-9 * max(1.0, float(np.abs(J).max())))) < len(J)


def _pointers(native: NativeSystem, f: Function, keep: list[object]) -> np.ndarray:
    """Pointers of a compiled function whose inputs the kernel sets, except the inputs u (slot 2)."""
    k, work = native._memory(f)
    outputs = [np.zeros(max(1, int(np.prod(shape)))) for shape in f.outputs.values()]
    keep += [k, work, outputs, f]
    pointers = [0] * len(f.inputs) + [a.ctypes.data for a in (*outputs, k, work)]
    pointers[2] = native.u.ctypes.data
    return np.array(pointers, dtype=np.uintp)


def _residual(native: NativeSystem) -> tuple[Any, NativeFunction]:
    """The plan of sizes, and the equations with their tangent as the generalised-α kernels take them."""
    from ...solvers.ode import generalized_alpha as alpha

    system = native.system
    eq, turns = system.equations_of_motion, system.configuration.quaternions
    plan = alpha.make_plan(system.nq, system.nv, system.nz, len(eq.rows), eq.holonomic, len(turns))
    equations, tangent = native._function("implicit_equations"), native._function("implicit_tangent")
    plan.equations, plan.tangent = equations.address, tangent.address
    keep: list[object] = [plan, native]
    first, second = _pointers(native, equations, keep), _pointers(native, tangent, keep)
    pairs = np.array([i for pair in turns for i in pair] + [0], dtype=np.int64)
    massless = np.array(getattr(system, "massless", np.zeros(max(1, system.nv))), dtype=np.int64)
    args = np.array([0, 0, 0, plan.address, *(a.ctypes.data for a in (first, second, pairs, massless))], dtype=np.uintp)
    keep += [first, second, pairs, massless]
    return plan, NativeFunction(equations.address, args, tuple(keep))


def constrained_derivatives(native: NativeSystem) -> dict[str, NativeFunction]:
    """∂ẋ/∂x and ∂ẋ/∂t of a system with constraints for Rosenbrock and Radau methods."""
    from ...solvers.constraints import jacobian as cj

    keep: list[object] = [native]
    return _derivatives(cj.state_derivatives.address, _at_the_state(native, keep), [], keep)


def independent_derivatives(native: ReducedSystem) -> dict[str, NativeFunction]:
    """∂ẋ_u/∂x_u and ∂ẋ_u/∂t in independent coordinates, whichever they are at the moment."""
    from ...solvers.constraints import jacobian as cj

    system, layout = native.system, native.layout
    keep: list[object] = [native]
    places = _at_the_state(native, keep)
    closing = native._function("constraint_tangent")
    pointers = _pointers(native, closing, keep)
    doubles, integers = cj.independent_room(keep[1])
    expansion, X = native.full.args.copy(), np.zeros(native.n)
    c = system.configuration
    position_of = np.full(system.nv, -1, dtype=np.int64)
    position_of[c._scalar_v] = c._scalar_q
    table = np.concatenate([layout.q, layout.v, np.zeros(system.nv - len(layout.v)), position_of]).astype(np.int64)
    work, ints = np.zeros(doubles), np.zeros(integers, dtype=np.int64)
    more = [
        native.full.address, expansion.ctypes.data, X.ctypes.data, closing.address, pointers.ctypes.data, native._choice.ctypes.data,
        table.ctypes.data, len(layout.q), *native.sizes, work.ctypes.data, ints.ctypes.data,
    ]  # fmt: skip
    keep += [pointers, expansion, X, table, work, ints]
    return _derivatives(cj.independent_derivatives.address, places, more, keep)


def _at_the_state(native: NativeSystem, keep: list[object]) -> list[int]:
    """Where the kernels find the plan, memory and functions of the whole state; ``keep`` receives them, the plan first."""
    from ...solvers.constraints import elimination as c
    from ...solvers.constraints import jacobian as cj

    descriptor, tangent = native._function("descriptor"), native._function("acceleration_tangent")
    plan = native._plan()
    plan[c.ADDRESS_DESCRIPTOR] = descriptor.address
    keep.append(plan)
    first, second = _pointers(native, descriptor, keep), _pointers(native, tangent, keep)
    scratch = np.zeros(cj.scratch_size(plan))
    helper = np.zeros(plan[c.LENGTH] + native.system.nv + 8, dtype=np.int64)
    keep += [first, second, scratch, helper]
    return [*(a.ctypes.data for a in (plan, scratch, helper, first, second)), tangent.address]


def _derivatives(address: int, places: list[int], more: list[int], keep: list[object]) -> dict[str, NativeFunction]:
    """The two derivatives as one kernel gives them."""
    from ...solvers.constraints import jacobian as cj

    by_state, by_time = (np.array([0, 0, 0, *places, by, *more], dtype=np.uintp) for by in (cj.BY_STATE, cj.BY_TIME))
    return {"jacobian": NativeFunction(address, by_state, tuple(keep)), "time_derivative": NativeFunction(address, by_time, tuple(keep))}
