"""Geoms of MJCF: their mass properties and their drawings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import JourdainError
from ...model.shapes import box, capsule, cylinder, mesh, polyhedron_properties, sphere
from ..drawings import hex_colour, placed
from ..placement import Inertial, Pose, z_to
from ..xml_reader import Element
from .rules import Defaults, Settings, choice, inside

#: How many of the numbers in size a geom type needs; half lengths and radii in m.
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
WITHOUT_MASS = ("plane", "hfield", "sdf")


class Geoms:
    """Reads geoms; meshes are looked up among the assets, within the folder of the model."""

    def __init__(self, root: Element, settings: Settings, defaults: Defaults, folder: Path | None, notes: list[str]) -> None:
        self.settings = settings
        self.folder = folder
        self.notes = notes
        assets = [defaults.apply(e, None) for asset in root.all("asset") for e in asset.all("mesh", "material")]
        self.meshes = {_asset_name(e): e for e in assets if e.tag == "mesh"}
        self.materials = {e.get("name") or "": e for e in assets if e.tag == "material"}
        self.loaded: dict[str, Any] = {}

    def read(self, geom: Element, frame: Pose, draw: bool) -> tuple[Inertial | None, Any]:
        """Mass properties in the body's frame (None: no mass) and the shape (None: not drawn)."""
        kind = geom.get("type") or ("mesh" if "mesh" in geom.attributes else "sphere")
        if kind in WITHOUT_MASS:
            return None, None
        if kind == "mesh":
            return self._mesh(geom, frame, draw)
        if kind not in SIZES:
            raise geom.error(f"geom type '{kind}' is unknown")
        if "mesh" in geom.attributes:
            raise geom.error("a primitive fitted to a mesh is not read; give its size")
        size, pose = self._size(geom, kind)
        pose = frame @ pose
        if geom.get("shellinertia") == "true":
            raise geom.error("shellinertia is not read; give the body an <inertial>")
        volume, unit = _unit_inertia(kind, size)
        shape = None
        if draw:
            shape = placed(_shape(kind, size), pose, self._colour(geom))
        mass = geom.number("mass") if "mass" in geom.attributes else geom.number("density", 1000.0) * volume
        return self._weighted(geom, mass, unit, pose), shape

    def _weighted(self, geom: Element, mass: float, unit: np.ndarray, pose: Pose, centre: Any = (0, 0, 0)) -> Inertial | None:
        if mass < 0:
            raise geom.error(f"its mass {mass:g} kg is negative")
        low, high = self.settings.inertiagrouprange
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

    def _mesh(self, geom: Element, frame: Pose, draw: bool) -> tuple[Inertial | None, Any]:
        name = geom.required("mesh")
        if name not in self.meshes:
            raise geom.error(f"the mesh '{name}' is not among the assets")
        pose = frame @ self.settings.pose(geom)
        try:
            if name not in self.loaded:
                self.loaded[name] = self._solid(self.meshes[name])
            solid = self.loaded[name]
        except JourdainError as error:
            self.notes.append(f"geom of mesh '{name}': it is left out, with its mass ({error})")
            return None, None
        volume, centre, unit = solid.properties
        mass = geom.number("mass") if "mass" in geom.attributes else geom.number("density", 1000.0) * volume
        shape = placed(solid.shape, pose, self._colour(geom)) if draw else None
        return self._weighted(geom, mass, unit, pose, centre), shape

    def _solid(self, asset: Element) -> _MeshAsset:
        scale = asset.numbers("scale", 3, (1.0, 1.0, 1.0))
        if "refpos" in asset.attributes or "refquat" in asset.attributes:
            raise asset.error("refpos and refquat are not read; move the vertices instead")
        if "vertex" in asset.attributes:
            vertices = _triples(asset, "vertex")
            faces = _faces(asset, len(vertices)) if "face" in asset.attributes else _hull(asset, vertices)
        else:
            raw = mesh(self._file(asset), display_only=True)
            vertices, faces = raw.vertices, raw.faces
        shape = mesh((vertices * scale, faces[:, ::-1] if np.prod(scale) < 0 else faces), display_only=True)
        rule = choice(asset, "inertia", ("legacy", "exact", "convex", "shell"), "legacy")
        return _MeshAsset(shape, _mesh_properties(asset, rule, shape.vertices, shape.faces))

    def _file(self, asset: Element) -> Path:
        name = asset.required("file")
        if self.folder is None:
            raise asset.error("a mesh file needs a model read from a file, not from text")
        path = inside(self.folder, str(Path(self.settings.meshdir) / name))
        if path is None:
            raise asset.error(f"the file '{name}' is not within the folder of the model")
        return path


@dataclass(frozen=True)
class _MeshAsset:
    """A mesh for display with its volume, centre and inertia about the centre for mass 1."""

    shape: Any
    properties: tuple[float, np.ndarray, np.ndarray]


def _mesh_properties(asset: Element, rule: str, vertices: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre and inertia for mass 1 by the rule the file asks for."""
    if rule == "shell":
        raise asset.error("the inertia of a shell is not read; give the body an <inertial>")
    if rule == "convex":
        faces = _hull(asset, vertices)
    if rule == "legacy":
        volume, centre, second = _pyramids(vertices, faces)
    else:
        p = polyhedron_properties(vertices, faces)
        volume, centre, second = float(p.mass), np.array(p.com, float), np.array(p.second, float)
    if not volume > 0:
        raise asset.error(f"it has the volume {volume:g} m³; turn its faces outwards")
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


def _unit_inertia(kind: str, s: np.ndarray) -> tuple[float, np.ndarray]:
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
