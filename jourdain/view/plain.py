"""A plain picture of a scene by Matplotlib, for machines without a browser."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from jourdain.view.camera import default_camera, extent, up_vector
from jourdain.view.rotation import Array, matrix_from_quaternion
from jourdain.view.scene import PALETTE, Camera, Scene
from jourdain.view.still import arrows, links, skin, traces

LIGHT = np.array([0.35, -0.45, 0.82])


def draw_plain(scene: Scene, t: float, camera: Camera | None, size: tuple[int, int], kind: str, theme: str = "light") -> bytes:
    """The scene at time t as a PNG or JPEG file: flat-shaded triangles, links as lines, traces up to t."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    background = "#20252d" if theme == "dark" else "#f3f5f7"
    figure = Figure(figsize=(size[0] / 100, size[1] / 100), dpi=100, facecolor=background)
    FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((0, 0, 1, 1), projection="3d")
    axes.set_axis_off()
    axes.patch.set_alpha(0)
    triangles, colours = _surfaces(scene, t)
    if len(triangles):
        axes.add_collection3d(Poly3DCollection(triangles, facecolors=colours, edgecolors="none", antialiaseds=False))
    for link, line in links(scene, t):
        axes.plot(*line.T, color=link.colour or "#7d8797", linewidth=1.5 if link.kind.startswith("spring") else 2)
    for line, colour in _bars(scene, t):
        axes.plot(*line.T, color=colour, linewidth=2)
    for foot, tip in arrows(scene, t):
        axes.quiver(*foot, *(tip - foot), color="#c94f4f", arrow_length_ratio=0.2, linewidth=2)
    for name, path in traces(scene, t):
        axes.plot(*path.T, color="#c8675a", linewidth=1.2, label=name)
    _aim(axes, scene, camera, size[0] / size[1])
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=100)
    return buffer.getvalue()


def _bars(scene: Scene, t: float) -> list[tuple[Array, Any]]:
    """Lines of surfaces (bars of trusses) in the world, with their colours."""
    found: list[tuple[Array, Any]] = []
    for k, body in enumerate(scene.bodies):
        if body.surface is None or not len(body.surface.lines):
            continue
        position, quaternion = scene.pose(body.name, t)
        bent, paint = skin(scene, body, t)
        world = bent @ matrix_from_quaternion(quaternion).T + position
        own = body.colour or PALETTE[k % len(PALETTE)]
        found += [(world[line], own if paint is None else paint[line].mean(axis=0)) for line in body.surface.lines]
    return found


def _surfaces(scene: Scene, t: float) -> tuple[Array, Array]:
    from matplotlib.colors import to_rgba

    triangles, colours = [], []
    light = LIGHT / np.linalg.norm(LIGHT)
    for k, body in enumerate(scene.bodies):
        position, quaternion = scene.pose(body.name, t)
        rotation = matrix_from_quaternion(quaternion)
        for shape in body.shapes:
            vertices, faces = shape.triangles()
            corners = (vertices @ rotation.T + position)[faces]
            normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
            shade = 0.6 + 0.4 * (normals @ light)
            colour = np.array(to_rgba(shape.colour or body.colour or PALETTE[k % len(PALETTE)], shape.opacity))
            painted = np.tile(colour, (len(faces), 1))
            painted[:, :3] *= shade[:, None]
            triangles.append(corners)
            colours.append(np.clip(painted, 0, 1))
        if body.surface is not None:
            bent, paint = skin(scene, body, t)
            faces = body.surface.faces
            corners = (bent @ rotation.T + position)[faces]
            normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
            own = np.array(to_rgba(body.colour or PALETTE[k % len(PALETTE)]))[:3]
            base = np.tile(own, (len(faces), 1)) if paint is None else paint[faces].mean(axis=1)
            triangles.append(corners)
            colours.append(np.column_stack([np.clip(base * (0.7 + 0.3 * np.abs(normals @ light))[:, None], 0, 1), np.ones(len(faces))]))
    if not triangles:
        return np.empty((0, 3, 3)), np.empty((0, 4))
    return np.concatenate(triangles), np.concatenate(colours)


def _aim(axes: Any, scene: Scene, camera: Camera | None, aspect: float) -> None:
    up = up_vector(scene)
    view = camera or default_camera(scene, aspect)
    offset = np.asarray(view.position) - np.asarray(view.target)
    distance = float(np.linalg.norm(offset))
    vertical = scene.up[-1]
    side = [k for k in range(3) if k != "xyz".index(vertical)]
    order = (side[0], side[1]) if vertical != "y" else (2, 0)
    elevation = np.degrees(np.arcsin(np.clip(offset @ np.abs(up) / distance, -1, 1)))
    azimuth = np.degrees(np.arctan2(offset[order[1]], offset[order[0]]))
    axes.view_init(elev=elevation, azim=azimuth, roll=180 if scene.up.startswith("-") else 0, vertical_axis=vertical)
    axes.set_proj_type("persp", focal_length=1 / np.tan(np.radians(view.fov) / 2))
    space = extent(scene)
    half = 0.5 * min(space.size, distance)
    for axis, centre in zip("xyz", np.asarray(view.target), strict=True):
        getattr(axes, f"set_{axis}lim")(centre - half, centre + half)
    axes.set_box_aspect((1, 1, 1), zoom=1.9)
