"""Bodies that bend: a rigid motion of a floating frame with small deformations by modes.

A flexible body refers to a reduced structure (:mod:`jourdain.structures`), whose numbers become *data* of the compiled functions: symbols
that behave as parameters do, but are not listed with them.  Two bodies with as many modes and the same pattern of zeros share their
machine code, and another structure is put in without compiling again.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, ModelError
from ...reals import reals
from ...symbolic.expr import HALF, LONG, ZERO, Expr, add, mul, neg
from ...symbolic.vectors import IDENTITY, Inertia, Matrix, Vector, scalar_product
from ...told import outside
from ..bodies import Body, Frame
from ..joints import Coordinate, scalar_coordinate
from ..load_sorts import Load, ModeForces
from ..parameters import Parameters
from ..values import number
from .curved import CurvedBeam
from .deformation import Deformation, cardan_deformation

if TYPE_CHECKING:
    from ...structures import ReducedStructure
    from ...structures.exact import Reach
    from ...structures.linearity import Linearity
    from ...structures.reduced import Point
    from ..include import Copy
    from ..model import Model

#: Numbers below this share of what they could be at most are zeros of the structure, not data.
NEGLIGIBLE = 1e-11


@dataclass(frozen=True)
class ModalData:
    """The numbers of a reduced structure as symbols; see :class:`jourdain.structures.ReducedStructure` for their meaning."""

    mass: Expr
    s0: Vector
    s1: list[Vector]
    s2: list[list[Vector]]
    J0: Inertia
    J1: list[Inertia]
    J2: list[list[Inertia]]
    D0: list[Vector]
    D1: list[list[Vector]]  #: ∂_j D_i at [i][j]
    G: list[list[Vector]]  #: ∂_j D_i − ∂_i D_j at [i][j]; empty where it is 2 ∂_j D_i
    M: list[list[Expr]]
    M1: list[list[list[Expr]]]  #: empty where M does not depend on e
    K: list[list[Expr]]
    C: list[list[Expr]]
    #: c, ρ0, ρ1 and ρ2 of fields with the whole kinetic energy; the integrals of higher order are then empty
    fields: list[tuple[Expr, Vector, list[Vector], list[list[Vector]]]] | None = None


@dataclass(frozen=True)
class Gauge:
    """A strain gauge: the name of its numbers, its place along the beam (m) and the axis of the curvature that it reads."""

    path: str
    at: float
    curvature: str


@dataclass(frozen=True)
class Slider:
    """A point of a body that slides along a cable: where it starts (m from the cable's start), and what resists it.

    ``damping`` (N s/m), ``friction`` (N): the largest force of dry friction, with the ``stiffness`` (N/m) by which it sticks; ``coefficient`` of friction by the normal
    force, smooth below ``speed`` (m/s).
    """

    name: str
    frame: Frame
    at: float
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 1e4
    coefficient: float = 0.0
    speed: float = 1e-3


class PartBody(Body, ABC):
    """A body of a reduced structure, whose nodes joints and loads hold on to."""

    def __init__(self, model: Model, name: str, part: ReducedStructure) -> None:
        super().__init__(model, name)
        self.part = part

    def node(self, name: str | int | tuple[float, float, float]) -> Frame:
        """A frame that moves with an interface or node of the structure, by name, number or place."""
        point = self.part.point(name)
        if point.name not in self.nodes:
            self.model._unlocked(f"node '{self.name}.{point.name}'")
            if point.name in self.frames:
                raise ModelError(f"body '{self.name}': its frame '{point.name}' has the name of a node; choose another name for the frame")
            R = Matrix.of(point.rotation)
            self.nodes.add(point.name)
            self.frames[point.name] = Frame(self, Vector.of(point.position), IDENTITY if R.is_identity else R, point.name)
            self._bend(self.frames[point.name], point)
        return self.frames[point.name]

    def told_of_clamp(self, frame: Frame) -> None:
        """Warns where a clamped part bends by the modes of a free one: few of these are far too stiff (six modes of a cantilever: 25 %)."""
        if self.modes and self.part.kind == "free-free" and frame.name in self.nodes:
            warnings.warn(
                f"body '{self.name}' is clamped at '{frame.name}', but bends by the modes of a free part, which converge slowly from above (the first "
                f"frequency of a cantilever of six modes by 25 %); give frame='clamped', at='{frame.name}', or a part reduced by craig_bampton(…)",
                stacklevel=outside(),
            )

    def _bend(self, frame: Frame, point: Point) -> None:
        """Lets the frame of a new node follow the modes."""

    def add_collision(self, shape: Any, name: str = "", node: str | int | tuple[float, float, float] | None = None) -> None:
        """A shape for contacts that moves with a node (by name, number or place), placed in the node's axes; it is not drawn and weighs nothing.

        Nodes of solids have no axes: they carry spheres, in formulation "directors".
        """
        if node is None:
            raise ModelError(
                f"body '{self.name}': a shape of a part moves with one of its nodes; give node=, such as one of {self._some_nodes()}"
            )
        frame = self.node(node)
        if getattr(shape, "kind", "") != "sphere":
            frame.require_turns(f"shape for contacts of '{self.name}'")
        self._carry(shape, name or f"{self.name}.{frame.name}", frame)

    def _some_nodes(self) -> str:
        return ", ".join(map(repr, list(self.part.points)[:4]))

    @abstractmethod
    def _carry(self, shape: Any, name: str, frame: Frame) -> None:
        """Takes a shape that moves with a node."""

    def add_skin(self, radius: Any, nodes: Sequence[str | int | tuple[float, float, float]]) -> None:
        """Lets a beam touch with its whole length: capsules of a ``radius`` (m) that move with nodes in a row, each halfway to the next ones.

        Between nodes the surface is straight, so that it misses the beam's by κs²/2 at most, s being half the distance of nodes.  Nodes of solids and cables, which
        have no axes, get spheres of that radius.
        """
        from ..shapes import capsule, sphere

        frames = [self.node(n) for n in nodes]
        r = number(radius, f"skin of '{self.name}': radius", "m")
        if frames and r > 0.0 and not all(f.turns and type(self.part.part.elements[0]).__name__ != "CableElements" for f in frames):
            for frame in frames:
                self.add_collision(sphere(r), "", frame.name)
            return
        places = [np.array([float(x) for x in f.position]) for f in frames]
        if len(frames) < 2 or r <= 0.0:
            raise ModelError(f"skin of '{self.name}': it needs two nodes or more and a positive radius, got {len(frames)} and {r:g} m")
        for i, (frame, x) in enumerate(zip(frames, places, strict=True)):
            back, ahead = (0.5 * (places[j] - x) if 0 <= j < len(places) else np.zeros(3) for j in (i - 1, i + 1))
            along, R = ahead - back, np.array([[float(e) for e in row] for row in frame.rotation.rows])
            length = float(np.linalg.norm(along))
            if length == 0.0:
                raise ModelError(f"skin of '{self.name}': two nodes in a row are at the same place ({', '.join(f'{c:g}' for c in x)}) m")
            turn = _to_direction(R.T @ along / length)
            self.add_collision(capsule(r, length).rotated(*turn).at(*(R.T @ (0.5 * (ahead + back)))), "", frame.name)

    @abstractmethod
    def gauge(self, at: Any, curvature: str = "z") -> Expr:
        """What a strain gauge reads at a place x (m) along a beam: the curvature about an axis in 1/m ("x": the twist), of the modes.

        Times the distance of the fibre it is the strain; it may stand in laws, controllers, outputs and guards.
        """

    def find(self, name: str) -> Frame | None:
        """A frame or node by name; "node 7" is the node of that number."""
        if name in self.frames:
            return self.frames[name]
        try:
            self.part.point(name)
        except InputError:
            return None
        return self.node(name)


class FlexibleBody(PartBody):
    """A body with modal amplitudes ``name.mode1`` …; its frame is the floating frame, its points for joints and loads are nodes."""

    bends = True

    def __init__(self, model: Model, name: str, part: ReducedStructure) -> None:
        super().__init__(model, name, part)
        self.modes = tuple(scalar_coordinate(f"{name}.{mode}", "m") for mode in part.names)
        self._nodes: dict[str, tuple[list[Expr], list[Expr]] | Reach] = {}
        self._deformations: dict[str, Deformation] = {}
        self.gauges: list[Gauge] = []
        #: What slides along it, by name.
        self.sliders: dict[str, Slider] = {}
        self.data = _data(model.parameter_set, name, part)
        self.mass, self.moment, self.inertia = self.data.mass, self.data.s0, self.data.J0
        #: Nodes with which its shapes for contacts move.
        self.collision_nodes: list[str] = []

    @property
    def surfaces(self) -> list[Any]:
        """Shapes that contacts see: those that nodes carry."""
        return self.collision

    def _carry(self, shape: Any, name: str, frame: Frame) -> None:
        Body.add_collision(self, shape, name)
        self.collision_nodes.append(str(frame.name))

    def carrier(self, index: int) -> Frame:
        """The node that carries one of its surfaces."""
        return self.frames[self.collision_nodes[index]]

    @cached_property
    def curved(self) -> CurvedBeam | None:
        """The beam of exact kinematics that the body is, if it is one."""
        from ...structures.exact import ExactFields

        if not isinstance(self.part.fields, ExactFields):
            return None
        e, rates = ([getattr(c, x)[0] for c in self.modes] for x in "qv")
        return CurvedBeam(self.part.fields, e, rates, lambda name, x: _symbols(self.model.parameter_set, f"{self.name}.{name}", x))

    def _bend(self, frame: Frame, point: Point) -> None:
        frame.node, frame.turns = point.name, point.turns
        if point.reach is not None:
            self._nodes[point.name] = point.reach
            return
        table, path, e = self.model.parameter_set, f"{self.name}.{point.name}", [c.q[0] for c in self.modes]
        known = [*self.part.points.values(), point]
        shift, turn = (max(float(np.abs(getattr(p, x)).max()) for p in known) for x in ("phi_t", "phi_r"))
        self._nodes[point.name] = (
            _polynomials(table, f"{path}.shift", point.phi_t, point.psi_t, e, shift),
            _polynomials(table, f"{path}.turn", point.phi_r, point.psi_r, e, turn),
        )

    def gauge(self, at: Any, curvature: str = "z") -> Expr:
        """What a strain gauge reads; see :meth:`PartBody.gauge`."""
        place = number(at, f"gauge on '{self.name}'", "m")
        row = self.part.curvature(place, curvature)
        path = f"{self.name}.gauge{len(self.gauges) + 1}"
        self.gauges.append(Gauge(path, place, curvature))
        return scalar_product(_symbols(self.model.parameter_set, path, row), [c.q[0] for c in self.modes])

    def slide(
        self, name: str, point: Body | Frame, at: Any, damping: Any = 0.0, friction: Any = 0.0, stiffness: Any = 1e4, coefficient: Any = 0.0, speed: Any = 1e-3
    ) -> Slider:  # fmt: skip
        """Lets a point of a rigid body slide along a cable (:func:`jourdain.structures.cable`), from ``at`` (m from its start) on, in formulation "directors".

        The body has a joint that leaves it free (m.free), and starts on the cable.  ``damping`` (N s/m) and dry ``friction`` (N, with the ``stiffness`` in N/m by
        which it sticks) resist it, and Coulomb's friction, ``coefficient`` times the normal force, smooth below ``speed`` (m/s); the way is the channel ``name``.
        """
        self.model._unlocked(f"slider '{name}'")
        what = f"slider '{name}' on '{self.name}'"
        if type(self.part.part.elements[0]).__name__ != "CableElements":
            raise ModelError(f"{what}: '{self.name}' is no cable; make it with jd.structures.cable(...)")
        frame = point if isinstance(point, Frame) else point.origin
        if frame.body.model is not self.model or isinstance(frame.body, FlexibleBody) or frame.body.is_ground:
            raise ModelError(f"{what}: what slides is a point of a rigid body of the model '{self.model.name}', not of '{frame.body.name}'")
        if name in self.model.joints or any(name in b.sliders for b in self.model.bodies.values() if isinstance(b, FlexibleBody)):
            raise ModelError(f"{what}: the name is taken; choose another")
        units = {"at": "m", "damping": "N*s/m", "friction": "N", "stiffness": "N/m", "coefficient": "", "speed": "m/s"}
        given = {"at": at, "damping": damping, "friction": friction, "stiffness": stiffness, "coefficient": coefficient, "speed": speed}
        numbers = {k: number(x, f"{what}: {k}", units[k]) for k, x in given.items()}
        wrong = next((k for k, x in numbers.items() if x < 0.0 or (k in ("stiffness", "speed") and x == 0.0)), None)
        if wrong is not None:
            raise ModelError(
                f"{what}: {wrong} = {numbers[wrong]:g} must {'be positive' if wrong in ('stiffness', 'speed') else 'not be negative'}"
            )
        self.sliders[name] = Slider(name, frame, **numbers)
        return self.sliders[name]

    @property
    def title(self) -> str:
        """Name, number of modes and floating frame."""
        n = len(self.modes)
        return f"{self.name} ({n} mode{'s' if n > 1 else ''}, {self.part.frame})"

    @cached_property
    def linearity(self) -> Linearity | None:
        """Strains and slopes by the amplitudes, to see whether they stay small; None for a body of second order, which may turn more."""
        return replace(self.part.linearity(), name=self.name) if self.part.s2 is None else None

    def overbent(self, e: Any) -> str:
        """What to say of amplitudes at which inertia kept to second order is none any more: a body free in space would have a motion without energy."""
        if self.part.s2 is None or self.part.fields is not None or np.linalg.eigvalsh(self.part.mass_matrix(e)).min() > 0.0:
            return ""
        k = int(np.argmax(np.abs(e)))
        return (
            f"body '{self.name}' is bent so far ('{self.modes[k].names[0]}' = {e[k]:.3g}) that its inertia, kept to second order in the amplitudes, is not positive; "
            "take structures.ritz_beam(…, order='exact'), or cut it into several bodies"
        )

    def deformation(self, node: str) -> Deformation:
        """Displacement and turn of a node by the amplitudes, derived once."""
        found = self._deformations.get(node)
        if found is None:
            found = self._deformations[node] = self._deformation(node)
        return found

    def _deformation(self, node: str) -> Deformation:
        given = self._nodes[node]
        if isinstance(given, tuple):
            return cardan_deformation(*given, *([getattr(c, x)[0] for c in self.modes] for x in "qv"))
        assert self.curved is not None
        return self.curved.deformation(given, f"node {node}", self.frames[node].position)

    @property
    def used_nodes(self) -> list[str]:
        """Nodes that frames were asked for."""
        return list(self._nodes)

    def at(self, x: Any = 0.0, y: Any = 0.0, z: Any = 0.0, rotation: Any = None) -> Frame:
        """The node at a place of the undeformed body; an error if there is none (use ``body.node(name)``)."""
        try:
            node = self.node((float(x), float(y), float(z)))
        except InputError as error:
            raise ModelError(f"flexible body '{self.name}': {error}; joints and loads hold on to its nodes") from None
        return node if rotation is None else node.at(rotation=rotation)

    def may_gain(self) -> None:
        """Refused: what the body carries moves with a node."""
        raise ModelError(
            f"flexible body '{self.name}': mass is added to its structure, or as a body fixed to a node: m.fixed(name, body.node(...), other)"
        )

    def frame(self, name: str, position: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> Frame:
        """A named frame at the node at a place of the undeformed body."""
        if name in self.part.points:
            raise ModelError(f"flexible body '{self.name}': '{name}' is a node of its structure; take body.node('{name}')")
        base = self.at(*position)
        new = super().frame(name, position, rotation)
        new.node, new.turns = base.node, base.turns
        return new


class RigidPart(PartBody):
    """The same part without its modes: nodes and names as those of the flexible body."""

    def __init__(self, model: Model, name: str, part: ReducedStructure) -> None:
        super().__init__(model, name, part)
        self.add_mass(part.mass, np.asarray(part.s0) / part.mass, part.J0, about="origin")

    def _carry(self, shape: Any, name: str, frame: Frame) -> None:
        from ..shapes.base import Placement

        R = tuple(tuple(float(e) for e in row) for row in frame.rotation.rows)
        pose = Placement(tuple(float(x) for x in frame.position), R)  # type: ignore[arg-type]
        Body.add_collision(self, replace(shape, placement=pose @ shape.placement), name)

    def gauge(self, at: Any, curvature: str = "z") -> Expr:
        """What a strain gauge reads: nothing."""
        self.part.curvature(number(at, f"gauge on '{self.name}'", "m"), curvature)
        return ZERO


def reduced(
    part: Any, frame: str | None, modes: int | None, damping: Any, stiffening: bool, what: str, options: dict[str, Any]
) -> ReducedStructure:  # fmt: skip
    """A reduced structure from what the user gives: itself, or a structure to be reduced by the options."""
    from ...structures import ReducedStructure, Structure
    from ...structures.frames import frame_name

    if isinstance(part, ReducedStructure):
        wrong = [n for n, x in {"modes": modes, **options}.items() if x is not None]
        if wrong:
            raise ModelError(f"{what}: '{wrong[0]}' belongs to the reduction, which the part has already; give it to part.reduce(...)")
        found = part if frame is None or frame_name(frame) == part.frame else part.seen_from(frame)[0]
        found = found if damping is None else found.with_damping(damping)
    elif isinstance(part, Structure):
        found = part.reduce(modes=modes, damping=damping, **({} if frame is None else {"frame": frame}), **options)
    else:
        raise ModelError(f"{what}: {part!r} is no structure; make one with jd.structures.beam(...), jd.structures.read(...) and the like")
    return found.stiffened() if stiffening else found


def flexible_body(model: Model, name: str, part: ReducedStructure, rigid: bool) -> PartBody:
    """The body of a reduced structure, flexible or rigid."""
    return RigidPart(model, name, part) if rigid or not part.modes else FlexibleBody(model, name, part)


@dataclass
class Elasticity(ModeForces):
    """Stiffness and damping of a flexible body's modes: −K e − C ė."""

    title = "elasticity of a body"
    of_body = True
    name: str
    body: FlexibleBody
    potential: Expr = ZERO
    kind: str = "elasticity"

    def __post_init__(self) -> None:
        self.given: dict[str, Any] = {}
        e = [c.q[0] for c in self.body.modes]
        for i, row in enumerate(self.body.data.K):
            self.potential = add(self.potential, mul(HALF, mul(e[i], scalar_product(row, e))))

    @property
    def laws(self) -> tuple[Expr, ...]:
        """A force for each mode."""
        e, rates = ([getattr(c, x)[0] for c in self.body.modes] for x in "qv")
        data = self.body.data
        return tuple(neg(add(scalar_product(k, e), scalar_product(c, rates))) for k, c in zip(data.K, data.C, strict=True))

    @property
    def signature(self) -> tuple[Expr | Frame | Coordinate | str | None, ...]:
        """Modes and laws."""
        return *self.body.modes, *self.laws

    def copied(self, copy: Copy, name: str) -> Load:
        """Made with the body's copy."""
        return copy.model.loads[name]


def _to_direction(n: np.ndarray) -> tuple[Any, float]:
    """Axis and angle that turn the axis z to a direction."""
    axis, cosine = np.cross((0.0, 0.0, 1.0), n), float(n[2])
    sine = float(np.linalg.norm(axis))
    return (tuple(axis / sine) if sine > 1e-12 else "x"), float(np.arctan2(sine, cosine))


# --- numbers as data ---------------------------------------------------------------------------------------------


def _symbols(table: Parameters, name: str, numbers: Any, size: float = 0.0, negligible: float = NEGLIGIBLE) -> Any:
    """Symbols of the entries of an array that are not zero, nested as the array is; ``size`` is a bound of what they could be."""
    array = reals(numbers, name)
    least = negligible * max(float(np.abs(array).max(initial=0.0)), size)
    widths = [len(str(n - 1)) for n in array.shape]  # sorted by their names, the entries of a row follow each other

    def entry(index: tuple[int, ...]) -> Any:
        if len(index) == array.ndim:
            x = float(array[index])
            label = f"[{','.join(f'{i:0{w}d}' for i, w in zip(index, widths, strict=True))}]" if index else ""
            return table.add_data(name + label, x) if abs(x) > least else ZERO
        return [entry((*index, i)) for i in range(array.shape[len(index)])]

    return entry(())


def _polynomials(table: Parameters, name: str, linear: Any, quadratic: Any, e: list[Expr], size: float) -> list[Expr]:
    """Three polynomials of first or second order in the amplitudes."""
    found = [scalar_product(row, e) for row in _symbols(table, name, linear, size)]
    if quadratic is None:
        return found
    halves = [mul(HALF, x) for x in e]
    table2 = _symbols(table, f"{name}2", quadratic)
    return [add(first, scalar_product([scalar_product(row, e) for row in rows], halves)) for first, rows in zip(found, table2, strict=True)]


def _symmetric(table: Parameters, name: str, numbers: Any) -> list[list[Expr]]:
    """Symbols of a positive semidefinite matrix, one for each pair of entries; zeros are judged by the diagonal."""
    array = reals(numbers, name)
    size = np.sqrt(np.maximum(np.diag(array), 0.0))
    upper = _symbols(table, name, np.where(np.abs(array) > NEGLIGIBLE * np.outer(size, size), np.triu(array), 0.0), negligible=0.0)
    return [[upper[min(i, j)][max(i, j)] for j in range(len(array))] for i in range(len(array))]


def _data(table: Parameters, body: str, part: ReducedStructure) -> ModalData:
    from ...structures.second_order import Fields

    n = part.modes

    # Cauchy and Schwarz: |∫ a b dm|² ≤ ∫ a² dm ∫ b² dm, so that what is rounding in all of its entries is seen as such
    modal = float(np.abs(part.M_ee).max(initial=0.0))
    by_mass, by_inertia = (float(np.sqrt(x * modal)) for x in (part.mass, np.trace(part.J0)))

    def made(name: str, numbers: Any, size: float = 0.0) -> Any:
        return _symbols(table, f"{body}.{name}", numbers, size)

    def inertias(name: str, tensors: Any, size: float = 0.0) -> list[Inertia]:
        entries = np.array([(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]) for J in tensors])
        return [Inertia(*row) for row in made(name, entries, size)]

    if part.fields is not None:
        f, found = part.fields, None
        if isinstance(f, Fields):
            tables = zip(
                made("c", f.c),
                *(made(name, np.asarray(x)) for name, x in (("rho0", f.rho0), ("rho1", f.rho1), ("rho2", f.rho2))),
                strict=True,
            )
            found = [
                (c, Vector(*r0), [Vector(*(row[i] for row in r1)) for i in range(n)], [[Vector(*(row[i][j] for row in r2)) for j in range(n)] for i in range(n)])
                for c, r0, r1, r2 in tables
            ]  # fmt: skip
        return ModalData(
            made("mass", part.mass), Vector(*made("s0", part.s0)), [], [], inertias("J0", [np.asarray(part.J0)])[0], [], [], [], [], [], [], [],
            _symmetric(table, f"{body}.K", part.stiffness), _symmetric(table, f"{body}.C", part.damping), found,
        )  # fmt: skip
    J1, J2 = np.asarray(part.J1), np.asarray(part.J2)
    hessian = np.array([J2[:, :, a, b] + J2[:, :, a, b].T for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))])
    s2 = np.zeros((n, n, 3)) if part.s2 is None else np.moveaxis(part.s2, 0, 2)
    J2_by = _by_rows(table, f"{body}.J2", hessian, modal)
    D1 = np.transpose(part.D1, (1, 2, 0))
    gyroscopic = D1 - np.swapaxes(D1, 1, 2)
    skew = bool(np.abs(gyroscopic - 2.0 * D1).max(initial=0.0) <= NEGLIGIBLE * modal)

    def vectors(name: str, numbers: np.ndarray) -> list[list[Vector]]:
        by = made(name, numbers, modal)
        return [[Vector(*(c[i][j] for c in by)) for j in range(n)] for i in range(n)]

    return ModalData(
        made("mass", part.mass), Vector(*made("s0", part.s0)), [Vector(*row) for row in made("s1", np.transpose(part.s1), by_mass)],
        [[Vector(*x) for x in row] for row in made("s2", s2)], inertias("J0", [np.asarray(part.J0)])[0],
        inertias("J1", J1 + np.swapaxes(J1, 1, 2), by_inertia), [[Inertia(*(c[i][j] for c in J2_by)) for j in range(n)] for i in range(n)],
        [Vector(*row) for row in made("D0", np.transpose(part.D0), by_inertia)],
        vectors("D1", D1), [] if skew else vectors("G", gyroscopic), _symmetric(table, f"{body}.M", part.M_ee),
        [] if part.M1 is None else made("M1", part.M1), _symmetric(table, f"{body}.K", part.stiffness), _symmetric(table, f"{body}.C", part.damping),
    )  # fmt: skip


def _by_rows(table: Parameters, name: str, matrices: np.ndarray, size: float) -> list[list[list[Expr]]]:
    """Symbols of symmetric matrices; where rows are long each entry has its own, so that a row stands side by side, else each pair."""
    if matrices.shape[1] >= LONG:
        return _symbols(table, name, matrices, size)  # type: ignore[no-any-return]
    upper = _symbols(table, name, np.triu(matrices), size)
    n = range(matrices.shape[1])
    return [[[entries[min(i, j)][max(i, j)] for j in n] for i in n] for entries in upper]


__all__ = [
    "Elasticity",
    "FlexibleBody",
    "ModalData",
    "PartBody",
    "RigidPart",
    "Slider",
    "flexible_body",
    "reduced",
]
