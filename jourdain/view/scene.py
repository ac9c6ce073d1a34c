"""The scene: everything the viewer draws, as plain arrays and names, independent of how it was computed.

Lengths in m, times in s, quaternions scalar first, rotations from body to world components.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from jourdain.errors import InputError
from jourdain.told import told
from jourdain.view.rotation import Array, continuous, matrix_from_quaternion, normalised
from jourdain.view.scenes.surface import Node, Surface, amplitudes_of
from jourdain.view.shape import Shape

PALETTE = ("#4f7cac", "#d99a4e", "#5f9e86", "#b4626a", "#8577b5", "#5a9aa8", "#b98a5f", "#7d8797")
LINK_KINDS = ("line", "rod", "spring", "damper", "spring-damper", "belt")
JOINT_KINDS = ("revolute", "prismatic", "cylindrical", "spherical", "universal", "planar", "fixed", "free", "loop")
UPS = ("x", "y", "z", "-x", "-y", "-z")
#: Instants of a run that decide what colours stand for.
MOST_COLOURED = 200
ORIGIN = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0)

Vector = tuple[float, float, float]
Anchor = tuple[str | None, ArrayLike]


@dataclass
class Body:
    """A body: shapes in its frame, its rest pose, and what to show when it is clicked (mass, inertia, …).

    One that bends has a surface, which follows amplitudes.
    """

    name: str
    shapes: list[Shape] = field(default_factory=list)
    position: ArrayLike = ORIGIN
    quaternion: ArrayLike = IDENTITY
    info: dict[str, Any] = field(default_factory=dict)
    colour: str | None = None
    surface: Surface | None = None
    amplitudes: ArrayLike | None = None

    def __post_init__(self) -> None:
        self.position = vector(self.position, f"body '{self.name}': position")
        self.quaternion = normalised(self.quaternion)

    @property
    def rest(self) -> Array:
        """Amplitudes of its surface at rest."""
        if self.amplitudes is not None:
            return np.asarray(self.amplitudes, dtype=float)
        return np.zeros(0 if self.surface is None else self.surface.amplitudes)


@dataclass
class Point:
    """A point fixed on a body (or, with a track in the run, moving freely) whose path is traced."""

    name: str
    body: str | None = None
    position: ArrayLike = ORIGIN
    colour: str | None = None
    trace: bool = True
    node: str | None = None  #: of the body's surface, with which it moves

    def __post_init__(self) -> None:
        self.position = vector(self.position, f"point '{self.name}': position")


@dataclass
class Link:
    """A line, rod, spring, damper or belt between two anchors (body name or None for ground, point in its frame).

    A track in the run, (nt, n, 3) in world components, replaces the anchors.
    """

    name: str
    kind: str = "line"
    a: Anchor = (None, ORIGIN)
    b: Anchor = (None, ORIGIN)
    radius: float | None = None
    coils: int = 8
    colour: str | None = None
    nodes: tuple[str | None, str | None] = (None, None)  #: nodes of the bodies' surfaces, with which the anchors move

    def __post_init__(self) -> None:
        known(self.kind, LINK_KINDS, f"link '{self.name}': kind")
        self.a = (self.a[0], vector(self.a[1], f"link '{self.name}': anchor a"))
        self.b = (self.b[0], vector(self.b[1], f"link '{self.name}': anchor b"))


@dataclass
class Arrow:
    """A force or moment drawn as an arrow; origin and vector tracks are in the run, the scale is in m per unit."""

    name: str
    kind: Literal["force", "moment", "velocity"] = "force"
    unit: str = "N"
    scale: float | None = None
    colour: str | None = None
    bodies: tuple[str, str] | None = None  #: of a contact: on whom it acts, and who acts


@dataclass
class Frame:
    """A coordinate frame drawn as a triad, fixed on a body or (None) on the ground."""

    name: str
    body: str | None = None
    position: ArrayLike = ORIGIN
    quaternion: ArrayLike = IDENTITY
    size: float | None = None
    node: str | None = None

    def __post_init__(self) -> None:
        self.position = vector(self.position, f"frame '{self.name}': position")
        self.quaternion = normalised(self.quaternion)


@dataclass
class Joint:
    """A joint drawn as a small symbol at a point of a body, along an axis in the body's frame."""

    name: str
    kind: str = "revolute"
    body: str | None = None
    position: ArrayLike = ORIGIN
    axis: ArrayLike = (0.0, 0.0, 1.0)
    size: float | None = None
    node: str | None = None

    def __post_init__(self) -> None:
        known(self.kind, JOINT_KINDS, f"joint '{self.name}': kind")
        self.position = vector(self.position, f"joint '{self.name}': position")
        axis = vector(self.axis, f"joint '{self.name}': axis")
        length = float(np.linalg.norm(axis))
        if length == 0.0:
            raise InputError(f"joint '{self.name}': axis (0, 0, 0) has no direction")
        self.axis = axis / length


@dataclass
class Track:
    """Poses of one body: positions (nt, 3) and quaternions (nt, 4), world from body; signs are made continuous."""

    positions: ArrayLike
    quaternions: ArrayLike | None = None

    def __post_init__(self) -> None:
        self.positions = table(self.positions, 3, "track: positions")
        if self.quaternions is None:
            self.quaternions = np.tile(IDENTITY, (len(self.positions), 1))
        self.quaternions = continuous(table(self.quaternions, 4, "track: quaternions"))
        if len(self.quaternions) != len(self.positions):
            raise InputError(f"track: {len(self.positions)} positions but {len(self.quaternions)} quaternions")


@dataclass
class Channel:
    """A named quantity over the run's times, for plots; values that are not finite leave a gap."""

    name: str
    values: ArrayLike
    unit: str = ""

    def __post_init__(self) -> None:
        self.values = np.asarray(self.values, dtype=float).reshape(-1)


@dataclass
class Plot:
    """A diagram linked to the time cursor: channels over time, or over the channel `x` (phase plot)."""

    channels: list[str]
    title: str = ""
    x: str | None = None


@dataclass
class Run:
    """One motion: times (nt) and, by name, the tracks of bodies, points, links, arrows, channels and amplitudes of surfaces (nt, k).

    ``events`` are (time, name), shown as marks on the time line.
    """

    times: ArrayLike
    bodies: dict[str, Track] = field(default_factory=dict)
    name: str = "run"
    points: dict[str, ArrayLike] = field(default_factory=dict)
    links: dict[str, ArrayLike] = field(default_factory=dict)
    arrows: dict[str, tuple[ArrayLike, ArrayLike]] = field(default_factory=dict)
    channels: list[Channel] = field(default_factory=list)
    amplitudes: dict[str, ArrayLike] = field(default_factory=dict)
    events: list[tuple[float, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.times = np.asarray(self.times, dtype=float).reshape(-1)
        if not np.all(np.isfinite(self.times)) or np.any(np.diff(self.times) < 0):
            raise InputError(f"run '{self.name}': times must be finite and must not decrease")
        for name, track in self.bodies.items():
            self._check_length(f"body '{name}'", track.positions)
        for name, points in self.points.items():
            self.points[name] = table(points, 3, f"run '{self.name}', point '{name}'")
            self._check_length(f"point '{name}'", self.points[name])
        for name, line in self.links.items():
            self.links[name] = polyline(line, f"run '{self.name}', link '{name}'")
            self._check_length(f"link '{name}'", self.links[name])
        for name, (origin, arrow) in self.arrows.items():
            pair = tuple(table(part, 3, f"run '{self.name}', arrow '{name}'") for part in (origin, arrow))
            self.arrows[name] = (pair[0], pair[1])
            self._check_length(f"arrow '{name}' origin", pair[0])
            self._check_length(f"arrow '{name}' vector", pair[1])
        for name, values in self.amplitudes.items():
            self._check_length(f"amplitudes of '{name}'", values)
        for channel in self.channels:
            self._check_length(f"channel '{channel.name}'", channel.values)

    def _check_length(self, what: str, values: ArrayLike) -> None:
        count, expected = len(np.asarray(values)), len(np.asarray(self.times))
        if count != expected:
            raise InputError(f"run '{self.name}': {what} has {count} samples for {expected} times")


@dataclass
class Mode:
    """A mode of vibration about the rest pose: for each body complex amplitudes of displacement and rotation vector.

    At phase φ and amplitude s body b is at p + s Re(d e^{iφ}) and turned by the rotation vector s Re(θ e^{iφ}) in
    world components; amplitudes of surfaces change by s Re(a e^{iφ}); frequency in Hz.
    """

    name: str
    displacements: dict[str, tuple[ArrayLike, ArrayLike]]
    frequency: float | None = None
    damping: float | None = None
    amplitudes: dict[str, ArrayLike] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.amplitudes = {body: np.asarray(a, dtype=complex) for body, a in self.amplitudes.items()}
        for body, (shift, turn) in self.displacements.items():
            pair = tuple(np.asarray(part, dtype=complex).reshape(-1) for part in (shift, turn))
            if pair[0].shape != (3,) or pair[1].shape != (3,) or not np.all(np.isfinite(np.concatenate(pair))):
                raise InputError(f"mode '{self.name}', body '{body}': give two finite vectors of 3 amplitudes")
            self.displacements[body] = (pair[0], pair[1])


@dataclass
class Camera:
    """Where the picture is taken from: position and target in m, vertical field of view in degrees."""

    position: ArrayLike
    target: ArrayLike = ORIGIN
    fov: float = 35.0

    def __post_init__(self) -> None:
        self.position = vector(self.position, "camera: position")
        self.target = vector(self.target, "camera: target")


@told
@dataclass
class Scene:
    """All there is to see: bodies and what belongs to them, motions (runs), modes, plots and metadata.

    >>> from jourdain.view.shape import box
    >>> scene = Scene("block", bodies=[Body("block", [box(1, 2, 3)])])
    >>> scene.body("block").name
    'block'
    """

    name: str
    bodies: list[Body] = field(default_factory=list)
    up: str = "z"
    points: list[Point] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    modes: list[Mode] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    camera: Camera | None = None
    follow: str | None = None
    ground: float | None = None
    exaggeration: float = 1.0  #: times which surfaces are deformed
    #: Pairs of bodies that touch at points without an arrow.
    unseen: list[tuple[str, str]] = field(default_factory=list)

    def _repr_html_(self) -> str:
        """The page in a frame, as notebooks show it."""
        from jourdain.view.page import Inline

        return Inline(self)._repr_html_()

    def body(self, name: str) -> Body:
        """The body of that name."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise InputError(f"scene '{self.name}': no body '{name}'; there are {[b.name for b in self.bodies]}")

    def check(self) -> None:
        """Raise InputError when a name is used twice or refers to nothing."""
        known(self.up, UPS, f"scene '{self.name}': up")
        groups: dict[str, Sequence[Any]] = {
            "body": self.bodies, "point": self.points, "link": self.links, "arrow": self.arrows,
            "frame": self.frames, "joint": self.joints,
        }  # fmt: skip
        names = {kind: [item.name for item in items] for kind, items in groups.items()}
        for kind, given in names.items():
            twice = sorted({name for name in given if given.count(name) > 1})
            if twice:
                raise InputError(f"scene '{self.name}': {kind} '{twice[0]}' is given twice; names must differ")
        bodies = set(names["body"])
        for kind in ("point", "frame", "joint"):
            for item in groups[kind]:
                self._refer(bodies, item.body, f"{kind} '{item.name}'")
        for link in self.links:
            self._refer(bodies, link.a[0], f"link '{link.name}'")
            self._refer(bodies, link.b[0], f"link '{link.name}'")
        for run in self.runs:
            for kind, used in (("body", run.bodies), ("point", run.points), ("link", run.links), ("arrow", run.arrows)):
                self._tracks(names[kind], used, kind, run.name)
            self._check_amplitudes(run.amplitudes, f"run '{run.name}'")
        for mode in self.modes:
            for moved in mode.displacements:
                self._refer(bodies, moved, f"mode '{mode.name}'")
            self._check_amplitudes({b: np.atleast_2d(np.abs(np.asarray(a))) for b, a in mode.amplitudes.items()}, f"mode '{mode.name}'")
        ends = [(link.name, body, node) for link in self.links for (body, _), node in zip((link.a, link.b), link.nodes, strict=True)]
        fastened: list[Point | Frame | Joint] = [*self.points, *self.frames, *self.joints]
        for name, body, node in [*((item.name, item.body, item.node) for item in fastened), *ends]:
            if node is not None:
                self.node(body, node, name)
        if not 0 <= self.exaggeration < 1e9:
            raise InputError(f"scene '{self.name}': exaggeration {self.exaggeration} is not a number from 0 on")
        self._refer(bodies, self.follow, "follow")

    def _check_amplitudes(self, given: Mapping[str, ArrayLike], what: str) -> None:
        for name, values in given.items():
            surface = self.body(name).surface
            if surface is None:
                raise InputError(f"scene '{self.name}': {what} has amplitudes of '{name}', which has no surface")
            amplitudes_of(values, surface, f"scene '{self.name}': {what}, body '{name}'")

    def node(self, body: str | None, node: str, what: str = "") -> Node:
        """A node of a body's surface."""
        surface = None if body is None else self.body(body).surface
        if surface is None or node not in surface.nodes:
            raise InputError(f"scene '{self.name}': '{what}' refers to the node '{node}' of '{body}', which there is not")
        return surface.nodes[node]

    def amplitudes(self, body: str, t: float, run: int = 0) -> Array:
        """Amplitudes of a body's surface at time t in s, interpolated."""
        track = self.runs[run].amplitudes.get(body) if self.runs else None
        times = np.asarray(self.runs[run].times) if self.runs else np.empty(0)
        if track is None or times.size == 0:
            return self.body(body).rest
        values = np.asarray(track)
        i, f = locate(times, t)
        return np.asarray((1 - f) * values[i] + f * values[min(i + 1, len(times) - 1)])

    def place(self, body: str | None, point: ArrayLike, node: str | None, t: float) -> Array:
        """Where a point of a body, fixed to its frame or to a node of its surface, is in the world at time t."""
        p = np.asarray(point, dtype=float)
        if body is None:
            return p
        if node is not None:
            p = self.node(body, node).moved(p, self.amplitudes(body, t), self.exaggeration)
        position, quaternion = self.pose(body, t)
        return np.asarray(matrix_from_quaternion(quaternion) @ p + position)

    def field_range(self, name: str) -> tuple[float, float]:
        """What the colours of a field stand for: over all surfaces that show it, and all runs."""
        low = high = 0.0
        for body in self.bodies:
            if body.surface is not None and any(f.name == name for f in body.surface.fields):
                found = body.surface.field(name).range(self._samples(body))
                low, high = min(low, found[0]), max(high, found[1])
        return low, high

    def _samples(self, body: Body) -> Array:
        """Amplitudes of a body, at most some hundred of each run."""
        tracks = [np.asarray(run.amplitudes[body.name]) for run in self.runs if body.name in run.amplitudes]
        chosen = [track[np.unique(np.linspace(0, len(track) - 1, MOST_COLOURED).astype(int))] for track in tracks if len(track)]
        return np.concatenate(chosen) if chosen else body.rest[None]

    def _refer(self, bodies: set[str], body: str | None, what: str) -> None:
        if body is not None and body not in bodies:
            raise InputError(f"scene '{self.name}': {what} refers to body '{body}', which is not in the scene")

    def _tracks(self, names: list[str], used: Mapping[str, Any], kind: str, run: str) -> None:
        for name in used:
            if name not in names:
                raise InputError(f"run '{run}': track of {kind} '{name}', which is not in the scene '{self.name}'")

    def pose(self, body: str, t: float, run: int = 0) -> tuple[Array, Array]:
        """Position and quaternion of a body at time t in s: linear and spherical interpolation between samples."""
        item = self.body(body)
        track = self.runs[run].bodies.get(body) if self.runs else None
        times = np.asarray(self.runs[run].times) if self.runs else np.empty(0)
        if track is None or times.size == 0:
            return np.asarray(item.position), np.asarray(item.quaternion)
        i, f = locate(times, t)
        positions, quaternions = np.asarray(track.positions), np.asarray(track.quaternions)
        j = min(i + 1, len(times) - 1)
        return (1 - f) * positions[i] + f * positions[j], slerp(quaternions[i], quaternions[j], f)


def locate(times: Array, t: float) -> tuple[int, float]:
    """Index i and fraction f with t = (1 − f) times[i] + f times[i + 1], clamped to the run."""
    if t >= times[-1]:
        return len(times) - 1, 0.0
    i = max(int(np.searchsorted(times, t, side="right")) - 1, 0)
    step = times[i + 1] - times[i]
    return i, float(np.clip((t - times[i]) / step, 0.0, 1.0)) if step > 0 else 0.0


def slerp(p: Array, q: Array, f: float) -> Array:
    """Spherical interpolation from quaternion p (f = 0) to q (f = 1) along the shorter arc."""
    cosine = float(p @ q)
    if cosine < 0:
        q, cosine = -q, -cosine
    angle = np.arccos(min(cosine, 1.0))
    if angle < 1e-6:
        return normalised((1 - f) * p + f * q)
    return normalised((np.sin((1 - f) * angle) * p + np.sin(f * angle) * q) / np.sin(angle))


def vector(values: ArrayLike, what: str) -> Array:
    """Three finite numbers as an array; raises with the name of the thing otherwise."""
    array = np.asarray(values, dtype=float)
    if array.shape != (3,) or not np.all(np.isfinite(array)):
        raise InputError(f"{what} {values!r} is not three finite numbers")
    return array


def table(values: ArrayLike, width: int, what: str) -> Array:
    """A finite (n, width) array; raises with the name of the thing otherwise."""
    array = np.asarray(values, dtype=float)
    if array.ndim != 2 or array.shape[1] != width:
        raise InputError(f"{what}: shape {array.shape} is not (nt, {width})")
    if not np.all(np.isfinite(array)):
        row = int(np.argmin(np.all(np.isfinite(array), axis=1)))
        raise InputError(f"{what}: sample {row} is not finite; cut the run before it")
    return array


def polyline(values: ArrayLike, what: str) -> Array:
    """A finite (nt, n ≥ 2, 3) array of points of a line; raises otherwise."""
    array = np.asarray(values, dtype=float)
    if array.ndim != 3 or array.shape[1] < 2 or array.shape[2] != 3 or not np.all(np.isfinite(array)):
        raise InputError(f"{what}: shape {array.shape} is not finite (nt, n ≥ 2, 3)")
    return array


def known(value: str, choices: Sequence[str], what: str) -> None:
    """Raise InputError when value is not one of the choices."""
    if value not in choices:
        raise InputError(f"{what} '{value}' is unknown; choose one of {', '.join(choices)}")
