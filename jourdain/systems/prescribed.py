"""Motions that a model prescribes, as channels: positions, rates and accelerations of driven and locked joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..results.channel import Channel
from ..symbolic.derivatives import jvp
from ..symbolic.graph import evaluate

if TYPE_CHECKING:
    from ..model.joints import Coordinate
    from .system import System

_UNITS = {"rad": ("rad", "rad/s", "rad/s^2"), "m": ("m", "m/s", "m/s^2")}


def prescribed_coordinates(system: System) -> list[Coordinate]:
    """Coordinates that follow a function of time or are held."""
    joints = system.model.joints.values()
    return list({id(c): c for j in joints for c in j.coordinates if c.motion is not None}.values())


def prescribed_channels(system: System, t: np.ndarray, parameters: np.ndarray) -> dict[str, Channel]:
    """θ(t), θ̇ and θ̈ of what the model prescribes."""
    channels: dict[str, Channel] = {}
    for c in prescribed_coordinates(system):
        assert c.motion is not None
        eq, time = system.equations_of_motion, system.model.time
        known: dict[Any, Any] = dict(zip(eq.p, parameters, strict=True)) | {time: t}
        rate = jvp([c.motion], {time: 1.0})
        expressions = (c.motion, *rate, *jvp(rate, {time: 1.0}))
        names, words = (c.names[0], c.velocity_names[0], c.a[0].name), ("position", "velocity", "acceleration")
        for name, e, unit, word in zip(names, expressions, _UNITS[c.unit], words, strict=True):
            values = lambda e=e, known=known: np.broadcast_to(evaluate(e, known), t.shape).astype(float)
            channels[name] = Channel(values, unit, f"prescribed {word}")
    return channels


def prescribed_rates(system: System) -> dict[str, str]:
    """Names of the positions with those of their rates."""
    return {c.names[0]: c.velocity_names[0] for c in prescribed_coordinates(system)}


__all__ = ["prescribed_channels", "prescribed_coordinates", "prescribed_rates"]
