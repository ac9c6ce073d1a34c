"""Mass properties of MJCF's primitive geoms, solid or thin shells."""

from __future__ import annotations

import numpy as np


def solid_inertia(kind: str, s: np.ndarray) -> tuple[float, np.ndarray]:
    """Volume, and inertia about the centre for mass 1; sizes are radii and half lengths."""
    if kind == "sphere":
        return 4 / 3 * np.pi * s[0] ** 3, np.diag([0.4 * s[0] ** 2] * 3)
    if kind == "box":
        x, y, z = s**2
        return 8 * float(np.prod(s)), np.diag([y + z, x + z, x + y]) / 3
    if kind == "ellipsoid":
        x, y, z = s**2
        return 4 / 3 * np.pi * float(np.prod(s)), np.diag([y + z, x + z, x + y]) / 5
    r, length = s[0], 2 * s[1]
    if kind == "cylinder":
        across = r**2 / 4 + length**2 / 12
        return np.pi * r**2 * length, np.diag([across, across, r**2 / 2])
    tube, balls = np.pi * r**2 * length, 4 / 3 * np.pi * r**3
    volume = tube + balls
    across = tube * (r**2 / 4 + length**2 / 12) + balls * (2 * r**2 / 5 + length**2 / 4 + 3 * length * r / 8)
    along = tube * r**2 / 2 + balls * 2 * r**2 / 5
    return volume, np.diag([across, across, along]) / volume


def shell_inertia(kind: str, s: np.ndarray) -> tuple[float, np.ndarray]:
    """Area, and inertia about the centre for mass 1 of a thin shell; sizes are radii and half lengths.

    An ellipsoid has the area of Knud Thomsen's approximation and the mass of a layer between two ellipsoids, as in MuJoCo.
    """
    if kind == "sphere":
        return 4 * np.pi * s[0] ** 2, np.diag([2 / 3 * s[0] ** 2] * 3)
    if kind == "box":
        sides = 8 * np.array([s[1] * s[2], s[0] * s[2], s[0] * s[1]])  # both faces across an axis
        second = s**2 * (sides.sum() + 2 * sides) / 3  # ∫x²: x = s on the faces across x, a third of that on the others
        return float(sides.sum()), np.diag(second.sum() - second) / sides.sum()
    if kind == "ellipsoid":
        p = 1.6075
        x, y, z = s
        area = 4 * np.pi * (((x * y) ** p + (y * z) ** p + (z * x) ** p) / 3) ** (1 / p)
        growth = (1 / s).sum()  # of the volume by thickness
        second = s**2 * (growth + 2 / s) / (5 * growth)
        return float(area), np.diag(second.sum() - second)
    r, length = s[0], 2 * s[1]
    tube, ends = 2 * np.pi * r * length, 2 * np.pi * r**2
    if kind == "cylinder":
        area = tube + ends
        along = tube * r**2 + ends * r**2 / 2
        across = tube * (r**2 / 2 + length**2 / 12) + ends * (r**2 / 4 + length**2 / 4)
        return area, np.diag([across, across, along]) / area
    area = tube + 2 * ends
    along = tube * r**2 + 2 * ends * 2 * r**2 / 3
    across = tube * (r**2 / 2 + length**2 / 12) + 2 * ends * (2 * r**2 / 3 + length**2 / 4 + length * r / 2)
    return area, np.diag([across, across, along]) / area


__all__ = ["shell_inertia", "solid_inertia"]
