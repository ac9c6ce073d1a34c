"""A structure: nodes, degrees of freedom, mass and stiffness of a free elastic part, with named points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import splu

from ..errors import InputError
from ..shown import Shown
from .field import MassField, nodal_field, rigid_inertia
from .parts.dofs import Array, Dofs, dofs_of

if TYPE_CHECKING:
    from .enough import Enough
    from .parts.elements import ElementGroup
    from .reduced import ReducedStructure

#: Largest relative asymmetry of M and K that is rounding.
SYMMETRIC = 1e-8
KINDS = ("rigid", "average")
#: Share of the mean diagonal that keeps what costs nothing in place, and times that the rest is put right.
PROXIMITY, REFINEMENTS = 1e-8, 6


@dataclass(frozen=True, eq=False)
class Interface:
    """A named point that stands for some nodes: `kind` "rigid" makes them one rigid patch (RBE2), "average" follows their mean (RBE3)."""

    name: str
    nodes: NDArray[np.int64]
    kind: str
    position: Array
    rotation: Array  #: (3, 3) axes of the point's frame in columns
    weights: Array  #: shares of the nodes in the average


class Structure(Shown):
    """An elastic part, free in space: numbers in SI units, in the part's own coordinates.

    Args:
        nodes: positions (n, 3), or (n, 2) for parts in the plane.
        M, K: mass and stiffness, sparse or dense, one row a degree of freedom.
        dofs: components of every node ("x", "y", "z", "rx", "ry", "rz"), or a list of (node, component); None: 2, 3 or 6 a node.
        damping: a matrix like K, or None.
        field: where the mass is (see :class:`MassField`); None takes it from M.
        elements: groups of elements, from which stresses, section forces and geometric stiffness come.
        names: names of nodes. sets: names of sets of nodes.
    """

    def __init__(
        self,
        nodes: ArrayLike,
        M: Any,
        K: Any,
        dofs: object = None,
        *,
        damping: Any = None,
        field: MassField | None = None,
        elements: Sequence[ElementGroup] = (),
        names: Mapping[str, int] | None = None,
        sets: Mapping[str, Sequence[int] | NDArray[np.int64]] | None = None,
        name: str = "structure",
    ) -> None:
        self.name = name
        points = np.asarray(nodes, float)
        if points.ndim != 2 or points.shape[1] not in (2, 3) or not len(points) or not np.isfinite(points).all():
            raise InputError(f"{name}: nodes must be an array (n, 3) of finite positions, not of shape {points.shape}")
        self.nodes: Array = np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
        self.K = symmetric(K, f"{name}: K")
        self.M = symmetric(M, f"{name}: M")
        if self.M.shape != self.K.shape:
            raise InputError(
                f"{name}: M is {shape_text(self.M)}, but K is {shape_text(self.K)}; both need a row for each degree of freedom"
            )
        self.damping = None if damping is None else symmetric(damping, f"{name}: damping")
        if self.damping is not None and self.damping.shape != self.K.shape:
            raise InputError(f"{name}: damping is {shape_text(self.damping)}, but K is {shape_text(self.K)}")
        self.dofs: Dofs = dofs if isinstance(dofs, Dofs) else dofs_of(len(self.nodes), self.K.shape[0], dofs)
        if len(self.dofs) != self.K.shape[0]:
            raise InputError(f"{name}: matrices of size {self.K.shape[0]} do not fit {len(self.dofs)} degrees of freedom")
        self.field_known = field is not None  #: whether the field of mass was given, or is a guess from M
        self.field = field if field is not None else nodal_field(self.nodes, self.dofs, self.M)
        self.elements: tuple[ElementGroup, ...] = tuple(elements)
        self.names: dict[str, int] = dict(names or {})
        self.sets: dict[str, NDArray[np.int64]] = {k: np.asarray(v, dtype=np.int64) for k, v in (sets or {}).items()}
        self.interfaces: dict[str, Interface] = {}
        #: How it was made, for model files: the generator under "kind" with its arguments, or the file it is kept in.
        self.recipe: dict[str, Any] | None = None

    # mass properties

    @cached_property
    def linear_displacements(self) -> Array | None:
        """Degrees of freedom (n, 3, 3) of the displacements x_a e_b, rotations such that they cost least; None where the field of mass is exact.

        A matrix with rotations does not say how mass moves between nodes; with these it gives the first-order change of inertia exactly for straight
        members.
        """
        if self.field_known or self.field.remainder is None:
            return None
        moves = self.dofs.components < 3
        turns = np.flatnonzero(~moves)
        fields = np.zeros((len(self.dofs), 3, 3))
        rows = np.flatnonzero(moves)
        fields[rows, :, self.dofs.components[rows]] = self.nodes[self.dofs.nodes[rows]]
        if len(turns):
            K = sp.csc_array(self.K[turns][:, turns])
            force = -(self.K @ fields.reshape(-1, 9))[turns]
            fields[turns] = _least(K, force).reshape(-1, 3, 3)
        return fields

    @cached_property
    def rigid(self) -> Array:
        """R(s), (n, 6): unit translations and small rotations about the part's origin in all degrees of freedom."""
        return self.dofs.rigid_motions(self.nodes)

    @cached_property
    def _rigid_inertia(self) -> tuple[float, Array, Array]:
        return rigid_inertia(self.field, self.rigid, np.zeros(3))

    @property
    def mass(self) -> float:
        return self._rigid_inertia[0]

    @property
    def com(self) -> Array:
        """Centre of mass of the undeformed part."""
        return self._rigid_inertia[1] / self.mass

    @property
    def inertia(self) -> Array:
        """Inertia tensor (3, 3) about the centre of mass, in the part's axes."""
        c = self.com
        return self._rigid_inertia[2] - self.mass * (c @ c * np.eye(3) - np.outer(c, c))

    # points

    def node(self, which: str | int | ArrayLike) -> int:
        """The number of a node by its name, its number or its position."""
        if isinstance(which, str):
            if which not in self.names:
                known = ", ".join(f"'{n}'" for n in (*self.names, *self.interfaces)) or "no names"
                raise InputError(f"{self.name}: no node is named '{which}'; there are {known}")
            return self.names[which]
        if isinstance(which, int | np.integer):
            if not 0 <= which < len(self.nodes):
                raise InputError(f"{self.name}: node {which} does not exist; nodes go from 0 to {len(self.nodes) - 1}")
            return int(which)
        place = np.asarray(which, float)
        if place.shape not in ((2,), (3,)):
            raise InputError(f"{self.name}: a node is given by its name, its number or its position, not by {which!r}")
        distances = np.linalg.norm(self.nodes - np.pad(place, (0, 3 - len(place))), axis=1)
        nearest = int(np.argmin(distances))
        if distances[nearest] > 1e-9 * max(1.0, float(np.abs(self.nodes).max())):
            raise InputError(
                f"{self.name}: no node is at {tuple(float(x) for x in place)}; the nearest is node {nearest} at "
                f"{tuple(float(x) for x in self.nodes[nearest])}, {distances[nearest]:.4g} m away"
            )
        return nearest

    def nodes_near(self, position: ArrayLike, radius: float) -> NDArray[np.int64]:
        """Numbers of all nodes within a radius of a position."""
        found = np.flatnonzero(np.linalg.norm(self.nodes - np.asarray(position, float), axis=1) <= radius)
        if not len(found):
            distance = float(np.linalg.norm(self.nodes - np.asarray(position, float), axis=1).min())
            raise InputError(
                f"{self.name}: no node is within {radius:g} m of {tuple(np.asarray(position, float).tolist())}; the nearest is {distance:.4g} m away"
            )
        return found

    def nodes_of(self, which: Any) -> NDArray[np.int64]:
        """Numbers of nodes by a name (of a node, set or interface), a number, or a sequence of these."""
        if isinstance(which, str):
            if which in self.sets:
                return self.sets[which]
            if which in self.interfaces:
                return self.interfaces[which].nodes
            return np.array([self.node(which)])
        if isinstance(which, int | np.integer):
            return np.array([self.node(which)])
        which = list(which) if np.iterable(which) else []
        if not which:
            raise InputError(f"{self.name}: no nodes are named; give a name, a number, or a sequence of these that is not empty")
        items = np.asarray(which) if not any(isinstance(w, str) for w in which) else None
        if items is not None and items.dtype == bool:
            return np.flatnonzero(items)
        return np.unique(np.concatenate([self.nodes_of(w) for w in which]))

    def interface(
        self,
        name: str,
        nodes: Any,
        kind: str = "rigid",
        position: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Interface:
        """Names a point that stands for some nodes, with a frame of its own (position: the nodes' mean unless given).

        "rigid": the nodes become one rigid patch (RBE2), as if glued to a stiff plate.  "average": the point follows the nodes in the
        mean, weighted by `weights` (RBE3); loads spread over them and the patch stays as soft as it is.
        """
        if kind not in KINDS:
            raise InputError(f"interface '{name}': kind '{kind}' is unknown; there are {', '.join(KINDS)}")
        if name in self.interfaces or name in self.names:
            raise InputError(f"interface '{name}': {self.name} has a point of that name already")
        found = self.nodes_of(nodes)
        shares = np.ones(len(found)) if weights is None else np.asarray(weights, float)
        if shares.shape != found.shape or (shares < 0).any() or not shares.sum() > 0:
            raise InputError(f"interface '{name}': weights must be {len(found)} numbers that are not negative, one a node")
        shares = shares / shares.sum()
        place = shares @ self.nodes[found] if position is None else np.asarray(position, float)
        axes = np.eye(3) if rotation is None else np.asarray(rotation, float)
        if axes.shape != (3, 3) or not np.allclose(axes.T @ axes, np.eye(3), atol=1e-9) or np.linalg.det(axes) < 0:
            raise InputError(f"interface '{name}': rotation must be a right-handed orthonormal (3, 3) matrix")
        rigid = self.dofs.rigid_motions(self.nodes - place)[self.dofs.of(found)][:, self.dofs.rigid_columns]
        scale = max(float(np.abs(self.nodes[found] - place).max()), 1e-300)
        size = np.array([1.0 if c < 3 else scale for c in self.dofs.rigid_columns])
        if len(found) > 1 and np.linalg.matrix_rank(rigid / size, tol=1e-6) < len(self.dofs.rigid_columns):
            raise InputError(
                f"interface '{name}': its {len(found)} nodes lie on a line and have no rotations, so that turning about the line is not "
                "defined; add a node beside the line"
            )
        self.interfaces[name] = Interface(name, found, kind, place, axes, shares)
        return self.interfaces[name]

    # diagnostics

    def faults(self) -> list[str]:
        """What is wrong with the part, as sentences; empty if nothing is."""
        from .diagnostics import faults

        return faults(self)

    @cached_property
    def _sound(self) -> str | None:
        return next(iter(self.faults()), None)

    def require_sound(self) -> None:
        """Raises the first fault."""
        if self._sound is not None:
            raise InputError(self._sound)

    def __str__(self) -> str:
        from .diagnostics import description

        return description(self)

    def __repr__(self) -> str:
        return f"<Structure {self.name}: {len(self.nodes)} nodes, {len(self.dofs)} degrees of freedom>"

    # files

    def save(self, path: str | Path) -> None:
        """Writes the part as ``.npz``, which :func:`jourdain.structures.read` reads; element types are not kept."""
        from .files import save_npz

        save_npz(self, path)
        self.recipe = {"kind": "file", "file": Path(path)}

    # pictures

    def save_page(self, path: Any, modes: int = 6, stress: str | None = "displacement", **options: Any) -> None:
        """Writes a page that shows the lowest modes of the free part moving; see :meth:`ReducedStructure.save_page`."""
        self.reduce(modes).save_page(path, stress, **options)

    def save_picture(self, path: Any, mode: int = 1, stress: str | None = "displacement", **options: Any) -> None:
        """Writes a picture of a mode of the free part, counted from 1."""
        self.reduce(mode).save_picture(path, mode, stress, **options)

    # reductions

    def frequencies(self, modes: int | None = None) -> Array:
        """The lowest natural angular frequencies (rad/s) of the part, free in space."""
        from .reduction import Space, free_modes

        self.require_sound()
        return np.sqrt(free_modes(Space.of(self), modes)[0])

    def reduce(self, modes: int | None = None, frame: str = "mean axes", kind: str | None = None, **options: Any) -> ReducedStructure:
        """A body of few elastic coordinates in a floating frame; see :func:`jourdain.structures.reduction.reduce`."""
        from dataclasses import replace

        from .reduction import reduce

        return replace(reduce(self, modes, frame, kind, **options), options={"modes": modes, "frame": frame, "kind": kind, **options})

    def fixed_frequencies(self, fixed: Any, modes: int | None = None) -> Array:
        """The lowest natural angular frequencies (rad/s) with nodes, sets or interfaces held."""
        from .reduction import Space, boundary, fixed_modes

        self.require_sound()
        space = Space.of(self)
        return np.sqrt(fixed_modes(space, space.held(boundary(space, fixed)), modes)[0])

    def enough(self, frequency: float, at: Any = None) -> Enough:
        """How many modes loads up to a frequency (Hz) at points need, and whether static shapes should join them."""
        from .enough import enough

        return enough(self, frequency, at)

    def with_mass(self, at: Any, mass: float, inertia: ArrayLike = 0.0, com: ArrayLike = (0, 0, 0)) -> Structure:
        """The part with a rigid piece fastened to a node or interface."""
        from .additions import with_mass

        return with_mass(self, at, mass, inertia, com)

    def with_spring(self, a: Any, b: Any, stiffness: ArrayLike) -> Structure:
        """The part with a spring between two points at one place, by 3 or 6 stiffnesses."""
        from .additions import with_spring

        return with_spring(self, a, b, stiffness)

    def condensed(self, masters: Any) -> Structure:
        """The part with its master nodes alone, by Guyan's static condensation."""
        from .condense import condensed

        return condensed(self, masters)

    def craig_bampton(self, modes: int = 0, frame: str = "mean axes", **options: Any) -> ReducedStructure:
        """Static shapes of all interfaces and `modes` normal modes with the interfaces held (Craig & Bampton 1968)."""
        return self.reduce(modes, frame, "craig-bampton", **options)


def _least(K: sp.csc_array, force: Array) -> Array:
    """The smallest solution of K x = f with K symmetric and positive semi-definite and f in its range: members that twist as a whole cost nothing.

    The proximal point iteration x ← x + (K + ε I)⁻¹ (f − K x) leaves what costs nothing at zero, and the rest is met to rounding.
    """
    shift = PROXIMITY * (K.diagonal().mean() or 1.0)
    factor = splu(sp.csc_array(K + shift * sp.eye_array(K.shape[0])))
    x = np.zeros_like(force)
    for _ in range(REFINEMENTS):
        x += factor.solve(force - K @ x)
    return x


def symmetric(matrix: Any, name: str) -> sp.csc_array:
    """A matrix as a sparse symmetric one, or an error that says where it is not."""
    found = sp.csc_array(matrix, dtype=float)
    if found.shape[0] != found.shape[1]:
        raise InputError(f"{name} is {shape_text(found)}; it must be square")
    if not np.isfinite(found.data).all():
        raise InputError(f"{name} has entries that are not finite")
    other = sp.csc_array(found.T)
    difference = sp.coo_array(found - other)
    scale = abs(found).max() if found.nnz else 0.0
    if difference.nnz:
        worst = int(np.argmax(np.abs(difference.data)))
        if abs(difference.data[worst]) > SYMMETRIC * scale:
            i, j = int(difference.coords[0][worst]), int(difference.coords[1][worst])
            raise InputError(f"{name} is not symmetric: entry ({i}, {j}) is {found[i, j]:.6g}, but ({j}, {i}) is {found[j, i]:.6g}")
        found = sp.csc_array(0.5 * (found + other))
    found.sort_indices()
    return found


def shape_text(matrix: sp.csc_array) -> str:
    return " × ".join(str(n) for n in matrix.shape)
