"""A belt on its pulleys to look at: every element coloured by a field, rings, sheaves that turn; it moves on by one element and begins again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...results.fields import PathFields
from ...view.scene import Body, Camera, Link, Run, Scene, Track
from ...view.shape import box, cone, cylinder
from .geometry import Array, Path

if TYPE_CHECKING:
    from .variator import Variator

#: Colours of a field from its least to its largest value (blue, light, red), in red, green, blue from 0 to 1.
COLOURS = np.array([[0.13, 0.29, 0.55], [0.45, 0.66, 0.81], [0.90, 0.90, 0.86], [0.94, 0.60, 0.40], [0.70, 0.09, 0.17]])
#: Colour where a field has no meaning.
NONE = "#b9bec4"
#: Height of an element over and below the pitch line (m), instants of the run.
HEIGHT, INSTANTS = (4e-3, 8e-3), 9


def colours(values: Array) -> tuple[list[str], str]:
    """A colour for each value, and what they stand for: from light at zero to red at the largest size; of fields with both signs negative ones are blue."""
    known = values[np.isfinite(values)]
    size = max(float(np.abs(known).max()), 1e-300) if known.size else 1.0
    both = bool(known.size and known.min() < 0 < known.max())
    part = 0.5 + 0.5 * (values if both else np.abs(values)) / size
    rgb = np.array([np.interp(part, np.linspace(0, 1, len(COLOURS)), c) for c in COLOURS.T]).T
    sign = -1.0 if known.size and not both and known.max() <= 0 else 1.0
    told = f"blue {-size:.4g}, light 0, red {size:.4g}" if both else f"light 0, red {sign * size:.4g}"
    return ["#" + "".join(f"{round(255 * c):02x}" for c in row) if np.isfinite(row).all() else NONE for row in rgb], told


def _turned(angle: Array) -> Array:
    """Quaternions of turns about z."""
    return np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=-1)


def _angles(path: Path, s: Array) -> Array:
    """Direction of the path (rad)."""
    d = path.points(s + 1e-6) - path.points(s - 1e-6)
    return np.arctan2(d[..., 1], d[..., 0])


def belt_scene(v: Variator, path: Path, fields: PathFields, name: str, speeds: tuple[float, float]) -> Scene:
    """The scene of a steady state, elements coloured by the field `name`."""
    channel = fields.channel(name)
    if channel.values.ndim != 1:
        raise InputError(
            f"belt view: field {name!r} has {channel.values.shape[0]} rows; one with a value at every station can be shown, such as 'P' or 'f_Pn'"
        )
    count, e = v.elements.count, v.elements
    pitch = path.length / count
    s = pitch * np.arange(count)
    near = np.argmin(np.abs((fields.s[:, None] - s + path.length / 2) % path.length - path.length / 2), axis=0)
    shown, range_ = colours(np.asarray(channel.values, float)[near])
    moved = s[:, None] + pitch * np.linspace(0, 1, INSTANTS)
    # a pitch in a second: slow enough to be seen
    times = np.linspace(0.0, 1.0, INSTANTS)
    places, angle = path.points(moved), _angles(path, moved)
    shape = box(0.92 * e.thickness, sum(HEIGHT), e.width, position=(0.0, 0.5 * (HEIGHT[1] - HEIGHT[0]), 0.0))
    bodies, tracks = [], {}
    for k in range(count):
        label = f"element {k + 1}"
        bodies.append(Body(label, [shape], colour=shown[k], info={name: f"{channel.values[near[k]]:.4g} {channel.unit}"}))
        tracks[label] = Track(np.column_stack([places[k], np.zeros(INSTANTS)]), _turned(angle[k]))
    for label, x, part, omega in (("driving", 0.0, v.pulleys[0], speeds[0]), ("driven", path.centres, v.pulleys[1], speeds[1])):
        r = path.r_dr if x == 0.0 else path.r_dn
        gap = e.width / 2 - r * math.tan(v.wedge)
        thick = part.rim * math.tan(v.wedge)
        # the movable sheaves would hide the belt
        sheave = [cone(part.rim, part.hub * 0.2, thick, position=(0.0, 0.0, -gap - thick / 2)), cylinder(0.02, 2 * (gap + thick))]
        bodies.append(Body(f"{label} pulley", sheave, colour="#c9ced4"))
        turn = omega / max(speeds[0] * path.r_dr, 1e-9) * pitch * times if speeds[0] else 0.0 * times
        tracks[f"{label} pulley"] = Track(np.tile([x, 0.0, 0.0], (INSTANTS, 1)), _turned(turn))
    around = np.linspace(0, path.length, 241)
    links: list[Link] = []
    lines: dict[str, ArrayLike] = {}
    for side in (-1.0, 1.0):
        label = f"ring {'left' if side < 0 else 'right'}"
        line = np.column_stack([path.points(around, v.rings.offset), np.full(around.size, side * 0.5 * e.width)])
        links.append(Link(label, "belt", (None, line[0]), (None, line[-1]), radius=1e-3, colour="#33383d"))
        lines[label] = np.tile(line, (INSTANTS, 1, 1))
    told = f"{channel.description or name}: {range_} {channel.unit}"
    middle = (0.5 * path.centres, 0.0, 0.0)
    camera = Camera((0.5 * path.centres - 0.06, 0.12, 0.43), middle)
    scene = Scene(f"{fields.title}: {told}", bodies, "y", links=links, runs=[Run(times, tracks, links=lines)], camera=camera)
    scene.metadata["colours"] = told
    return scene


__all__ = ["belt_scene", "colours"]
