"""What a variator is made of, with the numbers of a 24 mm belt for cars as a start (SI)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...structures.drives.annular_plate import AnnularPlate
from ...structures.drives.shaft import Bearing, Shaft

Array = NDArray[np.float64]


def _whole(part: Elements | Rings) -> None:
    if not isinstance(part.count, int):
        raise InputError(f"{type(part).__name__.lower()}: count = {part.count!r} must be a whole number")


def _positive(part: object, *may_be_zero: str) -> None:
    for f in fields(part):  # type: ignore[arg-type]
        value = getattr(part, f.name)
        if isinstance(value, float | int) and not isinstance(value, bool):
            if not math.isfinite(value) or value < 0 or (value == 0 and f.name not in may_be_zero):
                raise InputError(
                    f"{type(part).__name__.lower()}: {f.name} = {value:g} must be {'zero or ' * (f.name in may_be_zero)}positive"
                )


@dataclass(frozen=True)
class Elements:
    """The stack of steel elements: it pushes and cannot pull.

    Args:
        count, thickness: N_e and b. width: at the pitch line. EA: of the stack. EI: of the closed stack.
        axial_stiffness: c_e of one element between its flanks. k_minus, k_plus: pitch line to the inner and outer edge of the contact face.
    """

    count: int = 362
    thickness: float = 1.8e-3
    mass_per_length: float = 1.6
    width: float = 24e-3
    EA: float = 2.5e7
    EI: float = 50.0
    axial_stiffness: float = 5e7
    k_minus: float = 0.3e-3
    k_plus: float = 5e-3

    def __post_init__(self) -> None:
        _whole(self)
        _positive(self, "EI", "k_minus", "k_plus")

    @property
    def length(self) -> float:
        return self.count * self.thickness


@dataclass(frozen=True)
class Rings:
    """The pack of rings, counted from inside; two packs are taken as one.

    Args:
        thickness: h of a ring. EA, mass_per_length: of one ring. saddle: pitch line to saddle. length: of the innermost, without strain.
        tolerances: k_i, factors of the lengths. EI: of the whole pack.
    """

    count: int = 10
    thickness: float = 0.185e-3
    width: float = 17e-3
    EA: float = 6.6e5
    mass_per_length: float = 0.0245
    saddle: float = 1.0e-3
    length: float = 0.65836
    EI: float = 0.0188
    tolerances: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _whole(self)
        _positive(self, "EI")
        if self.tolerances and len(self.tolerances) != self.count:
            raise InputError(f"rings: {len(self.tolerances)} tolerances for {self.count} rings; give one each")

    @property
    def offset(self) -> float:
        """Pitch line to the neutral line of the innermost ring."""
        return self.saddle + 0.5 * self.thickness

    @property
    def lengths(self) -> Array:
        """k_i (l₁ + 2π (i − 1) h)."""
        k = np.asarray(self.tolerances) if self.tolerances else np.ones(self.count)
        return np.asarray(k * (self.length + 2 * math.pi * self.thickness * np.arange(self.count)))


@dataclass(frozen=True)
class Friction:
    """Coulomb in the flanks with a rounded corner, Stribeck between rings: μ(v) = tanh(v/v_ε)(μ_c + (μ_s − μ_c) e^(−(v/v_s)²)) + k v."""

    mu: float = 0.09
    v_eps: float = 0.005
    ring_mu_c: float = 0.05
    ring_mu_s: float = 0.08
    ring_v_s: float = 0.05
    ring_v_eps: float = 0.005
    ring_viscous: float = 0.0

    def __post_init__(self) -> None:
        _positive(self, "mu", "ring_mu_c", "ring_mu_s", "ring_viscous")


@dataclass(frozen=True)
class Tilting:
    """Sheaves that tilt as a whole ("sinus approach"): a torsional spring in series with the collar."""

    stiffness: float = 3e5
    shift: float = 0.0

    def __post_init__(self) -> None:
        _positive(self, "shift")

    def matrix(self, r: Array, phi: Array) -> Array:
        """u(r, φ) = δ (r cos(φ − φ_F) − Δr): influence numbers of a tilt about an axis shifted by Δr towards the load."""
        lever = np.stack([r * np.cos(phi), r * np.sin(phi)])
        w = lever.T @ lever
        if self.shift:
            middle = math.atan2(float(np.sin(phi).sum()), float(np.cos(phi).sum()))
            along = r * np.cos(phi - middle)
            w += (along - self.shift)[:, None] * (along - self.shift) - along[:, None] * along
        return w / self.stiffness


@dataclass(frozen=True)
class Plates:
    """Both sheaves of a pulley as annular plates (Castigliano's influence numbers)."""

    plate: AnnularPlate = field(default_factory=lambda: AnnularPlate(0.020, 0.080, 0.015))
    sheaves: int = 2

    def __post_init__(self) -> None:
        _positive(self)

    def matrix(self, r: Array, phi: Array) -> Array:
        return self.sheaves * self.plate.matrix(r, phi)


@dataclass(frozen=True)
class Table:
    """Influence numbers of a linear finite-element analysis: W(r, r′, k) of harmonics k on a grid of radii."""

    radii: Array
    harmonics: Array

    def __post_init__(self) -> None:
        n, values = np.size(self.radii), np.asarray(self.radii, float)
        if not (np.isfinite(values).all() and (np.diff(values) > 0).all() and np.isfinite(np.asarray(self.harmonics, float)).all()):
            raise InputError("sheave table: radii must rise, and all numbers be finite")
        if np.ndim(self.harmonics) != 3 or np.shape(self.harmonics)[1:] != (n, n):
            raise InputError(
                f"sheave table: harmonics of shape {np.shape(self.harmonics)} do not fit {n} radii; it is (harmonics, radii, radii)"
            )

    def matrix(self, r: Array, phi: Array) -> Array:
        radii, table = np.asarray(self.radii, float), np.asarray(self.harmonics, float)
        if r.min() < radii[0] or r.max() > radii[-1]:
            raise InputError(f"sheave table: radii {r.min():.4g} … {r.max():.4g} m leave the table's {radii[0]:.4g} … {radii[-1]:.4g} m")
        hat = np.array([np.interp(r, radii, e) for e in np.eye(radii.size)]).T
        w = sum(hat @ table[k] @ hat.T * np.cos(k * (phi[:, None] - phi)) for k in range(table.shape[0]))
        return np.asarray(0.5 * (w + w.T))


@dataclass(frozen=True)
class Hydraulics:
    """Oil that turns with the cylinder, and the return spring; all close the groove.

    Args:
        inner, outer: radii of the annular piston. free_surface: radius from which the cylinder is filled.
        spring, spring_rate: force at the nominal width, and its growth as the groove opens (N, N/m).
    """

    inner: float = 0.025
    outer: float = 0.065
    free_surface: float = 0.025
    density: float = 850.0
    spring: float = 0.0
    spring_rate: float = 0.0

    def __post_init__(self) -> None:
        _positive(self, "inner", "free_surface", "density", "spring", "spring_rate")
        if not self.free_surface <= self.inner < self.outer:
            raise InputError(
                f"hydraulics: free_surface {self.free_surface:g} m, inner {self.inner:g} m and outer {self.outer:g} m must rise in this order: "
                "oil fills the cylinder from its free surface outwards"
            )

    @property
    def area(self) -> float:
        return math.pi * (self.outer**2 - self.inner**2)

    @property
    def centrifugal(self) -> float:
        """F_ω/ω² = πρ [(R_o⁴ − R_i⁴)/4 − r₀² (R_o² − R_i²)/2]."""
        a, b = self.outer**2, self.inner**2
        return math.pi * self.density * ((a * a - b * b) / 4 - self.free_surface**2 * (a - b) / 2)

    def pressure(self, thrust: float, omega: float) -> float:
        """Pressure p₀ (Pa) that with oil in rotation and the spring makes a thrust."""
        return (thrust - self.spring - self.centrifugal * omega**2) / self.area


@dataclass(frozen=True)
class Pulley:
    """A pulley: one sheave fixed on its shaft, one that moves along it and tilts on its collar.

    Args:
        inertia: J_z. delay: T₁ of the axial motion and of the tilt. collar: c_δ (N m/rad). play: of the collar (rad).
        sheaves: how sheaves give way, any object with ``matrix(r, phi)`` (m/N); None for rigid ones. shaft: None for a rigid one.
        movable, fixed: places of the sheaves on the shaft (m).
    """

    inertia: float = 0.012
    delay: float = 1e-3
    collar: float = 3e5
    play: float = 0.3e-3
    play_moment: float = 5.0
    hub: float = 0.025
    rim: float = 0.078
    sheaves: object = field(default_factory=Plates)
    shaft: Shaft | None = field(default_factory=lambda: Shaft([(0.16, 0.04)], [Bearing(0.0), Bearing(0.16)]))
    movable: float = 0.068
    fixed: float = 0.092
    hydraulics: Hydraulics | None = None

    def __post_init__(self) -> None:
        _positive(self, "play")
        if self.sheaves is not None and not callable(getattr(self.sheaves, "matrix", None)):
            raise InputError(f"pulley: sheaves = {self.sheaves!r} has no matrix(r, phi); take Plates(), Tilting(), Table() or None")
        if not self.hub < self.rim:
            raise InputError(f"pulley: hub {self.hub:g} m must be smaller than rim {self.rim:g} m")

    def flexibility(self, r: ArrayLike, phi: ArrayLike) -> Array:
        """Influence numbers of the sheaves between contact places (m/N)."""
        r, phi = np.asarray(r, float), np.asarray(phi, float)
        return np.zeros((r.size, r.size)) if self.sheaves is None else np.asarray(self.sheaves.matrix(r, phi))  # type: ignore[attr-defined]

    def bending(self, force: float = 1e3, moment: float = 100.0) -> tuple[float, float]:
        """Slope of the shaft at the movable less that at the fixed sheave, by a pull (rad/N, half on each) and by opposite couples (rad/N m)."""
        if self.shaft is None:
            return 0.0, 0.0
        pulled = self.shaft.deflect([(self.movable, force / 2, 0.0), (self.fixed, force / 2, 0.0)])
        turned = self.shaft.deflect([(self.movable, 0.0, moment), (self.fixed, 0.0, -moment)])
        return tuple((d.slope_at(self.movable) - d.slope_at(self.fixed)).real / x for d, x in ((pulled, force), (turned, moment)))  # type: ignore[return-value]
