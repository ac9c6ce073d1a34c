"""What may happen to a train: head-on, a truck on the line, the end of the line, wagons that stand, a wall."""

from __future__ import annotations

from typing import Any

from ...errors import InputError
from ...model.model import Model
from ...model.values import number
from .buffers import contact_device
from .crush import StepCurve, in_series
from .device import Device, positive
from .trains import Brake, Line, Train

GRAVITY = 9.81
#: A front without a device: two ends of car that touch, nearly rigid and without rebound.
BARE = contact_device(stiffness=1e9, exponent=1.0, restitution=0.0, name="bare end")


def head_on(first: Train, second: Train, speed: Any, gravity: Any = GRAVITY, gap: Any = 0.0) -> Model:
    """Two trains that meet nose to nose with a closing ``speed``, half of it each (a pair: the speed of each); names begin with ``a.`` and ``b.``

    Their front devices are in series: one common force, as ``front`` with ``front.first`` and ``front.second``.
    """
    one, other = _speeds(speed)
    line = Line(f"head-on of {first.name} and {second.name}", gravity)
    a = line.train(first, one, "a.", shared=first is second)
    b = line.train(second, -other, "b.", towards=-1, shared=first is second)
    fronts = [t.front for t in (first, second) if t.front is not None]
    device: Device = BARE
    if len(fronts) == 2:
        device = _in_series(fronts[0], fronts[1], "head_on")
    elif fronts:
        device = fronts[0]
    line.device("front", line.declare(device, "front"), a, b, _gap(gap))
    return line.finished()


def barrier(train: Train, speed: Any, gravity: Any = GRAVITY, gap: Any = 0.0) -> Model:
    """A train against a rigid wall."""
    return buffer_stop(train, speed, None, gravity, gap, name=f"{train.name} into a wall")


def buffer_stop(
    train: Train, speed: Any, stop: Device | None = None, gravity: Any = GRAVITY, gap: Any = 0.0, name: str | None = None
) -> Model:
    """A train at the end of the line: a rigid one, or a device in series with the train's front."""
    line = Line(name or f"{train.name} at the end of the line", gravity)
    nose = line.train(train, _speed(speed))
    line.device("front", line.declare(_met(train.front, stop, "buffer_stop"), "front"), nose, None, _gap(gap))
    return line.finished()


def truck(
    train: Train, speed: Any, mass: Any = "30 t", front: Device | None = None, gravity: Any = GRAVITY, truck_speed: Any = 0.0, brake: Any = None,
    gap: Any = 0.0,
) -> Model:  # fmt: skip
    """A train that meets a truck on a crossing: a free mass, perhaps with a device of its own and with tyres that rub (``brake``: friction)."""
    line = Line(f"{train.name} and a truck", gravity)
    nose = line.train(train, _speed(speed))
    rubs = None if brake is None else Brake(positive(brake, "truck: brake", "1"))
    load = line.mass(
        "truck", positive(mass, "truck: mass", "kg"), number(truck_speed, "truck: speed", "m/s"), 3.0, (-3.0, 3.0), rubs, "#b5651d"
    )
    line.device("front", line.declare(_met(train.front, front, "truck"), "front"), nose, load, _gap(gap))
    return line.finished()


def wagon_into_wagons(moving: Train, standing: Train, speed: Any, gravity: Any = GRAVITY, gap: Any = 0.0) -> Model:
    """A test set-up: ``moving`` runs into ``standing`` from behind; names begin with ``a.`` and ``b.``

    The front device of ``moving`` is between the two; the couplers of ``standing`` are under test.  Both trains are given from the rear to the front.
    """
    line = Line(f"{moving.name} into {standing.name}", gravity)
    a = line.train(moving, _speed(speed), "a.")
    line.train(standing, 0.0, "b.", nose=standing.length * len(standing))
    rear = line.model.joints["b.car1" if len(standing.cars[0]) == 1 else "b.car1.part1"]
    line.device("front", line.declare(moving.front or BARE, "front"), a, rear, _gap(gap))
    return line.finished()


SCENARIOS = {"head_on": head_on, "barrier": barrier, "buffer_stop": buffer_stop, "truck": truck, "wagon_into_wagons": wagon_into_wagons}


def _met(first: Device | None, second: Device | None, what: str) -> Device:
    """The device between a front and what it meets."""
    if first is not None and second is not None:
        return _in_series(first, second, what)
    return first or second or BARE


def _in_series(first: Device, second: Device, what: str) -> Device:
    for d in (first, second):
        if not isinstance(d, StepCurve):
            raise InputError(
                f"{what}: a {d.kind} in series with another device needs a mass between them; give one front alone, or masses=[[…], …]"
            )
    assert isinstance(first, StepCurve) and isinstance(second, StepCurve)
    return in_series(first, second)


def _speed(given: Any) -> float:
    return positive(given, "speed", "m/s", "without speed there is no collision")


def _speeds(given: Any) -> tuple[float, float]:
    if isinstance(given, (tuple, list)):
        one, other = (number(x, "speed", "m/s") for x in given)
        if one + other <= 0.0:
            raise InputError(f"speeds {one:g} and {other:g} m/s: the trains do not meet; both count towards the other train")
        return one, other
    return 0.5 * _speed(given), 0.5 * _speed(given)


def _gap(given: Any) -> float:
    return positive(given, "gap", "m", zero=True)


__all__ = ["SCENARIOS", "barrier", "buffer_stop", "head_on", "truck", "wagon_into_wagons"]
