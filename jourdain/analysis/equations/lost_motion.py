"""Places where coordinates are singular, as three angles about axes two of which have come to lie in one line.

There a motion of the coordinates moves no mass, and the force on them vanishes whatever acts on the bodies: forces that are zero at
such a place alone tell no equilibrium. Right beside it coordinates are sound; what the remaining forces f would accelerate, fᵀM⁻¹f,
tends to zero with the distance at an equilibrium, and to something else where the bodies accelerate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .balance import Balance, Place
from .residual import independent_basis, partition

#: An eigenvalue of the mass matrix with unit diagonal that counts as zero, and one that does not.
ZERO, SOUND = 1e-12, 1e-8
#: How far (rad or m) off the place coordinates are sound, and two distances at which the remaining forces are compared.
BESIDE, NEAR, FAR = 0.05, 1e-5, 1e-3
#: Directions in which it is gone aside.
TRIES = 2


@dataclass(frozen=True)
class LostMotion:
    """What coordinates cannot express at a place: those of the motion without mass, and whether the bodies are at rest all the same."""

    names: list[str]
    balanced: bool

    def __str__(self) -> str:
        together = " and ".join(f"'{n}'" for n in self.names)
        return f"the coordinates are singular at the position found: a motion of {together} moves no mass there, though it does nearby"


def lost_motion(balance: Balance, place: Place) -> LostMotion | None:
    """The motion without mass at a place, if there is mass in every motion beside it."""
    M, Z = _reduced(balance, place)
    values, vectors, size = _spectrum(M)
    zero = np.flatnonzero(values < ZERO)
    if not len(zero):
        return None
    directions = np.random.default_rng(3).uniform(-1.0, 1.0, (TRIES, len(balance.parts.position.independent)))
    beside = [_spectrum(_reduced(balance, _moved(balance, place, BESIDE * d))[0])[0] for d in directions]
    lost = [k for k in zero if max(b[k] for b in beside) > SOUND]
    if not lost:
        return None
    motion = np.abs(Z @ (vectors[:, lost[0]] / size))
    names = [n.removesuffix("_rate") for n, x in zip(balance.system.velocity_names, motion, strict=True) if x > 0.1 * motion.max()]
    accelerated = [[_acceleration(balance, _moved(balance, place, far * d)) for far in (NEAR, FAR)] for d in directions]
    return LostMotion(names, all(near <= 0.5 * far for near, far in accelerated))


def _moved(balance: Balance, place: Place, step: np.ndarray) -> Place:
    """The place with independent positions moved, loops closed again."""
    dq = np.zeros(balance.system.nv)
    dq[balance.parts.position.independent] = step
    return balance.completed(Place(place.point.with_values(q=balance.system.configuration.integrate(place.point.q, dq)), place.p))


def _reduced(balance: Balance, place: Place) -> tuple[np.ndarray, np.ndarray]:
    """ZᵀMZ and Z of the motions that constraints leave; forces are linear in accelerations, so that M needs no derivatives."""
    residual, point, n = balance.residual, place.point, balance.system.nv
    still = residual.values(point.with_values(a=np.zeros(n)))["r"]
    M = np.stack([residual.values(point.with_values(a=e))["r"] - still for e in np.eye(n)], axis=1) if n else np.zeros((0, 0))
    J = residual.jacobian(point)
    Z = independent_basis(J, partition(J, balance.parts.velocity.independent))
    return Z.T @ M @ Z, Z


def _spectrum(M: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues (from the least) and vectors of a mass matrix scaled to a unit diagonal, and the scale."""
    diagonal = np.diag(M)
    size = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(0.5 * (M + M.T) / np.outer(size, size))
    return values, vectors, size


def _acceleration(balance: Balance, place: Place) -> float:
    """√(fᵀM⁻¹f) of the remaining forces, which does not depend on the choice of coordinates."""
    M, Z = _reduced(balance, place)
    force = Z.T @ balance.residual.values(place.point)["r"]
    return float(np.sqrt(max(0.0, force @ np.linalg.lstsq(M, force, rcond=None)[0])))


__all__ = ["LostMotion", "lost_motion"]
