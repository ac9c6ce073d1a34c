"""Recursive Newton–Euler: joint forces for given accelerations.

Outwards: angular velocity ω, its derivative, and the acceleration of each origin (gravity enters as an acceleration of
the ground, −g).  Inwards: force F and moment N about the origin.  With U = ω̃̇ + ω̃ω̃ the acceleration of a point at r is
a + U r, so that F = m a + U s (s the first moment) and N = I ω̇ + ω × I ω + s × a, written with the entries of U.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import ModelError
from ...symbolic.expr import ZERO, Expr, add, mul
from ...symbolic.vectors import NULL, Vector
from .links import LinkMotion, Wrench
from .rods import coupling_wrenches
from .tree import Tree


def link_motions(
    tree: Tree, gravity: bool = True, accelerations: Mapping[Expr, Expr] | None = None, acceleration: bool = True
) -> list[LinkMotion]:
    """Motion of every link; with ``acceleration=False`` the joint accelerations are taken as zero."""
    ground = LinkMotion(NULL, NULL, -tree.model.gravity if gravity else NULL)
    motions: list[LinkMotion] = []
    for link in tree.links:
        motions.append(link.motion(motions[link.parent] if link.parent >= 0 else ground, acceleration))
    return motions


def link_wrenches(
    tree: Tree, motions: list[LinkMotion], external: Mapping[int, Wrench] | None = None, ground: Vector = NULL
) -> list[Wrench]:
    """Force and moment that each link's joint transmits, about the link's origin.

    ``external`` holds for each link the resultant (force, moment about its origin) acting from outside; ``ground`` is the acceleration
    of the ground that the motions were begun with.
    """
    totals: list[Wrench] = []
    rods = coupling_wrenches(tree, motions, ground) if tree.couplings else {}
    for link, motion in zip(tree.links, motions, strict=True):
        force, moment = link.inertial_wrench(motion)
        if link.index in rods:
            f, n = rods[link.index]
            force, moment = force + f, moment + n
        if external and link.index in external:
            f, n = external[link.index]
            force, moment = force - f, moment - n
        totals.append((force, moment))
    for link in reversed(tree.links):
        if link.parent < 0:
            continue
        f, n = link.inwards(*totals[link.index])
        above = totals[link.parent]
        totals[link.parent] = (above[0] + f, above[1] + n)
    return totals


def inverse_dynamics(tree: Tree, external: Mapping[int, Wrench] | None = None, acceleration: bool = True) -> list[Expr]:
    """φ(q, v, a) = M a + c: generalised forces for given accelerations (or c alone)."""
    motions = link_motions(tree, acceleration=acceleration)
    forces = joint_forces(tree, motions, link_wrenches(tree, motions, external, -tree.model.gravity))
    if acceleration:
        a = tree.a
        for i, inertia in reflected_inertias(tree).items():
            forces[i] = add(forces[i], mul(inertia, a[i]))
    return forces


def joint_forces(tree: Tree, motions: Sequence[LinkMotion], wrenches: Sequence[Wrench]) -> list[Expr]:
    """Sᵀ{F; N} of the wrenches that the links' joints transmit, and what the deformation of flexible bodies asks for."""
    forces = [ZERO] * tree.nv
    for link in tree.links:
        link.add_forces(forces, *wrenches[link.index])
    for link in tree.flexible.values():
        link.add_inner_forces(forces, motions[link.index])
    return forces


def reflected_inertias(tree: Tree) -> dict[int, Expr]:
    """Rotor inertia n²J seen at each velocity coordinate."""
    cut = next((j for j in tree.model.topology.cuts if j.rotors), None)
    if cut is not None:
        raise ModelError(
            f"joint '{cut.name}' closes a loop, and a rotor inertia there is not known to joint coordinates and their energies; let another joint of the loop "
            "be cut (cut=True there, cut=False here), or use formulation='cartesian'"
        )
    found: dict[int, Expr] = {}
    for joint in tree.model.joints.values():
        for motion, inertia in joint.rotors:
            first = tree._velocity_index.get(id(motion.coordinate))
            if first is not None:
                for i in range(first, first + len(motion.coordinate.v)):
                    found[i] = add(found.get(i, ZERO), mul(mul(motion.ratio, motion.ratio), inertia))
    return found
