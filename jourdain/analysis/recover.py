"""Section forces, strains and stresses of a flexible body along a run, with the static share of its loads.

Few modes show where a body moves but not how it is strained: what they leave out answers to the loads at once.  So each element's forces
are those of the modes, and those of the static answer that the modes miss, to the body's own inertia and to every force at its nodes — joints,
closures and loads alike (mode-acceleration method).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..model.elastic.flexible import FlexibleBody
from ..results.solution import Solution
from ..shown import Shown
from ..systems.outputs.reactions import constrained_accelerations
from ..systems.start import check_belongs
from ..systems.state import State

if TYPE_CHECKING:
    from ..structures.load_cases import LoadCases
    from ..structures.recovery import Recovery
    from ..systems.system import System


@dataclass(frozen=True)
class Recovered(Shown):
    """Quantities of the elements of a flexible body: ``values`` (times, elements, channels)."""

    body: str
    t: np.ndarray
    channels: tuple[str, ...]
    values: np.ndarray = field(repr=False)
    recovery: Recovery = field(repr=False)

    def __getitem__(self, channel: str) -> np.ndarray:
        """One quantity (times, elements), such as "Mz@start"."""
        if channel not in self.channels:
            raise InputError(f"'{self.body}' has no '{channel}'; there are {', '.join(self.channels)}")
        return np.asarray(self.values[:, :, self.channels.index(channel)])

    @property
    def von_mises(self) -> np.ndarray:
        """The equivalent stress (times, elements), Pa; the largest where it varies over a section."""
        return np.array([self.recovery.group.von_mises(v) for v in self.values])

    def __str__(self) -> str:
        lines = [f"{self.body}: {self.values.shape[1]} elements at {len(self.t)} times; largest values"]
        for i, name in enumerate(self.channels):
            k, e = np.unravel_index(np.argmax(np.abs(self.values[:, :, i])), self.values.shape[:2])
            lines.append(f"  {name:10s} {self.values[k, e, i]:12.6g}  in element {e} at t = {self.t[k]:.6g} s")
        return "\n".join(lines)


def recover(system: System, run: Solution | State, body: str, static: bool = True, group: int = 0) -> Recovered:
    """Element quantities of a flexible body along a solution or at a state; ``static=False`` leaves the static share out."""
    item = _flexible(system, body, "recover")
    if static and item.curved is not None:
        raise InputError(
            f"recover: '{body}' is a beam of order 'exact', whose loads act on the deformed beam; take static=False, what its curvatures say, or body.gauge(…)"
        )
    recovery = item.part.recovery(group, item.used_nodes, static)
    t, x, _ = _states(system, run)
    names = system.reference.configuration.position_names
    e = x[:, [names.index(c.names[0]) for c in item.modes]]
    values = np.einsum("ecm,tm->tec", recovery.modal, e)
    if static:
        values = values + np.einsum("ecl,tl->tec", recovery.static, load_amplitudes(system, run, item, recovery.cases))
    return Recovered(body, t, tuple(recovery.channels), values, recovery)


def _states(system: System, run: Solution | State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, states and inputs."""
    reference = system.reference
    if isinstance(run, State):
        return np.array([run.t]), run.x[None], system.input_values()[None]
    if run.system is not None:
        check_belongs(reference, run.system, "solution")
    c = reference.configuration
    columns = [run[n] for n in (*c.position_names, *c.velocity_names, *system.model.states)]
    inputs = [run[n] if n in run.names else np.full(len(run.t), x) for n, x in zip(system.model.inputs, system.input_values(), strict=True)]
    u = np.column_stack(inputs) if inputs else np.zeros((len(run.t), 0))
    return np.asarray(run.t), np.column_stack(columns), u


@dataclass(frozen=True)
class ModalBalance(Shown):
    """How well reactions found body by body fit the modes of a flexible body (Lee et al. 2001, eq. 19, third rows), at times."""

    body: str
    t: np.ndarray
    names: tuple[str, ...]  #: modes
    asked: np.ndarray = field(repr=False)  #: what inertia, elasticity and damping ask for (times, modes), N
    given: np.ndarray = field(repr=False)  #: what all forces at nodes give, Φₜᵀ f + Φᵣᵀ n

    @property
    def residual(self) -> np.ndarray:
        """asked − given, zero but for rounding."""
        return np.asarray(self.asked - self.given)

    def __str__(self) -> str:
        size = max(np.abs(self.asked).max(initial=0.0), np.abs(self.given).max(initial=0.0))
        return (
            f"{self.body}: modal forces up to {size:.4g} N balance to {np.abs(self.residual).max(initial=0.0):.1e} N at {len(self.t)} times"
        )


def modal_balance(system: System, run: Solution | State, body: str) -> ModalBalance:
    """The modal rows of a flexible body's equations: forces of inertia and elasticity against those of all joints, closures and loads at its nodes.

    Reactions come from the Newton–Euler balance of bodies, which the modes take no part in, so that this is a check of both.
    """
    item = _flexible(system, body, "modal_balance")
    t, x, u = _states(system, run)
    a, wrenches, _ = node_wrenches(system, item, t, x, u)
    asked, nodes = (np.asarray(part) for part in system.reference.function("modal_balance", body=body)(t[:, None], x, u, a))
    n = len(item.modes)
    moved = nodes.reshape(len(t), len(item.used_nodes), 6, n)
    return ModalBalance(
        body, t, tuple(c.names[0] for c in item.modes), asked.reshape(len(t), n), np.einsum("tkcm,tkc->tm", moved, wrenches)
    )


def _flexible(system: System, body: str, what: str) -> FlexibleBody:
    item = system.model.bodies.get(body)
    if not isinstance(item, FlexibleBody):
        known = [n for n, b in system.model.bodies.items() if isinstance(b, FlexibleBody)]
        raise InputError(f"{what}: '{body}' is no flexible body of '{system.model.name}'; there are {', '.join(known) or 'none'}")
    return item


def node_wrenches(
    system: System, body: FlexibleBody, t: np.ndarray, x: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Accelerations, the wrenches (times, nodes, 6) of joints, closures and loads at a body's nodes, and its frame's motion (times, 9); body axes."""
    from ..formalisms.functions.flexible import attachments
    from ..systems.outputs.reactions import shared_reactions

    tree = system.reference
    a, lam = constrained_accelerations(tree, t, x, u)
    nodes, attached = body.used_nodes, attachments(tree.equations_of_motion, body)
    f = tree.function("flexible_loads", body=body.name)
    R, motion, loads, arms = (np.asarray(part) for part in f(t[:, None], x, u, a))
    wrenches = loads.reshape(len(t), len(nodes), 6).copy()
    table = shared_reactions(tree, t, x, u, a, lam).wrenches
    from ..formalisms.functions.tree import reaction_names

    names = reaction_names(tree.equations_of_motion)
    inside = np.swapaxes(R.reshape(len(t), 3, 3), 1, 2)
    for i, (name, node, _, sign) in enumerate(attached):
        force, moment = table[:, names.index(name), :3], table[:, names.index(name), 3:]
        moment = moment + np.cross(arms.reshape(len(t), len(attached), 3)[:, i], force)
        k = nodes.index(node)
        wrenches[:, k, :3] += sign * np.einsum("tab,tb->ta", inside, force)
        wrenches[:, k, 3:] += sign * np.einsum("tab,tb->ta", inside, moment)
    return a, wrenches, motion.reshape(len(t), 9)


def load_amplitudes(system: System, run: Solution | State, body: FlexibleBody, cases: LoadCases) -> np.ndarray:
    """Amplitudes (times, cases + modes) of a flexible body's unit loads, by the frame's motion and the wrenches at nodes, and accelerations of its modes."""
    a, wrenches, motion = node_wrenches(system, body, *_states(system, run))
    order = [body.used_nodes.index(p) for p in cases.points]
    loads = [
        cases.amplitudes(m[:3], m[3:6], m[6:], dict(zip(cases.points, w[order], strict=True)))
        for m, w in zip(motion, wrenches, strict=True)
    ]
    names = system.reference.configuration.velocity_names
    return np.hstack([np.array(loads), a[:, [names.index(c.velocity_names[0]) for c in body.modes]]])


__all__ = ["ModalBalance", "Recovered", "load_amplitudes", "modal_balance", "node_wrenches", "recover"]
