"""What every shape can do: give its mass properties, be placed, coloured, evaluated, drawn and triangulated."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ...errors import InputError, ModelError
from ...reals import NotReal, real
from ...symbolic.expr import Expr
from ...told import told
from ..colours import colour_code
from ..values import number
from .mass import IDENTITY, ORIGIN, MassProperties, Matrix, Placement, Scalar, Vector, is_number, turn

if TYPE_CHECKING:
    from .booleans import Difference, Union

Triangulation = tuple[np.ndarray, np.ndarray]
"""Vertices (n, 3) in m and faces (m, 3), counter-clockwise when seen from outside."""

ALONG: dict[str, Matrix] = {
    "x": ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "y": ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    "z": IDENTITY,
}
"""Cyclic exchanges of axes that carry the z axis of a solid of revolution or extrusion to the axis named."""


@dataclass(frozen=True)
class Shape(ABC):
    """A solid in a reference frame (usually that of the body it belongs to)."""

    kind: ClassVar[str] = "shape"

    placement: Placement = field(default=Placement(), kw_only=True)

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        told(cls)

    # ---- what a kind of shape must say about itself, in its own frame ------------------------------------------

    @property
    @abstractmethod
    def uniform_density(self) -> Scalar | None:
        """The one density of all the material in kg/m³, None where none is given; an error if there are several."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether the mass properties hold to rounding (False where a curved surface was triangulated for them)."""

    @abstractmethod
    def _own_volume(self) -> MassProperties: ...

    @abstractmethod
    def _own_mass(self) -> MassProperties: ...

    @abstractmethod
    def _own_triangulation(self, n: int) -> Triangulation: ...

    @abstractmethod
    def _own_contains(self, points: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _drawing(self) -> dict[str, Any]: ...

    @abstractmethod
    def coloured(self, colour: str) -> Self:
        """Return the shape painted in a colour given as "#rrggbb"."""

    def colored(self, color: str) -> Self:
        """As :meth:`coloured`."""
        return self.coloured(color)

    @abstractmethod
    def with_density(self, density: Scalar) -> Self:
        """Return the shape made of a material of the density given in kg/m³."""

    # ---- mass properties ---------------------------------------------------------------------------------------

    def volume_properties(self) -> MassProperties:
        """Return the mass properties at density 1 (mass is then volume), in the reference frame."""
        return self._own_volume().placed(self.placement)

    def mass_properties(self) -> MassProperties:
        """Return mass, centre of mass and second moments in the reference frame; needs a density."""
        return self._own_mass().placed(self.placement)

    @property
    def volume(self) -> Scalar:
        """Volume in m³."""
        return self._own_volume().mass

    @property
    def centroid(self) -> Vector:
        """Centre of volume in m, in the reference frame; no density is needed."""
        return self.volume_properties().com

    @property
    def mass(self) -> Scalar:
        """Mass in kg."""
        return self._own_mass().mass

    @property
    def com(self) -> Vector:
        """Centre of mass in m, in the reference frame."""
        return self.mass_properties().com

    @property
    def inertia(self) -> Matrix:
        """Inertia about the centre of mass in the axes of the reference frame, in kg·m²."""
        return self.mass_properties().inertia

    def inertia_about(self, point: Vector = ORIGIN, rotation: Matrix = IDENTITY) -> Matrix:
        """Return the inertia about a point of the reference frame, in the axes of a frame turned by `rotation`.

        I' = Rᵀ (I + m (d·d 1 − d dᵀ)) R with d = com − point; `rotation` maps components in the turned frame to
        components in the reference frame. The result is in kg·m².

        >>> from jourdain.model.shapes import box
        >>> rod = box(0.6, 0.01, 0.01, density=1.0e4, anchor="start")
        >>> round(rod.inertia_about((0.0, 0.0, 0.0))[2][2], 6)
        0.072005
        """
        return self.mass_properties().inertia_about(point, rotation)

    def with_mass(self, mass: Scalar) -> Self:
        """Return the shape with the one density that gives it the mass stated in kg."""
        check_positive(self.kind, "mass", mass)
        return self.with_density(mass / self.volume)

    # ---- placing and combining ---------------------------------------------------------------------------------

    def at(self, x: Scalar, y: Scalar, z: Scalar) -> Self:
        """Return the shape moved by (x, y, z) in m along the axes of the reference frame; moves add up."""
        x, y, z = (_in_unit(self.kind, *entry, "m") for entry in zip("xyz", (x, y, z), strict=True))
        for letter, value in zip("xyz", (x, y, z), strict=True):
            check_finite(self.kind, letter, value)
        return replace(self, placement=Placement((x, y, z)) @ self.placement)

    def rotated(self, axis: str | Vector, angle: Scalar) -> Self:
        """Return the shape turned by an angle in rad about an axis through its own origin.

        The axis is 'x', 'y', 'z' or three numbers in the reference frame. The shape's own origin stays where it
        is, so that the order of `at` and `rotated` does not matter.
        """
        own = self.placement
        angle = _in_unit(self.kind, "angle", angle, "rad")
        spin = Placement(rotation=turn(axis, angle)) @ Placement(rotation=own.rotation)
        return replace(self, placement=Placement(own.position, spin.rotation))

    def __add__(self, other: Shape) -> Union:
        """Return both shapes together; they must not overlap (see `union`)."""
        from .booleans import union

        return union(self, other) if isinstance(other, Shape) else NotImplemented  # type: ignore[return-value]

    def __sub__(self, other: Shape) -> Difference:
        """Return this shape with the other one, which must lie inside, cut out of it (see `difference`)."""
        from .booleans import difference

        return difference(self, other) if isinstance(other, Shape) else NotImplemented  # type: ignore[return-value]

    # ---- numbers, drawing, triangles ---------------------------------------------------------------------------

    @property
    def is_numeric(self) -> bool:
        """Whether no dimension, density or placement is symbolic."""
        return next(_symbolic_entries(self, ""), None) is None

    def numeric(self, evaluate: Callable[[Any], float] = float) -> Self:
        """Return the shape with every symbolic entry replaced by the number `evaluate(entry)`, and checked."""
        return replace(self, **{f.name: _evaluated(getattr(self, f.name), evaluate) for f in fields(self)})

    def primitive(self) -> dict[str, Any]:
        """Return a plain dictionary for a viewer: kind, dimensions (m), position (m), rotation matrix, colour.

        The pose is that of the solid's own symmetric form: box, sphere, torus, cylinder, tube, capsule, cone and
        prism are centred, with the z axis as axis; `axis` and `anchor` are already worked into the pose.
        """
        self._need_numbers("primitive()")
        return self._drawing()

    def tessellate(self, n: int = 48) -> Triangulation:
        """Return (vertices, faces) of the surface, with n segments around every circle; outward faces."""
        self._need_numbers("tessellate()")
        if n < 3:
            raise InputError(f"{self.kind}: n = {n} segments do not close a circle; use at least 3")
        vertices, faces = self._own_triangulation(n)
        return self.placement.outward(vertices), faces

    def contains(self, points: Any) -> np.ndarray:
        """Tell for each point of an (n, 3) array in m, in the reference frame, whether it lies in the shape."""
        self._need_numbers("contains()")
        return self._own_contains(self.placement.inward(np.atleast_2d(np.asarray(points, float))))

    def _need_numbers(self, what: str) -> None:
        entry = next(_symbolic_entries(self, ""), None)
        if entry is not None:
            raise InputError(f"{self.kind}: {entry[0]} = {entry[1]} is symbolic; {what} needs numbers: call shape.numeric(evaluate) first")


@dataclass(frozen=True)
class Solid(Shape):
    """A single homogeneous piece of material."""

    density: Scalar | None = field(default=None, kw_only=True)
    colour: str | None = field(default=None, kw_only=True)
    color: InitVar[str | None] = field(default=None, kw_only=True)

    def __post_init__(self, color: str | None) -> None:
        if color is not None:
            object.__setattr__(self, "colour", color)
        for f in fields(self):
            if isinstance(given := getattr(self, f.name), str) and str(f.type).startswith("Scalar"):
                expects = {"density": "kg/m^3", "scale": "1"}.get(f.name, "m")
                object.__setattr__(self, f.name, number(given, f"{self.kind}: {f.name}", expects))
        if self.density is not None:
            check_positive(self.kind, "density", self.density)
        if self.colour is not None:
            object.__setattr__(self, "colour", colour_code(self.colour, self.kind))
        self._check()

    @property
    def uniform_density(self) -> Scalar | None:
        return self.density

    @property
    def exact(self) -> bool:
        return True

    @abstractmethod
    def _check(self) -> None:
        """Raise where a dimension makes no sense."""

    @abstractmethod
    def _dimensions(self) -> dict[str, Any]:
        """Return the dimensions the viewer needs."""

    @abstractmethod
    def _symmetric_volume(self) -> MassProperties:
        """Return volume, centre and second moments of the symmetric form."""

    @abstractmethod
    def _symmetric_triangulation(self, n: int) -> Triangulation: ...

    @abstractmethod
    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray: ...

    def _symmetric_form(self) -> Placement:
        """Return where the symmetric form (see `primitive`) lies in the shape's own frame."""
        return Placement()

    def _own_volume(self) -> MassProperties:
        return self._symmetric_volume().placed(self._symmetric_form())

    def _own_mass(self) -> MassProperties:
        if self.density is None:
            raise ModelError(
                f"{self.kind}: no density given, so it has no mass; pass density= (kg/m³), or call .with_density(rho) or .with_mass(m)"
            )
        return self._own_volume().times(self.density)

    def _own_triangulation(self, n: int) -> Triangulation:
        vertices, faces = self._symmetric_triangulation(n)
        return self._symmetric_form().outward(vertices), faces

    def _own_contains(self, points: np.ndarray) -> np.ndarray:
        return self._symmetric_contains(self._symmetric_form().inward(points))

    def _drawing(self) -> dict[str, Any]:
        pose = self.placement @ self._symmetric_form()
        return {"kind": self.kind, **plain(self._dimensions()), **drawn_pose(pose), "colour": self.colour}

    def coloured(self, colour: str) -> Self:
        """Return the solid painted in a colour given as "#rrggbb"."""
        return replace(self, colour=colour)

    def with_density(self, density: Scalar) -> Self:
        """Return the solid made of a material of the density given in kg/m³."""
        return replace(self, density=density)


def drawn_pose(pose: Placement) -> dict[str, Any]:
    """Return a numeric placement as plain lists."""
    return {"position": plain(pose.position), "rotation": plain(pose.rotation)}


def plain(value: Any) -> Any:
    """Return nested numbers as built-in floats, lists and dictionaries."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [plain(entry) for entry in value]
    return float(value)


def _evaluated(value: Any, evaluate: Callable[[Any], float]) -> Any:
    if value is None or isinstance(value, (str, bool, np.ndarray, MassProperties)):
        return value
    if is_number(value):
        return float(value)
    if isinstance(value, tuple):
        return tuple(_evaluated(entry, evaluate) for entry in value)
    if isinstance(value, Shape):
        return value.numeric(evaluate)
    if isinstance(value, Placement):
        return Placement(_evaluated(value.position, evaluate), _evaluated(value.rotation, evaluate))
    return float(evaluate(value))


def _symbolic_entries(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if value is None or is_number(value) or isinstance(value, (str, bool, np.ndarray, MassProperties)):
        return
    if isinstance(value, tuple):
        for index, entry in enumerate(value):
            yield from _symbolic_entries(entry, f"{name}[{index}]")
    elif isinstance(value, (Shape, Placement)):
        for f in fields(value):
            yield from _symbolic_entries(getattr(value, f.name), f"{name}.{f.name}".lstrip("."))
    else:
        yield name, value


# ---- checks of dimensions; symbolic values pass, they are checked once they have numbers ------------------------


def _in_unit(kind: str, name: str, value: Scalar, unit: str) -> Scalar:
    """A value as it is, or that of a text with a unit."""
    return number(value, f"{kind}: {name}", unit) if isinstance(value, str) else value


def check_finite(kind: str, name: str, value: Scalar) -> None:
    """Raise unless something is a finite number or an expression."""
    if isinstance(value, (str, bool)) or not (is_number(value) or _is_symbolic(value) or _is_real(value)):
        raise InputError(f"{kind}: {name} = {value!r} is not a number, a text with a unit or a symbolic expression")
    if is_number(value) and not math.isfinite(value):
        raise InputError(f"{kind}: {name} = {value} is not finite; give a finite number")


def _is_symbolic(value: object) -> bool:
    """Whether something is an expression, of the package or of SymPy."""
    return isinstance(value, Expr) or hasattr(value, "free_symbols")


def _is_real(value: object) -> bool:
    try:
        return math.isfinite(real(value))
    except NotReal:
        return False


def check_positive(kind: str, name: str, value: Scalar) -> None:
    """Raise unless a number is finite and greater than zero."""
    check_finite(kind, name, value)
    if is_number(value) and not value > 0:
        raise ModelError(f"{kind}: {name} = {value} must be greater than zero")


def check_not_negative(kind: str, name: str, value: Scalar) -> None:
    """Raise unless a number is finite and not less than zero."""
    check_finite(kind, name, value)
    if is_number(value) and value < 0:
        raise ModelError(f"{kind}: {name} = {value} must not be negative")


def check_axis(kind: str, axis: str) -> None:
    """Raise unless an axis is named x, y or z."""
    if axis not in ALONG:
        raise InputError(f"{kind}: axis {axis!r} is not one of 'x', 'y', 'z'; use .rotated(axis, angle) for others")


def check_anchor(kind: str, anchor: str) -> None:
    """Raise unless an anchor is known."""
    if anchor not in ("centre", "start"):
        raise InputError(f"{kind}: anchor {anchor!r} is not known; use 'centre' or 'start'")
