"""Rigid bodies without rotations: position and directors as coordinates, a constant mass matrix, quadratic internal constraints.

Betsch & Steinmann (2001); Uhlar, chapter 4.1: q = (φ, d₁, d₂, d₃), x = φ + X₁d₁ + X₂d₂ + X₃d₃, M = ∫ρ (1, X)(1, X)ᵀ dV ⊗ I.
The directors are those of the body frame; they need not be principal axes, nor the origin the centre of mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..symbolic.expr import HALF, ONE, ZERO, Expr, add, constant, mul, neg
from ..symbolic.vectors import AXES, NULL, Vector
from .element import Element, Reduction, Symbols, Term


def euler_tensor(inertia: Any) -> np.ndarray:
    """∫ρ X Xᵀ dV = ½ tr(J) 1 − J of an inertia tensor J about the same point (kg m²)."""
    J = np.asarray(inertia, float)
    J = np.diag(J) if J.ndim == 1 else J
    return 0.5 * np.trace(J) * np.eye(3) - J


def _checked(mass: float, inertia: Any, com: Any, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Inertia tensor (or moment, in the plane) and centre of mass as arrays; raises what is wrong with them."""
    J, c = np.asarray(inertia, float), np.asarray(com, float)
    if dimension == 3 and J.shape == (3,):
        J = np.diag(J)
    if J.shape != ((3, 3) if dimension == 3 else ()) or c.shape != (dimension,):
        what = (
            "3 or 3 × 3 numbers of inertia and 3 of the centre of mass"
            if dimension == 3
            else "one moment of inertia and 2 numbers of the centre of mass"
        )
        raise ModelError(f"rigid body: inertia {J.tolist()} and centre of mass {c.tolist()} are not {what}")
    if not (np.isfinite(mass) and np.isfinite(J).all() and np.isfinite(c).all()):
        raise ModelError(f"rigid body: mass {mass:g}, inertia {J.tolist()} and centre of mass {c.tolist()} must be finite")
    if dimension == 3 and np.abs(J - J.T).max() > 1e-9 * np.abs(J).max():
        raise ModelError(f"rigid body: inertia {J.tolist()} is not symmetric; give both products of inertia with one sign")
    if mass < 0.0:
        raise ModelError(f"rigid body: mass {mass:g} kg is negative; give a positive number")
    second = euler_tensor(J) + mass * np.outer(c, c) if dimension == 3 else np.array([[float(J)]])
    if np.linalg.eigvalsh(second).min() < -1e-9 * max(1e-300, float(np.trace(second))):
        raise ModelError(f"rigid body: mass {mass:g} and inertia {np.asarray(inertia).tolist()} belong to no distribution of mass; "
                         "the largest principal moment must not exceed the sum of the others")  # fmt: skip
    return J, c


def _basis(q: Sequence[Expr]) -> list[list[Expr]]:
    """P of q̇ = P (v, ω) with the spatial angular velocity: φ̇ = v, ḋ = ω × d."""
    rows = [[ONE if i == j else ZERO for j in range(6)] for i in range(3)]
    for k in (1, 2, 3):
        d = Vector(*q[3 * k : 3 * k + 3])
        columns = [axis.cross(d) for axis in AXES]
        rows += [[ZERO, ZERO, ZERO] + [c[i] for c in columns] for i in range(3)]
    return rows


def _cayley(theta: Vector, d: Vector) -> Vector:
    """Rotation of d by the Cayley map of θ: I + θ̂ + O(θ²), orthogonal for any θ and free of transcendental functions."""
    half = theta * HALF
    factor = constant(2.0) / (ONE + half.dot(half))
    turned = half.cross(d)
    return d + (turned + half.cross(turned)) * factor


def _retract(q: Sequence[Expr], delta: Sequence[Expr]) -> list[Expr]:
    moved = Vector(*q[:3]) + Vector(*delta[:3])
    theta = Vector(*delta[3:])
    return [*moved, *(e for k in (1, 2, 3) for e in _cayley(theta, Vector(*q[3 * k : 3 * k + 3])))]


def _twist(q: Sequence[Expr], v: Sequence[Expr]) -> list[Expr]:
    """(φ̇, ω) with ω = ½ Σ d × ḋ, exact for rates that keep the directors orthonormal."""
    omega = NULL
    for k in (1, 2, 3):
        omega = omega + Vector(*q[3 * k : 3 * k + 3]).cross(Vector(*v[3 * k : 3 * k + 3]))
    return [*v[:3], *(omega * HALF)]


def _momenta(m: dict[tuple[int, int], Expr], x: Sequence[Vector], v: Sequence[Vector]) -> tuple[Vector, Vector]:
    """p₀ and Σ xₐ × pₐ with the momenta pₐ = Σ m_ab v_b of origin and directors."""
    momenta = [sum((v[b] * m[a, b] for b in range(1, len(v))), v[0] * m[a, 0]) for a in range(len(v))]
    return momenta[0], sum((x[a].cross(momenta[a]) for a in range(1, len(v))), x[0].cross(momenta[0]))


class DirectorBody(Element):
    """A rigid body with twelve coordinates: origin and three directors of the body frame.

    Constants: ``mass`` (kg), ``moment`` m·X_G (kg m, three), ``euler`` the six entries xx, yy, zz, xy, xz, yz of ∫ρ X Xᵀ dV (kg m²) about
    the origin; :meth:`numbers` makes them from mass, centre of mass and inertia.  ``gravity`` is the acceleration of free fall (m/s²).
    """

    blocks = {"body": 12}  # noqa: RUF012
    constants = {"mass": 1, "moment": 3, "euler": 6, "gravity": 3}  # noqa: RUF012
    reduction = Reduction("body", 6, _basis, _retract, _twist, ("d11", "d22", "d33", "d12", "d13", "d23"))

    @staticmethod
    def numbers(mass: float, inertia: Any, com: Any = (0.0, 0.0, 0.0), gravity: Any = (0.0, 0.0, 0.0)) -> dict[str, Any]:
        """Constants of an instance from the mass, the inertia about the centre of mass and the centre of mass, in body axes."""
        J, c = _checked(mass, inertia, com, 3)
        E = euler_tensor(J) + mass * np.outer(c, c)
        entries = [E[0, 0], E[1, 1], E[2, 2], E[0, 1], E[0, 2], E[1, 2]]
        return {"mass": mass, "moment": mass * c, "euler": entries, "gravity": np.asarray(gravity, float)}

    @staticmethod
    def coordinates_of(position: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> np.ndarray:
        """q from the position of the origin and the rotation matrix (columns are the directors)."""
        R, x = np.eye(3) if rotation is None else np.asarray(rotation, float), np.asarray(position, float)
        if R.shape != (3, 3) or x.shape != (3,):
            raise ModelError(f"rigid body: position {x.tolist()} and rotation {R.tolist()} must hold 3 and 3 × 3 numbers")
        if np.linalg.det(R) < 0.0:
            raise ModelError(f"rigid body: the directors {R.T.tolist()} are left-handed; turn one of them round")
        if not np.abs(R.T @ R - np.eye(3)).max() < 1e-6:
            raise ModelError(
                f"rigid body: the directors {R.T.tolist()} are not of length 1 and normal to each other; give a rotation matrix"
            )
        return np.concatenate([x, R.T.ravel()])

    @staticmethod
    def rates_of(q: Any, velocity: Any = (0.0, 0.0, 0.0), omega: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
        """q̇ from the velocity of the origin and the spatial angular velocity."""
        d, v, w = np.asarray(q, float)[3:].reshape(3, 3), np.asarray(velocity, float), np.asarray(omega, float)
        if v.shape != (3,) or w.shape != (3,):
            raise ModelError(f"rigid body: velocity {v.tolist()} and angular velocity {w.tolist()} must hold 3 numbers each")
        return np.concatenate([v, np.cross(w, d).ravel()])

    def _inertia(self, s: Symbols) -> dict[tuple[int, int], Expr]:
        """The 4 × 4 matrix of ∫ρ (1, X)(1, X)ᵀ dV."""
        xx, yy, zz, xy, xz, yz = s.euler
        upper = {(0, 0): s.mass, (1, 1): xx, (2, 2): yy, (3, 3): zz, (1, 2): xy, (1, 3): xz, (2, 3): yz}
        upper |= {(0, k + 1): s.moment[k] for k in range(3)}
        return upper | {(j, i): e for (i, j), e in upper.items()}

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        return {("body", 3 * a + i, "body", 3 * b + i): e for (a, b), e in self._inertia(s).items() for i in range(3)}

    def potential(self, s: Symbols) -> Sequence[Term]:
        """−g·(m φ + Σ m X_G d)."""
        weights = (s.mass, *s.moment)
        total = ZERO
        for k, m in enumerate(weights):
            total = add(total, mul(m, s.vector("gravity").dot(s.vector("body", k))))
        return (neg(total),)

    def constraints(self, s: Symbols) -> Sequence[tuple[str, Sequence[Term]]]:
        d = [s.vector("body", k) for k in (1, 2, 3)]
        pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        return [(f"d{a + 1}{b + 1}", [mul(HALF, d[a].dot(d[a]) - 1.0) if a == b else d[a].dot(d[b])]) for a, b in pairs]

    def momenta(self, s: Symbols) -> tuple[Vector, Vector]:
        return _momenta(self._inertia(s), [s.vector("body", a) for a in range(4)], [s.velocity.vector("body", a) for a in range(4)])


def _planar_basis(q: Sequence[Expr]) -> list[list[Expr]]:
    rows = [[ONE, ZERO, ZERO], [ZERO, ONE, ZERO]]
    for k in (1, 2):
        x, y = q[2 * k], q[2 * k + 1]
        rows += [[ZERO, ZERO, neg(y)], [ZERO, ZERO, x]]
    return rows


def _planar_retract(q: Sequence[Expr], delta: Sequence[Expr]) -> list[Expr]:
    """Turn by the planar Cayley map: cos = (1 − τ²)/(1 + τ²), sin = 2τ/(1 + τ²), τ = δ/2; increments without cancellation."""
    tau = mul(HALF, delta[2])
    c, s = (constant(-2.0) * tau * tau) / (ONE + tau * tau), delta[2] / (ONE + tau * tau)
    moved = [add(q[0], delta[0]), add(q[1], delta[1])]
    for k in (1, 2):
        x, y = q[2 * k], q[2 * k + 1]
        moved += [x + (c * x - s * y), y + (s * x + c * y)]
    return moved


def _planar_twist(q: Sequence[Expr], v: Sequence[Expr]) -> list[Expr]:
    omega = ZERO
    for k in (1, 2):
        omega = omega + (q[2 * k] * v[2 * k + 1] - q[2 * k + 1] * v[2 * k])
    return [v[0], v[1], mul(HALF, omega)]


class PlanarBody(Element):
    """A rigid body in the plane with six coordinates: origin and two directors.

    Constants: ``mass`` (kg), ``moment`` m·X_G (kg m, two), ``euler`` xx, yy, xy of ∫ρ X Xᵀ dV (kg m²) about the origin, ``gravity`` (m/s²).
    """

    blocks = {"body": 6}  # noqa: RUF012
    constants = {"mass": 1, "moment": 2, "euler": 3, "gravity": 2}  # noqa: RUF012
    reduction = Reduction("body", 3, _planar_basis, _planar_retract, _planar_twist, ("d11", "d22", "d12"))

    @staticmethod
    def numbers(mass: float, inertia: float, com: Any = (0.0, 0.0), gravity: Any = (0.0, 0.0)) -> dict[str, Any]:
        """Constants from the mass, the moment of inertia about the centre of mass and the centre of mass in body axes."""
        _, c = _checked(mass, inertia, com, 2)
        E = 0.5 * inertia * np.eye(2) + mass * np.outer(c, c)
        return {"mass": mass, "moment": mass * c, "euler": [E[0, 0], E[1, 1], E[0, 1]], "gravity": np.asarray(gravity, float)}

    @staticmethod
    def coordinates_of(position: Any = (0.0, 0.0), angle: float = 0.0) -> np.ndarray:
        """q from position and angle (rad)."""
        c, s = np.cos(angle), np.sin(angle)
        return np.array([*np.asarray(position, float), c, s, -s, c])

    @staticmethod
    def rates_of(q: Any, velocity: Any = (0.0, 0.0), omega: float = 0.0) -> np.ndarray:
        """q̇ from the velocity of the origin and the angular velocity (rad/s)."""
        q = np.asarray(q, float)
        return np.array([*np.asarray(velocity, float), -omega * q[3], omega * q[2], -omega * q[5], omega * q[4]])

    def _inertia(self, s: Symbols) -> dict[tuple[int, int], Expr]:
        xx, yy, xy = s.euler
        upper = {(0, 0): s.mass, (0, 1): s.moment[0], (0, 2): s.moment[1], (1, 1): xx, (2, 2): yy, (1, 2): xy}
        return upper | {(j, i): e for (i, j), e in upper.items()}

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        return {("body", 2 * a + i, "body", 2 * b + i): e for (a, b), e in self._inertia(s).items() for i in range(2)}

    def potential(self, s: Symbols) -> Sequence[Term]:
        total = ZERO
        for k, m in enumerate((s.mass, *s.moment)):
            total = add(total, mul(m, s.pair("gravity").dot(s.pair("body", k))))
        return (neg(total),)

    def constraints(self, s: Symbols) -> Sequence[tuple[str, Sequence[Term]]]:
        d1, d2 = s.pair("body", 1), s.pair("body", 2)
        return [("d11", [HALF * (d1.dot(d1) - 1.0)]), ("d22", [HALF * (d2.dot(d2) - 1.0)]), ("d12", [d1.dot(d2)])]

    def momenta(self, s: Symbols) -> tuple[Vector, Vector]:
        return _momenta(self._inertia(s), [s.pair("body", a) for a in range(3)], [s.velocity.pair("body", a) for a in range(3)])
