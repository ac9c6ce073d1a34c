"""Arms whose links bend: the single link of Martins, Sá da Costa and Ayala Botto, planar arms, a SCARA, two arms that hold one load, a beam spun up."""

from __future__ import annotations

from math import pi
from typing import Any

from ..model.model import Model
from ..structures.parts.sections import Material, Section, rectangle
from ..structures.ritz import ritz_beam
from ..symbolic.expr import where
from ..symbolic.functions import cos

#: Spring steel and the section of the single link (1 mm in the plane of motion, 20 mm high).
SPRING_STEEL = Material(209e9, 0.3, 7850.0)
BLADE = rectangle(0.001, 0.02)


def ist_link(order: int = 2, functions: int = 3, hub_inertia: Any = 0.1, radius: Any = 0.075, torque: bool = True, **options: Any) -> Model:
    """A hub about z with one flexible link of 0.5 m: joint "shoulder", body "link1", input "torque" (N m).

    Motion is in the horizontal plane.  Further options are those of :func:`jourdain.structures.ritz_beam`.
    """
    m = Model("flexible link", gravity=(0.0, 0.0, 0.0))
    hub = m.body("hub", mass=1.0, inertia=(hub_inertia, hub_inertia, hub_inertia))
    link = m.flexible_body("link1", ritz_beam(0.5, BLADE, SPRING_STEEL, bending=(functions, 0), order=order, name="link1", **options))
    shoulder = m.revolute("shoulder", m.ground, hub)
    m.fixed("clamp1", hub.at(radius, 0, 0), link.node("start"))
    m.sensor("tip", link.node("end"))
    if torque:
        m.torque(shoulder, m.input("torque"), name="motor")
    return m


def flexible_arm(
    links: int = 2, order: int = 2, functions: int = 3, length: float = 0.5, section: Section = BLADE, material: Material = SPRING_STEEL,
    housing: Any = 0.2, payload: Any = 0.1, gravity: Any = (0.0, 0.0, 0.0), **options: Any,
) -> Model:  # fmt: skip
    """A planar arm of rigid–flexible–rigid blocks: joints "shoulder", "elbow", "joint3" … about z, links "link1" …, inputs "torque1" …

    Each link is a beam between two housings of mass ``housing`` (kg); a ``payload`` (kg) is at the tip.
    """
    if links < 1:
        raise ValueError(f"flexible_arm: {links} links; at least one is needed")
    m = Model("flexible arm", gravity=gravity)
    size = 0.03
    inertia = housing * size**2
    place: Any = m.ground
    for i in range(1, links + 1):
        inner = m.body(f"housing{i}", mass=housing, inertia=(inertia, inertia, inertia))
        name = {1: "shoulder", 2: "elbow"}.get(i, f"joint{i}")
        joint = m.revolute(name, place, inner)
        m.torque(joint, m.input(f"torque{i}"), name=f"motor{i}")
        part = ritz_beam(length, section, material, bending=(functions, 0), order=order, name=f"link{i}", **options)
        link = m.flexible_body(f"link{i}", part)
        m.fixed(f"clamp{i}", inner.at(size, 0, 0), link.node("start"))
        mass = payload if i == links else housing
        outer = m.body(f"end{i}", mass=mass, inertia=(mass * size**2,) * 3)
        m.fixed(f"hold{i}", link.node("end"), outer)
        place = outer.at(size, 0, 0)
    m.sensor("tip", place)
    return m


def flexible_scara(order: int = 2, functions: int = 2, payload: Any = 0.5) -> Model:
    """A SCARA whose two links bend and twist: joints "shoulder", "elbow" about z, "lift" along z, with weight.

    Inputs "torque1", "torque2" (N m), "force" (N); ``payload`` (kg) is the parameter "payload", the mass of quill and load.
    """
    m = Model("flexible SCARA", gravity=(0.0, 0.0, -9.81))
    section, aluminium = rectangle(0.02, 0.04), Material(7.0e10, 0.33, 2700.0)
    place: Any = m.ground
    for i, name in enumerate(("shoulder", "elbow"), 1):
        hub = m.body(f"hub{i}", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
        joint = m.revolute(name, place, hub, damping=0.05)
        m.torque(joint, m.input(f"torque{i}"), name=f"motor{i}")
        part = ritz_beam(0.4, section, aluminium, bending=(functions, functions), torsion=1, order=order, damping=0.01, name=f"link{i}")
        link = m.flexible_body(f"link{i}", part)
        m.fixed(f"clamp{i}", hub, link.node("start"))
        place = link.node("end")
    quill = m.body("quill", mass=m.parameter("payload", payload, unit="kg"), inertia=(1e-3, 1e-3, 2e-4), com=(0, 0, -0.1))
    lift = m.prismatic("lift", place, quill, axis="z", damping=5.0)
    m.force(lift, m.input("force"), name="drive")
    m.sensor("tip", quill.at(0, 0, -0.2))
    return m


def spin_up_beam(order: int = 2, functions: int = 6, shear: int = 0, speed: float = 6.0, time: float = 15.0, **options: Any) -> Model:
    """The spin-up beam of Kane, Ryan and Banerjee: 10 m on a hub without radius that turns ever faster up to ``speed`` (rad/s) within ``time`` (s).

    ψ = (Ω/T)(t²/2 + (T/2π)²(cos 2πt/T − 1)), then Ω(t − T/2); EA = 2.8e7 N, EI = 1.4e4 N m², κGA = 1e7 N, 1.2 kg/m.  Outputs, seen from the hub, are
    "axial", "transverse" (m): the tip's displacement.
    """
    m = Model("spin-up beam", gravity=(0.0, 0.0, 0.0))
    material = Material(7e10, 0.3, 3000.0)
    section = Section(4e-4, 2e-7, 2e-7, 4e-7, shear_y=1e7 / (material.G * 4e-4), half_y=0.04, half_z=0.04)
    hub = m.body("hub", mass=1.0, inertia=(1.0, 1.0, 1.0))
    given = {"functions": "polynomials", **options}
    beam = m.flexible_body(
        "beam", ritz_beam(10.0, section, material, bending=(functions, 0), shear=(shear, 0), order=order, name="beam", **given)
    )
    joint = m.revolute("joint", m.ground, hub)
    m.fixed("clamp", hub, beam.node("start"))
    up = lambda t: speed / time * (t**2 / 2 + (time / (2 * pi)) ** 2 * (cos(2 * pi / time * t) - 1))
    m.drive(joint, lambda t: where(t < time, up(t), speed * (t - time / 2)))
    tip = m.sensor("tip", beam.node("end"), relative_to=hub)
    m.output("axial", tip.x - 10.0, unit="m")
    m.output("transverse", tip.y, unit="m")
    return m


def cooperating_arms(order: int = 2, functions: int = 2, distance: float = 0.6) -> Model:
    """Two flexible arms of two links that hold one bar: a closed loop with bodies that bend (joint "grip" closes it)."""
    m = Model("cooperating arms", gravity=(0.0, 0.0, 0.0))
    bar = m.body("bar", mass=0.5, inertia=(1e-3, 5e-3, 5e-3))
    for side, x, sign in (("left", -distance / 2, 1.0), ("right", distance / 2, -1.0)):
        place: Any = m.ground.at(x, 0, 0)
        for i in (1, 2):
            hub = m.body(f"{side}.hub{i}", mass=0.3, inertia=(1e-4, 1e-4, 1e-4))
            joint = m.revolute(f"{side}.joint{i}", place, hub)
            m.torque(joint, m.input(f"{side}.torque{i}"), name=f"{side}.motor{i}")
            link = m.flexible_body(
                f"{side}.link{i}",
                ritz_beam(0.5, rectangle(0.004, 0.02), SPRING_STEEL, bending=(functions, 0), order=order, name=f"{side}.link{i}"),
            )
            m.fixed(f"{side}.clamp{i}", hub, link.node("start"))
            place = link.node("end")
        grip = bar.at(-sign * 0.15, 0, 0)
        m.revolute(f"{side}.grip", place, grip, cut=None if side == "left" else True)
    return m


__all__ = ["cooperating_arms", "flexible_arm", "flexible_scara", "ist_link", "spin_up_beam"]
