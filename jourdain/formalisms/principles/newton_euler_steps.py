"""Newton's and Euler's equations of every body cut free, and how the reactions leave them.

    m r̈ = weight + applied force + reactions,    I ω̇ + ω × I ω = torques about the centre of mass

A joint passes a force F and a moment L from the body before it to the body behind it; the third law puts −F, −L on the former.  Summed
over all bodies behind a joint, the inner reactions cancel in pairs; along the joint's own freedom there is no reaction but the law.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...symbolic.expr import ZERO, Expr, add, mul, neg, sub, symbol
from ...symbolic.graph import substitute
from ...symbolic.vectors import NULL, Vector
from ..tree.links import Wrench
from .derivation import Derivation, balance, combined, coordinate_names, reduced, speeds_step
from .free_bodies import FreeBody, Mechanics
from .printing import Line, ModelNotation, Step, Term, equals
from .speeds import Speeds, velocity_names


class FreeBodies:
    """The tree taken apart: which joint holds which body, and the reactions as unknowns."""

    def __init__(self, mechanics: Mechanics) -> None:
        self.mechanics = mechanics
        self.bodies = {b.name: b for b in mechanics.all_bodies}
        #: body → name of the joint that holds it, name of the body before it, point where the joint acts
        self.held = {}
        for branch in mechanics.model.topology.branches:
            near, far = (branch.joint.child, branch.joint.parent) if branch.reverse else (branch.joint.parent, branch.joint.child)
            self.held[branch.body.name] = (branch.joint.name, near.body.name, far)
        self.unknowns: dict[str, Wrench] = {}
        for joint, _, _ in self.held.values():
            F, L = (Vector(*(symbol(f"{letter}_{joint}_{x}", "input") for x in "xyz")) for letter in "FL")
            self.unknowns[joint] = (F, L)

    def point(self, body: str) -> Vector:
        """Where the joint before a body acts, in world axes."""
        return self.mechanics.kinematics.position(self.held[body][2])

    def reactions_on(self, body: str) -> Wrench:
        """Own reaction minus those of the bodies behind, about the centre of mass."""
        force, moment = NULL, NULL
        centre = self.bodies[body].position
        for other, (joint, before, _) in self.held.items():
            sign = 1.0 if other == body else -1.0 if before == body else 0.0
            if sign:
                F, L = self.unknowns[joint]
                force = force + F * sign
                moment = moment + (L + (self.point(other) - centre).cross(F)) * sign
        return force, moment

    def demands(self, part: str) -> dict[str, Wrench]:
        """What each joint must pass on for one part (inertia, weight, load, constraint), about the joint's point."""
        found: dict[str, Wrench] = {}
        for body in reversed(self.held):
            F, L = self._own(self.bodies[body], part)
            arm = self.bodies[body].position - self.point(body)
            L = L + arm.cross(F)
            for other, (joint, before, _) in self.held.items():
                if before == body:
                    f, n = found[joint]
                    F, L = F + f, L + n + (self.point(other) - self.point(body)).cross(f)
            found[self.held[body][0]] = (F, L)
        return found

    def _own(self, body: FreeBody, part: str) -> Wrench:
        if part == "inertia":
            return body.acceleration * body.mass, body.world_spin_moment
        if part == "weight":
            return body.weight, NULL
        if part == "load":
            return body.force, body.torque
        return self.mechanics.constraint_wrenches.get(body.name, (NULL, NULL))

    def along_freedoms(self, wrenches: Mapping[str, Wrench]) -> list[Expr]:
        """Components of the joints' wrenches along their freedoms, one for each velocity."""
        m = self.mechanics
        found = [ZERO] * len(m.v)
        points = {joint: self.point(body) for body, (joint, _, _) in self.held.items()}
        for link in m.tree.links:
            F, L = wrenches[link.name]
            moment = L + (points[link.name] - m.kinematics.link_position(link.index)).cross(F)
            for freedom in link.freedoms:
                part = freedom.along(m.kinematics.turning(link.index), F, moment)
                found[freedom.index] = add(found[freedom.index], mul(freedom.ratio, part))
        return found


def newton_euler(mechanics: Mechanics, speeds: Speeds, notation: ModelNotation) -> Derivation:
    """Free bodies, their reactions, and the equations of motion without them."""
    free = FreeBodies(mechanics)
    inertia, weight, load, constraint = (free.along_freedoms(free.demands(p)) for p in ("inertia", "weight", "load", "constraint"))
    inertia = [add(a, b) for a, b in zip(inertia, mechanics.rotor_forces(), strict=True)]
    applied = [add(a, b) for a, b in zip(load, mechanics.joint_forces, strict=True)]
    by_equations = mechanics.constraint_forces(mechanics.equation_rows)
    reactions = [add(a, b) for a, b in zip(constraint, by_equations, strict=True)]

    def steps() -> list[Step]:
        found = [_bodies_step(free), _reactions_step(free), _freedoms_step(mechanics, inertia, weight, applied, reactions)]
        if speeds.is_trivial:
            return found
        words = "The balances E are combined with the columns of v = B u, along which the constraint forces do no work: these leave too."
        lines = combined(speeds, coordinate_names(mechanics), inertia, weight, applied)
        return [*found, *speeds_step(speeds), Step("Equations of motion", words, lines)]

    stated, unknowns, names = _stated(free, speeds, by_equations)
    residuals = reduced(speeds, inertia, weight, applied)
    return Derivation("newton-euler", mechanics, speeds, notation, steps, residuals, stated, unknowns, names)


# --- steps -----------------------------------------------------------------------------------------------------------


def _bodies_step(free: FreeBodies) -> Step:
    lines: list[Line] = []
    for body in free.bodies.values():
        lines += _balances(free, body)
    words = (
        "Each body is cut free. Mass times acceleration of its centre of mass is the sum of the forces on it; the change of angular momentum "
        "about the centre is the sum of the torques. F and L are the force and the moment that a joint passes on to the body behind it; "
        "equations that only say that an unloaded reaction is zero are left out."
    )
    return Step("Free bodies", words, lines)


def _balances(free: FreeBodies, body: FreeBody) -> list[Line]:
    reaction, moment = free.reactions_on(body.name)
    constraint = free._own(body, "constraint")
    forces = zip(body.acceleration, body.weight, body.force, reaction, constraint[0], strict=True)
    torques = zip(body.world_spin_moment, NULL, body.torque, moment, constraint[1], strict=True)
    lines = []
    for what, parts in (("force", forces), ("torque", torques)):
        for x, (a, w, f, r, c) in zip("xyz", parts, strict=True):
            left = mul(body.mass, a) if what == "force" else a
            if any(e is not ZERO for e in (left, w, f, c)):
                lines.append(Line([left], [w, f, r, c], f"{body.name}, {what} {x}"))
    return lines


def _reactions_step(free: FreeBodies) -> Step:
    parts = [free.demands(p) for p in ("inertia", "weight", "load", "constraint")]
    lines = []
    for body in reversed(free.held):
        joint = free.held[body][0]
        for k, letter in enumerate("FL"):
            for i, x in enumerate("xyz"):
                inertia, *others = (p[joint][k][i] for p in parts)
                terms: list[Term] = [inertia, *(neg(e) for e in others)]
                if any(e is not ZERO for e in terms if isinstance(e, Expr)):
                    lines.append(equals(f"{letter}_{joint}_{x}", *terms))
    words = (
        "From the tips inwards each reaction is what the bodies behind the joint need: inertia minus weight, loads and the forces of "
        "constraints that act on them. The reactions between those bodies cancel in pairs."
    )
    return Step("Reactions", words, lines)


def _freedoms_step(m: Mechanics, inertia: list[Expr], weight: list[Expr], applied: list[Expr], reactions: list[Expr]) -> Step:
    lines = []
    for n, i, w, q, r in zip(velocity_names(m), inertia, weight, applied, reactions, strict=True):
        lines.append(balance(i, w, q, m.a, r, note=f"along {n}"))
    words = "Along its own freedom a joint passes on nothing but the force of its law"
    words += " and of constraints: λ is all that is left of reactions." if m.rows else ": what is left holds no reaction."
    return Step("Balance along the freedoms of the joints", words, lines)


def _stated(free: FreeBodies, speeds: Speeds, by_equations: list[Expr]) -> tuple[list[Expr], list[Expr], list[str]]:
    """Six equations for each body, one for each freedom and constraint; unknown are accelerations, reactions and multipliers."""
    m = free.mechanics
    equations: list[Expr] = []
    for body in free.bodies.values():
        force, moment = free.reactions_on(body.name)
        constraint = free._own(body, "constraint")
        forces = body.acceleration * body.mass - body.weight - body.force - force - constraint[0]
        torques = body.world_spin_moment - body.torque - moment - constraint[1]
        equations += [*forces, *torques]
    rotors = m.rotor_forces()
    passed = free.along_freedoms(free.unknowns)
    for p, law, rotor, c in zip(passed, m.joint_forces, rotors, by_equations, strict=True):
        equations.append(sub(add(p, rotor), add(law, c)))
    equations += acceleration_constraints(m, speeds.rows)
    dropped = {m.multipliers[i]: ZERO for i in range(len(m.rows)) if i not in speeds.rows}
    unknowns = list(m.a)
    names = [f"{n}_dot" for n in velocity_names(m)]
    for joint, (F, L) in free.unknowns.items():
        unknowns += [*F, *L]
        names += [f"{letter}_{joint}_{x}" for letter in "FL" for x in "xyz"]
    unknowns += [m.multipliers[i] for i in speeds.rows]
    names += [f"lambda_{m.constraint_names[i]}" for i in speeds.rows]
    return substitute(equations, dropped), unknowns, names


def acceleration_constraints(m: Mechanics, rows: list[int]) -> list[Expr]:
    """J v̇ + γ of some constraints."""
    found = []
    for i in rows:
        terms = m.eq.constraint_accelerations[i]
        for e, a in zip(m.jacobian[i], m.a, strict=True):
            terms = add(terms, mul(e, a))
        found.append(terms)
    return found


__all__ = ["FreeBodies", "acceleration_constraints", "newton_euler"]
