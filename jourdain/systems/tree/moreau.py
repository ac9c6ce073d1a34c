"""Runs of trees with contacts by Moreau's time-stepping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...results.channel import Channel
from ...solvers.nonsmooth import moreau
from ...solvers.ode.events import Event
from ...solvers.ode.integrate import integrate
from ...solvers.ode.trajectory import Trajectory
from ..run import DEFAULTS, Outcome, Settings
from ..state import State
from .contacts import TreeContacts
from .runs import ProjectedRun

if TYPE_CHECKING:
    from ..inputs import Inputs
    from .system import TreeSystem


class MoreauRun(ProjectedRun):
    """Fixed steps in which impacts, rest and sliding of all contacts are found together: rows are (q, v, z, forces, books)."""

    kind = "moreau"
    honours = frozenset(DEFAULTS) - {"rtol", "atol", "max_step", "steps"}

    def __init__(self, system: TreeSystem, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings) -> None:
        super().__init__(system, start, span, inputs, settings)
        if settings.step is None:
            raise InputError(f"simulate '{system.model.name}': method 'moreau' needs step= in seconds, such as step=1e-3")
        self.contacts = TreeContacts(system, system.parameter_vector)

    def first(self) -> np.ndarray:
        """The state, with nothing booked yet."""
        return np.r_[self.start.x, np.zeros(self.contacts.size - len(self.start.x))]

    def _check_method(self) -> None:
        pass  # the system chose this kind of run by the method

    def march(
        self, first: Any, span: tuple[float, float], by: Callable[..., Any] = integrate, more: Sequence[Event] = (), **changes: Any
    ) -> Any:
        """The integration."""
        native, control = self.native, self.control() | changes
        for word in ("rtol", "atol", "max_step", "steps"):
            control.pop(word)
        return by(
            native.rhs, span, first, moreau.method(), jacobian=self.contacts.native(), project=native.project,
            events=[*self.acting_events(), *more], samples=self.inputs.samples(span, native.u, self.model_state),
            **self.inputs.renewing(native, self.renewed), **control,
        )  # fmt: skip

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """Forces and books are channels; laws that were not met are said."""
        found = replace(super().outcome(trajectory), channels=partial(contact_channels, self.contacts, trajectory.x))
        worst = self.contacts.record.worst
        if found.status == "finished" and worst.residual > 0.0:
            a, b = (self.contacts.name_of(i) for i in (worst.shape_a, worst.shape_b))
            told = f"the law of contact between '{a}' and '{b}' is missed by {worst.residual:.3g} m/s at t = {worst.t:.6g} s; take a smaller step"
            found = replace(found, status="doubtful", message=told)
        return found


def contact_channels(contacts: TreeContacts, x: np.ndarray) -> dict[str, Channel]:
    """Net forces of each contact on its bodies (means over the step before), and the books of all contacts."""
    found = {}
    for (k, b), at in contacts.places.items():
        name = f"{contacts.contacts[k].name}.{contacts.bodies[b].name}.force"
        found[name] = Channel(x[:, at : at + 3].copy(), "N", "contact force")
    books = x[:, contacts.books :]
    found["contacts.dissipated"] = Channel(books[:, moreau.DISSIPATED].copy(), "J", "energy taken by contacts")
    found["contacts.depth"] = Channel(books[:, moreau.DEPTH].copy(), "m", "deepest penetration before it is taken away")
    found["contacts.residual"] = Channel(books[:, moreau.RESIDUAL].copy(), "m/s", "residual of the contact laws")
    found["contacts.acting"] = Channel(books[:, moreau.ACTING].copy(), "", "contacts that act")
    return found


__all__ = ["MoreauRun"]
