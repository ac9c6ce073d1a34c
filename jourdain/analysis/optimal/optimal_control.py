"""Optimal control of a system: from a start to an end with inputs that make a criterion smallest, by direct collocation and IPOPT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, nearest
from ...model.values import number
from ...results.solution import Solution
from ...solvers.optimisers.ipopt_method import solve_sparse
from ...symbolic.expr import constant
from ...symbolic.graph import substitute
from ..design.criteria import Constraint, Criterion
from ..gradients.expressions import expressions_of
from ..gradients.units import state_unit, units_in_run
from .collocation import Collocation
from .motion import OptimalMotion
from .points import Points
from .schemes import scheme_of

if TYPE_CHECKING:
    from ...systems.state import State
    from ...systems.system import System

#: Kinds of criteria that are sums over the motion or values at its end, and those that hold all along it.
SUMS, ENDS, ALONG = ("integral",), ("final",), ("largest", "smallest")
MOST_INTERVALS = 2000


def optimal_control(
    system: System, start: Any, end: Mapping[str, Any], t: float | str | tuple[Any, Any], inputs: Mapping[str, Any], minimise: Criterion,
    subject_to: Mapping[str, Constraint] | None = None, bounds: Mapping[str, tuple[Any, Any]] | None = None, intervals: int = 40, jumps: bool = False,
    guess: Any = None, tolerance: float = 1e-6, refinements: int = 3, max_iterations: int = 1000, scheme: str = "hermite-simpson",
) -> OptimalMotion:  # fmt: skip
    """The motion from ``start`` to ``end`` that makes a criterion smallest.

    start: the first state, as for ``simulate``; loops are closed.
    end: values of coordinates, velocities and states at the end, or pairs of bounds; others are free.
    t: the duration (s), or a pair of bounds between which it is found.
    inputs: bounds of the inputs that are sought, ``{"force": (-20, 20)}``; None for one without bounds.
    minimise: an integral, a value at the end (``final``) or the duration (``end_time``) of :mod:`jourdain.criteria`.
    subject_to: constraints along the motion (``largest(…) <= …``, ``smallest(…) >= …``), of integrals, of values at the end.
    bounds: bounds of coordinates, velocities and states all along the motion.
    jumps: inputs may jump from interval to interval.
    guess: an optimal motion or a solution to begin with; otherwise straight lines from start to end.
    tolerance: intervals in which the error of a state exceeds this part of its size are halved and the problem is solved again, ``refinements`` times.
    scheme: "hermite-simpson" (order four, inputs at both ends and in the middle of each interval) or "radau" (Radau IIA with three stages, order five, for
        stiff systems too: inputs are quadratics through its points, and none is at the beginning of an interval).
    """
    return _Problem(system, start, end, t, inputs, minimise, dict(subject_to or {}), dict(bounds or {}), jumps, scheme).solve(
        intervals, guess, tolerance, refinements, max_iterations
    )


class _Problem:
    """One problem, whatever its mesh."""

    def __init__(
        self, system: System, start: Any, end: Mapping[str, Any], t: Any, inputs: Mapping[str, Any], minimise: Criterion,
        subject_to: dict[str, Constraint], bounds: dict[str, tuple[Any, Any]], jumps: bool, scheme: str,
    ) -> None:  # fmt: skip
        self.system, self.name, self.jumps = system, f"optimal control of '{system.model.name}'", jumps
        self.scheme = scheme_of(scheme, self.name)
        self._refuse()
        self.states = [*system.coordinate_names, *system.velocity_names, *system.model.states]
        self.start: State = self._first(start)
        self.span = self._duration(t)
        self.control_bounds = {
            n: self._pair(f"input '{n}'", b, system.model.inputs[n].unit)
            for n, b in self._known(inputs, list(system.model.inputs), "input").items()
        }
        if not self.control_bounds:
            raise InputError(
                f"{self.name}: no input is sought; give bounds of at least one of {', '.join(system.model.inputs) or 'none there are'}"
            )
        end, bounds = ({self._whole(n): x for n, x in given.items()} for given in (end, bounds))
        self.end = {n: self._at_end(n, x) for n, x in self._known(end, self.states, "state").items()}
        self.bounds = {n: self._pair(f"'{n}'", b, state_unit(system, n)) for n, b in self._known(bounds, self.states, "state").items()}
        self._sort(minimise, subject_to)

    def _refuse(self) -> None:
        m = self.system.model
        for word, items in (
            ("event", m.events),
            ("callback", m.callbacks),
            ("memory", m.memories),
            ("algebraic unknown", m.unknowns),
            ("contact", m.contacts),
        ):
            if items:
                raise InputError(
                    f"{self.name}: {word} '{next(iter(items))}' is not taken by collocation; leave it out, or make a smooth law of it"
                )

    def _known(self, given: Mapping[str, Any], names: Sequence[str], what: str) -> Mapping[str, Any]:
        for name in given:
            if name not in names:
                near = nearest(name, names, 3)
                raise InputError(
                    f"{self.name}: there is no {what} '{name}'; "
                    + (f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(names)}")
                )
        return given

    def _whole(self, name: str) -> str:
        """The coordinate of a joint that has one, where the joint is named."""
        joint = self.system.model.joints.get(name)
        names = [n for c in joint.coordinates for n in c.names] if joint is not None else []
        return names[0] if len(names) == 1 and name not in self.states else name

    def _pair(self, what: str, given: Any, unit: str = "") -> tuple[float, float]:
        if given is None:
            return -np.inf, np.inf
        if isinstance(given, (str, int, float)) or len(given) != 2:
            raise InputError(f"{self.name}: bounds of {what} are {given!r}; write a pair (lowest, highest)")
        low, high = (
            inf if x is None else number(x, f"bound of {what}", unit or None) for x, inf in zip(given, (-np.inf, np.inf), strict=True)
        )
        if not low <= high:
            raise InputError(f"{self.name}: the bounds {low:g} and {high:g} of {what} are crossed")
        return low, high

    def _at_end(self, name: str, given: Any) -> tuple[float, float]:
        if isinstance(given, (tuple, list)):
            return self._pair(f"'{name}' at the end", given, state_unit(self.system, name))
        x = number(given, f"value of '{name}' at the end", state_unit(self.system, name) or None)
        return x, x

    def _duration(self, t: Any) -> tuple[float, float]:
        if isinstance(t, (tuple, list)):
            low, high = self._pair("the duration", [number(x, "duration", "s") for x in t])
        else:
            low = high = number(t, "duration", "s")
        if not low > 0:
            raise InputError(f"{self.name}: the duration {low:g} s must be positive")
        return low, high

    def _first(self, given: Any) -> State:
        s = self.system
        if s.equations_of_motion.rows:
            from ..equations.start_values import closed_start

            return closed_start(s, given)
        return s.state(given)

    def _sort(self, minimise: Criterion, subject_to: dict[str, Constraint]) -> None:
        """Which criteria are integrals, values at the end, or hold all along."""
        if not isinstance(minimise, Criterion) or minimise.kind not in (*SUMS, *ENDS, "end_time"):
            raise InputError(f"{self.name}: minimise = {minimise} must be an integral, a final value or the end_time of jd.criteria")
        for n, c in subject_to.items():
            if not isinstance(c, Constraint) or c.criterion.kind not in (*SUMS, *ENDS, *ALONG):
                raise InputError(
                    f"{self.name}: constraint '{n}' ({c}) must be one of an integral, a final value, or the largest or smallest value along the motion"
                )
            k = c.criterion.kind
            if k in ALONG and ((k == "largest" and np.isfinite(c.lower)) or (k == "smallest" and np.isfinite(c.upper))):
                raise InputError(f"{self.name}: constraint '{n}' ({c}) does not hold all along; write largest(…) <= … or smallest(…) >= …")
        if "minimise" in subject_to:
            raise InputError(f"{self.name}: a constraint cannot be called 'minimise'; rename it")
        written = {n: c.criterion for n, c in subject_to.items() if c.written}
        for n, unit in units_in_run(self.system, self.start, written).items() if written else ():
            subject_to[n].check(n, unit)
        every = {"minimise": minimise} | {n: c.criterion for n, c in subject_to.items()}
        resolved = expressions_of(self.system, {n: c for n, c in every.items() if c.expression is not None})
        known = {symbol: constant(x) for symbol, x in resolved.constants.values()}
        values = dict(zip(resolved.resolved, substitute(list(resolved.resolved.values()), known), strict=True))
        self.minimise, self.subject_to = minimise, subject_to
        self.along = [n for n, c in every.items() if c.kind in ALONG]
        self.sums = [n for n, c in every.items() if c.kind in SUMS]
        self.ends = [n for n, c in every.items() if c.kind in ENDS]
        self.points = Points(self.system, self.start, list(self.control_bounds), [values[n] for n in (*self.along, *self.sums, *self.ends)])

    # -- solving --------------------------------------------------------------------------------------------------

    def solve(self, intervals: int, guess: Any, tolerance: float, refinements: int, limit: int) -> OptimalMotion:
        """The best motion on meshes that are refined where the interpolant misses the equations."""
        if not isinstance(intervals, int) or not 2 <= intervals <= MOST_INTERVALS:
            raise InputError(f"{self.name}: intervals = {intervals!r} must be a number from 2 to {MOST_INTERVALS}")
        if not (isinstance(tolerance, (int, float)) and tolerance > 0.0):
            raise InputError(f"{self.name}: tolerance = {tolerance!r} must be positive")
        for word, x, least in (("refinements", refinements, 0), ("max_iterations", limit, 1)):
            if isinstance(x, bool) or not isinstance(x, int) or x < least:
                raise InputError(f"{self.name}: {word} = {x!r} must be a whole number from {least} on")
        mesh = np.linspace(0.0, 1.0, intervals + 1)
        found, spent = None, 0
        for round_ in range(refinements + 1):
            problem = self._program(mesh)
            first = self._guess(problem, guess if found is None else found)
            found, errors = self._solved(problem, first, limit)
            spent += found.iterations
            worst = errors > tolerance
            if round_ == refinements or not found.converged or not worst.any() or len(mesh) - 1 + worst.sum() > MOST_INTERVALS:
                break
            mesh = np.sort(np.concatenate([mesh, 0.5 * (mesh[:-1] + mesh[1:])[worst]]))
        assert found is not None
        return replace(found, iterations=spent)

    def _program(self, mesh: np.ndarray) -> Collocation:
        return Collocation(self.points, mesh, float(self.start.t), self.jumps, len(self.along), len(self.sums), len(self.ends), self.scheme)

    def _goal(self, program: Collocation) -> int:
        if self.minimise.kind == "end_time":
            return program.duration
        rows, names = (program.integrals, self.sums) if self.minimise.kind in SUMS else (program.finals, self.ends)
        return int(rows[names.index("minimise")])

    def _bounds(self, program: Collocation) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.full(program.size, -np.inf), np.full(program.size, np.inf)
        for j, name in enumerate(self.states):
            at = program.states[:, j]
            if name in self.bounds:
                low[at], high[at] = self.bounds[name]
            if name in self.end:
                low[at[-1]], high[at[-1]] = max(low[at[-1]], self.end[name][0]), min(high[at[-1]], self.end[name][1])
            first = float(self.start.x[j])
            if name in self.bounds and not low[at[0]] <= first <= high[at[0]]:
                raise InputError(f"{self.name}: '{name}' begins with {first:g}, outside of its bounds along the motion")
            low[at[0]] = high[at[0]] = first
            if low[at[-1]] > high[at[-1]]:
                raise InputError(f"{self.name}: '{name}' at the end lies outside of its bounds along the motion")
        for j, pair in enumerate(self.control_bounds.values()):
            at = program.places[:, self.points.n + j]
            low[at], high[at] = pair
        low[program.T], high[program.T] = self.span
        return low, high

    def _row_bounds(self, program: Collocation) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.zeros(program.rows), np.zeros(program.rows)
        for rows in (*program.integrals, *program.finals, program.duration):
            low[rows], high[rows] = -np.inf, np.inf
        for j, name in enumerate(self.along):
            rows = np.arange(program.along.start + j, program.along.stop, len(self.along))
            low[rows], high[rows] = self.subject_to[name].lower, self.subject_to[name].upper
        for rows, names in ((program.integrals, self.sums), (program.finals, self.ends)):
            for row, name in zip(rows, names, strict=True):
                if name in self.subject_to:
                    low[row], high[row] = self.subject_to[name].lower, self.subject_to[name].upper
        return low, high

    def _guess(self, program: Collocation, given: Any) -> np.ndarray:
        """Values of all variables to begin with."""
        v = np.zeros(program.size)
        low, high = self.span
        v[program.T] = 0.5 * (low + high) if np.isfinite(high) else low
        nodes = program.nodes
        if isinstance(given, OptimalMotion):
            v[program.T] = np.clip(given.duration, low, high)
            own = (given.t - given.t[0]) / given.duration
            for j in range(self.points.n):
                v[program.states[:, j]] = np.interp(nodes, own, given.x[:, j])
            for j, name in enumerate(self.control_bounds):
                table = given.tables[name]
                grid = given.t[0] + given.duration * np.clip(program.tau + np.tile([1e-9, 0.0, -1e-9], program.N), 0.0, 1.0)
                v[program.places[:, self.points.n + j]] = table.value((0,), grid)
            return self._equations(program, v)
        if isinstance(given, Solution):
            v[program.T] = np.clip(given.t[-1] - given.t[0], low, high)
            at = given.t[0] + nodes * (given.t[-1] - given.t[0])
            for j, name in enumerate(self.states):
                v[program.states[:, j]] = np.interp(at, given.t, np.asarray(given[name]))
            return self._equations(program, v)
        if given is not None:
            raise InputError(f"{self.name}: guess = {type(given).__name__} must be an optimal motion or a solution")
        for j, name in enumerate(self.states):
            first = float(self.start.x[j])
            last = float(np.clip(first, *self.end[name])) if name in self.end else first
            v[program.states[:, j]] = first + nodes * (last - first)
        for j, (a, b) in enumerate(self.control_bounds.values()):
            if np.isfinite(a) and np.isfinite(b):
                v[program.places[:, self.points.n + j]] = 0.5 * (a + b)
        return self._equations(program, v)

    def _equations(self, program: Collocation, v: np.ndarray) -> np.ndarray:
        """The guess with unknowns of loops that fit it, point by point (least squares, since they are linear in these)."""
        p = self.points
        k = len(p.unknowns)
        if not k:
            return v
        at = slice(p.n, p.n + p.equations)
        t, own = program.times(v), program.places[:, -k:]
        base = p.values(t, v[program.places])[:, at]
        A = np.zeros((len(t), p.equations, k))
        for j in range(k):
            z = v[program.places].copy()
            z[:, z.shape[1] - k + j] += 1.0
            A[:, :, j] = p.values(t, z)[:, at] - base
        v[own] -= np.stack([np.linalg.lstsq(a, b, rcond=1e-10)[0] for a, b in zip(A, base, strict=True)])
        return v

    def _solved(self, program: Collocation, first: np.ndarray, limit: int) -> tuple[OptimalMotion, np.ndarray]:
        goal = self._goal(program)
        ended = solve_sparse(program, goal, first, self._bounds(program), self._row_bounds(program), 1e-9, limit)
        v = ended.x
        rows = program.all_rows(v)
        errors = self._errors(program, v)
        values = {
            n: float(rows[r])
            for rows_, names in ((program.integrals, self.sums), (program.finals, self.ends))
            for r, n in zip(rows_, names, strict=True)
        }
        y = program.points.values(program.times(v), v[program.places])
        first_along = self.points.n + self.points.equations
        for j, n in enumerate(self.along):
            column = y[:, first_along + j]
            values[n] = float(column.max() if self.subject_to[n].criterion.kind == "largest" else column.min())
        cost = float(rows[goal])
        values.pop("minimise", None)
        t = program.t0 + v[program.T] * program.nodes
        controls = {n: v[program.places[:, self.points.n + j]].reshape(-1, 3) for j, n in enumerate(self.control_bounds)}
        found = OptimalMotion(
            self.system, t, v[program.states], controls, cost, values, ended.converged, ended.iterations, ended.message, float(errors.max()), scheme=self.scheme,
        )  # fmt: skip
        return found, errors

    def _errors(self, program: Collocation, v: np.ndarray) -> np.ndarray:
        """How much states miss in each interval: h |x̂̇ − f(x̂, û)| at a quarter and three quarters, in units of the largest value of each state."""
        n, N, T = self.points.n, program.N, v[program.T]
        z = v[program.places].reshape(N, 3, -1)
        f = self.points.values(program.times(v), v[program.places])[:, :n].reshape(N, 3, n)
        h, begin = (T * np.diff(program.mesh))[:, None], program.t0 + T * program.mesh[:-1]
        nodes = v[program.states[program.inner * np.arange(N)[:, None] + np.arange(program.inner + 1)]]
        size = np.maximum(np.abs(v[program.states]).max(axis=0), 1e-3 * np.abs(v[program.states]).max() + 1e-12)
        most = np.zeros(N)
        for s in (0.25, 0.75):
            x, rate = self.scheme.states(s, nodes, (f[:, 0], f[:, 2]), h)
            rest = np.einsum("j,kjn->kn", self.scheme.inputs(s), z)
            rest[:, :n] = x
            own = self.points.values(begin + s * h[:, 0], rest)[:, :n]
            most = np.maximum(most, (h * np.abs(rate - own) / size).max(axis=1))
        return most


__all__ = ["optimal_control"]
