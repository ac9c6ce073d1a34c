"""The descriptor form of a mechanical system in any dependent coordinates, and the named functions compiled from it.

M(x) ẍ = Q(t, x, ẋ, z, u) + Jᵀλ,   h(x, t) = 0,   w(x, ẋ, t) = 0        J = ∂ḣ/∂ẋ, ∂w/∂ẋ; many textbooks write −λ for λ
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import InputError, ModelError
from ...model.constraints import Closure
from ...model.elastic.flexible import FlexibleBody
from ...model.joints import Coordinate
from ...model.model import Model
from ...symbolic.derivatives import jvp, sparse_jacobian
from ...symbolic.expr import KINDS, ONE, ZERO, Expr, add, mul, neg, sub
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.graph import substitute
from ...symbolic.vectors import IDENTITY, NULL, Vector
from ..equations import Equations, Row
from ..functions.linearisation import constrained_terms
from ..functions.registry import Signals, assemble, builder, derive, jacobian_result, matrix_result, vector_result
from ..functions.residual import acceleration_tangent_function, equations_function, tangent_function
from ..functions.state_jacobian import jacobian_function, time_derivative_function
from ..functions.touching import touching_frames
from ..functions.tree import multiplier_symbols
from ..tree.rods import rods_with_mass
from .absolute import AbsoluteEquations, BodyPose, MixedCoordinates


@dataclass(frozen=True)
class BodyMotion:
    """Poses and velocities of all bodies as numbers (world axes, body origins, order of the model) with joint coordinates by name.

    ``parameters`` gives the value of every parameter symbol.
    """

    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    coordinates: Mapping[str, float] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    t: float = 0.0
    parameters: Mapping[Expr, float] = field(default_factory=dict)


@dataclass
class Descriptor:
    """Equations of motion in dependent coordinates x: what every absolute formulation gives.

    ``mass`` holds the non-zero entries (both triangles), ``force`` is Q with gyroscopic terms, ``constraints`` are all rows,
    holonomic first, ``coordinates_of`` finds x and ẋ from body poses and twists.  ``charts`` are groups of three coordinates that are a
    rotation vector (to be exchanged for its complement when it grows).  ``normal`` is the axis 0, 1, 2 normal to the plane of a planar formulation, whose
    multipliers give reactions in the plane only.
    """

    name: str
    equations: AbsoluteEquations
    labels: tuple[str, ...]
    mass: dict[tuple[int, int], Expr]
    force: list[Expr]
    coordinates_of: Callable[[BodyMotion], tuple[np.ndarray, np.ndarray]]
    charts: tuple[tuple[int, int, int], ...] = ()
    normal: int | None = None

    def __post_init__(self) -> None:
        n = len(self.x)
        if len(self.force) != n or len(self.labels) != n:
            raise ModelError(f"formulation '{self.name}': {n} coordinates, {len(self.force)} forces, {len(self.labels)} names")
        added = sparse_jacobian(self.force, self.equations.a) if self._accelerated else {}
        for key, e in added.items():
            if e.deps & KINDS["acceleration"]:
                raise ModelError(f"model '{self.equations.model.name}': a force depends on accelerations in a way that is not linear")
            self.mass[key] = sub(self.mass.get(key, ZERO), e)
        if added:
            self.force = substitute(self.force, dict.fromkeys(self.equations.a, ZERO))

    @property
    def _accelerated(self) -> bool:
        return any(e.deps & KINDS["acceleration"] for e in self.force)

    @property
    def x(self) -> tuple[Expr, ...]:
        """Coordinates."""
        return self.equations.q

    @property
    def xd(self) -> tuple[Expr, ...]:
        """Rates of the coordinates."""
        return self.equations.v

    @property
    def constraints(self) -> list[Row]:
        """All constraint rows, holonomic ones first."""
        return self.equations.rows

    @property
    def poses(self) -> dict[str, BodyPose]:
        """Pose of every body."""
        return self.equations.poses

    @cached_property
    def mass_pattern(self) -> np.ndarray:
        """Which entries of M are not identically zero."""
        pattern = np.zeros((len(self.x), len(self.x)), dtype=bool)
        for i, j in self.mass:
            pattern[i, j] = True
        return pattern

    @cached_property
    def jacobian_pattern(self) -> np.ndarray:
        """Which entries of J are not identically zero."""
        pattern = np.zeros((len(self.constraints), len(self.x)), dtype=bool)
        for i, j in self.equations.constraint_jacobian:
            pattern[i, j] = True
        return pattern

    # -- functions ------------------------------------------------------------------------------------------------

    def symbolic(self, name: str, **options: Any) -> SymbolicFunction:
        """A named function of the formulation; beyond its own those of the model that need no tree (guards, outputs …)."""
        own: dict[str, Callable[..., SymbolicFunction]] = {
            "descriptor": self._descriptor, "bodies": self._bodies, "transmitted": self._transmitted, "sparse_terms": self._sparse_terms,
            "tangent": self._tangent, "state_derivative": self._state_derivative, "state_jacobian": self._state_jacobian,
            "state_time_derivative": self._state_time_derivative, "implicit_equations": self._implicit_equations,
            "implicit_tangent": self._implicit_tangent, "acceleration_tangent": self._acceleration_tangent, "rigid_motion": self._rigid_motion,
        }  # fmt: skip
        if name in own:
            return own[name](**options)
        if name not in (
            "constraints",
            "constraint_velocities",
            "guard",
            "guards",
            "outputs",
            "readings",
            "callback_arguments",
            "touching_motion",
            "rigid_poses",
            "jump",
            "renewal",
            "unknowns",
        ):
            raise InputError(f"formulation '{self.name}' has no function '{name}'; there are {', '.join(own)}, constraints …")
        return derive(self.equations, name, **options)

    def _dense_mass(self) -> list[list[Expr]]:
        n = len(self.x)
        table = [[ZERO] * n for _ in range(n)]
        for (i, j), e in self.mass.items():
            table[i][j] = e
        return table

    def _right(self, alpha: float = 0.0, beta: float = 0.0) -> Result:
        """g of J ẍ = g: −J̇ẋ − …, with Baumgarte's terms −2αḣ − β²h (−αw of velocity constraints)."""
        return vector_result("g", [neg(e) for e in self._constraint_accelerations(alpha, beta)])

    def _constraint_accelerations(self, alpha: float, beta: float) -> list[Expr]:
        eq = self.equations
        found = list(eq.constraint_accelerations)
        if alpha or beta:
            velocities = eq.constraint_velocities
            for i, row in enumerate(eq.rows):
                error = velocities[i] * alpha if row.nonholonomic else velocities[i] * (2.0 * alpha) + row.expression * beta**2
                found[i] = add(found[i], error)
        return found

    def _descriptor(self, alpha: float = 0.0, beta: float = 0.0) -> SymbolicFunction:
        """M, f, J, g and the rates ẋ, ż as the constrained solvers take them; α, β of Baumgarte's stabilisation change g."""
        eq = self.equations
        results = [
            matrix_result("M", self._dense_mass(), len(self.x)), vector_result("f", self.force), jacobian_result(eq), self._right(alpha, beta),
            vector_result("rates", [*eq.position_rates, *eq.explicit_state_rates]),
        ]  # fmt: skip
        return assemble(eq, "descriptor", "t x u", results)

    def _state_rates(self) -> list[Expr]:
        """ẋ, ẍ and ż of a system without constraints, block by block of the mass matrix."""
        from scipy.sparse.csgraph import connected_components

        from ..loops.elimination import solve_dense

        eq, n = self.equations, len(self.x)
        _, label = connected_components(self.mass_pattern)
        a = [ZERO] * n
        for block in range(max(label, default=-1) + 1):
            own = [i for i in range(n) if label[i] == block]
            M = [[self.mass.get((i, j), ZERO) for j in own] for i in own]
            for i, row in zip(own, solve_dense(M, [[self.force[i]] for i in own]), strict=True):
                a[i] = row[0]
        return [*eq.position_rates, *a, *eq.explicit_state_rates]

    def _state_derivative(self) -> SymbolicFunction:
        return assemble(self.equations, "state_derivative", "t x", [vector_result("xdot", self._state_rates())], optional="u")

    def _state_jacobian(self) -> SymbolicFunction:
        return jacobian_function(self.equations, self._state_rates())

    def _state_time_derivative(self, signals: Signals = ()) -> SymbolicFunction:
        return time_derivative_function(self.equations, self._state_rates(), signals)

    def _implicit_terms(self) -> dict[str, list[Expr]]:
        """r = M ẍ − Q − Jᵀλ, h, w, g = J ẍ + J̇ẋ + … and f = ż as implicit methods take them."""
        balance = [neg(e) for e in self.force]
        for (i, j), e in self.mass.items():
            balance[i] = add(balance[i], mul(e, self.equations.a[j]))
        return constrained_terms(self.equations, balance, multiplier_symbols(self.equations))

    def _implicit_equations(self) -> SymbolicFunction:
        return equations_function(self.equations, self._implicit_terms())

    def _implicit_tangent(self, signals: Signals = ()) -> SymbolicFunction:
        return tangent_function(self.equations, self._implicit_terms(), signals)

    def _acceleration_tangent(self, alpha: float = 0.0, beta: float = 0.0, signals: Signals = ()) -> SymbolicFunction:
        """Change of r, of J ẍ − g (α, β as for :meth:`_descriptor`), and of ẋ and ż along a direction."""
        terms = self._implicit_terms()
        stabilised, plain = self._constraint_accelerations(alpha, beta), self.equations.constraint_accelerations
        terms["g"] = [add(e, sub(a, b)) for e, a, b in zip(terms["g"], stabilised, plain, strict=True)]
        return acceleration_tangent_function(self.equations, terms, signals)

    def places(self, matrix: str) -> np.ndarray:
        """Where the entries of M or J that ``sparse_terms`` gives stand in the matrix, counted row by row."""
        entries = self.mass if matrix == "M" else self.equations.constraint_jacobian
        return np.array([i * len(self.x) + j for i, j in sorted(entries)], dtype=np.int64)

    def _sparse_terms(self) -> SymbolicFunction:
        """Non-zero entries of M and J (row by row), f and g."""
        eq = self.equations
        M = [self.mass[k] for k in sorted(self.mass)]
        J = [eq.constraint_jacobian[k] for k in sorted(eq.constraint_jacobian)]
        return assemble(
            eq, "sparse_terms", "t x u", [vector_result("M", M), vector_result("f", self.force), vector_result("J", J), self._right()]
        )

    def _rigid_motion(self, frames: tuple[str, ...]) -> SymbolicFunction:
        """What rates do to bodies (or nodes) with rigid contacts, as :func:`~jourdain.formalisms.functions.touching.rigid_motion` tells it of trees."""
        k, known = self.equations.kinematics, touching_frames(self.equations.model, gives_way=False)
        moved = [e for b in (known[name] for name in frames) for e in (*k.velocity(b), *k.angular_velocity(b))]
        n, rows = len(self.x), [ZERO] * (len(moved) * len(self.x))
        for (i, j), e in sparse_jacobian(moved, self.xd).items():
            rows[i * n + j] = e
        driven = substitute(moved, dict.fromkeys(self.xd, ZERO))
        results = [vector_result("J", rows), vector_result("drift", driven), matrix_result("M", self._dense_mass(), n)]
        return assemble(self.equations, "rigid_motion", "t x", results)

    def _tangent(self) -> SymbolicFunction:
        """K = −∂Q/∂x and C = −∂Q/∂ẋ of the forces (stiffness and damping of implicit steps)."""
        n = len(self.x)
        results = []
        for name, wrt in (("K", self.x), ("C", self.xd)):
            table = [[ZERO] * n for _ in range(n)]
            for (i, j), e in sparse_jacobian(self.force, wrt).items():
                table[i][j] = neg(e)
            results.append(matrix_result(name, table, n))
        return assemble(self.equations, "tangent", "t x u", results)

    def _bodies(self) -> SymbolicFunction:
        """p, R, v, ω, v̇, ω̇ of every body's origin from x, ẋ, ẍ."""
        eq = self.equations
        k = eq.kinematics
        bodies, modes = list(eq.model.bodies.values()), _mode_places(eq.model)
        rates = {**eq.flow, **dict(zip(eq.v, eq.a, strict=True))}
        v = [e for b in bodies for e in k.velocity(b)] + [e for place in modes for e in place.velocity]
        w = [e for b in bodies for e in k.angular_velocity(b)] + [ZERO] * (3 * len(modes))
        n = len(bodies) + len(modes)
        p = [*(e for b in bodies for e in k.position(b)), *(e for place in modes for e in place.position)]
        results = [
            Result("p", tuple(p), (n, 3)),
            Result("R", (*(e for b in bodies for e in k.rotation(b).entries), *(IDENTITY.entries * len(modes))), (n, 3, 3)),
            Result("v", tuple(v), (n, 3)), Result("w", tuple(w), (n, 3)),
            Result("vd", tuple(jvp(v, rates)), (n, 3)), Result("wd", tuple(jvp(w, rates)), (n, 3)),
        ]  # fmt: skip
        return assemble(eq, "bodies", "t q v a", results, optional="")

    def _transmitted(self) -> SymbolicFunction:
        """Force and torque on the child of every joint and the second frame of every closure, from x, ẋ, ẍ and λ."""
        eq = self.equations
        lam = multiplier_symbols(eq)
        wrenches = eq.transmitted({r.name: s for r, s in zip(eq.rows, lam, strict=True)})
        for rod in rods_with_mass(eq.model):
            force, torque = wrenches[rod.name]
            wrenches[rod.name] = (force - _rod_force(eq, rod, 1), torque)
        table = [[*f, *n] for f, n in wrenches.values()]
        inputs = assemble(eq, "transmitted", "t q v a", [], optional="").inputs
        named = [*inputs[:4], Argument("lam", lam, "constraint multipliers"), *inputs[4:]]
        return SymbolicFunction("transmitted", tuple(named), (matrix_result("wrench", table, 6),), title=eq.model.name)


def _mode_places(model: Model) -> list[BodyPose]:
    """The amplitudes of all modes, three by three as places of points, so that they are read with the bodies' places."""
    modes = [c for b in model.bodies.values() if isinstance(b, FlexibleBody) for c in b.modes]
    found = []
    for i in range(0, len(modes), 3):
        three = modes[i : i + 3]
        position, velocity = ([getattr(c, x)[0] for c in three] + [ZERO] * (3 - len(three)) for x in "qv")
        found.append(BodyPose(Vector(*position), IDENTITY, Vector(*velocity), NULL))
    return found


@builder
def bodies_motion_function(eq: Equations) -> SymbolicFunction:
    """p, R, v, ω of every body's origin with the Jacobian (6 rows for each body: v, then ω) and the bias J̇v, from q and v."""
    k = eq.kinematics
    bodies, modes = list(eq.model.bodies.values()), _mode_places(eq.model)
    n, nv = len(bodies) + len(modes), eq.tree.nv
    table: list[list[Expr]] = []
    bias: list[Expr] = []
    for body in bodies:
        translation, rotation = k.jacobian(body)
        table += [[c[i] for c in columns] for columns in (translation, rotation) for i in range(3)]
        bias += [*k.acceleration(body, acceleration=False), *k.angular_acceleration(body, acceleration=False)]
    for place in modes:
        table += [[ONE if s is e else ZERO for s in eq.v] for e in place.velocity] + [[ZERO] * nv for _ in range(3)]
        bias += [ZERO] * 6
    v = [*(e for b in bodies for e in k.velocity(b)), *(e for place in modes for e in place.velocity)]
    results = [
        Result("p", (*(e for b in bodies for e in k.position(b)), *(e for place in modes for e in place.position)), (n, 3)),
        Result("R", (*(e for b in bodies for e in k.rotation(b).entries), *(IDENTITY.entries * len(modes))), (n, 3, 3)),
        Result("v", tuple(v), (n, 3)),
        Result("w", (*(e for b in bodies for e in k.angular_velocity(b)), *([ZERO] * (3 * len(modes)))), (n, 3)),
        matrix_result("J", table, nv), vector_result("bias", bias),
    ]  # fmt: skip
    return assemble(eq, "bodies_motion", "t q v", results, optional="")


def joint_values(mixed: MixedCoordinates, motion: BodyMotion) -> tuple[list[float], list[float]]:
    """Numbers of the joint coordinates kept among x, and their rates."""
    x: list[float] = []
    xd: list[float] = []
    for c in mixed.coordinates:
        q, v = _values(c, motion.coordinates, c.names), _values(c, motion.rates, c.velocity_names)
        x += q
        if c.is_quaternion:
            e0, e, w = q[0], np.array(q[1:]), np.array(v)
            xd += [-0.5 * float(e @ w), *(0.5 * (e0 * w + np.cross(e, w))).tolist()]
        else:
            xd += v
    return x, xd


def _values(c: Coordinate, known: Mapping[str, float], names: tuple[str, ...]) -> list[float]:
    missing = [n for n in names if n not in known]
    if missing:
        raise InputError(f"the value of the joint coordinate '{missing[0]}' is needed to start from body poses")
    return [float(known[n]) for n in names]


def add_entry(mass: dict[tuple[int, int], Expr], i: int, j: int, e: Expr) -> None:
    """Adds to an entry of the mass matrix and to its mirror image."""
    if e is not ZERO:
        for key in {(i, j), (j, i)}:
            mass[key] = add(mass.get(key, ZERO), e)


def add_rods(equations: AbsoluteEquations, mass: dict[tuple[int, int], Expr], force: list[Expr]) -> None:
    """Exact inertia and weight of the rods that are distance equations: α r̈_a + β r̈_b at a, β r̈_a + α r̈_b at b."""
    k = equations.kinematics
    for rod in rods_with_mass(equations.model):
        assert rod.inertia is not None
        ends = [sparse_jacobian(list(k.velocity(frame)), equations.v) for frame in (rod.a, rod.b)]
        asked = [_rod_force(equations, rod, i, acceleration=False) for i in range(2)]
        weights = {(0, 0): rod.inertia.at_a, (0, 1): rod.inertia.coupling, (1, 0): rod.inertia.coupling, (1, 1): rod.inertia.at_b}
        for (e, other), weight in weights.items():
            for (i, j), d in ends[e].items():
                for (i2, j2), d2 in ends[other].items():
                    if i == i2:
                        mass[j, j2] = add(mass.get((j, j2), ZERO), mul(weight, mul(d, d2)))
        for end, needed in zip(ends, asked, strict=True):
            for (i, j), d in end.items():
                force[j] = sub(force[j], mul(d, needed[i]))


def _rod_force(eq: AbsoluteEquations, rod: Closure, end: int, acceleration: bool = True) -> Vector:
    """Force (world axes) that a rod's motion against gravity asks at one of its ends."""
    assert rod.inertia is not None
    a, b = (eq.kinematics.acceleration(f, acceleration=acceleration) - eq.model.gravity for f in (rod.a, rod.b))
    near, far = (rod.inertia.at_a, rod.inertia.at_b)[end], rod.inertia.coupling
    return a * near + b * far if end == 0 else a * far + b * near


def add_rotors(equations: AbsoluteEquations, mass: dict[tuple[int, int], Expr]) -> None:
    """Rotor inertias on the diagonal."""
    for i, e in equations.rotor_inertias.items():
        add_entry(mass, i, i, e)


__all__ = ["BodyMotion", "Descriptor", "add_entry", "add_rods", "add_rotors", "joint_values"]
