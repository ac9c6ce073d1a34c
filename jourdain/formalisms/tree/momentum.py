"""Momentum of the whole system, its centre of mass, and the centroidal momentum matrix (Orin and Goswami).

Everything is in world axes.  Sixfold quantities are ordered (linear, angular).  All bodies of the model count, those
fixed to the ground included; rotors, which are known by their reflected inertia alone, carry no momentum here.
"""

from __future__ import annotations

from typing import Literal

from ...errors import InputError, ModelError
from ...model.elastic.flexible import FlexibleBody
from ...symbolic.derivatives import jacobian
from ...symbolic.expr import ONE, ZERO, Expr, add, div
from ...symbolic.vectors import IDENTITY, NO_INERTIA, NULL, Inertia, Matrix, MatrixTurn, Vector, steiner
from ..modal_inertia import deformed_moments, modal_inertia
from .composite_body import composite_inertias
from .kinematics import GROUND, Kinematics, centre_of_mass
from .links import Link
from .newton_euler import link_motions, link_wrenches
from .rods import Coupling, rods_with_mass
from .tree import Tree


def linear_momentum(kinematics: Kinematics) -> Vector:
    """p = Σ m v + ω × m c over the bodies, in kg·m/s."""
    return momentum(kinematics)[0]


def angular_momentum(kinematics: Kinematics, about: Literal["origin", "com"] = "origin") -> Vector:
    """Angular momentum about the world's origin or about the system's centre of mass, in kg·m²/s."""
    if about not in ("origin", "com"):
        raise InputError(f"angular momentum about '{about}' is unknown; use 'origin' (of the world) or 'com'")
    p, h = momentum(kinematics)
    return h if about == "origin" else h - centre_of_mass_position(kinematics).cross(p)


def momentum(kinematics: Kinematics) -> tuple[Vector, Vector]:
    """Linear momentum and angular momentum about the world's origin."""
    linear, angular = NULL, NULL
    for body in kinematics.tree.model.bodies.values():
        if body.mass is ZERO and body.inertia.is_zero:
            continue
        R, r = kinematics.rotation(body), kinematics.position(body)
        v, omega = kinematics.velocity(body), kinematics.angular_velocity(body)
        mass, moment, inertia = deformed_moments(body)
        s = R @ moment
        p, h = v * mass + omega.cross(s), s.cross(v) + R @ (inertia @ (R.T @ omega))
        if isinstance(body, FlexibleBody):
            inner_p, inner_h = modal_inertia(body).inner_momentum
            p, h = p + R @ inner_p, h + R @ inner_h
        linear = linear + p
        angular = angular + r.cross(p) + h
    for rod in rods_with_mass(kinematics.tree.model):
        assert rod.inertia is not None
        va, vb = kinematics.velocity(rod.a), kinematics.velocity(rod.b)
        pa, pb = va * rod.inertia.at_a + vb * rod.inertia.coupling, va * rod.inertia.coupling + vb * rod.inertia.at_b
        linear = linear + pa + pb
        angular = angular + kinematics.position(rod.a).cross(pa) + kinematics.position(rod.b).cross(pb)
    return linear, angular


# --- centre of mass ----------------------------------------------------------------------------------------------


def centre_of_mass_position(kinematics: Kinematics) -> Vector:
    """Position of the system's centre of mass in m."""
    mass, moment = centre_of_mass(kinematics)
    return moment * _inverse(mass, kinematics)


def centre_of_mass_velocity(kinematics: Kinematics) -> Vector:
    """Velocity of the system's centre of mass in m/s."""
    return linear_momentum(kinematics) * _inverse(centre_of_mass(kinematics)[0], kinematics)


def centre_of_mass_acceleration(kinematics: Kinematics, acceleration: bool = True) -> Vector:
    """Acceleration of the centre of mass in m/s²; with ``acceleration=False`` the part that does not depend on a."""
    force, _ = momentum_rate(kinematics, acceleration)
    return force * _inverse(centre_of_mass(kinematics)[0], kinematics)


def _inverse(mass: Expr, kinematics: Kinematics) -> Expr:
    if mass is ZERO:
        raise ModelError(f"model '{kinematics.tree.model.name}' has no mass and no centre of mass; give a body a mass")
    return div(ONE, mass)


# --- centroidal dynamics -----------------------------------------------------------------------------------------


def momentum_rate(kinematics: Kinematics, acceleration: bool = True) -> tuple[Vector, Vector]:
    """Time derivatives of the linear momentum and of the angular momentum about the world's origin (N, N·m).

    They are the resultant of the bodies' inertial forces, which the outermost joints (and ends of rods) take from the ground.
    """
    tree = Tree(kinematics.tree.model, regroup=False)
    wrenches = link_wrenches(tree, link_motions(tree, gravity=False, acceleration=acceleration))
    poses = Kinematics(tree)
    total, moment = NULL, NULL
    for link in tree.links:
        if link.parent != GROUND:
            continue
        R, origin = _frame_of_expression(poses, link)
        force = R @ wrenches[link.index][0]
        total = total + force
        moment = moment + R @ wrenches[link.index][1] + origin.cross(force)
    for rod in rods_with_mass(tree.model):
        assert rod.inertia is not None
        for here, there in ((rod.a, rod.b), (rod.b, rod.a)):
            if poses.place(here).link == GROUND:
                force = poses.acceleration(there, acceleration=acceleration) * rod.inertia.coupling
                total, moment = total + force, moment + poses.position(here).cross(force)
    return total, moment


def centroidal_momentum_matrix(kinematics: Kinematics) -> list[list[Expr]]:
    """A_G, 6×nv, with (p, h_G) = A_G v for a system without prescribed motion; by composite bodies."""
    tree = Tree(kinematics.tree.model, regroup=False)
    poses = Kinematics(tree)
    if tree.couplings:
        p, h = momentum(poses)
        return jacobian([*p, *(h - centre_of_mass_position(poses).cross(p))], tree.v)
    composites = composite_inertias(tree)
    centre = centre_of_mass_position(poses)
    rows = [[ZERO] * tree.nv for _ in range(6)]
    for link in tree.links:
        R, origin = _frame_of_expression(poses, link)
        for freedom in link.freedoms:
            p, h = (R @ (x * freedom.ratio) for x in freedom.asked(*composites[link.index]))
            h = h + (origin - centre).cross(p)
            for i, x in enumerate((*p, *h)):
                rows[i][freedom.index] = add(rows[i][freedom.index], x)
    return rows


def centroidal_bias(kinematics: Kinematics) -> list[Expr]:
    """Ȧ_G v: rate of (p, h_G) at zero acceleration of the free coordinates, six entries."""
    force, moment = momentum_rate(kinematics, acceleration=False)
    return [*force, *(moment - centre_of_mass_position(kinematics).cross(force))]


def centroidal_inertia(kinematics: Kinematics) -> Inertia:
    """Inertia of the whole system, joints locked, about its centre of mass in world axes, in kg·m²."""
    total = NO_INERTIA
    for body in kinematics.tree.model.bodies.values():
        R, r = kinematics.rotation(body), kinematics.position(body)
        mass, moment, inertia = deformed_moments(body)
        inertia = inertia if R is IDENTITY else MatrixTurn(R).out_inertia(inertia)
        total = total + inertia + steiner((R @ moment) * 2.0 + r * mass, r)
    for rod in rods_with_mass(kinematics.tree.model):
        assert rod.inertia is not None
        a, b = kinematics.position(rod.a), kinematics.position(rod.b)
        coupled = Coupling.of(GROUND, GROUND, [(rod.inertia.coupling, a, b)])
        total = total + steiner(a * rod.inertia.at_a, a) + steiner(b * rod.inertia.at_b, b) + coupled.inertia()[2]
    _, moment = centre_of_mass(kinematics)
    c = centre_of_mass_position(kinematics)
    return total - steiner(moment, c)


def _frame_of_expression(kinematics: Kinematics, link: Link) -> tuple[Matrix, Vector]:
    """Rotation to world axes of the frame in which a link is written, and position of the link's origin."""
    return kinematics.link_rotation(link.root), kinematics.link_position(link.index)
