"""Implicit integration of a whole system: generalised-α on its differential-algebraic equations, Jacobians for stiff methods."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...native.function import Function
from ...results.channel import Channel
from ...solvers.native_function import NativeFunction
from ...solvers.ode.events import Event, Samples
from ...solvers.ode.integrate import integrate
from ...solvers.ode.trajectory import Checkpoint, Trajectory
from ..modes import check_quasi_static
from ..ode_run import OdeRun
from ..outputs.reactions import multiplier_channel
from ..run import DEFAULTS, Outcome, Settings
from ..state import State
from ..units import units_of
from .runs import ProjectedRun

if TYPE_CHECKING:
    from ...solvers.constraints.jacobian import Derivatives, Tangent
    from ..inputs import Inputs
    from .projected import NativeSystem
    from .reduced import ReducedSystem
    from .system import TreeSystem


class AlphaMarch(OdeRun):
    """Generalised-α, HHT, Newmark and the trapezoidal rule on the differential-algebraic equations themselves, in any coordinates: rows are
    (q, v, z, v̇, λ)."""

    kind = "generalised-α"
    honours = frozenset(DEFAULTS) - {"steps"}
    renews = True
    #: The scheme where it is not named as the method is.
    scheme = ""

    def __init__(
        self, system: Any, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, *, rho: float | None = None,
        quasi_static: str | Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__(system, start, span, inputs, settings)
        self.kind = AlphaMarch.kind
        self.rho = 0.8 if rho is None else rho
        if quasi_static:
            self.rho = check_quasi_static(system.model, quasi_static, settings, rho)

    def march(
        self, first: Any, span: tuple[float, float], by: Callable[..., Any] = integrate, more: Sequence[Event] = (), **changes: Any
    ) -> Any:
        """The integration."""
        samples, control = self.inputs.samples(span, self.native.u, self.model_state), self.control() | changes
        events, consistent = [*self.acting_events(), *more], implicit_side(self.native, self.settings.method)[2]
        start = first if isinstance(first, Checkpoint) else consistent.extended(span[0], first)
        redundant = consistent.redundant(span[0], start.x if isinstance(start, Checkpoint) else start)
        step, renewing = control.pop("step"), self.inputs.renewing(self.native, self.renewed)

        def prepare(how: Callable[..., Any]) -> Any:
            return integrate_alpha(
                self.native, span, start, self.integrator, self.rho, step, redundant, events, samples, how,
                self.projection(), **renewing, **control,
            )  # fmt: skip

        if by is not integrate or more or changes or events or not self.inputs.steady or self.scheme:
            return self.unit(prepare(by))
        return self.unit(self.run_kept((self.rho, redundant), span, start, prepare))

    @property
    def integrator(self) -> str:
        """The name of the scheme."""
        return self.scheme or super().integrator

    def projection(self) -> NativeFunction | None:
        """What follows each fixed step."""
        return None

    def unit(self, trajectory: Any) -> Any:
        """A trajectory with quaternions of unit length."""
        s = self.native.system
        if isinstance(trajectory, Trajectory) and s.configuration.quaternions and len(trajectory.t):
            trajectory.x[:, : s.nq] = s.configuration.normalise(trajectory.x[:, : s.nq])
        return trajectory

    def renewed(self, t: float, x: np.ndarray) -> np.ndarray:
        """Accelerations and multipliers under the new inputs."""
        return consistent_state(self.native, t, x)

    def _check_method(self) -> None:
        pass  # the system chose this kind of run by the method


class AlphaRun(AlphaMarch, ProjectedRun):
    """Generalised-α and its relatives in all coordinates of the tree."""

    keeps_constraints = True

    def model_state(self, t: float, x: np.ndarray) -> State:
        """The model's state, quaternions of unit length."""
        s = super().model_state(t, x)
        return s.with_values(q=self.system.configuration.normalise(s.q[None])[0]) if self.system.configuration.quaternions else s

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """Accelerations and multipliers are channels as the scheme found them."""
        return replace(super().outcome(trajectory), channels=partial(alpha_channels, self.system, trajectory.x))


def implicit_side(native: NativeSystem, method: str) -> tuple[Any, NativeFunction, _Consistent]:
    """The plan of sizes, the equations with their tangent, and what makes states consistent; made with the first run by such a method."""
    system = native.system
    if native.callbacks is not None:
        raise InputError(
            f"simulate '{system.model.name}': method '{method}' needs derivatives of every law, and '{next(iter(system.model.callbacks))}' "
            "is a Python callback; write it with jourdain's functions, or use 'dopri5' or 'adams'"
        )
    if native.implicit is None:
        native.implicit = *_residual(native), _Consistent(native)
    return native.implicit


def integrate_alpha(
    native: NativeSystem, span: tuple[float, float], start: np.ndarray | Checkpoint, method: str, rho: float, step: float | None, redundant: bool,
    events: list[Event], samples: list[Samples], by: Callable[..., Any] = integrate, after: NativeFunction | None = None, **options: Any,
) -> Any:  # fmt: skip
    """Integrates by a generalised-α scheme; rows of the result are (q, v, z, v̇, λ).

    Without a step the step adapts; velocities are then projected onto the constraints after every step, because what index 3
    leaves of their violation would spoil λ when the step shrinks.  ``by`` may only prepare the integration; ``after`` follows each fixed step.
    """
    from ...solvers.ode.methods import generalized_alpha as alpha

    plan, residual, consistent = implicit_side(native, method)
    chosen = alpha.method(method, rho, plan, adaptive=step is None, redundant=redundant)
    events = [replace(e, action=consistent.after(e.action)) if callable(e.action) else e for e in events]
    samples = [replace(s, action=consistent.after(s.action)) for s in samples]
    return by(
        native.rhs, span, start, chosen, jacobian=residual, events=events, samples=samples, step=step,
        project=native.project if step is None else after, **options,
    )  # fmt: skip


def alpha_channels(system: TreeSystem, x: np.ndarray) -> dict[str, Channel]:
    """Accelerations and multipliers as the scheme found them."""
    at = system.nq + system.nv + system.nz
    channels: dict[str, Channel] = {}
    for c in system.configuration.coordinates:
        for symbol in c.a:
            channels[symbol.name] = Channel.column(x, at, "m/s^2" if c.unit == "m" else "rad/s^2", "acceleration")
            at += 1
    for row in system.equations_of_motion.rows:
        channels[multiplier_channel(row.name)] = Channel.column(x, at, "", "constraint multiplier")
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
    from ...solvers.ode.methods import generalized_alpha as alpha

    system = native.system
    eq, turns = system.equations_of_motion, system.configuration.quaternions
    plan = alpha.make_plan(system.nq, system.nv, system.nz, len(eq.rows), eq.holonomic, len(turns))
    equations, tangent = native._function("implicit_equations"), native._function("implicit_tangent")
    plan.equations, plan.tangent = equations.address, tangent.address
    keep: list[object] = [plan, native]
    first, second = _pointers(native, equations, keep), _pointers(native, tangent, keep)
    if native.search is not None:  # the tangent follows the equations at the same state
        plan.equations, first = native.search.headed(equations.address, first)
    if native.touching_full is not None:
        plan.equations, first = native.touching_full.headed(plan.equations, first)
        plan.tangent, second = native.touching_full.along(tangent.address, second)
    pairs = np.array([i for pair in turns for i in pair] + [0], dtype=np.int64)
    massless = np.array(getattr(system, "massless", np.zeros(max(1, system.nv))), dtype=np.int64)
    args = np.array([0, 0, 0, plan.address, *(a.ctypes.data for a in (first, second, pairs, massless))], dtype=np.uintp)
    keep += [first, second, pairs, massless]
    return plan, NativeFunction(equations.address, args, tuple(keep))


def constrained_derivatives(native: NativeSystem) -> dict[str, NativeFunction]:
    """∂ẋ/∂x and ∂ẋ/∂t of a system with constraints for Rosenbrock and Radau methods."""
    from ...solvers.constraints import jacobian as cj

    keep: list[object] = [native]
    args = cj.ByState(system=_at_the_state(native, keep))
    return _derivatives(cj.state_derivatives.address, args, keep)


def independent_derivatives(native: ReducedSystem) -> dict[str, NativeFunction]:
    """∂ẋ_u/∂x_u and ∂ẋ_u/∂t in independent coordinates, whichever they are at the moment."""
    from ...solvers.constraints import jacobian as cj
    from ...solvers.ode.frame import Arguments

    system, layout, c = native.system, native.layout, native.system.configuration
    keep: list[object] = [native]
    position_of = np.full(system.nv, -1, dtype=np.int64)
    position_of[c._scalar_v] = c._scalar_q
    independent = cj.make_independent(
        _at_the_state(native, keep), expansion=native.full.address, expansion_args=Arguments.at(native.full.args.copy()),
        closing=_tangent(native, "constraint_tangent", keep), choice=native.record.choice, plan=native.record.plan, positions=np.array(layout.q, dtype=np.int64),
        velocities=np.array(layout.v, dtype=np.int64), position_of=position_of,
        quaternions=np.array([i for pair in c.quaternions for i in pair], dtype=np.int64),
    )  # fmt: skip
    return _derivatives(cj.independent_derivatives.address, cj.ByIndependent(system=independent), keep)


def _at_the_state(native: NativeSystem, keep: list[object]) -> Derivatives:
    """The equations of the whole state with their tangent, as the kernels take them; ``keep`` receives what they refer to."""
    from ...solvers.constraints.jacobian import make_derivatives

    f = native._function("descriptor")
    tangent = _tangent(native, "acceleration_tangent", keep)
    return make_derivatives(native._plan(), native.compiled(f, 2, keep), tangent, units_of(native.system, f))


def _tangent(native: NativeSystem, name: str, keep: list[object]) -> Tangent:
    """A derivative in a direction; the kernels set all its inputs except u."""
    from ...solvers.constraints.jacobian import Tangent, TangentPointers

    f, own = native._function(name), list[Any]()
    pointers, function = _pointers(native, f, own), f.address
    if native.touching_full is not None:
        if name == "constraint_tangent":  # it does not look at forces
            pointers[8] = native.touching_full.record.change.ctypes.data
        else:
            function, pointers = native.touching_full.along(function, pointers)
    keep += [*own, pointers]
    outputs = {name: a[: math.prod(shape)] for (name, shape), a in zip(f.signature.outputs, own[2], strict=True)}
    return Tangent(function=function, args=TangentPointers.at(pointers), **outputs)


def _derivatives(address: int, args: Any, keep: list[object]) -> dict[str, NativeFunction]:
    """The two derivatives as one kernel gives them."""
    by_time = args.copy()
    by_time.by_time = 1
    return {"jacobian": NativeFunction.of(address, args, keep), "time_derivative": NativeFunction.of(address, by_time, keep)}
