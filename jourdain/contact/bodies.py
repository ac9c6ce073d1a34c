"""Bodies of the fast scale: what strikes and what is struck, by shape and material.

Each is struck at one place in one direction; displacements are counted along the blow.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import InputError, nearest
from ..structures.parts.dofs import Array
from ..structures.parts.sections import Material, circle

if TYPE_CHECKING:
    from ..structures import Structure
    from .elastic import Elastic

#: Modes of finite-element bodies are taken up to this frequency (Hz), as in the source.
CUTOFF = 100e3
#: Modes of a rod unless a number is given.
ROD_MODES = 200
GRAVITY = 9.81


@dataclass(frozen=True, eq=False)
class Modal:
    """A body by its rigid motion and its elastic modes, mass-normalised.

    Args:
        mass: effective mass of the rigid body at the point of contact.
        omega, xi: angular frequencies and damping ratios. struck: modes at the point of contact, along the blow.
    """

    mass: float
    omega: Array
    xi: Array
    struck: Array
    shapes: Any = None  #: function of places (k, …) giving modes there (k, n)
    strains: Any = None  #: likewise strains of modes

    @property
    def pulled(self) -> Array:
        """sᵢ: the rigid motion, then the modes, as the contact sees them."""
        return np.concatenate([[1 / math.sqrt(self.mass)], self.struck])


def rigid(mass: float) -> Modal:
    """A body without elasticity."""
    nothing = np.zeros(0)
    return Modal(mass, nothing, nothing, nothing, lambda p: np.zeros((np.size(p), 0)))


@dataclass(frozen=True)
class FastBody:
    """What all bodies have: a material, its viscosity η (s; σ = E (ε + η ε̇)), and the pendulum they may hang on.

    `suspension` is the length of the wires (m), `drag` the damping d₁ of the swing (N s/m); runs over seconds use them, an impact does not.
    """

    _: KW_ONLY
    E: float
    nu: float = 0.33
    density: float
    viscosity: float = 0.0
    suspension: float | None = None
    drag: float = 0.0

    def __post_init__(self) -> None:
        Material(self.E, self.nu, self.density)
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in ("viscosity", "drag"):
                if not (value >= 0 and math.isfinite(value)):
                    raise InputError(f"{self.name}: {f.name} = {value:g} must be zero or positive")
            elif (
                f.name not in ("nu", "at")
                and isinstance(value, float | int)
                and not isinstance(value, bool)
                and not (value > 0 and math.isfinite(value))
            ):
                raise InputError(f"{self.name}: {f.name} = {value:g} must be positive")

    @property
    def name(self) -> str:
        return type(self).__name__.lower()

    @property
    def material(self) -> Material:
        return Material(self.E, self.nu, self.density)

    @property
    def key(self) -> str:
        """Text that equal bodies share, for tables that are kept."""
        return repr(self)

    @property
    def mass(self) -> float:
        """kg."""
        raise NotImplementedError

    @property
    def curvatures(self) -> tuple[float, float]:
        """Principal curvatures (1/m) where the body is touched."""
        raise NotImplementedError

    @property
    def effective_mass(self) -> float:
        """Mass that a rigid body opposes to the blow."""
        return self.mass

    @property
    def period(self) -> float:
        """Longest period (s) of elastic vibration that a blow excites; 0 of a rigid body."""
        return 2 * math.pi / float(self.modal().omega[0])

    @cached_property
    def _kept(self) -> dict[Any, Any]:
        """Modes and grids that were computed already."""
        return {}

    def modal(self, count: int | None = None, cutoff: float = CUTOFF) -> Modal:
        """The body by its lowest modes: a number of them, or all below a frequency (Hz)."""
        question = "modes", count, cutoff
        if question not in self._kept:
            self._kept[question] = self._modal(count, cutoff)
        found: Modal = self._kept[question]
        return found

    def elastic(self, size: float | None = None) -> Elastic:
        """The body by finite elements of a size (m)."""
        question = "elements", size
        if question not in self._kept:
            self._kept[question] = self._elastic(size)
        found: Elastic = self._kept[question]
        return found

    def _modal(self, count: int | None, cutoff: float) -> Modal:
        e = self.elastic()
        omega, shapes = e.modes(count, cutoff)
        struck = shapes[e.struck]
        felt = np.abs(struck) > 1e-9 * np.abs(struck).max(initial=0.0)  # antisymmetric modes do not feel a blow in the middle
        omega, shapes, struck = omega[felt], shapes[:, felt], struck[felt]
        return Modal(1 / e.mobility, omega, 0.5 * self.viscosity * omega, struck, lambda p: shapes[[e.node(x) for x in np.atleast_2d(p)]])

    def _elastic(self, size: float | None) -> Elastic:
        raise InputError(f"{self.name}: it has no finite elements of its own; take another model")


@dataclass(frozen=True)
class Ball(FastBody):
    """A solid ball; rigid but for the indentation, unless finite elements with penalty contact are asked for."""

    radius: float

    @property
    def mass(self) -> float:
        return 4 / 3 * math.pi * self.radius**3 * self.density

    @property
    def curvatures(self) -> tuple[float, float]:
        return 1 / self.radius, 1 / self.radius

    @property
    def period(self) -> float:
        return 0.0

    def _modal(self, count: int | None, cutoff: float) -> Modal:
        return rigid(self.mass)


@dataclass(frozen=True)
class Rod(FastBody):
    """A round rod struck on its end x = 0 along its axis; its other end is free or "fixed"."""

    length: float
    radius: float
    end_radius: float | None = None
    other_end: str = "free"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.other_end not in ("free", "fixed"):
            raise InputError(f"rod: other_end = '{self.other_end}' is unknown; it is 'free' or 'fixed'")

    @property
    def area(self) -> float:
        return math.pi * self.radius**2

    @property
    def effective_mass(self) -> float:
        return self.mass if self.other_end == "free" else math.inf

    @property
    def mass(self) -> float:
        return self.density * self.area * self.length

    @property
    def curvatures(self) -> tuple[float, float]:
        k = 0.0 if self.end_radius is None else 1 / self.end_radius
        return k, k

    @property
    def speed_of_sound(self) -> float:
        """c = √(E/ρ) (44)."""
        return math.sqrt(self.E / self.density)

    @property
    def impedance(self) -> float:
        """Z = EA/c, force over velocity of a wave."""
        return self.E * self.area / self.speed_of_sound

    @property
    def round_trip(self) -> float:
        """2L/c."""
        return 2 * self.length / self.speed_of_sound

    @property
    def period(self) -> float:
        return self.round_trip if self.other_end == "free" else 2 * self.round_trip

    def _modal(self, count: int | None, cutoff: float) -> Modal:
        """φᵢ = √(2/m) cos(iπx/L), ωᵢ = iπc/L, ξᵢ = ½ηωᵢ (23), (44), (45)."""
        if self.other_end == "fixed":
            raise InputError("rod: other_end = 'fixed' has no rigid motion, for which modes are not implemented; take model='waves'")
        wave: Array = np.arange(1.0, (ROD_MODES if count is None else count) + 1.0) * (math.pi / self.length)
        size = math.sqrt(2 / self.mass)

        def shapes(x: Any) -> Array:
            return size * np.cos(np.outer(np.atleast_1d(x), wave))

        def strains(x: Any) -> Array:
            return -size * wave * np.sin(np.outer(np.atleast_1d(x), wave))

        omega = wave * self.speed_of_sound
        return Modal(self.mass, omega, 0.5 * self.viscosity * omega, np.full(len(wave), size), shapes, strains)

    def _elastic(self, size: float | None) -> Elastic:
        return revolved(self, self.radius / 2 if size is None else size)


@dataclass(frozen=True)
class Cylinder(FastBody):
    """A compact cylinder struck on its end face along its axis; by finite elements, as its section does not stay plane."""

    length: float
    radius: float

    @property
    def mass(self) -> float:
        return math.pi * self.radius**2 * self.length * self.density

    @property
    def curvatures(self) -> tuple[float, float]:
        return 0.0, 0.0

    @cached_property
    def period(self) -> float:
        return 2 * math.pi / float(self.modal(count=2).omega[0])

    def _elastic(self, size: float | None) -> Elastic:
        return revolved(self, self.radius / 10 if size is None else size)


def revolved(body: Rod | Cylinder, size: float) -> Elastic:
    """Equal elements of about a size."""
    from .elastic import point_compliance, revolved_solid
    from .meshes import cylinder_section

    r = np.linspace(0.0, body.radius, max(round(body.radius / size), 2) + 1)
    z = np.linspace(0.0, body.length, max(round(body.length / size), 2) + 1)
    found = revolved_solid(body.name, *cylinder_section(body.radius, body.length, r, z), body.material, body.mass)
    return replace(found, yielding=point_compliance((r[1], z[1]), body.material))


@dataclass(frozen=True)
class Disc(FastBody):
    """A circular plate struck on its rim in its plane; with `half` its half, struck at the middle of the curved rim."""

    radius: float
    thickness: float
    half: bool = False

    @property
    def name(self) -> str:
        return "plate" if self.half else "disc"

    @property
    def mass(self) -> float:
        return (0.5 if self.half else 1.0) * math.pi * self.radius**2 * self.thickness * self.density

    @property
    def curvatures(self) -> tuple[float, float]:
        return 1 / self.radius, 0.0

    @cached_property
    def period(self) -> float:
        omega, _ = self.elastic(self.radius / 10).modes(1, CUTOFF)
        return 2 * math.pi / float(omega[0])

    def _elastic(self, size: float | None) -> Elastic:
        """Plane stress, elements about as large as the plate is thick, of the half x ≥ 0, twice as thick."""
        from ..structures.parts.solids import solid
        from .elastic import held
        from .meshes import half_disc

        nodes, cells, struck = half_disc(self.radius, self.thickness if size is None else size, whole=not self.half)
        part = solid(nodes, cells, self.material, 2 * self.thickness, self.name)
        middle = 2 * np.flatnonzero(np.abs(nodes[:, 0]) < 1e-9 * self.radius)
        mu = part.M[::2][:, ::2] * (self.mass / part.mass)  # a polygon is a little smaller than the disc
        return held(self.name, part.K.tocsr(), mu, nodes, middle, along=1, struck=struck, sign=-1.0)


@dataclass(frozen=True)
class Beam(FastBody):
    """A round beam, free in space, struck across at a place along it (the middle unless given); Timoshenko's theory."""

    length: float
    radius: float
    at: float | None = None
    elements: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.place <= self.length:
            raise InputError(f"beam: at = {self.place:g} m is outside of its length {self.length:g} m")

    @property
    def place(self) -> float:
        return self.length / 2 if self.at is None else self.at

    @property
    def mass(self) -> float:
        return math.pi * self.radius**2 * self.length * self.density

    @property
    def curvatures(self) -> tuple[float, float]:
        return 1 / self.radius, 0.0

    @cached_property
    def effective_mass(self) -> float:
        return 1 / self.elastic().mobility

    def _elastic(self, size: float | None) -> Elastic:
        from ..structures.parts.beams import beam
        from ..structures.reduction import Space
        from .elastic import Elastic, lumped_by_scaling

        elements = self.elements if size is None else 2 * max(round(self.length / size / 2), 1)
        shear = 6 * (1 + self.nu) / (7 + 6 * self.nu)  # Cowper 1966, of the circle
        section = replace(circle(2 * self.radius), shear_y=shear, shear_z=shear)
        part = beam((0, 0, 0), (self.length, 0, 0), section, self.material, elements=elements, theory="timoshenko")
        space = Space.of(part, "z")
        count = len(part.nodes)
        places = part.nodes[:, :1]
        struck = int(np.argmin(np.abs(places[:, 0] - self.place)))
        if abs(places[struck, 0] - self.place) > 1e-9 * self.length:
            raise InputError(
                f"beam: at = {self.place:g} m is between nodes of {elements} elements; choose elements= such that at/length·elements is whole"
            )
        moves = (np.arange(2 * count) < count).astype(float)
        M = space.M.tocsr()
        along = np.arange(count)
        return Elastic("beam", space.K.tocsr(), M, lumped_by_scaling(M, [moves]), struck, np.asarray(space.R), places, along)


@dataclass(frozen=True)
class ElasticBody(FastBody):
    """Any free structure, struck at a node along one of its axes; `radii` are its radii of curvature there (None: flat)."""

    part: Structure
    at: Any
    direction: str
    radii: tuple[float | None, float | None] = (None, None)
    label: str = field(default="structure")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.direction not in ("x", "y", "z", "-x", "-y", "-z"):
            raise InputError(
                f"{self.name}: direction = {self.direction!r} is unknown; it is 'x', 'y', 'z', '-x', '-y' or '-z', the way of the blow"
            )
        for radius in self.radii:
            if radius is not None and not radius != 0:
                raise InputError(f"{self.name}: a radius of curvature is 0; give None where the surface is flat")

    @property
    def name(self) -> str:
        return self.label

    @property
    def mass(self) -> float:
        return self.part.mass

    @property
    def key(self) -> str:
        digest = hashlib.sha256()
        for array in (self.part.nodes, self.part.K.data, self.part.K.indices, self.part.M.data, self.part.M.indices):
            digest.update(np.ascontiguousarray(array).tobytes())
        return f"structure {digest.hexdigest()} {self.at!r} {self.direction} {self.radii} {self.E} {self.nu} {self.viscosity}"

    @property
    def curvatures(self) -> tuple[float, float]:
        a, b = (0.0 if r is None else 1 / r for r in self.radii)
        return a, b

    @cached_property
    def effective_mass(self) -> float:
        return 1 / self.elastic().mobility

    @cached_property
    def period(self) -> float:
        return 2 * math.pi / float(self.part.frequencies(1)[0])

    def _elastic(self, size: float | None) -> Elastic:
        import scipy.sparse as sp

        from .elastic import Elastic, lumped_by_scaling

        if size is not None:
            raise InputError(f"{self.name}: size = {size:g} m, but a structure brings its own grid; leave size= out")
        self.part.require_sound()
        dofs = self.part.dofs
        component = "xyz".index(self.direction[-1])
        sign = np.where(dofs.components == component, -1.0 if self.direction[0] == "-" else 1.0, 1.0)
        flip = sp.diags_array(sign)
        M = sp.csr_array(flip @ self.part.M @ flip)
        struck = int(dofs.table[self.part.node(self.at), component])
        if struck < 0:
            raise InputError(f"{self.name}: node {self.at!r} cannot move along '{self.direction[-1]}'; strike it along another axis")
        translations = [(dofs.components == c).astype(float) for c in range(3) if (dofs.components == c).any()]
        rigid = sign[:, None] * self.part.rigid[:, dofs.rigid_columns]
        return Elastic(
            self.name, sp.csr_array(flip @ self.part.K @ flip), M, lumped_by_scaling(M, translations), struck, rigid,
            self.part.nodes, dofs.table[:, component],
        )  # fmt: skip


# -- as users write them ---------------------------------------------------------------------------------------------


def ball(radius: float, **material: Any) -> Ball:
    """A solid ball.

    >>> round(ball(0.015, E=210e9, nu=0.3, density=7780.0).mass, 5)
    0.10999
    """
    return made(Ball, radius, **material)


def rod(length: float, radius: float, **material: Any) -> Rod:
    """A round rod struck on its end; `end_radius` rounds the end, `other_end="fixed"` holds the far one."""
    return made(Rod, length, radius, **material)


def beam(length: float, radius: float, **material: Any) -> Beam:
    """A round beam struck across, in the middle or at a place `at`."""
    return made(Beam, length, radius, **material)


def plate(radius: float, thickness: float, **material: Any) -> Disc:
    """A half-circular plate struck in its plane at the middle of the curved rim."""
    return made(Disc, radius, thickness, True, **material)


def disc(radius: float, thickness: float, **material: Any) -> Disc:
    """A circular plate struck in its plane at the rim."""
    return made(Disc, radius, thickness, **material)


def cylinder(length: float, radius: float, **material: Any) -> Cylinder:
    """A compact cylinder struck on its end face."""
    return made(Cylinder, length, radius, **material)


def structure(part: Structure, at: Any, direction: str, radii: Sequence[float | None] = (None, None), **material: Any) -> ElasticBody:
    """A finite-element part (:class:`jd.structures.Structure`) struck at a node: by its modes, or all of its degrees of freedom.

    E and nu are those of the material where it is touched, `radii` the radii of curvature there (m, None: flat).
    """
    return made(ElasticBody, part, at, direction, (radii[0], radii[1]), **{"density": 1.0, **material})


B = TypeVar("B", bound=FastBody)


def made(kind: type[B], *shape: Any, **material: Any) -> B:
    """A body, or an error that names what is missing or not known."""
    known = [f.name for f in fields(kind)]
    name = kind.__name__.lower()
    for wanted in material:
        if wanted not in known:
            near = nearest(wanted, known)
            raise InputError(f"{name}: '{wanted}' is unknown{f'; did you mean {near[0]}?' if near else f'; it has {chr(44).join(known)}'}")
    for needed in ("E", "density"):
        if needed not in material:
            raise InputError(f"{name}: {needed} is missing; give {'E= in Pa' if needed == 'E' else 'density= in kg/m³'}")
    return kind(*shape, **material)
