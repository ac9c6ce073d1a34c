"""Cross sections of beams and rods, and materials."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

from ...errors import InputError, short
from ...reals import reals


@dataclass(frozen=True)
class Material:
    """A linear elastic isotropic material: Young's modulus (Pa), Poisson's ratio, density (kg/m³)."""

    E: float
    nu: float
    density: float

    def __post_init__(self) -> None:
        for name in ("E", "nu", "density"):
            value = reals(getattr(self, name), f"material: {name}")
            if value.ndim or math.isinf(value):
                raise InputError(f"material: {name} = {short(getattr(self, name))} must be one finite number")
        if not self.E > 0:
            raise InputError(f"material: E = {self.E:g} Pa must be positive")
        if not -1 < self.nu < 0.5:
            raise InputError(f"material: nu = {self.nu:g} must be between −1 and 0.5; nearly incompressible rubber needs other elements")
        if not self.density >= 0:
            raise InputError(f"material: density = {self.density:g} kg/m³ must not be negative")

    @property
    def G(self) -> float:
        """Shear modulus E / 2(1 + ν)."""
        return self.E / (2.0 * (1.0 + self.nu))


#: Structural steel and aluminium, to begin with.
STEEL = Material(2.1e11, 0.3, 7850.0)
ALUMINIUM = Material(7.0e10, 0.33, 2700.0)


@dataclass(frozen=True)
class Section:
    """A cross section in its local y, z axes (x runs along the beam), all SI.

    Args:
        area: A. Iy: ∫ z² dA, against bending along z. Iz: ∫ y² dA, against bending along y.
        torsion: torsion constant J (GJ is the torsional stiffness). Iy + Iz carries the torsional inertia.
        shear_y, shear_z: shear correction factors κ (Timoshenko beams).
        half_y, half_z: distances of the outermost fibres, for stresses. torsion_radius: shear stress = torque · radius / J.
    """

    area: float
    Iy: float
    Iz: float
    torsion: float
    shear_y: float = 5.0 / 6.0
    shear_z: float = 5.0 / 6.0
    half_y: float = 0.0
    half_z: float = 0.0
    torsion_radius: float = 0.0
    round: bool = False

    def __post_init__(self) -> None:
        for name in ("area", "Iy", "Iz", "torsion"):
            if not getattr(self, name) > 0:
                raise InputError(f"section: {name} = {getattr(self, name):g} must be positive")


def circle(diameter: float, inner: float = 0.0) -> Section:
    """A round bar, or a tube with an inner diameter."""
    if not 0 <= inner < diameter:
        raise InputError(f"circle: diameters {diameter:g} and inner {inner:g} m must satisfy 0 ≤ inner < diameter")
    area = math.pi / 4 * (diameter**2 - inner**2)
    I = math.pi / 64 * (diameter**4 - inner**4)
    k = (inner / diameter) ** 2
    shear = 6 * (1 + k) ** 2 / (7 * (1 + k) ** 2 + 20 * k)  # Cowper 1966 with ν = 0
    return Section(area, I, I, 2 * I, shear, shear, diameter / 2, diameter / 2, diameter / 2, round=True)


def rectangle(width: float, height: float) -> Section:
    """A full rectangle: `width` along y, `height` along z."""
    if not (width > 0 and height > 0):
        raise InputError(f"rectangle: width {width:g} and height {height:g} m must be positive")
    a, b = max(width, height), min(width, height)
    # Saint-Venant's series: J = a b³ (1/3 − 64/π⁵ b/a Σ tanh(nπa/2b)/n⁵), n odd; largest shear stress at the middle of the long side.
    odd = range(1, 40, 2)
    torsion = a * b**3 * (1 / 3 - 64 / math.pi**5 * b / a * sum(math.tanh(n * math.pi * a / (2 * b)) / n**5 for n in odd))
    radius = b * (1 - 8 / math.pi**2 * sum(1 / (n**2 * math.cosh(min(n * math.pi * a / (2 * b), 700.0))) for n in odd))
    return Section(width * height, width * height**3 / 12, height * width**3 / 12, torsion, 5 / 6, 5 / 6, width / 2, height / 2, radius)


@dataclass(frozen=True)
class Taper:
    """A section that changes along a beam, called with s from 0 to 1: sizes of rectangles and round bars, and numbers of other sections, change linearly."""

    start: Section
    end: Section

    def __call__(self, s: float) -> Section:
        def between(name: str) -> float:
            return float((1 - s) * getattr(self.start, name) + s * getattr(self.end, name))

        words = [w for w, sizes in SIZES.items() if all(_is(word=w, section=e, sizes=sizes) for e in (self.start, self.end))]
        if words:
            return MADE[words[0]](*(2.0 * between(half) for half in SIZES[words[0]]))
        numbers = {f.name: between(f.name) for f in fields(Section) if f.name != "round"}
        return Section(**numbers, round=self.start.round and self.end.round)  # type: ignore[arg-type]


def taper(start: Section, end: Section) -> Taper:
    """A section that changes linearly from one end of a beam to the other."""
    if not (isinstance(start, Section) and isinstance(end, Section)):
        raise InputError(f"taper: {start!r} and {end!r} must be sections, as structures.circle(…) gives them")
    return Taper(start, end)


#: Sections that their sizes give again: by words, and the halves of which these are.
MADE: dict[str, Callable[..., Section]] = {"circle": circle, "rectangle": rectangle}
SIZES = {"circle": ("half_y",), "rectangle": ("half_y", "half_z")}


def _is(word: str, section: Section, sizes: tuple[str, ...]) -> bool:
    try:
        return MADE[word](*(2.0 * getattr(section, half) for half in sizes)) == section
    except InputError:
        return False


def word_of(section: Section) -> tuple[str, list[float]] | None:
    """The word and the sizes that give a section again, if there are any."""
    found = [w for w, sizes in SIZES.items() if _is(w, section, sizes)]
    return (found[0], [2.0 * getattr(section, half) for half in SIZES[found[0]]]) if found else None
