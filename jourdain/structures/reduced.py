"""A reduced structure: all that dynamics needs of an elastic body, as plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike

from ..errors import InputError
from ..shown import Shown
from .parts.dofs import Array, skew
from .parts.points import Motion, motion_of

if TYPE_CHECKING:
    from .exact import ExactFields, Reach
    from .linearity import Linearity
    from .parts.geometric import GeometricStiffness
    from .recovery import Recovery
    from .second_order import Fields
    from .structure import Structure


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the body that things are fastened to: place and axes undeformed, and how both follow the elastic coordinates.

    In body components: position r0 + phi_t e, axes (I + (phi_r e)~) R0; with the terms of second order, where they are known,
    ½ e·psi_t e and ½ e·psi_r e more (the latter of the Cardan angles about x, y, z).
    """

    name: str
    position: Array  #: r0 (3,)
    rotation: Array  #: R0 (3, 3)
    phi_t: Array  #: (3, m)
    phi_r: Array  #: (3, m)
    turns: bool  #: False for a node without rotations: its phi_r is zero and no joint may hold its orientation
    psi_t: Array | None = None  #: (3, m, m)
    psi_r: Array | None = None  #: (3, m, m)
    reach: Reach | None = None  #: where place and turn are found exactly, on a beam of order "exact"


@dataclass(frozen=True, eq=False)
class ReducedStructure(Shown):
    """An elastic body of m coordinates e in a floating frame, whatever the reduction and the frame; numbers only.

    Undeformed, the body frame is the part's own coordinate system; deflections u = Φ e are seen from it and fulfil the frame's conditions.
    With b = s + u and (v, ω) the velocity of the origin and the angular velocity, in body components, the kinetic energy is

        T = ½ ∫ |v + ω × b + Φ ė|² dm (+ rotary inertia of sections) = ½ (v, ω, ė)ᵀ M(e) (v, ω, ė),

               | m I      −c̃(e)     s1    |      c(e) = s0 + s1 e                               (first moment)
        M(e) = | c̃(e)      J(e)     D(e)  |      J(e) = J0 + Σ e_i (J1_i + J1_iᵀ) + Σ e_i e_j J2_ij
               | s1ᵀ      D(e)ᵀ     M_ee  |      D(e) = D0 + Σ e_j D1_j

    exact in e for the displacement field of the elements (Shabana, *Dynamics of Multibody Systems*, ch. 5; Nikravesh (17), (18)).  Only the
    turning of sections' rotary inertia with the deflection is left out: D and J keep its undeformed value.
    """

    name: str
    frame: str
    kind: str
    names: list[str]  #: of the elastic coordinates, e.g. "mode1"
    mass: float
    s0: Array  #: (3,) first moment of mass about the origin
    s1: Array  #: (3, m) its change with e, and the coupling of translation with ė
    J0: Array  #: (3, 3) inertia about the origin
    J1: Array  #: (m, 3, 3) ∫ s̃ᵀ φ̃_i dm
    J2: Array  #: (m, m, 3, 3) ∫ φ̃_iᵀ φ̃_j dm
    D0: Array  #: (3, m) coupling of rotation with ė
    D1: Array  #: (m, 3, m) its change: ∫ φ_j × φ_k dm at [j, :, k]
    M_ee: Array  #: (m, m)
    stiffness: Array  #: (m, m)
    damping: Array  #: (m, m)
    points: dict[str, Point]
    part: Structure = field(repr=False)
    shapes: Array = field(repr=False)  #: Φ (n, m) in all degrees of freedom
    conditions: Array = field(repr=False)  #: B of the frame, B Φ = 0
    s2: Array | None = field(
        default=None, repr=False
    )  #: (3, m, m) of c(e) = s0 + s1 e + ½ e·s2 e: what foreshortening does to the first moment
    M1: Array | None = field(default=None, repr=False)  #: (m, m, m) of M_ee + Σ e_k M1_k
    fields: Fields | ExactFields | None = field(
        default=None, repr=False
    )  #: the whole kinetic energy, where polynomials of second order do not suffice
    options: Mapping[str, Any] | None = field(default=None, repr=False)  #: of the reduction, where it was made by :meth:`Structure.reduce`

    @property
    def modes(self) -> int:
        """Number m of elastic coordinates."""
        return len(self.names)

    @property
    def frequencies(self) -> Array:
        """Angular frequencies (rad/s) with the floating frame held; for mean axes those of the free body."""
        if not self.modes:
            return np.zeros(0)
        return np.sqrt(np.maximum(sl.eigh(self.stiffness, self.M_ee, eigvals_only=True), 0.0))

    @property
    def free_frequencies(self) -> Array:
        """Angular frequencies (rad/s) of the free body with these elastic coordinates, the same in every frame."""
        if not self.modes:
            return np.zeros(0)
        mass = self.mass_matrix()
        rigid = [0, 1, 5] if self.part.dofs.planar else range(6)
        rr = mass[np.ix_(rigid, rigid)]
        re = mass[np.ix_(rigid, range(6, 6 + self.modes))]
        relieved = self.M_ee - re.T @ np.linalg.solve(rr, re)
        return np.sqrt(np.maximum(sl.eigh(self.stiffness, 0.5 * (relieved + relieved.T), eigvals_only=True), 0.0))

    def first_moment(self, e: ArrayLike) -> Array:
        e = np.asarray(e, float)
        return self.s0 + self.s1 @ e + (0.0 if self.s2 is None else 0.5 * self.s2 @ e @ e)

    def inertia(self, e: ArrayLike) -> Array:
        """J(e) about the origin."""
        e = np.asarray(e, float)
        linear = np.einsum("i,iab->ab", e, self.J1)
        return self.J0 + linear + linear.T + np.einsum("i,j,ijab->ab", e, e, self.J2)

    def coupling(self, e: ArrayLike) -> Array:
        """D(e)."""
        return np.asarray(self.D0 + np.einsum("j,jak->ak", np.asarray(e, float), self.D1))

    def mass_matrix(self, e: ArrayLike | None = None) -> Array:
        """M(e), (6 + m, 6 + m), for velocities (v, ω, ė) in body components."""
        e = np.zeros(self.modes) if e is None else np.asarray(e, float)
        if self.fields is not None:
            return self.fields.mass_matrix(e)
        c, D = skew(self.first_moment(e)), self.coupling(e)
        s = self.s1 if self.s2 is None else self.s1 + self.s2 @ e
        M = self.M_ee if self.M1 is None else self.M_ee + np.einsum("k,kij->ij", e, self.M1)
        return np.block([[self.mass * np.eye(3), -c, s], [c, self.inertia(e), D], [s.T, D.T, M]])

    def displacement(self, e: ArrayLike) -> Array:
        """Deflections of all degrees of freedom, Φ e."""
        return np.asarray(self.shapes @ np.asarray(e, float))

    def node_positions(self, e: ArrayLike) -> Array:
        """Positions of all nodes in the body frame, (n, 3)."""
        u = self.displacement(e)
        moved = self.part.nodes.copy()
        dofs = self.part.dofs
        moves = dofs.components < 3
        moved[dofs.nodes[moves], dofs.components[moves]] += u[moves]
        return moved

    def point(self, which: Any) -> Point:
        """A point by its name, or any node by its number, its position or "node 7"."""
        name = self._place(which)
        if name in self.points:
            return self.points[name]
        found = point_of(self.motion(which), self.shapes)
        if self.s2 is None:
            return found
        from .second_order import shortening

        return replace(found, psi_t=shortening(self, which))

    def motion(self, which: Any) -> Motion:
        """How a point follows the part's degrees of freedom; named as in :meth:`point`."""
        return motion_of(self.part, self._place(which))

    def _place(self, which: Any) -> Any:
        """The name of a point, or the number of a node without one."""
        if isinstance(which, str):
            digits = which.removeprefix("node ")
            return int(digits) if which not in self.points and digits != which and digits.isdecimal() else which
        number = self.part.node(which)
        return next((name for name, i in self.part.names.items() if i == number and name in self.points), number)

    def stiffened(self, points: Iterable[str] | None = None) -> ReducedStructure:
        """The same body with geometric stiffening by its inertia and by forces at points (all, unless given); see
        :func:`jourdain.structures.second_order.stiffened`."""
        from .second_order import stiffened

        return stiffened(self, points)

    def curvature(self, x: float, axis: str = "z") -> Array:
        """The curvature (1/m) about an axis ("x": twist) of a beam's section at x, for a unit of each elastic coordinate."""
        from .gauges import curvature

        return curvature(self, x, axis)

    def seen_from(self, frame: str, at: Any = None) -> tuple[ReducedStructure, Array]:
        """The same shapes and coordinates e seen from another frame, and ρ (6, m): that frame is displaced from this one by ρ e (translation, rotation).

        To first order in e, a state of one is a state of the other with v + ρ_t ė and ω + ρ_r ė.  Stiffening is found anew in the other frame.
        """
        from .frames import conditions, frame_name, seen_from
        from .reduction import record

        B = conditions(self.part, frame, at)
        shapes, rho = seen_from(self.part, B, self.shapes)
        other = replace(record(self.part, frame_name(frame), self.kind, B, shapes, None), damping=self.damping, names=self.names)
        if self.s2 is None:
            return other, rho
        return other.stiffened([name for name, p in self.points.items() if p.psi_t is not None]), rho

    def geometric_stiffness(self, points: Iterable[Any] | None = None) -> GeometricStiffness:
        """K_g of unit accelerations, rotations and loads at points; see :class:`jourdain.structures.parts.geometric.GeometricStiffness`."""
        from .parts.geometric import geometric_stiffness

        return geometric_stiffness(self, points)

    def recovery(self, group: int = 0, points: Iterable[Any] | None = None, static: bool = True) -> Recovery:
        """Section forces, strains or stresses of a group of elements; see :class:`jourdain.structures.recovery.Recovery`."""
        from .recovery import recovery

        return recovery(self, group, points, static)

    def linearity(self) -> Linearity:
        """Largest strains and slopes of a motion, and a complaint where they are too large for a linear body."""
        from .linearity import linearity

        return linearity(self)

    def save(self, path: str | Path) -> None:
        """Writes the body as ``.npz``, which :func:`jourdain.structures.read_reduced` reads; element types are not kept."""
        from .files import save_reduced

        save_reduced(self, path)

    def __str__(self) -> str:
        hertz = ", ".join(f"{x / (2 * np.pi):.5g}" for x in self.frequencies[:8])
        more = " …" if self.modes > 8 else ""
        return f"{self.name}: {self.modes} elastic coordinates ({self.kind}), frame {self.frame}; with the frame held {hertz}{more} Hz"

    def scene(self, stress: str | None = "displacement") -> Any:
        """The shapes moving, coloured by a field: "displacement", "von mises", "strain" …; None leaves them plain."""
        from ..view.scenes.from_structure import structure_scene

        return structure_scene(self, stress)

    def save_page(self, path: Any, stress: str | None = "displacement", **options: Any) -> None:
        """Writes one self-contained page that shows the shapes moving."""
        from ..view import save_page

        save_page(self.scene(stress), path, **options)

    def save_picture(self, path: Any, mode: int = 1, stress: str | None = "displacement", **options: Any) -> None:
        """Writes a picture of a shape, counted from 1."""
        from ..view import save_picture

        save_picture(self.scene(stress), path, mode=mode, **options)

    def with_damping(self, damping: float | ArrayLike | Mapping[str, float] | None) -> ReducedStructure:
        """The same body with other damping; see :func:`modal_damping`."""
        options = None if self.options is None else {**self.options, "damping": damping}
        return replace(self, damping=modal_damping(self.stiffness, self.M_ee, damping, self.part, self.shapes), options=options)


def point_of(motion: Motion, shapes: Array) -> Point:
    """A point by its motion and the shapes of the elastic coordinates."""
    phi = np.asarray(motion.operator @ shapes)
    return Point(motion.name, motion.position, motion.rotation, phi[:3], phi[3:], motion.turns)


def modal_damping(stiffness: Array, mass: Array, damping: Any, part: Structure, shapes: Array) -> Array:
    """The damping matrix of elastic coordinates.

    A number or one a mode: ratios ζ of the natural modes with the frame held, C = M Y diag(2 ζ ω) Yᵀ M.  {"mass": α, "stiffness": β}:
    Rayleigh's α M + β K.  None: the structure's own matrix, or none.
    """
    m = len(stiffness)
    if damping is None:
        return np.zeros((m, m)) if part.damping is None else np.asarray(shapes.T @ (part.damping @ shapes))
    if isinstance(damping, Mapping):
        unknown = set(damping) - {"mass", "stiffness"}
        if unknown:
            raise InputError(f"{part.name}: damping has '{sorted(unknown)[0]}'; Rayleigh's damping takes 'mass' and 'stiffness'")
        return damping.get("mass", 0.0) * mass + damping.get("stiffness", 0.0) * stiffness
    ratios = np.asarray(damping, float)
    if ratios.shape not in ((), (m,)) or (ratios < 0).any() or not np.isfinite(ratios).all():
        raise InputError(f"{part.name}: damping = {damping!r} must be a ratio that is not negative, or {m} of them, one a mode")
    if not m:
        return np.zeros((0, 0))
    square, Y = sl.eigh(stiffness, mass)
    MY = mass @ Y
    return (MY * (2.0 * ratios * np.sqrt(np.maximum(square, 0.0)))) @ MY.T
