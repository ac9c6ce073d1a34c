"""What every device between two masses has: a law of its crush, and the channels by which results know it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...errors import InputError, short
from ...model.bodies import Body, Frame
from ...model.load_sorts import FrameLoad
from ...model.model import Model
from ...model.values import number
from ...symbolic.expr import Expr
from ...symbolic.functions import maximum, minimum, where
from ...told import told

#: Part of Cowper and Symonds' v₀ below which their power is a line.
SLOW = 1e-4


class Device:
    """A device that is crushed: force f (N, positive when it pushes) from crush d (m, positive when it is short) and its rate.

    Kinds declare their numbers as parameters of a model (:meth:`declared`) and write their law there (:meth:`act`), with the memories, events
    and outputs that it needs: ``NAME.crush``, ``NAME.force`` and ``NAME.energy``, the energy that it has taken up.
    """

    #: The word for it in messages.
    kind = "device"

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        told(cls)

    def declared(self, m: Model, name: str) -> Device:
        """The same device with its numbers as parameters ``name.…`` of a model, to be changed without compiling again."""
        raise NotImplementedError

    def act(self, m: Model, name: str, crush: Any, rate: Any) -> Expr:
        """Writes the law for one place of a model; its force."""
        raise NotImplementedError

    def between(self, m: Model, name: str, a: Body | Frame, b: Body | Frame, axis: str = "x", gap: float = 0.0) -> FrameLoad:
        """Acts between two frames of any model: its crush is how much nearer than ``gap`` ``b`` has come to ``a``, along an axis of ``a``.

        ``b`` lies ahead of ``a`` in the direction of ``axis``; the force pushes them apart and acts at ``b``.
        """
        if axis not in ("x", "y", "z"):
            raise InputError(f"{self.kind} '{name}': axis = {short(axis)} is none of 'x', 'y', 'z'")
        i = "xyz".index(axis)
        ahead = m.sensor(f"{name}.sensor", b, relative_to=a)
        force = self.act(m, name, gap - ahead.position[i], -ahead.velocity[i])
        push: list[Any] = [0.0, 0.0, 0.0]
        push[i] = force
        return m.load(name, b, force=push, axes=a, reaction=a)


def with_work(m: Model, name: str, crush: Any, rate: Any, force: Expr) -> None:
    """Channels of a device whose energy has no closed form: a state adds up its work."""
    work = m.state(f"{name}.work", 0.0, unit="J")
    m.rate(work, force * rate)
    channels(m, name, crush, force, work)


def channels(m: Model, name: str, crush: Any, force: Any, energy: Any, dissipated: Any = None) -> None:
    """The outputs by which measures and plots know a device."""
    m.output(f"{name}.crush", crush, unit="m")
    m.output(f"{name}.force", force, unit="N")
    m.output(f"{name}.energy", energy, unit="J")
    if dissipated is not None:
        m.output(f"{name}.dissipated", dissipated, unit="J")


def play(m: Model, name: str, x: Any, rate: Any, width: Any, unit: str) -> tuple[Expr, Expr]:
    """The play operator z = clip((x − seat)/width, −1, 1), its seat a memory ``name`` that is dragged along, and where the seat goes next.

    Every step of sliding begins at z = ±1, where the ``rate`` says which derivative it has; an event at each turn makes the seat exact.
    """
    seat = m.memory(name, 0.0, unit=unit)
    z = (x - seat) / width
    edge = 1.0 - 1e-12
    lag = where(rate > 0.0, where(z >= edge, 1.0, most(z, -1.0)), where(z <= -edge, -1.0, least(z, 1.0)))
    m.update(seat, x - width * lag)
    m.event(f"{name}.turns", rate)
    return lag, x - width * lag - seat


def least(x: Any, y: Any) -> Any:
    """The smaller of two numbers, arrays or expressions."""
    return minimum(x, y) if isinstance(x, Expr) or isinstance(y, Expr) else min(x, y) if np.ndim(x) == np.ndim(y) == 0 else np.minimum(x, y)


def most(x: Any, y: Any) -> Any:
    """The larger of two numbers, arrays or expressions."""
    return maximum(x, y) if isinstance(x, Expr) or isinstance(y, Expr) else max(x, y) if np.ndim(x) == np.ndim(y) == 0 else np.maximum(x, y)


def positive(given: Any, what: str, unit: str, remedy: str = "", zero: bool = False) -> float:
    """A finite number that is positive (or zero, where that is allowed)."""
    x = number(given, what, unit)
    if x > 0.0 or (zero and x == 0.0):
        return x
    raise InputError(
        f"{what} = {x:g}{'' if unit == '1' else ' ' + unit} must {'not be negative' if zero else 'be positive'}{remedy and '; ' + remedy}"
    )


def row_of(given: Any) -> list[Any]:
    """What is given as a row, a single value as one of it."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]


def factor_of(given: Any, what: str) -> Callable[[Any], Any] | None:
    """How much larger a force is at a rate of crush v ≥ 0: 1 + c v, Cowper and Symonds' 1 + (v/v₀)^(1/p) for (v₀, p), or a function.

    Below a 10⁻⁴ of v₀ that power, infinitely steep at rest, gives way to a line: a device that comes to rest under load would turn without end.
    """
    if given is None or callable(given):
        return given
    if isinstance(given, (tuple, list)):
        if len(given) != 2:
            raise InputError(f"{what}: rate = {given!r}; give c, or (v0, p) for Cowper and Symonds' 1 + (v/v0)^(1/p)")
        v0, p = positive(given[0], f"{what}: rate v0", "m/s"), positive(given[1], f"{what}: rate p", "1")
        return lambda v: 1.0 + most(v / v0, SLOW) ** (1.0 / p) * least(most(v, 0.0) / (SLOW * v0), 1.0)
    c = positive(given, f"{what}: rate", "s/m", zero=True)
    return lambda v: 1.0 + c * most(v, 0.0)


__all__ = ["Device", "channels", "factor_of", "least", "most", "play", "positive", "row_of", "with_work"]
