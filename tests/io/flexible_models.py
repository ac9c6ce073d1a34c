"""Models with flexible bodies that tests of files, exports and the view share."""

from __future__ import annotations

from typing import Any

import jourdain as jd
from jourdain import structures
from jourdain.structures import ALUMINIUM, STEEL, Material, circle, rectangle


def slider_crank(**options: Any) -> jd.Model:
    """The slider-crank of spec 17 with a flexible rod."""
    m = jd.Model("slider-crank", gravity=(0, 0, 0))
    part = structures.beam(
        (0, 0, 0), (0.305, 0, 0), section=circle(0.0064), material=Material(2.0e11, 0.3, 7705.0), elements=10, name="bar"
    )
    crank = m.body("crank", mass=0.0378, com=(0.076, 0, 0), inertia=(1.9e-7, 7.324e-5, 7.324e-5))
    rod: Any = m.flexible_body("rod", part, **({"frame": "pinned", "modes": 2, "bending": "y"} | options))
    slider = m.body("slider", mass=0.0626, inertia=(4.18e-6,) * 3)
    main = m.revolute("main", m.ground, crank, axis="z")
    m.universal("pin", crank.at(0.152, 0, 0), rod.node("start"), axes=("z", "y"))
    m.spherical("wrist", rod.node("end"), slider, cut=True)
    m.prismatic("guide", m.ground, slider, axis="x")
    m.drive(main, lambda t: 125.7 * t)
    return m


def arm() -> jd.Model:
    """A flexible link on a hinge with a load, a weight at its tip, and laws that name amplitudes and numbers of the structure."""
    m = jd.Model("arm")
    part = structures.beam((0, 0, 0), (1.2, 0, 0), rectangle(0.02, 0.04), ALUMINIUM, elements=6, theory="timoshenko", name="bar")
    link: Any = m.flexible_body("link", part, frame="tangent", modes=3, damping=0.02)
    hinge = m.revolute("hinge", m.ground, link.node("start"), axis="y")
    k = m.parameter("k", 40.0, unit="N m/rad")
    m.force(hinge, lambda q, v, t: -k * q - 2.0 * v + 0.2 * link.mass * 9.81 * jd.cos(q) - 0.1 * k * link.modes[0].q[0], name="motor")
    weight = m.body("weight", mass=0.3, inertia=(1e-4, 2e-4, 3e-4))
    m.fixed("grip", link.node("end").at(0.02, 0, 0.01, rotation=("z", 0.3)), weight)
    m.spring("stay", m.ground.at(0.3, 0, 0.8), link.node("middle"), stiffness=200.0, length=0.7)
    m.sensor("tip", link.node("end"))
    m.initial["link.mode1"] = 0.004
    return m


def framed(rigid: bool = False) -> jd.Model:
    """A framework by Craig and Bampton with an average interface and another name of a node, twice."""
    m = jd.Model("frames")
    nodes = [(0, 0, 0), (0.4, 0, 0), (0.4, 0.3, 0), (0, 0.3, 0), (0.8, 0.15, 0.1)]
    members = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (2, 4)]
    part = structures.framework(nodes, members, [circle(0.02, 0.016)] * 4 + [rectangle(0.01, 0.02)] * 2, STEEL, name="frame")
    part.names["nose"] = 4
    part.interface("back", [0, 3], kind="average")
    part.interface("side", [1, 2], kind="rigid")
    for name in ("one", "two"):
        body: Any = m.flexible_body(name, part.craig_bampton(modes=2, damping={"mass": 0.1, "stiffness": 1e-5}), rigid=rigid)
        m.spherical(f"ball {name}", m.ground.at(0, 1.0 if name == "two" else 0.0, 0), body.node("back"))
        m.spring(f"hold {name}", m.ground.at(0.8, 0, 1), body.node("nose"), stiffness=300.0, length=0.5)
    return m


def patched_arm() -> jd.Model:
    """Two beams by Ritz functions: one with gauges in a law and an output, the other with a patch that has mass and one that bends it."""
    m = jd.Model("patched arm", gravity=(0, 0, -9.81))
    first = structures.ritz_beam(0.5, rectangle(0.004, 0.02), STEEL, bending=(2, 1), torsion=1, damping=0.01, name="first")
    second = structures.ritz_beam(
        0.4, rectangle(0.003, 0.02), ALUMINIUM, bending=(2, 0), shear=(1, 0), functions="polynomials", name="second"
    )
    second = structures.with_patches(second, [structures.Patch((0.02, 0.08), pair=True)])
    one: Any = m.flexible_body("one", first)
    two: Any = m.flexible_body("two", second, damping=0.02)
    shoulder = m.revolute("shoulder", m.ground, one.node("start"))
    m.revolute("elbow", one.node("end"), two.node("start"))
    gauge = one.gauge(at=0.01, curvature="z")
    m.torque(shoulder, lambda q, v, t: -20.0 * q - v - 0.4 * gauge)
    m.output("twist", one.gauge(at=0.2, curvature="x") * 0.01 + 1.0, unit="")
    m.piezo_patch("patch", two, span=(0.02, 0.08), face="y", voltage=m.input("volts"), d31=-1.8e-10)

    return m


def blocks() -> jd.Model:
    """A block of hexahedra hung by a rigid interface, and a box of bars fastened to its average one."""
    m = jd.Model("blocks")
    part = structures.block((0.3, 0.04, 0.02), (4, 1, 1), STEEL, origin=(0, -0.02, -0.01), kind="hex8", name="bar")
    part.interface("left", "x-")
    part.interface("right", "x+", kind="average")
    bar: Any = m.flexible_body("bar", part.craig_bampton(3, damping=0.02))
    m.revolute("hinge", m.ground, bar.node("left"), axis="y")
    box = structures.truss_box(2, spacing=0.1, EA=2e5, mass=0.01, name="box")
    box.interface("back", "left")
    truss: Any = m.flexible_body("truss", box, modes=2, kind="craig-bampton", interfaces=["back"])
    m.fixed("weld", bar.node("right"), truss.node("back"))
    return m


def planar_parts() -> jd.Model:
    """A sheet of tetrahedra's plane cousins and a rod of point masses, in the plane."""
    m = jd.Model("planar parts", gravity=(0, -9.81, 0))
    sheet = structures.sheet((0.2, 0.05), (4, 1), 0.01, ALUMINIUM, name="plate")
    sheet.interface("edge", "x-")
    plate: Any = m.flexible_body("plate", sheet, modes=2)
    m.revolute("hinge", m.ground, plate.node("edge"))
    rod: Any = m.flexible_body("rod", structures.lattice_rod(5, spacing=0.1, EA=1e4, EI=2.0, name="lattice"), modes=2)
    m.planar("float", m.ground, rod)
    return m


def exact_and_tapered() -> jd.Model:
    """A beam of exact kinematics, tapered beams, a truss and a mesh of tetrahedra, one behind the other."""
    m = jd.Model("shapes", gravity=(0, 0, -9.81))
    first = structures.ritz_beam(
        0.5, rectangle(0.004, 0.02), STEEL, bending=(1, 1), torsion=1, extension=1, order="exact", stations=4, name="first"
    )
    part = structures.beam(
        (0, 0, 0), (0.4, 0, 0), structures.taper(rectangle(0.02, 0.03), rectangle(0.01, 0.01)), ALUMINIUM, 4, name="cone"
    )
    sections = [structures.taper(circle(0.02), circle(0.01)), circle(0.01)]
    fork = structures.framework([(0, 0, 0), (0.2, 0.1, 0), (0.2, -0.1, 0)], [(0, 1), (0, 2)], sections, STEEL, name="fork")
    nodes = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
    truss = structures.truss(
        nodes, [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (1, 3)], [1e5, 2e5, 1e5, 1e5, 1e5, 1e5], masses=[0.1, 0.1, 0.2, 0.1], area=1e-5
    )
    truss.interface("foot", [0, 1, 2])
    solid = structures.solid([*nodes, (0.1, 0.1, 0.1)], [(0, 1, 2, 3), (1, 2, 3, 4)], ALUMINIUM, name="corner")
    solid.interface("foot", [0, 1, 2])
    one: Any = m.flexible_body("one", first)
    two: Any = m.flexible_body("two", part, modes=2)
    three: Any = m.flexible_body("three", fork, modes=2)
    four: Any = m.flexible_body("four", truss, modes=1, kind="craig-bampton", interfaces=["foot"])
    five: Any = m.flexible_body("five", solid, modes=1, kind="craig-bampton", interfaces=["foot"])
    m.revolute("shoulder", m.ground, one.node("start"), axis="y")
    m.revolute("elbow", one.node("end"), two.node("start"), axis="z")
    m.fixed("grip", two.node("end"), three.node(0))
    m.fixed("left", three.node(1), four.node("foot"))
    m.fixed("right", three.node(2), five.node("foot"))
    return m


MODELS = {
    "exact and tapered": exact_and_tapered,
    "patched arm": patched_arm,
    "blocks": blocks,
    "planar parts": planar_parts,
    "slider-crank": slider_crank,
    "arm": arm,
    "frames": framed,
    "rigid frames": lambda: framed(rigid=True),
}
