"""A platform on three elastic legs that carts carry."""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import Any

from .. import structures
from ..elements.dissipation import Plastic
from ..elements.servo import point_to_point
from ..model.bodies import Body
from ..model.model import Model
from ..model.shapes import cylinder
from ..symbolic.vectors import AXES, Vector

#: Masses (kg) and Euler moments (kg m²) of wheels, feet and heads of legs, platform (Uhlar, Sec. 6.4.3).
BODIES = {
    "wheel": (2.25, (0.0014, 0.0015, 0.0014)), "foot": (0.2, (0.0001, 0.0001, 0.0003)), "head": (0.2, (0.0001, 0.0001, 0.0002)),
    "platform": (1.7, (0.038, 0.038, 0.038)),
}  # fmt: skip
#: Radius of the wheels, half the track of a cart, side of a leg's section; where feet and heads of the legs are (m).
WHEEL, TRACK, SIDE = 0.05, 0.08, 0.1
FEET, HEADS, TOP = 0.45, 0.2, 0.45


def rolling_manipulator(
    turn: float = pi / 11, inner: float = 2.4, outer: float = 2.7, cells: tuple[int, int, int] = (1, 1, 3), modes: int = 3
) -> Model:
    """Three carts with two wheels each on the plane z = 0, elastic legs on them, hinged to a platform (Uhlar, Sec. 6.4.3).

    Wheels are driven: within half a second the two of each cart turn against each other by ``turn`` rad, then within two seconds on to ``inner`` and
    ``outer``.  Legs are solids of ``cells`` hexahedra with λ = 130 kPa, μ = 32 kPa, ρ = 110 kg/m³.  Masses are those of the source; the geometry is an
    assumption.  :func:`hinge_friction` gives the friction of the hinges.

    >>> m = rolling_manipulator()
    >>> m.compile(formulation="directors").nv > 0
    True
    """
    m = Model("rolling manipulator", gravity=(0, 0, -9.81))
    platform = _body(m, "platform", "platform")
    platform.shapes += [cylinder(HEADS, 0.03, axis="z")]
    length = sqrt((FEET - HEADS) ** 2 + (TOP - WHEEL) ** 2)
    s, c = (FEET - HEADS) / length, (TOP - WHEEL) / length  # of a leg that leans inwards
    leg = structures.block(
        (SIDE, SIDE, length), cells, structures.Material(8.97e4, 0.401, 110.0), origin=(-SIDE / 2, -SIDE / 2, 0.0), name="leg"
    )
    leg.interface("foot", "z-")
    leg.interface("head", "z+")
    for k in range(3):
        angle = 2 * pi * k / 3
        foot, head = _body(m, f"foot{k + 1}", "foot"), _body(m, f"head{k + 1}", "head")
        start = m.ground.at(FEET * cos(angle), FEET * sin(angle), WHEEL, rotation=("z", angle))
        m.sequence(f"cart{k + 1}", start, foot, ["Tx", "Ty", "Rz", "Ry"])
        R = m.sensor(f"foot{k + 1}.frame", foot).rotation
        axle = Vector.of((R[0, 1], R[1, 1], 0.0))
        for side, name in ((1.0, "left"), (-1.0, "right")):
            wheel = _body(m, f"{name}{k + 1}", "wheel")
            wheel.shapes += [cylinder(WHEEL, 0.02, axis="y")]
            spin = m.revolute(f"{name}{k + 1}.axle", foot.at(0, side * TRACK, 0), wheel, axis="y")
            hub = m.sensor(f"{name}{k + 1}.hub", wheel)
            slip = hub.velocity - hub.angular_velocity.cross(AXES[2]) * WHEEL
            m.nonholonomic(f"{name}{k + 1}.rolls", slip.dot(axle.cross(AXES[2])))
            end = inner if (k + 1, name) in ((1, "left"), (2, "left"), (3, "right")) else outer
            t = m.time
            m.drive(spin, point_to_point(t, 0.0, 0.5, 0.0, side * turn) + point_to_point(t, 0.5, 2.5, 0.0, -(end - turn)))
        m.nonholonomic(f"cart{k + 1}.blade", m.sensors[f"foot{k + 1}.frame"].velocity.dot(axle))
        lean = [[c, 0, -s], [0, 1, 0], [s, 0, c]]
        m.flexible_body(
            f"leg{k + 1}", leg, attach={"foot": foot.at(0, 0, 0, rotation=lean), "head": head.at(0, 0, 0, rotation=lean)}, modes=modes
        )
        seat = platform.at(HEADS * cos(angle), HEADS * sin(angle), 0, rotation=("z", angle))
        m.revolute(f"hinge{k + 1}", head, seat, axis="y")
    return m


def _body(m: Model, name: str, kind: str) -> Body:
    mass, (a, b, c) = BODIES[kind]
    return m.body(name, mass=mass, inertia=(b + c, a + c, a + b))


def hinge_friction(stiffness: float = 2e4, limit: float = 10.0, damping: float = 10.0) -> dict[str, Any]:
    """Elastic-plastic friction with a dashpot beside it at the three hinges, for ``simulate(elements=…)`` in directors."""
    law = {"stiffness": stiffness, "limit": limit, "damping": damping}
    return {f"hinge{k + 1}": (Plastic(dashpot=True), law) for k in range(3)}


__all__ = ["hinge_friction", "rolling_manipulator"]
