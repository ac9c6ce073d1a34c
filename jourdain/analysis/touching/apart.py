"""Bodies that overlap at the start of a run: told where surfaces give way, moved apart where that is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError
from ...model.contact.laws import rigid
from ...model.contact.methods import touches
from ...solvers.complementarity.build import dense_problem
from ...solvers.complementarity.solve import solution as solved
from ...solvers.penalty.touch import touch_rows
from ...systems.state import State
from ...systems.touching import touching_at
from ...systems.tree.contact.instant import RigidContacts
from ...systems.tree.system import TreeSystem
from ..equations.residual import close_loops

if TYPE_CHECKING:
    from ...model.model import Model
    from ...systems.system import System

#: Penetrations of surfaces that give way up to this part of the smaller body's thickness are what such laws are for.
DEEP = 0.1
#: Rounds in which bodies are moved apart, and what may be left in parts of the smallest shape.
ROUNDS, LEFT = 100, 1e-9
#: How far beyond touching they are moved, in parts of the smallest shape: what is left by rounding must not count as an overlap.
BEYOND = 1e-7
#: Velocities beyond which whole matrices of masses take longer than all else: bodies are moved apart in the first of Moreau's steps, which need none.
MANY = 3000


def tell_overlaps(system: System, start: State) -> None:
    """Warns of bodies with surfaces that give way which a run would shoot apart: the worst pairs."""
    if not touches(system.model):
        return
    own = system.reference
    u = own.inputs_at(start, None)
    found = touching_at(own, np.zeros(max(1, len(u))), len(start.x))
    if touch_rows(found.record, np.array([start.t]), np.array([start.x]), u[None].copy(), np.zeros((1, 3))):
        return  # the run itself says why
    solids, deepest = found.scene.native.solids.array, dict[tuple[str, str], tuple[float, float]]()
    for c in found.scene.contacts(found.record.poses, 0.0):
        a, b = int(c["shape_a"]), int(c["shape_b"])
        law = found.pairs.law[found.pairs.group[found.scene.source[a]], found.pairs.group[found.scene.source[b]]]
        thin = min(
            (x for k in (a, b) for x in (solids[k]["x"], solids[k]["y"], solids[k]["z"]) if solids[k]["size"] > 0.0 and x > 0.0),
            default=np.inf,
        )
        depth = -float(c["gap"])
        if law >= 0 and depth > DEEP * thin:
            pair = found.name_of(a), found.name_of(b)
            deepest[pair] = max(deepest.get(pair, (0.0, 0.0)), (depth, thin))
    worst = sorted(((d, a, b) for (a, b), (d, _) in deepest.items()), reverse=True)
    if worst:
        pairs = ", ".join(f"'{a}' and '{b}' by {d:.3g} m" for d, a, b in worst[:3])
        more = f" and {len(worst) - 3} pairs more" if len(worst) > 3 else ""
        warnings.warn(
            f"simulate '{system.model.name}': bodies overlap at the start: {pairs}{more}; their surfaces will throw them apart: move them, or let "
            "overlap='push apart' do it",
            RuntimeWarning,
            stacklevel=4,
        )


def moved_apart(system: System, start: State) -> State:
    """The state with positions in which nothing overlaps, by the least moves in the metric of the masses."""
    own = system.reference
    hard = TreeSystem(_hardened(own.model), **own.options)
    hard._take(own.parameter_vector)
    contacts, q = RigidContacts(hard), np.array(start.q, dtype=float)
    for _ in range(ROUNDS):
        found = contacts.find(start.t, q)
        if not len(found) or found.gap.min() >= -LEFT * contacts.size:
            return start.with_values(q=q)
        M = own.mass_matrix(q, start.t)
        J = found.J[:, 0]
        Y = np.linalg.solve(M, J.T)
        W, gap = J @ Y, found.gap - BEYOND * contacts.size
        soft = np.full(len(gap), 1e-12 * float(np.trace(W)) / len(gap))
        p = solved(dense_problem(W, gap, ["unilateral"] * len(gap), None, soft), tolerance=1e-12 * float(np.abs(gap).max()))
        q = own.configuration.integrate(q, Y @ p)
        if own.constraints:
            q = close_loops(system, q, (), start.t)
    a, b = contacts.bodies(found.key[int(np.argmin(found.gap))])
    raise SolverError(
        f"simulate '{system.model.name}': '{a}' and '{b}' still overlap by {-found.gap.min():.3g} m after {ROUNDS} rounds of pushing bodies apart; there may be no room"
    )


def start_apart(system: System, start: State, method: str | None, options: Mapping[str, Any]) -> tuple[State, dict[str, Any]]:
    """The start of a run with option ``overlap=``, and the options that are left: Moreau's steps put joints into their stops, ropes, and very many bodies by themselves."""
    rest = dict(options)
    given = rest["overlap"] if method == "moreau" else rest.pop("overlap", None)
    if given not in (None, "push apart"):
        raise InputError(f"simulate '{system.model.name}': overlap = {given!r} is unknown; it may be 'push apart'")
    if not system.model.contacts:
        if method != "moreau" and given is not None:
            raise InputError(
                f"simulate '{system.model.name}': overlap = 'push apart' is for contacts, and there are none; declare some by m.contact(…)"
            )
        return start, rest
    if given is not None:
        many = method == "moreau" and system.nv > MANY
        return start if many else moved_apart(system, start), rest
    if method != "moreau":
        tell_overlaps(system, start)
    return start, rest


def _hardened(model: Model) -> Model:
    """The model with rigid surfaces everywhere, and nothing else that is set-valued."""
    new: Any = copy(model)
    new.contacts = {n: replace(c, law=rigid()) for n, c in model.contacts.items()}
    new.rigid_stops, new.dry_friction, new.ropes = {}, {}, {}
    return new  # type: ignore[no-any-return]


__all__ = ["start_apart"]
