"""Rotors with elastic blades."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin

from .. import structures
from ..model.model import Model
from ..model.shapes import box
from ..symbolic.functions import where


def helicopter_rotor(
    blades: int = 4, cells: Sequence[int] = (19, 3, 1), stiffness: float = 1.0, torque: float = 2e4, ramp: float = 1.5, modes: int = 3
) -> Model:
    """A hub on a hinge with elastic blades, driven by a torque that rises and falls (Uhlar, Sec. 6.4.1).

    The hub is a cube of 3 m and 250 kg; blades of 9.5 × 0.9 × 0.2 m have ρ = 510 kg/m³, λ = 10 MPa and μ = 3 MPa times ``stiffness``.  The torque
    (N m) rises for ``ramp`` seconds and falls as long, so that it leaves an angular momentum of torque · ramp.  By ``compile(formulation="directors")``
    blades are nonlinear solids of ``cells`` hexahedra; other formulations take ``modes`` modes of them.

    >>> rotor = helicopter_rotor(blades=2, cells=(4, 1, 1))
    >>> sol = rotor.compile(formulation="directors", reduction="bodies").simulate({}, t=0.5, step=0.05)
    >>> bool(abs(sol["energy.total"] - sol["energy.supplied"]).max() < 1e-9)
    True
    """
    m = Model("helicopter rotor", gravity=(0, 0, 0))
    hub = m.body("hub", mass=250.0, inertia=(375.0, 375.0, 375.0))
    hub.shapes += [box(3.0, 3.0, 0.6)]
    mast = m.revolute("mast", m.ground, hub, axis="z")
    m.force(mast, lambda x, v, t: where(t < ramp, torque * t / ramp, where(t < 2 * ramp, torque * (2.0 - t / ramp), 0.0)), name="drive")
    lame, shear = 1e7 * stiffness, 3e6 * stiffness
    young, poisson = shear * (3 * lame + 2 * shear) / (lame + shear), lame / (2 * (lame + shear))
    rubber = structures.Material(young, poisson, 510.0)
    blade = structures.hexahedra((9.5, 0.9, 0.2), cells, rubber, origin=(1.5, -0.45, -0.1), name="blade", root="x-")
    reduced = blade.craig_bampton(modes)
    for k in range(blades):
        c, s = cos(2 * pi * k / blades), sin(2 * pi * k / blades)
        frame = hub.at(1.5 * c, 1.5 * s, 0.0, rotation=[[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        m.flexible_body(f"blade{k + 1}", reduced, attach={"root": frame})
    return m


__all__ = ["helicopter_rotor"]
