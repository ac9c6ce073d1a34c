"""Pendulums, tops, bouncing balls and linkages; lengths in m, masses in kg, angles in rad."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..errors import ModelError
from ..model.bodies import Body
from ..model.model import Model
from ..symbolic.functions import where


def _rod(m: Model, name: str, mass: Any, length: Any, along: str = "x") -> Body:
    """A thin uniform rod from the body's origin along an axis."""
    across = mass * length**2 / 12
    i = "xyz".index(along)
    com, inertia = [0.0, 0.0, 0.0], [across, across, across]
    com[i], inertia[i] = length / 2, 0.0
    return m.body(name, mass=mass, com=com, inertia=inertia)


# -- pendulums, tops, balls -------------------------------------------------------------------------------------------


def pendulum(mass: float = 1.0, length: float = 1.0, gravity: float = 9.81) -> Model:
    """A point mass on a massless bar in the xy plane, y up; ``hinge.angle`` is taken from the downward vertical.

    The mass is the frame ``bob.mass`` at (L sin ψ, −L cos ψ).  Benchmark A01 releases it at ψ = −π/2.

    >>> s = pendulum().compile()
    >>> sol = s.simulate({"hinge.angle": "-90 deg"}, 1.0, method="dop853", rtol=1e-12)
    >>> round(float(sol.frame("bob.mass").position[-1, 0]), 9)
    0.986291751
    """
    m = Model("simple pendulum", gravity=(0, -gravity, 0))
    L = m.parameter("length", length, unit="m")
    bob = m.body("bob", mass=m.parameter("mass", mass, unit="kg"), com=(0, -L, 0))
    bob.frame("mass", (0, -L, 0))
    m.revolute("hinge", m.ground, bob, axis="z")
    return m


def double_pendulum(masses: Sequence[float] = (1.0, 1.0), lengths: Sequence[float] = (1.0, 1.0), gravity: float = 9.81) -> Model:
    """Two uniform rods in the xy plane, y up; ``shoulder.angle`` from the downward vertical, ``elbow.angle`` from the first rod.

    The free end is the frame ``lower.tip``.  Benchmark B3 releases both rods level, shoulder at π/2.
    """
    m = Model("double pendulum", gravity=(0, -gravity, 0))
    (m1, m2), (l1, l2) = m.parameters("kg", m1=masses[0], m2=masses[1]), m.parameters("m", l1=lengths[0], l2=lengths[1])
    upper = m.body("upper", mass=m1, com=(0, -l1 / 2, 0), inertia=(m1 * l1**2 / 12, 0, m1 * l1**2 / 12))
    lower = m.body("lower", mass=m2, com=(0, -l2 / 2, 0), inertia=(m2 * l2**2 / 12, 0, m2 * l2**2 / 12))
    m.revolute("shoulder", m.ground, upper, axis="z")
    m.revolute("elbow", upper.at(0, -l1, 0), lower, axis="z")
    lower.frame("tip", (0, -l2, 0))
    return m


def heavy_top(
    mass: float = 1.0, distance: float = 0.1, transverse: float = 0.015, axial: float = 0.002, gravity: float = 9.81,
    orientation: str = "quaternion",
) -> Model:  # fmt: skip
    """A symmetric top with a fixed point; inertias (kg m²) about that point, the centre of mass at ``distance`` on its axis z.

    ``orientation`` of the joint ``pivot``: "quaternion", or "zxz" for precession, nutation and spin (benchmark B2).
    """
    m = Model("heavy top", gravity=(0, 0, -gravity))
    mk, l = m.parameter("mass", mass, "kg"), m.parameter("distance", distance, "m")
    A, C = m.parameters("kg m^2", transverse=transverse, axial=axial)
    top = m.body("top", mass=mk, com=(0, 0, l), inertia=(A, A, C), about="origin")
    m.spherical("pivot", m.ground, top, orientation=orientation)
    return m


def free_body(inertia: Sequence[float] = (0.1, 0.2, 0.27), mass: float = 1.0, gravity: float = 0.0) -> Model:
    """A rigid body in space with principal inertias (kg m²), placed by the joint ``float`` (benchmark B4)."""
    m = Model("free body", gravity=(0, 0, -gravity))
    I1, I2, I3 = m.parameters("kg m^2", I1=inertia[0], I2=inertia[1], I3=inertia[2])
    body = m.body("body", mass=m.parameter("mass", mass, unit="kg"), inertia=(I1, I2, I3))
    m.free("float", m.ground, body)
    return m


def bouncing_ball(mass: float = 1.0, restitution: float = 0.8, gravity: float = 9.81, rest_speed: float = 1e-6) -> Model:
    """A ball that moves vertically over a floor; ``height.displacement`` is its height (benchmark B6).

    Each impact turns the velocity round with Newton's restitution.  The impacts accumulate in finite time: below ``rest_speed``
    (m/s) the ball stays on the floor, which then carries its weight (user state ``resting`` = 1).  With ``rest_speed`` = 0 it
    never rests, and a simulation ends at the point of accumulation with an error that says so.
    """
    m = Model("bouncing ball", gravity=(0, 0, -gravity))
    M, e = m.parameter("mass", mass, unit="kg"), m.parameter("restitution", restitution)
    ball = m.body("ball", mass=M)
    height = m.prismatic("height", m.ground, ball, axis="z")
    resting = m.state("resting", 0.0)
    m.rate(resting, 0.0)
    m.force(height, resting * M * gravity, name="floor")
    slow = height.velocity > -rest_speed
    m.event(
        "impact", height.position, direction=-1,
        jump={height.velocity: where(slow, 0.0, -e * height.velocity), resting: where(slow, 1.0, resting)},
    )  # fmt: skip
    return m


def ball_row(masses: Sequence[float] = (1.0, 2.0, 0.5), restitution: float = 0.9, gap: float = 0.01) -> Model:
    """Balls in a row on a line, ``gap`` m apart, that collide in successive pairs with Newton's restitution (benchmark B6).

    ``ball1.displacement`` … are displacements from the initial places.  With equal masses and restitution 1 it is Newton's cradle.
    """
    m = Model("row of balls", gravity=(0, 0, 0))
    e = m.parameter("restitution", restitution)
    kilograms = [m.parameter(f"m{i}", mass, unit="kg") for i, mass in enumerate(masses, 1)]
    joints = [m.prismatic(f"ball{i}", m.ground, m.body(f"ball{i}", mass=M), axis="x") for i, M in enumerate(kilograms, 1)]
    for i in range(len(joints) - 1):
        a, b, ma, mb = joints[i], joints[i + 1], kilograms[i], kilograms[i + 1]
        common = (ma * a.velocity + mb * b.velocity) / (ma + mb)
        closing = e * (a.velocity - b.velocity) / (ma + mb)
        m.event(
            f"impact{i + 1}", gap + b.position - a.position, direction=-1,
            jump={a.velocity: common - mb * closing, b.velocity: common + ma * closing},
        )  # fmt: skip
    return m


# -- planar linkages --------------------------------------------------------------------------------------------------


def n_four_bar(n: int = 2, mass: float = 1.0, length: float = 1.0, gravity: float = 9.81) -> Model:
    """N four-bar loops in a row (benchmark A02): uniform rods ``upright0`` … N from the ground, N rods across their ends.

    In the xy plane with y up.  ``A<i>.angle`` is zero upright and counts counter-clockwise; at ±π/2 every loop is singular.
    """
    if n < 1:
        raise ModelError(f"n_four_bar: {n} loops make no mechanism; use n >= 1")
    m = Model(f"four-bar chain of {n}", gravity=(0, -gravity, 0))
    M, L = m.parameter("mass", mass, unit="kg"), m.parameter("length", length, unit="m")
    uprights = [_rod(m, f"upright{i}", M, L, along="y") for i in range(n + 1)]
    for i, rod in enumerate(uprights):
        rod.frame("end", (0, L, 0))
        m.revolute(f"A{i}", m.ground.at(L * i, 0, 0), rod, axis="z")
    for i in range(n):
        across = _rod(m, f"across{i}", M, L)
        m.revolute(f"B{i}", uprights[i].at(0, L, 0), across, axis="z")
        m.close(f"loop{i}", across.at(L, 0, 0), uprights[i + 1].at(0, L, 0), "ball")
    return m


#: Andrews' squeezer: masses, inertias about the centres of mass, points and lengths (Schiehlen, Multibody Systems Handbook, 1990).
ANDREWS: dict[str, float] = {
    "m1": 0.04325, "m2": 0.00365, "m3": 0.02373, "m4": 0.00706, "m5": 0.07050, "m6": 0.00706, "m7": 0.05498,
    "I1": 2.194e-6, "I2": 4.410e-7, "I3": 5.255e-6, "I4": 5.667e-7, "I5": 1.169e-5, "I6": 5.667e-7, "I7": 1.912e-5,
    "xa": -0.06934, "ya": -0.00227, "xb": -0.03635, "yb": 0.03273, "xc": 0.014, "yc": 0.072,
    "d": 0.028, "da": 0.0115, "e": 0.02, "ea": 0.01421, "rr": 0.007, "ra": 0.00092, "ss": 0.035, "sa": 0.01874, "sb": 0.01043,
    "sc": 0.018, "sd": 0.02, "ta": 0.02308, "tb": 0.00916, "u": 0.04, "ua": 0.01228, "ub": 0.00449, "zf": 0.02, "zt": 0.04,
    "fa": 0.01421, "c0": 4530.0, "l0": 0.07785,
}  # fmt: skip


def andrews(torque: float = 0.033, **changes: float) -> Model:
    """Andrews' squeezing mechanism (benchmark A03): seven planar bodies, three loops, a spring and a constant torque (N m).

    The joints are named by their angles: beta, Theta, gamma, Phi, delta, Omega, epsilon.  All data of :data:`ANDREWS` are
    parameters of the model and may be given by name.  The torque is the input ``torque``.
    """
    unknown = set(changes) - set(ANDREWS)
    if unknown:
        raise ModelError(f"andrews: there is no datum '{sorted(unknown)[0]}'; there are {', '.join(ANDREWS)}")
    m = Model("Andrews' squeezer", gravity=(0, 0, 0))
    p = {name: m.parameter(name, changes.get(name, value)) for name, value in ANDREWS.items()}
    centres: dict[str, tuple[Any, Any]] = {
        "K1": (p["ra"], 0.0), "K2": (-p["da"], 0.0), "K3": (p["sb"], -p["sa"]), "K4": (0.0, p["ea"] - p["e"]),
        "K5": (p["ta"], p["tb"]), "K6": (p["zf"] - p["fa"], 0.0), "K7": (-p["ub"], -p["ua"]),
    }  # fmt: skip
    K = {}
    for i, (name, (x, y)) in enumerate(centres.items(), 1):
        inertia = p[f"I{i}"]
        K[name] = m.body(name, mass=p[f"m{i}"], com=(x, y, 0), inertia=(inertia / 2, inertia / 2, inertia))
    A, B = m.ground.at(p["xa"], p["ya"], 0), m.ground.at(p["xb"], p["yb"], 0)
    crank = m.revolute("beta", m.ground, K["K1"], axis="z")
    m.revolute("Theta", K["K1"].at(p["rr"], 0, 0), K["K2"], axis="z")
    m.revolute("gamma", B, K["K3"], axis="z")
    m.revolute("delta", A, K["K5"], axis="z")
    m.revolute("Phi", K["K5"].at(p["zt"], 0, 0), K["K4"], axis="z")
    m.revolute("epsilon", A, K["K7"], axis="z")
    m.revolute("Omega", K["K7"].at(0, -p["u"], 0), K["K6"], axis="z")
    E = K["K2"].at(-p["d"], 0, 0)
    m.close("E3", E, K["K3"].at(0, -p["ss"], 0), "ball")
    m.close("E4", E, K["K4"].at(0, -p["e"], 0), "ball")
    m.close("E6", E, K["K6"].at(p["zf"], 0, 0), "ball")
    m.spring("spring", K["K3"].at(p["sd"], -p["sc"], 0), m.ground.at(p["xc"], p["yc"], 0), stiffness=p["c0"], length=p["l0"])
    m.force(crank, m.input("torque", torque, unit="N m"), name="drive")
    return m


def four_bar(
    ground: float = 1.0, crank: float = 0.35, coupler: float = 0.8, rocker: float = 0.7, density: float = 1.0, gravity: float = 9.81,
) -> Model:  # fmt: skip
    """A planar four-bar of uniform rods (``density`` in kg/m) in the xy plane, y up, cut between coupler and rocker.

    Angles are relative as in Schiehlen's Fig. 9: ``crank.angle`` from the ground line, ``coupler.angle`` from the crank,
    ``rocker.angle`` from the ground line at the other bearing.  The defaults are a crank-rocker (Grashof).
    """
    m = Model("four-bar", gravity=(0, -gravity, 0))
    l0, l1, l2, l3 = m.parameters("m", ground=ground, crank=crank, coupler=coupler, rocker=rocker)
    rho = m.parameter("density", density, "kg/m")
    bodies = {name: _rod(m, name, rho * l, l) for name, l in (("crank", l1), ("coupler", l2), ("rocker", l3))}
    m.revolute("crank", m.ground, bodies["crank"], axis="z")
    m.revolute("coupler", bodies["crank"].at(l1, 0, 0), bodies["coupler"], axis="z")
    m.revolute("rocker", m.ground.at(l0, 0, 0), bodies["rocker"], axis="z")
    bodies["coupler"].frame("end", (l2, 0, 0))
    m.close("loop", bodies["coupler"].at(l2, 0, 0), bodies["rocker"].at(l3, 0, 0), "ball")
    return m


def slider_crank(
    crank: float = 0.05, rod: float = 0.15, masses: Sequence[float] = (0.5, 0.4, 0.3), gravity: float = 0.0, offset: float = 0.0
) -> Model:
    """Crank, connecting rod and piston in the xy plane; the piston slides along x at the height ``offset``.

    ``crank.angle`` from x, ``rod.angle`` from the crank, ``piston.displacement`` from the crank's bearing.  Masses of crank,
    rod (uniform) and piston.
    """
    m = Model("slider-crank", gravity=(0, -gravity, 0))
    r, l, e = m.parameters("m", crank_length=crank, rod_length=rod, offset=offset)
    m1, m2, m3 = m.parameters("kg", crank_mass=masses[0], rod_mass=masses[1], piston_mass=masses[2])
    shaft, link = _rod(m, "crank", m1, r), _rod(m, "rod", m2, l)
    piston = m.body("piston", mass=m3)
    m.revolute("crank", m.ground, shaft, axis="z")
    m.revolute("rod", shaft.at(r, 0, 0), link, axis="z")
    m.prismatic("piston", m.ground.at(0, e, 0), piston, axis="x")
    m.close("pin", link.at(l, 0, 0), piston, "ball")
    return m


# -- spatial mechanisms -----------------------------------------------------------------------------------------------


def bricard(mass: float = 1.0, length: float = 1.0, section: float = 0.1, gravity: float = 9.81) -> Model:
    """Bricard's mechanism (benchmark A04): five bars of square section and six revolute joints in a loop; gravity along −y.

    It moves with one freedom although counting gives none: one of the closing joint's five equations is redundant.  All joint
    angles are zero in the starting position; the joint P6 closes the loop.
    """
    m = Model("Bricard mechanism", gravity=(0, -gravity, 0))
    M = m.parameter("mass", mass, "kg")
    L, c = m.parameters("m", length=length, section=section)
    along, across = M * c**2 / 6, M * (L**2 + c**2) / 12
    points = [(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)]
    axes = ["y", "z", "x", "y", "z", "x"]
    before: Any = m.ground
    for i in range(5):
        step = [b - a for a, b in zip(points[i], points[i + 1], strict=True)]
        body = m.body(f"rod{i + 1}", mass=M, com=[0.5 * s * L for s in step], inertia=[along if s else across for s in step])
        m.revolute(f"P{i + 1}", before, body, axis=axes[i])
        before = body.frame("end", [s * L for s in step])
    m.close("P6", before, m.ground.at(0, 0, L), "revolute", axis=axes[5])
    return m


def bennett(
    alpha: float = 30.0, beta: float = 70.0, length: float = 1.0, angle: float = 50.0, mass: float = 1.0, gravity: float = 9.81
) -> Model:
    """Bennett's linkage: four bars and four revolute joints that move with one freedom though counting gives −2.

    Opposite bars are equal: twist ``alpha`` (degrees) with ``length`` a, twist ``beta`` with b = a sin β/sin α.  In the starting
    position, where all joint angles are zero, the first joint's Denavit–Hartenberg angle is ``angle`` (degrees); the second
    follows from tan(θ₁/2) tan(θ₂/2) = sin((β + α)/2)/sin((β − α)/2).  The joint ``P4`` closes the loop on the first bar's ground.
    """
    al, be, t1 = (math.radians(x) for x in (alpha, beta, angle))
    b = length * math.sin(be) / math.sin(al)
    t2 = 2 * math.atan(math.sin((be + al) / 2) / math.sin((be - al) / 2) / math.tan(t1 / 2))
    m = Model("Bennett linkage", gravity=(0, 0, -gravity))
    bars = ((length, al, t1), (b, be, t2), (length, al, -t1), (b, be, -t2))
    fixed_a, fixed_alpha, _ = bars[3]
    # the ground is the fourth bar: its frame before P1 is the origin, the one of P4 lies back along it
    before: Any = m.ground
    for i, (a, twist, theta) in enumerate(bars[:3], 1):
        bar = m.body(f"bar{i}", mass=mass, com=(a / 2, 0, 0), inertia=(1e-3 * mass * a**2, mass * a**2 / 12, mass * a**2 / 12))
        m.revolute(f"P{i}", before.at(0, 0, 0, rotation=("z", theta)), bar, axis="z")
        before = bar.frame("end", (a, 0, 0), rotation=("x", twist))
    pin = m.ground.at(0, 0, 0, rotation=("x", -fixed_alpha)).at(-fixed_a, 0, 0)
    m.close("P4", before, pin, "revolute", axis="z")
    return m


def rssr(
    crank: float = 0.1, rocker: float = 0.25, coupler: float = 0.4, pivot: Sequence[float] = (0.3, 0.05, 0.15),
    masses: Sequence[float] = (0.1, 0.25), speed: float | None = None, gravity: float = 9.81,
) -> Model:  # fmt: skip
    """The spatial four-bar RSSR (benchmark B12): crank about z at the origin, rocker about y at ``pivot``, coupler a massless rod.

    ``crank.angle`` is φ, ``rocker.angle`` ψ.  With ``speed`` (rad/s) the crank is driven at φ = speed·t.
    """
    m = Model("RSSR four-bar", gravity=(0, 0, -gravity))
    a, b, l = m.parameters("m", crank_length=crank, rocker_length=rocker, coupler_length=coupler)
    x, y, z = m.parameters("m", pivot_x=pivot[0], pivot_y=pivot[1], pivot_z=pivot[2])
    arm, lever = _rod(m, "crank", masses[0], a), _rod(m, "rocker", masses[1], b)
    P, Q = arm.frame("P", (a, 0, 0)), lever.frame("Q", (b, 0, 0))
    joint = m.revolute("crank", m.ground, arm, axis="z")
    m.revolute("rocker", m.ground.at(x, y, z), lever, axis="y")
    m.rod("coupler", P, Q, l)
    if speed is not None:
        m.drive(joint, lambda t: speed * t)
    return m


def flyball_governor(
    ball: float = 1.0, sleeve: float = 2.0, arm: float = 0.2, stiffness: float = 200.0, damping: float = 5.0, gravity: float = 9.81,
) -> Model:  # fmt: skip
    """Watt's governor: two balls on massless arms, links of the same length to a sleeve on the shaft, spring and damper above it.

    ``shaft.angle`` turns about z, ``left.angle`` and ``right.angle`` open the arms from the downward vertical, and
    ``sleeve.displacement`` counts along z from the arms' pivot.  The spring is free when the arms hang down.  The links are
    massless rods (closures ``link_left``, ``link_right``).  The torque on the shaft is the input ``torque`` (N m).

    In steady rotation at Ω the arms stand at cos α = (m + M) g/(m Ω² l) without spring (m ball, M sleeve).
    """
    m = Model("flyball governor", gravity=(0, 0, -gravity))
    mb, ms = m.parameters("kg", ball=ball, sleeve=sleeve)
    l, k, d = m.parameter("arm", arm, "m"), m.parameter("stiffness", stiffness, "N/m"), m.parameter("damping", damping, "N s/m")
    shaft = m.body("shaft", mass=1.0, inertia=(0.01, 0.01, 0.005))
    collar = m.body("sleeve", mass=ms, inertia=(1e-3, 1e-3, 1e-3))
    turn = m.revolute("shaft", m.ground, shaft, axis="z")
    slide = m.prismatic("sleeve", shaft, collar, axis="z")
    m.joint_spring(slide, k, rest=-2 * l, damping=d)
    for side, axis in (("right", "-y"), ("left", "y")):
        fly = m.body(f"{side}_ball", mass=mb, com=(0, 0, -l))
        m.revolute(side, shaft, fly, axis=axis)
        m.rod(f"link_{side}", fly.at(0, 0, -l), collar, l)
    m.force(turn, m.input("torque", 0.0, unit="N m"), name="drive")
    return m


def stiff_governor(stiffness: float = 8e5, damping: float = 4e4, gravity: float = 9.81) -> Model:
    """The stiff flyball governor of the IFToMM benchmark library (A05): couplers are springs with strong dampers.

    Shaft and rods are bars of 1 m × 1 cm × 1 cm, the slider a cube of 10 cm (3000 kg/m³), with 5 kg at the end of each rod.
    ``shaft.angle``; ``slide.displacement`` is the slider's height above the foot of the shaft; ``left.angle`` and ``right.angle`` are
    the rods' angles below the horizontal.  The benchmark starts at height 0.5 m, angles of 30°, and 2π rad/s of the shaft.
    """
    m = Model("stiff flyball governor", gravity=(0, 0, -gravity))
    k, c = m.parameter("stiffness", stiffness, unit="N/m"), m.parameter("damping", damping, unit="N s/m")
    density, length, width, cube, offset = 3000.0, 1.0, 0.01, 0.1, 0.05
    bar, block = density * length * width**2, density * cube**3
    across, along = bar * (length**2 + width**2) / 12, bar * width**2 / 6
    shaft = m.body("shaft", mass=bar, com=(0, 0, length / 2), inertia=(across, across, along))
    slider = m.body("slider", mass=block, inertia=(block * cube**2 / 6,) * 3)
    m.revolute("shaft", m.ground, shaft, axis="z")
    m.prismatic("slide", shaft, slider, axis="z")
    for name, sign, turn in (("right", 1.0, 0.0), ("left", -1.0, math.pi)):
        rod = m.body(name, mass=bar, com=(length / 2, 0, 0), inertia=(along, across, across))
        m.fixed(f"{name} ball", rod.at(length, 0, 0), m.body(f"{name} ball", mass=5.0))
        m.revolute(name, shaft.at(sign * offset, 0, length, rotation=("z", turn)), rod, axis="y")
        coupler = m.spring(f"{name} coupler", slider.at(sign * offset, 0, 0), rod.at(length / 2, 0, 0), stiffness=k, damping=c, length=0.5)
        m.output(f"{name} force", k * (coupler.length - 0.5) + c * coupler.rate, unit="N")
    return m
