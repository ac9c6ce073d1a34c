"""A scene: the shapes of all bodies, ready to be searched for contacts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError
from ...native.record import Table
from .ahead import collide_ahead, time_of_impact
from .broad import allowed
from .geometry import Piece, pieces
from .records import KINDS, NAMED, PLANE, Contact, Solid, World
from .rows import Rows
from .search import collide, search
from .sorts import SORTS

#: Names of kinds for messages.
NAMES = ("plane", "sphere", "capsule", "box", "cylinder", "cone", "ellipsoid", "polyhedron", "torus", "mesh")
#: Room for points of polytopes and patches.
EPA_POINTS, EPA_FACES, PATCH, STACK = 192, 512, 64, 512
#: Neighbours of a shape for which there is room; where there are more, shapes are looked at in portions.
NEIGHBOURS = 16


@dataclass(frozen=True)
class Placed:
    """A shape on a body (−1: the ground), where it is in the body's frame, and what it may touch.

    ``shape`` is a shape of a model or a pair (kind, sizes) such as ("sphere", (0.1,)).  Two shapes may touch where a bit of the ``group`` of one is in
    ``against`` of the other; by default all may.
    """

    body: int
    shape: Any
    position: Any = (0.0, 0.0, 0.0)
    rotation: Any = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    group: int = 1
    against: int = -1


class Scene:
    """Shapes on bodies, and the search for their contacts.

    Shapes of one body never touch each other, nor do those of bodies in ``exclude``, pairs of bodies.  United shapes are taken apart: ``source[i]``
    is the number of the given shape that shape i of a contact is a part of.

    >>> import jourdain as jd
    >>> scene = Scene([Placed(-1, ("plane", ())), Placed(0, jd.sphere(0.1))])
    >>> found = scene.contacts([[1, 0, 0, 0, 1, 0, 0, 0, 1, 0.0, 0.0, 0.105]], margin=0.01)
    >>> len(found), round(float(found["gap"][0]), 12)
    (1, 0.005)
    """

    def __init__(self, shapes: Iterable[Placed], exclude: Iterable[tuple[int, int]] = ()) -> None:
        self.shapes = tuple(shapes)
        known: dict[Any, list[Piece]] = {}
        keys = [_key(placed.shape) for placed in self.shapes]
        for k, (key, placed) in enumerate(zip(keys, self.shapes, strict=True)):
            if key not in known:
                known[key] = pieces(k, placed.shape)
        given = [(k, placed, piece) for k, placed in enumerate(self.shapes) for piece in known[keys[k]]]
        self.source = np.array([k for k, _, _ in given], np.int64)
        self.kinds = np.array([piece.kind for _, _, piece in given], np.int64)
        self.bodies = 1 + max((placed.body for placed in self.shapes), default=-1)
        for placed in self.shapes:
            if placed.body < -1:
                raise InputError(f"shape {placed.shape}: there is no body {placed.body}; bodies count from 0, and -1 is the ground")
        self.native = _world(given)
        self._exclude(list(exclude))
        self._choose_kernels()
        self._table = Table(Contact, np.zeros(max(16, 4 * len(given)), Contact.dtype()))

    def _exclude(self, pairs: Sequence[tuple[int, int]]) -> None:
        partners: list[set[int]] = [set() for _ in range(self.bodies + 1)]
        for i, j in pairs:
            for b in (i, j):
                if not -1 <= b < self.bodies:
                    raise InputError(f"exclude: there is no body {b} in ({i}, {j}); shapes are on bodies −1 to {self.bodies - 1}")
            partners[i + 1].add(j)
            partners[j + 1].add(i)
        starts = np.concatenate([[0], np.cumsum([len(p) for p in partners])])
        self.native.excluded_from = starts.astype(np.int64)
        self.native.excluded = np.array([b for p in partners for b in sorted(p)], np.int64)

    def _choose_kernels(self) -> None:
        """Addresses of the entry points for kinds that are in the scene on different bodies."""
        solids = self.native.solids.array
        on = {k: set(solids["body"][solids["kind"] == k].tolist()) for k in sorted(set(self.kinds.tolist()))}
        kernels = np.zeros(KINDS * KINDS, np.int64)
        for first, second in itertools.combinations_with_replacement(on, 2):
            if len(on[first] | on[second]) > 1 and (first, second) != (PLANE, PLANE):
                if (first, second) in SORTS:
                    kernels[first * KINDS + second] = SORTS[first, second].address
                else:
                    self._refuse(first, second)
        self.native.kernels = kernels
        self.native.search = search.address

    def _refuse(self, first: int, second: int) -> None:
        """Raises where two shapes of kinds for which no contact is known may touch."""
        for i, j in itertools.product(np.flatnonzero(self.kinds == first).tolist(), np.flatnonzero(self.kinds == second).tolist()):
            if allowed(self.native, i, j):
                raise InputError(
                    f"shapes {self.source[i]} and {self.source[j]}: no contact is known for a {NAMES[first]} and a {NAMES[second]} of different "
                    "bodies; make one of them of convex parts (box, convex mesh, union of these), or keep them apart by exclude= or group= and against="
                )

    def contacts(self, poses: Any, margin: float = 0.01) -> np.ndarray:
        """Contacts with a gap up to ``margin`` (m) as a structured array: shape_a, shape_b, body_a, body_b, feature, point_a, point_b, normal, gap,
        curvature_a, curvature_b.  ``poses`` has a row for each body: rotation (body's to world's axes) row by row, then origin."""
        rows, margin = self._rows("poses", poses, 12), _distance("margin", margin)
        return self._found(lambda: collide(self.native, rows, margin, self._table))

    def contacts_ahead(self, poses: Any, velocities: Any, step: float, margin: float = 0.0) -> np.ndarray:
        """Contacts that may close within a step (s), with those within ``margin``: a speculative margin for every pair.

        ``velocities`` has a row for each body: angular velocity, then velocity of its origin, both in the world's axes.
        """
        rows, v, margin = self._rows("poses", poses, 12), self._rows("velocities", velocities, 6), _distance("margin", margin)
        step = _distance("step", step)
        return self._found(lambda: collide_ahead(self.native, rows, v, step, margin, self._table))

    def time_of_impact(self, poses: Any, velocities: Any, step: float, tolerance: float = 1e-6) -> tuple[float, int, int]:
        """When, within a step, two shapes that are apart first come within ``tolerance`` (m), and which; (step, −1, −1) where none do.

        >>> scene = Scene([Placed(-1, ("box", (1.0, 1.0, 1e-4))), Placed(0, ("sphere", (0.1,)))])
        >>> t, *pair = scene.time_of_impact([[1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 5.1]], [[0, 0, 0, 0, 0, -1000.0]], step=1.0)
        >>> round(t, 6), pair
        (0.005, [0, 1])
        """
        rows, v = self._rows("poses", poses, 12), self._rows("velocities", velocities, 6)
        step, tolerance = _distance("step", step), _distance("tolerance", tolerance)
        while True:
            t, a, b = time_of_impact(self.native, rows, v, step, tolerance, self._table)
            if t >= 0.0:
                return t, a, b
            self._make_room(int(-t))

    def _rows(self, name: str, given: Any, width: int) -> np.ndarray:
        """An array with a row for each body, checked."""
        rows = np.ascontiguousarray(given, float).reshape(-1, width)
        if len(rows) < self.bodies:
            raise InputError(f"{name}: {len(rows)} rows of {width} numbers for {self.bodies} bodies; give a row for each body")
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if bad.size:
            raise InputError(f"{name}: row {bad[0]}, that of body {bad[0]}, is not finite: {rows[bad[0]]}")
        return rows[: self.bodies]

    def _make_room(self, count: int) -> None:
        self._table = Table(Contact, np.zeros(2 * count, Contact.dtype()))

    def _found(self, ask: Callable[[], int]) -> np.ndarray:
        """The contacts that a search finds, with room for all of them."""
        count = ask()
        if count < 0:
            self._make_room(-count)
            count = ask()
        return self._table.array[:count].view(NAMED).copy()


def _key(shape: Any) -> Any:
    """By what a shape is known again: itself, or where it is in memory if it holds arrays."""
    try:
        hash(shape)
    except TypeError:
        return id(shape)
    return shape


def _distance(name: str, value: float) -> float:
    if not 0.0 <= value < np.inf:
        raise InputError(f"{name} = {value} is not a number ≥ 0")
    return float(value)


def _world(given: list[tuple[int, Placed, Piece]]) -> World:
    """The record of a scene with its work space."""
    n = len(given)
    local, rows = _places(given), Rows()
    solids = np.array(
        [
            (piece.kind, placed.body, placed.group, placed.against, rows.add(piece.hull), *piece.sizes, piece.rounding, piece.size, 0.0)
            for _, placed, piece in given
        ],
        Solid.dtype(),
    )
    kinds = solids["kind"]
    bounded = np.flatnonzero(kinds != PLANE).astype(np.int64)
    room = n + NEIGHBOURS * len(bounded)
    leaves = 1 << max(0, int(np.ceil(np.log2(max(1, len(bounded))))))
    patch = max(PATCH, 3 * rows.most_corners)
    return World(
        solids=Table(Solid, solids),
        local=local,
        world=np.zeros_like(local),
        boxes=np.zeros((max(n, 1), 6)),
        bounded=bounded,
        planes=np.flatnonzero(kinds == PLANE).astype(np.int64),
        keys=np.zeros(len(bounded), np.int64),
        order=np.zeros(len(bounded), np.int64),
        spare=np.zeros(2 * len(bounded), np.int64),
        counts=np.zeros(1024, np.int64),
        tree=np.zeros((2 * leaves, 6)),
        leaf=np.zeros(2 * leaves, np.int64),
        stack=np.zeros(STACK, np.int64),
        pairs=np.zeros(2 * room, np.int64),
        starts=np.zeros(n + 2, np.int64),
        neighbours=np.zeros(room, np.int64),
        found=np.zeros(max(n, 1), np.int64),
        kept=np.zeros((max(n, 1), 13)),
        least=float(solids["size"][bounded].min(initial=np.inf)),
        simplex=np.zeros((4, 10)),
        face_a=np.zeros((rows.most_corners, 7)),
        face_b=np.zeros((rows.most_corners, 7)),
        patch=np.zeros((patch, 6)),
        taken=np.zeros(patch, np.int64),
        epa_points=np.zeros((EPA_POINTS, 9)),
        epa_faces=np.zeros((EPA_FACES, 4)),
        epa_corners=np.zeros(3 * EPA_FACES, np.int64),
        epa_edges=np.zeros(2 * EPA_FACES, np.int64),
        corner=np.zeros(9),
        corner_code=np.zeros(3, np.int64),
        window=np.zeros(6),
        ahead=np.zeros((int(solids["body"].max(initial=-1)) + 1, 12)),
        touching=np.zeros(room, np.int64),
        **rows.arrays(),
    )


def _places(given: list[tuple[int, Placed, Piece]]) -> np.ndarray:
    """Poses of all pieces in their bodies."""
    R = np.array([placed.rotation for _, placed, _ in given], float).reshape(-1, 3, 3)
    p = np.array([placed.position for _, placed, _ in given], float).reshape(-1, 3)
    off = np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2), initial=0.0)
    bad = np.flatnonzero((off > 1e-9) | (np.linalg.det(R) < 0) | ~np.isfinite(p).all(axis=1))
    if bad.size:
        k, placed, _ = given[bad[0]]
        raise InputError(f"shape {k}: rotation {placed.rotation} is not a rotation matrix, or position {placed.position} is not finite")
    own_R, own_p = np.array([piece.rotation for *_, piece in given]).reshape(-1, 3, 3), np.array([piece.position for *_, piece in given])
    local = np.zeros((max(len(given), 1), 12))
    if given:
        local[:, :9] = (R @ own_R).reshape(-1, 9)
        local[:, 9:] = p + np.einsum("nij,nj->ni", R, own_p)
    return local
