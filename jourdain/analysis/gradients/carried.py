"""Which runs can be differentiated, and by which steps; what is not carried is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model.contact.loads import slot_count
from ...model.contact.penalty_laws import Penalty
from ...solvers import load_method
from ...symbolic.expr import KINDS, Expr
from ...symbolic.graph import evaluate, free_symbols
from ...systems.inputs import Inputs
from .constrained_runs import Constrained
from .contact.history import History, State
from .contact.places import Places
from .contact.striking import Striking, StrikingLinked
from .phased import Phased, Phases
from .runs import IMPLICIT, OTHERS, OTHERS_BY, TABLEAUS, Differentiable, NotCarried

if TYPE_CHECKING:
    from ...model.contact.contacts import Contact
    from ...results.solution import Solution
    from ...systems.system import System
    from ..design.planned import Analysis

#: Kinds of run without a motion of their own to walk along.
NOT_WALKED = ("prescribed", "moreau")
#: The kind of run of rigid contacts that is.
FROM_EVENT_TO_EVENT = "contact events"
#: Bodies have not been moved where coordinates are those that were given, to rounding.
AT_REST = 1e-12


def _of_contact(contact: Contact, system: System, wrt: Sequence[str]) -> tuple[str, str] | None:
    """Why a contact is not carried, and what could be done; None where it is."""
    if not isinstance(contact.law, Penalty):
        return None
    if contact.law.bristles:
        return "has bristles, whose memory is not carried yet", "take jd.contact.regularised(mu) for its friction"
    if slot_count(contact):
        return "has a law by restitution, whose memory of the speed of approach is not carried yet", "give damping= instead of restitution="
    bending = [f.body.name for f in contact.carriers.values() if f.body.modes]
    if bending:
        return f"touches '{bending[0]}', which bends; that is not carried yet", "let a rigid body touch"
    chosen = [n for n in wrt if n.removeprefix("parameter:") in _parameters_of_shapes(contact, system)]
    if chosen:
        return (
            f"has a shape whose size or place depends on '{chosen[0]}', by which forces are not differentiated yet",
            "take other variables",
        )
    return None


def _parameters_of_shapes(contact: Contact, system: System) -> set[str]:
    """Names of parameters in sizes and places of the shapes of a contact."""
    names: set[str] = set()
    known = dict(zip(system.model.parameter_set.symbols, system.reference.parameter_vector, strict=True))

    def number(e: Any) -> float:
        if not isinstance(e, Expr):
            return float(e)
        names.update(s.name for s in free_symbols([e]))
        return float(evaluate([e], known)[0])

    for s in contact.shapes:
        s.shape.numeric(number)
    return names


def differentiable(
    plan: Analysis, system: System, solution: Solution, values: Mapping[str, float], wrt: Sequence[str] = ()
) -> Differentiable:
    """The run that gave a solution, or a refusal that names what is not carried."""
    name, kind, method = system.model.name, solution.metadata["run"], solution.metadata["method"]
    model, runs = system.model, f"{kind if system.formulation in kind else f'{system.formulation} {kind}'} runs"

    def refuse(what: str, remedy: str) -> NotCarried:
        return NotCarried(f"gradient of '{name}': {what}; {remedy}")

    others = "use method='differences'"
    if kind in NOT_WALKED or not hasattr(system.reference, "parameter_vector"):
        raise refuse(f"{runs} are not carried yet", others)
    rigid = [c.name for c in model.contacts.values() if not isinstance(c.law, Penalty)]
    if model.switches and rigid:
        raise refuse(f"rigid contact '{rigid[0]}' beside joints that let go ('{next(iter(model.switches))}') is not carried yet", others)
    if rigid and kind != FROM_EVENT_TO_EVENT:
        raise refuse(
            f"rigid contact '{rigid[0]}' of {runs} is not carried",
            "simulate it from event to event (method=None) or by 'moreau', or " + others,
        )
    if model.callbacks:
        raise refuse(
            f"'{next(iter(model.callbacks))}' is a Python callback, which has no derivative",
            f"write it with jourdain's functions, or {others}",
        )
    if model.unknowns:
        raise refuse(f"algebraic unknown '{next(iter(model.unknowns))}' is not carried yet", others)
    for contact in model.contacts.values():
        if (refused := _of_contact(contact, system, wrt)) is not None:
            raise refuse(f"contact '{contact.name}' {refused[0]}", f"{refused[1]}, or {others}")
    start = plan.start(values)
    inputs = Inputs(system, plan.kwargs.get("inputs"), start.memory)
    for name_, controller in inputs.controllers.items():
        if not isinstance(controller.law, Expr):
            raise refuse(
                f"the controller of '{name_}' is a Python function, which has no derivative", "give its law as an expression, or " + others
            )
        resolved = system.reference.equations_of_motion.resolve([controller.law])
        if resolved[0].deps & KINDS["acceleration"]:
            raise refuse(f"the controller of '{name_}' reads accelerations, which is not carried", others)
    if kind == FROM_EVENT_TO_EVENT:
        return _striking(plan, system, solution, refuse, inputs, start)
    carrier = method if method in TABLEAUS else OTHERS_BY if method in OTHERS else IMPLICIT
    own = system.formulation == "recursive" and kind == "projected" and carrier == method
    load_method(carrier)
    tree = system.reference
    if model.switches:
        return Phased(tree, inputs, carrier, start, own, Phases(solution))
    constrained = bool(tree.equations_of_motion.rows or tree.configuration.quaternions)
    kind_of_run = Constrained if constrained else Differentiable
    return kind_of_run(tree, inputs, carrier, start, own)


def refuse_moved(plan: Analysis, solution: Solution, values: Mapping[str, float]) -> None:
    """Refuses runs that began elsewhere than they were told to: overlapping bodies moved apart, by how much variables decide."""
    if plan.kwargs.get("overlap") is None:
        return
    given, system = plan.start(values).q, solution.system.reference
    begun = np.array([solution[n][0] for n in system.coordinate_names])
    if np.abs(begun - given).max(initial=0.0) > AT_REST * np.abs(given).max(initial=1.0):
        raise NotCarried(
            f"gradient of '{system.model.name}': bodies that overlap at the start were moved apart, which is not differentiated; start from the coordinates of "
            "the run's first row, without overlap=, or use method='differences'"
        )


def _striking(
    plan: Analysis, system: System, solution: Solution, refuse: Callable[[str, str], NotCarried], inputs: Inputs, start: Any
) -> Differentiable:  # fmt: skip
    """A run from event to event of rigid contacts, with the modes that it has met."""
    tree, others, model = system.reference, "use method='differences'", system.model
    if system.formulation != "recursive":
        raise refuse(f"rigid contacts of {system.formulation} runs are not carried", "compile without formulation=, or " + others)
    if model.memories:
        raise refuse(f"memory '{next(iter(model.memories))}' beside rigid contacts is not carried yet", others)
    method = solution.metadata["method"]
    carrier = method if method in TABLEAUS else OTHERS_BY
    load_method(carrier)
    history = history_of(plan, solution)
    sort = StrikingLinked if tree.equations_of_motion.rows or tree.configuration.quaternions else Striking
    return sort(tree, inputs, carrier, start, history, modes_of(history))


def history_of(plan: Analysis, solution: Solution) -> History:
    """What contacts did in a run; places are kept with the analysis (in this thread)."""
    system = solution.system.reference
    kept: dict[Any, Places] = plan._own.__dict__.setdefault("places", {})
    redundant = tuple(solution.contacts._run.native._redundant)
    key = (id(system.equations_of_motion), redundant)
    places = kept.get(key)
    if places is None:
        places = kept[key] = Places(system, redundant)
    places.system = system
    return History(places, solution)


def modes_of(history: History) -> list[tuple[State, ...]]:
    """All sets of closed contacts of a run, that without any first."""
    return list(dict.fromkeys([(), *(i.states for i in history.instants)]))


__all__ = ["FROM_EVENT_TO_EVENT", "differentiable", "history_of", "modes_of", "refuse_moved"]
