"""Cables in an assembled system: nodes of places and slopes, and bodies that slide along them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....elements.cable import HERMITE, Cable, SlidingPoint
from ....elements.carriers import Carrier, Directors, Particle, PlanarDirectors
from ....elements.element import Element
from ....errors import ModelError, SolverError
from ..program import Handle

if TYPE_CHECKING:
    from ..events import Moment
    from ..system import AssembledSystem


@dataclass(frozen=True)
class CableLine:
    """A cable of a system: its nodes, and the length (m) of each of its pieces before deformation."""

    name: str
    nodes: list[Handle]
    piece: float

    @property
    def pieces(self) -> int:
        """How many there are."""
        return len(self.nodes) - 1

    @property
    def length(self) -> float:
        """The whole length (m) before deformation."""
        return self.pieces * self.piece


def add_cable(
    system: AssembledSystem, name: str, places: Any, axial: float, bending: float, mass_per_length: float, length: float | None, slopes: Any,
    gravity: Any, start: Any, end: Any, velocities: Any, viscosity: float = 0.0,
) -> CableLine:  # fmt: skip
    """What :meth:`.AssembledSystem.cable` does."""
    what = f"system '{system.name}', cable '{name}'"
    X = np.asarray(places, float)
    if X.ndim != 2 or X.shape[1] not in (2, 3) or len(X) < 2 or not np.isfinite(X).all():
        raise ModelError(f"{what}: places of shape {X.shape} are not (nodes, 2 or 3) finite numbers, two nodes at least")
    if not (mass_per_length > 0.0 and axial > 0.0 and bending >= 0.0):
        raise ModelError(
            f"{what}: axial = {axial:g} N and mass_per_length = {mass_per_length:g} kg/m must be positive, bending = {bending:g} N m² not negative"
        )
    if not viscosity >= 0.0:
        raise ModelError(f"{what}: viscosity = {viscosity:g} N s must not be negative")
    chord = np.linalg.norm(np.diff(X, axis=0), axis=1)
    whole = float(chord.sum()) if length is None else float(length)
    if not (whole > 0.0 and chord.min() > 0.0):
        raise ModelError(f"{what}: length = {whole:g} m, and neighbouring nodes must be apart")
    if (length is None or slopes is None) and np.ptp(chord) > 1e-6 * chord.max():
        raise ModelError(
            f"{what}: its nodes are {chord.min():.3g} to {chord.max():.3g} m apart; put them at even distances along the cable"
        )
    piece, d = whole / (len(X) - 1), X.shape[1]
    T = np.gradient(X, axis=0) if slopes is None else np.asarray(slopes, float)
    if slopes is None:
        stretch = float(chord.sum()) / whole
        T = T / np.linalg.norm(T, axis=1)[:, None] * stretch
    if T.shape != X.shape:
        raise ModelError(f"{what}: slopes of shape {T.shape} are not {X.shape}")
    v = np.broadcast_to(np.asarray(velocities, float), X.shape)
    nodes = [
        _node(
            system,
            f"{name}.{k}",
            np.concatenate([X[k], T[k]]),
            np.concatenate([v[k], np.zeros(d)]),
            {0: start, len(X) - 1: end}.get(k),
            what,
            d,
        )
        for k in range(len(X))
    ]
    constants = {
        "length": piece,
        "axial": axial,
        "bending": bending,
        "mass_per_length": mass_per_length,
        "gravity": np.broadcast_to(np.asarray(gravity, float), (d,)),
        **({"viscosity": viscosity} if viscosity else {}),
    }
    for k in range(len(X) - 1):
        system.add(Cable(d, viscosity > 0.0), f"{name}.e{k}", {"node0": nodes[k], "node1": nodes[k + 1]}, constants)
    return CableLine(name, nodes, piece)


def _node(system: AssembledSystem, name: str, q: np.ndarray, v: np.ndarray, end: Any, what: str, d: int) -> Handle:
    """A free node, one that is "clamped", or one whose place is "pinned"."""
    if end not in (None, "clamped", "pinned"):
        raise ModelError(
            f"{what}: its end {end!r} is neither 'clamped' nor 'pinned' nor free (None); join it to bodies by el.Spherical or a point that slides"
        )
    made = system.coordinates(name, 2 * d, q, None if end == "clamped" else v, fixed=end == "clamped", unit="m")
    if end == "pinned":
        system.add(PinnedPlace(d), f"{name}.pin", {"node": made}, {"place": q[:d]})
    return made


class PinnedPlace(Element):
    """The place of a cable's node stays where it is."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.blocks, self.constants = {"node": 2 * dimension}, {"place": dimension}

    def constraints(self, s: Any) -> Any:
        """One row for each direction."""
        return [(f"position.{n}", [s.node[k] - s.place[k]]) for k, n in zip(range(self.dimension), "xyz", strict=False)]


def add_slider(
    system: AssembledSystem,
    name: str,
    cable: CableLine,
    body: Handle,
    at: float,
    point: Any,
    friction: tuple[Element, Mapping[str, Any]] | None,
    coefficient: float = 0.0,
    speed: float = 1e-3,
) -> Handle:
    """What :meth:`.AssembledSystem.slide` does."""
    what = f"system '{system.name}', sliding joint '{name}'"
    d = cable.nodes[0].size // 2
    if not 0.0 <= at <= cable.length:
        raise ModelError(f"{what}: at = {at:g} m is not on the cable '{cable.name}' of {cable.length:g} m; give 0 ≤ at ≤ {cable.length:g}")
    carrier = _carrier(body, d, what)
    place = np.asarray(point, float) if carrier.local else np.zeros(0)
    if carrier.local and place.shape != (d,):
        raise ModelError(f"{what}: point {point!r} must be {d} numbers in the frame of '{body.name}'")
    along = system.coordinates(name, 1, at, unit="m")
    own: dict[str, Any] = {"point": place} if carrier.local else {}
    if not (coefficient >= 0.0 and speed > 0.0):
        raise ModelError(f"{what}: coefficient = {coefficient:g} of friction must not be negative, speed = {speed:g} m/s must be positive")
    rough = coefficient > 0.0
    if rough:
        own |= {"friction": coefficient, "speed": speed}
    now = min(int(at / cable.piece), cable.pieces - 1)
    piece = lambda k: f"{name}.e{k}"
    for k in range(cable.pieces):
        blocks = {"body": body, "node0": cable.nodes[k], "node1": cable.nodes[k + 1], "s": along}
        constants = {"first": k * cable.piece, "length": cable.piece, **own}
        system.add(SlidingPoint(carrier, d, rough), piece(k), blocks, constants, active=k == now)
    _check_place(system, cable, now, at, body, carrier, place, what)
    if friction is not None:
        element, given = friction
        if list(element.blocks.values()) != [1]:
            raise ModelError(f"{what}: friction {element.name} has the coordinates {element.blocks}; give an element of one coordinate")
        system.add(element, f"{name}.friction", dict.fromkeys(element.blocks, along), given)
    watch_boundaries(system, name, cable, along)
    return along


def watch_boundaries(system: AssembledSystem, name: str, cable: CableLine, along: Handle) -> None:
    """Events that lead a sliding point from piece to piece, and tell where it leaves the cable."""
    for k in range(cable.pieces + 1):
        for way in (1, -1):
            _boundary(system, name, cable, along, k, way, lambda n: f"{name}.e{n}")


def _boundary(system: AssembledSystem, name: str, cable: CableLine, along: Handle, k: int, way: int, piece: Callable[[int], str]) -> None:
    """What happens where one piece of the cable ends: the next one takes over, or the cable has an end."""
    leaving, entering = (k - 1, k) if way > 0 else (k, k - 1)
    if not 0 <= leaving < cable.pieces:
        return
    if not 0 <= entering < cable.pieces:

        def ends(moment: Moment) -> None:
            raise SolverError(
                f"sliding joint '{name}' leaves the cable '{cable.name}' at its {'end' if way > 0 else 'start'} at t = {moment.t:.6g} s; make the cable longer, or stop before"
            )

        system.event(f"{name}.leaves{k}", lambda s: s.s[0] - k * cable.piece, {"s": along}, way, action=ends)
        return

    def passes(moment: Moment) -> None:
        moment.remove(piece(leaving))
        moment.insert(piece(entering))

    word = "up" if way > 0 else "down"
    system.event(f"{name}.{word}{k}", lambda s: s.s[0] - k * cable.piece, {"s": along}, way, action=passes)


def _carrier(body: Handle, d: int, what: str) -> Carrier:
    if body.size == d:
        return Particle(d)
    if body.size == d * (d + 1):
        return Directors() if d == 3 else PlanarDirectors()
    raise ModelError(f"{what}: '{body.name}' has {body.size} coordinates; give a particle ({d}) or a body by directors ({d * (d + 1)})")


def _check_place(
    system: AssembledSystem, cable: CableLine, now: int, at: float, body: Handle, carrier: Carrier, place: np.ndarray, what: str
) -> None:
    """Refuses bodies that are not on the cable."""
    d, q0 = cable.nodes[0].size // 2, system.q0
    xi = at / cable.piece - now
    shapes = HERMITE @ xi ** np.arange(4) * np.array([1.0, cable.piece, 1.0, cable.piece])
    nodes = np.concatenate([q0[h.offset : h.offset + h.size].reshape(2, d) for h in cable.nodes[now : now + 2]])
    q = q0[body.offset : body.offset + body.size].reshape(-1, d)
    here = q[0] + (place @ q[1:] if carrier.local else 0.0)
    gap = float(np.linalg.norm(shapes @ nodes - here))
    if gap > 1e-6 * max(1.0, float(np.abs(nodes).max())):
        raise ModelError(f"{what}: the point of '{body.name}' is {gap:.3g} m away from the cable at {at:g} m; put it there")


__all__ = ["CableLine", "add_cable", "add_slider", "watch_boundaries"]
