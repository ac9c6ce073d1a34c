"""From a model, a state or solutions to a scene: bodies with their shapes, joints, links, tracks and channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..model.bodies import Body as ModelBody
from ..model.bodies import Frame as ModelFrame
from ..model.constraints import Closure
from ..model.loads import LinkForce
from ..model.model import Model
from ..symbolic.graph import evaluate
from .rotation import matrix_from_quaternion, quaternion_from_matrix
from .scene import Body, Channel, Joint, Link, Mode, Plot, Run, Scene, Track
from .shape import Shape

#: Colours of bodies in order, calm and distinguishable.
COLOURS = ("#4c78a8", "#e08214", "#59a14f", "#b07aa1", "#c94f4f", "#76b7b2", "#9c755f", "#d4a72c")
#: Samples of a track beyond which a run is thinned for the page.
MOST_SAMPLES = 40_000


class _Numbers:
    """Numbers of a model's expressions for given parameter values."""

    def __init__(self, model: Model, parameters: Mapping[str, float] | None = None) -> None:
        self.values = dict(zip(model.parameter_set.symbols, model.parameter_set.values(parameters), strict=True))

    def __call__(self, e: Any) -> float:
        return float(evaluate(e, self.values)) if hasattr(e, "op") else float(e)

    def vector(self, v: Any) -> np.ndarray:
        return np.array([self(e) for e in v])

    def matrix(self, R: Any) -> np.ndarray:
        return np.array([self(e) for e in R.entries]).reshape(3, 3)


def scene_of(solutions: Any, plots: Sequence[str] | Sequence[Sequence[str]] = (), **options: Any) -> Scene:
    """A scene of one solution, or of several runs of the same model (the others as ghosts)."""
    runs = list(solutions) if isinstance(solutions, (list, tuple)) else [solutions]
    system = runs[0].system
    if system is None:
        raise InputError("this solution was loaded from a file without its model; simulate again, or use a saved page")
    scene = model_scene(system.model, system.parameters)
    scene.runs = [_run(s, f"run {i + 1}" if len(runs) > 1 else "run") for i, s in enumerate(runs)]
    groups = [[p] if isinstance(p, str) else list(p) for p in plots] or _default_plots(runs[0])
    scene.plots = [Plot(g) for g in groups]
    wanted = {name for g in groups for name in g}
    for s, run in zip(runs, scene.runs, strict=True):
        index = _kept(len(s.t))
        run.channels = [Channel(n, s[n][index], s.channel(n).unit) for n in sorted(wanted)]
    for key, value in options.items():
        setattr(scene, key, value)
    return scene


def model_scene(model: Model, parameters: Mapping[str, float] | None = None) -> Scene:
    """The model at its neutral position: shapes given by the user, or invented from the points that matter on a body."""
    number = _Numbers(model, parameters)
    size = _model_size(model, number)
    bodies = []
    for i, body in enumerate(model.all_bodies):
        colour = body.colour or ("#8a8f98" if body.is_ground else COLOURS[(i - 1) % len(COLOURS)])
        shapes = _given_shapes(body, number) or ([] if body.is_ground else _invented_shapes(model, body, number, size))
        if shapes or not body.is_ground:
            bodies.append(Body(body.name, shapes, info=_info(body, number), colour=colour))
    return Scene(model.name, bodies, up=_up(model, number), joints=_joints(model, number, size), links=_links(model, number))


def _up(model: Model, number: _Numbers) -> str:
    g = number.vector(model.gravity)
    if not np.any(g):
        return "z"
    return "xyz"[int(np.argmax(np.abs(g)))]


def _default_plots(solution: Any) -> list[list[str]]:
    names = [n for n in solution.system.coordinate_names if ".orientation." not in n][:3]
    return [[n] for n in names]


def _kept(n: int) -> np.ndarray:
    """Rows of a long solution that are drawn."""
    if n <= MOST_SAMPLES:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, MOST_SAMPLES).round().astype(int))


def _run(solution: Any, name: str) -> Run:
    system = solution.system
    index = _kept(len(solution.t))
    keep = np.concatenate([[True], np.diff(solution.t[index]) > 0])
    index = index[keep]
    t = solution.t[index]
    q = np.column_stack([solution[n][index] for n in system.coordinate_names]) if system.nq else np.zeros((len(t), 0))
    p, R = system.function("poses")(t[:, None], q)
    tracks = {b: Track(p[:, i], quaternion_from_matrix(R[:, i])) for i, b in enumerate(system.model.bodies)}
    return Run(t, tracks, name)


def mode_scene(system: Any, state: Any, modes: Sequence[tuple[str, np.ndarray, float, float]]) -> Scene:
    """A scene with mode shapes: each a name, a complex displacement of the velocities' directions, frequency and damping."""
    scene = model_scene(system.model, system.parameters)
    p0, R0 = system.function("poses")(np.array([state.t]), state.q)
    placed = {b: (p0[i], quaternion_from_matrix(R0[i])) for i, b in enumerate(system.model.bodies)}
    for body in scene.bodies:
        if body.name in placed:
            body.position, body.quaternion = placed[body.name]
    for name, shape, frequency, damping in modes:
        displacements = {}
        for b in system.model.bodies:
            f = system.function("frame", path=b)
            jacobian = np.asarray(f(state.q, state.v, np.zeros(system.nv), *_extra(f, system, state))[4])
            motion = jacobian @ shape
            displacements[b] = (motion[:3], motion[3:])
        scene.modes.append(Mode(name, displacements, frequency, damping))
    return scene


def _extra(f: Any, system: Any, state: Any) -> list[np.ndarray]:
    known = {"t": np.array([state.t]), "z": state.z, "u": system.input_values()}
    return [known[n] for n in list(f.inputs)[3:]]


# --- shapes ------------------------------------------------------------------------------------------------------


def _given_shapes(body: ModelBody, number: _Numbers) -> list[Shape]:
    shapes: list[Shape] = []
    for solid in body.shapes:
        shapes += _drawings(solid.numeric(number).primitive())
    return shapes


def _drawings(drawing: dict[str, Any]) -> list[Shape]:
    """A primitive of the model room as shapes of the scene (groups opened, names of dimensions translated)."""
    data = dict(drawing)
    p, R = np.asarray(data.pop("position", (0, 0, 0)), float), np.asarray(data.pop("rotation", np.eye(3)), float)
    colour = data.pop("colour", None)
    if data["kind"] == "group":
        found = []
        for part in data["parts"]:
            for shape in _drawings(part):
                own = Shape.from_dict({**_as_dict(shape), "p": p + R @ np.asarray(shape.position), "R": R @ matrix_from_quaternion(shape.quaternion)})
                found.append(own)
        return found
    if data["kind"] == "box":
        data["lx"], data["ly"], data["lz"] = data.pop("size")
    renamed = {_DIMENSIONS.get(k, k): v for k, v in data.items()}
    return [Shape.from_dict({**renamed, "p": p, "R": R, **({"colour": colour} if colour else {})})]


_DIMENSIONS = {"ring_radius": "major", "tube_radius": "minor"}


def _as_dict(shape: Shape) -> dict[str, Any]:
    return {"kind": shape.kind, **shape.sizes, **({"colour": shape.colour} if shape.colour else {})}


def _points(model: Model, body: ModelBody, number: _Numbers) -> list[np.ndarray]:
    """Points of a body that joints, loops and links use, and its centre of mass."""
    frames: list[ModelFrame] = []
    for joint in model.joints.values():
        frames += [f for f in (joint.parent, joint.child) if f.body is body]
    for c in model.constraints.values():
        frames += [f for f in (getattr(c, "a", None), getattr(c, "b", None)) if f is not None and f.body is body]
    for load in model.loads.values():
        if isinstance(load, LinkForce):
            frames += [f for f in load.points if f.body is body]
    points = [number.vector(f.position) for f in frames]
    mass = number(body.mass)
    if mass > 0:
        points.append(number.vector(body.moment) / mass)
    return points


def _model_size(model: Model, number: _Numbers) -> float:
    """A length typical of the model, m."""
    lengths = [np.linalg.norm(a - b) for body in model.bodies.values() for pts in [_points(model, body, number)] for a in pts for b in pts]
    far = [float(x) for x in lengths if x > 1e-9]
    return float(np.median(far)) if far else 1.0


def _invented_shapes(model: Model, body: ModelBody, number: _Numbers, size: float) -> list[Shape]:
    """Rods from the body's first point to the others, and a ball where there is a single point."""
    points = _points(model, body, number)
    if number(body.mass) == 0 and len(points) < 2:
        return []
    unique: list[np.ndarray] = []
    for p in points:
        if all(np.linalg.norm(p - o) > 1e-6 * size for o in unique):
            unique.append(p)
    if len(unique) < 2:
        return [Shape.from_dict({"kind": "sphere", "radius": 0.12 * size, "p": unique[0] if unique else np.zeros(3)})]
    return [_rod(unique[0], other, 0.045 * size) for other in unique[1:]]


def _rod(a: np.ndarray, b: np.ndarray, radius: float) -> Shape:
    d = b - a
    length = float(np.linalg.norm(d))
    z = d / length
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    R = np.column_stack([x, np.cross(z, x), z])
    return Shape.from_dict({"kind": "capsule", "radius": radius, "length": length, "p": 0.5 * (a + b), "R": R})


def _info(body: ModelBody, number: _Numbers) -> dict[str, Any]:
    if body.is_ground:
        return {}
    mass = number(body.mass)
    info: dict[str, Any] = {"mass": f"{mass:.6g} kg"}
    if mass > 0:
        info["centre of mass"] = ", ".join(f"{x:.4g}" for x in number.vector(body.moment) / mass) + " m"
    return info


def _joints(model: Model, number: _Numbers, size: float) -> list[Joint]:
    found = []
    for joint in model.joints.values():
        if not joint.motions:
            continue
        frame = joint.parent
        axis = number.matrix(frame.rotation) @ number.vector(joint.motions[-1].axis)
        body = None if frame.body.is_ground else frame.body.name
        found.append(Joint(joint.name, _JOINT_KINDS.get(joint.kind, joint.kind), body, number.vector(frame.position), axis, 0.12 * size))
    return found


_JOINT_KINDS = {"helical": "cylindrical", "sequence": "free"}


def _links(model: Model, number: _Numbers) -> list[Link]:
    found = []
    for load in model.loads.values():
        if not isinstance(load, LinkForce):
            continue
        kind = {"spring": "spring", "damper": "damper"}.get(load.kind, "line")
        ends = [(None if f.body.is_ground else f.body.name, number.vector(f.position)) for f in load.points]
        for i, (a, b) in enumerate(zip(ends, ends[1:], strict=False)):
            found.append(Link(load.name if len(ends) == 2 else f"{load.name}.{i + 1}", kind, a, b))
    for name, c in model.constraints.items():
        if isinstance(c, Closure) and c.kind == "rod":
            ends = [(None if f.body.is_ground else f.body.name, number.vector(f.position)) for f in (c.a, c.b)]
            found.append(Link(name, "rod", ends[0], ends[1]))
    return found
