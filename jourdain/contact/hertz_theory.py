"""Hertz's stiffness of two surfaces that touch in a point (spec 05 eq. 8; Johnson, Contact Mechanics, ch. 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from scipy.optimize import brentq
from scipy.special import elliprd, elliprf

from ..errors import InputError

#: Smallest ratio A/B of curvatures that is still a contact in a point and not along a line.
SMALLEST_RATIO = 1e-12


class HasSurface(Protocol):
    """What Hertz's theory needs of a body: elastic constants, and the principal curvatures (1/m) where it is touched, convex positive."""

    @property
    def name(self) -> str: ...
    @property
    def E(self) -> float: ...
    @property
    def nu(self) -> float: ...
    @property
    def curvatures(self) -> tuple[float, float]: ...


@dataclass(frozen=True)
class Surface:
    """A place on an elastic body: Young's modulus (Pa), Poisson's ratio, principal curvatures 1/R (1/m; convex positive, flat 0)."""

    E: float
    nu: float
    curvatures: tuple[float, float] = (0.0, 0.0)
    name: str = "surface"


def _ratio(k: float) -> tuple[float, float, float]:
    """A/B, and D = (K − E)/m and K with m = 1 − k², by Carlson's integrals, which lose no digit at k = 1."""
    K = float(elliprf(0.0, k * k, 1.0))
    D = float(elliprd(0.0, k * k, 1.0)) / 3.0
    return k * k * D / (K - D), D, K


def curvature_factor(ratio: float) -> float:
    """q_k of A/B in (0, 1]: 1/π for equal curvatures, growing as the ellipse of contact becomes longer.

    With the axes' ratio k = b/a of the ellipse, B/A = (E/k² − K)/(K − E) (complete elliptic integrals of m = 1 − k²).

    >>> round(curvature_factor(0.4), 6)
    0.340717
    """
    if not SMALLEST_RATIO <= ratio <= 1.0:
        raise InputError(
            f"curvature_factor: A/B = {ratio:g} must be in (0, 1]; parallel cylinders touch along a line, for which there is no q_k"
        )
    if ratio == 1.0:
        return 1.0 / math.pi
    k = math.exp(brentq(lambda x: math.log(_ratio(math.exp(x))[0] / ratio), -16.0, 0.0, xtol=1e-14, rtol=1e-14))
    _, D, K = _ratio(k)
    return math.sqrt(k * D + (K - D) / k) * 0.5 * k / (k * K) ** 1.5


def relative_curvatures(a: HasSurface, b: HasSurface, angle: float = 0.0) -> tuple[float, float]:
    """A ≤ B (1/m): the gap of the undeformed surfaces is A x² + B y²; `angle` (rad) is between their first principal directions."""
    (p, q), (r, s) = a.curvatures, b.curvatures
    total = 0.5 * (p + q + r + s)
    difference = 0.5 * math.sqrt(max((p - q) ** 2 + (r - s) ** 2 + 2 * (p - q) * (r - s) * math.cos(2 * angle), 0.0))
    A, B = 0.5 * (total - difference), 0.5 * (total + difference)
    if not A > SMALLEST_RATIO * B > 0:
        raise InputError(
            f"contact of '{a.name}' and '{b.name}': the relative curvatures {A:g} and {B:g} 1/m do not make them touch in a point; "
            "round one of them, or give law=jd.contact.NormalForce(…)"
        )
    return A, B


def hertz_stiffness(a: HasSurface, b: HasSurface, angle: float = 0.0) -> float:
    """K (N/m^1.5) of F = K δ^{3/2} = 4π q_k / {3 [(1 − ν₁²)/E₁ + (1 − ν₂²)/E₂] √(A + B)} δ^{3/2} (eq. 8).

    >>> ball, flat = Surface(210e9, 0.3, (1 / 0.015, 1 / 0.015)), Surface(70.5e9, 0.33)
    >>> round(hertz_stiffness(ball, flat) / 1e9, 3)
    9.621
    """
    A, B = relative_curvatures(a, b, angle)
    compliance = (1 - a.nu**2) / a.E + (1 - b.nu**2) / b.E
    return 4 * math.pi * curvature_factor(min(A / B, 1.0)) / (3 * compliance * math.sqrt(A + B))
