"""Accelerations, multipliers and joint reactions along a solution, computed afterwards from the states."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..results.channel import Channel

if TYPE_CHECKING:
    from .compiled import Compiled


def constrained_accelerations(
    system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray, tau: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """v̇ and λ at every row of states: M v̇ = f + τ + Jᵀλ, J v̇ = g; with redundant constraints the λ of least norm."""
    M, f, J, g, _ = system.function("descriptor")(t[:, None], x, u)
    if tau is not None:
        f = f + tau
    if J.shape[1] == 0:
        return np.linalg.solve(M, f[..., None])[..., 0], np.zeros((len(t), 0))
    MJ = np.linalg.solve(M, np.swapaxes(J, 1, 2))
    Mf = np.linalg.solve(M, f[..., None])
    S = J @ MJ
    right = g[..., None] - J @ Mf
    lam = np.linalg.pinv(S, rcond=1e-12, hermitian=True) @ right
    return (Mf + MJ @ lam)[..., 0], lam[..., 0]


def reactions_along(system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray, axes: str = "world") -> dict[str, np.ndarray]:
    """Force and torque (nt, 6) on the child of every joint, and on the second frame of every closure."""
    from ..formalisms.functions.tree import reaction_names

    a, lam = constrained_accelerations(system, t, x, u)
    nq, nv = system.nq, system.nv
    table = system.function("reactions", axes=axes)(t[:, None], x[:, :nq], x[:, nq : nq + nv], a, x[:, nq + nv :], u, lam)
    return {name: table[:, i] for i, name in enumerate(reaction_names(system.equations_of_motion))}


def reactions_of_accelerations(system: Compiled, t: float, x: np.ndarray, u: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
    """Force and torque (6) on each joint's child and each closure's second frame that given accelerations v̇ ask for.

    The multipliers are the least ones that balance the tree: Jᵀλ = M v̇ − f.
    """
    from ..formalisms.functions.tree import reaction_names

    nq, nv = system.nq, system.nv
    clock = np.array([t])
    M, f, J, _, _ = system.function("descriptor")(clock, x, u)
    lam = np.linalg.lstsq(J.T, M @ a - f, rcond=1e-12)[0] if len(J) else np.zeros(0)
    table = system.function("reactions", axes="world")(clock, x[:nq], x[nq : nq + nv], a, x[nq + nv :], u, lam)
    return {name: table[i] for i, name in enumerate(reaction_names(system.equations_of_motion))}


def drive_forces_along(system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray, a: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """λ_c (nt, driven and locked coordinates): force or torque of every drive and lock."""
    nq, nv = system.nq, system.nv
    f = system.function("drive_forces")
    return np.asarray(f(t[:, None], x[:, :nq], x[:, nq : nq + nv], a, x[:, nq + nv :], u, lam))


def multiplier_channel(row: str) -> str:
    """Name of the channel of a constraint's multiplier: ``loop[1]`` becomes ``loop.1.multiplier``."""
    return f"{row.replace('[', '.').replace(']', '')}.multiplier"


def reaction_channels(system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> dict[str, Channel]:
    """Lazy channels: accelerations, multipliers, ``joint.reaction`` (force), ``joint.reaction_torque`` and ``joint.drive_force``."""
    from ..formalisms.functions.drive_forces import drive_force_names
    from ..formalisms.functions.tree import reaction_names

    cache: dict[str, tuple[np.ndarray, np.ndarray] | dict[str, np.ndarray] | np.ndarray] = {}

    def dynamics() -> tuple[np.ndarray, np.ndarray]:
        if "dynamics" not in cache:
            cache["dynamics"] = constrained_accelerations(system, t, x, u)
        return cache["dynamics"]  # type: ignore[return-value]

    def wrenches() -> dict[str, np.ndarray]:
        if "wrenches" not in cache:
            cache["wrenches"] = reactions_along(system, t, x, u)
        return cache["wrenches"]  # type: ignore[return-value]

    def drives() -> np.ndarray:
        if "drives" not in cache:
            cache["drives"] = drive_forces_along(system, t, x, u, *dynamics())
        return cache["drives"]  # type: ignore[return-value]

    def acceleration(i: int) -> Callable[[], np.ndarray]:
        return lambda: dynamics()[0][:, i]

    def multiplier(i: int) -> Callable[[], np.ndarray]:
        return lambda: dynamics()[1][:, i]

    def drive(i: int) -> Callable[[], np.ndarray]:
        return lambda: drives()[:, i]

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
        channels[multiplier_channel(row.name)] = Channel(multiplier(i), "", "constraint multiplier")
    for name in reaction_names(eq):
        channels[f"{name}.reaction"] = Channel(part(name, slice(0, 3)), "N", "force on the child, world axes")
        channels[f"{name}.reaction_torque"] = Channel(part(name, slice(3, 6)), "N m", "torque on the child at the joint, world axes")
    for i, (name, unit) in enumerate(drive_force_names(eq)):
        channels[name] = Channel(drive(i), unit, "force that keeps the prescribed motion")
    return channels
