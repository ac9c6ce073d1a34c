"""Gauss's principle of least constraint: the accelerations deviate as little as possible from those of the free bodies.

    Z = ½ Σ m |r̈ − f/m|² + ½ Σ (ω̇ − ω̇₀)·I (ω̇ − ω̇₀)  →  least, for all v̇ with J v̇ + γ = 0

A weighted least-squares problem; its normal equations are the equations of motion, its multipliers the constraint forces.  The closed
form of Udwadia and Kalaba, v̇ = a + M^(−1/2) (J M^(−1/2))⁺ (−γ − J a), holds for redundant constraints too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...symbolic.derivatives import gradient, jacobian
from ...symbolic.expr import HALF, ZERO, Expr, add, mul, sub
from ...symbolic.graph import evaluate, substitute
from .derivation import Derivation, balances, differences, speeds_step
from .free_bodies import FreeBody, Mechanics, combination, total
from .newton_euler_steps import acceleration_constraints
from .printing import Formula, Line, ModelNotation, Scaled, Step, equals, indexed
from .speeds import Speeds, velocity_names

Parts = tuple[Expr, Expr, Expr]


def gauss(mechanics: Mechanics, speeds: Speeds, notation: ModelNotation) -> Derivation:
    """The free accelerations, the constraint Z, and the conditions of its minimum."""
    m = mechanics
    inertia, weight, applied = (total(x) for x in zip(*(measure(b) for b in m.bodies), strict=True))
    rotor = total(mul(HALF, mul(n2J, mul(m.a[k], m.a[k]))) for k, n2J in m.rotors.items())
    inertia, applied = add(inertia, rotor), add(applied, combination(m.joint_forces, m.a))
    Z = sub(inertia, add(weight, applied))
    parts = [gradient(e, speeds.u_dot) for e in speeds.motion([inertia, weight, applied])]

    def steps() -> list[Step]:
        words = "At the minimum the derivatives of Z by the independent accelerations vanish."
        last = Step("Equations of motion", words, balances(speeds, *parts))
        return [_free_step(m), _measure_step(m, Z), *_constraints_step(m, speeds), *speeds_step(speeds), last]

    stated = gradient(Z, m.a) + acceleration_constraints(m, list(range(len(m.rows))))
    names = [f"{n}_dot" for n in velocity_names(m)]
    return Derivation("gauss", m, speeds, notation, steps, differences(*parts), stated, list(m.a), names, _LeastConstraint(len(m.a)))


def measure(body: FreeBody) -> Parts:
    """½ m r̈·r̈ + ½ ω̇·I ω̇ + ω̇·(ω × I ω), and r̈·weight, r̈·f + ω̇·τ: what of a body's Z depends on accelerations."""
    a, alpha, omega = body.acceleration, body.alpha, body.omega
    inertia = mul(HALF, add(mul(body.mass, a.dot(a)), alpha.dot(body.inertia @ alpha)))
    inertia = add(inertia, alpha.dot(omega.cross(body.inertia @ omega)))
    return inertia, a.dot(body.weight), add(a.dot(body.force), alpha.dot(body.own(body.torque)))


class _LeastConstraint:
    """Least squares in the metric of the mass: the shortest change of the free accelerations that meets the constraints."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        return least_constraint(A[: self.n], b[: self.n], A[self.n :], b[self.n :])


def least_constraint(M: np.ndarray, f: np.ndarray, J: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """v̇ that makes ½ v̇ᵀM v̇ − fᵀv̇ least under J v̇ = γ (Udwadia and Kalaba); J may have redundant rows.

    >>> least_constraint(np.eye(2), np.array([0.0, -9.81]), np.array([[1.0, 1.0], [2.0, 2.0]]), np.zeros(2)).round(3)
    array([ 4.905, -4.905])
    """
    values, vectors = np.linalg.eigh(M)
    root = vectors / np.sqrt(values) @ vectors.T
    free = root @ root @ f
    if not len(J):
        return free
    return np.asarray(free + root @ np.linalg.pinv(J @ root, rcond=1e-10) @ (gamma - J @ free))


def quadratic_program(derivation: Derivation, q: Any, v: Any, t: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """M, f, J, γ of Gauss's problem: minimise ½ v̇ᵀM v̇ − fᵀv̇ under J v̇ = γ, at a state."""
    m = derivation.mechanics
    values = derivation.values(q, v, t)
    inertia, weight, applied = (total(x) for x in zip(*(measure(b) for b in m.bodies), strict=True))
    Z = sub(inertia, total([weight, applied, combination(m.joint_forces, m.a)]))
    Z = add(Z, total(mul(HALF, mul(n2J, mul(m.a[k], m.a[k]))) for k, n2J in m.rotors.items()))
    slopes = gradient(Z, m.a)
    n = len(m.a)
    M = np.array([float(x) for row in jacobian(slopes, m.a) for x in evaluate(row, values)]).reshape(n, n)
    f = -np.array([float(x) for x in evaluate(substitute(slopes, dict.fromkeys(m.a, ZERO)), values)])
    J = np.array([float(x) for row in m.jacobian for x in evaluate(row, values)]).reshape(-1, n)
    gamma = -np.array([float(x) for x in evaluate(m.eq.constraint_accelerations, values)]) if m.rows else np.zeros(0)
    return M, f, J, gamma


# --- steps -----------------------------------------------------------------------------------------------------------


def _free_step(m: Mechanics) -> Step:
    lines = []
    for body in m.bodies:
        for x, a in zip("xyz", body.acceleration, strict=True):
            if a is not ZERO:
                lines.append(Line([indexed("r''", r"\ddot{r}", body.name, x)], [a]))
        for x, alpha in zip("xyz", body.alpha, strict=True):
            if alpha is not ZERO:
                lines.append(Line([indexed("ω'", r"\dot{\omega}", body.name, x)], [alpha]))
    words = (
        "Without joints every centre of mass would accelerate with f/m. The joints let it accelerate only in the following way (r'' in world axes, "
        "ω' in the body's own), with the accelerations of the coordinates free to choose; position and velocity are given."
    )
    return Step("Accelerations that the joints allow", words, lines)


def _measure_step(m: Mechanics, Z: Expr) -> Step:
    definition = Line(
        [Formula("Z", "Z")],
        [Formula("sum over bodies of m/2 |r'' - f/m|^2 + 1/2 (ω' - ω'_0)·I (ω' - ω'_0)",
                 r"\sum \tfrac{1}{2} m \left|\ddot{r} - f/m\right|^2"
                 r" + \tfrac{1}{2} (\dot{\omega} - \dot{\omega}_0) \cdot I (\dot{\omega} - \dot{\omega}_0)")],
    )  # fmt: skip
    quadratic = [e for row in jacobian(gradient(Z, m.a), m.a) for e in row]
    n = len(m.a)
    squares = [Scaled(mul(HALF, quadratic[i * n + i]), mul(m.a[i], m.a[i])) for i in range(n)]
    mixed = [
        Scaled(quadratic[i * n + j], mul(m.a[i], m.a[j])) for i in range(n) for j in range(i + 1, n) if quadratic[i * n + j] is not ZERO
    ]
    linear = [Scaled(s, a) for s, a in zip(substitute(gradient(Z, m.a), dict.fromkeys(m.a, ZERO)), m.a, strict=True)]
    words = (
        "Gauss's measure of the constraint: squared deviations from the free accelerations, weighted with the masses. Written out in the "
        "accelerations of the coordinates, without the part that does not depend on them:"
    )
    return Step("The measure of constraint", words, [definition, equals("Z", *squares, *mixed, *linear)])


def _constraints_step(m: Mechanics, speeds: Speeds) -> list[Step]:
    if not m.rows:
        return []
    lines = [Line([e], [ZERO], m.constraint_names[i]) for i, e in zip(speeds.rows, acceleration_constraints(m, speeds.rows), strict=True)]
    words = (
        "The constraints, differentiated until they hold accelerations: linear side conditions J v̇ + γ = 0. Least squares with side conditions "
        "is a quadratic program; here the conditions are solved for the dependent accelerations instead."
    )
    return [Step("Side conditions", words, lines)]


__all__ = ["gauss", "least_constraint", "quadratic_program"]
