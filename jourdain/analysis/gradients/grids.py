"""Criteria and exact gradients of motions that drivers give, and of the forces that bring them about: kinematics, inverse dynamics, static forces.

At every time positions meet h(q, t, p) = 0 with driven coordinates given, velocities and accelerations its derivatives, and forces of actuators τ and multipliers λ
the balance r(q, v, a, λ, p) = E τ; so all changes follow from one linear system after the other.  Criteria are read at the times of the analysis: integrals by the trapezoidal rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...formalisms.functions.linearisation import POINT, direction_symbols
from ...formalisms.functions.tree import multiplier_symbols
from ...native.function import Function, compile_function
from ...symbolic.derivatives import jvp
from ...symbolic.expr import ONE, Expr, as_expr, symbol
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.graph import evaluate
from ...systems.constraints import velocity_column
from ..equations.residual import Point, Residual
from ..inverse_dynamics import Actuator, find_actuators
from ..kinematics import Motion
from .expressions import Expressions, expressions_of

if TYPE_CHECKING:
    from ...systems.system import System
    from ..design.criteria import Criterion
    from ..design.planned import Analysis

#: Verbs whose results are read at given times, with the options that are carried, in their order.
OPTIONS = {
    "kinematics": ("times", "motion", "x0", "guess"), "inverse_dynamics_along": ("motion", "actuators", "times", "x0", "inputs"),
    "static_forces": ("state", "actuators", "inputs"),
}  # fmt: skip
#: Kinds of criteria that can be read at given times.
READ = ("value", "at", "final", "largest", "smallest", "integral", "mean", "rms", "least_squares")


@dataclass(eq=False)
class Grid:
    """Instants with positions, velocities, accelerations, inputs, multipliers and forces of actuators in joints."""

    system: System
    points: list[Point]
    actuators: list[Actuator]
    tau: np.ndarray

    @property
    def t(self) -> np.ndarray:
        """Times."""
        return np.array([p.t for p in self.points])

    @property
    def joint_actuators(self) -> list[int]:
        """Those that are no inputs, by number."""
        return [k for k, x in enumerate(self.actuators) if not x.is_input]

    @cached_property
    def symbols(self) -> tuple[Expr, ...]:
        """Symbols of the forces of actuators in joints."""
        return tuple(symbol(f"{self.actuators[k].name}.actuator", "input") for k in self.joint_actuators)

    def names(self) -> dict[str, Expr]:
        """What expressions may call forces of actuators."""
        found: dict[str, Expr] = {}
        own = dict(zip(self.joint_actuators, self.symbols, strict=True))
        for k, x in enumerate(self.actuators):
            e = own[k] if k in own else self.system.equations_of_motion.u[x.index]
            for name in (x.name, x.name.rsplit(".", 1)[0]):
                found.setdefault(f"{name}.actuator", e)
        return found


def is_grid(result: Any) -> bool:
    """Whether a result is read at given times here."""
    return isinstance(result, Motion) or hasattr(result, "actuators")


def grid_of(system: System, result: Any, given: Mapping[str, Any]) -> Grid:
    """The instants of a result."""
    m = len(system.equations_of_motion.rows)
    if isinstance(result, Motion):
        u = system.input_values(None)
        return Grid(system, [Point(float(t), q, v, a, result.z, u, np.zeros(m)) for t, q, v, a in zip(result.t, result.q, result.v, result.a, strict=True)], [], np.zeros((len(result.t), 0)))  # fmt: skip
    if hasattr(result, "loads"):
        state, items = result.state, find_actuators(system, list(result.actuators))
        u, tau = np.array(system.inputs_at(state, given.get("inputs"))), np.array([list(result.actuators.values())])
        rows = [(float(state.t), state.q, state.v, np.zeros(system.nv), state.z, np.array(list(result.multipliers.values())))]
    else:
        path, items, tau = result.motion, result.actuators, result.forces
        u, lam = system.input_values(given.get("inputs")), np.column_stack([*result.multipliers.values(), np.zeros((len(path.t), 0))])
        rows = [(float(t), q, v, a, path.z, row) for t, q, v, a, row in zip(path.t, path.q, path.v, path.a, lam, strict=True)]
    points = []
    for (t, q, v, a, z, lam_), forces in zip(rows, tau, strict=True):
        own = np.array(u, dtype=float)
        for k, x in enumerate(items):
            if x.is_input:
                own[x.index] = forces[k]
        points.append(Point(t, q, v, a, z, own, lam_))
    joints = [k for k, x in enumerate(items) if not x.is_input]
    return Grid(system, points, list(items), tau[:, joints])


class Reading:
    """Expressions of criteria along a grid, and their changes."""

    def __init__(self, grid: Grid, criteria: Mapping[str, Criterion], parameters: Sequence[str] = ()) -> None:
        for name, c in criteria.items():
            if c.kind not in READ or (c.kind == "value" and len(grid.points) > 1) or c.options.get("smooth"):
                raise InputError(
                    f"criterion '{name}' ({c}) cannot be read at given times; those are {', '.join(READ[1:])}, and value of static_forces"
                )
        self.grid, self.criteria = grid, criteria
        self.expressions: Expressions = expressions_of(grid.system, criteria, grid.names())
        self.parameters = list(parameters)

    def _function(self, name: str, rows: Mapping[str, Sequence[Expr]], outputs: Sequence[Expr]) -> Function:
        eq, every = self.grid.system.equations_of_motion, self.expressions.parameters
        arrays = {
            "t": (eq.t,),
            "q": eq.q,
            "v": eq.v,
            "a": eq.a,
            "z": eq.z,
            "u": eq.u,
            "lam": multiplier_symbols(eq),
            "tau": self.grid.symbols,
        }
        inputs = [Argument(n, tuple(a)) for n, a in (*arrays.items(), *rows.items())]
        if every:
            inputs.append(Argument("p", every))
        values = self.expressions.parameter_values(self.grid.system.parameter_vector)
        return compile_function(
            SymbolicFunction(name, tuple(inputs), (Result("y", tuple(outputs), (len(outputs),)),)), values if every else None
        )

    def _arrays(self, k: int) -> list[np.ndarray]:
        arrays = self.grid.points[k].arrays()
        return [*(arrays[n] for n in POINT), self.grid.tau[k].copy()]

    def values(self) -> np.ndarray:
        """A row a time, a column a criterion."""
        f = self._function("grid_values", {}, list(self.expressions.resolved.values()))
        return np.array([np.ravel(f(*self._arrays(k))) for k in range(len(self.grid.points))])

    def slopes(self, changes: Sequence[Sequence[np.ndarray]], constants: Sequence[str]) -> np.ndarray:
        """Changes of the values (times × criteria × variables) for changes (q, v, a, z, u, λ, p, τ, constants) of each variable at each time."""
        eq, grid = self.grid.system.equations_of_motion, self.grid
        made, along = direction_symbols(eq, self.parameters, multiplier_symbols(eq))
        tau = tuple(symbol(f"dtau[{i}]", "input") for i in range(len(grid.symbols)))
        own = tuple(symbol(f"dc[{i}]", "input") for i in range(len(constants)))
        along |= dict(zip(grid.symbols, tau, strict=True))
        along |= {self.expressions.constants[n][0]: d for n, d in zip(constants, own, strict=True)}
        row = tuple(s for part in (*made.values(), tau, own) for s in part)
        f = self._function("grid_tangent", {"d": row}, jvp(list(self.expressions.resolved.values()), along))
        return np.array([np.column_stack([np.ravel(f(*self._arrays(k), d)) for d in rows]) for k, rows in enumerate(changes)])


def weights_of(name: str, c: Criterion, t: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """A criterion from the values at all times, and its slopes by them."""
    w = np.zeros(len(t))
    if c.kind in ("value", "final", "largest", "smallest", "at"):
        k = {"largest": int(np.argmax(y)), "smallest": int(np.argmin(y))}.get(c.kind, len(t) - 1)
        if c.kind == "at":
            k = _time(name, c, t, c.options["t"])
        w[k] = 1.0
        return float(y[k]), w
    if c.kind == "least_squares":
        o = c.options
        places = [_time(name, c, t, x) for x in o["times"]]
        off = y[places] - o["values"]
        np.add.at(w, places, o["weights"] * off)
        return 0.5 * float(np.sum(o["weights"] * off**2)), w
    if len(t) < 2:
        raise InputError(f"criterion '{name}' ({c}) needs at least two times")
    h = np.diff(t)
    w[:-1] += 0.5 * h
    w[1:] += 0.5 * h
    if c.kind == "integral":
        return float(w @ y), w
    w /= t[-1] - t[0]
    if c.kind == "mean":
        return float(w @ y), w
    size = float(np.sqrt(w @ y**2))
    return size, w * y / size if size else w * 0.0


def _time(name: str, c: Criterion, t: np.ndarray, wanted: float) -> int:
    k = int(np.argmin(np.abs(t - wanted)))
    if abs(t[k] - wanted) > 1e-9 * max(t[-1] - t[0], abs(t[-1]), 1e-300):
        raise InputError(f"criterion '{name}' ({c}): {wanted:g} s is none of the times of the analysis (the nearest is {t[k]:g} s)")
    return k


def measured(system: System, result: Any, criteria: Mapping[str, Criterion], given: Mapping[str, Any]) -> dict[str, float]:
    """Values of criteria on a result."""
    grid = grid_of(system, result, given)
    y = Reading(grid, criteria).values()
    return {n: weights_of(n, c, grid.t, y[:, i])[0] for i, (n, c) in enumerate(criteria.items())}


class AlongGrid:
    """Changes of all instants by all variables."""

    def __init__(
        self, analysis: Analysis, system: System, result: Any, wrt: Sequence[str], criteria: Mapping[str, Criterion], refuse: Any
    ) -> None:
        self.analysis, self.system, self.wrt, self.refuse = analysis, system, list(wrt), refuse
        self.given = dict(zip(OPTIONS[analysis.verb], analysis.args, strict=False)) | analysis.kwargs
        self.grid = grid_of(system, result, self.given)
        self.constants = [n for n in wrt if n in {f"{c}.{k}" for c, x in criteria.items() for k in x.constants}]
        kinds = {n: analysis.variable(n) for n in wrt if n not in self.constants}
        self.parameters = [own for kind, own in kinds.values() if kind == "parameter"]
        self.initial = {n: own for n, (kind, own) in kinds.items() if kind == "initial"}
        self.own = {n: own for n, (kind, own) in kinds.items() if kind == "parameter"}
        self.reading = Reading(self.grid, criteria, self.parameters)
        self.residual = Residual(system, self.parameters)
        eq = system.equations_of_motion
        if len(eq.rows) > eq.holonomic:
            raise refuse("rolling constraints, whose positions are integrated, are not carried")
        if system.configuration.quaternions:
            raise refuse("orientations by quaternions are not carried")
        self.held, self.drives = self._driven()

    def _driven(self) -> tuple[list[int], dict[int, list[Expr]]]:
        """Columns that are given, and those of them that are expressions: position, rate and acceleration."""
        s, word = self.system, "state" if self.analysis.verb == "static_forces" else "motion"
        motion = self.given.get(word)
        if self.analysis.verb == "static_forces":
            if not s.equations_of_motion.rows:
                return list(range(s.nv)), {}
            args, kwargs = self.analysis._started(s, self.analysis.initial_of({}))
            held = (dict(zip(OPTIONS["static_forces"], args, strict=False)) | kwargs).get("state")
            if not isinstance(held, Mapping):
                raise self.refuse("static forces of a loop whose state is not given by names are not carried")
            columns = sorted({velocity_column(s, n) for n in held if n not in s.velocity_names and n not in s.model.states})
            if len(columns) != s.nv - np.linalg.matrix_rank(self.residual.jacobian(self.grid.points[0])):
                raise self.refuse("static forces of a loop with more or less given coordinates than freedoms are not carried")
            return columns, {}
        if not (motion is None or isinstance(motion, Mapping)):
            if s.equations_of_motion.rows:
                raise self.refuse("a motion given by arrays does not close the loops of a changed design; give drivers by name")
            return list(range(s.nv)), {}
        eq, drives = s.equations_of_motion, {}
        for name, given in (motion or {}).items():
            e = given if isinstance(given, Expr) else as_expr(given(eq.t)) if callable(given) else None
            if e is not None:
                rate = jvp([e], {eq.t: ONE})[0]
                drives[velocity_column(s, name)] = [e, rate, jvp([rate], {eq.t: ONE})[0]]
        return sorted(velocity_column(s, n) for n in (motion or {})), drives

    def rows(self) -> tuple[dict[str, float], np.ndarray]:
        """Values of the criteria and their derivatives."""
        y = self.reading.values()
        changes = [self._changes(k) for k in range(len(self.grid.points))]
        slopes = self.reading.slopes(changes, self.constants)
        found, matrix = {}, np.zeros((len(self.reading.criteria), len(self.wrt)))
        for i, (name, c) in enumerate(self.reading.criteria.items()):
            found[name], w = weights_of(name, c, self.grid.t, y[:, i])
            matrix[i] = w @ slopes[:, i, :]
        return found, matrix

    def _changes(self, k: int) -> list[np.ndarray]:
        """Rows (q, v, a, z, u, λ, p, τ, constants) of each variable at one instant."""
        s, point = self.system, self.grid.points[k]
        d = self.residual.derivatives(point, "qvazulp")
        n, m = s.nv, len(self.residual.rows)
        free = [j for j in range(n) if j not in self.held]
        forces = self._force_columns(d)
        found = []
        for name in self.wrt:
            p, own = np.zeros(len(self.parameters)), np.array([float(name == c) for c in self.constants])
            change = {"q": np.zeros(n), "v": np.zeros(n), "a": np.zeros(n), "z": np.zeros(s.nz), "p": p}
            if name in self.own:
                p[self.parameters.index(self.own[name])] = 1.0
            self._start(change, name)
            self._drive(change, name, point.t)
            for key, row in (("q", "h"), ("v", "w"), ("a", "g")):
                if m and free:
                    rest = sum(d[row + x] @ change[x] for x in "qvazp")
                    change[key][free] -= np.linalg.lstsq(d[row + key][:, free], rest, rcond=1e-10)[0]
            u, lam, tau = np.zeros(s.nu), np.zeros(m), np.zeros(len(self.grid.symbols))
            if self.grid.actuators:
                rest = sum(d["r" + x] @ change[x] for x in "qvazp")
                y = np.linalg.lstsq(forces, rest, rcond=1e-12)[0]
                lam = y[len(self.grid.actuators) :]
                for i, (x, dy) in enumerate(zip(self.grid.actuators, y, strict=False)):
                    if x.is_input:
                        u[x.index] = dy
                    else:
                        tau[self.grid.joint_actuators.index(i)] = dy
            found.append(np.concatenate([change["q"], change["v"], change["a"], change["z"], u, lam, p, tau, own]))
        return found

    def _force_columns(self, d: Mapping[str, np.ndarray]) -> np.ndarray:
        """What actuators and multipliers do in the balance; they must be determined."""
        items = self.grid.actuators
        if not items:
            return np.zeros((self.system.nv, 0))
        E = np.zeros((self.system.nv, len(items)))
        for k, x in enumerate(items):
            if x.is_input:
                E[:, k] = -d["ru"][:, x.index]
            else:
                E[x.index, k] = 1.0
        both = np.hstack([E, -d["rl"]])
        if np.linalg.matrix_rank(both) < both.shape[1]:
            raise self.refuse("more actuators or constraints than determine the forces (those of least norm) are not carried")
        return both

    def _start(self, change: dict[str, np.ndarray], name: str) -> None:
        """Given coordinates of a state that is held, and states of the user."""
        own, s = self.initial.get(name), self.system
        if own is None:
            return
        if own in s.model.states:
            change["z"][list(s.model.states).index(own)] = 1.0
        elif self.analysis.verb == "static_forces" and own in s.coordinate_names and velocity_column(s, own) in self.held:
            change["q"][velocity_column(s, own)] = 1.0

    def _drive(self, change: dict[str, np.ndarray], name: str, t: float) -> None:
        """Changes of drivers that are expressions with the parameter."""
        if name not in self.own:
            return
        eq = self.system.equations_of_motion
        known = dict(zip(eq.p, self.system.parameter_vector, strict=True)) | {eq.t: t}
        chosen = self.system.model.parameter_set[self.own[name]].symbol
        for j, terms in self.drives.items():
            for key, x in zip("qva", evaluate(jvp(terms, {chosen: ONE}), known), strict=True):
                change[key][j] = float(x)


__all__ = ["OPTIONS", "AlongGrid", "is_grid", "measured"]
