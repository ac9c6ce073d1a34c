"""Modes of flexible bodies by their names."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..model.elastic.bending import flexible_bodies, is_flexible

if TYPE_CHECKING:
    from ..model.model import Model
    from .run import Settings


def mode_names(model: Model) -> list[str]:
    """Amplitudes of all flexible bodies of a model that no motion is prescribed for."""
    return [c.names[0] for b in flexible_bodies(model) for c in b.modes if c.motion is None]


def chosen_modes(model: Model, given: str | Sequence[str], what: str) -> list[str]:
    """Modes by name, such as "rod.mode3", or by patterns, such as "rod.*"."""
    known = mode_names(model)
    found: list[str] = []
    for pattern in [given] if isinstance(given, str) else given:
        fitting = [name for name in known if fnmatchcase(name, str(pattern))]
        if not fitting:
            there = ", ".join(known) or "none: no body bends"
            raise InputError(f"{what}: '{pattern}' is no mode of a flexible body of '{model.name}'; there are {there}")
        found += [name for name in fitting if name not in found]
    if not found:
        raise InputError(f"{what}: no modes are chosen; leave out modes= for all")
    return found


#: Radians of a vibration in a step from which on a scheme without memory of high frequencies (ρ = 0) has lost it after a few steps.
UNRESOLVED = 1.0


def check_quasi_static(model: Model, given: str | Sequence[str], settings: Settings, rho: float | None) -> float:
    """The spectral radius with which modes that the steps do not resolve follow their loads; refused where the steps resolve them."""
    what = f"simulate '{model.name}': quasi_static"
    chosen = chosen_modes(model, given, what)
    if settings.method == "trapezoidal" or (rho is not None and rho > 0.0):
        raise InputError(f"{what}: modes follow their loads where the scheme forgets them (rho = 0, the default with quasi_static), not with "
                         f"{'the trapezoidal rule' if rho is None else f'rho = {rho:g}'}")  # fmt: skip
    if settings.step is None:
        raise InputError(f"{what}: steps that adapt would resolve them; give a step (s) that is longer than their periods")
    for name in chosen:
        frequency = frequency_of(model, name)
        if settings.step * frequency < UNRESOLVED:
            raise InputError(
                f"{what}: '{name}' has {frequency / (2 * np.pi):.4g} Hz, which steps of {settings.step:g} s resolve; take steps of more than "
                f"{UNRESOLVED / frequency:.2g} s, or leave it out of quasi_static"
            )
    return 0.5 if settings.method == "hht" else 0.0


def frequency_of(model: Model, mode: str) -> float:
    """The angular frequency (rad/s) of a mode by itself, its body's frame held."""
    for body in model.bodies.values():
        if is_flexible(body):
            for k, c in enumerate(body.modes):
                if c.names[0] == mode:
                    return float(np.sqrt(body.part.stiffness[k, k] / body.part.M_ee[k, k]))
    raise KeyError(mode)


#: Steps are on the scale of a mode where they are at least this part of a radian of its vibration; below, something else is faster.
ON_ITS_SCALE = 0.015
#: Steps of a run from which on it is told.
MANY = 1000


def fastest_mode(model: Model) -> tuple[str, float] | None:
    """The mode with the highest frequency (rad/s) of all flexible bodies, free or with their frames held."""
    import scipy.linalg as sl  # where a body bends, it is there already

    found: tuple[str, float] | None = None
    for body in model.bodies.values():
        if not is_flexible(body):
            continue
        part = body.part
        frequency = max(float(part.frequencies[-1]), float(part.free_frequencies[-1]))
        if found is None or frequency > found[1]:
            vector = sl.eigh(part.stiffness, part.M_ee, subset_by_index=[part.modes - 1] * 2)[1][:, 0]
            found = body.modes[int(np.argmax(np.abs(vector * (part.stiffness @ vector))))].names[0], frequency
    return found


def dictating_mode(model: Model, span: float, steps: int) -> str:
    """Which mode the steps of a run were chosen for, and what can be done; nothing where they were few or follow something faster."""
    if steps < MANY:
        return ""
    found = fastest_mode(model)
    if found is None or span / steps * found[1] < ON_ITS_SCALE:
        return ""
    name, frequency = found
    return (
        f"the steps, {span / steps:.2g} s on average, follow the fastest mode, '{name}' ({frequency / (2 * np.pi):.4g} Hz); fewer modes take longer ones, "
        f"or method='generalized-alpha' with a step= of your choice and quasi_static=['{name}'], in which it follows its loads without vibrating"
    )


__all__ = ["check_quasi_static", "chosen_modes", "dictating_mode", "fastest_mode", "mode_names"]
