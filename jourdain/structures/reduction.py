"""Reductions: from all degrees of freedom to a few shapes, seen from a floating frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..errors import InputError
from .eigen import lowest_modes, signed
from .field import invariants
from .frames import NODAL, conditions, frame_name, seen_from
from .parts.dofs import Array
from .parts.points import motion_of
from .reduced import ReducedStructure, modal_damping, point_of
from .statics import Conditioned, Held, Relieved, picked_rows

if TYPE_CHECKING:
    from .structure import Structure

KINDS = ("free-free", "fixed", "craig-bampton", "guyan", "attachment")
USUAL_MODES = 6
#: Squared frequencies nearer than this, relatively, belong to one.
EQUAL = 1e-6


def reduce(
    part: Structure,
    modes: int | None = None,
    frame: str = "mean axes",
    kind: str | None = None,
    *,
    at: Any = None,
    fixed: Any = None,
    interfaces: Sequence[Any] | None = None,
    bending: Any = None,
    damping: float | ArrayLike | Mapping[str, float] | None = None,
    normalise: str = "largest",
) -> ReducedStructure:
    """An elastic body of few coordinates, natural shapes sorted by frequency.

    Args:
        modes: number of natural modes (None: six, or as many as there are).
        frame: "mean axes", "tangent", "pinned", "nodal-fixed" or "principal axes"; `at` names the nodes of the nodal ones.
        kind: "free-free" natural modes of the free part; "fixed" natural modes with the nodes `fixed` held, or with the conditions of a nodal
            frame held (the default of such frames); "craig-bampton" static shapes of `interfaces` and modes with these held;
            "guyan" static shapes of the nodes `fixed` alone; "attachment" free-free modes and shapes of unit loads at `interfaces` under inertia
            relief.
        interfaces: names or nodes (all interfaces, or all named nodes, unless given).
        bending: a direction ("x", "y", "z" or a vector) to which a straight part's bending is limited.
        damping: see :func:`jourdain.structures.reduced.modal_damping`.
        normalise: "largest": the largest displacement of a node is 1 (coordinates in metres), in the frame; "mass": unit modal masses.
    """
    if normalise not in ("largest", "mass"):
        raise InputError(f"{part.name}: normalise = '{normalise}' is unknown; there are largest, mass")
    name = frame_name(frame)
    chosen = kind or ("fixed" if name in NODAL else "free-free")
    if chosen not in KINDS:
        raise InputError(f"{part.name}: reduction '{kind}' is unknown; there are {', '.join(KINDS)}")
    if chosen == "free-free" and name in NODAL:
        raise InputError(
            f"{part.name}: free-free modes with frame '{name}' describe motions that the frame forbids; take frame='mean axes', or kind='fixed' or "
            "'craig-bampton' with this frame"
        )
    refuse_what_is_not_used(part.name, name, chosen, at, fixed, interfaces)
    part.require_sound()
    B = conditions(part, name, at)
    space = Space.of(part, bending)
    shapes = aligned(part, space.T @ basis(space, chosen, modes, B, fixed, interfaces))
    shapes, _ = seen_from(part, B, shapes)
    if normalise == "largest":
        shapes = unit_displacement(part, shapes)
    return record(part, name, chosen, B, shapes, damping)


def refuse_what_is_not_used(part: str, frame: str, kind: str, at: Any, fixed: Any, interfaces: Any) -> None:
    """No option may be given that the chosen reduction or frame does not look at."""
    if at is not None and frame not in NODAL:
        raise InputError(f"{part}: at = {at!r} is for the frames {', '.join(NODAL)}; '{frame}' follows all nodes")
    if fixed is not None and kind not in ("fixed", "guyan"):
        raise InputError(f"{part}: fixed = {fixed!r} is for kind='fixed' or 'guyan', not '{kind}'")
    if interfaces is not None and kind not in ("craig-bampton", "attachment"):
        raise InputError(f"{part}: interfaces = {interfaces!r} are for kind='craig-bampton' or 'attachment', not '{kind}'")
    if fixed is None and kind == "fixed" and frame not in NODAL:
        raise InputError(f"{part}: kind='fixed' with frame '{frame}' needs fixed=, the nodes that are held")


def aligned(part: Structure, shapes: Array) -> Array:
    """Shapes of equal frequency turned among each other such that they move along x, y or z where they can; signs set."""
    square = np.einsum("ni,ni->i", shapes, part.K @ shapes)
    turned = shapes.copy()
    first = 0
    for last in range(1, len(square) + 1):
        if last < len(square) and abs(square[last] - square[last - 1]) < EQUAL * square[last]:
            continue
        if last - first > 1:
            phi = part.field.sampled(shapes[:, first:last])
            shares = np.einsum("a,pai,paj->ij", np.array([1.0, 2.0, 3.0]), part.field.weighed(phi), phi, optimize=True)
            turned[:, first:last] = shapes[:, first:last] @ np.linalg.eigh(shares)[1]
        first = last
    return signed(turned)


def unit_displacement(part: Structure, shapes: Array) -> Array:
    """Shapes whose largest nodal displacement is 1; where nodes only turn, the largest rotation."""
    moves = (part.dofs.components < 3)[:, None]
    moved, turned = np.abs(np.where(moves, shapes, 0.0)), np.abs(np.where(moves, 0.0, shapes))
    length = float(np.ptp(part.nodes, axis=0).max()) or 1.0
    translation, rotation = moved.max(axis=0, initial=0.0), turned.max(axis=0, initial=0.0)
    return np.asarray(shapes / np.where(translation > 1e-9 * length * rotation, translation, rotation))


def record(part: Structure, frame: str, kind: str, B: Array, shapes: Array, damping: Any) -> ReducedStructure:
    """The numbers of a body with the given shapes, which fulfil the frame's conditions."""
    found = invariants(part.field, part.rigid, shapes, part.linear_displacements)
    stiffness = stiffness_of(part, shapes)
    points = {n: point_of(motion_of(part, n), shapes) for n in (*part.names, *part.interfaces)}
    return ReducedStructure(
        name=part.name,
        frame=frame,
        kind=kind,
        names=[f"mode{i + 1}" for i in range(shapes.shape[1])],
        mass=found.mass,
        s0=found.s0,
        s1=found.s1,
        J0=found.J0,
        J1=found.J1,
        J2=found.J2,
        D0=found.D0,
        D1=found.D1,
        M_ee=found.M_ee,
        stiffness=stiffness,
        damping=modal_damping(stiffness, found.M_ee, damping, part, shapes),
        points=points,
        part=part,
        shapes=shapes,
        conditions=B,
    )


def stiffness_of(part: Structure, shapes: Array) -> Array:
    """Φᵀ K Φ; couplings below the rounding of their terms are zero, so that natural shapes of every mesh have the same pattern."""
    K = shapes.T @ (part.K @ shapes)
    size = np.abs(shapes)
    rounding = np.finfo(float).eps * (size.T @ (abs(part.K) @ size))
    rounding[np.diag_indices_from(rounding)] = 0.0
    return np.asarray(np.where(np.abs(K) + np.abs(K.T) < rounding + rounding.T, 0.0, 0.5 * (K + K.T)))


@dataclass(frozen=True, eq=False)
class Space:
    """The displacements δ = T q that a reduction starts from: rigid patches made rigid, bending limited to one direction."""

    part: Structure
    T: sp.csc_array
    K: sp.csc_array
    M: sp.csc_array
    R: Array  #: rigid motions in q

    @classmethod
    def of(cls, part: Structure, bending: Any = None) -> Space:
        T = patches(part)
        if bending is not None:
            T = sp.csc_array(T @ bent(part, T, bending))
        if T.shape[0] == T.shape[1] and bending is None:
            return cls(part, T, part.K, part.M, part.rigid[:, part.dofs.rigid_columns])
        gram = sp.csc_array(T.T @ T)
        R = part.rigid[:, part.dofs.rigid_columns]
        q = sp.linalg.spsolve(gram, T.T @ R).reshape(T.shape[1], -1)
        if bending is not None:  # those rigid motions that stay within the space
            scale = np.linalg.norm(R, axis=0)
            _, size, V = np.linalg.svd((R - T @ q) / scale, full_matrices=False)
            inside = V[size < 1e-9] / scale
            q = q @ inside.T
        return cls(part, T, sp.csc_array(T.T @ part.K @ T), sp.csc_array(T.T @ part.M @ T), q)

    @property
    def size(self) -> int:
        return self.K.shape[0]

    @property
    def where(self) -> tuple[Any, Array]:
        """The node of each coordinate (a patch's first) and the places of nodes."""
        return self.part.dofs.nodes[self.T.indices[self.T.indptr[:-1]]], self.part.nodes

    def label(self, row: int) -> str:
        start, stop = self.T.indptr[row : row + 2]
        return self.part.dofs.label(int(self.T.indices[start:stop][np.argmax(np.abs(self.T.data[start:stop]))]))

    def relieved(self) -> Relieved:
        return Relieved(self.K, self.M, self.R, self.part.name, self.label, self.where)

    def held(self, B: sp.sparray | Array) -> Held | Conditioned:
        """The space held by conditions (c, q), which must hold its rigid motions; dependent rows are left out."""
        rows = sp.csr_array(B)
        rows = sp.csr_array(rows[np.flatnonzero(abs(rows).max(axis=1).toarray().ravel() > 0)])
        keep = independent(rows)
        rows = sp.csr_array(rows[keep])
        on_rigid = rows @ self.R
        if np.linalg.matrix_rank(on_rigid / np.maximum(np.linalg.norm(on_rigid, axis=0), 1e-300), tol=1e-9) < self.R.shape[1]:
            raise InputError(
                f"{self.part.name}: the nodes that are held do not stop all rigid motions; hold more nodes, or nodes further apart"
            )
        picked = picked_rows(rows)
        if picked is not None:
            return Held(self.K, picked, self.part.name, self.label, self.where)
        return Conditioned(self.K, rows, self.R, self.part.name, self.label, self.where)


def independent(rows: sp.csr_array) -> Any:
    """Numbers of linearly independent rows."""
    if not rows.shape[0]:
        return np.zeros(0, dtype=np.int64)
    if (np.diff(rows.indptr) == 1).all() and len(np.unique(rows.indices)) == rows.shape[0]:
        return np.arange(rows.shape[0])
    used = np.unique(rows.indices)
    dense = rows[:, used].toarray()
    dense = dense / np.linalg.norm(dense, axis=1, keepdims=True)
    _, r, order = sl.qr(dense.T, pivoting=True, mode="economic")
    size = np.abs(np.diag(r))
    return np.sort(order[: int((size > 1e-10 * size[0]).sum())])


def patches(part: Structure) -> sp.csc_array:
    """T of rigid interfaces: the nodes of each follow six coordinates of its point (RBE2)."""
    size = len(part.dofs)
    rigid = [i for i in part.interfaces.values() if i.kind == "rigid" and len(i.nodes) > 1]
    taken = np.zeros(size, dtype=bool)
    blocks = []
    for interface in rigid:
        rows = part.dofs.of(interface.nodes)
        if taken[rows].any():
            node = int(part.dofs.nodes[rows[taken[rows]][0]])
            raise InputError(f"interface '{interface.name}': node {node} belongs to another rigid interface already")
        taken[rows] = True
        motions = part.dofs.rigid_motions(part.nodes - interface.position)[:, part.dofs.rigid_columns]
        blocks.append(sp.csc_array(sp.diags_array(np.isin(np.arange(size), rows).astype(float)) @ sp.csc_array(motions)))
    free = np.flatnonzero(~taken)
    single = sp.csc_array((np.ones(len(free)), (free, np.arange(len(free)))), shape=(size, len(free)))
    return sp.csc_array(sp.hstack([single, *blocks])) if blocks else single


def bent(part: Structure, T: sp.csc_array, bending: Any) -> sp.csc_array:
    """Coordinates of bending along one direction d of a straight part along t: displacement d and rotation t × d of each node."""
    if T.shape[0] != T.shape[1]:
        raise InputError(f"{part.name}: bending= and rigid interfaces of several nodes do not go together")
    d = np.eye(3)["xyz".index(bending)] if bending in ("x", "y", "z") else np.asarray(bending, float)
    if d.shape != (3,) or not np.linalg.norm(d) > 0:
        raise InputError(f"{part.name}: bending = {bending!r} is no direction; take 'x', 'y', 'z' or a vector")
    _, size, axes = np.linalg.svd(part.nodes - part.nodes.mean(axis=0), full_matrices=False)
    if size[1] > 1e-6 * size[0]:
        raise InputError(f"{part.name}: bending= is for parts whose nodes lie on a line")
    t = axes[0]
    d = d - t * (t @ d)
    if np.linalg.norm(d) < 1e-6:
        raise InputError(f"{part.name}: bending = {bending!r} is along the part; take a direction across it")
    d = d / np.linalg.norm(d)
    n = np.cross(t, d)
    columns = []
    for first, vector in ((0, d), (3, n)):
        rows = part.dofs.table[:, first : first + 3]
        here = np.flatnonzero((rows >= 0).all(axis=1) if not part.dofs.planar else (rows >= 0).any(axis=1))
        for i in here:
            there = np.flatnonzero(rows[i] >= 0)
            columns.append((rows[i][there], vector[there]))
    data = np.concatenate([v for _, v in columns])
    index = np.concatenate([r for r, _ in columns])
    number = np.repeat(np.arange(len(columns)), [len(r) for r, _ in columns])
    return sp.csc_array((data, (index, number)), shape=(len(part.dofs), len(columns)))


def basis(space: Space, kind: str, modes: int | None, B: Array, fixed: Any, interfaces: Any) -> Array:
    """Shapes (q, m) of a reduction; rigid motions may be in their span only where the frame takes them out."""
    if kind == "free-free":
        return free_modes(space, modes)[1]
    if kind == "attachment":
        return attachment(space, modes, interfaces)
    if kind == "fixed":
        rows = B @ space.T if fixed is None else boundary(space, fixed)
        return fixed_modes(space, space.held(rows), modes)[1]
    if kind == "guyan":
        if modes:
            raise InputError(
                f"{space.part.name}: Guyan's condensation has static shapes only, not modes={modes}; take kind='craig-bampton'"
            )
        return component_modes(space, fixed, 0)
    return component_modes(space, interfaces, 0 if modes is None else modes)


def free_modes(space: Space, modes: int | None) -> tuple[Array, Array]:
    most = space.size - space.R.shape[1] - massless(space.M)
    count = min(USUAL_MODES, most) if modes is None else modes
    return lowest_modes(space.relieved(), space.K, space.M, count, most, space.part.name)


def fixed_modes(space: Space, held: Held | Conditioned, modes: int | None) -> tuple[Array, Array]:
    most = space.size - held.B.shape[0] - massless(space.M)
    count = min(USUAL_MODES, most) if modes is None else modes
    return lowest_modes(held, space.K, space.M, count, most, space.part.name)


def massless(M: sp.csc_array) -> int:
    """Number of degrees of freedom without mass."""
    return int((M.diagonal() == 0).sum())


def boundary(space: Space, points: Any) -> sp.csr_array:
    """Conditions (c, q) that hold nodes or interfaces; all interfaces, or all named nodes, where none are given."""
    part = space.part
    if points is None:
        points = list(part.interfaces or part.names)
        if not points:
            raise InputError(f"{part.name}: it has no interface and no named node; name some with part.interface(…)")
    if isinstance(points, str | int | np.integer):
        points = [points]
    rows = []
    for p in points:
        if isinstance(p, str) and p in part.sets:
            rows.append(sp.eye_array(len(part.dofs), format="csr")[part.dofs.of(part.sets[p])])
        else:
            operator = motion_of(part, p).operator
            rows.append(operator[np.flatnonzero(abs(operator).max(axis=1).toarray().ravel() > 0)])
        rows[-1] = sp.csr_array(rows[-1] @ space.T)
        if isinstance(p, str) and p in part.interfaces and part.interfaces[p].kind == "rigid" and len(part.interfaces[p].nodes) > 1:
            rows[-1].data[np.abs(rows[-1].data) < 0.5] = 0.0  # the point's motion is the patch's: one coordinate a row, and rounding
    stacked = sp.csr_array(sp.vstack(rows))
    stacked.eliminate_zeros()
    return stacked


def component_modes(space: Space, points: Any, modes: int) -> Array:
    """Static shapes of the boundary, modes with the boundary held, and no rigid motion: natural shapes of the reduced free body."""
    held = space.held(boundary(space, points))
    static = held.prescribed(np.eye(held.B.shape[0]))
    shapes = np.hstack([static, fixed_modes(space, held, modes)[1]]) if modes else static
    rigid = np.zeros((shapes.shape[1], space.R.shape[1]))
    rigid[: held.B.shape[0]] = held.B @ space.R
    return natural(space, shapes, rigid)


def natural(space: Space, shapes: Array, rigid: Array) -> Array:
    """The natural shapes of K, M on the span of `shapes`, whose combinations `rigid` are the rigid motions; sorted by frequency.

    They are sought a second time among themselves: the first matrices may be badly conditioned, those of natural shapes are not.
    """
    M, K = on_shapes(space, shapes)
    Z = sl.null_space((M @ rigid).T)
    first = shapes @ (Z @ sl.eigh(Z.T @ K @ Z, Z.T @ M @ Z)[1])
    M, K = on_shapes(space, first)
    return signed(first @ sl.eigh(K, M)[1])


def on_shapes(space: Space, shapes: Array) -> tuple[Array, Array]:
    """M and K of the coordinates of shapes."""
    return np.asarray(shapes.T @ (space.M @ shapes)), np.asarray(shapes.T @ (space.K @ shapes))


def attachment(space: Space, modes: int | None, points: Any) -> Array:
    """Free-free modes, and displacements under unit loads at interfaces with inertia relief; orthogonal and without rigid motions."""
    relieved = space.relieved()
    most = space.size - space.R.shape[1] - massless(space.M)
    square, normal = lowest_modes(relieved, space.K, space.M, min(USUAL_MODES, most) if modes is None else modes, most, space.part.name)
    loads = boundary(space, points).toarray().T
    rest = relieved.solve(loads) - normal @ ((normal.T @ loads) / square[:, None])
    rest = np.hstack([normal, rest[:, np.abs(rest).max(axis=0) > 0]])
    M = rest.T @ (space.M @ rest)
    size = np.sqrt(np.diag(M))
    values, V = np.linalg.eigh(M / np.outer(size, size))
    kept = rest @ (V[:, values > 1e-10] / size[:, None])
    return natural(space, kept, np.zeros((kept.shape[1], 0)))
