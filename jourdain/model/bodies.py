"""Bodies with their mass properties, and the frames fixed on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

import numpy as np

from ..errors import ModelError, nearest, short
from ..spelling import british
from ..symbolic.expr import ZERO, Expr, add
from ..symbolic.vectors import IDENTITY, NO_INERTIA, NULL, Inertia, Matrix, MatrixTurn, Vector, steiner
from ..told import told
from .assigned import Assigned
from .values import rotation as parse_rotation
from .values import value, vector

if TYPE_CHECKING:
    from .joints import Coordinate
    from .model import Model
    from .shapes.base import Shape


def other_model(there: Model, here: Model) -> str:
    """Words for the model that something belongs to instead of this one."""
    return f"another model named '{there.name}'" if there.name == here.name else f"the model '{there.name}', not to '{here.name}'"


@told
class Frame:
    """A point with axes fixed on a body: position and rotation relative to the body's frame."""

    def __init__(self, body: Body, position: Vector, rotation: Matrix, name: str | None = None) -> None:
        self.body = body
        self.position = position
        self.rotation = rotation
        self.name = name
        #: The rotation relative to the body's frame as it was given, where it was given so.
        self.turn: Any = None
        #: The node of a flexible body that carries the frame; position and rotation are those of the undeformed body.
        self.node: str | None = None
        #: False at a node without rotations: only its place is known.
        self.turns = True
        #: The frame from which it was displaced by :meth:`at`, how far and how it was turned.
        self.base: tuple[Frame, Vector, Any] | None = None

    def at(self, x: Any = 0.0, y: Any = 0.0, z: Any = 0.0, rotation: Any = None) -> Frame:
        """A frame displaced (and turned) from this one, coordinates along this frame's axes, in m."""
        what = f"point on '{self.path}'"
        step = vector((x, y, z), what, "m")
        if not step.is_zero:
            self.require_turns(what)
        frame = Frame(self.body, self.position + self.rotation @ step, self.rotation @ parse_rotation(rotation, what))
        frame.turn = rotation if self.rotation.is_identity else None
        frame.node, frame.turns = self.node, self.turns
        frame.base = self, step, rotation
        return frame

    def require_turns(self, what: str) -> None:
        """An error where something holds on to the axes of a node that has none."""
        if not self.turns:
            raise ModelError(
                f"{what}: {self.node} of flexible body '{self.body.name}' has no rotation, so that it holds no axes, arms or torques; "
                "make several nodes a point that has: part.interface(name, nodes)"
            )

    @property
    def path(self) -> str:
        """Name of the frame in results: body.frame, or the body's name for its own frame."""
        return self.body.name if self.name is None else f"{self.body.name}.{self.name}"

    @property
    def is_origin(self) -> bool:
        """Whether this is the body's own frame."""
        return self.position.is_zero and self.rotation.is_identity and self.node is None

    def __repr__(self) -> str:
        return f"<Frame {self.path} at {self.position}>"


@dataclass(frozen=True)
class MassGiven:
    """Mass, centre of mass and inertia as one call of :meth:`Body.add_mass` gave them."""

    mass: Expr
    com: Vector
    inertia: Inertia
    about: str
    rotation: Matrix
    #: The axes of the inertia as they were written.
    axes: Any = None


class Shapes(list[Any]):
    """The shapes of the body of that name; the list takes shapes alone, so that whatever reads it later finds what it needs."""

    def __init__(self, body: str, shapes: Any = ()) -> None:
        self.body = body
        super().__init__(() if isinstance(shapes, tuple) and not shapes else self._all(shapes))

    def append(self, shape: Any) -> None:
        super().append(self._one(shape))

    def extend(self, shapes: Iterable[Any]) -> None:
        super().extend(self._all(shapes))

    def insert(self, index: SupportsIndex, shape: Any) -> None:
        super().insert(index, self._one(shape))

    def __setitem__(self, index: Any, given: Any) -> None:
        super().__setitem__(index, self._all(given) if isinstance(index, slice) else self._one(given))

    def __iadd__(self, shapes: Any) -> Shapes:  # type: ignore[misc,override]
        self.extend(shapes)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Shapes, (self.body, list(self))

    def _one(self, shape: Any) -> Shape:
        return shape_of(self.body, shape)

    def _all(self, shapes: Any) -> list[Shape]:
        from .shapes.base import Shape

        if isinstance(shapes, (Shape, str)) or not isinstance(shapes, Iterable):
            raise ModelError(f"body '{self.body}': shapes = {short(shapes)} is no list of shapes; write [jd.box(...)], or append one")
        return [self._one(s) for s in shapes]


def shape_of(body: str, shape: Any) -> Shape:
    """The shape, if it is one that can be drawn."""
    from .shapes.base import Shape

    if not isinstance(shape, Shape):
        raise ModelError(f"body '{body}': shape {short(shape)} is not a solid; use jd.box(...), jd.cylinder(...) and the like")
    return shape


@told
class Body(Assigned):
    """A rigid body: mass, centre of mass and inertia in its own frame, with frames and shapes fixed on it."""

    called = "body"
    instead: ClassVar = (
        {name: "give it to m.body(…), or add to what is there by body.add_mass(…)" for name in ("mass", "com", "inertia", "density")}
        | {name: f"give {name}= to m.contact(…, law=jd.contact.rigid(…))" for name in ("friction", "restitution")}
        | {
            name: "where a body is follows from its joints; starts are given to s.simulate"
            for name in ("position", "velocity", "orientation")
        }
    )

    #: Where what people ask a body for is found.
    elsewhere: ClassVar = (
        dict.fromkeys(
            ("com", "centre_of_mass", "center_of_mass"), "body.moment is its mass times the place of its centre of mass, in its own axes"
        )
        | dict.fromkeys(
            ("position", "velocity", "orientation", "rotation", "acceleration", "angular_velocity", "x", "y", "z"),
            "where it is follows from its joints: m.sensor(name, body) gives symbols for laws and outputs, results have channels by the paths of frames",
        )
        | dict.fromkeys(("joint", "joints", "parent", "children"), "m.joints has all joints by name, each with .parent and .child")
    )
    #: Whether it deforms.
    bends: ClassVar[bool] = False

    def __init__(self, model: Model, name: str) -> None:
        self.model = model
        self.name = name
        self.mass: Expr = ZERO
        #: First moment of mass m·c about the body's origin.
        self.moment: Vector = NULL
        #: Inertia about the body's origin, in the body's axes.
        self.inertia: Inertia = NO_INERTIA
        self.shapes = ()
        self.collision = ()
        self.collision_names: list[str] = []
        self.frames: dict[str, Frame] = {}
        self.colour: str | None = None
        #: What the mass properties are the sum of: values given, and solids.
        self.contributions: list[Any] = []
        #: Those of its frames that are nodes of a structure.
        self.nodes: set[str] = set()
        #: Amplitudes of its deformation; a rigid body has none.
        self.modes: tuple[Coordinate, ...] = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or "contributions" not in self.__dict__:  # asked by copies that are not yet filled
                raise AttributeError(name)
            known = [n for n in (*vars(self), *dir(type(self))) if not n.startswith("_")]
            near = [own] if (own := british(name, known)) in known else nearest(name, known, 1)
            told = self.elsewhere.get(name, f"did you mean {near[0]}?" if near else "")
            raise AttributeError(f"body '{self.name}' has no '{name}'" + (f"; {told}" if told else ""))

    @property
    def shapes(self) -> list[Any]:
        """What is drawn, and seen by contacts where nothing else is given for them."""
        return self._shapes

    @shapes.setter
    def shapes(self, given: Any) -> None:
        self._shapes: list[Any] = Shapes(self.name, given)

    @property
    def collision(self) -> list[Any]:
        """Shapes for contacts, with names, where those that are drawn are not meant to touch."""
        return self._collision

    @collision.setter
    def collision(self, given: Any) -> None:
        self._collision: list[Any] = Shapes(self.name, given)

    @property
    def surfaces(self) -> list[Any]:
        """Shapes that contacts see: those given for them, else those that are drawn."""
        return self.collision or self.shapes

    def add_collision(self, shape: Any, name: str = "") -> None:
        """A shape for contacts alone; it is not drawn and weighs nothing."""
        self.collision.append(shape)
        self.collision_names.append(name or self.name)

    def told_of_clamp(self, frame: Frame) -> None:
        """What to say where a frame of it is clamped to another body: nothing of a rigid one."""

    def carrier(self, index: int) -> Frame:
        """The frame with which one of its :attr:`surfaces` moves."""
        return self.origin

    @property
    def is_ground(self) -> bool:
        """Whether this is the ground."""
        return self is self.model.ground

    @property
    def origin(self) -> Frame:
        """The body's own frame."""
        return Frame(self, NULL, IDENTITY)

    @property
    def path(self) -> str:
        """Name of the body in results."""
        return self.name

    @property
    def title(self) -> str:
        """The body in the tree: its name, and how it bends."""
        return self.name

    def at(self, x: Any = 0.0, y: Any = 0.0, z: Any = 0.0, rotation: Any = None) -> Frame:
        """A point (with axes) on the body, in m; ``rotation`` is (axis, angle), a list of such pairs, a matrix, or a dict."""
        return self.origin.at(x, y, z, rotation)

    def frame(self, name: str, position: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> Frame:
        """A named frame on the body, found again in results as ``body.name``."""
        self.model._unlocked(f"frame '{self.name}.{name}'")
        if not name or not isinstance(name, str):
            raise ModelError(f"body '{self.name}': a frame needs a name, got {name!r}; use body.at(...) for one without")
        if name in self.frames:
            raise ModelError(f"body '{self.name}' has a frame '{name}' already; choose another name")
        what = f"frame '{self.name}.{name}'"
        self.frames[name] = Frame(self, vector(position, what, "m"), parse_rotation(rotation, what), name)
        self.frames[name].turn = rotation
        return self.frames[name]

    def find(self, name: str) -> Frame | None:
        """The frame of that name, None if there is none."""
        return self.frames.get(name)

    def add_mass(self, mass: Any, com: Any = (0, 0, 0), inertia: Any = None, about: str = "com", axes: Any = None) -> None:
        """Adds mass to the body: mass (kg), centre of mass (m, body frame) and inertia (kg·m²).

        ``inertia`` is three principal values, six entries (xx, yy, zz, xy, xz, yz) of the matrix, or the 3×3 matrix,
        ``about`` the "com" or the "origin", in axes turned by ``axes`` from the body's.
        """
        self.model._unlocked(f"mass of '{self.name}'")
        what = f"body '{self.name}'"
        m = value(mass, what + ": mass", "kg")
        c = vector(com, what + ": centre of mass", "m")
        tensor = parse_inertia(inertia, what + ": inertia")
        R = parse_rotation(axes, what + ": axes of inertia")
        if about not in ("com", "origin"):
            raise ModelError(f"{what}: inertia about '{about}' is unknown; use 'com' or 'origin'")
        self.add_given(MassGiven(m, c, tensor, about, R, axes))

    def may_gain(self) -> None:
        """An error where the body cannot have mass besides its own."""

    def add_given(self, given: MassGiven) -> None:
        """Adds mass as :meth:`add_mass` read it."""
        self.may_gain()
        m, c, tensor = given.mass, given.com, given.inertia
        if not given.rotation.is_identity:
            tensor = MatrixTurn(given.rotation).out_inertia(tensor)
        if given.about == "com":
            tensor = tensor + steiner(c * m, c)
        self.mass = add(self.mass, m)
        self.moment = self.moment + c * m
        self.inertia = self.inertia + tensor
        self.contributions.append(given)

    def __repr__(self) -> str:
        return f"<Body {self.name}>"


def parse_inertia(given: Any, what: str) -> Inertia:
    """An inertia tensor from three, six or nine values."""
    if given is None:
        return NO_INERTIA
    if isinstance(given, Inertia):
        return given
    shape = np.shape(np.asarray(given, dtype=object))
    if shape == (3,):
        xx, yy, zz = (value(e, what, "kg m²") for e in given)
        return Inertia(xx, yy, zz, ZERO, ZERO, ZERO)
    if shape == (6,):
        return Inertia(*(value(e, what, "kg m²") for e in given))
    if shape == (3, 3):
        m = [[value(e, what, "kg m²") for e in row] for row in given]
        scale = max((abs(float(e)) for row in m for e in row if e.is_number), default=0.0)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            a, b = m[i][j], m[j][i]
            if a is not b and not (a.is_number and b.is_number and abs(float(a) - float(b)) <= 1e-9 * scale):
                raise ModelError(f"{what}: the matrix is not symmetric: entry ({i + 1}, {j + 1}) = {a}, ({j + 1}, {i + 1}) = {b}")
        return Inertia.of(Matrix.of(m))
    raise ModelError(f"{what}: give three principal values, six entries (xx, yy, zz, xy, xz, yz) or a 3×3 matrix, got shape {shape}")


def check_mass_properties(name: str, mass: float, moment: np.ndarray, inertia: np.ndarray) -> None:
    """Physical checks: positive mass, positive definite inertia about the centre of mass, triangle inequality."""
    if mass < 0:
        raise ModelError(f"body '{name}': mass {mass:g} kg is negative; give a positive mass, or 0 for a massless body")
    if mass == 0:
        if np.any(np.abs(moment) > 0):
            raise ModelError(f"body '{name}': it has a first moment of mass {tuple(moment)} but no mass")
        reference = inertia
    else:
        c = np.asarray(moment) / mass
        reference = inertia - mass * (c @ c * np.eye(3) - np.outer(c, c))
    principal = np.linalg.eigvalsh(reference)
    scale = max(float(np.abs(inertia).max()), 1e-300)
    if principal[0] < -1e-9 * scale:
        raise ModelError(
            f"body '{name}': the inertia about its centre of mass has the principal value {principal[0]:g} kg m² < 0; "
            "check the sign of products of inertia and the point it refers to (about='com' or 'origin')"
        )
    if principal[2] > (principal[0] + principal[1]) * (1 + 1e-6) + 1e-9 * scale:
        plane = principal[1] <= 1e-9 * scale
        remedy = (
            f"; one value is enough for bodies that can turn about its axis alone, which this one is not: give the other two, too, as those of a plate: {principal[2] / 2:g}, {principal[2] / 2:g}"
            if plane
            else ""
        )
        raise ModelError(
            f"body '{name}': principal inertias {principal.round(9).tolist()} kg m² break the triangle inequality "
            f"I₃ ≤ I₁ + I₂; no mass distribution has them{remedy} (use check=False to allow it)"
        )


def drawable(body: Body, shape: Any) -> Any:
    """The shape, if it is one that can be drawn."""
    return shape_of(body.name, shape)


def shape_mass(body: Body, shape: Any) -> None:
    """Adds the mass properties of a solid to a body."""
    body.may_gain()
    if not all(hasattr(type(shape), n) or hasattr(shape, n) for n in ("mass", "com", "inertia")):
        raise ModelError(f"body '{body.name}': shape {shape!r} is not a solid; use jd.box(...), jd.cylinder(...) and the like")
    m, moment, tensor, shift = _weight(shape, f"body '{body.name}': mass of its shape")
    body.mass = add(body.mass, m)
    body.moment = body.moment + moment
    body.inertia = body.inertia + tensor + shift
    body.contributions.append(shape)


def _weight(shape: Any, what: str) -> tuple[Expr, Vector, Inertia, Inertia]:
    """Mass and first moment of a solid, its inertia about the centre of mass, and what is added to that about the body's origin; bodies of the same shape have the same."""
    from .shapes.base import Shape

    if isinstance(shape, Shape):
        try:
            return _weight_of(shape)
        except (ModelError, TypeError):  # to be told of this body, or a shape that holds arrays
            pass
    solid = shape.mass_properties() if hasattr(shape, "mass_properties") else shape
    c, m = Vector.of(solid.com), value(solid.mass, what)
    return m, c * m, Inertia.of(Matrix.of(solid.inertia)), steiner(c * m, c)


@lru_cache(64)
def _weight_of(shape: Shape) -> tuple[Expr, Vector, Inertia, Inertia]:
    """The same of a shape that cannot change."""
    solid = shape.mass_properties()
    c, m = Vector.of(solid.com), value(solid.mass, "mass")
    return m, c * m, Inertia.of(Matrix.of(solid.inertia)), steiner(c * m, c)


__all__ = ["Body", "Frame", "MassGiven", "check_mass_properties", "drawable", "parse_inertia", "shape_mass"]
