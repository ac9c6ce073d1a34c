"""From a reduced structure to a surface that deforms: tubes around beams, lines for bars, outer faces of solids.

Vertices between the nodes of a beam follow Hermite's cubics of the nodes' displacements and rotations; what colours show is linear in the
amplitudes, from the operators of the elements (the share of the modes; :mod:`.static_share` adds what loads do besides).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...structures.parts.beams import FORCES, BeamElements
from ..rotation import Array
from ..scene import Body, Mode, Scene
from .curved_shape import amplitude_changes, curved, curved_node
from .surface import Field, Node, Surface

if TYPE_CHECKING:
    from ...structures import ReducedStructure, Section, Structure
    from ...structures.parts.elements import ElementGroup

#: Corners of a round section, rings along a beam at least, and rings of an element at most.
AROUND, RINGS, MOST = 16, 32, 8
#: Faces of elements by the number of their nodes, seen from outside; corners only, which is what a picture needs.
_TETRAHEDRON = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3))
_BRICK = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
SOLIDS: dict[int, tuple[tuple[int, ...], ...]] = {4: _TETRAHEDRON, 10: _TETRAHEDRON, 8: _BRICK, 20: _BRICK, 27: _BRICK}
SHEETS: dict[int, tuple[tuple[int, ...], ...]] = {n: ((0, 1, 2),) for n in (3, 6)} | {n: ((0, 1, 2, 3),) for n in (4, 8, 9)}
#: von Mises' stress as a metric of sxx, syy, szz, sxy, syz, szx, of a plane's sxx, syy, sxy, and of a beam's σ, τ.
MISES: dict[int, Array] = {
    6: np.block([[1.5 * np.eye(3) - 0.5, np.zeros((3, 3))], [np.zeros((3, 3)), 3.0 * np.eye(3)]]),
    3: np.array([[1.0, -0.5, 0.0], [-0.5, 1.0, 0.0], [0.0, 0.0, 3.0]]),
    2: np.diag([1.0, 3.0]),
}
_FORCE_UNITS = dict(zip(FORCES, ("N", "N", "N", "N m", "N m", "N m"), strict=True))


#: Surfaces of parts that were drawn, for as long as these live.
_DRAWN: WeakKeyDictionary[Any, Surface] = WeakKeyDictionary()


def surface_of(part: ReducedStructure) -> Surface:
    """The surface of a reduced structure in its floating frame, with every field that its elements give."""
    if part not in _DRAWN:
        _DRAWN[part] = curved(part, _surface(part))
    return replace(_DRAWN[part], nodes=dict(_DRAWN[part].nodes))


def loaded_surface(part: ReducedStructure, added: Sequence[Array]) -> Surface:
    """The surface of a part whose last shapes add to the channels of its groups of elements (e, c, k) besides."""
    first = part.shapes.shape[1]
    return _surface(part, [np.concatenate([np.zeros((*a.shape[:2], first - a.shape[2])), a], axis=2) for a in added])


def _surface(part: ReducedStructure, added: Sequence[Array] | None = None) -> Surface:
    whole = part.part
    more = added or [np.zeros((1, 1, 1))] * len(whole.elements)
    groups = zip(whole.elements, more, strict=True)
    pieces = [_tubes(part, g, a) if isinstance(g, BeamElements) else _group(part, g) for g, a in groups] or [_markers(part)]
    starts = np.cumsum([0, *(len(p.vertices) for p in pieces)])
    shapes = np.concatenate([p.shapes for p in pieces])
    displacement = Field("displacement", "m", shapes, np.eye(3))
    return Surface(
        np.concatenate([p.vertices for p in pieces]), shapes,
        np.concatenate([p.faces + first for p, first in zip(pieces, starts, strict=False)]),
        np.concatenate([p.lines + first for p, first in zip(pieces, starts, strict=False)]),
        [displacement, *_joined(pieces)], smooth=all(p.smooth for p in pieces), labels=_labels(whole),
        places=np.concatenate([np.asarray(p.places) for p in pieces]), nodes=_nodes(part),
    )  # fmt: skip


def _joined(pieces: list[Surface]) -> Iterator[Field]:
    """Fields of all pieces; one that a piece does not know is zero there."""
    known = {f.name: f for p in pieces for f in p.fields}
    for name, like in known.items():
        found = [next((f.rows for f in p.fields if f.name == name), np.zeros((len(p.vertices), *like.rows.shape[1:]))) for p in pieces]
        if all(rows.shape[1:] == like.rows.shape[1:] for rows in found):
            yield Field(name, like.unit, np.concatenate(found), like.metric)


def _labels(part: Structure) -> list[str]:
    names: dict[int, list[str]] = {}
    for name, node in part.names.items():
        names.setdefault(node, []).append(name)
    return [f"node {i}" + (f" ({', '.join(names[i])})" if i in names else "") for i in range(len(part.nodes))]


def _nodes(part: ReducedStructure) -> dict[str, Node]:
    """The named points, with what is needed to move things that are fastened to them."""
    return {name: node_of(part, name) for name in part.points}


def node_of(part: ReducedStructure, name: Any) -> Node:
    """A point of the part as something that things are fastened to."""
    p = part.point(name)
    return curved_node(part, Node(np.asarray(p.position), np.asarray(p.phi_t), np.asarray(p.phi_r)))


def _moved(part: ReducedStructure) -> tuple[Array, Array]:
    """Displacements and rotations (nodes, 3, m) of all nodes in the shapes."""
    table = part.part.dofs.table
    found = np.where((table >= 0)[:, :, None], part.shapes[table], 0.0)
    return found[:, :3], found[:, 3:]


# --- beams -------------------------------------------------------------------------------------------------------


def _tubes(part: ReducedStructure, group: BeamElements, added: Array) -> Surface:
    """A tube of the section's outline around each beam; rings at nodes are shared by beams that go on alike."""
    rings = int(np.clip(np.ceil(RINGS / len(group.nodes)), 1, MOST))
    ends = group.levers @ part.shapes[group.rows]  # (e, 12, m) motions of the ends in local axes
    forces = group.recovery() @ part.shapes[group.rows] + added  # (e, 12, m) section forces at both ends
    used = np.bincount(group.nodes.ravel(), minlength=len(part.part.nodes))
    tubes = _Tubes(group, part)
    for e, (first, last) in enumerate(group.nodes):
        outline = tubes.outline(e)
        stations = [tubes.ring(e, k / rings, outline, ends[e], forces[e], int(last if 2 * k > rings else first)) for k in range(rings + 1)]
        for a, b in pairwise(stations):
            tubes.skin(a, b, len(outline))
        tubes.caps([s for s, node in ((stations[0], first), (stations[-1], last)) if used[node] == 1], len(outline))
    return tubes.surface()


class _Tubes:
    """Rings of vertices on their way to a surface."""

    def __init__(self, group: BeamElements, part: ReducedStructure) -> None:
        self.group, self.part = group, part
        self.vertices: list[Array] = []
        self.shapes: list[Array] = []
        self.values: list[Array] = []  #: (vertices, 12, m): forces, then σ, τ, strain, curvatures
        self.places: list[int] = []
        self.faces: list[tuple[int, int, int]] = []
        self.known: dict[Any, int] = {}
        self.count = 0
        self.pieces: dict[int, int] = {}  #: number of the piece that starts at a vertex
        self.smooth = all(s.round or not (s.half_y and s.half_z) for pair in group.sections for s in pair)

    def outline(self, e: int) -> Array:
        """Corners (n, 2) of the section's outline at both ends of a beam as shares of its half width and height."""
        section = self.group.sections[e][0]
        if section.round or not (section.half_y and section.half_z):
            angle = 2 * np.pi * np.arange(AROUND) / AROUND
            return np.column_stack([np.cos(angle), np.sin(angle)])
        return np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])

    def ring(self, e: int, x: float, outline: Array, ends: Array, forces: Array, node: int) -> int:
        """The first vertex of the ring at the share x of a beam's length, which may be there already."""
        a, b = self.group.sections[e]
        axes, L = self.group.axes[e], self.group.lengths[e]
        half = (1 - x) * _halves(a) + x * _halves(b)
        key = (node, np.round(axes, 9).tobytes(), half.tobytes(), len(outline)) if x in (0.0, 1.0) else None
        if key is not None and key in self.known:
            return self.known[key]
        local = np.column_stack([np.zeros(len(outline)), outline * half])
        start = self.part.part.nodes[self.group.nodes[e, 0]] + axes @ _offset(self.group, e)
        shift, turn = hermite(x, L, ends)
        moved = shift[None] + np.cross(turn[None], local[:, :, None], axisa=1, axisb=1, axisc=1)
        values = self._on_section(e, x, local, (1 - x) * forces[:6] + x * forces[6:])
        first = self._add(start + (local + [x * L, 0.0, 0.0]) @ axes.T, np.einsum("ab,nbm->nam", axes, moved), values, node)
        if key is not None:
            self.known[key] = first
        return first

    def _add(self, vertices: Array, shapes: Array, values: Array, node: int) -> int:
        first = self.count
        self.pieces[first] = len(self.vertices)
        self.vertices.append(vertices)
        self.shapes.append(shapes)
        self.values.append(values)
        self.places += [node] * len(vertices)
        self.count += len(vertices)
        return first

    def _on_section(self, e: int, x: float, local: Array, S: Array) -> Array:
        """Section forces (6), σ = N/A + My z/Iy − Mz y/Iz, τ = T r/J, strain and curvatures at corners of a section."""
        a, b = self.group.sections[e]
        A, Iy, Iz, J, r = ((1 - x) * getattr(a, k) + x * getattr(b, k) for k in ("area", "Iy", "Iz", "torsion", "torsion_radius"))
        E, y, z = self.group.material.E, local[:, 1, None], local[:, 2, None]
        N, T, My, Mz = S[0], S[3], S[4], S[5]
        sigma = N / A + My * z / Iy - Mz * y / Iz
        same = np.ones((len(local), 1))
        rows = [*(same * s for s in S), sigma, same * T * (r / J), sigma / E, same * My / (E * Iy), same * Mz / (E * Iz)]
        return np.stack(rows, axis=1)

    def skin(self, a: int, b: int, n: int) -> None:
        """Two triangles for each side between two rings."""
        for i in range(n):
            j = (i + 1) % n
            self.faces += [(a + i, a + j, b + j), (a + i, b + j, b + i)]

    def caps(self, rings: list[int], n: int) -> None:
        """Ends that nothing is fastened to; corners of their own, so that edges stay sharp."""
        for first in rings:
            k = self.pieces[first]
            start = self._add(self.vertices[k], self.shapes[k], self.values[k], self.places[first])
            self.faces += [(start, start + i, start + i + 1) for i in range(1, n - 1)]

    def surface(self) -> Surface:
        """The tubes with their fields."""
        values = np.concatenate(self.values)
        named = [(f, _FORCE_UNITS[f], k) for k, f in enumerate(FORCES)]
        single = [("stress", "Pa", 6), ("strain", "", 8), ("curvature y", "1/m", 9), ("curvature z", "1/m", 10), *named]
        fields = [Field("von mises", "Pa", values[:, 6:8], MISES[2])]
        fields += [Field(name, unit, values[:, k : k + 1]) for name, unit, k in single]
        places = np.array(self.places)
        faces = np.array(self.faces, dtype=np.int64)
        return Surface(np.concatenate(self.vertices), np.concatenate(self.shapes), faces, fields=fields, smooth=self.smooth, places=places)


def _halves(section: Section) -> Array:
    """Half width and height of a section; of one that does not say, the radius of a round one of its area."""
    if section.half_y and section.half_z:
        return np.array([section.half_y, section.half_z])
    return np.full(2, np.sqrt(section.area / np.pi))


def _offset(group: BeamElements, e: int) -> Array:
    """Where the axis of a beam is relative to its nodes, local components: the levers hold −õ R."""
    o = -group.levers[e, :3, 3:6] @ group.axes[e]
    return np.array([o[2, 1], o[0, 2], o[1, 0]])


def hermite(x: float, L: float, ends: Array) -> tuple[Array, Array]:
    """Displacement and rotation (3, m) at the share x of a beam from the motions (12, m) of its ends, all in local axes."""
    a, b = ends[:6], ends[6:]
    h = np.array([1 - 3 * x**2 + 2 * x**3, L * (x - 2 * x**2 + x**3), 3 * x**2 - 2 * x**3, L * (x**3 - x**2)])
    d = np.array([-6 * x + 6 * x**2, L * (1 - 4 * x + 3 * x**2), 6 * x - 6 * x**2, L * (3 * x**2 - 2 * x)]) / L
    v = (a[1], a[5], b[1], b[5])
    w = (a[2], -a[4], b[2], -b[4])
    u, twist = ((1 - x) * a[k] + x * b[k] for k in (0, 3))
    along = [sum(c * y for c, y in zip(weights, field, strict=True)) for field, weights in ((v, h), (w, h), (w, -d), (v, d))]
    return np.stack([u, along[0], along[1]]), np.stack([twist, along[2], along[3]])


# --- bars, solids, points ----------------------------------------------------------------------------------------


def _group(part: ReducedStructure, group: ElementGroup) -> Surface:
    """Bars as lines, sheets and solids by those of their faces that belong to one element alone."""
    nodes, count = group.nodes, group.nodes.shape[1]
    faces: NDArray[np.int64] = np.zeros((0, 3), dtype=np.int64)
    lines = nodes if count == 2 else np.zeros((0, 2), dtype=np.int64)
    if count > 2:
        kinds = SHEETS if part.part.dofs.planar or count not in SOLIDS else SOLIDS
        if count not in kinds:
            raise InputError(f"{part.name}: elements of {count} nodes are not known to the view")
        faces = outer_faces(nodes, kinds[count])
    shift, _ = _moved(part)
    used, compact = np.unique(np.concatenate([faces.ravel(), lines.ravel()]), return_inverse=True)
    faces, lines = compact[: faces.size].reshape(-1, 3), compact[faces.size :].reshape(-1, 2)
    fields = [Field(f.name, f.unit, f.rows[used], f.metric) for f in _nodal_fields(part, group)]
    return Surface(part.part.nodes[used], shift[used], faces, lines, fields, places=used)


def outer_faces(nodes: NDArray[np.int64], faces: tuple[tuple[int, ...], ...]) -> NDArray[np.int64]:
    """Triangles of the faces that belong to one element alone."""
    found = np.concatenate([nodes[:, list(face)] for face in faces])
    _, index, times = np.unique(np.sort(found, axis=1), axis=0, return_index=True, return_counts=True)
    outer = found[np.sort(index[times == 1])]
    return np.concatenate([outer[:, [0, k, k + 1]] for k in range(1, outer.shape[1] - 1)])


def _nodal_fields(part: ReducedStructure, group: ElementGroup) -> Iterator[Field]:
    """Channels of the elements, at each node the mean of the elements around it."""
    elements = group.recovery() @ part.shapes[group.rows]  # (e, c, m)
    names, count = group.channels, group.nodes.shape[1]
    share = np.bincount(group.nodes.ravel(), minlength=len(part.part.nodes)).clip(min=1)
    at_nodes = np.zeros((len(part.part.nodes), *elements.shape[1:]))
    np.add.at(at_nodes, group.nodes.ravel(), np.repeat(elements, count, axis=0))
    at_nodes /= share[:, None, None]
    area = getattr(group, "area", None)
    if names == ["N"] and area is not None:
        stress = np.zeros_like(at_nodes)
        np.add.at(stress, group.nodes.ravel(), np.repeat(elements / np.asarray(area)[:, None, None], count, axis=0))
        stress /= share[:, None, None]
        yield Field("von mises", "Pa", stress, np.eye(1))
        yield Field("stress", "Pa", stress)
    elif all(n.startswith("s") for n in names) and len(names) in MISES:
        yield Field("von mises", "Pa", at_nodes, MISES[len(names)])
    for k, name in enumerate(names):
        yield Field(name, "Pa" if name.startswith("s") else "N", at_nodes[:, k : k + 1])


def _markers(part: ReducedStructure) -> Surface:
    """A part of matrices alone: a small octahedron at each node."""
    nodes = part.part.nodes
    size = 0.012 * max(float(np.ptp(nodes, axis=0).max()), 1e-9)
    corners = size * np.concatenate([np.eye(3), -np.eye(3)])
    faces = np.array([(i, j, k) for i in (0, 3) for j in (1, 4) for k in (2, 5)])
    shift, _ = _moved(part)
    places = np.repeat(np.arange(len(nodes)), 6)
    return Surface(
        (nodes[:, None] + corners).reshape(-1, 3),
        shift[places],
        (6 * np.arange(len(nodes))[:, None, None] + faces).reshape(-1, 3),
        places=places,
    )


# --- a part alone ------------------------------------------------------------------------------------------------


def structure_scene(part: ReducedStructure, stress: str | None = "displacement") -> Scene:
    """The shapes of a reduced part moving, coloured by a field; frequencies are those with its frame held."""
    surface = surface_of(part)
    surface.shown = None if stress is None else surface.field(stress).name
    frequencies = np.sqrt(np.maximum(np.diag(part.stiffness) / np.diag(part.M_ee), 0.0)) / (2 * np.pi)
    scene = Scene(part.name, [Body(part.name, surface=surface, info={"mass": float(f"{part.mass:.6g}")}, colour="#7d8797")])
    for name, frequency, unit in zip(part.names, frequencies, np.eye(part.modes), strict=True):
        bent = amplitude_changes(part, np.zeros(part.modes), unit)
        scene.modes.append(Mode(f"{name}: {frequency:.4g} Hz", {}, float(frequency), amplitudes={part.name: bent}))
    return scene


__all__ = ["loaded_surface", "node_of", "outer_faces", "structure_scene", "surface_of"]
