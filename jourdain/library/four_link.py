"""A four-link front axle with steering rack: two freedoms, wheel travel and rack displacement (left side).

Topology of a four-link front suspension as used in hardware-in-the-loop rigs: seven moving bodies (four links, steering link, wheel
carrier, rack), eleven joints with 27 freedoms, four loops and one isolated spin of the steering link.  Hardpoints and masses are
proposed ones, typical of a large car; axes x forward, y left, z up (m, kg).
"""

from __future__ import annotations

from ..errors import ModelError
from ..model.bodies import Body
from ..model.model import Model
from ..symbolic.functions import asin, atan2
from .suspensions import Placed, Rod, Side, Solid, add_rod, along

LINKS = (
    Rod("upper_front", (0.17, 0.50, 0.60), (0.03, 0.69, 0.63), 0.7),
    Rod("upper_rear", (-0.13, 0.50, 0.61), (-0.03, 0.69, 0.635), 0.7),
    Rod("lower_front", (0.02, 0.36, 0.23), (0.03, 0.735, 0.20), 1.6),
    Rod("lower_rear", (-0.31, 0.40, 0.26), (-0.05, 0.735, 0.19), 1.8),
)
STEERING_LINK = Rod("steering_link", (-0.12, 0.40, 0.33), (-0.13, 0.72, 0.31), 0.8)
CENTRE = (0.0, 0.795, 0.315)
CARRIER = Solid(16.0, (0.0, -0.04, 0.02), (0.30, 0.26, 0.18))
RACK_MASS = 4.0


def four_link_axle(rods: str = "removed", gravity: float = 9.81) -> Model:
    """The axle on a fixed body: joint ``rack`` (``rack.displacement`` along y) and the wheel carrier.

    ``rods`` "removed" (7 coordinates, 5 constraints; the carrier floats by ``carrier.x`` … ``carrier.angle_x``), "massless", or
    "bodies": the published count of seven bodies and eleven joints, the carrier on a ball joint of the lower front link, the four
    other outer joints cut.

    >>> print(four_link_axle().compile())
    <System four-link axle: 7 velocities, 5 constraints, 1 parameters>
    """
    m = Model("four-link axle", gravity=(0, 0, -gravity))
    side, ground = Side(1), Placed(m.ground, (0.0, 0.0, 0.0))
    rack_body = m.body("rack", mass=RACK_MASS, inertia=(0.02, 0.001, 0.02))
    m.prismatic("rack", ground.at(STEERING_LINK.inner), rack_body, axis="y")
    rack = Placed(rack_body, STEERING_LINK.inner)
    carrier_body = m.body("carrier", mass=CARRIER.mass, com=CARRIER.com, inertia=CARRIER.inertia)
    carrier = Placed(carrier_body, CENTRE)
    if rods in ("removed", "massless"):
        m.sequence("carrier", ground.at(CENTRE), carrier_body, ["Tx", "Ty", "Tz", "Rz", "Ry", "Rx"])
        for link in LINKS:
            add_rod(m, link.name, link, ground, carrier, side, rods)
        add_rod(m, STEERING_LINK.name, STEERING_LINK, rack, carrier, side, rods)
    elif rods == "bodies":
        for link in LINKS:
            _link(m, link, ground, carrier)
        bar = _bar(m, STEERING_LINK)
        m.spherical("steering_link.inner", rack.at(STEERING_LINK.inner, rotation=along(_direction(STEERING_LINK))), bar)
        m.close("steering_link.outer", bar.at(STEERING_LINK.length, 0, 0), carrier.at(STEERING_LINK.outer), "ball")
    else:
        raise ModelError(f"four-link axle: rods='{rods}' is unknown; use 'removed', 'massless' or 'bodies'")
    _outputs(m, carrier_body)
    return m


def _outputs(m: Model, carrier: Body) -> None:
    """Camber −asin a_z and heading atan2(−a_x, a_y) of the carrier's y axis a (rad), with the wheel centre's place (m)."""
    s = m.sensor("wheel_centre", carrier)
    a = s.rotation.column(1)
    m.output("camber", -asin(a.z), unit="rad")
    m.output("heading", atan2(-a.x, a.y), unit="rad")
    for c, e in zip("xyz", s.position, strict=True):
        m.output(f"centre.{c}", e, unit="m")


def _direction(rod: Rod) -> list[float]:
    return [b - a for a, b in zip(rod.inner, rod.outer, strict=True)]


def _bar(m: Model, rod: Rod) -> Body:
    across = rod.mass * rod.length**2 / 12
    return m.body(rod.name, mass=rod.mass, com=(rod.length / 2, 0, 0), inertia=(1e-3 * across, across, across))


def _link(m: Model, link: Rod, ground: Placed, carrier: Placed) -> None:
    """A link as a body on a universal joint; the carrier hangs on the ball joint of the lower front one."""
    bar = _bar(m, link)
    m.universal(f"{link.name}.inner", ground.at(link.inner, rotation=along(_direction(link))), bar, axes=("z", "y"))
    if link.name == "lower_front":
        turned = along(_direction(link))
        back = [[turned[j][i] for j in range(3)] for i in range(3)]
        m.spherical("lower_front.outer", bar.at(link.length, 0, 0, rotation=back), carrier.at(link.outer))
    else:
        m.close(f"{link.name}.outer", bar.at(link.length, 0, 0), carrier.at(link.outer), "ball")


__all__ = ["four_link_axle"]
