"""Which runs can be differentiated, and by which steps; what is not carried is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...solvers import load_method
from ...symbolic.expr import KINDS, Expr
from ...systems.inputs import Inputs
from .constrained_runs import Constrained
from .runs import IMPLICIT, OTHERS, OTHERS_BY, TABLEAUS, Differentiable, NotCarried

if TYPE_CHECKING:
    from ...results.solution import Solution
    from ...systems.system import System
    from ..planned import Analysis

#: Kinds of run without a motion of their own to walk along.
NOT_WALKED = ("prescribed", "contact events", "moreau")


def differentiable(plan: Analysis, system: System, solution: Solution, values: Mapping[str, float]) -> Differentiable:
    """The run that gave a solution, or a refusal that names what is not carried."""
    name, kind, method = system.model.name, solution.metadata["run"], solution.metadata["method"]
    model, runs = system.model, f"{kind if system.formulation in kind else f'{system.formulation} {kind}'} runs"

    def refuse(what: str, remedy: str) -> NotCarried:
        return NotCarried(f"gradient of '{name}': {what}; {remedy}")

    others = "use method='differences'"
    if kind in NOT_WALKED or model.switches or not hasattr(system.reference, "parameter_vector"):
        told = f"joints that let go ('{next(iter(model.switches))}')" if model.switches else runs
        raise refuse(f"{told} are not carried yet", others)
    if model.callbacks:
        raise refuse(
            f"'{next(iter(model.callbacks))}' is a Python callback, which has no derivative",
            f"write it with jourdain's functions, or {others}",
        )
    for word, items in (("algebraic unknown", model.unknowns), ("contact", model.contacts)):
        if items:
            raise refuse(f"{word} '{next(iter(items))}' is not carried yet", others)
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
    carrier = method if method in TABLEAUS else OTHERS_BY if method in OTHERS else IMPLICIT
    own = system.formulation == "recursive" and kind == "projected" and carrier == method
    load_method(carrier)
    tree = system.reference
    constrained = bool(tree.equations_of_motion.rows or tree.configuration.quaternions)
    if inputs.controllers and (constrained or not own or model.memories):
        what = "loops, constraints or quaternions" if constrained else "memories" if model.memories else f"{runs} by '{method}'"
        raise refuse(f"the controller of '{next(iter(inputs.controllers))}' together with {what} is not carried yet", others)
    if model.memories and (constrained or not own):
        what = "of a model with loops, constraints or quaternions" if constrained else f"in {runs} by '{method}'"
        raise refuse(f"memory '{next(iter(model.memories))}' {what} is not carried yet", others)
    kind_of_run = Constrained if constrained else Differentiable
    return kind_of_run(tree, inputs, carrier, start, own)


__all__ = ["differentiable"]
