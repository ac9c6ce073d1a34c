"""Slender beams whose sections turn and move exactly as their curvatures say, however far: R′ = R κ̃, x′ = R k.

Curvatures κ and shear k − e_x stay linear in the amplitudes e, so that the elastic energy is a quadratic form; places are not.  Rotations are found at
Gauss points along the beam, its *stations*.  Where it bends in one plane they are turns about one axis by angles linear in e; else each interval
between stations turns by Magnus' series to sixth order (Blanes, Casas and Ros 2000), as a Cayley transform, which is a rotation whatever its vector.  Tangents are
interpolated between stations, so that x = ∫ R k is a sum of them, and the kinetic energy, a sum over *fields* linear in the stations' tangents and
axes, is that of this motion without anything left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.polynomial import Legendre
from numpy.polynomial.legendre import leggauss

from .parts.dofs import Array, skew

#: Terms of tan(½φ)/½φ in φ²: angles between stations are below a radian.
TANGENT = (1.0, 1.0 / 12.0, 1.0 / 120.0, 17.0 / 20160.0)
#: Numbers of stations that are tried, and the part of the mass matrix by which the next ones may differ.
COUNTS, SETTLED = (6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40), 1e-7


@dataclass(frozen=True, eq=False)
class Reach:
    """How the section at a place follows the amplitudes: by which station it comes, and the numbers of what lies between."""

    before: int  #: the station before it, −1 for the base
    angle: Array  #: (3, m) ∫κ from the base
    moments: Array  #: (4, 3, m) of the curvature since the station before: its integral, its value at the middle, its slope and its bend times the length
    shear: Array  #: (3, m) of k = e_x + shear e
    weights: Array  #: (stations,) of the tangents in x = ∫ R k


class Functions(Protocol):
    """What the amplitudes do to a beam: displacements and small turns ∫κ, curvatures κ and shear k − e_x, (points, 3, m) each."""

    @property
    def length(self) -> float: ...
    def first(self, X: Array) -> tuple[Array, Array]: ...
    def curvatures(self, X: Array) -> Array: ...
    def shears(self, X: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class Line:
    """The axis of a beam with its stations."""

    functions: Functions
    X: Array  #: (stations,)

    @property
    def length(self) -> float:
        """Of the beam."""
        return self.functions.length

    def reach(self, x: float) -> Reach:
        """The section at a place."""
        before = int(np.searchsorted(self.X, x)) - 1
        a = float(self.X[before]) if before >= 0 else 0.0
        h, here = x - a, np.array([x])
        left, middle, right = h * self.functions.curvatures(a + h * (0.5 + np.sqrt(0.15) * np.array([-1.0, 0.0, 1.0])))
        turns = self.functions.first(np.array([a, x]))[1]
        moments = np.array([turns[1] - turns[0], middle, np.sqrt(15.0) / 3.0 * (right - left), 10.0 / 3.0 * (right - 2.0 * middle + left)])
        return Reach(before, turns[1], moments, self.functions.shears(here)[0], self.weights(here)[0])

    def weights(self, x: Array) -> Array:
        """∫₀ˣ of the cardinal functions of the stations, (points, stations)."""
        at = 2.0 * x / self.length - 1.0
        integrals = np.column_stack([Legendre.basis(k).integ(lbnd=-1)(at) for k in range(len(self.X))])
        return np.asarray(0.5 * self.length * integrals @ self._coefficients)

    def cardinals(self, x: Array) -> Array:
        """The polynomials that are one at a station and zero at the others, (points, stations)."""
        return np.asarray(np.polynomial.legendre.legvander(2.0 * x / self.length - 1.0, len(self.X) - 1) @ self._coefficients)

    @cached_property
    def _coefficients(self) -> Array:
        """Of the cardinal functions in Legendre's polynomials."""
        return np.asarray(np.linalg.inv(np.polynomial.legendre.legvander(2.0 * self.X / self.length - 1.0, len(self.X) - 1)))


@dataclass(frozen=True, eq=False)
class ExactFields:
    """The stations of a beam and its mass: the kinetic energy of (v, ω, ė) is ½ Σ |c_k v + ω × ρ_k + ρ̇_k|² with ρ_k linear in tangents and axes."""

    line: Line
    stations: tuple[Reach, ...]
    gram: Array  #: of 1 and the stations' weights over the mass, (1 + stations, 1 + stations)
    across: Array  #: (stations, 2) square roots of the second moments of mass of sections along y and z

    @cached_property
    def axis(self) -> int | None:
        """The axis about which all sections turn, where it is one."""
        turns = [a for a in range(3) if any(np.any(r.angle[a]) for r in self.stations)] or [0]
        return turns[0] if len(turns) == 1 else None

    def tangents(self) -> tuple[Array, Array]:
        """c (k,) and the factors (k, stations) of fields of tangents that are orthonormal in the mass, the constant one first."""
        m, a = self.gram[0, 0], self.gram[0, 1:]
        L = np.linalg.cholesky(self.gram[1:, 1:] - np.outer(a, a) / m)
        return np.concatenate([[np.sqrt(m)], np.zeros(len(a))]), np.vstack([a / np.sqrt(m), L.T])

    def with_mass(self, X: Array, w: Array) -> ExactFields:
        """With masses w at places on the axis more."""
        return replace(self, gram=self.gram + _gram(self.line, X, w))

    # -- numbers at amplitudes --------------------------------------------------------------------------------------

    def turned(self, e: Array) -> list[tuple[Array, Array]]:
        """R (3, 3) and ∂R/∂e as turns (3, m) of the stations."""
        found: list[tuple[Array, Array]] = []
        for reach in self.stations:
            found.append(self.turn(reach, e, found))
        return found

    def rotations(self, e: Array) -> Array:
        """R (stations, t, 3, 3) alone, at many amplitudes (t, m)."""
        found: list[Array] = []
        for reach in self.stations:
            if self.axis is not None:
                phi = (e @ reach.angle[self.axis])[:, None, None]
                K = skew(np.eye(3)[self.axis])
                found.append(np.eye(3) + np.sin(phi) * K + (1.0 - np.cos(phi)) * K @ K)
                continue
            total, a, b, c = np.einsum("kam,tm->kta", reach.moments, e)
            omega = magnus(total, a, b, c, np.cross, lambda *terms: sum(f * x for f, x in terms))
            s = np.sum(omega**2, axis=1)
            c = 0.5 * sum(t * s**k for k, t in enumerate(TANGENT))[:, None] * omega
            C = np.cross(c[:, None], np.eye(3)[None]).swapaxes(1, 2)  # columns c × e_k
            turn = np.eye(3) + (2.0 / (1.0 + np.sum(c**2, axis=1)))[:, None, None] * (C + C @ C)
            found.append(found[reach.before] @ turn if reach.before >= 0 else turn)
        return np.array(found)

    def turn(self, reach: Reach, e: Array, stations: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        """R and its turns at a place, from those of the station before it."""
        axis = self.axis
        if axis is not None:
            unit, phi = np.eye(3)[axis], float(reach.angle[axis] @ e)
            K = skew(unit)
            return np.eye(3) + np.sin(phi) * K + (1.0 - np.cos(phi)) * K @ K, reach.angle
        R, w = stations[reach.before] if reach.before >= 0 else (np.eye(3), np.zeros((3, len(e))))
        omega, slope = magnus(*((a @ e, a) for a in reach.moments))
        s = float(omega @ omega)
        f = sum(t * s**k for k, t in enumerate(TANGENT))
        df = sum(k * t * s ** (k - 1) for k, t in enumerate(TANGENT) if k)
        c, by = 0.5 * f * omega, 0.5 * (f * slope + 2.0 * df * np.outer(omega, omega @ slope))
        C, scale = skew(c), 2.0 / (1.0 + c @ c)
        return R @ (np.eye(3) + scale * (C + C @ C)), w + R @ (scale * (by + C @ by))

    def place(self, reach: Reach, e: Array, stations: list[tuple[Array, Array]] | None = None) -> tuple[Array, Array, Array, Array]:
        """x (3,), R (3, 3) and their changes (3, m), (3, m) at a place; ``stations`` are :meth:`turned` where they are known."""
        stations = self.turned(e) if stations is None else stations
        R, w = self.turn(reach, e, stations)
        t, by = self.tangents_at(e, stations)
        return reach.weights @ t, R, np.einsum("q,qai->ai", reach.weights, by), w

    def tangents_at(self, e: Array, stations: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Tangents (stations, 3) and their slopes (stations, 3, m)."""
        t, by = [], []
        for reach, (R, w) in zip(self.stations, stations, strict=True):
            tangent = R @ (np.array([1.0, 0.0, 0.0]) + reach.shear @ e)
            t.append(tangent)
            by.append(-skew(tangent) @ w + R @ reach.shear)
        return np.array(t), np.array(by)

    def mass_matrix(self, e: Array) -> Array:
        """M(e) of (v, ω, ė)."""
        stations = self.turned(e)
        t, by = self.tangents_at(e, stations)
        c, A = self.tangents()
        rho, slopes = list(A @ t), list(np.einsum("kq,qai->kai", A, by))
        constants = list(c)
        for (R, w), sizes in zip(stations, self.across, strict=True):
            for k, size in zip((1, 2), sizes, strict=True):
                rho.append(size * R[:, k])
                slopes.append(-skew(size * R[:, k]) @ w)
                constants.append(0.0)
        rows = np.concatenate([np.hstack([c * np.eye(3), -skew(r), d]) for c, r, d in zip(constants, rho, slopes, strict=True)])
        return np.asarray(rows.T @ rows)


Dual = tuple[Array, Array]  # a vector (3,) and its slopes (3, m)


def magnus(total: Any, a: Any, b: Any, c: Any, cross: Any = None, combined: Any = None) -> Any:
    """The rotation vector of an interval, R(h) = exp Ω̃ of R′ = R κ̃, from the moments of its curvature: with brackets as cross products
    Ω = ∫κ + (20a + c + [a, b]) × (b + ([a, b] − 2c) × a/60)/240; of vectors with their slopes, or by the given product and sum."""
    cross, combined = cross or _cross, combined or _sum
    ab = cross(a, b)
    inner = cross(combined((1.0, ab), (-2.0, c)), a)
    outer = cross(combined((20.0, a), (1.0, c), (1.0, ab)), combined((1.0, b), (1.0 / 60.0, inner)))
    return combined((1.0, total), (1.0 / 240.0, outer))


def _cross(a: Dual, b: Dual) -> Dual:
    return np.cross(a[0], b[0]), np.cross(a[1], b[0][:, None], axis=0) + np.cross(a[0][:, None], b[1], axis=0)


def _sum(*terms: tuple[float, Dual]) -> Dual:
    return sum(f * x for f, (x, _) in terms), sum(f * y for f, (_, y) in terms)  # type: ignore[return-value]


def exact_fields(functions: Functions, per_length: float, across: tuple[float, float], count: int | None = None) -> ExactFields:
    """The fields of a beam of mass ``per_length`` (kg/m) with second moments of mass ``across`` (kg m) of its sections along y and z.

    Without a ``count`` there are as many stations as it takes until more do not change the mass matrix, undeformed and where the tip has turned by about a
    radian.
    """
    length = functions.length

    def made(n: int) -> ExactFields:
        nodes, w = leggauss(n)
        line = Line(functions, 0.5 * length * (nodes + 1.0))
        mass, dX = leggauss(n + 1)  # exact for products of the interpolated places
        gram = _gram(line, 0.5 * length * (mass + 1.0), 0.5 * length * per_length * dX)
        weights = 0.5 * length * w
        return ExactFields(line, tuple(line.reach(float(x)) for x in line.X), gram, np.sqrt(weights[:, None] * np.array(across)))

    if count is not None:
        return made(count)
    slope = functions.first(np.array([length]))[1][0]
    m = slope.shape[1]
    size = np.maximum(np.linalg.norm(slope, axis=0), max(float(np.linalg.norm(slope)), 1.0 / length) * 1e-3)
    bent = [np.zeros(m), np.array([1.0, -0.7, 0.5, 0.8, -0.6])[np.arange(m) % 5] / size / m]
    before: Any = None
    for n in COUNTS:
        found = made(n)
        matrices = [found.mass_matrix(e) for e in bent]
        if before is not None and all(np.abs(a - b).max() <= SETTLED * np.abs(a).max() for a, b in zip(matrices, before[1], strict=True)):
            return before[0]  # type: ignore[no-any-return]
        before = (found, matrices)
    return found


def rotation_vector(R: Array) -> Array:
    """Axis times angle of a rotation."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(R).as_rotvec())


def _gram(line: Line, X: Array, w: Array) -> Array:
    W = np.column_stack([np.ones(len(X)), line.weights(X)])
    return np.asarray(W.T @ (w[:, None] * W))


__all__ = ["ExactFields", "Line", "Reach", "exact_fields", "rotation_vector"]
