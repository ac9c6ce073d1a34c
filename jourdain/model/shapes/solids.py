"""Solids with closed-form mass properties: box, cylinder, tube, sphere, ellipsoid, capsule, cone and torus.

Volumes and second moments are those found in any handbook of mechanics; every dimension may be symbolic.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...errors import ModelError
from .base import ALONG, Solid, Triangulation, check_anchor, check_axis, check_not_negative, check_positive
from .mass import ORIGIN, MassProperties, Placement, Scalar, apply, diagonal, is_number
from .tessellation import arc, extrude, revolve


@dataclass(frozen=True)
class Box(Solid):
    """A box with edges along the axes."""

    kind: ClassVar[str] = "box"

    lx: Scalar
    ly: Scalar
    lz: Scalar
    anchor: str = field(default="centre", kw_only=True)

    def _check(self) -> None:
        for name in ("lx", "ly", "lz"):
            check_positive(self.kind, name, getattr(self, name))
        check_anchor(self.kind, self.anchor)

    def _symmetric_form(self) -> Placement:
        return Placement() if self.anchor == "centre" else Placement((self.lx / 2, 0.0, 0.0))

    def _symmetric_volume(self) -> MassProperties:
        volume = self.lx * self.ly * self.lz
        second = diagonal(*(volume * edge**2 / 12 for edge in (self.lx, self.ly, self.lz)))
        return MassProperties(volume, ORIGIN, second)

    def _dimensions(self) -> dict[str, Any]:
        return {"size": [self.lx, self.ly, self.lz]}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * [self.lx / 2, self.ly / 2]
        return extrude(corners, self.lz)

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        inside: np.ndarray = (np.abs(points) <= np.array([self.lx, self.ly, self.lz]) / 2).all(axis=1)
        return inside


@dataclass(frozen=True)
class Axial(Solid):
    """A solid along one of the axes, centred or starting at the origin."""

    axis: str = field(default="z", kw_only=True)
    anchor: str = field(default="centre", kw_only=True)

    def __post_init__(self, color: str | None) -> None:
        check_axis(self.kind, self.axis)
        check_anchor(self.kind, self.anchor)
        super().__post_init__(color)

    @abstractmethod
    def _extent(self) -> Scalar:
        """Return the length along the axis that the anchor refers to."""

    def _symmetric_form(self) -> Placement:
        rotation = ALONG[self.axis]
        start = ORIGIN if self.anchor == "centre" else (0.0, 0.0, self._extent() / 2)
        return Placement(apply(rotation, start), rotation)


@dataclass(frozen=True)
class Cylinder(Axial):
    """A right circular cylinder."""

    kind: ClassVar[str] = "cylinder"

    radius: Scalar
    length: Scalar

    def _check(self) -> None:
        check_positive(self.kind, "radius", self.radius)
        check_positive(self.kind, "length", self.length)

    def _extent(self) -> Scalar:
        return self.length

    def _symmetric_volume(self) -> MassProperties:
        volume = math.pi * self.radius**2 * self.length
        across = volume * self.radius**2 / 4
        return MassProperties(volume, ORIGIN, diagonal(across, across, volume * self.length**2 / 12))

    def _dimensions(self) -> dict[str, Any]:
        return {"radius": self.radius, "length": self.length}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        r, h = self.radius, self.length / 2
        return revolve(np.array([[0, -h], [r, -h], [r, h], [0, h]]), n)

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        rho = np.hypot(points[:, 0], points[:, 1])
        return (rho <= self.radius) & (np.abs(points[:, 2]) <= self.length / 2)


@dataclass(frozen=True)
class Tube(Axial):
    """A hollow right circular cylinder, open at both ends."""

    kind: ClassVar[str] = "tube"

    outer: Scalar
    inner: Scalar
    length: Scalar

    def _check(self) -> None:
        check_positive(self.kind, "outer", self.outer)
        check_positive(self.kind, "length", self.length)
        check_positive(self.kind, "inner", self.inner)
        if is_number(self.inner) and is_number(self.outer) and self.inner >= self.outer:
            raise ModelError(f"tube: inner = {self.inner} must be less than outer = {self.outer}; the first radius is the outer one")

    def _extent(self) -> Scalar:
        return self.length

    def _symmetric_volume(self) -> MassProperties:
        # (outer − inner)(outer + inner) instead of a difference of squares keeps thin walls accurate
        volume = math.pi * (self.outer - self.inner) * (self.outer + self.inner) * self.length
        across = volume * (self.outer**2 + self.inner**2) / 4
        return MassProperties(volume, ORIGIN, diagonal(across, across, volume * self.length**2 / 12))

    def _dimensions(self) -> dict[str, Any]:
        return {"outer": self.outer, "inner": self.inner, "length": self.length}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        h = self.length / 2
        return revolve(np.array([[self.inner, -h], [self.outer, -h], [self.outer, h], [self.inner, h]]), n)

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        rho = np.hypot(points[:, 0], points[:, 1])
        return (self.inner <= rho) & (rho <= self.outer) & (np.abs(points[:, 2]) <= self.length / 2)


@dataclass(frozen=True)
class Sphere(Solid):
    """A ball about the origin."""

    kind: ClassVar[str] = "sphere"

    radius: Scalar

    def _check(self) -> None:
        check_positive(self.kind, "radius", self.radius)

    def _symmetric_volume(self) -> MassProperties:
        volume = 4 * math.pi / 3 * self.radius**3
        second = volume * self.radius**2 / 5
        return MassProperties(volume, ORIGIN, diagonal(second, second, second))

    def _dimensions(self) -> dict[str, Any]:
        return {"radius": self.radius}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        profile = arc(self.radius, -math.pi / 2, math.pi / 2, (n + 1) // 2)
        profile[[0, -1], 0] = 0.0
        return revolve(profile, n)

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        inside: np.ndarray = np.linalg.norm(points, axis=1) <= self.radius
        return inside


@dataclass(frozen=True)
class Ellipsoid(Solid):
    """An ellipsoid about the origin with semi-axes along the axes."""

    kind: ClassVar[str] = "ellipsoid"

    a: Scalar
    b: Scalar
    c: Scalar

    def _check(self) -> None:
        for name in ("a", "b", "c"):
            check_positive(self.kind, name, getattr(self, name))

    def _symmetric_volume(self) -> MassProperties:
        volume = 4 * math.pi / 3 * self.a * self.b * self.c
        return MassProperties(volume, ORIGIN, diagonal(*(volume * axis**2 / 5 for axis in (self.a, self.b, self.c))))

    def _dimensions(self) -> dict[str, Any]:
        return {"a": self.a, "b": self.b, "c": self.c}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        vertices, faces = Sphere(1.0)._symmetric_triangulation(n)
        return vertices * np.array([self.a, self.b, self.c], float), faces

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        inside: np.ndarray = np.linalg.norm(points / np.array([self.a, self.b, self.c], float), axis=1) <= 1.0
        return inside


@dataclass(frozen=True)
class Capsule(Axial):
    """A cylinder with a half ball on either end; `length` is that of the cylinder alone."""

    kind: ClassVar[str] = "capsule"

    radius: Scalar
    length: Scalar

    def _check(self) -> None:
        check_positive(self.kind, "radius", self.radius)
        check_positive(self.kind, "length", self.length)

    def _extent(self) -> Scalar:
        return self.length

    def _symmetric_volume(self) -> MassProperties:
        r, length = self.radius, self.length
        cylinder = math.pi * r**2 * length
        ball = 4 * math.pi / 3 * r**3
        across = cylinder * r**2 / 4 + ball * r**2 / 5
        along = cylinder * length**2 / 12 + ball * (r**2 / 5 + 3 * r * length / 8 + length**2 / 4)
        return MassProperties(cylinder + ball, ORIGIN, diagonal(across, across, along))

    def _dimensions(self) -> dict[str, Any]:
        return {"radius": self.radius, "length": self.length}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        segments = (n + 3) // 4
        low = arc(self.radius, -math.pi / 2, 0.0, segments, (0.0, -self.length / 2))
        high = arc(self.radius, 0.0, math.pi / 2, segments, (0.0, self.length / 2))
        profile = np.concatenate([low, high])
        profile[[0, -1], 0] = 0.0
        return revolve(profile, n)

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        beyond = np.maximum(np.abs(points[:, 2]) - self.length / 2, 0.0)
        inside: np.ndarray = np.hypot(np.hypot(points[:, 0], points[:, 1]), beyond) <= self.radius
        return inside


@dataclass(frozen=True)
class Cone(Axial):
    """A right circular cone or frustum of radius r1 at its start and r2 at its end."""

    kind: ClassVar[str] = "cone"

    r1: Scalar
    r2: Scalar
    length: Scalar

    def _check(self) -> None:
        check_not_negative(self.kind, "r1", self.r1)
        check_not_negative(self.kind, "r2", self.r2)
        check_positive(self.kind, "length", self.length)
        if is_number(self.r1) and is_number(self.r2) and self.r1 == 0 == self.r2:
            raise ModelError("cone: r1 = r2 = 0 encloses no volume; give at least one end a radius")

    def _extent(self) -> Scalar:
        return self.length

    def _symmetric_volume(self) -> MassProperties:
        a, b, length = self.r1, self.r2, self.length
        square = a**2 + a * b + b**2
        volume = math.pi * length / 3 * square
        centre = length * (b - a) * (a + b) / (4 * square)
        across = math.pi * length / 20 * (a**4 + a**3 * b + a**2 * b**2 + a * b**3 + b**4)
        quartic = a**4 + 4 * a**3 * b + 10 * a**2 * b**2 + 4 * a * b**3 + b**4
        along = volume * length**2 * 3 * quartic / (80 * square**2)
        return MassProperties(volume, (0.0, 0.0, centre), diagonal(across, across, along))

    def _dimensions(self) -> dict[str, Any]:
        return {"r1": self.r1, "r2": self.r2, "length": self.length}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        h = self.length / 2
        profile = [[0, -h], [self.r1, -h], [self.r2, h], [0, h]]
        return revolve(np.array([p for k, p in enumerate(profile) if k in (0, 3) or p[0] > 0]), n)

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        fraction = points[:, 2] / self.length + 0.5
        limit = self.r1 + (self.r2 - self.r1) * fraction
        return (np.abs(points[:, 2]) <= self.length / 2) & (np.hypot(points[:, 0], points[:, 1]) <= limit)


@dataclass(frozen=True)
class Torus(Axial):
    """A ring of circular section about the axis, centred at the origin."""

    kind: ClassVar[str] = "torus"

    ring_radius: Scalar
    tube_radius: Scalar

    def _check(self) -> None:
        check_positive(self.kind, "ring_radius", self.ring_radius)
        check_positive(self.kind, "tube_radius", self.tube_radius)
        if is_number(self.ring_radius) and is_number(self.tube_radius) and self.tube_radius > self.ring_radius:
            raise ModelError(
                f"torus: tube_radius = {self.tube_radius} exceeds ring_radius = {self.ring_radius}, so the ring would "
                "cross itself; the first radius is that of the ring's centre line"
            )

    def _extent(self) -> Scalar:
        return 2 * self.tube_radius

    def _symmetric_volume(self) -> MassProperties:
        ring, tube = self.ring_radius, self.tube_radius
        volume = 2 * math.pi**2 * ring * tube**2
        across = volume * (ring**2 / 2 + 3 * tube**2 / 8)
        return MassProperties(volume, ORIGIN, diagonal(across, across, volume * tube**2 / 4))

    def _dimensions(self) -> dict[str, Any]:
        return {"ring_radius": self.ring_radius, "tube_radius": self.tube_radius}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        section = arc(self.tube_radius, 0.0, 2 * math.pi, n, (self.ring_radius, 0.0))[:-1]
        return revolve(section, n)

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        rho = np.hypot(points[:, 0], points[:, 1])
        inside: np.ndarray = np.hypot(rho - self.ring_radius, points[:, 2]) <= self.tube_radius
        return inside


def box(
    lx: Scalar, ly: Scalar, lz: Scalar, density: Scalar | None = None, *,
    anchor: str = "centre", colour: str | None = None, color: str | None = None,
) -> Box:  # fmt: skip
    """Return a box with edges lx, ly, lz (m) of a density (kg/m³), centred at the origin.

    With anchor="start" it begins at the origin and extends along +x, centred in y and z, as a link does.

    >>> plate = box(0.2, 0.1, 0.01, density=2700.0)
    >>> round(plate.mass, 12)
    0.54
    """
    return Box(lx, ly, lz, density=density, anchor=anchor, colour=colour, color=color)


def cylinder(
    radius: Scalar, length: Scalar, density: Scalar | None = None, axis: str = "z", *,
    anchor: str = "centre", colour: str | None = None, color: str | None = None,
) -> Cylinder:  # fmt: skip
    """Return a cylinder (m, kg/m³) along 'x', 'y' or 'z', centred; anchor="start" extends along +axis from 0.

    >>> round(cylinder(0.05, 0.3, 7850.0, axis="x").inertia[0][0], 6)
    0.02312
    """
    return Cylinder(radius, length, density=density, axis=axis, anchor=anchor, colour=colour, color=color)


def tube(
    outer: Scalar, inner: Scalar, length: Scalar, density: Scalar | None = None, axis: str = "z", *,
    anchor: str = "centre", colour: str | None = None, color: str | None = None,
) -> Tube:  # fmt: skip
    """Return a hollow cylinder of outer and inner radius (m, kg/m³) along an axis, centred; see `cylinder`."""
    return Tube(outer, inner, length, density=density, axis=axis, anchor=anchor, colour=colour, color=color)


def sphere(radius: Scalar, density: Scalar | None = None, *, colour: str | None = None, color: str | None = None) -> Sphere:
    """Return a ball of a radius (m) and density (kg/m³) about the origin."""
    return Sphere(radius, density=density, colour=colour, color=color)


def ellipsoid(a: Scalar, b: Scalar, c: Scalar, density: Scalar | None = None, *, colour: str | None = None) -> Ellipsoid:
    """Return an ellipsoid with semi-axes a, b, c (m) along the axes about the origin, of a density (kg/m³).

    >>> round(ellipsoid(0.1, 0.2, 0.3, density=1000.0).mass, 6)
    25.132741
    """
    return Ellipsoid(a, b, c, density=density, colour=colour)


def capsule(
    radius: Scalar, length: Scalar, density: Scalar | None = None, axis: str = "z", *,
    anchor: str = "centre", colour: str | None = None, color: str | None = None,
) -> Capsule:  # fmt: skip
    """Return a cylinder of a length (m) closed by half balls, so 2·radius longer over all (kg/m³).

    With anchor="start" the centre of the first half ball is at the origin, where a link has its joint.
    """
    return Capsule(radius, length, density=density, axis=axis, anchor=anchor, colour=colour, color=color)


def cone(
    r1: Scalar, r2: Scalar, length: Scalar, density: Scalar | None = None, axis: str = "z", *,
    anchor: str = "centre", colour: str | None = None, color: str | None = None,
) -> Cone:  # fmt: skip
    """Return a frustum of radius r1 at the start and r2 at the end of its axis (m, kg/m³); one may be zero.

    It is centred at half its length (not at its centre of mass); anchor="start" puts the r1 end at the origin.
    """
    return Cone(r1, r2, length, density=density, axis=axis, anchor=anchor, colour=colour, color=color)


def torus(
    ring_radius: Scalar, tube_radius: Scalar, density: Scalar | None = None, axis: str = "z", *,
    colour: str | None = None, color: str | None = None,
) -> Torus:  # fmt: skip
    """Return a ring: a circle of tube_radius swept about the axis at ring_radius (m, kg/m³)."""
    return Torus(ring_radius, tube_radius, density=density, axis=axis, colour=colour, color=color)
