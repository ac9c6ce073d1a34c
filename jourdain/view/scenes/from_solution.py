"""From a model, a state, modes or solutions to a scene: bodies with their shapes, joints, links, tracks, traces and arrows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import InputError, SolverError, short
from ...model.bodies import Body as ModelBody
from ...model.bodies import Frame as ModelFrame
from ...model.constraints import Closure
from ...model.elastic.flexible import FlexibleBody, PartBody
from ...model.model import Model
from ...model.units import quantity
from ...results.refine import refined
from ..rotation import Array, matrix_from_quaternion, quaternion_from_matrix
from ..scene import LINK_KINDS, Anchor, Arrow, Body, Channel, Joint, Link, Mode, Plot, Point, Run, Scene, Track
from ..shape import Shape
from .default_shapes import Numbers, bearing, distinct, invented_shapes, joint_axis, model_size, rail
from .given_shapes import given_shapes
from .surface import Surface
from .telescopes import telescopes

#: Colours of bodies in order, calm and distinguishable.
COLOURS = ("#4c78a8", "#e08214", "#59a14f", "#b07aa1", "#c94f4f", "#76b7b2", "#9c755f", "#d4a72c")
GROUND_COLOUR = "#9aa1ab"
#: Samples of a track beyond which a run is thinned for the page.
MOST_SAMPLES = 40_000
#: Attributes of a scene that may be given with a solution.
OPTIONS = ("camera", "follow", "ground", "up", "metadata", "name")


def scene_of(
    solutions: Any, plots: Sequence[str] | Sequence[Sequence[str]] = (), trace: Sequence[str] = (), forces: Sequence[str] = (),
    system: Any = None, fine: int = 400, stress: Mapping[str, str] | str | None = None, exaggerate: float = 1.0, static: bool = True,
    pieces: bool = False, at: Any = None, **options: Any,
) -> Scene:  # fmt: skip
    """A scene of one solution, or of several runs of the same model (the others as ghosts).

    ``plots`` are channels shown beside the motion, a group for each diagram; ``trace`` paths of frames whose path is drawn;
    ``forces`` joints whose reaction force is drawn as an arrow, and contacts whose forces are drawn where bodies touch.  A solution that was read from a file needs the ``system`` it
    belongs to.  Between the steps of a method the motion is interpolated, so that a run has at least ``fine`` samples (0: its own).
    ``stress`` colours flexible bodies: what to show by body, or one word for all, such as "von mises", "displacement", "strain", "Mz";
    colours have the static share of joints, loads and inertia, as ``system.recover`` has (``static=False``: of the modes alone);
    ``exaggerate`` deforms them so many times more than they are.  ``pieces``: more of the same motion is to follow, whose amplitudes must mean the same.
    ``at`` (s): the scene is looked at in this instant alone, so that forces of contacts are found there and nowhere else.
    Options are ``camera``, ``follow`` (a body), ``ground`` (height of the plane, m), ``up``, ``name``.

    >>> import jourdain as jd
    >>> m = jd.Model("pendulum")
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -0.5)), axis="y")
    >>> sol = m.compile().simulate({"hinge": 1.0}, t=1.0)
    >>> [b.name for b in sol.scene().bodies]
    ['ground', 'bob']
    """
    first = solutions[0] if isinstance(solutions, (list, tuple)) else solutions
    if system is None and hasattr(first.system, "handles"):
        from .from_assembled import assembled_scene

        if stress is not None or exaggerate != 1.0:
            raise InputError("stress and exaggerate concern flexible bodies of models; a system of elements has none")
        return assembled_scene(first, plots, trace, COLOURS, **options)
    whole = first.system if system is None else system
    if getattr(whole, "parts", None) and all(f"{b}.rotation" in first for b in list(whole.model.bodies)[:1]):
        from .from_parts import parts_scene

        if exaggerate != 1.0 or forces:
            raise InputError("scene: parts of large deformation are shown as they are; leave out exaggerate and forces")
        return parts_scene(first, plots, trace, stress, whole, **options)
    runs = [refined(s, fine) if fine else s for s in (solutions if isinstance(solutions, (list, tuple)) else [solutions])]
    system = _system_of(runs[0], system)
    unknown = set(options) - set(OPTIONS)
    if unknown:
        raise InputError(
            f"scene: option '{min(unknown)}' is unknown; use plots, trace, forces, stress, exaggerate, system, {', '.join(OPTIONS)}"
        )
    number = Numbers(system.model, _parameters_of(runs[0], system))
    tracks = [_run(s, system, f"run {i + 1}" if len(runs) > 1 else "run") for i, s in enumerate(runs)]
    scene = model_bodies(system.model, number, tracks[0].bodies)
    scene.runs = tracks
    groups = [_plotted(p, runs[0]) for p in plots] or _default_plots(system)
    scene.plots = [Plot(g) for g in groups]
    wanted = sorted({name for g in groups for name in g})
    for s, run in zip(runs, scene.runs, strict=True):
        index = _kept(len(s.t))
        run.channels = [Channel(n, s[n][index], s.channel(n).unit) for n in wanted]
    scene.exaggeration = float(exaggerate)
    for path in trace:
        body, position, node = _traced(system.model, path, number)
        if node is not None and body is not None:
            add_node(scene.body(body), system.model.bodies[body], node)
        scene.points.append(Point(path, body, position, node=node))
    bending = _bending(system.model)
    if bending and not pieces:
        from .curved_shape import draw_few

        draw_few(scene, {b.name: b.part for b in bending})
    show_stress(scene, stress)
    if stress is not None and static and not system.model.contacts:
        from .static_share import add_static_share

        add_static_share(scene, [(s, _kept(len(s.t))) for s in runs], system, few=not pieces)
    own = [name for name in forces if name in system.model.contacts]
    _add_forces(scene, runs, system, number, [name for name in forces if name not in own])
    if own:
        from .contact_arrows import add_contact_arrows

        given = solutions if isinstance(solutions, (list, tuple)) else [solutions]
        for name in own:
            shown = [(s, np.asarray(run.times)) for s, run in zip(given, scene.runs, strict=True)]
            add_contact_arrows(scene, shown, name, None if at is None else quantity(at, "s"))
    for key, value in options.items():
        setattr(scene, key, value)
    return scene


def model_scene(model: Model, parameters: Mapping[str, float] | None = None) -> Scene:
    """The model where all coordinates are zero, with its loops closed if they can be; the model is compiled for it.

    Shapes are those given, or invented from the points that matter on a body.
    """
    system = model.compile()
    if parameters:
        system.set_parameters(**parameters)
    try:
        return state_scene(system, system.assemble({}) if system.equations_of_motion.rows else None)
    except (SolverError, np.linalg.LinAlgError):  # all zero may be a singular position
        return state_scene(system)


def state_scene(system: Any, state: Any = None) -> Scene:
    """The model at a state (an assembled position, an equilibrium), without a motion."""
    system = getattr(system, "reference", system)  # a formulation shows its reference system
    state = getattr(state, "state", state)
    state = system.state(state)
    placed = _placed(system, state)
    tracks = {b: Track(p[None], q[None]) for b, (p, q) in placed.items()}
    scene = model_bodies(system.model, Numbers(system.model, system.parameters), tracks)
    bent = _bent(system, lambda n: state.q[system.coordinate_names.index(n)])
    for body in scene.bodies:
        if body.name in placed:
            body.position, body.quaternion = placed[body.name]
            body.amplitudes = bent.get(body.name)
    return scene


def mode_scene(system: Any, state: Any, modes: Sequence[tuple[str, np.ndarray, float, float]]) -> Scene:
    """A scene with mode shapes: each a name, a complex displacement of the velocities' directions, frequency (Hz) and damping."""
    scene = state_scene(system, state)
    for name, shape, frequency, damping in modes:
        displacements = {}
        for b in system.model.bodies:
            f = system.function("frame", path=b)
            jacobian = np.asarray(f(state.q, state.v, np.zeros(system.nv), *_extra(f, system, state))[4])
            motion = jacobian @ shape
            displacements[b] = (motion[:3], motion[3:])
        scene.modes.append(Mode(name, displacements, frequency, damping, _bending_shapes(system, state, shape)))
    return scene


def _bending_shapes(system: Any, state: Any, shape: np.ndarray) -> dict[str, Any]:
    """Amplitudes of the flexible bodies in a mode about a state."""
    q, moved = dict(zip(system.coordinate_names, state.q, strict=True)), dict(zip(system.velocity_names, shape, strict=True))
    found = {}
    for body in _bending(system.model):
        from .curved_shape import amplitude_changes

        names = [c.names[0] for c in body.modes]
        e, change = np.array([q[n] for n in names]), np.array([moved[f"{n}_rate"] for n in names])
        found[body.name] = amplitude_changes(body.part, e, change)
    return found


def scene_of_modes(modes: Any, stress: Mapping[str, str] | str | None = None) -> Scene:
    """A scene with the modes that ``system.modal(…)`` found, each named by its number, frequency and damping.

    ``stress`` colours flexible bodies as in :func:`scene_of`.

    >>> import jourdain as jd
    >>> m = jd.Model("oscillator", gravity=(0, 0, 0))
    >>> m.joint_spring(m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x"), stiffness=100.0) is None
    False
    >>> [mode.name for mode in scene_of_modes(m.compile().modal()).modes]
    ['1: 1.592 Hz, ζ = 0 %']
    """
    named = [(f"{m.number}: {_mode_label(m)}", m.shape, m.frequency, m.damping_ratio) for m in modes if np.any(m.shape)]
    scene = mode_scene(modes.system, modes.linear.state, named)
    show_stress(scene, stress)
    return scene


def _mode_label(m: Any) -> str:
    if m.kind != "oscillation":
        return str(m.kind)
    return f"{m.frequency:.4g} Hz, ζ = {100 * m.damping_ratio + 0.0:.3g} %".replace("-0 %", "0 %")


def _system_of(solution: Any, system: Any) -> Any:
    """The system a solution belongs to; one read from a file does not know it."""
    own = solution.system if system is None else system
    if own is None:
        raise InputError(
            "this solution was read from a file, which holds no model; give it: sol.scene(system=model.compile()), "
            "or `jourdain view RUN --model MODEL`"
        )
    missing = [n for n in own.coordinate_names if n not in solution]
    if missing:
        raise InputError(f"the solution has no channel '{missing[0]}', a coordinate of '{own.model.name}'; is it a run of another model?")
    return own


def _parameters_of(solution: Any, system: Any) -> dict[str, float]:
    """Parameter values of the run where it recorded them, else the system's."""
    known = system.parameters
    return known | {n: v for n, v in dict(solution.metadata.get("parameters", {})).items() if n in known}


def _plotted(given: Any, sol: Any) -> list[str]:
    """The channels of one plot, by names or patterns."""
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"scene: plots hold {short(given)}; give names of channels, or lists of names for plots of several")
    return [found for name in names for found in ((sol.names(name) or [name]) if "*" in name else [name])]


def _default_plots(system: Any) -> list[list[str]]:
    names = [n for n in system.coordinate_names if ".orientation." not in n][:3]
    return [[n] for n in names]


def _kept(n: int) -> np.ndarray:
    """Rows of a long solution that are drawn."""
    if n <= MOST_SAMPLES:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, MOST_SAMPLES).round().astype(int))


def _run(solution: Any, system: Any, name: str) -> Run:
    index = _kept(len(solution.t))
    t = solution.t[index]
    q = np.column_stack([solution[n][index] for n in system.coordinate_names]) if system.nq else np.zeros((len(t), 0))
    before = system.parameters
    try:
        # a run may have been made with other parameter values than the system has now
        system.set_parameters(**_parameters_of(solution, system))
        p, R = system.function("poses")(t[:, None], q)
    finally:
        system.set_parameters(**before)
    tracks = {b: Track(p[:, i], quaternion_from_matrix(R[:, i])) for i, b in enumerate(system.model.bodies)}
    events = [(e.t, e.name) for e in solution.events]
    return Run(t, tracks, name, amplitudes=_bent(system, lambda n: solution[n][index]), events=events)


def _bent(system: Any, value: Callable[[str], Any]) -> dict[str, Any]:
    """Amplitudes of the flexible bodies' surfaces, from what is known of each coordinate by its name."""
    found = {}
    for body in _bending(system.model):
        from .curved_shape import all_amplitudes

        found[body.name] = all_amplitudes(body.part, np.stack([np.asarray(value(c.names[0])) for c in body.modes], axis=-1))
    return found


def _bending(model: Model) -> list[FlexibleBody]:
    return [b for b in model.bodies.values() if isinstance(b, FlexibleBody)]


def show_stress(scene: Scene, stress: Mapping[str, str] | str | None) -> None:
    """Colours surfaces by a field, of each body or of all that know it."""
    bending = {b.name: b.surface for b in scene.bodies if b.surface is not None}
    if isinstance(stress, str):
        if not bending:
            raise InputError(f"stress = '{stress}': '{scene.name}' has no flexible body to colour")
        stress = dict.fromkeys(bending, stress)
    for name, shown in (stress or {}).items():
        if name not in bending:
            raise InputError(f"stress: '{name}' is no flexible body of '{scene.name}'; there is {', '.join(bending) or 'none'}")
        try:
            bending[name].show(shown)
        except InputError as error:
            raise InputError(f"stress of '{name}': {error}") from None


def _traced(model: Model, path: str, number: Numbers) -> tuple[str | None, Array, str | None]:
    """Body, place and node of a frame; nodes of flexible bodies may be named that the model itself does not use."""
    for body in model.bodies.values():
        tail = path.removeprefix(f"{body.name}.")
        if isinstance(body, PartBody) and tail != path and tail not in body.frames:
            point = body.part.point(tail)
            return body.name, np.asarray(point.position), point.name if isinstance(body, FlexibleBody) else None
    frame = model.frame(path)
    return _name(frame.body), number.vector(frame.position), frame.node


def add_node(body: Body, of: ModelBody, node: str) -> None:
    """Gives the surface of a body a node that things are fastened to."""
    if isinstance(of, FlexibleBody) and body.surface is not None and node not in body.surface.nodes:
        from .from_structure import node_of

        body.surface.nodes[node] = node_of(of.part, node)


def _surface(body: ModelBody) -> Surface | None:
    """The surface of a flexible body; structures are imported where there are any."""
    if not isinstance(body, PartBody):
        return None
    from .from_structure import surface_of

    return surface_of(body.part)


def _placed(system: Any, state: Any) -> dict[str, tuple[Array, Array]]:
    p, R = system.function("poses")(np.array([state.t]), state.q)
    return {b: (p[i], quaternion_from_matrix(R[i])) for i, b in enumerate(system.model.bodies)}


def _extra(f: Any, system: Any, state: Any) -> list[np.ndarray]:
    known = {"t": np.array([state.t]), "z": state.z, "u": system.input_values()}
    return [known[n] for n in list(f.inputs)[3:]]


def _add_forces(scene: Scene, runs: list[Any], system: Any, number: Numbers, joints: Sequence[str]) -> None:
    """Arrows of reaction forces (on the joint's child) at the joint's place on the parent."""
    for name in joints:
        joint = system.model.joints.get(name)
        if joint is None:
            raise InputError(
                f"scene: there is no joint or contact '{name}' whose force could be drawn; there are {', '.join([*system.model.joints, *system.model.contacts])}"
            )
        scene.arrows.append(Arrow(f"{name}.reaction"))
        body, at = _name(joint.parent.body), number.vector(joint.parent.position)
        for s, run in zip(runs, scene.runs, strict=True):
            index = _kept(len(s.t))
            origin = np.tile(at, (len(index), 1))
            if body is not None:
                track = run.bodies[body]
                if joint.parent.node is not None:
                    node, bent = scene.node(body, joint.parent.node), np.asarray(run.amplitudes[body])
                    origin = np.array([node.moved(at, e, scene.exaggeration) for e in bent])
                turned = np.einsum("tij,tj->ti", matrix_from_quaternion(np.asarray(track.quaternions)), origin)
                origin = np.asarray(track.positions) + turned
            run.arrows[f"{name}.reaction"] = (origin, s[f"{name}.reaction"][index])


# --- what does not move ------------------------------------------------------------------------------------------


def model_bodies(model: Model, number: Numbers, tracks: Mapping[str, Track]) -> Scene:
    """Bodies, joints, links and bearings; ``tracks`` tell where bodies move, for the bearings' sake."""
    size, up = model_size(model, number), _up(model, number)
    instead, beside = telescopes(model, number, size, tracks)
    colours = _colours(model)
    bodies = []
    for body in model.all_bodies:
        shapes = given_shapes(body, number)
        surface = _surface(body)
        if not shapes and surface is None:
            if body.is_ground:
                shapes = _supports(model, number, size, up, tracks)
            else:
                shapes = instead.get(body.name) or [*invented_shapes(model, body, number, size), *beside.get(body.name, ())]
        colour = body.colour or (GROUND_COLOUR if body.is_ground else colours[body.name])
        if shapes or not body.is_ground:
            bodies.append(Body(body.name, shapes, info=_info(body, number), colour=colour, surface=surface))
            for node in body.nodes if isinstance(body, FlexibleBody) else ():
                add_node(bodies[-1], body, node)
    joints = _joints(model, number, size)
    return Scene(model.name, bodies, up=up, joints=joints, links=_links(model, number))


def _colours(model: Model) -> dict[str, str]:
    """A colour for each body, in order, other than those of the bodies that joints and loops join to it."""
    near: dict[str, set[str]] = {b: set() for b in (model.ground.name, *model.bodies)}
    ends = [(j.parent.body.name, j.child.body.name) for j in model.joints.values()]
    ends += [(c.a.body.name, c.b.body.name) for c in model.constraints.values() if isinstance(c, Closure)]
    for a, b in ends:
        near[a].add(b)
        near[b].add(a)
    found: dict[str, str] = {}
    for i, name in enumerate(model.bodies):
        taken = {found.get(n) or getattr(model.bodies.get(n), "colour", None) for n in near[name]}
        order = [COLOURS[(i + k) % len(COLOURS)] for k in range(len(COLOURS))]
        found[name] = next((c for c in order if c not in taken), order[0])
    return found


def _up(model: Model, number: Numbers) -> str:
    """Against gravity; without gravity z, or y for a plane model in x and y."""
    g = number.vector(model.gravity)
    if np.any(g):
        k = int(np.argmax(np.abs(g)))
        return ("" if g[k] < 0 else "-") + "xyz"[k]
    turns = [joint_axis(j, number) for j in model.joints.values() if j.kind == "revolute"]
    plane = bool(turns) and all(a is not None and abs(a[2]) > 1 - 1e-9 for a in turns)
    return "y" if plane else "z"


def _supports(model: Model, number: Numbers, size: float, up: str, tracks: Mapping[str, Track]) -> list[Shape]:
    """Bearings of joints on the ground and rails of sliders."""
    upwards = np.eye(3)["xyz".index(up[-1])] * (-1.0 if up.startswith("-") else 1.0)
    shapes: list[Shape] = []
    taken: list[Array] = []
    for joint in model.joints.values():
        if not joint.parent.body.is_ground or joint.kind not in ("revolute", "spherical", "universal", "prismatic", "cylindrical"):
            continue
        p, axis = number.vector(joint.parent.position), joint_axis(joint, number)
        if joint.kind in ("prismatic", "cylindrical") and axis is not None:
            low, high = _travel(joint.child.body, p, axis, tracks)
            shapes.append(rail(p, axis, low, high, size))
        elif len(distinct([*taken, p])) > len(taken):
            taken.append(p)
            shapes += bearing(p, axis, upwards, size, below=not _hangs(joint.child.body, p, number, upwards, tracks))
    closures = [c for c in model.constraints.values() if isinstance(c, Closure) and c.kind in ("revolute", "ball", "spherical", "rod")]
    for c, frame in [(closure, f) for closure in closures for f in (closure.a, closure.b) if f.body.is_ground]:
        p = number.vector(frame.position)
        if len(distinct([*taken, p])) > len(taken):
            taken.append(p)
            turn = np.asarray(number.matrix(frame.rotation) @ number.vector(c.data)) if c.kind == "revolute" else None
            shapes += bearing(p, turn, upwards, size, below=True)
    return shapes


def _travel(body: ModelBody, p: Array, axis: Array, tracks: Mapping[str, Track]) -> tuple[float, float]:
    if body.name not in tracks:
        return 0.0, 0.0
    along = (np.asarray(tracks[body.name].positions) - p) @ axis
    return float(along.min()), float(along.max())


def _hangs(body: ModelBody, p: Array, number: Numbers, up: Array, tracks: Mapping[str, Track]) -> bool:
    """Whether a body's centre of mass is most of the time well below the point that carries it."""
    com = number.com(body)[None]
    if body.name in tracks:
        track = tracks[body.name]
        com = np.asarray(track.positions) + matrix_from_quaternion(np.asarray(track.quaternions)) @ com[0]
    depth = (p - com) @ up
    return bool(np.mean(depth) > 0.35 * np.mean(np.linalg.norm(com - p, axis=1)))


def _info(body: ModelBody, number: Numbers) -> dict[str, Any]:
    if body.is_ground:
        return {}
    info: dict[str, Any] = {"mass": float(f"{number(body.mass):.6g}")}
    if number(body.mass) > 0:
        info["centre of mass"] = ", ".join(f"{x + 0.0:.4g}" for x in number.com(body).round(12)) + " m"
    return info


def _name(body: ModelBody) -> str | None:
    return None if body.is_ground else body.name


def _joints(model: Model, number: Numbers, size: float) -> list[Joint]:
    found = []
    for joint in model.joints.values():
        drawn = all(f.body.shapes for f in (joint.parent, joint.child))
        if not joint.motions or drawn:  # who draws both bodies draws the hinge between them, too
            continue
        frame = joint.parent
        axis = number.matrix(frame.rotation) @ number.vector(joint.motions[-1].axis)
        place = _name(frame.body), number.vector(frame.position)
        kind = _JOINT_KINDS.get(joint.kind, joint.kind)
        found.append(Joint(joint.name, kind, *place, axis, _GLYPH.get(joint.kind, 0.1) * size, frame.node))
    for name, c in model.constraints.items():
        if isinstance(c, Closure) and c.kind != "rod":
            axis = number.matrix(c.a.rotation) @ number.vector(c.data) if c.kind == "revolute" else np.array([0.0, 0.0, 1.0])
            kind = "revolute" if c.kind == "revolute" else "spherical"
            label = name if name not in model.joints else f"{name} (closure)"
            found.append(Joint(label, kind, _name(c.a.body), number.vector(c.a.position), axis, 0.09 * size, c.a.node))
    return found


_JOINT_KINDS = {"helical": "cylindrical", "sequence": "free"}
#: Sizes of joint symbols relative to the model's typical length.
_GLYPH = {"revolute": 0.12, "prismatic": 0.05, "planar": 0.03, "spherical": 0.09}


def _links(model: Model, number: Numbers) -> list[Link]:
    found = []

    def anchor(frame: ModelFrame) -> Anchor:
        return _name(frame.body), number.vector(frame.position)

    for load in model.loads.values():
        style, points = load.line
        for i, (a, b) in enumerate(pairwise(points)):
            name = load.name if len(points) == 2 else f"{load.name}.{i + 1}"
            found.append(Link(name, style if style in LINK_KINDS else "line", anchor(a), anchor(b), nodes=(a.node, b.node)))
    for name, c in model.constraints.items():
        if isinstance(c, Closure) and c.kind == "rod":
            found.append(Link(name, "rod", anchor(c.a), anchor(c.b), nodes=(c.a.node, c.b.node)))
    return found
