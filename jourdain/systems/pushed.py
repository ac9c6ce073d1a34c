"""Equations in which the forces of rigid contacts and stops are inputs: what accelerations, reactions and analyses about a state are computed with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..model.contact.loads import COMPONENTS, dry_name, pushed, stop_name, tension_name

if TYPE_CHECKING:
    from ..model.model import Model
    from ..results.channel import Channel
    from .system import System
    from .tree.system import TreeSystem


def touches_rigidly(model: Model) -> bool:
    """Whether a model has contacts or stops that do not give way, or dry friction in joints: set-valued laws."""
    return bool(model.rigid_stops or model.dry_friction or model.ropes) or any(not c.gives_way for c in model.contacts.values())


def pushed_system(system: System) -> TreeSystem:
    """The system of the same model and parameters, with the forces of rigid contacts and stops as further inputs behind its own."""
    from .tree.system import TreeSystem

    own = system.reference
    if not touches_rigidly(system.model):
        return own
    found: TreeSystem | None = own._idle.get("pushed")
    if found is None:
        found = own._idle["pushed"] = TreeSystem(pushed(own.model), **own.options)
    if not np.array_equal(found.parameter_vector, own.parameter_vector):
        found._take(own.parameter_vector)
    return found


def pushed_inputs(system: System, u: np.ndarray, channels: Mapping[str, Channel]) -> np.ndarray:
    """Rows of inputs of :func:`pushed_system`: those of the model, and forces of contacts as channels of a run have them."""
    columns = [u]
    for contact in system.model.contacts.values():
        for mover in contact.carriers if not contact.gives_way else ():
            for word in ("force", "torque"):
                known = channels.get(f"{contact.name}.{mover}.{word}")
                columns.append(np.zeros((len(u), 3)) if known is None else known.values)
    for joint in system.model.rigid_stops:
        columns.append(channels[stop_name(joint)].values[:, None])
    for rope in system.model.ropes:
        columns.append(channels[tension_name(rope)].values[:, None])
    for joint in system.model.dry_friction:
        columns.append(channels[dry_name(joint)].values[:, None])
    return np.column_stack(columns)


def refuse_between(system: System) -> None:
    """Raises an error where forces of rigid contacts are not known: between the rows of a solution."""
    if touches_rigidly(system.model):
        raise InputError(
            f"'{system.model.name}': accelerations and reactions between the steps of a run with rigid contacts are not known; read the channel of the "
            "solution, or contact forces at its steps: sol['contact.body.force']"
        )


def wrench_columns(system: System) -> dict[tuple[str, str], int]:
    """Where the wrench of a rigid contact on a body begins among the inputs of :func:`pushed_system`."""
    own, found = len(system.model.inputs), dict[tuple[str, str], int]()
    for contact in system.model.contacts.values():
        for mover in contact.carriers if not contact.gives_way else ():
            found[contact.name, mover] = own + len(COMPONENTS) * len(found)
    return found


__all__ = ["pushed_inputs", "pushed_system", "refuse_between", "touches_rigidly", "wrench_columns"]
