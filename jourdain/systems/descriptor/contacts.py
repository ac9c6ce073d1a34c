"""Rigid contacts in absolute coordinates: rows from compiled functions of (t, x, ẋ), solved together with the constraints of joints and bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ..pushed import touches_rigidly
from ..tree.contact.events import set_valued
from ..tree.contact.framed import FramedContacts
from ..tree.contact.moreau import MoreauMarch
from .runs import DescriptorRun

if TYPE_CHECKING:
    from ...model.joints import Joint
    from .system import DescriptorSystem


class AbsoluteContacts(FramedContacts):
    """Rows of contacts over the rates ẋ of a descriptor; coordinates without mass are those that constraints determine."""

    absolute = True

    @staticmethod
    def made(system: Any) -> AbsoluteContacts:
        """New ones."""
        return AbsoluteContacts(system, system.parameter_vector)

    def _velocity_of(self, joint: Joint) -> int:
        return self.system.configuration.position_names.index(joint.coordinates[0].names[0])


class AbsoluteMoreauRun(MoreauMarch, DescriptorRun):
    """Moreau's steps in the coordinates of a descriptor."""

    def contacts_of_run(self) -> AbsoluteContacts:
        own = self.system.own
        self.reduction = own.reduction  # words of directors are those of their own engine
        return AbsoluteContacts.of(own)  # type: ignore[return-value]


def moreau_run(system: DescriptorSystem, method: str) -> type[AbsoluteMoreauRun] | None:
    """The kind of run where the method is Moreau's; others are refused for set-valued laws."""
    if method == "moreau":
        return AbsoluteMoreauRun
    if touches_rigidly(system.model):
        raise InputError(
            f"simulate '{system.model.name}': {set_valued(system.model)} has a set-valued law, which method '{method}' does not know in formulation "
            f"'{system.formulation}'; use method='moreau' and step=, or formulation='recursive', which goes from event to event, too"
        )
    return None


__all__ = ["AbsoluteContacts", "AbsoluteMoreauRun", "moreau_run"]
