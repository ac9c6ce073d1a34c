"""Trains on a line: cars of one or several masses, devices between them, brakes that hold at rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from ...model.bodies import Body
from ...model.joints import Joint
from ...model.model import Model
from ...model.shapes import box
from ...model.values import number
from ...symbolic.expr import Expr
from ...symbolic.functions import absolute, clip, positive_part, sign, where
from .crush import crush_device
from .device import Device, positive, row_of

#: Speed below which a braked car is held by its brakes (m/s).
HELD = 1e-6
LENGTH, HEIGHT, WIDTH = 20.0, 2.8, 2.6
#: In pictures: how much longer than the device is the zone left for it, and the least and largest part of a car at one of its ends; thickness of a wall (m).
BEYOND, LEAST, LARGEST, WALL = 1.3, 0.03, 0.25, 0.6


@dataclass(frozen=True)
class Train:
    """Cars from the rear to the front, each a row of masses, with the devices between them; made by :func:`train`."""

    cars: tuple[tuple[float, ...], ...]
    couplers: tuple[Device, ...]
    front: Device | None = None
    inside: Device | None = None
    brakes: tuple[Brake | None, ...] = ()
    length: float = LENGTH
    name: str = "train"

    @property
    def mass(self) -> float:
        """Mass of all cars (kg)."""
        return sum(sum(car) for car in self.cars)

    def __len__(self) -> int:
        return len(self.cars)


@dataclass(frozen=True)
class Brake:
    """Coulomb friction between wheel and rail: μ, a number or a function of the speed (m/s), and the share of the weight on braked wheels."""

    friction: Any
    share: float = 1.0

    def act(self, m: Model, name: str, joint: Joint, mass: Any, applied: Any) -> None:
        """−μ N v/|v| while the car rolls; at rest it takes up what is applied, as far as μ N goes, so that the car stays where it is.

        Which way it rolls is a memory: within a step friction is smooth, and the event at v = 0 is found exactly.
        """
        v = joint.velocity
        most = (self.friction(absolute(v)) if callable(self.friction) else self.friction) * self.share * mass * -m.gravity[2]
        now = where(absolute(v) > HELD, sign(v), 0.0)
        rolls = m.memory(f"{name}.rolls", 0.0, now)
        way = where(absolute(rolls) > 0.5, rolls, now)
        m.force(joint, where(absolute(way) > 0.5, -most * way, -clip(applied, -most, most)), name=name)
        m.event(f"{name}.stops", where(absolute(rolls) > 0.5, rolls * v, 1.0), direction=-1, jump={v: 0.0})


def train(
    masses: Sequence[Any], couplers: Device | Sequence[Device] | None = None, front: Device | None = None, inside: Device | None = None,
    brakes: Any = None, braked: float = 1.0, length: Any = LENGTH, name: str = "train",
) -> Train:  # fmt: skip
    """A train of any number of cars on a line, from the rear to the front.

    masses: of the cars (kg or with a unit); a list of several for a car of several masses, which ``inside`` joins.
    couplers: the device between cars, one for all or one each; front: the device at its front.
    brakes: friction of wheel on rail, one for all or one a car (None: none), each a number or a function of the speed; ``braked`` is the share of
        the weight on braked wheels. length: of a car, for pictures (m).
    """
    cars = tuple(_masses(car, i, name) for i, car in enumerate(row_of(masses), 1))
    if not cars:
        raise InputError(f"train '{name}' has no cars; give masses=[…]")
    between = _devices(couplers, len(cars) - 1, name)
    for word, device in (("front", front), ("inside", inside)):
        if device is not None and not isinstance(device, Device):
            raise InputError(
                f"train '{name}': {word} = {device!r} is no device; make one by crush_device(…), hydraulic_buffer(…) or draft_gear(…)"
            )
    if inside is None and any(len(car) > 1 for car in cars):
        raise InputError(f"train '{name}': a car of several masses needs inside=, the device between them")
    return Train(cars, between, front, inside, _brakes(brakes, braked, len(cars), name), number(length, "length", "m"), name)


def _masses(car: Any, i: int, name: str) -> tuple[float, ...]:
    row = row_of(car)
    return tuple(positive(x, f"train '{name}': mass of car {i}", "kg") for x in row)


def _devices(given: Any, count: int, name: str) -> tuple[Device, ...]:
    row = (given,) * count if isinstance(given, Device) else () if given is None else tuple(row_of(given))
    if len(row) != count or not all(isinstance(d, Device) for d in row):
        raise InputError(f"train '{name}': {count + 1} cars have {count} couplers between them; there are {len(row)} devices")
    return row


def _brakes(given: Any, share: float, count: int, name: str) -> tuple[Brake | None, ...]:
    row = list(given) if isinstance(given, (list, tuple)) else [given] * count
    if len(row) != count:
        raise InputError(f"train '{name}': {count} cars and {len(row)} brakes; give one for all or one a car (None: none)")
    if any(b is not None for b in row) and not 0.0 < share <= 1.0:
        raise InputError(f"train '{name}': brakes with braked = {share:g} have no normal force; give a share of the weight from 0 to 1")
    found: list[Brake | None] = []
    for i, b in enumerate(row, 1):
        if b is not None and not callable(b):
            b = positive(b, f"train '{name}': friction of the brakes of car {i}", "1")
        found.append(None if b is None else Brake(b, share))
    return tuple(found)


# -- on a line ---------------------------------------------------------------------------------------------------------


class Line:
    """A model that grows: masses on a straight track, +x ahead, with devices that push between them."""

    def __init__(self, name: str, gravity: float) -> None:
        self.model = Model(name, gravity=(0.0, 0.0, -number(gravity, "gravity", "m/s^2")))
        self.push: dict[str, Any] = {}
        self.braked: list[tuple[str, Joint, Expr, Brake]] = []
        self._declared: list[tuple[Device, Device]] = []
        self._place: dict[str, float] = {}
        self._span: dict[str, tuple[float, float]] = {}

    def mass(
        self, name: str, mass: float, speed: float, place: float = 0.0, span: tuple[float, float] = (-1.0, 1.0), brake: Brake | None = None,
        colour: str = "",
    ) -> Joint:  # fmt: skip
        """A mass that moves along the track, its displacement counted from where it begins, and drawn over a span about its place."""
        m = self.model
        kg = m.parameter(f"{name}.mass", mass, "kg", (0.0, None))
        body = m.body(name, mass=kg, colour=colour or None)
        low, high = span
        body.shapes.append(box(high - low, WIDTH, HEIGHT).at(0.5 * (low + high), 0.0, 0.5 * HEIGHT + 0.9))
        joint = m.prismatic(name, m.ground.at(place, 0.0, 0.0), body, axis="x")
        m.initial[f"{name}.displacement_rate"] = speed
        self.push[name] = 0.0
        self._place[name], self._span[name] = place, (place + low, place + high)
        if brake is not None:
            if m.gravity[2].is_number:
                raise InputError(f"brakes of '{name}' have no normal force: gravity is zero; give gravity= in m/s²")
            self.braked.append((name, joint, kg, brake))
        return joint

    def declare(self, device: Device, name: str) -> Device:
        """A device with parameters; one that stands in several places has one set of them."""
        for known, there in self._declared:
            if known is device:
                return there
        self._declared.append((device, device.declared(self.model, name)))
        return self._declared[-1][1]

    def device(self, name: str, device: Device, rear: Joint, front: Joint | None, gap: float = 0.0) -> None:
        """A device between a mass and the one ahead of it (or a wall), crushed by their approach beyond a gap."""
        crush, rate = (rear.position, rear.velocity) if front is None else (rear.position - front.position, rear.velocity - front.velocity)
        self._draw(rear, front)
        force = device.act(self.model, name, crush - gap if gap else crush, rate)
        self.push[rear.name] = self.push[rear.name] - force
        if front is not None:
            self.push[front.name] = self.push[front.name] + force

    def _draw(self, rear: Joint, front: Joint | None) -> None:
        """The zone that is crushed, fastened to the mass behind it: the one ahead moves over it, and a wall is deep enough to hide it."""
        begins = self._span[rear.name][1]
        ends = 0.0 if front is None else self._span[front.name][0]
        if ends > begins:
            zone = box(ends - begins, 0.6 * WIDTH, 0.5 * HEIGHT, colour="#e4572e")
            rear.child.body.shapes.append(zone.at(0.5 * (begins + ends) - self._place[rear.name], 0.0, 0.35 * HEIGHT + 0.9))
        if front is None:
            deep = WALL + max(ends - begins, 0.0)
            wall = box(deep, 1.5 * WIDTH, 1.3 * HEIGHT, colour="#8a8f96")
            self.model.ground.shapes.append(wall.at(0.5 * deep, 0.0, 0.65 * HEIGHT))

    def train(self, train: Train, speed: float, prefix: str = "", nose: float = 0.0, towards: int = 1, shared: bool = False) -> Joint:
        """A train with its nose at a place, ahead (+1) or the other way round (−1); the mass at its front.

        Parameters of devices that another train has too (``shared``) are named without the prefix.
        """
        role = "" if shared else prefix
        joints: list[tuple[Joint, int]] = []
        place = nose
        count = sum(map(len, train.cars))
        for i, j, kg in reversed(list(_all_masses(train))):
            n = len(train.cars[i])
            name = f"{prefix}car{i + 1}" + (f".part{j + 1}" if n > 1 else "")
            room = train.length / n
            behind = train.inside if j > 0 else train.couplers[i - 1] if i > 0 else None
            ahead = train.inside if j + 1 < n else train.couplers[i] if i + 1 < len(train) else train.front
            ends = (-0.5 * room + _recess(behind, 0.5, room), 0.5 * room - _recess(ahead, 0.5 if place != nose else 1.0, room))
            span = ends if towards > 0 else (-ends[1], -ends[0])
            joints.append((self.mass(name, kg, speed, place - towards * 0.5 * room, span, train.brakes[i]), i))
            place -= towards * room
        for k in range(count - 1):
            (leading, i), (following, j) = joints[k], joints[k + 1]
            rear, front = (following, leading) if towards > 0 else (leading, following)
            if i == j:
                assert train.inside is not None
                self.device(f"{following.name}.inside", self.declare(train.inside, f"{role}inside"), rear, front)
            else:
                one = all(c is train.couplers[0] for c in train.couplers)
                device = self.declare(train.couplers[j], f"{role}coupler" + ("" if one else str(j + 1)))
                self.device(f"{prefix}coupler{j + 1}", device, rear, front)
        return joints[0][0]

    def finished(self) -> Model:
        """The model, its forces put together."""
        for name, joint, kg, brake in self.braked:
            brake.act(self.model, f"{name}.brake", joint, kg, self.push[name])
        for name, force in self.push.items():
            if isinstance(force, Expr):
                self.model.force(self.model.joints[name], force, name=f"{name}.devices")
        return self.model


def occupant(m: Model, car: Body | str, name: str = "occupant", gap: Any = 0.75, mass: Any = 75.0, seat: Device | None = None) -> Joint:
    """A passenger as a mass that slides freely along x of a car and meets the seat in front after ``gap`` m; ``name.displacement`` is the way.

    ``seat`` is by default a cushion of 100 kN/m that gives way at 6 kN: ``name.seat.force``, ``name.seat.crush``.  The one behind is the seat itself.
    """
    if isinstance(car, str) and car not in m.bodies:
        raise InputError(f"'{name}': there is no car '{car}' to sit in; there are {', '.join(m.bodies)}")
    body = m.bodies[car] if isinstance(car, str) else car
    kg, free = positive(mass, f"'{name}': mass", "kg"), positive(gap, f"'{name}': gap", "m", zero=True)
    slide = m.prismatic(
        name, body, m.body(name, mass=kg, inertia=(1.0, 1.0, 1.0), shape=box(0.3, 0.4, 0.9).at(0.0, 0.0, 1.5), colour="#e4572e"), axis="x"
    )
    cushion = (seat or crush_device(6e3, 0.5, 1e5, name="seat")).declared(m, f"{name}.seat")
    ahead = cushion.act(m, f"{name}.seat", slide.position - free, slide.velocity)
    behind = 1e5 * positive_part(-slide.position) * positive_part(1.0 - slide.velocity)
    m.force(slide, behind - ahead, name=f"{name}.seats")
    return slide


def _recess(device: Device | None, share: float, room: float) -> float:
    """How far from the end of its room a mass is drawn, so that its share of a device finds a place there (m)."""
    wanted = BEYOND * share * float(getattr(device, "length", 0.0))
    return min(max(wanted, LEAST * room), LARGEST * room)


def _all_masses(train: Train) -> Iterator[tuple[int, int, float]]:
    for i, car in enumerate(train.cars):
        for j, kg in enumerate(car):
            yield i, j, kg


__all__ = ["Brake", "Line", "Train", "occupant", "train"]
