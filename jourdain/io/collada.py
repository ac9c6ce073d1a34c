"""Meshes of COLLADA files (``.dae``), as robots of ROS are drawn by: triangles of the visual scene and their colours.

Lengths are in metres by the file's ``<unit>``; its ``<up_axis>`` turns nothing, as in RViz and Pinocchio, where the axes of a mesh are those of its link.
Textures, animations, lines and curves are not read; a skin is drawn as the mesh it was made from.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .xml_reader import LARGEST, Element, read_xml

#: Deepest chain of nodes that refer to nodes, and most nodes, meshes and triangles of a scene.
_MAX_DEPTH = 32
_MAX_PLACES = 200_000
_MAX_TRIANGLES = 5_000_000


@dataclass(frozen=True)
class Drawing:
    """Vertices (m) and triangles, in the order of their colours: ``painted`` has every colour "#rrggbb" (None where nothing or a texture
    paints) with its number of triangles, that of the largest area first.
    """

    vertices: np.ndarray
    faces: np.ndarray
    painted: tuple[tuple[str | None, int], ...]


def read_collada(source: str | os.PathLike[str] | bytes) -> Drawing:
    """What the scene of a COLLADA file shows."""
    root, _ = read_xml(source, ("COLLADA",))
    return _Scene(root).drawn()


@dataclass(frozen=True)
class _Part:
    """Triangles with one material: points (n, 3, 3) and the material's symbol."""

    triangles: np.ndarray
    material: str


class _Scene:
    """A file with its elements by their identifiers."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.known: dict[str, Element] = {}
        self._index(root)
        self.parts: dict[int, list[_Part]] = {}
        self.count = self.places = 0

    def _index(self, e: Element) -> None:
        if "id" in e.attributes:
            self.known.setdefault(e.attributes["id"], e)
        for child in e.children:
            self._index(child)

    def drawn(self) -> Drawing:
        asset = self.root.first("asset")
        unit = asset.first("unit") if asset is not None else None
        metre = unit.number("meter", 1.0) if unit is not None else 1.0
        if unit is not None and not metre > 0.0:
            raise unit.error(f'meter="{unit.get("meter")}" is no length')
        found: dict[str | None, list[np.ndarray]] = {}
        with np.errstate(over="ignore", invalid="ignore"):  # told below
            for triangles, colour in self._scene(np.diag([metre, metre, metre, 1.0])):
                found.setdefault(colour, []).append(triangles)
        whole = {colour: np.concatenate(parts) for colour, parts in found.items()}
        if not all((np.abs(points) <= LARGEST).all() for points in whole.values()):
            raise self.root.error(f"its vertices lie farther than {LARGEST:g} m")
        order = sorted(whole, key=lambda colour: -_area(whole[colour]))
        points = np.concatenate([whole[colour] for colour in order] or [np.zeros((0, 3, 3))])
        painted = tuple((colour, len(whole[colour])) for colour in order)
        return Drawing(points.reshape(-1, 3), np.arange(3 * len(points)).reshape(-1, 3), painted)

    def _scene(self, place: np.ndarray) -> Iterator[tuple[np.ndarray, str | None]]:
        """All triangles in place with their colour; of a file without a scene those of its geometries as they are."""
        scene = self.root.first("scene")
        shown = [self._linked(i) for i in scene.all("instance_visual_scene")] if scene is not None else []
        for visual in shown:
            for node in visual.all("node"):
                yield from self._node(node, place, 0)
        for library in self.root.all("library_geometries") if not shown else ():
            for geometry in library.all("geometry"):
                yield from self._instance(geometry, place, {})

    def _linked(self, e: Element, attribute: str = "url") -> Element:
        name = e.required(attribute)
        found = self.known.get(name.removeprefix("#"))
        if found is None:
            raise e.error(f"there is no element with the id '{name.removeprefix('#')}'")
        return found

    def _node(self, node: Element, place: np.ndarray, depth: int) -> Iterator[tuple[np.ndarray, str | None]]:
        if depth > _MAX_DEPTH:
            raise node.error(f"nodes are nested or refer to each other more than {_MAX_DEPTH} deep")
        self._count_place()
        for child in node.children:
            if child.tag in _MOTIONS:
                place = place @ _MOTIONS[child.tag](child)
        for child in node.children:
            if child.tag == "node":
                yield from self._node(child, place, depth + 1)
            elif child.tag == "instance_node":
                yield from self._node(self._linked(child), place, depth + 1)
            elif child.tag in ("instance_geometry", "instance_controller"):
                yield from self._instance(self._geometry(child), place, self._materials(child))

    def _count_place(self) -> None:
        """Nodes that refer to nodes can be very many in a short file."""
        self.places += 1
        if self.places > _MAX_PLACES:
            raise self.root.error(f"its scene shows more than {_MAX_PLACES} nodes and meshes")

    def _geometry(self, instance: Element) -> Element:
        found = self._linked(instance)
        for _ in range(_MAX_DEPTH):
            if found.tag != "controller":
                return found
            skin = found.first("skin") or found.first("morph")
            if skin is None:
                raise found.error("it has neither <skin> nor <morph>")
            found = self._linked(skin, "source")
        raise instance.error("its controllers refer to each other")

    # ---- triangles ------------------------------------------------------------------------------------------

    def _instance(self, geometry: Element, place: np.ndarray, colours: dict[str, str]) -> Iterator[tuple[np.ndarray, str | None]]:
        self._count_place()
        if id(geometry) not in self.parts:
            self.parts[id(geometry)] = list(self._parts(geometry))
        for part in self.parts[id(geometry)]:
            self.count += len(part.triangles)
            if self.count > _MAX_TRIANGLES:
                raise self.root.error(f"its scene has more than {_MAX_TRIANGLES} triangles")
            mirrored = np.linalg.det(place[:3, :3]) < 0
            points = part.triangles @ place[:3, :3].T + place[:3, 3]
            yield points[:, ::-1] if mirrored else points, colours.get(part.material)

    def _parts(self, geometry: Element) -> Iterator[_Part]:
        mesh = geometry.first("mesh")
        for e in mesh.children if mesh is not None else ():
            if e.tag in _POLYGONS:
                points, corners, stride, offset = self._corners(e)
                index = _POLYGONS[e.tag](e, [c.reshape(-1, stride)[:, offset] for c in corners])
                if index.size and not 0 <= index.min() <= index.max() < len(points):
                    raise e.error(f"it names vertices {index.min()} … {index.max()}, but there are {len(points)} (counted from 0)")
                yield _Part(points[index], e.get("material") or "")

    def _corners(self, e: Element) -> tuple[np.ndarray, list[np.ndarray], int, int]:
        """The points of a group of polygons, its lists of indices, how many belong to a corner, and which of them is that of the vertex."""
        inputs = list(e.all("input"))
        vertex = next((i for i in inputs if i.get("semantic") == "VERTEX"), None)
        if vertex is None:
            raise e.error('it has no <input semantic="VERTEX">')
        position = next((i for i in self._linked(vertex, "source").all("input") if i.get("semantic") == "POSITION"), None)
        if position is None:
            raise vertex.error('its source has no <input semantic="POSITION">')
        stride = 1 + max(_whole(i, "offset") for i in inputs)
        lists = [_numbers(p, np.int64) for p in e.all("p")]
        lists += [_numbers(hole.need("p"), np.int64) for hole in e.all("ph")]
        if any(len(p) % stride for p in lists):
            raise e.error(f"the numbers of a <p> are no multiple of the {stride} that belong to a corner")
        return self._points(self._linked(position, "source")), lists, stride, _whole(vertex, "offset")

    def _points(self, source: Element) -> np.ndarray:
        values = _numbers(source.need("float_array"), float)
        common = source.first("technique_common")
        accessor = common.first("accessor") if common is not None else None
        stride = _whole(accessor, "stride", 3) if accessor is not None else 3
        start = _whole(accessor, "offset") if accessor is not None else 0
        if stride < 3:
            raise source.error(f"its points have {stride} coordinates; three are needed")
        there = max(len(values) - start, 0) // stride
        count = min(there, _whole(accessor, "count", there)) if accessor is not None else there
        return values[start : start + count * stride].reshape(-1, stride)[:, :3]

    # ---- colours --------------------------------------------------------------------------------------------

    def _materials(self, instance: Element) -> dict[str, str]:
        """Colours by the symbols of materials."""
        bound = instance.first("bind_material")
        common = bound.first("technique_common") if bound is not None else None
        found = {}
        for e in common.all("instance_material") if common is not None else ():
            colour = self._colour((e.get("target") or "").removeprefix("#"))
            if colour is not None:
                found[e.get("symbol") or ""] = colour
        return found

    def _colour(self, material: str) -> str | None:
        """The diffuse colour of a material; none where a texture paints it."""
        e = self.known.get(material)
        effect = e.first("instance_effect") if e is not None else None
        shading = self.known.get((effect.get("url") or "").removeprefix("#")) if effect is not None else None
        for tag in ("profile_COMMON", "technique"):
            shading = shading.first(tag) if shading is not None else None
        lit = next(shading.all("phong", "lambert", "blinn", "constant"), None) if shading is not None else None
        diffuse = lit.first("emission" if lit.tag == "constant" else "diffuse") if lit is not None else None
        colour = diffuse.first("color") if diffuse is not None else None
        rgba = _numbers(colour, float) if colour is not None else np.zeros(0)
        return "#" + "".join(f"{round(255 * min(max(c, 0.0), 1.0)):02x}" for c in rgba[:3].tolist()) if len(rgba) >= 3 else None


def _area(t: np.ndarray) -> float:
    return float(np.linalg.norm(np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]), axis=1).sum() / 2)


def _numbers(e: Element, kind: type) -> np.ndarray:
    """The content as numbers, written in the usual way and none beyond 1e40."""
    try:
        values: np.ndarray = np.array([*map(float if kind is float else int, e.text.split())], dtype=kind)
    except (ValueError, OverflowError):
        values = np.array([np.nan])
    if "_" in e.text or not e.text.isascii() or not (np.abs(values) <= LARGEST).all():
        raise e.error(f"its content is no list of {'whole' if kind is np.int64 else 'finite'} numbers")
    return values


def _whole(e: Element, name: str, default: int = 0) -> int:
    value = e.number(name, float(default))
    if value != int(value) or not 0 <= value <= 1e9:
        raise e.error(f'{name}="{e.get(name)}" is no such number')
    return int(value)


# ---- polygons to triangles ---------------------------------------------------------------------------------------


def _fans(corners: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Polygons of so many corners, one after the other, each as a fan about its first."""
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), len(corners), side="right")]
    first = np.cumsum(lengths) - lengths
    pieces = np.maximum(lengths - 2, 0)
    owner = np.repeat(np.arange(len(lengths)), pieces)
    k = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    at = first[owner]
    return corners[np.stack([at, at + k + 1, at + k + 2], axis=1)]


def _triangles(e: Element, lists: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([c[: len(c) // 3 * 3].reshape(-1, 3) for c in lists] or [np.zeros((0, 3), np.int64)])


def _polylist(e: Element, lists: list[np.ndarray]) -> np.ndarray:
    corners, lengths = np.concatenate(lists or [np.zeros(0, np.int64)]), _numbers(e.need("vcount"), np.int64)
    if not ((lengths >= 0) & (lengths <= len(corners))).all() or lengths.sum() != len(corners):
        raise e.error(f"<vcount> counts {lengths.sum()} corners, but <p> has {len(corners)}")
    return _fans(corners, lengths)


def _polygons(e: Element, lists: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([_fans(c, np.array([len(c)])) for c in lists] or [np.zeros((0, 3), np.int64)])


def _strips(e: Element, lists: list[np.ndarray]) -> np.ndarray:
    """Every corner closes a triangle with the two before it; every second one is turned."""
    found = [np.stack([c[:-2], c[1:-1], c[2:]], axis=1) for c in lists if len(c) > 2]
    for t in found:
        t[1::2] = t[1::2][:, [1, 0, 2]]
    return np.concatenate(found or [np.zeros((0, 3), np.int64)])


_POLYGONS: dict[str, Callable[[Element, list[np.ndarray]], np.ndarray]] = {
    "triangles": _triangles, "polylist": _polylist, "polygons": _polygons, "trifans": _polygons, "tristrips": _strips,
}  # fmt: skip


# ---- where nodes stand -------------------------------------------------------------------------------------------


def _given(e: Element, count: int) -> np.ndarray:
    values = _numbers(e, float)
    if len(values) != count:
        raise e.error(f"it has {len(values)} numbers; {count} are needed")
    return values


def _translate(e: Element) -> np.ndarray:
    m = np.eye(4)
    m[:3, 3] = _given(e, 3)
    return m


def _rotate(e: Element) -> np.ndarray:
    """Rodrigues' rotation about an axis by an angle in degrees."""
    x, y, z, degrees = _given(e, 4).tolist()
    length = math.hypot(x, y, z)
    m = np.eye(4)
    if length > 0.0:
        k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) / length
        m[:3, :3] += np.sin(np.radians(degrees)) * k + (1.0 - np.cos(np.radians(degrees))) * (k @ k)
    return m


def _look_at(e: Element) -> np.ndarray:
    """Eye, the point looked at along -z, and what is up."""
    eye, to, up = _given(e, 9).reshape(3, 3)
    z = eye - to
    x = np.cross(up, z)
    if not (np.linalg.norm(x) > 0.0 and np.linalg.norm(z) > 0.0):
        raise e.error("what it looks at and what is up give no direction")
    x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
    m = np.eye(4)
    m[:3] = np.column_stack([x, np.cross(z, x), z, eye])
    return m


def _refused(e: Element) -> np.ndarray:
    raise e.error("it is not read; export the file again with matrices")


_MOTIONS: dict[str, Callable[[Element], np.ndarray]] = {
    "matrix": lambda e: _given(e, 16).reshape(4, 4), "translate": _translate, "rotate": _rotate,
    "scale": lambda e: np.diag([*_given(e, 3), 1.0]), "lookat": _look_at, "skew": _refused,
}  # fmt: skip


__all__ = ["Drawing", "read_collada"]
