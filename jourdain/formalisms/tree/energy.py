"""Kinetic energy of all bodies and potential energy of gravity, from the bodies' own mass properties."""

from __future__ import annotations

from ...model.bodies import Body
from ...model.elastic.flexible import FlexibleBody
from ...symbolic.expr import HALF, TWO, ZERO, Expr, add, mul, neg
from ...symbolic.vectors import Vector
from ..modal_inertia import deformed_moments, modal_inertia
from .kinematics import Kinematics, centre_of_mass
from .newton_euler import reflected_inertias
from .rods import rod_energy
from .tree import Tree, prescribed_rates


def kinetic_energy(kinematics: Kinematics) -> Expr:
    """T = Σ ½ m v·v + v·(ω × m c) + ½ ω·I ω over the bodies, with ½ n²J θ̇² of every rotor, in J.

    v is the velocity of a body's origin, c its centre of mass and I its inertia about the origin, in body axes.

    >>> from jourdain import Model
    >>> from jourdain.formalisms.tree.tree import Tree
    >>> m = Model("pendulum")
    >>> mass, l = m.parameters(m=1.0, l=0.5)
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=mass, com=(0, 0, -l)), axis="y")
    >>> kinetic_energy(Kinematics(Tree(m)))
    0.5*m*l^2*hinge.angle_rate^2
    """
    double = rod_energy(kinematics)
    for body in kinematics.tree.model.bodies.values():
        if body.mass is ZERO and body.inertia.is_zero:
            continue
        omega, v = body_rates(kinematics, body)
        mass, moment, inertia = deformed_moments(body)
        double = add(double, mul(mass, v.dot(v)))
        double = add(double, mul(TWO, v.dot(omega.cross(moment))))
        double = add(double, omega.dot(inertia @ omega))
        if isinstance(body, FlexibleBody):
            double = add(double, modal_inertia(body).double_energy(v, omega))
    for rotor, rate in rotor_rates(kinematics.tree):
        double = add(double, mul(rotor, mul(rate, rate)))
    return mul(HALF, double)


def potential_energy(kinematics: Kinematics) -> Expr:
    """V = −g·Σ m r of gravity in J, zero where all mass lies at the world's origin.

    >>> from jourdain import Model
    >>> from jourdain.formalisms.tree.tree import Tree
    >>> m = Model("pendulum")
    >>> mass, l = m.parameters(m=1.0, l=0.5)
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=mass, com=(0, 0, -l)), axis="y")
    >>> potential_energy(Kinematics(Tree(m)))
    m*gravity_z*l*cos(hinge.angle)
    """
    _, moment = centre_of_mass(kinematics)
    return neg(kinematics.tree.model.gravity.dot(moment))


def body_rates(kinematics: Kinematics, body: Body) -> tuple[Vector, Vector]:
    """Angular velocity of a body and velocity of its origin, in the body's own axes."""
    inside = kinematics.rotation(body).T
    return inside @ kinematics.angular_velocity(body), inside @ kinematics.velocity(body)


def rotor_rates(tree: Tree) -> list[tuple[Expr, Expr]]:
    """Reflected inertia n²J and joint rate of every rotor, those of prescribed coordinates included."""
    v = tree.v
    found = [(inertia, v[i]) for i, inertia in reflected_inertias(tree).items()]
    for branch in tree.model.topology.branches:
        for motion, inertia in branch.joint.rotors:
            if motion.coordinate.motion is not None:
                rate = prescribed_rates(tree.model.time, motion.coordinate.motion)[1]
                found.append((inertia, mul(motion.ratio, rate)))
    return found
