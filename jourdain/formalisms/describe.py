"""A model in words: its tree, coordinates, parameters, and which formalism will be used and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model.constraints import Closure
from ..model.elastic.flexible import FlexibleBody
from ..model.joints import Coordinate, Joint
from ..model.model import Model
from ..model.topology import tree_text
from ..symbolic.expr import brief
from ..symbolic.graph import operations
from .equations import Equations
from .functions.dynamics import DEEP, average_depth, flexible_in_series, is_deep
from .functions.registry import OPERATIONS_OF_A_LINK, STRAIGHT_LINE_LIMIT
from .tree.newton_euler import inverse_dynamics

#: Trees with more links than this are not derived to count operations.
_LINKS_COUNTED = 150


def describe(model: Model) -> str:
    """The tree, counts, tables of coordinates and parameters, and the choice of formalism in plain sentences.

    >>> m = Model("pendulum")
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -0.5)), axis="y")
    >>> print(describe(m).splitlines()[4])
    1 body, 1 joint, no loop: 1 position, 1 velocity, 1 degree of freedom.
    """
    eq = Equations(model)
    parts = [tree_text(model), counts(eq)]
    for title, rows in (
        ("Coordinates", _coordinates(eq)),
        ("Parameters", _parameters(model)),
        ("Loads and constraints", _others(eq)),
    ):
        if len(rows) > 1:
            parts.append(f"{title}\n{table(rows)}")
    parts.append("Formalism\n" + "\n".join(f"  {sentence}" for sentence in formalism(eq)))
    return "\n\n".join(parts)


def counts(eq: Equations) -> str:
    """Bodies, joints, loops, coordinates and degrees of freedom in one sentence."""
    model, tree = eq.model, eq.tree
    loops = len(tree.cuts) + sum(isinstance(c, Closure) for c in model.constraints.values())
    head = ", ".join((_number(len(model.bodies), "body"), _number(len(model.joints), "joint"), _number(loops, "loop")))
    numbers = [_number(len(tree.q), "position"), _number(tree.nv, "velocity")]
    if eq.rows:
        numbers.append(_number(len(eq.rows), "constraint"))
    freedom = tree.nv - len(eq.rows)
    least = "at least " if eq.rows else ""  # constraints may depend on each other
    numbers.append(least + _number(max(freedom, 0), "degree of freedom"))
    return f"{head}: {', '.join(numbers)}."


def formalism(eq: Equations) -> list[str]:
    """Which formalism serves inverse dynamics, accelerations and loops, with the reason for each."""
    size, counted = operation_count(eq)
    how = f"{'' if counted else 'about '}{_grouped(size)} operations"
    sentences = []
    if size <= STRAIGHT_LINE_LIMIT:
        sentences.append(
            f"Joint forces: recursive Newton–Euler as straight-line code, because {how} are below {_grouped(STRAIGHT_LINE_LIMIT)}."
        )
    else:
        sentences.append(
            "Joint forces: recursive Newton–Euler as a loop over links, "
            f"because {how} are above {_grouped(STRAIGHT_LINE_LIMIT)}, "
            "where straight-line code leaves the processor's cache and takes long to compile."
        )
    sentences.append(_acceleration_sentence(eq))
    if eq.tree.cuts:
        names = ", ".join(f"'{j.name}'" for j in eq.tree.cuts)
        cut = f"joint {names} is" if len(eq.tree.cuts) == 1 else f"joints {names} are"
        sentences.append(
            f"Loops: the {cut} cut and held by {_number(len(eq.rows), 'constraint')} with multipliers; "
            "another cut is chosen with cut=True or cut=False."
        )
    elif eq.rows:
        sentences.append(f"Constraints: {_number(len(eq.rows), 'equation')} held by multipliers.")
    if eq.tree.prescribed:
        names = ", ".join(f"'{c.names[0]}'" for c in eq.tree.prescribed)
        alone = len(eq.tree.prescribed) == 1
        follow = "follows a function of time and has" if alone else "follow functions of time and have"
        sentences.append(f"Prescribed motion: {names} {follow} no equation of motion.")
    return sentences


def operation_count(eq: Equations) -> tuple[int, bool]:
    """Additions and multiplications of φ, and whether they are counted (or, for large trees, estimated)."""
    links = len(eq.tree.links)
    if links > _LINKS_COUNTED:
        return links * OPERATIONS_OF_A_LINK, False
    return operations(inverse_dynamics(eq.tree)).flops, True


def _acceleration_sentence(eq: Equations) -> str:
    if eq.tree.nv == 0:
        return "Accelerations: none, because no coordinate is free."
    if eq.tree.flexible:
        series, deep = flexible_in_series(eq), is_deep(eq)
        return (
            f"Accelerations: {'articulated bodies with the modes of a body as a block' if deep else 'factored mass matrix'}, because of flexible bodies "
            f"{series} {'are' if series > 1 else 'is'} in series; from two on articulated bodies need fewer operations."
        )
    if eq.tree.couplings:
        return "Accelerations: factored mass matrix, because rods with mass couple links across the tree."
    depth = average_depth(eq)
    if depth < DEEP:
        return (
            f"Accelerations: factored mass matrix, because the tree is flat: a link has {depth:.1f} freedoms on its "
            f"way to the ground on average; from {DEEP:g} on articulated bodies need fewer operations."
        )
    return (
        f"Accelerations: articulated bodies, because the tree is deep: a link has {depth:.1f} freedoms on its way "
        f"to the ground on average; below {DEEP:g} the factored mass matrix needs fewer operations."
    )


# --- tables ------------------------------------------------------------------------------------------------------


def _coordinates(eq: Equations) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("name", "joint", "unit", "nature")]
    moved: dict[int, list[Joint]] = {}
    order: list[Coordinate] = []
    for joint in eq.model.joints.values():
        for c in joint.coordinates:
            if id(c) not in moved:
                order.append(c)
            moved.setdefault(id(c), []).append(joint)
    for c in order:
        leader, *followers = moved[id(c)]
        nature = _nature(c) + (f"; also moves {', '.join(j.name for j in followers)}" if followers else "")
        name = c.names[0].rsplit(".", 1)[0] + ".e0…e3" if c.is_quaternion else c.names[0]
        rows.append((name, f"{leader.name} ({leader.kind})", c.unit or "1", nature))
    for body in eq.model.bodies.values():
        for i, c in enumerate(body.modes if isinstance(body, FlexibleBody) else ()):
            hertz = np.sqrt(body.part.stiffness[i, i] / body.part.M_ee[i, i]) / (2.0 * np.pi)  # type: ignore[attr-defined]
            rows.append((c.names[0], f"{body.name} (bends)", c.unit or "1", f"{c.nature}, {hertz:.4g} Hz alone in its frame"))
    return rows


def _nature(c: Coordinate) -> str:
    if c.is_quaternion:
        return f"{c.nature}, unit quaternion, velocities {c.velocity_names[0]}…z in rad/s"
    if c.motion is not None:
        return f"{c.nature}: {brief(c.motion, 40)}"
    return "measured, of a joint that closes a loop" if c.nature == "cut" else c.nature


#: Loads of a known kind, in words.
LAWS = {
    "bushing": "bushing", "contact": "contact with the ground", "drag": "drag", "spring": "spring", "damper": "damper", "rope": "rope",
    "joint_spring": "spring at a joint", "friction": "friction at a joint", "lugre": "LuGre friction at a joint", "stop": "stop at a joint",
}  # fmt: skip


def _parameters(model: Model) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("name", "value", "unit", "")]
    for p in model.parameter_set.listed:
        low, high = p.bounds
        ends = ("−∞" if low is None else f"{low:g}", "∞" if high is None else f"{high:g}")
        within = "" if low is None and high is None else f"between {ends[0]} and {ends[1]}"
        rows.append((p.name, f"{p.value:g}", p.unit, ", ".join(x for x in (p.description, within) if x)))
    return rows


def _others(eq: Equations) -> list[tuple[str, ...]]:
    model = eq.model
    rows: list[tuple[str, ...]] = [("name", "what")]
    rows += [(name, LAWS.get(load.kind, load.title)) for name, load in model.loads.items() if not load.of_body]
    rows += [(name, getattr(c, "kind", "equation") + " constraint") for name, c in model.constraints.items()]
    rows += [(name, "input" + (f" in {i.unit}" if i.unit else "")) for name in model.outer_inputs for i in (model.inputs[name],)]
    rows += [(name, "memory" + (f" in {m.unit}" if m.unit else "")) for name, m in model.memories.items()]
    rows += [(name, "algebraic unknown" + (f" in {w.unit}" if w.unit else "")) for name, w in model.unknowns.items()]
    rows += [(name, "state of a differential equation") for name in model.states]
    return rows


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their columns aligned, indented by two."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(("  " + "  ".join(f"{x:<{w}}" for x, w in zip(row, widths, strict=True))).rstrip() for row in rows)


def _number(n: int, word: str) -> str:
    plurals = {"body": "bodies", "velocity": "velocities", "degree of freedom": "degrees of freedom"}
    return f"{n or 'no'} {word if n <= 1 else plurals.get(word, word + 's')}"


def _grouped(n: int) -> str:
    return f"{n:,}".replace(",", " ")
