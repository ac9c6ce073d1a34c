"""Joints and constraints that events release and engage: each set of those that hold is a phase of the same model."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, nearest, short
from .constraints import Closure, Equation
from .joints import Joint
from .values import value

if TYPE_CHECKING:
    from ..symbolic.expr import Expr
    from .events import ModelEvent
    from .memories import Memory
    from .model import Model

#: What can let go.
Holding = Joint | Closure | Equation


class SwitchMethods:
    """The part of a model that declares what can let go.

    A joint that events release or engage closes a loop: what it holds has another joint that leaves it free.  Whether it holds is a memory
    ``NAME.engaged`` (1 or 0), which laws, guards and outputs may read like any other.
    """

    name: str
    joints: dict[str, Joint]
    constraints: dict[str, Closure | Equation]
    events: dict[str, ModelEvent]
    memories: dict[str, Memory]
    _locked: bool
    #: The memories that say whether joints and constraints hold, by the names of these.
    switches: dict[str, Memory]
    #: The model of which this one is a phase.
    whole: Model | None = None
    #: What has let go in this phase.
    released: frozenset[str] = frozenset()

    if TYPE_CHECKING:

        def _unlocked(self, what: str) -> None: ...
        def memory(self, name: str, initial: Any = 0.0, update: Any = None, unit: str = "") -> Expr: ...

    def engaged(self, held: Holding | str) -> Expr:
        """1 while a joint or constraint (or one of this name) holds, 0 while it has let go; from now on events may release and engage it."""
        held = self._holding(held)
        self._unlocked(f"'{getattr(held, 'name', held)}'")
        self._may_let_go(held)
        if held.name not in self.switches:
            if isinstance(held, Joint):
                held.cut = True  # what may let go is none of the tree
            name = f"{held.name}.engaged"
            if name not in self.memories:
                self.memory(name, 1.0, lambda before: before)
            self.switches[held.name] = self.memories[name]
        return self.switches[held.name].symbol

    def _holding(self, given: Holding | str) -> Holding:
        """A joint or constraint that may be given by its name."""
        if not isinstance(given, str):
            return given
        known: dict[str, Holding] = {**self.joints, **self.constraints}
        if given not in known:
            near = nearest(given, known)
            told = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(list(known)[:12]) or 'none'}"
            raise ModelError(f"there is no joint and no constraint '{given}' in the model '{self.name}'; {told}")
        return known[given]

    def _may_let_go(self, held: Holding) -> None:
        """Refuses what events cannot release and engage."""
        what = f"'{getattr(held, 'name', held)}'"
        if not isinstance(held, Holding) or held is not (self.joints | self.constraints).get(held.name):
            raise ModelError(f"{what} is no joint and no constraint of the model '{self.name}', so that it cannot let go")
        if held.name in self.switches:
            return
        if held.name in self.joints and held.name in self.constraints:
            raise ModelError(f"{what}: a joint and a constraint have this name; what lets go needs a name of its own")
        if isinstance(held, Closure) and held.inertia is not None:
            raise ModelError(f"{what}: a rod with a mass cannot let go, its mass would be lost; make it a body with two joints")
        if isinstance(held, Joint) and held.cut is False:
            raise ModelError(f"joint '{held.name}' is pinned to the tree (cut=False), so that it cannot let go")
        if isinstance(held, Joint) and held.kind == "free":
            raise ModelError(f"joint '{held.name}' is free: it holds nothing that could let go")

    def release(self, *held: Holding | str) -> None:
        """Joints and constraints, or their names, that do not hold at the start of a run; an event may engage them."""
        items = [self._holding(item) for item in held]
        for item in items:
            self._may_let_go(item)
        for item in items:
            self.engaged(item)
            self.switches[item.name].initial = value(0.0, item.name)

    def adopt_switches(self) -> None:
        """Takes memories called ``NAME.engaged`` after a joint or constraint for what they are, in copies and files of models."""
        for held in [*self.joints.values(), *self.constraints.values()]:
            if f"{held.name}.engaged" in self.memories:
                self.engaged(held)

    def released_at_start(self) -> frozenset[str]:
        """What does not hold at the start of a run."""
        return frozenset(name for name, memory in self.switches.items() if float(memory.initial) == 0.0)

    def phase(self, released: Iterable[str]) -> Model:
        """The model while some joints and constraints have let go: the same coordinates, parameters and loads without them."""
        names = list(released)
        if not all(isinstance(name, str) for name in names):
            raise ModelError(f"phase: {short(names)} must be names of joints and constraints")
        found = frozenset(names)
        for name in sorted(found - self.switches.keys()):
            known = ", ".join(f"'{n}'" for n in self.switches) or "nothing"
            raise ModelError(f"'{name}' cannot let go in the model '{self.name}'; events release {known}")
        new: Any = copy(self)
        new.whole, new.released = self.whole or self, found
        new.joints = {n: j for n, j in new.whole.joints.items() if n not in found}
        new.constraints = {n: c for n, c in new.whole.constraints.items() if n not in found}
        new.memories = dict(new.whole.memories)
        for name, memory in new.whole.switches.items():
            new.memories[memory.name] = replace(memory, initial=value(float(name not in found), memory.name))
        new.switches = {name: new.memories[memory.name] for name, memory in new.whole.switches.items()}
        # what changes the phase ends the run of this one; what would change nothing is not watched, as its guard may be a constraint that holds
        new.events = {
            n: replace(e, terminal=True) if e.switches else e for n, e in new.whole.events.items() if not _changes_nothing(e, found)
        }
        return new  # type: ignore[no-any-return]


def _changes_nothing(event: ModelEvent, released: frozenset[str]) -> bool:
    """Whether an event only releases what has let go, and engages what holds."""
    return event.switches_alone and all(holds == (name not in released) for name, holds in event.switches.items())


def several(given: Any) -> tuple[Any, ...]:
    """One or several things that let go."""
    return tuple(given) if isinstance(given, (list, tuple, set)) else () if given is None else (given,)


__all__ = ["Holding", "SwitchMethods", "several"]
