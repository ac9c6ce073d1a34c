"""States of a model as a solution: named channels, frames, energies and reactions, computed when they are read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...errors import InputError
from ...results.channel import Channel
from ...results.solution import Dense, Solution
from ..prescribed import prescribed_rates
from .frames import FrameProvider

if TYPE_CHECKING:
    from ..system import System
    from .driven_books import Driven

T = TypeVar("T")
#: Rows (q, v, z) of states, or a function that gives them when they are first read.
Rows = np.ndarray | Callable[[], np.ndarray]
#: Inputs (one row a time) that act at given times and states.
InputsAt = Callable[[np.ndarray, np.ndarray], np.ndarray]
#: States (one row a time) at any times.
Between = Callable[[np.ndarray], np.ndarray]
#: A mapping, or a function that gives it when it is first read.
Later = Mapping[str, Any] | Callable[[], Mapping[str, Any]]


class NoJointCoordinates(InputError):
    """Bodies stand where no joint coordinates put them."""


def solution_of(
    system: System, t: np.ndarray, rows: Rows, metadata: Later, statistics: Later | None = None, inputs_at: InputsAt | None = None,
    between: Between | None = None, own: Callable[[], Mapping[str, Channel]] | None = None, read_inputs: bool = False,
    instead: Callable[[], Mapping[str, Channel]] | None = None, driven: Driven | None = None,
) -> Solution:  # fmt: skip
    """A solution with named channels from states in rows; the table of channels is made, and energies, poses and outputs are computed,
    when asked for.

    ``inputs_at`` gives the inputs that acted (those of the model by default), ``between`` states at any times, ``own`` further channels of the
    way it was computed.  ``read_inputs`` reads the inputs now, because a Python function gives them that may answer otherwise later.
    ``instead`` are the channels of a run whose states turn out to have no joint coordinates, ``driven`` tells what drives supplied where the run knows it.
    """
    table = StateTable(system, t, rows, inputs_at, between)
    if read_inputs:
        _ = table.inputs
    then = table.then

    def channels() -> dict[str, Channel]:
        from .channels import channels_of

        try:
            _ = table.rows
        except NoJointCoordinates as error:
            if instead is None:
                raise
            warnings.warn(f"{error}; the solution has the bodies' poses instead of joint coordinates", stacklevel=4)
            return dict(instead())
        return channels_of(table, between, dict(own() if own is not None else {}), driven)

    def about() -> Mapping[str, Any]:
        from .reactions import redundant_along

        given, redundant = metadata() if callable(metadata) else metadata, redundant_along(table)
        return {**given, "redundant": redundant} if redundant else given

    return Solution(
        t, then(channels), then(about), statistics, system, derivatives=lambda: _rates(system),
        frame_provider=FrameProvider(table), dense=None if between is None else then(_dense(system, between, table.inputs_at)),
    )  # fmt: skip


class Then:
    """Parameter values as they are now (or were), put back into a system for whatever a solution computes later."""

    def __init__(self, system: System, parameters: np.ndarray | None = None) -> None:
        self.reference, self.parameters = system.reference, system.parameter_vector if parameters is None else parameters

    def __call__(self, compute: Callable[..., T]) -> Callable[..., T]:
        def computed(*given: Any) -> T:
            now = self.reference.parameter_vector
            if now is self.parameters:
                return compute(*given)
            self.reference._take(self.parameters)
            try:
                return compute(*given)
            finally:
                self.reference._take(now)

        return computed

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps the values in the system over many readings."""
        now = self.reference.parameter_vector
        if now is self.parameters:
            yield
            return
        self.reference._take(self.parameters)
        try:
            yield
        finally:
            self.reference._take(now)


class StateTable:
    """Times, states and inputs of a solution; states that are a function are found when first read."""

    def __init__(
        self, system: System, t: np.ndarray, rows: Rows, inputs_at: InputsAt | None = None, between: Between | None = None
    ) -> None:  # fmt: skip
        self.system, self.t, self._given, self.between, self.then = system, t, rows, between, Then(system)
        self.inputs_at: InputsAt = inputs_at or (lambda times, rows: np.tile(system.input_values(), (len(times), 1)))

    @cached_property
    def rows(self) -> np.ndarray:
        """States (q, v, z)."""
        s, found = self.system, self.then(self._given)() if callable(self._given) else self._given
        return found[:, : s.nq + s.nv + s.nz]

    def sampled(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States and inputs at any times, behind what jumps there, from the interpolant of the method; parameters are those of the run (:attr:`then`)."""
        assert self.between is not None
        s, order = self.system, np.argsort(times, kind="stable")
        x, u, rising = np.empty((len(times), s.nq + s.nv + s.nz)), np.empty((len(times), s.nu)), times[order]
        found = self.between(rising)[:, : x.shape[1]]
        if s.configuration.quaternions:
            found[:, : s.nq] = s.configuration.normalise(found[:, : s.nq])
        x[order] = found
        if s.nu:
            u[order] = self.inputs_at(rising, found)
        return x, u

    @cached_property
    def inputs(self) -> np.ndarray:
        """Inputs that acted."""
        return self.then(self.inputs_at)(self.t, self.rows) if self.system.nu else np.zeros((len(self.t), 0))


def _rates(system: System) -> dict[str, str]:
    """Names of positions whose derivative is a velocity, with that velocity's."""
    free = {c.names[0]: c.velocity_names[0] for c in system.configuration.coordinates if not c.is_quaternion}
    return prescribed_rates(system) | free


def _dense(system: System, between: Between, inputs_at: InputsAt) -> Dense:
    """Every channel at any times from the method's interpolant."""

    def dense(times: np.ndarray) -> Mapping[str, np.ndarray]:
        order = np.argsort(times, kind="stable")
        x = between(times[order])
        x[:, : system.nq] = system.configuration.normalise(x[:, : system.nq])
        return DenseSample(
            solution_of(system, times[order], x, {}, inputs_at=inputs_at), np.argsort(order), StateTable(system, times[order], x, inputs_at)
        )

    return dense


class DenseSample(Mapping[str, np.ndarray]):
    """Channels at given times, computed when read; iteration gives those of the state only."""

    def __init__(self, solution: Solution, order: np.ndarray, table: StateTable) -> None:
        self._solution, self._order, self._table = solution, order, table
        c, model = solution.system.configuration, solution.system.model
        self._states = [*c.position_names, *c.velocity_names, *model.states, *model.inputs]

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(self._solution.channel(name).samples)[self._order]

    def columns(self, names: Sequence[str]) -> np.ndarray | None:
        """States and inputs side by side, without their channels; None where other channels are asked for."""
        if not {*names} <= {*self._states}:
            return None
        places = [self._states.index(n) for n in names]
        inputs = self._table.inputs if max(places, default=0) >= self._table.rows.shape[1] else np.zeros((len(self._order), 0))
        return np.asarray(np.hstack([self._table.rows, inputs])[self._order][:, places])

    @cached_property
    def _of_the_run(self) -> set[str]:
        """Channels that the states of an instant do not tell."""
        from .channels import of_contact_forces
        from .energy_balance import BOOKS

        return {*BOOKS} | of_contact_forces(self._table.system)

    def __contains__(self, name: object) -> bool:
        return self._solution.knows(str(name)) and name not in self._of_the_run

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)


__all__ = ["Between", "FrameProvider", "InputsAt", "NoJointCoordinates", "Rows", "StateTable", "Then", "solution_of"]
