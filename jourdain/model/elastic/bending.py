"""Which bodies of a model bend: asked everywhere, without loading what flexible bodies are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from ...errors import InputError
from ..bodies import Body

if TYPE_CHECKING:
    from ..model import Model
    from .flexible import FlexibleBody


def is_flexible(body: Body) -> TypeGuard[FlexibleBody]:
    """Whether a body has amplitudes."""
    return body.bends


def flexible_bodies(model: Model) -> list[FlexibleBody]:
    """The bodies with amplitudes."""
    return [body for body in model.bodies.values() if is_flexible(body)]


def refuse_sliders(model: Model, what: str) -> None:
    """Raises an error where nothing can slide along cables, and their tension is not damped."""
    for body in model.bodies.values():
        if is_flexible(body) and body.part.part.elements and (viscosity := getattr(body.part.part.elements[0], "viscosity", 0.0)):
            raise InputError(
                f"{what} takes cables by their modes and knows no viscosity of theirs, but '{body.name}' has {viscosity:g} N s; use formulation 'directors', or damping of modes"
            )
        if is_flexible(body) and body.sliders:
            raise InputError(
                f"{what} lets nothing slide along a cable, but '{next(iter(body.sliders))}' slides on '{body.name}'; use formulation 'directors'"
            )


def refuse_placed_spheres(model: Model, what: str) -> None:
    """Raises an error where shapes are carried by nodes that have no axes, which formulation "directors" alone knows."""
    for body in flexible_bodies(model):
        for i in range(len(body.surfaces)):
            if not (frame := body.carrier(i)).turns:
                raise InputError(
                    f"{what} knows shapes on nodes that turn, but '{frame.path}' has no rotation; use formulation 'directors', or make several nodes a point that has: "
                    "part.interface(name, nodes)"
                )


def refuse_flexible(model: Model, what: str, remedy: str) -> None:
    """Raises an error where something is for rigid bodies only."""
    for body in model.bodies.values():
        if is_flexible(body):
            raise InputError(f"{what} knows rigid bodies only, but '{body.name}' of '{model.name}' is flexible; {remedy}")
