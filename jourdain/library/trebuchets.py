"""Machines that throw."""

from __future__ import annotations

from math import asin, pi

from .. import structures
from ..model.bodies import Body
from ..model.model import Model
from ..model.shapes import box, cylinder

#: Masses (kg) and Euler moments E₁, E₂ (kg m²) along the long and the short side of wheels, frame, middle of the arm, counterweight, its tip and missile
#: (Uhlar, Sec. 6.4.2).
BODIES = {
    "wheel": (173.65, 10.85, 10.85), "frame": (1886.7, 10062.5, 157.22), "arm": (737.0, 9596.3, 61.4), "weight": (30000.0, 22500.0, 2500.0),
    "tip": (400.0, 51.2, 51.2), "missile": (58.96, 4.9, 0.78),
}  # fmt: skip
WHEEL, PIVOT, SHORT, LONG, ROOT, TIP, SLING = 0.5, 8.0, 2.5, 10.0, 2.5, 1.24, 1.0
#: Where the guide at the ground ends (m).
GUIDE = -5.75


def elastic_trebuchet(cells: tuple[int, int, int] = (15, 1, 3), stiffness: float = 1.0, modes: int = 3) -> Model:
    """A trebuchet on wheels with an elastic arm, in the plane x–z (Uhlar, Sec. 6.4.2).

    The counterweight of 30 t pulls the short arm down; the missile slides on a guide at the ground, leaves it at its end (event "leaves"), and the
    arm lets it go when it flies at 45° (event "throws").  The middle of the arm and its tip are rigid; between them it is a solid of ``cells`` hexahedra
    with λ = 288 MPa and μ = 192 MPa times ``stiffness``, by ``modes`` modes in formulations other than "directors".  Masses are those of the source, the
    geometry is an assumption: pivot at 8 m, arms of 2.5 and 10 m.

    >>> m = elastic_trebuchet(cells=(3, 1, 1))
    >>> sol = m.compile(formulation="directors", reduction="bodies").simulate({}, t=0.2, step=0.02)
    >>> bool(abs(sol["energy.total"] - sol["energy.total"][0]).max() < 1e-6)
    True
    """
    m = Model("elastic trebuchet", gravity=(0, 0, -9.81))
    frame = _body(m, "frame", upright=True)
    frame.colour = "#8a5a2b"
    for s in (1.2, -1.2):
        frame.shapes += [box(0.5, 0.3, PIVOT - 0.3).at(0, s, 0.15), box(4.6, 0.3, 0.4).at(0, s, WHEEL - 0.5 * PIVOT)]
    frame.shapes += [cylinder(0.15, 2.7, axis="y").at(0, 0, 0.5 * PIVOT)]
    cart = m.prismatic("cart", m.ground.at(0, 0, 0.5 * PIVOT), frame, axis="x")
    for name, place in (("front", 2.0), ("rear", -2.0)):
        wheel = _body(m, "wheel", name)
        axle = m.revolute(f"{name}.axle", frame.at(place, 0, WHEEL - 0.5 * PIVOT), wheel, axis="y")
        m.constraint(f"{name}.rolls", cart.position - WHEEL * axle.position)
        wheel.colour = "#4a4a4a"
        wheel.shapes += [cylinder(WHEEL, 0.3, axis="y").at(0, s, 0) for s in (1.5, -1.5)]

    arm, weight, tip, missile = (_body(m, name) for name in ("arm", "weight", "tip", "missile"))
    arm.colour = tip.colour = "#b08050"
    weight.colour, missile.colour = "#55606b", "#d6452f"
    arm.shapes += [box(SHORT + ROOT, 1.0, 1.0)]
    weight.shapes += [box(3.0, 1.6, 1.0)]
    tip.shapes += [box(TIP, 1.0, 1.0)]
    missile.shapes += [box(SLING, 0.4, 0.4)]
    pivot = m.revolute("pivot", frame.at(0, 0, 0.5 * PIVOT), arm, axis="y")
    m.revolute("hanger", arm.at(-SHORT, 0, 0), weight.at(0, 0, 0.5), axis="y")
    elastic = structures.block(
        (LONG - ROOT - TIP, 1.0, 1.0),
        cells,
        structures.Material(4.992e8 * stiffness, 0.3, 737.0),
        origin=(ROOT, -0.5, -0.5),
        name="elastic arm",
    )
    elastic.interface("root", "x-")
    elastic.interface("end", "x+")
    seats = {"root": arm.at(ROOT, 0, 0), "end": tip.at(-0.5 * TIP, 0, 0)}
    m.flexible_body("elastic arm", elastic, attach=seats, modes=modes)

    flight = m.sequence("missile", m.ground, missile, ["Tx", "Tz", "Ry"])
    x, z, _ = flight.coordinates
    hook = m.close("hook", tip.at(0.5 * TIP, 0, 0), missile.at(-0.5 * SLING, 0, 0), "ball")
    guide = m.constraint("guide", z.q[0])
    m.event("leaves", x.q[0] - GUIDE, direction=-1, release=guide)
    guided = m.engaged(guide)
    m.event("throws", guided + (1.0 - guided) * (z.v[0] - x.v[0]), direction=-1, release=hook)
    start = pi - asin(PIVOT / LONG)
    m.initial |= {
        pivot.coordinates[0].names[0]: start,
        "hanger.angle": -start,
        x.names[0]: -LONG * (1 - (PIVOT / LONG) ** 2) ** 0.5 + 0.5 * SLING,
    }
    return m


def _body(m: Model, kind: str, name: str | None = None, upright: bool = False) -> Body:
    """A body that moves in the plane x–z, its longer side along x, or z if it stands ``upright``."""
    mass, long, short = BODIES[kind]
    along_x, along_z = (short, long) if upright else (long, short)
    return m.body(name or kind, mass=mass, inertia=(along_z, along_x + along_z, along_x))


__all__ = ["elastic_trebuchet"]
