"""Events: what happens when an expression crosses zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, nearest
from ..symbolic.expr import LOGICAL, Expr
from .dimensions import unit_of
from .joints import Coordinate
from .switches import Holding, several
from .values import value

if TYPE_CHECKING:
    from .loads import UserState
    from .memories import Memory


@dataclass
class ModelEvent:
    """A guard whose zero crossing stops the run or changes the state.

    ``jump`` gives new values of velocities, positions, user states or memories as expressions of the state before; ``switches`` says what lets go
    (False) and what holds from then on (True), by name.
    """

    name: str
    guard: Expr
    direction: int = 0
    terminal: bool = False
    jump: dict[Expr, Expr] = field(default_factory=dict)
    switches: dict[str, bool] = field(default_factory=dict)

    @property
    def switches_alone(self) -> bool:
        """Whether it does nothing but release and engage."""
        return bool(self.switches) and not self.terminal and len(self.jump) == len(self.switches)


class EventMethods:
    """The part of a model that declares events."""

    name: str
    states: dict[str, UserState]
    memories: dict[str, Memory]
    events: dict[str, ModelEvent]

    if TYPE_CHECKING:

        def _unlocked(self, what: str) -> None: ...
        def _new_name(self, name: str, kind: str, existing: dict[str, Any]) -> None: ...
        @property
        def coordinates(self) -> list[Coordinate]: ...
        def engaged(self, held: Holding | str) -> Expr: ...
        def _may_let_go(self, held: Holding) -> None: ...
        def _holding(self, given: Holding | str) -> Holding: ...

    def event(
        self, name: str, guard: Any, direction: int = 0, terminal: bool = False, jump: Mapping[Expr, Any] | Mapping[str, Any] | None = None,
        release: Holding | str | Sequence[Holding | str] | None = None, engage: Holding | str | Sequence[Holding | str] | None = None,
    ) -> ModelEvent:  # fmt: skip
        """Something that happens when ``guard`` crosses zero (rising: +1, falling: −1, both: 0).

        ``terminal`` ends the simulation; ``jump={joint.velocity: -0.8 * joint.velocity}`` changes the state there; what changes may be named
        by its channel, ``"hinge.angle_rate"``.
        ``release`` and ``engage`` give joints and constraints, or their names, that let go, or hold from then on: velocities change there as by an impact
        without rebound, and the run goes on.
        """
        self._unlocked(f"event '{name}'")
        self._new_name(name, "event", self.events)
        if direction not in (-1, 0, 1):
            raise ModelError(f"event '{name}': direction {direction!r} is unknown; use 1 (rising), -1 (falling) or 0 (both)")
        g = value(guard, f"event '{name}'")
        if g.op in LOGICAL or isinstance(guard, (bool, np.bool_)):
            raise ModelError(
                f"event '{name}': the guard {guard} is a condition, and an event happens where a quantity crosses zero; give the difference of its "
                "two sides, e.g. hinge.position - 1 with direction=1 instead of hinge.position > 1"
            )
        if g.is_number:
            raise ModelError(f"event '{name}': the guard {float(g):g} is constant and never crosses zero")
        new: dict[Expr, Expr] = {}
        for target, e in (jump or {}).items():
            changed = self._changed(target, name)
            if changed in new:
                raise ModelError(f"event '{name}': jump= gives '{changed}' two new values")
            new[changed] = value(e, f"event '{name}': new value of '{changed}'", unit_of(changed), law=True)
        switches: dict[str, bool] = {}
        switched = [(self._holding(x), holds) for given, holds in ((release, False), (engage, True)) for x in several(given)]
        for held, holds in switched:
            self._may_let_go(held)
            if held.name in switches:
                raise ModelError(f"event '{name}': '{held.name}' is named twice in release= and engage=")
            switches[held.name] = holds
        new |= {self.engaged(held): value(float(holds), name) for held, holds in switched}  # all of them fit: nothing is half declared
        self.events[name] = ModelEvent(name, g, direction, bool(terminal), new, switches)
        return self.events[name]

    def _changed(self, target: Expr | str, event: str) -> Expr:
        """What an event may give a new value: a position, velocity, user state or memory, itself or by the name of its channel."""
        held = [*(s.symbol for s in self.states.values()), *(m.symbol for m in self.memories.values())]
        known = {s.name: s for s in [*(s for c in self.coordinates for s in (*c.q, *c.v)), *held]}
        if isinstance(target, str):
            if target in known:
                return known[target]
            near = nearest(target, known)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(list(known)[:12]) or 'none'}"
            raise ModelError(f"event '{event}': '{target}' is not a position, velocity, user state or memory; {hint}")
        if not isinstance(target, Expr) or target.id not in {s.id for s in known.values()}:
            raise ModelError(f"event '{event}': {target!r} is not a position, velocity, user state or memory of the model '{self.name}'")
        return target
