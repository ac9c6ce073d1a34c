"""Simulation in independent coordinates: loops closed by Newton ("reduced") or in closed form ("closed").

The state that is integrated is x = (q_u, v_u, z); solutions always hold the full coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError
from ..formalisms.reduced_functions import closed_system
from ..native.function import Function
from ..results.solution import Solution
from ..solvers import STIFF
from ..solvers.events import Event, Samples, Switch
from ..solvers.native_function import NativeFunction
from ..solvers.ode import integrate
from ..solvers.trajectory import Trajectory
from ..symbolic.expr import Expr
from .assemble import jacobian
from .closure import best_closed_form, branches, full_names, independent_columns, names_of, references, weights
from .implicit import ALPHA_METHODS
from .native_system import NativeSystem
from .redundancy import redundant_rows
from .state import State

if TYPE_CHECKING:
    from .system import System


#: Closed forms: a step that ends nearer to a dead point (square of the sine of the angle that vanishes there) is the last one
#: for given independent coordinates, and the reason to take others when they are chosen by the program.
LEAST_MARGIN, GOOD_MARGIN = 1e-4, 1e-2


class IndependentSystem(NativeSystem):
    """What both formulations share: functions of the full state seen from the independent one."""

    #: the independent state at the start, and the native full state of an independent one
    x0: np.ndarray
    full: NativeFunction
    switch: Switch | None
    #: how many entries of x are positions, the independent coordinates by name, and how often they were changed
    positions: int
    independent: list[str]
    switches: int = 0

    def __init__(
        self, system: System, start: State, u: np.ndarray | None, signals: Mapping[Expr, Expr] | None, parameters: np.ndarray | None
    ) -> None:
        model = system.model
        if model.callbacks:
            raise InputError(f"simulate '{model.name}': laws by Python callback need formulation='projected'")
        if not system.equations_of_motion.rows:
            raise InputError(f"simulate '{model.name}': it has no loops or constraints; use formulation='projected'")
        self.system, self.start = system, start
        self.u = np.array(system.input_values() if u is None else u, dtype=float)
        self._initial = self.u.copy()
        self._parameters = parameters
        self._signals = dict(signals or {})
        self.held = []
        self.callbacks = None
        self.project = None
        self.n = system.nq + system.nv + system.nz

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

    def of_full_state(self, f: Function) -> NativeFunction:
        """A function f(t, X, u) of the full state as one of the independent state."""
        from ..solvers.reduced import of_full_state

        k, work = self._memory(f)
        X = np.zeros(self.n)
        expansion = self.full.args.copy()
        tail = [k.ctypes.data, work.ctypes.data]
        inner = np.array([0, 0, self.u.ctypes.data, 0, *tail] if "u" in f.inputs else [0, 0, 0, *tail], dtype=np.uintp)
        args = [0, 0, 0, self.full.address, expansion.ctypes.data, X.ctypes.data, f.address, inner.ctypes.data, 3 if "u" in f.inputs else 2]
        return NativeFunction(of_full_state.address, np.array(args, dtype=np.uintp), (k, work, X, expansion, inner, f, self.full, self.u))

    def events(self) -> list[Event]:
        """The model's events, on the independent state."""
        found = []
        for item in self.system.model.events.values():
            guard = self.of_full_state(self._function("guard", event=item.name))
            action = self._jump(item.name) if item.jump else None
            found.append(Event(guard, item.direction, item.terminal, action, True, item.name))
        return found

    def _jump(self, name: str) -> Callable[[float, np.ndarray], np.ndarray]:
        f = self._function("jump", event=name)
        project = self._projection_of_jump()

        def action(t: float, x: np.ndarray) -> np.ndarray:
            new = np.array(f(np.array([t]), self.expand(t, x), self.u[: self.system.nu]))
            project(t, new, new)
            self.moved(t, new)
            return self.restrict(new)

        return action

    def _projection_of_jump(self) -> NativeFunction:
        self._redundant = redundant_rows(self.system, self.start)
        return self._projection()

    def on_full_state(self, samples: Samples) -> Samples:
        """Samples whose action reads the full state."""
        action: Any = samples.action

        def act(t: float, x: np.ndarray) -> None:
            action(t, self.expand(t, x))

        return Samples(samples.times, act, samples.name)

    def explain(self, trajectory: Trajectory) -> str:
        """What a failure means for the mechanism."""
        t, x = trajectory.restart.t, trajectory.restart.x
        message = trajectory.message
        if "returned status 2 " in message:
            return f"the mass matrix of the independent coordinates {', '.join(self.independent)} is singular at t = {t:.9g} s: a body lacks mass"
        if any(f"status {k} " in message for k in (3, 4, -7)) or "not finite" in message or "fell below" in message:
            return self.dead_point(t, x)
        return message

    def moved(self, t: float, X: np.ndarray) -> None:
        """Takes note of a jump to another closed position."""

    def dead_point(self, t: float, x: np.ndarray) -> str:
        """Why the motion cannot go on."""
        raise NotImplementedError


class ReducedSystem(IndependentSystem):
    """Loops closed by Newton; the independent coordinates may change in flight.

    ``repartition``: True watches the choice, False keeps it, a number forces a change after so many steps.
    """

    def __init__(
        self, system: System, start: State, u: np.ndarray | None = None, signals: Mapping[Expr, Expr] | None = None,
        independent: Sequence[str] | None = None, criterion: str = "pivoting", repartition: bool | int = True,
        parameters: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        from ..solvers import reduced as r
        from ..solvers.repartition import decide, remap

        super().__init__(system, start, u, signals, parameters)
        if self.u.size == 0:
            self.u = np.zeros(1)
        self.plan = self._make_plan(start)
        self.plan[r.EVERY] = (0 if repartition else -1) if isinstance(repartition, bool) else int(repartition)
        work, ints, memory = r.room(self.plan)
        self._work, self._ints, self._memory_space = np.zeros(work), np.zeros(ints, dtype=np.int64), np.zeros(memory)
        self._keep: list[object] = []
        self._args = self._arguments()
        self._begin(start, independent_columns(system, start, independent, criterion))
        keep = (self.plan, self._work, self._ints, self._memory_space, self._keep, self.u)
        self.rhs = NativeFunction(r.reduced_state_derivative.address, self._args, keep)
        self.full = NativeFunction(r.full_state.address, self._args, keep)
        watched = NativeFunction(decide.address, self._args, keep), NativeFunction(remap.address, self._args, keep)
        self.switch = Switch(*watched)
        self.positions = int(self.plan[r.NQU])
        self.x0 = self.restrict(start.x)
        full = self.expand(start.t, self.x0)
        self.x0 = self.restrict(full)

    def _make_plan(self, start: State) -> np.ndarray:
        from ..solvers.reduced import make_plan

        s, eq = self.system, self.system.equations_of_motion
        pattern = np.zeros((len(eq.rows), s.nv), dtype=bool)
        for i, j in eq.constraint_jacobian:
            pattern[i, j] = True
        redundant = redundant_rows(s, start)
        kept = eq.holonomic - sum(i < eq.holonomic for i in redundant)
        c = s.configuration
        angles = [item.unit == "rad" for item in c.coordinates for _ in item.v]
        return make_plan(s.nq, s.nv, s.nz, eq.holonomic, c.quaternions, pattern, angles, (kept, len(eq.rows) - len(redundant)))

    def _arguments(self) -> np.ndarray:
        from ..solvers import reduced as r

        pointers = []
        for slot, (name, inputs) in {
            r.ADDRESS_POSITION: ("constraints", 2), r.ADDRESS_VELOCITY: ("constraint_velocities", 3),
            r.ADDRESS_TERMS: ("reduced_terms", 2), r.ADDRESS_DRIFT: ("constraint_drift", 2),
        }.items():  # fmt: skip
            f = self._function(name)
            self.plan[slot] = f.address
            if name == "constraint_velocities":
                self.plan[r.VELOCITY_RESULT] = len(f.inputs)
            pointers.append(self._pointers(f, inputs, self._keep))
        self._keep.append(pointers)
        spaces = (self.plan, self._work, self._ints, self._memory_space, *pointers)
        return np.array([0, 0, 0, *(a.ctypes.data for a in spaces)], dtype=np.uintp)

    def _begin(self, start: State, independent: Sequence[int]) -> None:
        """The first choice, and the first closed position to remember."""
        from ..solvers import reduced as r
        from ..solvers.repartition import choose

        s, plan = self.system, self.plan
        nq, nv, nvu = s.nq, s.nv, int(plan[r.NVU])
        self._q = self._memory_space[1 : 1 + nq]
        scale = self._memory_space[1 + nq + nv * nvu :][:nv]
        self._q[:], scale[:] = start.q, 1.0 / weights(s, start)
        J = np.ascontiguousarray(jacobian(s, start.q, start.t)).ravel()
        allowed = plan[r.HEAD + 2 * nv : r.HEAD + 3 * nv].copy()
        allowed[list(independent)] = 0
        size = int(plan[r.CHOICE])
        self._choice = self._ints[:size]
        marks = np.zeros(int(plan[r.M]) + nv, dtype=np.int64)
        room = np.zeros(J.size + int(plan[r.M]) + 1)
        if choose(J, plan, scale.copy(), allowed, allowed, self._choice, room, marks) < 0:
            raise SolverError(
                f"simulate '{s.model.name}': the start is a singular position (or {', '.join(names_of(s, independent))} cannot be "
                "independent there); start elsewhere or use formulation='projected'"
            )
        self._remember(start.t)

    def _remember(self, t: float) -> None:
        from ..solvers import reduced as r

        nq, size = self.system.nq, int(self.plan[r.CHOICE])
        ring = self._memory_space[-r.RING * (nq + 1) :]
        ring[0], ring[1 : 1 + nq] = t, self._q
        counters = self._ints[3 * size : 3 * size + r.COUNTERS]
        counters[r.STEPS] = 1
        self._counters = counters

    @property
    def switches(self) -> int:  # type: ignore[override]
        """How often the independent coordinates were changed."""
        from ..solvers import reduced as r

        return int(self._counters[r.SWITCHES])

    @property
    def independent(self) -> list[str]:  # type: ignore[override]
        """Present independent coordinates."""
        from ..solvers import reduced as r

        nqu, nvu = int(self.plan[r.NQU]), int(self.plan[r.NVU])
        return names_of(self.system, self._choice[nqu : nqu + nvu].tolist())

    def restrict(self, X: np.ndarray) -> np.ndarray:
        """The independent part of a full state."""
        from ..solvers import reduced as r

        nqu, nvu, s = int(self.plan[r.NQU]), int(self.plan[r.NVU]), self.system
        v = X[s.nq : s.nq + s.nv]
        return np.concatenate([X[self._choice[:nqu]], v[self._choice[nqu : nqu + nvu]], X[s.nq + s.nv :]])

    def moved(self, t: float, X: np.ndarray) -> None:
        """Takes note of a jump to another closed position."""
        self._q[:] = X[: self.system.nq]
        self._memory_space[0] = 0.0
        self._remember(t)

    def dead_point(self, t: float, x: np.ndarray) -> str:
        """Why the motion cannot go on: the joint whose direction the constraints lose."""
        s = self.system
        q = self._q.copy()
        J = jacobian(s, q, t)
        u, sigma, vt = np.linalg.svd(J / np.linalg.norm(J, axis=1, keepdims=True).clip(1e-300))
        row = s.equations_of_motion.rows[int(np.argmax(np.abs(u[:, min(len(sigma), len(J)) - 1])))].name
        names = [n.removesuffix("_rate") for n in s.velocity_names]
        if sigma[-1] > 1e-3 * sigma[0]:
            held = [names[j] for j in range(s.nv) if abs(null_row(J, j)) < 1e-4]
            joint = held[0] if held else self.independent[0]
            return _lock_up(s, t, q, joint, row)
        joint = names[int(np.argmax(np.abs(vt[len(sigma) - 1])))]
        return _lock_up(s, t, q, joint, row)


def null_row(J: np.ndarray, j: int) -> float:
    """How much a coordinate takes part in the motions that constraints allow."""
    from .partition import null_space

    return float(np.linalg.norm(null_space(J)[j]))


def _lock_up(system: System, t: float, q: np.ndarray, joint: str, row: str) -> str:
    position = ", ".join(f"{n} = {x:.6g}" for n, x in zip(system.coordinate_names, q, strict=True))
    return f"dead point or lock-up at t = {t:.9g} s: '{joint}' cannot go on against '{row}' (position: {position})"


class ClosedFormSystem(IndependentSystem):
    """Loops solved in closed form: one straight-line function, the same independent coordinates throughout."""

    def __init__(
        self, system: System, start: State, u: np.ndarray | None = None, signals: Mapping[Expr, Expr] | None = None,
        independent: Sequence[str] | None = None, parameters: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        super().__init__(system, start, u, signals, parameters)
        eq = system.equations_of_motion
        if independent is None:
            names, form, _ = best_closed_form(system, start)
        else:
            independent_columns(system, start, independent)
            names = full_names(system, independent)
            form = closed_system(eq, names).form
        if not form.complete:
            raise InputError(f"simulate '{system.model.name}': no closed form of the loops: {form.reason}; use formulation='reduced'")
        self.independent, self.form = names, form
        self._key: dict[str, Any] = {"independent": tuple(names)}
        choices = np.concatenate([branches(system, form, start, parameters), references(system, form, start, parameters)])
        self.u = np.concatenate([self.u, choices])
        if self.u.size == 0:
            self.u = np.zeros(1)
        held = set(form.dependent)
        dependent = {id(c) for j, c in enumerate(c for c in system.configuration.coordinates for _ in c.v) if j in held}
        index = [i for i, c in enumerate(c for c in system.configuration.coordinates for _ in c.q) if id(c) not in dependent]
        nq, nv = system.nq, system.nv
        self._index = np.array([*index, *(nq + j for j in form.independent), *range(nq + nv, self.n)], dtype=int)
        self.positions = len(index)
        self.rhs = self.wrap(self._function("closed_state_derivative", **self._key))
        self.full = self.wrap(self._function("closed_full_state", **self._key))
        self.x0 = self.restrict(start.x)
        self.least_margin = np.array([LEAST_MARGIN])
        self.switch = self._follow() if form.choices else None
        gap = np.abs(self.expand(start.t, self.x0)[:nq] - start.q).max()
        if not gap < 1e-6:
            raise SolverError(f"simulate '{system.model.name}': the start is not closed (off by {gap:.3g}); use system.assemble first")

    def _follow(self) -> Switch:
        """After each step the solved angles become the references of the next one, so that they run on over whole turns."""
        from ..solvers.repartition import follow

        f = self._function("closed_angles", **self._key)
        k, work = self._memory(f)
        angles, roots = len(self.form.references), len(self.form.branches)
        phi, self._margins = np.zeros(max(1, angles)), np.ones(max(1, roots))
        inner = np.array([0, 0, *(a.ctypes.data for a in (self.u, phi, self._margins, k, work))], dtype=np.uintp)
        target = self.u.ctypes.data + 8 * (self.u.size - angles)
        tail = [phi.ctypes.data, target, angles, self._margins.ctypes.data, roots, self.least_margin.ctypes.data]
        args = np.array([0, 0, 0, f.address, inner.ctypes.data, *tail], dtype=np.uintp)
        self._followed = NativeFunction(follow.address, args, (k, work, inner, phi, self._margins, f, self.u, self.least_margin))
        return Switch(self._followed, self._followed)

    def margin(self, t: float, x: np.ndarray) -> float:
        """Distance of the nearest dead point: 1 far, 0 at it."""
        if self.switch is None:
            return 1.0
        self._followed(t, np.ascontiguousarray(x), np.zeros(1))
        return float(np.nan_to_num(self._margins, nan=-1.0).min())

    def derivatives(self) -> dict[str, NativeFunction]:
        """∂f/∂x and ∂f/∂t for implicit methods."""
        return {
            "jacobian": self.wrap(self._function("closed_state_jacobian", **self._key)),
            "time_derivative": self.wrap(self._function("closed_state_time_derivative", **self._key)),
        }

    def restrict(self, X: np.ndarray) -> np.ndarray:
        """The independent part of a full state."""
        return X[self._index].copy()

    def moved(self, t: float, X: np.ndarray) -> None:
        """Takes the branches and reference angles of another closed position."""
        s = self.system
        state = State(s, X[: s.nq], X[s.nq : s.nq + s.nv], X[s.nq + s.nv :], t)
        choices = np.concatenate([branches(s, self.form, state, self._parameters), references(s, self.form, state, self._parameters)])
        if len(choices):
            self.u[len(self.u) - len(choices) :] = choices

    def dead_point(self, t: float, x: np.ndarray) -> str:
        """Why the motion cannot go on: the root that vanishes."""
        s = self.system
        self.margin(t, x)
        steps = [step for step in self.form.steps if step.branch is not None]
        names = [n.removesuffix("_rate") for n in s.velocity_names]
        worst = steps[int(np.argmin(np.nan_to_num(self._margins, nan=-1.0)))] if steps else self.form.steps[0]
        row = s.equations_of_motion.rows[worst.rows[0]].name
        q = self.expand(t, x)[: s.nq]
        return (
            f"{_lock_up(s, t, q, names[worst.coordinates[0]], row)}; another independent coordinate than "
            f"{', '.join(self.independent)} may pass it, or formulation='reduced', which changes coordinates in flight"
        )


FORMULATIONS: dict[str, type[IndependentSystem]] = {"reduced": ReducedSystem, "closed": ClosedFormSystem}


def simulate_independent(
    system: System, start: State, span: tuple[float, float], method: str, formulation: str, inputs: Mapping[str, Any],
    choice: Mapping[str, Any], **options: Any,
) -> Solution:  # fmt: skip
    """Simulates in independent coordinates; ``choice`` holds independent=, criterion=, repartition= of the formulation."""
    from .simulate import SimulationError, solution_of, sort_inputs

    if formulation not in FORMULATIONS:
        raise InputError(f"formulation '{formulation}' is not known; use 'projected', {', '.join(map(repr, FORMULATIONS))}")
    if method in ALPHA_METHODS:
        raise InputError(f"method '{method}' works on all coordinates with multipliers; use formulation='projected' with it")
    constants, signals, controllers = sort_inputs(system, inputs)
    u = system.input_values(constants)
    given = {k: v for k, v in choice.items() if v is not None}
    if formulation == "closed" and {"criterion", "repartition"} & set(given):
        raise InputError("formulation='closed' chooses anew at dead points only: criterion= and repartition= are for 'reduced'")
    runs: list[Trajectory] = []
    switches, held = 0, list[tuple[float, np.ndarray]]()
    while True:
        native: Any = FORMULATIONS[formulation](system, start, u, signals, **given)
        if len(native.x0) == 0:
            raise InputError(f"simulate '{system.model.name}': every coordinate follows from the drives; use system.kinematics(times)")
        native.held = held
        watching = formulation == "closed" and "independent" not in given and native.margin(start.t, native.x0) > 2.0 * GOOD_MARGIN
        if watching:
            native.least_margin[0] = GOOD_MARGIN
        samples = [native.on_full_state(c.samples(system, native, name, span)) for name, c in controllers.items()]
        runs.append(_integrate(native, (start.t, span[1]), method, samples, options, bool(runs)))
        last = runs[-1]
        if not (watching and last.status == "failed" and "status -7 " in last.message and last.restart.t > start.t):
            break
        X, u = native.expand(last.restart.t, last.restart.x), native.u[: system.nu].copy()
        start = State(system, X[: system.nq], X[system.nq : system.nq + system.nv], X[system.nq + system.nv :], last.restart.t)
        switches += 1
    trajectory = _joined(runs)
    message = native.explain(last) if last.status == "failed" else last.message
    metadata = {
        "model": system.model.name, "method": method, "rtol": options.get("rtol"), "atol": options.get("atol"),
        "parameters": system.parameters, "status": last.status, "message": message, "formulation": formulation,
        "independent": list(native.independent), "switches": switches + native.switches,
    }  # fmt: skip
    solution = solution_of(system, trajectory.t, trajectory.x, metadata, trajectory, native.inputs_at)
    if last.status in ("failed", "max_steps"):
        raise SimulationError(f"simulate '{system.model.name}': {message}", solution)
    return solution


def _integrate(
    native: Any, span: tuple[float, float], method: str, samples: Sequence[Samples], options: Mapping[str, Any], again: bool
) -> Trajectory:
    """One run with the same independent coordinates; times already passed are left out."""
    times = options.get("t_eval")
    if times is not None and again:
        options = {**options, "t_eval": np.asarray(times)[np.asarray(times) > span[0]]}
    derivatives = native.derivatives() if method in STIFF else {}
    return integrate(
        native.rhs, span, native.x0, method, switch=native.switch, output=native.full, output_size=native.n, dense=False,
        events=native.events(), samples=samples, positions=native.positions, **derivatives, **options,
    )  # fmt: skip


def _joined(runs: Sequence[Trajectory]) -> Trajectory:
    """All runs as one trajectory of the full state."""
    skip = [0 if k == 0 or len(r.t) == 0 or len(runs[k - 1].t) == 0 or r.t[0] > runs[k - 1].t[-1] else 1 for k, r in enumerate(runs)]
    t, x = (np.concatenate([getattr(r, name)[s:] for r, s in zip(runs, skip, strict=True)]) for name in ("t", "y"))
    totals = {f.name: sum(getattr(r.stats, f.name) for r in runs) for f in fields(runs[0].stats)}
    return replace(runs[-1], t=t, x=x, y=x, stats=type(runs[0].stats)(**totals), segments=None)
