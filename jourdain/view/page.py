"""The scene as one self-contained web page: geometry as JSON, motion as packed tracks, the viewer inlined."""

from __future__ import annotations

import base64
import html
import json
import re
import warnings
import zlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from jourdain.errors import InputError
from jourdain.results.whole_file import write_whole
from jourdain.view.camera import Extent, default_camera, extent, ground_height, up_vector
from jourdain.view.scene import PALETTE, Channel, Mode, Run, Scene
from jourdain.view.scenes.surface import Node, Surface, stops_of
from jourdain.view.still import arrow_scale
from jourdain.view.tracks import Packer, estimate
from jourdain.view.vibration import natural_amplitude

MODULES = {
    "three": "three.module.min.js",
    "three/orbit": "OrbitControls.js",
    "jourdain/tracks": "tracks.js",
    "jourdain/shapes": "shapes.js",
    "jourdain/stage": "stage.js",
    "jourdain/surface": "surface.js",
    "jourdain/items": "items.js",
    "jourdain/legend": "legend.js",
    "jourdain/plots": "plots.js",
    "jourdain/player": "player.js",
    "jourdain/panel": "panel.js",
    "jourdain/controls": "controls.js",
    "jourdain/touches": "touches.js",
    "jourdain/app": "app.js",
}
# error bound relative to the scene's size, and the most bytes of tracks it may cost
BOUNDS = ((1e-7, 1.5e6), (1e-6, 13.5e6), (1e-5, 13.5e6), (1e-4, float("inf")))
CHANNEL_BOUND = 1e-5
AMPLITUDE_BOUND = 1e-5
# numbers of all fields of a surface beyond which only what is shown goes into the page
MOST_ROWS = 1_000_000
# components of a unit quaternion are held twice as well as relative positions
QUATERNION_SHARE = 0.5


@dataclass
class Packed:
    """A scene as the page wants it: plain data, the deflated tracks it refers to, and the bound they keep."""

    data: dict[str, Any]
    tracks: bytes
    tolerance: float


def pack(scene: Scene, tolerance: float | None = None, quick: bool = False) -> Packed:
    """The scene as JSON-ready data and packed tracks.

    Positions err by at most tolerance times the scene's size, quaternion components by half the tolerance. Without a
    tolerance it is 1e-7, or 1e-6 when the tracks would be large; longer runs are coarsened further, with a warning.
    ``quick`` keeps tracks in single precision, for a page that waits.
    """
    scene.check()
    space = extent(scene)
    bound = BOUNDS[0][0] if quick else _choose_bound(scene, space) if tolerance is None else float(tolerance)
    if not 0 < bound < 1:
        raise InputError(f"scene '{scene.name}': tolerance {tolerance} is not between 0 and 1")
    packer = Packer(quick=quick)
    runs = [_pack_run(run, packer, space.size, bound) for run in scene.runs]
    data = _still(scene, space)
    for entry, body in zip(data["bodies"], scene.bodies, strict=True):
        if body.surface is not None:
            entry["surface"] = pack_surface(scene, body.surface, packer) | {"amplitudes": body.rest}
    data.update(runs=runs, blocks=packer.directory, tolerance=bound)
    return Packed(data, packer.data(), bound)


def page_html(
    scene: Scene, *, tolerance: float | None = None, theme: str = "auto", live: bool = False, controls: dict[str, Any] | None = None
) -> str:
    """One HTML page with everything inside, which opens from disk without network.

    theme is "light", "dark" or "auto" (as the reader's system); live makes the page listen to the server it came from; controls are sliders
    and buttons by which it asks that server, or the notebook around it (:mod:`jourdain.view.explore`).

    >>> from jourdain.view.scene import Body
    >>> page_html(Scene("empty", bodies=[Body("block")])).startswith("<!doctype html>")
    True
    """
    if theme not in ("auto", "light", "dark"):
        raise InputError(f"theme '{theme}' is unknown; choose auto, light or dark")
    packed = pack(scene, tolerance)
    packed.data.update(theme=theme, live=live, controls=controls)
    modules = {name: _squeezed(_static(file)) for name, file in MODULES.items()}
    parts = {
        "title": html.escape(scene.name),
        "style": _static("style.css"),
        "modules": json.dumps(modules),
        "scene": _json(packed.data),
        "tracks": base64.b64encode(packed.tracks).decode(),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], _static("page.html"))


def packed_json(scene: Scene) -> dict[str, Any]:
    """A scene for a page that is open already: plain data without NaN, and its tracks as text."""
    packed = pack(scene, quick=True)
    data: dict[str, Any] = json.loads(_json(packed.data))
    return {"scene": data, "tracks": base64.b64encode(packed.tracks).decode()}


def save_page(scene: Scene, path: str | Path, *, tolerance: float | None = None, theme: str = "auto") -> Path:
    """Write the self-contained page and return its path."""
    return write_whole(path, page_html(scene, tolerance=tolerance, theme=theme))


@dataclass
class Inline:
    """The scene inside a notebook: its last value in a cell shows the page in a frame of the given height in px."""

    scene: Scene
    height: int = 520
    theme: str = "auto"

    def _repr_html_(self) -> str:
        page = html.escape(page_html(self.scene, theme=self.theme), quote=True)
        style = f"width:100%;height:{self.height}px;border:0;border-radius:10px"
        return f'<iframe srcdoc="{page}" style="{style}" allow="fullscreen"></iframe>'


def _choose_bound(scene: Scene, space: Extent) -> float:
    """The finest bound whose tracks stay within their allowance, judged from at most twelve bodies of each run."""
    for bound, allowance in BOUNDS[:-1]:
        if _estimate(scene, space, bound) <= allowance:
            break
    else:
        bound = BOUNDS[-1][0]
    if bound > 1e-6:
        warnings.warn(
            f"scene '{scene.name}': tracks are long; the page keeps positions to {bound:g} of the scene's size "
            "(resample the run, or pass tolerance=1e-6 for a larger page)",
            stacklevel=4,
        )
    return bound


def _estimate(scene: Scene, space: Extent, bound: float) -> float:
    total = 0.0
    for run in scene.runs:
        tracks = list(run.bodies.values())
        chosen = tracks[:: max(1, len(tracks) // 12)]
        tolerances = [bound * space.size] * 3 + [QUATERNION_SHARE * bound] * 4
        sizes = [
            estimate(np.column_stack([np.asarray(t.positions), np.asarray(t.quaternions)]), tolerances)
            for t in chosen
            if len(np.asarray(t.positions))
        ]
        # deflate on byte planes stays some 40 % above the estimated entropy
        total += 1.4 * float(np.mean(sizes)) * len(tracks) if sizes else 0.0
        others = [np.asarray(v) for v in (*run.links.values(), *run.points.values())]
        total += sum(v.size * 1.5 for v in others) + len(run.arrows) * len(np.asarray(run.times)) * 9.0
        total += len(run.channels) * len(np.asarray(run.times)) * 1.0
    return total


def _pack_run(run: Run, packer: Packer, size: float, bound: float) -> dict[str, Any]:
    length = bound * size

    def arrows(name: str) -> int:
        origin, arrow = (np.asarray(part) for part in run.arrows[name])
        reach = float(np.max(np.abs(arrow))) if arrow.size else 0.0
        return packer.add(np.column_stack([origin, arrow]), [length] * 3 + [max(bound * reach, 1e-300)] * 3)

    return {
        "name": run.name,
        "times": packer.add_exact(np.asarray(run.times)[:, None]),
        "bodies": {
            name: packer.add(
                np.column_stack([np.asarray(track.positions), np.asarray(track.quaternions)]),
                [length] * 3 + [QUATERNION_SHARE * bound] * 4,
            )
            for name, track in run.bodies.items()
        },
        "points": {name: packer.add(points, length) for name, points in run.points.items()},
        "links": {name: packer.add(np.asarray(line).reshape(len(np.asarray(line)), -1), length) for name, line in run.links.items()},
        "arrows": {name: arrows(name) for name in run.arrows},
        "amplitudes": {name: packer.add(np.asarray(track), _amplitude_bounds(np.asarray(track))) for name, track in run.amplitudes.items()},
        "channels": [
            {"name": c.name, "unit": c.unit, "block": packer.add(np.asarray(c.values)[:, None], _channel_bound(c))} for c in run.channels
        ],
        "events": [{"t": float(t), "name": name} for t, name in run.events],
    }


def _channel_bound(channel: Channel) -> float:
    values = np.asarray(channel.values)
    finite = values[np.isfinite(values)]
    spread = float(np.ptp(finite)) if finite.size else 0.0
    return CHANNEL_BOUND * spread or 1e-300


def _amplitude_bounds(track: np.ndarray) -> np.ndarray:
    """A hundred-thousandth of the reach of each amplitude."""
    return np.maximum(AMPLITUDE_BOUND * np.abs(track).max(axis=0, initial=0.0), 1e-300)


def _pack_node(node: Node) -> dict[str, Any]:
    """A node for the page, a row an amplitude; axes as columns y and z, one after the other."""
    axes = {} if node.axes is None else {"axes": np.moveaxis(node.axes[:, 1:], 2, 0).transpose(0, 2, 1).reshape(-1, 6)}
    return {"position": node.position, "shift": node.shift.T, "turn": node.turn.T} | axes


def pack_surface(scene: Scene, surface: Surface, packer: Packer) -> dict[str, Any]:
    """A surface for the page: arrays as blocks, a block for each array; of large surfaces the fields that are shown alone."""
    fields = surface.fields
    if sum(f.rows.size for f in fields) > MOST_ROWS:
        fields = [f for f in fields if f.name in (surface.shown, "displacement")]
    n = len(surface.vertices)
    blocks: dict[int, int] = {}

    def block(array: np.ndarray) -> int:
        """Columns a vertex, amplitude by amplitude."""
        if id(array) not in blocks:
            blocks[id(array)] = packer.add_exact(np.moveaxis(array, 2, 1).reshape(n, -1), "f4")
        return blocks[id(array)]

    ranges = {f.name: scene.field_range(f.name) for f in fields}
    return {
        "vertices": packer.add_exact(surface.vertices, "f4"),
        "faces": packer.add_exact(surface.faces, "f4"),
        "lines": packer.add_exact(surface.lines, "f4"),
        "shapes": block(surface.shapes),
        "smooth": surface.smooth,
        "labels": surface.labels,
        "places": None if surface.places is None else packer.add_exact(surface.places[:, None], "f4"),
        "shown": surface.shown,
        "fields": [
            {"name": f.name, "unit": f.unit, "rows": block(f.rows), "components": f.rows.shape[1], "metric": f.metric,
             "low": ranges[f.name][0], "high": ranges[f.name][1], "colours": stops_of(f)}
            for f in fields
        ],
        "nodes": {name: _pack_node(x) for name, x in surface.nodes.items()},
    }  # fmt: skip


def _still(scene: Scene, space: Extent) -> dict[str, Any]:
    """Everything of the scene that does not move, ready for JSON."""
    camera = default_camera(scene, space=space)
    bodies = [
        {
            "name": body.name,
            "shapes": [shape.to_dict() for shape in body.shapes],
            "position": body.position,
            "quaternion": body.quaternion,
            "info": body.info,
            "colour": body.colour or PALETTE[k % len(PALETTE)],
        }
        for k, body in enumerate(scene.bodies)
    ]
    return {
        "name": scene.name,
        "up": up_vector(scene),
        "ground": ground_height(scene, space),
        "size": space.size,
        "modelSize": min(space.model_size, space.size),
        "low": space.low,
        "high": space.high,
        "outline": space.outline,
        "modelLow": space.model_low,
        "modelHigh": space.model_high,
        "camera": {"position": camera.position, "target": camera.target, "fov": camera.fov},
        "fitted": scene.camera is None,
        "follow": scene.follow or (_traveller(scene) if space.is_journey and scene.camera is None else None),
        "bodies": bodies,
        "points": [vars(point) for point in scene.points],
        "links": [vars(link) for link in scene.links],
        "unseen": scene.unseen,
        "arrows": [vars(arrow) | {"scale": arrow_scale(scene, space, arrow), "automatic": not arrow.scale} for arrow in scene.arrows],
        "frames": [vars(frame) for frame in scene.frames],
        "joints": [vars(joint) for joint in scene.joints],
        "modes": [_mode(mode, space, scene) for mode in scene.modes],
        "exaggeration": scene.exaggeration,
        "plots": [vars(plot) for plot in scene.plots],
        "metadata": scene.metadata,
    }


def _traveller(scene: Scene) -> str | None:
    """The body to follow on a journey: the one with the largest mass in its info, else the first that moves."""
    moving = [body for body in scene.bodies if any(body.name in run.bodies for run in scene.runs)]

    def mass(body: Any) -> float:
        value = body.info.get("mass", 0.0)
        return float(value) if isinstance(value, (int, float)) else 0.0

    return max(moving, key=mass).name if moving else None


def _mode(mode: Mode, space: Extent, scene: Scene) -> dict[str, Any]:
    parts = {name: (np.asarray(d), np.asarray(r)) for name, (d, r) in mode.displacements.items()}
    return {
        "name": mode.name,
        "frequency": mode.frequency,
        "damping": mode.damping,
        "amplitude": natural_amplitude(mode, space, scene),
        "bodies": {name: [d.real, d.imag, r.real, r.imag] for name, (d, r) in parts.items()},
        "amplitudes": {name: [np.asarray(a).real, np.asarray(a).imag] for name, a in mode.amplitudes.items()},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, complex):
        return str(value)
    return str(value)


def _json(data: Any) -> str:
    """JSON that is safe inside a script element and free of NaN, which JSON does not know."""
    text = json.dumps(_finite(data), default=_plain, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _finite(data: Any) -> Any:
    if isinstance(data, np.ndarray):
        return _finite(data.tolist())
    if isinstance(data, dict):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    if isinstance(data, (float, np.floating)):
        return float(data) if np.isfinite(data) else str(data)
    return data


def _static(name: str) -> str:
    return resources.files("jourdain.view").joinpath("static", name).read_text(encoding="utf-8")


def _squeezed(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
