"""What the search for contacts works on: shapes, their places, the tree of their boxes, and the contacts found."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import address as at
from ...native.call import integers
from ...native.kernel import hot, jit
from ...native.record import Address, Floats, Integers, Matrix, Record, Table

#: Kinds of shapes; pairs are looked at with the smaller kind first.
PLANE, SPHERE, CAPSULE, BOX, CYLINDER, CONE, ELLIPSOID, POLYHEDRON, TORUS, MESH = range(10)
KINDS = 10
#: The largest number of points by which a patch is represented.
MOST_POINTS = 8


class Contact(Record):
    """A pair of points, one on each of two shapes, that touch or are near each other.

    ``normal`` (nx, ny, nz) has length one and points from shape b towards shape a; the gap is n·(point_a − point_b), negative where the
    shapes penetrate.  ``feature`` says which vertices, edges or faces meet: it stays the same while they do.  Curvatures are means of the two
    principal curvatures of the surfaces at the points (1/m), zero on flat faces, at edges and at corners.
    """

    shape_a: int
    shape_b: int
    body_a: int
    body_b: int
    feature: int
    ax: float
    ay: float
    az: float
    bx: float
    by: float
    bz: float
    nx: float
    ny: float
    nz: float
    gap: float
    curvature_a: float
    curvature_b: float


WORDS = Contact.struct.words
#: The same memory with points and normals as vectors.
NAMED = np.dtype(
    [(name, np.int64) for name in ("shape_a", "shape_b", "body_a", "body_b", "feature")]
    + [(name, np.float64, (3,)) for name in ("point_a", "point_b", "normal")]  # type: ignore[list-item]
    + [(name, np.float64) for name in ("gap", "curvature_a", "curvature_b")]
)


class Solid(Record):
    """A shape: its kind, its body (−1: the ground), what it may touch, its sizes and where its vertices, faces or triangles begin."""

    kind: int
    body: int
    group: int
    against: int
    hull: int
    x: float
    y: float
    z: float
    radius: float
    size: float
    reach: float


class Hull(Record):
    """A convex polyhedron or a surface of triangles: where its rows are in the arrays of a scene."""

    first_vertex: int
    vertices: int
    first_face: int
    faces: int
    first_ring: int
    ring: int
    first_node: int
    nodes: int


class World(Record):
    """Everything that native code knows of a scene, with its work space."""

    solids: Table[Solid]
    hulls: Table[Hull]
    #: Poses of shapes in their bodies, and in the world.
    local: Matrix
    world: Matrix
    #: Boxes around shapes: least and largest x, y, z.
    boxes: Matrix
    #: Shapes with a box, and half-spaces, which have none.
    bounded: Integers
    planes: Integers
    #: Bodies that do not touch body b: excluded[excluded_from[b + 1] : excluded_from[b + 2]].
    excluded_from: Integers
    excluded: Integers
    #: Vertices; faces of polyhedra as normal and distance from the origin, as first corner and number of corners; corners.
    vertices: Matrix
    face_planes: Matrix
    face_corners: Integers
    corners: Integers
    #: Surfaces (see :class:`~.surfaces.Surface`) and the trees of their boxes.
    triangles: Integers
    triangle_normals: Matrix
    beyond: Integers
    sharp: Integers
    away: Matrix
    outstanding: Integers
    vertex_owner: Integers
    ring_from: Integers
    ring: Integers
    nodes: Matrix
    node_triangle: Integers
    #: The tree of boxes in this instant.
    keys: Integers
    order: Integers
    spare: Integers
    counts: Integers
    tree: Matrix
    leaf: Integers
    stack: Integers
    #: Pairs whose boxes meet, and for every shape those after it.
    pairs: Integers
    starts: Integers
    neighbours: Integers
    found: Integers
    #: Where shapes were when pairs were found, and how far their boxes reached around them; by how much boxes were wider than needed, whether these pairs may be
    #: used again, how often they were, and the smallest shape.
    kept: Matrix
    slack: float
    held: int
    looks: int
    least: float
    #: Work space of the narrow phase.
    simplex: Matrix
    face_a: Matrix
    face_b: Matrix
    patch: Matrix
    taken: Integers
    epa_points: Matrix
    epa_faces: Matrix
    epa_corners: Integers
    epa_edges: Integers
    #: The triangle that is looked at: corners, their numbers, how many of them count; the box around the other shape in the surface's axes.
    corner: Floats
    corner_code: Integers
    flat: int
    window: Floats
    #: Poses later in a step, and pairs that touch at its start.
    ahead: Matrix
    touching: Integers
    #: What is asked, and what is found.
    kernels: Integers
    search: Address
    poses: Matrix
    margin: float
    contacts: Table[Contact]
    count: int
    tests: int
    #: The pair that is looked at: shapes in order of their kinds, the distance within which contacts are wanted, a triangle of a surface.
    a: int
    b: int
    near: float
    triangle: int
    #: Where it is not 0, contacts of this body alone (counted from 1) are looked for.
    only: int


@hot
def between(scene: Any) -> Any:
    """The origin of the second shape of the pair as seen from that of the first, in the world's axes."""
    p, a, b = scene.world, scene.a, scene.b
    return p[b, 9] - p[a, 9], p[b, 10] - p[a, 10], p[b, 11] - p[a, 11]


@jit
def emit(scene: Any, pa: Any, pb: Any, n: Any, feature: int, ka: float, kb: float) -> None:
    """Adds a contact of the present pair; points are seen from the origin of its first shape, n goes from the second to the first."""
    gap = (pa[0] - pb[0]) * n[0] + (pa[1] - pb[1]) * n[1] + (pa[2] - pb[2]) * n[2]
    k = scene.count
    scene.count = k + 1
    if k >= scene.contacts.size:
        return
    c, a, b = scene.contacts[k], scene.a, scene.b
    x, y, z = scene.world[a, 9], scene.world[a, 10], scene.world[a, 11]
    c.gap, c.feature = gap, feature
    if a < b:
        c.shape_a, c.shape_b = a, b
        c.nx, c.ny, c.nz = n[0], n[1], n[2]
        c.ax, c.ay, c.az = x + pa[0], y + pa[1], z + pa[2]
        c.bx, c.by, c.bz = x + pb[0], y + pb[1], z + pb[2]
        c.curvature_a, c.curvature_b = ka, kb
    else:
        c.shape_a, c.shape_b = b, a
        c.nx, c.ny, c.nz = -n[0], -n[1], -n[2]
        c.bx, c.by, c.bz = x + pa[0], y + pa[1], z + pa[2]
        c.ax, c.ay, c.az = x + pb[0], y + pb[1], z + pb[2]
        c.curvature_a, c.curvature_b = kb, ka
    c.body_a, c.body_b = scene.solids[c.shape_a].body, scene.solids[c.shape_b].body


@jit
def sort_by_feature(contacts: Any, first: int, last: int) -> None:
    """Puts a few rows in order of their features."""
    for i in range(first + 1, last):
        j = i
        while j > first and contacts[j - 1].feature > contacts[j].feature:
            p, q = integers(at(contacts[j - 1]), WORDS), integers(at(contacts[j]), WORDS)
            for k in range(WORDS):
                p[k], q[k] = q[k], p[k]
            j -= 1


__all__ = ["NAMED", "Contact", "Hull", "Solid", "World", "between", "emit", "sort_by_feature"]
