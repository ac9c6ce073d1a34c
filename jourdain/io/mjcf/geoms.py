"""Geoms of MJCF: their mass properties and their drawings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, JourdainError
from ...model.shapes import box, capsule, cylinder, ellipsoid, mesh, plane, polyhedron_properties, sphere
from ..drawings import hex_colour, placed
from ..model_files.placement import Inertial, Pose, from_quaternion, z_to
from ..xml_reader import Element
from .mesh_files import has_polygons, read_mesh
from .primitives import shell_inertia, solid_inertia
from .rules import Defaults, Folder, Settings, choice

#: How many of the numbers in size a geom type needs; half lengths and radii in m.
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}


class Geoms:
    """Reads geoms; meshes are looked up among the assets, within the folder of the model."""

    def __init__(
        self, root: Element, settings: Settings, defaults: Defaults, folder: Folder | None, notes: list[str], missing: str = "refuse"
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.notes = notes
        self.missing = missing
        assets = [defaults.apply(e, None) for asset in root.all("asset") for e in asset.all("mesh", "material", "hfield")]
        self.meshes = {_asset_name(e): e for e in assets if e.tag == "mesh"}
        self.materials = {e.get("name") or "": e for e in assets if e.tag == "material"}
        self.fields = {_asset_name(e): e for e in assets if e.tag == "hfield"}
        self.loaded: dict[str, Any] = {}
        self.told: set[str] = set()

    def read(self, geom: Element, frame: Pose, draw: bool, weigh: bool) -> tuple[Inertial | None, Any]:
        """Mass properties in the body's frame (None: no mass, or not asked for) and the shape (None: not drawn)."""
        kind = geom.get("type") or ("mesh" if "mesh" in geom.attributes else "sphere")
        if kind == "plane" or not (draw or weigh):
            return None, None
        if kind == "hfield":
            return (self._field(geom, frame) if weigh else None), None
        try:
            if kind == "sdf":
                raise geom.error("a signed distance field is not read")
            if kind == "mesh":
                return self._mesh(geom, frame, draw, weigh)
            if kind not in SIZES:
                raise geom.error(f"geom type '{kind}' is unknown")
            size, pose = self._fitted(geom, kind) if "mesh" in geom.attributes else self._size(geom, kind)
        except JourdainError as error:
            return self._without(geom, error, weigh)
        pose = frame @ pose
        shape = placed(_shape(kind, size), pose, self._colour(geom)) if draw else None
        if not weigh:
            return None, shape
        extent, unit = (shell_inertia if geom.get("shellinertia") == "true" else solid_inertia)(kind, size)
        return self._weighted(geom, self._mass(geom, extent), unit, pose), shape

    def _field(self, geom: Element, frame: Pose) -> Inertial | None:
        """A height field weighs, as in MuJoCo, as much as a box about its origin of its base and half of its height."""
        name = geom.required("hfield")
        if name not in self.fields:
            raise geom.error(f"the height field '{name}' is not among the assets")
        x, y, top, base = self.fields[name].numbers("size", 4)
        volume, unit = solid_inertia("box", np.array([x, y, 0.25 * top + 0.5 * base]))
        return self._weighted(geom, self._mass(geom, volume), unit, frame @ self.settings.pose(geom))

    def surface(self, geom: Element, frame: Pose) -> Any:
        """The shape of a geom as contacts see it (None: it has none): planes without end, meshes by their convex hulls, as MuJoCo has them."""
        kind = geom.get("type") or ("mesh" if "mesh" in geom.attributes else "sphere")
        try:
            if kind == "plane":
                return placed(plane(), frame @ self.settings.pose(geom))
            if kind == "mesh":
                solid = self._asset(geom)
                hull = mesh((solid.shape.vertices, _hull(solid.asset, solid.shape.vertices)), display_only=True)
                return placed(hull, frame @ self.settings.pose(geom))
            if kind not in SIZES:
                raise geom.error(f"a geom of type '{kind}' has no shape for contacts here")
            size, pose = self._fitted(geom, kind) if "mesh" in geom.attributes else self._size(geom, kind)
            shape = ellipsoid(*map(float, size)) if kind == "ellipsoid" else _shape(kind, size)
            return placed(shape, frame @ pose)
        except JourdainError as error:
            self.notes.append(f"{geom.called} touches nothing ({error})")
            return None

    def _without(self, geom: Element, error: JourdainError, weigh: bool) -> tuple[None, None]:
        """A geom that cannot be had: without its mass a model would give wrong answers, without its picture it is still right."""
        if weigh and geom.get("mass") != "0" and self.missing == "refuse":
            remedy = "its mass is needed: give the body an <inertial>, or read with missing='note', which leaves it out"
            raise InputError(f"{error}; {remedy}") from None
        self.notes.append(f"{geom.called} is left out{', with its mass' if weigh else ', its body has an <inertial>'} ({error})")
        return None, None

    def _mass(self, geom: Element, extent: float) -> float:
        """The given mass, or that of the volume (or area) by its density."""
        return geom.number("mass") if "mass" in geom.attributes else geom.number("density", 1000.0) * extent

    def _weighted(self, geom: Element, mass: float, unit: np.ndarray, pose: Pose, centre: Any = (0, 0, 0)) -> Inertial | None:
        if mass < 0:
            raise geom.error(f"its mass {mass:g} kg is negative")
        low, high = self.settings.near(geom).inertiagrouprange
        if not low <= geom.number("group", 0.0) <= high or mass == 0:
            return None
        return Inertial(mass, np.asarray(centre, dtype=float), mass * unit).placed(pose)

    def _size(self, geom: Element, kind: str) -> tuple[np.ndarray, Pose]:
        needed = SIZES[kind]
        if "fromto" in geom.attributes and kind != "sphere":
            ends = geom.numbers("fromto", 6)
            length = float(np.linalg.norm(ends[:3] - ends[3:]))
            if length < 1e-12:
                raise geom.error("the two points of fromto coincide")
            given = geom.numbers("size", default=(0.0,))
            radius = float(given[0]) if len(given) else 0.0
            size = np.array([radius, length / 2] if needed == 2 else [radius, radius, length / 2])
            pose = Pose(z_to(ends[:3] - ends[3:]), (ends[:3] + ends[3:]) / 2)
        else:
            size, pose = geom.numbers("size")[:needed], self.settings.pose(geom)
        if len(size) < needed or np.any(size <= 0):
            raise geom.error(f"a {kind} needs {needed} positive numbers in size, got '{geom.get('size')}'")
        return size, pose

    def _colour(self, geom: Element) -> str | None:
        if "rgba" in geom.attributes:
            return hex_colour(geom.numbers("rgba", 4))
        material = self.materials.get(geom.get("material") or "")
        return hex_colour(material.numbers("rgba", 4)) if material is not None and "rgba" in material.attributes else None

    # ---- meshes ---------------------------------------------------------------------------------------------

    def _mesh(self, geom: Element, frame: Pose, draw: bool, weigh: bool) -> tuple[Inertial | None, Any]:
        solid = self._asset(geom)
        name, pose = geom.required("mesh"), frame @ self.settings.pose(geom)
        shape = placed(solid.shape, pose, self._colour(geom)) if draw else None
        if not weigh:
            return None, shape
        if "file" in solid.asset.attributes and name not in self.told and has_polygons(self._file(solid.asset)):
            self.told.add(name)
            self.notes.append(
                f"mesh '{name}': faces of more than four corners may be cut otherwise than by MuJoCo, and give another mass where they are not flat"
            )
        extent, centre, unit = solid.properties
        return self._weighted(geom, self._mass(geom, extent), unit, pose, centre), shape

    def _asset(self, geom: Element) -> _MeshAsset:
        """The mesh that a geom names."""
        name = geom.required("mesh")
        if name not in self.meshes:
            raise geom.error(f"the mesh '{name}' is not among the assets")
        if name not in self.loaded:
            self.loaded[name] = self._solid(self.meshes[name])
        found: _MeshAsset = self.loaded[name]
        return found

    def _fitted(self, geom: Element, kind: str) -> tuple[np.ndarray, Pose]:
        """A primitive in the place of a mesh, as MuJoCo fits it: by the box of equal inertia, the longest edge along z, or the bounding box."""
        asset = self._asset(geom)
        _, centre, unit = asset.properties
        principal, axes = np.linalg.eigh(unit)
        principal, axes = principal[::-1], axes[:, ::-1] * np.array([1.0, 1.0, -np.sign(np.linalg.det(axes))])
        half = 0.5 * np.sqrt(np.maximum(6.0 * (principal.sum() - 2.0 * principal), 0.0))
        across, ball, caps = (half[0] + half[1]) / 2, half.mean(), 0.5
        if self.settings.near(geom).fitaabb:
            corners = [f(asset.shape.vertices @ axes, axis=0) for f in (np.min, np.max)]
            centre, half = axes @ (corners[0] + corners[1]) / 2, (corners[1] - corners[0]) / 2
            across, ball, caps = max(half[0], half[1]), half.max(), 1.0
        size = {
            "sphere": np.array([ball]), "cylinder": np.array([across, half[2]]),
            "capsule": np.array([across, max(0.0, half[2] - caps * across)]),
        }.get(kind, half) * geom.number("fitscale", 1.0)  # fmt: skip
        return size, self.settings.pose(geom) @ Pose(axes, centre)

    def _solid(self, asset: Element) -> _MeshAsset:
        scale = asset.numbers("scale", 3, (1.0, 1.0, 1.0))
        if "vertex" in asset.attributes:
            vertices = _triples(asset, "vertex")
            faces = _faces(asset, len(vertices)) if "face" in asset.attributes else _hull(asset, vertices)
        else:
            vertices, found = read_mesh(self._file(asset))
            faces = _hull(asset, vertices) if found is None else found
        if "refpos" in asset.attributes or "refquat" in asset.attributes:
            turned = from_quaternion(asset.numbers("refquat", 4, (1, 0, 0, 0)))
            vertices = (vertices - asset.numbers("refpos", 3, (0, 0, 0))) @ turned
        shape = mesh((vertices * scale, faces[:, ::-1] if np.prod(scale) < 0 else faces), display_only=True)
        return _MeshAsset(asset, shape)

    def _file(self, asset: Element) -> Path:
        if "builtin" in asset.attributes:
            raise asset.error(f'the points of builtin="{asset.get("builtin")}" are made by rules that are not read')
        name = asset.required("file")
        if self.folder is None:
            raise asset.error("a mesh file needs a model read from a file, not from text")
        others = () if asset.folder is None else (asset.folder,)  # as MuJoCo, from the file in which it stands
        return self.folder.file(asset, str(Path(self.settings.meshdir) / name), *others)


@dataclass(frozen=True)
class _MeshAsset:
    """A mesh with its mass properties, found when they are asked for."""

    asset: Element
    shape: Any

    @cached_property
    def properties(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Volume (area of a shell), centre and inertia about the centre for mass 1."""
        rule = choice(self.asset, "inertia", ("legacy", "exact", "convex", "shell"), "legacy")
        return _mesh_properties(self.asset, rule, self.shape.vertices, self.shape.faces)


def _mesh_properties(asset: Element, rule: str, vertices: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre and inertia for mass 1 by the rule the file asks for."""
    if rule == "convex":
        faces = _hull(asset, vertices)
    if rule == "shell":
        volume, centre, second = _triangles(vertices, faces)
    elif rule == "legacy":
        volume, centre, second = _pyramids(vertices, faces)
    else:
        p = polyhedron_properties(vertices, faces)
        volume, centre, second = float(p.mass), np.array(p.com, float), np.array(p.second, float)
    if not volume > 0:
        raise asset.error(
            f"it has the area {volume:g} m²" if rule == "shell" else f"it has the volume {volume:g} m³; turn its faces outwards"
        )
    second = second / volume
    return volume, centre, float(np.trace(second)) * np.eye(3) - second


def _pyramids(vertices: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre and second moments as MuJoCo finds them by default, also for surfaces that are not closed.

    Every face and an inner point span a pyramid, all counted as positive: about the centre of the surface for the
    centre of mass, then about that for volume and moments. Exact for convex bodies only.
    """
    corners = vertices[faces]
    middles = corners.mean(axis=1)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2
    areas = np.linalg.norm(normals, axis=1)
    if not areas.sum() > 0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    apex = areas @ middles / areas.sum()
    volumes = np.abs(np.einsum("ij,ij->i", middles - apex, normals)) / 3
    if not volumes.sum() > 0:
        return 0.0, apex, np.zeros((3, 3))
    centre = volumes @ (0.75 * middles + 0.25 * apex) / volumes.sum()
    volumes = np.abs(np.einsum("ij,ij->i", middles - centre, normals)) / 3
    d = corners - centre
    rays = [d[:, 0], d[:, 1], d[:, 2], d.sum(axis=1)]
    second = sum((np.einsum("i,ij,ik->jk", volumes, r, r) for r in rays), np.zeros((3, 3))) / 20
    return float(volumes.sum()), centre, second


def _triangles(vertices: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Area, centre and second moments of a surface about its centre."""
    corners = vertices[faces]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    if not areas.sum() > 0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    centre = areas @ corners.mean(axis=1) / areas.sum()
    d = corners - centre
    rays = [d[:, 0], d[:, 1], d[:, 2], d.sum(axis=1)]
    return float(areas.sum()), centre, sum((np.einsum("i,ij,ik->jk", areas, r, r) for r in rays), np.zeros((3, 3))) / 12


def _asset_name(asset: Element) -> str:
    return asset.get("name") or Path(asset.get("file") or "").stem


def _triples(asset: Element, name: str) -> np.ndarray:
    values = asset.numbers(name)
    if len(values) % 3 or len(values) == 0 or np.abs(values).max() > 1e9:
        raise asset.error(f"{name} must be triples of numbers below 1e9, got {len(values)} numbers")
    return values.reshape(-1, 3)


def _faces(asset: Element, points: int) -> np.ndarray:
    values = _triples(asset, "face")
    if (values != np.floor(values)).any() or values.min() < 0 or values.max() >= points:
        raise asset.error(f"face must be triples of whole numbers from 0 to {points - 1}, the places of vertices")
    return values.astype(int)


def _hull(asset: Element, vertices: np.ndarray) -> np.ndarray:
    """Outward triangles of the convex hull."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(vertices)
    except (QhullError, ValueError):
        raise asset.error("its vertices span no volume") from None
    faces = np.asarray(hull.simplices, dtype=int)
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0
    return np.where(inward[:, None], faces[:, ::-1], faces)


def _shape(kind: str, s: np.ndarray) -> Any:
    x = [float(v) for v in s]
    if kind == "sphere":
        return sphere(x[0])
    if kind == "box":
        return box(2 * x[0], 2 * x[1], 2 * x[2])
    if kind == "cylinder":
        return cylinder(x[0], 2 * x[1])
    if kind == "capsule":
        return capsule(x[0], 2 * x[1])
    vertices, faces = sphere(1.0).tessellate(24)
    return mesh((vertices * s, faces), display_only=True)


__all__ = ["Geoms"]
