"""Runs in which joints let go and bodies are caught: one system a phase, one solution.

Phases have the same coordinates, parameters, inputs and states; they differ in the constraints that hold.  Where a constraint engages, velocities
change by the impulses of an impact without rebound: M (v⁺ − v⁻) = Jᵀ Λ, J v⁺ + ∂h/∂t = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..model.contact.methods import touches
from ..results.channel import Channel
from ..results.events import EventTable, Occurrence
from ..results.frames import FrameMotion
from ..results.solution import Solution
from ..solvers import AUTO
from .outputs.energy_balance import BOOKS
from .state import State

if TYPE_CHECKING:
    from .system import System

#: How far from closed (m, rad) a constraint may be where it engages.
OPEN = 1e-6


def phase(system: System, released: Iterable[str]) -> System:
    """The system while joints and constraints of some names have let go, with the present parameters."""
    from .formulations import formulate

    found = frozenset(released)
    if found == system.model.released:
        return system
    kept: dict[Any, System] = system.reference._idle.setdefault("phases", {})
    key = (system.formulation, tuple(sorted(system.options.items())), found)
    if key not in kept:
        kept[key] = formulate(system.model.phase(found), system.formulation, **system.options)
    other = kept[key]
    if not np.array_equal(other.parameter_vector, system.parameter_vector):
        other.reference._take(system.parameter_vector)
    return other


def released_in(system: Any, given: Mapping[str, Any]) -> frozenset[str]:
    """What has let go by memories (or named values) of a state; what they do not tell is as the system has it."""
    switches = system.model.switches
    told = {name: float(given[memory.name]) for name, memory in switches.items() if memory.name in given}
    for name, holds in told.items():
        if holds not in (0.0, 1.0):
            raise InputError(f"'{system.model.name}': {name}.engaged = {holds:g} is neither 1 (holds) nor 0 (has let go)")
    return frozenset(name for name in switches if told.get(name, float(name not in system.model.released)) == 0.0)


def check_phase(system: System, memory: Mapping[str, float]) -> None:
    """Refuses a state in which other joints hold than in the system."""
    if system.model.switches and (other := released_in(system, memory)) != system.model.released:
        names = ", ".join(f"'{n}'" for n in sorted(other))
        raise InputError(
            f"'{system.model.name}': in the state given {names or 'nothing'} has let go; ask the system of that phase: "
            f"system.phase({', '.join(repr(n) for n in sorted(other))})"
        )


def caught(system: System, state: State, event: str) -> State:
    """The state after constraints of a phase have engaged: positions as they were, velocities after an impact without rebound."""
    state = State(system.reference, state.q, state.v, state.z, state.t, state.memory)
    rows, clock = system.equations_of_motion.rows, np.array([state.t])
    if not rows:
        return state
    if system.equations_of_motion.holonomic:
        h = system.function("constraints")(clock, state.q)[0]
        i = int(np.argmax(np.abs(h)))
        if abs(h[i]) > OPEN:
            raise InputError(
                f"event '{event}' at t = {state.t:.6g} s: the constraint {rows[i].name} cannot engage, it is off by {h[i]:.3g}; let the guard be what "
                "closes there"
            )
    f, u = system.function("constraint_velocities"), system.inputs_at(state)
    extra = {"z": state.z, "u": u}
    w, J = f(clock, state.q, state.v, *(extra[n] for n in list(f.inputs)[3:]))
    M = system.function("descriptor")(clock, state.x, u)[0]
    m, n = J.shape
    kkt = np.block([[M, J.T], [J, np.zeros((m, m))]])
    change = np.linalg.lstsq(kkt, np.concatenate([np.zeros(n), -w]), rcond=1e-13)[0][:n]
    return state.with_values(v=state.v + change)


class Joined:
    """Solutions of phases as one."""

    def __init__(self, pieces: Sequence[Solution]) -> None:
        self.pieces = pieces
        #: Where pieces begin, the first excepted; between two instants that are kept there may be several.
        self.borders = np.array([p.t[0] if b.restart is None else b.restart.t for b, p in pairwise(pieces)])

    def solution(self, system: System) -> Solution:
        """The whole: channels of constraints that have let go are zero then."""
        first, last = self.pieces[0], self.pieces[-1]
        found = Solution(
            np.concatenate([p.t for p in self.pieces]), self._channels, self._metadata, self._statistics, system,
            derivatives=lambda: first.derivatives, dense=self._dense if all(p.dense for p in self.pieces) else None,
            frame_provider=JoinedFrames(self), events=self._events,
        )  # fmt: skip
        found.restart = last.restart
        if system.model.contacts and touches(system.model):
            from .outputs.touch_table import TouchTable

            found.touching = TouchTable(found, system.reference)
        return found

    def _channels(self) -> dict[str, Channel]:
        named: dict[str, Channel] = {}
        for piece in self.pieces:
            for name in piece.names:
                named.setdefault(name, piece._channels[name])
        books = self._books()
        return {name: channel.like(books.get(name) or self._values(name)) for name, channel in named.items()}

    def _values(self, name: str) -> Callable[[], np.ndarray]:
        def values() -> np.ndarray:
            shape = next(p[name].shape[1:] for p in self.pieces if name in p)
            return np.concatenate([p[name] if name in p else np.zeros((len(p), *shape)) for p in self.pieces])

        return values

    def _books(self) -> dict[str, Callable[[], np.ndarray]]:
        """Energy books over all phases; what is lost where constraints engage counts as dissipated."""

        def summed(name: str) -> np.ndarray:
            parts, total = [], 0.0
            pieces = [p for p in self.pieces if len(p)]
            for before, piece in zip((None, *pieces), pieces, strict=False):
                if before is not None and name == "energy.dissipated":
                    total += before["energy.total"][-1] - piece["energy.total"][0]
                parts.append(total + piece[name])
                total = parts[-1][-1]
            return np.concatenate(parts)

        def error() -> np.ndarray:
            energy = np.concatenate([p["energy.total"] for p in self.pieces])
            return energy - energy[0] - summed("energy.supplied") + summed("energy.dissipated")

        return {n: partial(summed, n) for n in ("energy.dissipated", "energy.supplied", "contacts.dissipated")} | {"energy.error": error}

    def _metadata(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        if self.pieces[0].system.model.switches:
            begun = [float(self.pieces[0].t[0]), *self.borders.tolist()]
            told["phases"] = [{"t": t, "released": sorted(p.system.model.released)} for t, p in zip(begun, self.pieces, strict=True)]
        if any("watched" in p.metadata for p in self.pieces):
            told["watched"] = [met for p in self.pieces for met in p.metadata.get("watched", ())]
        return {**self.pieces[-1].metadata, **told, **({"method": AUTO} | self._turns if self._turns else {})}

    @cached_property
    def _turns(self) -> dict[str, Any]:
        """Turns of methods in all phases, where any has taken one."""
        if not any("turns" in p.metadata for p in self.pieces):
            return {}
        begun = [float(self.pieces[0].t[0]), *self.borders.tolist()]
        each = (p.metadata.get("turns", [{"t": t, "method": p.metadata["method"]}]) for t, p in zip(begun, self.pieces, strict=True))
        return {"turns": [turn for turns in each for turn in turns]}

    def _statistics(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for piece in self.pieces:
            for name, x in piece.statistics.items():
                found[name] = found[name] + x if name in found and isinstance(x, (int, float)) else x
        return found | self._turns

    def _events(self) -> EventTable:
        rows: list[Occurrence] = []
        for piece, following in zip(self.pieces, (*self.pieces[1:], None), strict=True):
            rows += piece.events
            if (
                following is not None and len(following) and piece.metadata["status"] == "event"
            ):  # velocities change where constraints engage
                rows[-1] = replace(rows[-1], after={name: float(following[name][0]) for name in rows[-1].after})
        model = self.pieces[0].system.model
        return EventTable(rows, (model.whole or model).events)

    def places(self, times: np.ndarray) -> np.ndarray:
        """The phase of each instant: the later one at a border, but for the first of two rows there."""
        found = np.searchsorted(self.borders, times, side="right")
        twice = np.flatnonzero(times[:-1] == times[1:])
        found[twice] = np.searchsorted(self.borders, times[twice], side="left")
        return found

    def _dense(self, times: np.ndarray) -> Mapping[str, np.ndarray]:
        return JoinedSample(self, times)


class JoinedSample(Mapping[str, np.ndarray]):
    """Channels at given times from the interpolants of all phases."""

    def __init__(self, joined: Joined, times: np.ndarray) -> None:
        place = np.searchsorted(joined.borders, times, side="right")
        asked = [(p, np.flatnonzero(place == i)) for i, p in enumerate(joined.pieces) if (place == i).any()]
        self.rows = [rows for _, rows in asked]
        self.parts = [p.dense(times[rows]) for p, rows in asked if p.dense is not None]
        self.n = len(times)

    def __getitem__(self, name: str) -> np.ndarray:
        found: np.ndarray | None = None
        for part, rows in zip(self.parts, self.rows, strict=True):
            if name in part:
                x = np.asarray(part[name])
                found = np.zeros((self.n, *x.shape[1:])) if found is None else found
                found[rows] = x
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return name not in BOOKS and any(name in part for part in self.parts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts[0])

    def __len__(self) -> int:
        return len(self.parts[0])


class JoinedFrames:
    """Motion of frames and sensors over all phases."""

    def __init__(self, joined: Joined, providers: Sequence[tuple[Any, np.ndarray]] | None = None) -> None:
        self.joined = joined
        ends = np.cumsum([0, *(len(p) for p in joined.pieces)])
        own: list[tuple[Any, np.ndarray]] = [
            (p.frame_provider, np.arange(a, b)) for p, a, b in zip(joined.pieces, ends[:-1], ends[1:], strict=True)
        ]
        #: The provider of each phase with the rows for which it answers.
        self.providers = own if providers is None else providers

    def knows(self, path: str) -> bool:
        """Whether there is a sensor, body or frame of that path."""
        return bool(self.providers[0][0].knows(path))

    def paths(self) -> list[str]:
        """Bodies, frames and sensors."""
        return list(self.providers[0][0].paths())

    def __call__(self, path: str) -> FrameMotion:
        """Position, rotation, velocity and angular velocity at all times."""
        return self._put([(p(path), rows) for p, rows in self.providers])

    def accelerated(self, path: str) -> FrameMotion:
        """The same with accelerations."""
        return self._put([(p.accelerated(path), rows) for p, rows in self.providers])

    def _put(self, parts: Sequence[tuple[FrameMotion, np.ndarray]]) -> FrameMotion:
        n = sum(len(rows) for _, rows in parts)
        fields: dict[str, np.ndarray | None] = {}
        for name in FrameMotion.__dataclass_fields__:
            values = [getattr(motion, name) for motion, _ in parts]
            if values[0] is None:
                fields[name] = None
                continue
            whole = fields[name] = np.empty((n, *values[0].shape[1:]))
            for x, (_, rows) in zip(values, parts, strict=True):
                whole[rows] = x
        return FrameMotion(**fields)  # type: ignore[arg-type]

    def rebind(self, solution: Solution) -> JoinedFrames:
        """The same for another table of states (after resampling)."""
        place = self.joined.places(solution.t)
        rows = [np.flatnonzero(place == i) for i in range(len(self.joined.pieces))]
        new = []
        for piece, mine in zip(self.joined.pieces, rows, strict=True):
            c, states = piece.system.configuration, piece.system.model.states
            names = [*c.position_names, *c.velocity_names, *states]
            part = Solution(solution.t[mine], {n: solution[n][mine] for n in names})
            provider: Any = piece.frame_provider
            new.append((provider.rebind(part), mine))
        return JoinedFrames(self.joined, new)


__all__ = ["Joined", "caught", "check_phase", "phase", "released_in"]
