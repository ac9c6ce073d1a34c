"""Named channels of a run of an assembled system: motion of its bodies, multipliers, energies, momenta, what elements measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...results.channel import Channel
from ...solvers.stepping import frame as am
from .audit import measured
from .program import Handle, Instance

_ENERGIES = ("kinetic", "potential", "internal", "dissipated", "supplied")


def channels_of(
    handles: Sequence[Handle], instances: Sequence[Instance], multiplier_names: Sequence[str], q: np.ndarray, v: np.ndarray,
    lam: np.ndarray, book: np.ndarray,
) -> dict[str, Channel]:  # fmt: skip
    """Named channels of a run."""
    channels = motion_of(handles, instances, q, v)
    for i, name in enumerate(multiplier_names):
        channels[name] = Channel(lam[:, i], "", "multiplier, mean over the step before")
    for i, name in enumerate(_ENERGIES):
        channels[f"energy.{name}"] = Channel(book[:, i], "J", f"{name} energy")
    channels["energy.total"] = Channel(book[:, am.TOTAL], "J", "kinetic, potential and internal energy")
    channels["energy.residual"] = Channel(book[:, am.BALANCE], "J", "largest defect of the energy balance of a step since the row before")
    channels["momentum.linear"] = Channel(book[:, 5:8], "kg*m/s", "linear momentum")
    channels["momentum.angular"] = Channel(book[:, 8:11], "kg*m^2/s", "angular momentum about the origin")
    channels["constraints.violation"] = Channel(book[:, am.VIOLATION], "", "largest violation of a constraint since the row before")
    channels["newton.iterations"] = Channel(book[:, am.ITERATED].astype(np.int64), "", "iterations since the row before")
    channels["newton.steps"] = Channel(book[:, am.USED].astype(np.int64), "", "steps since the row before")
    channels |= measured(instances, q)
    if touching := [i for i in instances if getattr(i.element, "contact", None)]:
        from .contacts import contact_force_channels

        channels |= contact_force_channels(touching, q, v)
    return channels


def motion_of(handles: Sequence[Handle], instances: Sequence[Instance], q: np.ndarray, v: np.ndarray) -> dict[str, Channel]:
    """Channels of the coordinates and rates."""
    channels: dict[str, Channel] = {}
    kinds = {h.name: i.element.name for i in instances if i.element.reduction is not None for h in (i.blocks[i.element.reduction.block],)}
    for h in handles:
        part = slice(h.offset, h.offset + h.size)
        channels |= _motion(h, kinds.get(h.name, ""), q[:, part], v[:, part])
    return channels


def _motion(h: Handle, kind: str, q: np.ndarray, v: np.ndarray) -> dict[str, Channel]:
    """Channels of a block of coordinates: those of a frame for directors, the numbers themselves otherwise."""
    if kind in ("DirectorBody", "BeamNode") or (h.size == 12 and h.fixed):
        directors, rates = q[:, 3:].reshape(-1, 3, 3), v[:, 3:].reshape(-1, 3, 3)
        return {
            f"{h.name}.position": Channel(q[:, :3], "m", "origin"), f"{h.name}.rotation": Channel(directors.swapaxes(1, 2).copy(), "", "directors as columns"),
            f"{h.name}.velocity": Channel(v[:, :3], "m/s", "velocity of the origin"),
            f"{h.name}.angular_velocity": Channel(0.5 * np.cross(directors, rates).sum(axis=1), "rad/s", "angular velocity"),
        }  # fmt: skip
    if kind in ("PlanarBody", "PlanarNode") or (h.size == 6 and h.fixed):
        omega = 0.5 * (q[:, 2] * v[:, 3] - q[:, 3] * v[:, 2] + q[:, 4] * v[:, 5] - q[:, 5] * v[:, 4])
        return {
            f"{h.name}.position": Channel(q[:, :2], "m", "origin"), f"{h.name}.velocity": Channel(v[:, :2], "m/s", "velocity of the origin"),
            f"{h.name}.angle": Channel(np.unwrap(np.arctan2(q[:, 3], q[:, 2])), "rad", "angle"),
            f"{h.name}.angular_velocity": Channel(omega, "rad/s", "angular velocity"),
        }  # fmt: skip
    rate = {"m": "m/s", "rad": "rad/s"}.get(h.unit, "")
    values, rates = (q[:, 0], v[:, 0]) if h.size == 1 else (q, v)
    return {h.name: Channel(values, h.unit, "coordinates"), f"{h.name}.rate": Channel(rates, rate, "rates")}
