"""Inverse dynamics of assembled systems: forces on coordinates that follow given motions, by servo constraints.

    M q̈ + ∇V + F − Q + Gᵀλ = τ,   Φ(q) = 0,   q_j = γ_j(t)        solved together, step by step (Uhlar, Sec. 5.3)

The scheme finds means over a step; forces at instants follow from neighbouring ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.element import Element, Servo, Symbols
from ...errors import InputError
from ...results.channel import Channel
from ...results.solution import Solution
from ...symbolic.derivatives import jvp
from ...symbolic.expr import ONE, Expr, as_expr, symbol
from ...symbolic.graph import evaluate
from ...symbolic.tables import table
from .program import Handle
from .servo import at_instants

if TYPE_CHECKING:
    from .system import AssembledSystem

#: Positions and rates of the start may be off the motions by this much.
NEAR = 1e-6


class EntryServo(Element):
    """One entry of a block follows a motion γ(t), driven by a force on itself."""

    def __init__(self, size: int, entry: int, motion: Callable[[Expr], Expr]) -> None:
        self.blocks = {"x": size}
        self.entry, self.motion = entry, motion

    def servo(self, s: Symbols) -> Sequence[Servo]:
        """x(t₁) = γ(t₁)."""
        return [Servo("input", s.at1.x[self.entry] - self.motion(s.t1), {("x", self.entry): ONE})]


def inverse_dynamics(
    system: AssembledSystem,
    motions: Mapping[str, Any],
    end: float,
    step: float,
    method: str = "energy-momentum",
    start: float = 0.0,
    **options: Any,
) -> Solution:
    """The run of an assembled system in which coordinates follow motions; see :meth:`AssembledSystem.inverse_dynamics`."""
    if not motions:
        raise InputError(f"inverse dynamics of '{system.name}': name at least one coordinate and its motion")
    driven = system.copy()
    units = {}
    for name, given in motions.items():
        h, entry = _coordinate(system, name)
        motion = _motion(system, name, given)
        _check_start(system, name, h, entry, motion, start)
        driven.add(EntryServo(h.size, entry, motion), f"{name}.drive", {"x": h})
        units[name] = {"rad": "N m", "m": "N"}.get(h.unit, "")
    found = driven.simulate(end, step, method, start=start, **options)
    forces = {
        f"{n}.actuator": Channel(-at_instants(found[f"{n}.drive.input"]), unit, "force on the coordinate") for n, unit in units.items()
    }
    return found.with_channels(**forces)


def _coordinate(system: AssembledSystem, name: str) -> tuple[Handle, int]:
    """The block and entry that "name" or "name[2]" means."""
    match = re.fullmatch(r"(.*?)(?:\[(\d+)\])?", name)
    assert match is not None
    by_name = {h.name: h for h in system.handles}
    block, entry = (name, 0) if name in by_name else (match[1], int(match[2] or 0))
    if block not in by_name:
        raise InputError(f"inverse dynamics of '{system.name}': there are no coordinates '{block}'; there are {', '.join(by_name)}")
    h = by_name[block]
    if h.fixed:
        raise InputError(f"inverse dynamics of '{system.name}': the coordinates '{block}' are fixed; they cannot follow a motion")
    if entry >= h.size or (h.size > 1 and name in by_name):
        raise InputError(
            f"inverse dynamics of '{system.name}': '{block}' has {h.size} coordinates; name one of {block}[0] … {block}[{h.size - 1}]"
        )
    return h, entry


def _motion(system: AssembledSystem, name: str, given: Any) -> Callable[[Expr], Expr]:
    """A motion from a function of time, a table (times, values) or a number."""
    try:
        if isinstance(given, tuple):
            return lambda t: as_expr(table(*given, name=name)(t))
        made = given if callable(given) else lambda t: as_expr(float(given))
        as_expr(made(symbol("t", "time")))
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"inverse dynamics of '{system.name}': the motion of '{name}' cannot be followed symbolically ({error}); "
            "use jd.sin, jd.cos … in it, or give (times, values)"
        ) from None
    return lambda t: as_expr(made(t))


def _check_start(system: AssembledSystem, name: str, h: Handle, entry: int, motion: Callable[[Expr], Expr], start: float) -> None:
    t = symbol("t", "time")
    place = motion(t)
    value, rate = (float(x) for x in evaluate([place, jvp([place], {t: ONE})[0]], {t: start}))
    at = h.offset + entry
    for what, has, should in (("starts at", system.q0[at], value), ("starts with the rate", system.v0[at], rate)):
        if not abs(has - should) <= NEAR * max(1.0, abs(should), float(np.abs(system.q0).max(initial=0.0))):
            raise InputError(
                f"inverse dynamics of '{system.name}': '{name}' {what} {has:.6g}, its motion with {should:.6g}; begin the motion where the "
                "system is, or move the system there with set_state"
            )


__all__ = ["EntryServo", "inverse_dynamics"]
