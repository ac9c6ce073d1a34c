"""The equations of equilibrium F(x) = 0 with any choice of unknowns, their exact Jacobian, and a globalised Newton method.

F holds the reduced forces Zᵀr with loops closed (Robotran manual, eq. 44), the rates of user states, and further equations;
x holds independent coordinates, velocities, user states, inputs and parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError
from ...symbolic.expr import Expr, as_expr
from .residual import Point, Residual, Split, close_loops, dependent_change, split

if TYPE_CHECKING:
    from ...systems.system import System

#: Scaled residual (a displacement, roughly) at which the equations count as met, and the worst that round-off may leave.
MET, ROUND_OFF = 1e-11, 1e-8
#: Largest step of a coordinate (rad or m) in one iteration.
LONGEST = 1.0
#: A column smaller than this fraction of the others means that its variable has no influence.
INSENSITIVE = 1e-9


@dataclass(frozen=True)
class Unknown:
    """A variable of the equilibrium: a coordinate "q", velocity "v", user state "z", input "u" or parameter "p"."""

    name: str
    kind: str
    index: int
    unit: str = ""


@dataclass(frozen=True)
class Place:
    """A point with the values of the parameters that are unknowns."""

    point: Point
    p: np.ndarray


class Balance:
    """Equations and unknowns of one equilibrium problem."""

    def __init__(
        self,
        system: System,
        start: Point,
        unknowns: Sequence[Unknown] | None,
        exchange: Mapping[Unknown, Unknown],
        extra: Sequence[Unknown],
        equations: Mapping[str, Expr],
        dynamic: bool,
        accelerations: Mapping[int, Any],
        steady: Sequence[int] = (),
        make: Callable[..., Residual] = Residual,
    ) -> None:
        self.system, self.dynamic = system, dynamic
        self.frozen = {k.index for k in exchange if k.kind == "q"}
        self.frozen_states = {k.index for k in exchange if k.kind == "z"}
        self.given = None if unknowns is None else list(unknowns)
        self.others = [*exchange.values(), *extra]
        self.steady = sorted({*steady, *(x.index for x in [*self.others, *(self.given or [])] if x.kind == "v")})
        chosen = [x for x in [*self.others, *(self.given or [])] if x.kind == "p"]
        self.parameters = [x.name for x in chosen]
        self.equations = dict(equations)
        self._accelerated = list(accelerations)
        laws = {f"acceleration {system.velocity_names[j]}": as_expr(e) for j, e in accelerations.items()}
        self.residual = make(system, self.parameters, {**self.equations, **laws})
        self.held: list[Unknown] = []
        values = system.parameters
        self.place = Place(start, np.array([values[n] for n in self.parameters]))
        self.partition(self.place)
        self.place = self.completed(self.place)

    # -- unknowns -------------------------------------------------------------------------------------------------

    def partition(self, place: Place) -> None:
        """Chooses independent coordinates at a place; unknown and frozen ones are preferred."""
        self._set(place)
        J = self.residual.jacobian(place.point)
        wanted = {x.index for x in [*(self.given or []), *self.others, *self.held] if x.kind == "q"} | self.frozen
        self.parts = split(self.system, J, sorted({*wanted, *self.steady}), self.steady)
        lost = sorted((wanted & set(self.parts.position.dependent)) | (set(self.steady) & set(self.parts.velocity.dependent)))
        if lost:
            names = ", ".join(f"'{coordinate_label(self.system, j)}'" for j in lost)
            raise InputError(
                f"equilibrium '{self.system.model.name}': {names} cannot be independent at this position; the loops prescribe it"
            )
        self.unknowns = self._unknowns(self.parts)

    def _unknowns(self, parts: Split) -> list[Unknown]:
        if self.given is not None:
            listed = list(self.given)
        else:
            columns = [j for j in parts.position.independent if j not in self.frozen]
            listed = [Unknown(coordinate_label(self.system, j), "q", j, coordinate_unit(self.system, j)) for j in columns]
            states = enumerate(self.system.model.states.values())
            listed += [Unknown(s.name, "z", i, s.unit) for i, s in states if i not in self.frozen_states]
        return [x for x in [*listed, *self.others] if x not in self.held]

    def hold_insensitive(self) -> None:
        """Finds unknowns that the equations do not depend on (manual, eq. 48) and holds them where they are."""
        sizes = self._column_sizes(self.place)
        rng = np.random.default_rng(1)
        for _ in range(2):
            step = rng.uniform(-0.3, 0.3, len(self.unknowns)) * self.scales(self.place)
            try:
                sizes = np.maximum(sizes, self._column_sizes(self.moved(self.place, step)))
            except SolverError:
                continue
        limit = INSENSITIVE * max(1e-300, float(sizes.max(initial=0.0)))
        without = [x for x, size in zip(self.unknowns, sizes, strict=True) if size <= limit]
        useless = [x for x in without if x.kind in "vup"]
        if useless:
            raise InputError(
                f"equilibrium '{self.system.model.name}': '{useless[0].name}' has no influence on the equations and cannot be found from them"
            )
        self.held += without
        self.unknowns = [x for x in self.unknowns if x not in without]

    def _column_sizes(self, place: Place) -> np.ndarray:
        return np.asarray(np.linalg.norm(self.jacobian(place) * self.scales(place), axis=0))

    def scales(self, place: Place) -> np.ndarray:
        """A typical size of each unknown."""
        return np.array([_typical(x, self.value(place, x)) for x in self.unknowns])

    def value(self, place: Place, x: Unknown) -> float:
        """Present value of an unknown (0 for a rotation increment of a quaternion)."""
        if x.kind == "p":
            return float(place.p[self.parameters.index(x.name)])
        if x.kind == "q":
            index = position_index(self.system, x.index)
            return 0.0 if index is None else float(place.point.q[index])
        return float(getattr(place.point, x.kind)[x.index])

    # -- places ---------------------------------------------------------------------------------------------------

    def _set(self, place: Place) -> None:
        if self.parameters:
            self.system.set_parameters(**dict(zip(self.parameters, place.p.tolist(), strict=True)))

    def moved(self, place: Place, step: np.ndarray) -> Place:
        """The place reached by a step of the unknowns, with loops closed again."""
        point, p = place.point, place.p.copy()
        dq = np.zeros(self.system.nv)
        arrays = {k: getattr(point, k).copy() for k in "vzu"}
        for x, d in zip(self.unknowns, step, strict=True):
            if x.kind == "q":
                dq[x.index] = d
            elif x.kind == "p":
                p[self.parameters.index(x.name)] += d
            else:
                arrays[x.kind][x.index] += d
        return self.completed(Place(point.with_values(q=self.system.configuration.integrate(point.q, dq), **arrays), p))

    def completed(self, place: Place) -> Place:
        """Dependent positions, velocities, accelerations and multipliers for the independent ones of a place."""
        self._set(place)
        s, point, V = self.system, place.point, self.parts.velocity
        if s.equations_of_motion.holonomic:
            point = point.with_values(q=close_loops(s, point.q, self.parts.position.independent, point.t))
        J = self.residual.jacobian(point)
        if self.dynamic:
            point = point.with_values(a=np.zeros(s.nv))
            if V.dependent:
                point = point.with_values(v=_corrected(point.v, V.dependent, dependent_change(J, V, self.residual.values(point)["w"])))
            for k, j in enumerate(self._accelerated):
                point.a[j] = self.residual.values(point)["e"][len(self.equations) + k]
            if V.dependent:
                point = point.with_values(a=_corrected(point.a, V.dependent, dependent_change(J, V, self.residual.values(point)["g"])))
        return Place(self._with_multipliers(point, J), place.p)

    def _with_multipliers(self, point: Point, J: np.ndarray) -> Point:
        V = self.parts.velocity
        lam = np.zeros(len(J))
        if V.dependent:
            r = self.residual.values(point.with_values(lam=lam))["r"]
            lam[V.active] = np.linalg.solve(J[np.ix_(V.active, V.dependent)].T, r[V.dependent])
        return point.with_values(lam=lam)

    # -- equations ------------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """What each equation says."""
        forces = [f"force on '{coordinate_label(self.system, j)}'" for j in self.parts.velocity.independent]
        return [*forces, *(f"rate of '{n}'" for n in self.system.model.states), *(f"equation '{n}'" for n in self.equations)]

    def equation_values(self, place: Place) -> np.ndarray:
        """F."""
        self._set(place)
        values = self.residual.values(place.point)
        return np.concatenate([values["r"][self.parts.velocity.independent], values["f"], values["e"][: len(self.equations)]])

    def jacobian(self, place: Place, unknowns: Sequence[Unknown] | None = None) -> np.ndarray:
        """∂F/∂x, exact: multipliers stay as they are while Z turns."""
        self._set(place)
        unknowns = self.unknowns if unknowns is None else unknowns
        kinds = {x.kind for x in unknowns} | ({"q", "v", "a"} if self.dynamic else {"q"})
        d = self.residual.derivatives(place.point, "".join(sorted(kinds)))
        change = self.directions(place, unknowns, d)
        n = len(self.equations)
        rows = {k: sum((d[k + x] @ change[x] for x in "qvazup"), np.zeros((self.residual.sizes[k], len(unknowns)))) for k in "rfe"}
        Z = split_basis(self.residual.jacobian(place.point), self.parts)
        return np.vstack([Z.T @ rows["r"], rows["f"], rows["e"][:n]])

    def directions(self, place: Place, unknowns: Sequence[Unknown], d: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Full changes of q, v, v̇, z, u, p for a unit of each unknown."""
        s, J = self.system, self.residual.jacobian(place.point)
        P, V = self.parts.position, self.parts.velocity
        width = len(unknowns)
        c = {k: np.zeros((n, width)) for k, n in self.residual.widths.items()}
        for i, x in enumerate(unknowns):
            c[x.kind][self.parameters.index(x.name) if x.kind == "p" else x.index, i] = 1.0
        n = s.equations_of_motion.holonomic
        c["q"][P.dependent] = dependent_change(J[:n], P, d["hq"] @ c["q"] + d["hp"] @ c["p"])
        if self.dynamic:
            c["v"][V.dependent] = dependent_change(J, V, d["wq"] @ c["q"] + d["wv"] @ c["v"] + d["wp"] @ c["p"])
            for k, j in enumerate(self._accelerated):
                row = len(self.equations) + k
                c["a"][j] = sum(d["e" + x][row] @ c[x] for x in "qvzup")
            c["a"][V.dependent] = dependent_change(J, V, d["gq"] @ c["q"] + d["gv"] @ c["v"] + d["gp"] @ c["p"] + J @ c["a"])
        return c


def _corrected(x: np.ndarray, index: Sequence[int], change: np.ndarray) -> np.ndarray:
    x = x.copy()
    x[list(index)] += change
    return x


def split_basis(J: np.ndarray, parts: Split) -> np.ndarray:
    """Z of the velocities at a Jacobian, with the partition as it was chosen."""
    from .residual import independent_basis

    return independent_basis(J, parts.velocity)


def _typical(x: Unknown, value: float) -> float:
    return 1.0 if x.kind == "q" else max(abs(value), 1.0 if x.kind in "vz" else 1e-6) if value else 1.0


def coordinate_label(system: System, column: int) -> str:
    """Name of the position that a velocity column moves."""
    return system.velocity_names[column].removesuffix("_rate")


def position_index(system: System, column: int) -> int | None:
    """Index in q of a velocity column (None for quaternions)."""
    c = system.configuration
    found = np.flatnonzero(c._scalar_v == column)
    return int(c._scalar_q[found[0]]) if len(found) else None


def coordinate_unit(system: System, column: int) -> str:
    """Unit of the displacement along a velocity column."""
    index = position_index(system, column)
    return "rad" if index is None else system.configuration.units[index]


# --- Newton ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How Newton's method ended."""

    place: Place
    converged: bool
    residual: np.ndarray
    iterations: int


def newton(balance: Balance, place: Place, iterations: int = 80) -> Outcome:
    """Gauss–Newton with limited steps, a line search, and damping (Levenberg–Marquardt) where the search fails.

    Systems with more equations than unknowns (held variables) must be met all the same; with fewer, the shortest step is taken.
    """
    F = balance.equation_values(place)
    weight: np.ndarray | None = None
    for k in range(iterations):
        if balance.parts.condition < 1e-5:
            balance.partition(place)
            place, weight = balance.completed(place), None
            F = balance.equation_values(place)
        scale = balance.scales(place)
        J = balance.jacobian(place) * scale
        size = row_sizes(J)
        weight = size if weight is None else np.maximum(weight, size)
        A, b = J / weight[:, None], F / weight
        error = float(np.abs(b).max(initial=0.0))
        if error < MET:
            return _polished(balance, place, F, J, scale, k)
        found = _descend(balance, place, A, b, scale, weight)
        if found is None:
            return Outcome(place, error < ROUND_OFF, F, k)
        place, F = found
    return Outcome(place, False, F, iterations)


def row_sizes(J: np.ndarray) -> np.ndarray:
    """Typical size of each equation from its derivatives."""
    size = np.linalg.norm(J, axis=1)
    largest = float(size.max(initial=0.0))
    return np.maximum(size, 1e-3 * largest) if largest > 0 else np.ones(len(J))


def _polished(balance: Balance, place: Place, F: np.ndarray, J: np.ndarray, scale: np.ndarray, k: int) -> Outcome:
    """One more full step, kept if it is better: the error falls to round-off."""
    if J.size:
        step = scale * np.linalg.lstsq(J, -F, rcond=1e-10)[0]
        better = balance.moved(place, step)
        G = balance.equation_values(better)
        if np.abs(G).max() <= np.abs(F).max():
            return Outcome(better, True, G, k)
    return Outcome(place, True, F, k)


def _descend(
    balance: Balance, place: Place, A: np.ndarray, b: np.ndarray, scale: np.ndarray, weight: np.ndarray
) -> tuple[Place, np.ndarray] | None:
    """A step that lowers Σ(F/weight)², or None."""
    merit = float(b @ b)
    columns = np.maximum(np.linalg.norm(A, axis=0), 1e-8 * max(1e-300, float(np.linalg.norm(A))))
    for damping in (0.0, 1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4):
        if damping:
            step = np.linalg.lstsq(
                np.vstack([A, np.sqrt(damping) * np.diag(columns)]), np.concatenate([-b, np.zeros(len(columns))]), rcond=None
            )[0]
        else:
            step = np.linalg.lstsq(A, -b, rcond=1e-9)[0]
        slope = float((A.T @ b) @ step)
        if not np.all(np.isfinite(step)) or slope >= 0:
            continue
        factor = min(1.0, LONGEST / max(1e-300, _longest(balance, scale * step)))
        for _ in range(8 if damping == 0.0 else 3):
            try:
                trial = balance.moved(place, factor * scale * step)
                G = balance.equation_values(trial)
            except SolverError:
                factor *= 0.3
                continue
            if float((G / weight) @ (G / weight)) <= merit + 1e-4 * factor * slope:
                return trial, G
            factor *= 0.5
    return None


def _longest(balance: Balance, step: np.ndarray) -> float:
    moves = [abs(d) for x, d in zip(balance.unknowns, step, strict=True) if x.kind == "q"]
    return max(moves, default=0.0)
