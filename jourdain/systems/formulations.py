"""One model, many formulations: each compiled by a word, all answering as a :class:`~jourdain.systems.system.System`.

``model.compile(formulation="cartesian", rotation="euler-parameters", reduction="qr")`` gives the model in other coordinates.  States stay
those of the joint coordinates; accelerations come back as v̇ of the tree, reactions as the force and torque on each joint's child,
simulations as solutions with the usual channels.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..model.contact.methods import refuse_contacts
from ..model.elastic.bending import flexible_bodies, refuse_flexible, refuse_placed_spheres, refuse_sliders
from .system import System

if TYPE_CHECKING:
    from ..model.model import Model

#: Formulations by name: where a :class:`System` or a function (model, **options) → Descriptor is found.
FORMULATIONS: dict[str, str] = {
    "recursive": "jourdain.systems.tree.system:TreeSystem",
    "cartesian": "jourdain.formalisms.coordinates.cartesian:cartesian",
    "natural": "jourdain.systems.descriptor.natural:NaturalSystem",
    "directors": "jourdain.systems.assembled.directors:DirectorSystem",
    "semi-recursive": "jourdain.systems.tree.semi_recursive:SemiRecursiveSystem",
}


#: Those of rigid bodies only (directors know solids of large deformation in a model that is not compiled yet).
RIGID = ("natural", "directors")


def formulate(model: Model | System, formulation: str = "recursive", **options: Any) -> System:
    """A model in a formulation by name; a compiled system may be given, with which the new one shares joint coordinates and parameters."""
    if formulation not in FORMULATIONS:
        raise InputError(f"formulation '{formulation}' is unknown; use one of {', '.join(FORMULATIONS)}")
    from .tree.system import TreeSystem

    if not isinstance(model, System) and model.switches and model.whole is None:
        model = model.phase(model.released_at_start())
    if formulation != "directors" and not isinstance(model, System):
        refuse_sliders(model, f"formulation '{formulation}'")
        refuse_placed_spheres(model, f"formulation '{formulation}'")
    if formulation == "recursive":
        if isinstance(model, System):
            if options:
                raise InputError(f"'{model.model.name}' is compiled; options {', '.join(options)} are for model.compile(...)")
            return model.reference
        _check_options(formulation, TreeSystem, options)
        return TreeSystem(model, **options)
    if formulation == "directors" and isinstance(model, System) and hasattr(model, "parts"):
        return model  # compiled with its elements
    described = model.model if isinstance(model, System) else model
    if formulation == "semi-recursive":
        refuse_contacts(described, f"formulation '{formulation}'", "use 'recursive'", rigid_only=True)
    if formulation == "directors" and not isinstance(model, System) and flexible_bodies(model):
        from .assembled.flexible.hybrid import hybrid

        refuse_contacts(
            model, "formulation 'directors' with bodies that bend", "let surfaces give way, or use 'recursive'", rigid_only=True
        )
        return hybrid(model, **options)
    if formulation in RIGID:
        others = ", ".join(f for f in FORMULATIONS if f not in RIGID)
        refuse_flexible(model.model if isinstance(model, System) else model, f"formulation '{formulation}'", f"use {others}, or rigid=True")
    module, name = FORMULATIONS[formulation].split(":")
    made = getattr(import_module(module), name)
    reference = model.reference if isinstance(model, System) else TreeSystem(model)
    if isinstance(made, type) and issubclass(made, System):
        build: Callable[..., System] = made
        return build(reference, **options)
    from .descriptor.system import DescriptorSystem

    return DescriptorSystem(reference, formulation, made, **options)


def _check_options(formulation: str, kind: type[System], options: dict[str, Any]) -> None:
    takes = list(signature(kind).parameters)[1:]
    for name in set(options) - set(takes):
        raise InputError(f"formulation '{formulation}' has no option '{name}'; it takes {', '.join(takes)}")


__all__ = ["FORMULATIONS", "formulate"]
