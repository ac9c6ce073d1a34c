"""Piezoelectric patches on beams: where they move which mode, and what their own stiffness and mass do (Martins et al., eqs. 54–59)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh

from ...errors import InputError
from ..exact import ExactFields
from ..gauges import end_section
from ..second_order import Fields, fields_of_points, integrals
from .dofs import Array

if TYPE_CHECKING:
    from ..reduced import ReducedStructure

#: Points of Gauss' rule on a patch, where products of high modes are integrated, and on a short piece of a beam.
MANY, FEW = 40, 6
#: Fields of a reduced structure that are sums over its mass.
SUMS = ("mass", "s0", "s1", "J0", "J1", "J2", "D0", "D1", "M_ee", "s2", "M1")


@dataclass(frozen=True)
class Patch:
    """A patch on a beam, or a pair on opposite faces, in plane stress: span along the beam (m), face, sizes (m), E (Pa), density (kg/m³)."""

    span: tuple[float, float]
    face: str = "y"
    thickness: float = 0.5e-3
    width: float | None = None
    E: float = 6.3e10
    nu: float = 0.3
    density: float = 7800.0
    pair: bool = False


@dataclass(frozen=True)
class Authority:
    """What a unit moment of a patch does to the natural modes of a held beam, over the place of its first end.

    ``values`` (places, modes) are generalised forces of modes with unit modal mass, 1/(m √kg) for each N m: the turning of the section at its
    last end less that at its first.
    """

    places: Array
    length: float
    frequencies: Array
    values: Array

    def best(self, mode: int) -> tuple[float, float]:
        """The span on which a patch moves a mode (counted from 1) most."""
        if not 1 <= mode <= self.values.shape[1]:
            raise InputError(f"authority: mode {mode} is not among the {self.values.shape[1]} there are, counted from 1")
        start = float(self.places[np.argmax(np.abs(self.values[:, mode - 1]))])
        return start, start + self.length


def piezo_authority(body: ReducedStructure, length: float, face: str = "y", places: int = 101) -> Authority:
    """The authority of a patch of a length (m) over the modes of a beam that is held at its frame (tangent frames), for each place of it."""
    total = _length(body)
    if not 0.0 < length < total:
        raise InputError(f"{body.name}: a patch of {length:g} m does not fit the beam of {total:g} m; give 0 < length < {total:g}")
    axis, starts = _axis(face, body.name), np.linspace(0.0, total - length, places)
    cuts = np.unique(np.concatenate([starts, starts + length, body.part.nodes[:, 0]]))  # curvatures of elements have kinks at nodes
    slopes = np.vstack([np.zeros(body.modes), np.cumsum([_turning(body, a, b, axis) for a, b in pairwise(cuts)], axis=0)])
    between = slopes[np.searchsorted(cuts, starts + length)] - slopes[np.searchsorted(cuts, starts)]
    values, shapes = eigh(body.stiffness, body.M_ee)
    return Authority(starts, float(length), np.sqrt(np.maximum(values, 0.0)) / (2.0 * np.pi), between @ shapes)


def with_patches(body: ReducedStructure, patches: Sequence[Patch]) -> ReducedStructure:
    """A Ritz beam with the stiffness E/(1 − ν²) ∫ y² dA κκᵀ of patches, and with their mass on its axis."""
    if not hasattr(body, "field") or body.field is None:
        raise InputError(
            f"{body.name}: it is not a beam by Ritz functions; give a beam of finite elements other sections where patches are"
        )
    section, K = end_section(body.part), body.stiffness.copy()
    sums: dict[str, Any] = {name: getattr(body, name) for name in SUMS}
    fields = body.fields
    for patch in patches:
        a, b = patch.span
        if not 0.0 <= a < b <= _length(body) * (1 + 1e-12):
            raise InputError(f"{body.name}: a patch from {a:g} to {b:g} m is not within the beam of {_length(body):g} m")
        axis, across = _axis(patch.face, body.name), "y" in patch.face
        half, wide = (section.half_y, section.half_z) if across else (section.half_z, section.half_y)
        width, t = (2.0 * wide if patch.width is None else patch.width), patch.thickness
        count = 2 if patch.pair else 1
        EI = count * patch.E / (1.0 - patch.nu**2) * width * t * ((half + 0.5 * t) ** 2 + t**2 / 12.0)
        X, dX = _rule(a, b, MANY)
        kappa = np.array([body.curvature(x, axis) for x in X])
        K += EI * np.einsum("p,pi,pj->ij", dX, kappa, kappa)
        found = _mass(body, X, count * patch.density * width * t * dX)
        more = found.pop("fields", None)
        sums = {name: old if old is None or found[name] is None else old + found[name] for name, old in sums.items()}
        if isinstance(fields, ExactFields):
            fields = fields.with_mass(X, count * patch.density * width * t * dX)
        elif fields is not None and more is not None:
            fields = fields.joined(more)
    recipe = getattr(body, "recipe", None)
    kept = None if recipe is None else {**recipe, "patches": [*recipe.get("patches", ()), *patches]}
    return replace(body, stiffness=K, **sums, fields=fields, recipe=kept)  # type: ignore[call-arg]


def _mass(body: ReducedStructure, X: Array, w: Array) -> dict[str, Any]:
    """Integrals of mass on the axis; those that the beam leaves out stay out."""
    points = [body.point((float(x), 0.0, 0.0)) for x in X]
    psi = None if body.s2 is None else np.array([p.psi_t for p in points])
    places, phi = np.column_stack([X, np.zeros((len(X), 2))]), np.array([p.phi_t for p in points])
    found = integrals(places, w, phi, psi)
    if psi is not None and isinstance(body.fields, Fields):
        found["fields"] = fields_of_points(places, w, phi, psi)
    return found if np.any(body.J2) else found | {"J2": np.zeros_like(body.J2)}


def _turning(body: ReducedStructure, a: float, b: float, axis: str) -> Array:
    """∫ κ dx."""
    X, dX = _rule(a, b, FEW)
    return np.asarray(sum(w * body.curvature(float(x), axis) for x, w in zip(X, dX, strict=True)))


def _rule(a: float, b: float, points: int) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return a + 0.5 * (b - a) * (nodes + 1.0), 0.5 * (b - a) * weights


def _length(body: ReducedStructure) -> float:
    return float(np.ptp(body.part.nodes[:, 0]))


def _axis(face: str, name: str) -> str:
    """The axis about which a patch on a face bends."""
    if face.removeprefix("-") not in ("y", "z"):
        raise InputError(f"{name}: face '{face}' is unknown; use 'y', '-y', 'z' or '-z'")
    return "z" if "y" in face else "y"


__all__ = ["Authority", "Patch", "piezo_authority", "with_patches"]
