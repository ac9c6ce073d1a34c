"""Accelerations, multipliers and joint reactions along a solution, computed afterwards from the states."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..results.channel import Channel

if TYPE_CHECKING:
    from .system import System


def constrained_accelerations(system: System, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v̇ and λ at every row of states: M v̇ = f + Jᵀλ, J v̇ = g; with redundant constraints the λ of least norm."""
    M, f, J, g, _ = system.function("descriptor")(t[:, None], x, u)
    if J.shape[1] == 0:
        return np.linalg.solve(M, f[..., None])[..., 0], np.zeros((len(t), 0))
    MJ = np.linalg.solve(M, np.swapaxes(J, 1, 2))
    Mf = np.linalg.solve(M, f[..., None])
    S = J @ MJ
    right = g[..., None] - J @ Mf
    lam = np.linalg.pinv(S, rcond=1e-12, hermitian=True) @ right
    return (Mf + MJ @ lam)[..., 0], lam[..., 0]


def reactions_along(system: System, t: np.ndarray, x: np.ndarray, u: np.ndarray, axes: str = "world") -> dict[str, np.ndarray]:
    """Force and torque (nt, 6) on the child of every joint, and on the second frame of every closure."""
    from ..formalisms.tree_functions import reaction_names

    a, lam = constrained_accelerations(system, t, x, u)
    nq, nv = system.nq, system.nv
    table = system.function("reactions", axes=axes)(t[:, None], x[:, :nq], x[:, nq : nq + nv], a, x[:, nq + nv :], u, lam)
    return {name: table[:, i] for i, name in enumerate(reaction_names(system.equations_of_motion))}


def reaction_channels(system: System, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> dict[str, Channel]:
    """Lazy channels: accelerations, multipliers, and ``joint.reaction`` (force) and ``joint.reaction_torque``."""
    from ..formalisms.tree_functions import reaction_names

    cache: dict[str, tuple[np.ndarray, np.ndarray] | dict[str, np.ndarray]] = {}

    def dynamics() -> tuple[np.ndarray, np.ndarray]:
        if "dynamics" not in cache:
            cache["dynamics"] = constrained_accelerations(system, t, x, u)
        return cache["dynamics"]  # type: ignore[return-value]

    def wrenches() -> dict[str, np.ndarray]:
        if "wrenches" not in cache:
            cache["wrenches"] = reactions_along(system, t, x, u)
        return cache["wrenches"]  # type: ignore[return-value]

    def acceleration(i: int) -> Callable[[], np.ndarray]:
        return lambda: dynamics()[0][:, i]

    def multiplier(i: int) -> Callable[[], np.ndarray]:
        return lambda: dynamics()[1][:, i]

    def part(name: str, columns: slice) -> Callable[[], np.ndarray]:
        return lambda: wrenches()[name][:, columns]

    channels: dict[str, Channel] = {}
    eq = system.equations_of_motion
    index = 0
    for c in system.configuration.coordinates:
        unit = "m/s^2" if c.unit == "m" else "rad/s^2"
        for symbol in c.a:
            channels[symbol.name] = Channel(acceleration(index), unit, "acceleration")
            index += 1
    for i, row in enumerate(eq.rows):
        channels[f"{row.name.replace('[', '.').replace(']', '')}.multiplier"] = Channel(multiplier(i), "", "constraint multiplier")
    for name in reaction_names(eq):
        channels[f"{name}.reaction"] = Channel(part(name, slice(0, 3)), "N", "force on the child, world axes")
        channels[f"{name}.reaction_torque"] = Channel(part(name, slice(3, 6)), "N m", "torque on the child at the joint, world axes")
    return channels
