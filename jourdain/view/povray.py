"""The scene for the ray tracer POV-Ray: one self-contained still, or a folder with a scene and its motion data.

Rotations are written as axis and angle in degrees; POV-Ray is left-handed by default, so the camera's `right` is
negative, which makes coordinates right-handed like ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from jourdain.errors import InputError
from jourdain.results.whole_file import write_whole
from jourdain.view.camera import default_camera, extent, ground_height, up_vector
from jourdain.view.rotation import Array, axis_angle, matrix_from_quaternion
from jourdain.view.scene import PALETTE, Body, Camera, Scene
from jourdain.view.shape import Faces, Shape
from jourdain.view.still import arrows, links, skin, traces

ASPECT = 16 / 9
#: A rotation about any axis. POV-Ray's include files have one, but they need not be installed where POV-Ray is.
_TURNED = """#macro Turned(Axis, Angle)
  #local X = vaxis_rotate(x, Axis, Angle);
  #local Y = vaxis_rotate(y, Axis, Angle);
  #local Z = vaxis_rotate(z, Axis, Angle);
  matrix <X.x, X.y, X.z, Y.x, Y.y, Y.z, Z.x, Z.y, Z.z, 0, 0, 0>
#end"""


def povray_scene(scene: Scene, t: float, camera: Camera | None = None, aspect: float = ASPECT) -> str:
    """POV-Ray text of the scene at time t in s, complete in itself.

    >>> from jourdain.view.shape import sphere
    >>> "sphere {" in povray_scene(Scene("ball", bodies=[Body("ball", [sphere(1.0)])]), 0.0)
    True
    """
    scene.check()
    parts = [_surroundings(scene, camera, aspect)]
    for k, body in enumerate(scene.bodies):
        name = _name(k, body)
        position, quaternion = scene.pose(body.name, t)
        parts.append(_object(name, body, k))
        if body.shapes:
            parts.append(f"object {{ {name} {_matrix(quaternion, position)} }}")
    return "\n".join([*parts, *_skins(scene, t), *_lines(scene, t)]) + "\n"


def save_povray(
    scene: Scene,
    folder: str | Path,
    times: ArrayLike,
    camera: Camera | None = None,
    size: tuple[int, int] = (1280, 720),
) -> Path:
    """Write scene.pov, motion.inc (per body an array [frame][7]: position, axis, angle in degrees) and movie.ini.

    `povray movie.ini` in the folder renders one picture a time; returns the path of scene.pov.
    """
    moments = np.atleast_1d(np.asarray(times, dtype=float))
    if moments.size == 0:
        raise InputError("POV-Ray export: give at least one time")
    scene.check()
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_whole(target / "motion.inc", _motion(scene, moments))
    parts = ['#include "motion.inc"', _surroundings(scene, camera, size[0] / size[1]), _TURNED]
    parts.append("#declare Frame = frame_number;")
    for k, body in enumerate(scene.bodies):
        name = _name(k, body)
        parts.append(_object(name, body, k))
        if body.shapes:
            row = f"{name}_Motion[Frame]"
            axis, place = (f"<{row}[{i}], {row}[{i + 1}], {row}[{i + 2}]>" for i in (3, 0))
            parts.append(f"object {{ {name} Turned({axis}, {row}[6]) translate {place} }}")
    parts.append("#switch (Frame)")
    for frame, t in enumerate(moments):
        parts.append("\n".join([f"#case ({frame})", *_skins(scene, float(t)), *_lines(scene, float(t)), "#break"]))
    parts.append("#end")
    write_whole(target / "movie.ini", _settings(len(moments), size))
    return write_whole(target / "scene.pov", "\n".join(parts) + "\n")


def read_motion(text: str) -> dict[str, Array]:
    """The arrays (frames, 7) of a motion.inc by their declared names: the inverse of what `save_povray` writes."""
    arrays = {}
    for name, body in re.findall(r"#declare (\w+)_Motion = array\[\d+\]\[7\] \{(.*?)\n\}", text, re.DOTALL):
        rows = re.findall(r"\{([^{}]*)\}", body)
        arrays[name] = np.array([[float(number) for number in row.split(",")] for row in rows])
    return arrays


def _motion(scene: Scene, moments: Array) -> str:
    parts = []
    for k, body in enumerate(scene.bodies):
        poses = [scene.pose(body.name, float(t)) for t in moments]
        axis, angle = axis_angle(np.array([q for _, q in poses]))
        rows = np.column_stack([np.array([p for p, _ in poses]), axis, np.degrees(angle)])
        lines = ",\n".join("  {" + ", ".join(_number(x) for x in row) + "}" for row in rows)
        parts.append(f"#declare {_name(k, body)}_Motion = array[{len(rows)}][7] {{\n{lines}\n}}")
    return "\n".join(parts) + "\n"


def _settings(count: int, size: tuple[int, int]) -> str:
    return (
        "Input_File_Name=scene.pov\nOutput_File_Type=N\n"
        f"Width={size[0]}\nHeight={size[1]}\nAntialias=On\nAntialias_Threshold=0.2\n"
        f"Initial_Frame=0\nFinal_Frame={count - 1}\nInitial_Clock=0\nFinal_Clock={max(count - 1, 1)}\n"
    )


def _number(x: float) -> str:
    return repr(float(x) + 0.0)


def _vector(v: ArrayLike) -> str:
    return "<" + ", ".join(_number(x) for x in np.asarray(v)) + ">"


def _colour(text: str, opacity: float = 1.0) -> str:
    """POV-Ray's linear colour from a hexadecimal sRGB one."""
    match = re.fullmatch(r"#([0-9a-fA-F]{6})", text)
    if not match:
        raise InputError(f"colour '{text}' is not of the form #rrggbb")
    srgb = np.array([int(match[1][i : i + 2], 16) for i in (0, 2, 4)]) / 255
    return f"srgbt <{srgb[0]:.4f}, {srgb[1]:.4f}, {srgb[2]:.4f}, {1 - opacity:.4f}>"


def _name(k: int, body: Body) -> str:
    """A POV-Ray identifier for a body: names may hold any letters, so the number makes it unique."""
    return f"Body_{k}_" + re.sub(r"\W", "_", body.name, flags=re.ASCII)


def _matrix(quaternion: ArrayLike, position: ArrayLike) -> str:
    rotation = matrix_from_quaternion(quaternion)
    entries = [*rotation.T.ravel(), *np.asarray(position)]
    return "matrix <" + ", ".join(_number(x) for x in entries) + ">"


def _surroundings(scene: Scene, camera: Camera | None, aspect: float) -> str:
    view = camera or default_camera(scene, aspect)
    up, space = up_vector(scene), extent(scene)
    position, target = np.asarray(view.position), np.asarray(view.target)
    toward = (position - target) / np.linalg.norm(position - target)
    left = np.cross(toward, up)
    near = float(np.linalg.norm(position - target))
    edges = f"{_vector(0.5 * space.size * left)}, {_vector(0.5 * space.size * toward)}"
    lamp = target + 3 * space.size * (1.3 * up + 0.6 * toward + 0.7 * left)
    across = np.degrees(2 * np.arctan(np.tan(np.radians(view.fov) / 2) * aspect))
    return f"""#version 3.7;
global_settings {{ assumed_gamma 1.0 ambient_light rgb 1 }}
#declare Finish = finish {{ ambient 0.12 diffuse 0.72 specular 0.28 roughness 0.03 }}
background {{ srgb <0.95, 0.96, 0.97> }}
fog {{ fog_type 1 distance {_number(45 * near)} color srgb <0.95, 0.96, 0.97> }}
camera {{
  location {_vector(position)}
  sky {_vector(up)}
  up y
  right -x*{_number(aspect)}
  angle {_number(across)}
  look_at {_vector(target)}
}}
#declare Target = {_vector(target)};
light_source {{ {_vector(lamp)} rgb 0.95 area_light {edges}, 5, 5 adaptive 1 jitter parallel point_at Target }}
light_source {{ {_vector(position + 2 * space.size * up)} rgb 0.3 shadowless parallel point_at Target }}
plane {{
  {_vector(up)}, {_number(ground_height(scene, space))}
  pigment {{ srgb <0.9, 0.915, 0.93> }} finish {{ ambient 0.2 diffuse 0.7 }}
}}
"""


def _object(name: str, body: Body, k: int) -> str:
    if not body.shapes:
        return f"// {name} has no shape"
    colour = body.colour or PALETTE[k % len(PALETTE)]
    shapes = "\n".join("  " + _shape(shape, shape.colour or colour) for shape in body.shapes)
    return f"#declare {name} = union {{\n{shapes}\n}}"


def _shape(shape: Shape, colour: str) -> str:
    look = f"pigment {{ {_colour(colour, shape.opacity)} }} finish {{ Finish }}"
    if shape.kind in _SOLIDS:
        pose = _matrix(shape.quaternion, shape.position)
        text = _SOLIDS[shape.kind](**shape.sizes)
        return f"{text[:-1]} {look} {pose} }}"
    vertices, faces = shape.triangles()
    points = ", ".join(_vector(v) for v in vertices)
    corners = ", ".join(f"<{a}, {b}, {c}>" for a, b, c in faces)
    return f"mesh2 {{ vertex_vectors {{ {len(vertices)}, {points} }} face_indices {{ {len(faces)}, {corners} }} {look} }}"


def _pov_cylinder(radius: float, length: float) -> str:
    return f"cylinder {{ <0, 0, {-length / 2!r}>, <0, 0, {length / 2!r}>, {radius!r} }}"


def _pov_capsule(radius: float, length: float) -> str:
    balls = " ".join(f"sphere {{ <0, 0, {z!r}>, {radius!r} }}" for z in (-length / 2, length / 2))
    return f"merge {{ {balls} {_pov_cylinder(radius, length)} }}" if length else _pov_sphere(radius)


def _pov_sphere(radius: float) -> str:
    return f"sphere {{ <0, 0, 0>, {radius!r} }}"


def _pov_box(lx: float, ly: float, lz: float) -> str:
    half = np.array([lx, ly, lz]) / 2
    return f"box {{ {_vector(-half)}, {_vector(half)} }}"


def _pov_cone(r1: float, r2: float, length: float) -> str:
    return f"cone {{ <0, 0, {-length / 2!r}>, {r1!r}, <0, 0, {length / 2!r}>, {r2!r} }}"


def _pov_tube(outer: float, inner: float, length: float) -> str:
    return (
        f"difference {{ {_pov_cylinder(outer, length)} {_pov_cylinder(inner, 1.01 * length)} }}"
        if inner
        else (_pov_cylinder(outer, length))
    )


def _pov_torus(major: float, minor: float) -> str:
    # POV-Ray's torus lies about y
    return f"torus {{ {major!r}, {minor!r} rotate 90*x }}"


_SOLIDS: dict[str, Callable[..., str]] = {
    "box": _pov_box,
    "cylinder": _pov_cylinder,
    "tube": _pov_tube,
    "sphere": _pov_sphere,
    "capsule": _pov_capsule,
    "cone": _pov_cone,
    "torus": _pov_torus,
}


def _skins(scene: Scene, t: float) -> list[str]:
    """Surfaces that deform as meshes in the world, coloured at their vertices where they show a field; bars as thin cylinders."""
    found = []
    for k, body in enumerate(scene.bodies):
        if body.surface is None:
            continue
        position, quaternion = scene.pose(body.name, t)
        vertices, paint = skin(scene, body, t)
        world = vertices @ matrix_from_quaternion(quaternion).T + position
        own = body.colour or PALETTE[k % len(PALETTE)]
        thick = 0.004 * extent(scene).model_size
        for a, b in body.surface.lines:
            colour = own if paint is None else "#" + "".join(f"{round(255 * x):02x}" for x in 0.5 * (paint[a] + paint[b]))
            found.append(_rod(world[a], world[b], thick, _look(colour)))
        if len(body.surface.faces):
            found.append(_mesh(world, body.surface.faces, paint, own))
    return [text for text in found if text]


def _mesh(vertices: Array, faces: Faces, paint: Array | None, colour: str) -> str:
    points = ", ".join(_vector(v) for v in vertices)
    if paint is None:
        corners = ", ".join(f"<{a}, {b}, {c}>" for a, b, c in faces)
        return f"mesh2 {{ vertex_vectors {{ {len(vertices)}, {points} }} face_indices {{ {len(faces)}, {corners} }} {_look(colour)} }}"
    textures = ", ".join(f"texture {{ pigment {{ srgb <{r:.4f}, {g:.4f}, {b:.4f}> }} finish {{ Finish }} }}" for r, g, b in paint)
    corners = ", ".join(f"<{a}, {b}, {c}>, {a}, {b}, {c}" for a, b, c in faces)
    listed = f"texture_list {{ {len(paint)}, {textures} }}"
    return f"mesh2 {{ vertex_vectors {{ {len(vertices)}, {points} }} {listed} face_indices {{ {len(faces)}, {corners} }} }}"


def _lines(scene: Scene, t: float) -> list[str]:
    """Links and traces as chains of thin cylinders and arrows, in world components."""
    radius = 0.004 * extent(scene).model_size
    lines = []
    for link, line in links(scene, t):
        look = _look(link.colour or "#8f9aa6")
        thick = radius if link.kind.startswith("spring") else link.radius or 1.5 * radius
        lines += [_rod(a, b, thick, look) for a, b in pairwise(line)]
    for _, path in traces(scene, t):
        thin = path[:: max(1, len(path) // 400)]
        lines += [_rod(a, b, 0.6 * radius, _look("#c8675a")) for a, b in pairwise(thin)]
    for foot, tip in arrows(scene, t):
        lines += _arrow(foot, tip, 1.3 * radius, _look("#c94f4f"))
    return [line for line in lines if line]


def _look(colour: str) -> str:
    return f"pigment {{ {_colour(colour)} }} finish {{ Finish }}"


def _arrow(foot: Array, tip: Array, radius: float, look: str) -> list[str]:
    length = float(np.linalg.norm(tip - foot))
    if length < radius:
        return []
    neck = tip - (tip - foot) * min(6.5 * radius / length, 0.6)
    head = f"cone {{ {_vector(neck)}, {_number(2.7 * radius)}, {_vector(tip)}, 0 {look} }}"
    return [_rod(foot, neck, radius, look), head]


def _rod(a: Array, b: Array, radius: float, look: str) -> str:
    if np.linalg.norm(b - a) < 1e-9 * radius:
        return ""
    return f"cylinder {{ {_vector(a)}, {_vector(b)}, {_number(radius)} {look} }}"
