"""Accelerations, multipliers and joint reactions along a solution, computed afterwards from the states."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import SolverError
from ...model.contact.methods import refuse_contacts
from ...results.channel import Channel
from ...solvers.constraints.balance import WEIGHTLESS, balance, memory_size
from ...solvers.constraints.projection import NOISE
from ..compiled import Wrenches
from ..state import State
from ..tree.redundancy import redundant_names
from ..tree.self_stress import Share, first_state, loses_rank_here, share
from ..units import units_of

if TYPE_CHECKING:
    from ..compiled import Compiled
    from .solution import StateTable

PARTS = (
    ("reaction", slice(0, 3), "N", "force on the child, world axes"),
    ("reaction_torque", slice(3, 6), "N m", "torque on the child at the joint, world axes"),
)
#: Most numbers that mass matrices along a run may take; beyond, accelerations come without them where nothing is constrained, else by parts of the run.
MOST_NUMBERS = 50_000_000
#: What the descriptions of reactions say that the model leaves open.
NOT_DETERMINED = "not determined because constraints are redundant: share of least norm"


def constrained_accelerations(
    system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray, tau: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """v̇ and λ at every row of states: M v̇ = f + τ + Jᵀλ, J v̇ = g; with redundant constraints the λ of least norm."""
    refuse_contacts(
        system.model, "a channel of accelerations or reactions", "contact forces are channels: sol['contact.body.force']", rigid_only=True
    )
    if tau is None and _many_free(system, len(t)):
        rates = _derivatives(system, t, x, u)
        return np.ascontiguousarray(rates[:, system.nq : system.nq + system.nv]), np.zeros((len(t), 0))
    rows = max(1, MOST_NUMBERS // max(1, system.nv**2))
    if len(t) > rows:
        parts = [slice(k, k + rows) for k in range(0, len(t), rows)]
        found = [constrained_accelerations(system, t[k], x[k], u[k], None if tau is None else tau[k]) for k in parts]
        return np.concatenate([a for a, _ in found]), np.concatenate([lam for _, lam in found])
    M, f, J, g, _ = system.function("descriptor")(t[:, None], x, u)
    if tau is not None:
        f = f + tau
    nt, m, n = J.shape
    says_nothing = np.abs(J).max(axis=2, initial=0.0) < NOISE
    if says_nothing.any():
        J, g = np.where(says_nothing[..., None], 0.0, J), np.where(says_nothing, 0.0, g)
    a, lam, work, left = np.zeros((nt, n)), np.zeros((nt, m)), np.empty(memory_size(n, m)), np.empty(nt, dtype=np.int64)
    count = balance(M.reshape(nt, n * n), f, J.reshape(nt, m * n), g, a, lam, work, left)
    if count:
        k = left[:count]
        try:
            a[k], lam[k] = _least_norm(*_held(M[k], f[k], J[k], g[k]), J[k], g[k], units_of(system.reference).row)
        except np.linalg.LinAlgError:
            raise _without_inertia(system, t[k], x[k]) from None
    return a, lam


def state_rates(system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """ẋ at every row of states, with accelerations of the constrained system."""
    if _many_free(system, len(t)):
        return _derivatives(system, t, x, u)
    a, _ = constrained_accelerations(system, t, x, u)
    rows = max(1, MOST_NUMBERS // max(1, system.nv**2))
    known = np.concatenate(
        [system.function("descriptor")(t[k : k + rows, None], x[k : k + rows], u[k : k + rows])[-1] for k in range(0, len(t), rows)]
    )
    return np.column_stack([known[:, : system.nq], a, known[:, system.nq :]])


def _many_free(system: Compiled, rows: int) -> bool:
    """Whether mass matrices of hundreds of bodies that nothing constrains would fill the memory."""
    return not system.equations_of_motion.rows and rows * system.nv**2 > MOST_NUMBERS


def _derivatives(system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    f = system.function("state_derivative")
    return np.asarray(f(t[:, None], x, *([u] if "u" in f.inputs else [])))


def _held(M: np.ndarray, f: np.ndarray, J: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M and f, or M + σJᵀJ and f + σJᵀg, which have the same v̇ and λ, where constraints hold what has no inertia."""
    M, f = M.copy(), f.copy()
    for k, mass in enumerate(M):
        size = np.sqrt(np.abs(np.diag(mass)))
        if size.min(initial=1.0) > 0.0:
            try:
                if np.diag(np.linalg.cholesky(mass / np.outer(size, size))).min(initial=1.0) ** 2 > WEIGHTLESS:
                    continue
            except np.linalg.LinAlgError:
                pass
        # rows of one size each, so that a short one holds as firmly as a long one
        rows = J[k] / np.maximum(np.linalg.norm(J[k], axis=1, keepdims=True), 1e-300)
        scale = float(np.max(size, initial=0.0)) ** 2
        f[k] += scale * rows.T @ (g[k] / np.maximum(np.linalg.norm(J[k], axis=1), 1e-300))
        mass += scale * rows.T @ rows
        np.linalg.cholesky(mass)
    return M, f


def _without_inertia(system: Compiled, t: np.ndarray, x: np.ndarray) -> SolverError:
    """An error that names what moves without inertia."""
    from ..diagnose import singular_mass

    told = (singular_mass(system.reference, float(time), row) for time, row in zip(t, x, strict=True))
    return SolverError(f"'{system.model.name}': {next(filter(None, told), 'the mass matrix is singular')}")


def _least_norm(M: np.ndarray, f: np.ndarray, J: np.ndarray, g: np.ndarray, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v̇, and of the λ (of rows in units of their own) that balance it the least."""
    J, g = unit[:, None] * J, unit * g
    if J.shape[1] == 0:
        return np.linalg.solve(M, f[..., None])[..., 0], np.zeros((len(f), 0))
    MJ = np.linalg.solve(M, np.swapaxes(J, 1, 2))
    Mf = np.linalg.solve(M, f[..., None])
    S = J @ MJ
    right = g[..., None] - J @ Mf
    lam = np.linalg.pinv(S, rcond=1e-12, hermitian=True) @ right
    return (Mf + MJ @ lam)[..., 0], unit * lam[..., 0]


class IndeterminateReaction(UserWarning):
    """Reactions were read that the model does not determine: what is given is a share of least norm."""


def shared_reactions(
    system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray, a: np.ndarray, lam: np.ndarray, axes: str = "world"
) -> Share:
    """Reactions of all joints at states in rows, from accelerations and any multipliers that balance the tree."""
    nq, nv = system.nq, system.nv
    table = system.function("reactions", axes=axes)(t[:, None], x[:, :nq], x[:, nq : nq + nv], a, x[:, nq + nv :], u, lam)
    return share(system, t, x, u, table, axes)


def reactions_at(system: Compiled, state: State, a: np.ndarray, lam: np.ndarray, u: np.ndarray) -> Wrenches:
    """Force and torque by joint at a state, from accelerations and any multipliers that balance the tree."""
    found = shared_reactions(system, np.array([state.t]), state.x[None], u[None], a[None], lam[None])
    return _wrenches(system, found)


def reactions_of_accelerations(system: Compiled, state: State, u: np.ndarray, a: np.ndarray) -> Wrenches:
    """Force and torque by joint that given accelerations v̇ ask for; the multipliers are the least ones that balance the tree: Jᵀλ = M v̇ − f."""
    M, f, J, _, _ = system.function("descriptor")(np.array([state.t]), state.x, u)
    lam = np.linalg.lstsq(J.T, M @ a - f, rcond=1e-12)[0] if len(J) else np.zeros(0)
    return reactions_at(system, state, a, lam, u)


def share_reactions(system: Compiled, state: State, u: np.ndarray, found: Mapping[str, np.ndarray]) -> Wrenches:
    """Reactions (6) by joint that balance the bodies at a state, as any formulation finds them, with the share of least norm."""
    table = np.array([found[n] for n in _names(system)]).reshape(1, -1, 6)
    return _wrenches(system, share(system, np.array([state.t]), state.x[None], u[None], table))


def _wrenches(system: Compiled, found: Share) -> Wrenches:
    return {name: (w[:3], w[3:]) for name, w in zip(_names(system), found.wrenches[0], strict=True)}


def indeterminate(system: Compiled, state: State, u: np.ndarray | None = None) -> list[str]:
    """Joints and closures whose reactions at a state depend on how stiff the joints are, which rigid bodies do not know.

    Self-stresses across a plane mechanism that is loaded in its plane concern nobody: there all shares are zero.
    """
    if not redundant_names(system.reference, state) and not loses_rank_here(system, state):
        return []
    given = (np.array([state.t]), state.x[None], (system.input_values() if u is None else u)[None])
    found = shared_reactions(system, *given, *constrained_accelerations(system, *given)).indeterminate
    return [name for name, free in zip(_names(system), found, strict=True) if free]


def _names(system: Compiled) -> list[str]:
    from ...formalisms.functions.tree import reaction_names

    return reaction_names(system.equations_of_motion)


def redundant_along(table: StateTable) -> list[str]:
    """Names of the redundant constraints of a run, at its first state."""
    system = table.system
    eq = system.equations_of_motion
    if not len(table.t) or not (eq.closures or eq.rows):
        return []
    return redundant_names(system.reference, first_state(system, table.t, table.rows))


def drive_forces_along(system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray, a: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """λ_c (nt, driven and locked coordinates): force or torque of every drive and lock, for multipliers of idle rows, too."""
    nq, nv = system.nq, system.nv
    f = system.function("drive_forces")
    return np.asarray(f(t[:, None], x[:, :nq], x[:, nq : nq + nv], a, x[:, nq + nv :], u, lam))


def multiplier_channel(row: str) -> str:
    """Name of the channel of a constraint's multiplier: ``loop[1]`` becomes ``loop.1.multiplier``."""
    return f"{row.replace('[', '.').replace(']', '')}.multiplier"


def reaction_channels(
    system: Compiled, t: np.ndarray, x: np.ndarray, acting: Callable[[], tuple[Compiled, np.ndarray]]
) -> dict[str, Channel]:
    """Lazy channels: accelerations, multipliers, ``joint.reaction`` (force), ``joint.reaction_torque`` and ``joint.drive_force``.

    ``acting`` gives the equations with all that acts as inputs, and these in rows.
    """
    from ...formalisms.functions.drive_forces import drive_force_names

    eq, names = system.equations_of_motion, _names(system)

    @cache
    def motion() -> tuple[np.ndarray, np.ndarray]:
        s, u = acting()
        return constrained_accelerations(s, t, x, u)

    @cache
    def shared() -> Share:
        s, u = acting()
        return shared_reactions(s, t, x, u, *motion())

    def notice(name: str, columns: slice, index: tuple[int, ...]) -> None:
        """Tells once for a system that what is read is not determined."""
        found = shared()
        if found.open[names.index(name), columns][index].any() and not system.reference._idle.get("told of open reactions"):
            system.reference._idle["told of open reactions"] = True
            open_ones = ", ".join(n for n, free in zip(names, found.indeterminate, strict=True) if free)
            warnings.warn(
                f"'{system.model.name}': constraints are redundant, so that rigid bodies do not determine the reactions of {open_ones}; they are "
                "shared as by equal stiff springs at the joints (least norm). Their sum on a body is determined.",
                IndeterminateReaction, stacklevel=6,
            )  # fmt: skip

    @cache
    def multipliers() -> np.ndarray:
        """Of all rows and of those that hold by themselves, as the share of the reactions wants them."""
        lam = np.column_stack([motion()[1], np.zeros((len(t), len(eq.idle_rows)))])
        return lam + shared().multipliers if len(t) and (eq.idle_rows or rows_depend()) else lam

    @cache
    def rows_depend() -> bool:
        return bool(len(t) and loses_rank_here(system, first_state(system, t, x)))

    @cache
    def drives() -> np.ndarray:
        s, u = acting()
        return drive_forces_along(s, t, x, u, motion()[0], multipliers())

    def acceleration(i: int) -> Callable[[], np.ndarray]:
        return lambda: motion()[0][:, i]

    def multiplier(i: int) -> Callable[[], np.ndarray]:
        return lambda: (multipliers() if rows_depend() else motion()[1])[:, i]

    def drive(i: int) -> Callable[[], np.ndarray]:
        return lambda: drives()[:, i]

    def part(name: str, columns: slice) -> Callable[[], np.ndarray]:
        return lambda: shared().wrenches[:, names.index(name), columns]

    def remark(name: str, columns: slice, index: tuple[int, ...]) -> str:
        return NOT_DETERMINED if shared().open[names.index(name), columns][index].any() else ""

    channels: dict[str, Channel] = {}
    index = 0
    for c in system.configuration.coordinates:
        unit = "m/s^2" if c.unit == "m" else "rad/s^2"
        for symbol in c.a:
            channels[symbol.name] = Channel(acceleration(index), unit, "acceleration")
            index += 1
    for i, row in enumerate(eq.rows):
        channels[multiplier_channel(row.name)] = Channel(multiplier(i), "", "constraint multiplier")
    for name in names:
        for end, columns, unit, text in PARTS:
            told = (partial(remark, name, columns), partial(notice, name, columns)) if eq.rows or eq.idle_rows else ()
            channels[f"{name}.{end}"] = Channel(part(name, columns), unit, text, *told)
    for i, (name, unit) in enumerate(drive_force_names(eq)):
        channels[name] = Channel(drive(i), unit, "force that keeps the prescribed motion")
    return channels
