"""The S-shaped beam: three thin-walled members with plastic hinges between a plate and a car that runs into a wall."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import scipy.sparse as sp

from ...errors import InputError
from ...model.bodies import Body, Frame
from ...model.model import Model
from ...model.shapes import box
from ...model.values import number
from ...structures.parts.beams import beam
from ...structures.structure import Structure
from .buffers import contact_device
from .device import positive, row_of
from .hinges import PRINTED, HollowSquare, rayleigh, weaker

#: Lengths of the members A, B, A (m) and the angle between A and B (Table 4 of the source).
LENGTHS = (0.2635, 0.404, 0.2635)
ANGLE = math.radians(30.0)


def plane_beam(member: HollowSquare, start: Any, end: Any, elements: int = 4, name: str = "beam") -> Structure:
    """A beam that stretches and bends in the x–y plane: three degrees of freedom a node, Euler and Bernoulli's elements."""
    whole = beam((*start, 0.0), (*end, 0.0), member.section, member.material, elements=elements, name=name)
    rows = whole.dofs.of(range(elements + 1), (0, 1, 5))
    keep = sp.csc_array(sp.eye_array(len(whole.dofs), format="csc")[:, rows])
    M, K = (keep.T @ A @ keep for A in (whole.M, whole.K))
    return Structure(whole.nodes, M, K, ("x", "y", "rz"), field=whole.field.through(keep), names=whole.names, name=name)


def s_beam(
    H: Any = (0.0661, 0.0661, 0.0661), speed: Any = "50 km/h", mass: Any = 750.0, modes: int = 4, plate: Any = 5.0,
    damping: Mapping[str, float] | float | None = 0.02, mp_factor: float = PRINTED, angle: Any = ANGLE, elements: int = 4, **material: Any,
) -> Model:  # fmt: skip
    """A car on an S-shaped beam runs into a wall at +y (half of the structure: ``mass`` is half of the car's).

    H: sides of the hollow squares (H/t = 6) of the members A at the wall, B, and A at the car (m). modes: of each member, in a floating frame with
        mean axes; 0 for rigid members, whose sides are parameters "body2.H", "body3.H", "body4.H" then. plate: mass of the plate that strikes the rigid wall (kg).
    damping: a ratio for the first and the last mode of each member (Rayleigh's, β at most 0.1), the coefficients themselves, or None.
    mp_factor: M_P/(σ_y H³), 19/54 as printed in the source; 19/108 is the section's own. ``material``: yield_stress, E, density.

    The car (joint "car") and the plate ("plate") move along y; hinges "hinge1" (plate–A) to "hinge4" (A–car) are plastic, where members meet by the
    weaker one.  ``deformation`` is how much nearer car and plate have come, ``clear2`` how far the middle of the member at the wall is from it,
    ``clear4`` how far that of the member at the car is ahead of the car: neither overlaps where both are positive.
    """
    sides = row_of(H)
    sides = sides * 3 if len(sides) == 1 else sides
    if len(sides) != 3:
        raise InputError(f"s_beam: H = {H!r}; give one side, or three for A, B and A")
    tilt = number(angle, "s_beam: angle", "rad")
    members = [HollowSquare(h, length, mp_factor=mp_factor, **material) for h, length in zip(sides, LENGTHS, strict=True)]
    m = Model("S-beam", gravity=(0.0, 0.0, 0.0))
    if modes == 0:
        members = [replace(b, H=m.parameter(f"body{i}.H", b.H, "m", (0.0, None))) for i, b in enumerate(members, 2)]
    A2, B, A4 = members
    v = positive(speed, "s_beam: speed", "m/s", "without speed there is no collision")
    car = m.body(
        "car", mass=m.parameter("car.mass", positive(mass, "s_beam: mass", "kg"), "kg"), shape=box(0.5, 0.25, 0.3).at(0.0, -0.125, 0.0)
    )
    m.prismatic("car", m.ground, car, axis="y")
    place: Any = car
    x = y = 0.0
    before: HollowSquare | None = None
    ends: dict[int, tuple[Frame, Frame]] = {}
    for i, member, lean in ((4, A4, 0.0), (3, B, tilt), (2, A2, 0.0)):
        step = member.length * math.sin(lean), member.length * math.cos(lean)
        body, start, end_of = _member(m, f"body{i}", member, step, modes, damping, elements)
        solid = box(member.H, member.length, member.H, colour="#c98b2b").rotated("z", -lean)
        body.shapes.append(solid.at(0.5 * step[0], 0.5 * step[1], 0.0))
        ends[i] = start, end_of
        weaker(before, member).act(m, f"hinge{i}", m.revolute(f"hinge{i}", place, start, axis="z"))
        place, before, x, y = end_of, member, x + step[0], y + step[1]
    kg = positive(plate, "s_beam: plate", "kg")
    end = m.body("plate", mass=kg, inertia=(kg * 0.01,) * 3, shape=box(0.3, 0.01, 0.3))
    weaker(None, before).act(m, "hinge1", m.revolute("hinge1", place, end, axis="z"))
    m.prismatic("plate", m.ground.at(x, y, 0.0), end, axis="y", cut=True)
    touch = contact_device(1e9, 1.0, 0.5, name="wall").declared(m, "wall")
    ahead = m.sensor("plate.sensor", end, m.ground.at(x, y, 0.0))
    m.load("wall", end, force=(0.0, -touch.act(m, "wall", ahead.y, ahead.velocity.y), 0.0))
    m.initial["car.displacement_rate"] = v
    gone = m.sensor("between", end, car)
    m.output("distance", gone.y, unit="m")
    m.output("deformation", y - gone.y, unit="m")
    m.output("clear2", y - 0.5 * sum(m.sensor(f"body2.{k}", at).y for k, at in enumerate(ends[2])), unit="m")
    m.output("clear4", 0.5 * sum(m.sensor(f"body4.{k}", at, relative_to=car).y for k, at in enumerate(ends[4])), unit="m")
    total = sum(b.mass for b in members)
    if modes == 0:
        m.output("members.mass", total, unit="kg")
    else:
        m.parameter("members.mass", total, "kg", description="mass of the three members")
    return m


def _member(
    m: Model, name: str, member: HollowSquare, step: tuple[float, float], modes: int, damping: Any, elements: int
) -> tuple[Body, Frame, Frame]:  # fmt: skip
    """A body along a member from its origin, with its ends: of beam elements that bend by their modes, or a rigid rod."""
    if modes:
        part = plane_beam(member, (0.0, 0.0), step, elements, name)
        bends = m.flexible_body(name, part, modes=modes, damping=_damping(part, damping, modes))
        return bends, bends.node("start"), bends.node("end")
    across = member.mass * member.length**2 / 12.0
    rod = m.body(name, mass=member.mass, com=(0.5 * step[0], 0.5 * step[1], 0.0), inertia=(across, across, across))
    return rod, rod.at(0.0, 0.0, 0.0), rod.at(*step, 0.0)


def _damping(part: Structure, given: Any, modes: int) -> Any:
    """Rayleigh's coefficients for a ratio at the first and the last mode that is kept."""
    if given is None or isinstance(given, Mapping):
        return given
    w = part.frequencies(modes)
    return rayleigh((float(w[0]), given), (float(w[-1]), given))


__all__ = ["ANGLE", "LENGTHS", "plane_beam", "s_beam"]
