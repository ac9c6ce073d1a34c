"""Solids from a plane polygon: extruded along an axis or revolved about it, exact and symbolic.

Area integrals are taken over the outline by Green's theorem; along one straight edge every integrand is a polynomial,
whose integral is written out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ...errors import InputError, ModelError
from .base import ALONG, Solid, Triangulation, check_axis, check_finite, check_positive
from .mass import MassProperties, Matrix, Placement, Scalar, is_number, product, total
from .solids import Axial
from .tessellation import extrude, polygon_contains, polygon_defect, revolve, signed_area

Point2 = tuple[Scalar, Scalar]
Polygon = tuple[Point2, ...]


def as_polygon(kind: str, points: Sequence[Sequence[Scalar]]) -> Polygon:
    """Return points as a counter-clockwise polygon, checked where it is numeric."""
    polygon = tuple(_as_point(kind, index, point) for index, point in enumerate(points))
    if not _is_numeric(polygon):
        if len(polygon) < 3:
            raise ModelError(f"{kind}: outline: {len(polygon)} points do not enclose an area; give at least 3")
        return polygon
    corners = np.array(polygon, float).reshape(-1, 2)
    defect = polygon_defect(corners)
    if defect:
        raise ModelError(f"{kind}: outline: {defect}")
    return polygon if signed_area(corners) > 0 else polygon[::-1]


def _as_point(kind: str, index: int, point: Sequence[Scalar]) -> Point2:
    try:
        x, y = point
    except (TypeError, ValueError):
        raise InputError(f"{kind}: outline point {index} = {point!r} is not a pair of coordinates in m") from None
    check_finite(kind, f"outline point {index}, first coordinate", x)
    check_finite(kind, f"outline point {index}, second coordinate", y)
    return (float(x) if is_number(x) else x, float(y) if is_number(y) else y)


def _is_numeric(polygon: Polygon) -> bool:
    return all(is_number(x) and is_number(y) for x, y in polygon)


def _reject_clockwise(kind: str, polygon: Polygon, evaluate: Callable[[Any], float]) -> None:
    """Raise where a symbolic outline turns out clockwise, since its symbolic volume is then negative."""
    if _is_numeric(polygon):
        return
    numbers = [[float(c) if is_number(c) else float(evaluate(c)) for c in point] for point in polygon]
    if signed_area(np.array(numbers)) < 0:
        raise ModelError(f"{kind}: the symbolic outline runs clockwise with these numbers; reverse its points")


@dataclass(frozen=True)
class Prism(Axial):
    """A simple polygon extruded along an axis."""

    kind: ClassVar[str] = "prism"

    polygon: Polygon
    length: Scalar

    def _check(self) -> None:
        check_positive(self.kind, "length", self.length)
        object.__setattr__(self, "polygon", as_polygon(self.kind, self.polygon))

    def numeric(self, evaluate: Callable[[Any], float] = float) -> Self:
        """Return the prism with numbers in place of symbols; the outline must then run counter-clockwise."""
        _reject_clockwise(self.kind, self.polygon, evaluate)
        return super().numeric(evaluate)

    def _extent(self) -> Scalar:
        return self.length

    def _symmetric_volume(self) -> MassProperties:
        area, (cx, cy), (xx, xy, yy) = polygon_moments(self.polygon)
        volume = area * self.length
        xx, xy, yy = (product(entry, self.length) for entry in (xx, xy, yy))
        second: Matrix = ((xx, xy, 0.0), (xy, yy, 0.0), (0.0, 0.0, volume * self.length**2 / 12))
        return MassProperties(volume, (cx, cy, 0.0), second)

    def _dimensions(self) -> dict[str, Any]:
        return {"polygon": self.polygon, "length": self.length}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        return extrude(np.array(self.polygon, float), self.length)

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        within = np.abs(points[:, 2]) <= self.length / 2
        return within & polygon_contains(np.array(self.polygon, float), points[:, :2])


def polygon_moments(polygon: Polygon) -> tuple[Scalar, Point2, tuple[Scalar, Scalar, Scalar]]:
    """Return area, centroid and central second moments (∫x², ∫xy, ∫y²) of a polygon (fan of triangles).

    A triangle (0, a, b) of area A has ∫x xᵀ dA = A/12 (a aᵀ + b bᵀ + (a + b)(a + b)ᵀ).
    """
    x0, y0 = polygon[0]
    fan = [(total(x, product(-1, x0)), total(y, product(-1, y0))) for x, y in polygon[1:]]
    areas: list[Scalar] = []
    first_x: list[Scalar] = []
    first_y: list[Scalar] = []
    sxx: list[Scalar] = []
    sxy: list[Scalar] = []
    syy: list[Scalar] = []
    for (ax, ay), (bx, by) in itertools.pairwise(fan):
        area = total(product(ax, by), product(-1, product(ay, bx))) / 2
        x, y = total(ax, bx), total(ay, by)
        areas.append(area)
        first_x.append(product(area, x) / 3)
        first_y.append(product(area, y) / 3)
        sxx.append(product(area, total(product(ax, ax), product(bx, bx), product(x, x))) / 12)
        sxy.append(product(area, total(product(ax, ay), product(bx, by), product(x, y))) / 12)
        syy.append(product(area, total(product(ay, ay), product(by, by), product(y, y))) / 12)
    area = total(*areas)
    cx, cy = total(*first_x) / area, total(*first_y) / area
    central = (
        total(*sxx, -product(area, product(cx, cx))),
        total(*sxy, -product(area, product(cx, cy))),
        total(*syy, -product(area, product(cy, cy))),
    )
    return area, (total(x0, cx), total(y0, cy)), central


@dataclass(frozen=True)
class Revolved(Solid):
    """A simple polygon in the half plane r ≥ 0 revolved about an axis."""

    kind: ClassVar[str] = "revolved"

    profile: Polygon
    axis: str = "z"

    def _check(self) -> None:
        check_axis(self.kind, self.axis)
        profile = as_polygon(self.kind, self.profile)
        for index, (r, _) in enumerate(profile):
            if is_number(r) and r < 0:
                raise ModelError(f"revolved: outline point {index} has r = {r} < 0; the profile must lie on one side of the axis")
        object.__setattr__(self, "profile", profile)

    def numeric(self, evaluate: Callable[[Any], float] = float) -> Self:
        """Return the solid with numbers in place of symbols; the profile must then run counter-clockwise."""
        _reject_clockwise(self.kind, self.profile, evaluate)
        return super().numeric(evaluate)

    def _symmetric_form(self) -> Placement:
        return Placement(rotation=ALONG[self.axis])

    def _symmetric_volume(self) -> MassProperties:
        return revolved_moments(self.profile)

    def _dimensions(self) -> dict[str, Any]:
        return {"profile": self.profile}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        return revolve(np.array(self.profile, float), n)

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        meridian = np.column_stack([np.hypot(points[:, 0], points[:, 1]), points[:, 2]])
        return polygon_contains(np.array(self.profile, float), meridian)


def revolved_moments(profile: Polygon) -> MassProperties:
    """Return volume, centre and second moments of a polygon (r, z) revolved about z.

    By Green's theorem ∫ r z^k dA = ½ ∮ r² z^k dz and ∫ r³ dA = ¼ ∮ r⁴ dz; with 2π (Pappus) these are the integrals
    of 1, z, z² and r² over the solid.
    """
    base = profile[0][1]
    corners = [(r, total(z, product(-1, base))) for r, z in profile]
    volumes: list[Scalar] = []
    first: list[Scalar] = []
    along: list[Scalar] = []
    radial: list[Scalar] = []
    for (a, y), (b, z) in zip(corners, corners[1:] + corners[:1], strict=True):
        rise = total(z, product(-1, y))
        aa, ab, bb = product(a, a), product(a, b), product(b, b)
        volumes.append(product(rise, total(aa, ab, bb)) / 3)
        low, high = total(3 * aa, 2 * ab, bb), total(aa, 2 * ab, 3 * bb)
        first.append(product(rise, total(product(y, low), product(z, high))) / 12)
        squares = (
            product(product(y, y), total(6 * aa, 3 * ab, bb)),
            product(product(y, z), total(3 * aa, 4 * ab, 3 * bb)),
            product(product(z, z), total(aa, 3 * ab, 6 * bb)),
        )
        along.append(product(rise, total(*squares)) / 30)
        quartic = total(product(aa, aa), product(aa, ab), product(aa, bb), product(ab, bb), product(bb, bb))
        radial.append(product(rise, quartic) / 20)
    volume = math.pi * total(*volumes)
    centre = math.pi * total(*first) / volume
    across = math.pi * total(*radial)
    zz = math.pi * total(*along) - product(volume, product(centre, centre))
    second: Matrix = ((across, 0.0, 0.0), (0.0, across, 0.0), (0.0, 0.0, zz))
    return MassProperties(volume, (0.0, 0.0, total(base, centre)), second)


def prism(
    polygon: Sequence[Sequence[Scalar]], length: Scalar, density: Scalar | None = None, axis: str = "z", *,
    anchor: str = "centre", colour: str | None = None, color: str | None = None,
) -> Prism:  # fmt: skip
    """Return a simple polygon of (x, y) points (m) extruded along z by a length (m), centred in z (kg/m³).

    With axis="x" the polygon is given in (y, z), with axis="y" in (z, x); anchor="start" extrudes along +axis from 0.
    Numeric outlines may run either way; symbolic ones must run counter-clockwise.

    >>> wedge = prism([(0, 0), (0.3, 0), (0, 0.1)], 0.05, density=1000.0)
    >>> round(wedge.mass, 12)
    0.75
    """
    return Prism(tuple(polygon), length, density=density, axis=axis, anchor=anchor, colour=colour, color=color)  # type: ignore[arg-type]


def revolved(
    profile: Sequence[Sequence[Scalar]],
    density: Scalar | None = None,
    axis: str = "z",
    *,
    colour: str | None = None,
    color: str | None = None,
) -> Revolved:
    """Return a simple polygon of (r, z) points (m, r ≥ 0) revolved about the axis, z along it (kg/m³).

    Numeric profiles may run either way; symbolic ones must run counter-clockwise in the (r, z) plane.

    >>> piston = revolved([(0, 0), (0.04, 0), (0.04, 0.06), (0, 0.06)], density=2700.0)
    >>> round(piston.mass, 6)
    0.814301
    """
    return Revolved(tuple(profile), axis, density=density, colour=colour, color=color)  # type: ignore[arg-type]
