"""From a run with parts of large deformation to a scene: surfaces of solids and beams that follow the nodes of the run, coloured by stress.

A surface of the view moves by a few amplitudes.  Here its shapes are those of the motion itself, found by singular values of all places of its
vertices over the run (proper orthogonal decomposition), as many as are needed for 1e-4 of its size; a field such as von Mises' stress has its own ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import InputError
from ...systems.assembled.flexible.beam_parts import BeamPart
from ...systems.assembled.flexible.cable_parts import CablePart
from ...systems.assembled.flexible.parts import Part, SolidPart
from ..rotation import quaternion_from_matrix
from ..scene import Body, Channel, Plot, Point, Run, Scene, Track
from .default_shapes import Numbers
from .from_structure import SOLIDS, outer_faces
from .surface import Field, Surface

#: Frames of a run that are shown at most, and part of its size to which a surface is right.
MOST, EXACT = 400, 1e-4
#: Channels drawn beside the motion when none are named.
BOOKS = ["energy.kinetic", "energy.potential", "energy.total"]


def parts_scene(
    solution: Any, plots: Sequence[Any] = (), trace: Sequence[str] = (), stress: Mapping[str, str] | str | None = None, system: Any = None,
    **options: Any,
) -> Scene:  # fmt: skip
    """The motion of rigid bodies and of the parts they carry; ``trace`` names bodies whose path is drawn, ``stress`` fields that colour parts; a solution from a file needs its ``system``."""
    from .from_solution import model_bodies, show_stress

    system = solution.system if system is None else system
    model, number = system.model, Numbers(system.model, system.parameters)
    index = np.unique(np.linspace(0, len(solution.t) - 1, min(MOST, len(solution.t))).round().astype(int))
    carried = {s.frame.body.name for p in system.parts for s in p.seats.values() if not number(s.frame.body.mass) > 0.0}
    tracks = {b: _track(solution, b, index) for b in model.bodies}
    shown, floating = copy(model), {f"{p.name}.{n}{end}" for p in system.parts for n in p.seats for end in ("", ".free")}
    shown.joints = {n: j for n, j in model.joints.items() if j.kind != "free" or n not in floating}
    scene = model_bodies(shown, number, tracks)
    for body in scene.bodies:
        if body.name in carried:
            body.shapes = []
    run = Run(solution.t[index], tracks, events=[(e.t, e.name) for e in solution.events])
    for part in system.parts:
        surface, amplitudes = surface_of_part(part, solution, index, number)
        scene.bodies.append(Body(part.name, [], colour=part.body.colour or "#7f8fa6", surface=surface, amplitudes=amplitudes[0]))
        run.bodies[part.name] = Track(np.zeros((len(index), 3)))
        run.amplitudes[part.name] = amplitudes
    scene.runs = [run]
    groups = [[p] if isinstance(p, str) else list(p) for p in plots] or [[n for n in BOOKS if n in solution]]
    scene.plots = [Plot(g) for g in groups]
    run.channels = [Channel(n, solution[n][index], solution.channel(n).unit) for n in sorted({n for g in groups for n in g})]
    for name in trace:
        if name not in run.bodies:
            raise InputError(f"scene: there is no body '{name}' to trace; there are {', '.join(run.bodies)}")
        scene.points.append(Point(name, name))
    show_stress(scene, stress)
    for key, value in options.items():
        setattr(scene, key, value)
    return scene


def _track(solution: Any, body: str, index: np.ndarray) -> Track:
    return Track(solution[f"{body}.position"][index], quaternion_from_matrix(solution[f"{body}.rotation"][index]))


def surface_of_part(part: Part, solution: Any, index: np.ndarray, number: Numbers) -> tuple[Surface, np.ndarray]:
    """The surface of a part in the world, and its amplitudes (frames × k)."""
    if isinstance(part, SolidPart):
        vertices, faces, fields = _solid(part, solution, index, number)
    else:
        assert isinstance(part, BeamPart)
        vertices, faces, fields = _tubes(part, solution, index, number)
    first = vertices[0]
    size = max(float(np.ptp(vertices.reshape(-1, 3), axis=0).max()), 1e-12)
    tables = [((vertices - first).reshape(len(index), -1), EXACT * size)]
    tables += [(values, 1e-3 * max(float(np.abs(values).max()), 1e-300)) for _, _, values in fields]
    found = [_decomposed(*table) for table in tables]
    counts = [a.shape[1] for a, _ in found]
    total, begin = sum(counts), np.cumsum([0, *counts])
    shapes = np.zeros((len(first), 3, total))
    shapes[:, :, : counts[0]] = found[0][1].T.reshape(-1, 3, counts[0])
    made = []
    for k, (name, unit, _) in enumerate(fields, 1):
        rows = np.zeros((len(first), 1, total))
        rows[:, 0, begin[k] : begin[k + 1]] = found[k][1].T
        made.append(Field(name, unit, rows, np.eye(1)))
    return Surface(first, shapes, faces, fields=made), np.hstack([a for a, _ in found])


def _decomposed(table: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
    """Amplitudes (frames × k) and shapes (k × columns) whose product is a table, within an error of any of its entries."""
    U, s, Vt = np.linalg.svd(table, full_matrices=False)
    left = np.sqrt(np.cumsum((s**2)[::-1])[::-1])
    k = max(1, int((left > error).sum()))
    return U[:, :k] * s[:k], Vt[:k]


# -- solids ---------------------------------------------------------------------------------------------------------------


def _solid(
    part: SolidPart, solution: Any, index: np.ndarray, number: Numbers
) -> tuple[np.ndarray, np.ndarray, list[tuple[str, str, np.ndarray]]]:
    """Places of surface nodes (frames × n × 3), triangles, and fields at them."""
    x = node_places(part, solution, index, number)
    cells = part.elements.nodes
    faces = outer_faces(cells, SOLIDS[cells.shape[1]])
    used, compact = np.unique(faces.ravel(), return_inverse=True)
    mises = solid_stress(part, x)
    moved = np.linalg.norm(x - x[0], axis=2)
    return x[:, used], compact.reshape(-1, 3), [("von mises", "Pa", mises[:, used]), ("displacement", "m", moved[:, used])]


def beam_stresses(part: BeamPart, solution: Any, index: np.ndarray) -> np.ndarray:
    """The largest axial stress (Pa) of every member of a beam or cable (frames × members)."""
    found: dict[tuple[int, int], np.ndarray] = {}
    for k, (nodes, _, section) in enumerate(part.outlines()):
        value = _stress(solution, index, f"{part.name}.e{k}", section)
        found |= {(int(a), int(b)): value for a, b in pairwise(nodes)}
    members = [tuple(pair) for g in part.body.part.part.elements for pair in g.nodes.tolist()]
    return np.stack([found[m] for m in members], axis=1)


def node_places(part: Part, solution: Any, index: np.ndarray, number: Numbers) -> np.ndarray:
    """Places of all nodes of a part over a run (frames × nodes × 3), those that bodies carry among them."""
    X = part.body.part.part.nodes
    found = np.zeros((len(index), len(X), 3))
    own = {n.rpartition(".")[2]: n for n in solution.names if n.rpartition(".")[0] == part.name and n.rpartition(".")[2].isdecimal()}
    for k in range(len(X)):
        if str(k) in own:
            found[:, k] = solution[own[str(k)]][index, :3]
        elif f"{part.name}.{k}.position" in solution:
            found[:, k], own[str(k)] = solution[f"{part.name}.{k}.position"][index], ""
    for name, seat in part.seats.items():
        nodes = part.nodes_of(name)
        missing = [int(k) for k in nodes if str(k) not in own]
        if missing:
            p, R = _seated(seat, solution, index, number)
            found[:, missing] = p[:, None] + np.einsum("tij,nj->tni", R, X[missing])
    return found


def _seated(seat: Any, solution: Any, index: np.ndarray, number: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Origin and axes of the undeformed structure as the body of a seat moves."""
    turn = number.matrix(seat.frame.rotation) @ number.matrix(seat.axes).T
    place = number.vector(seat.frame.position) - turn @ number.vector(seat.position)
    if seat.frame.body.is_ground:
        return np.tile(place, (len(index), 1)), np.tile(turn, (len(index), 1, 1))
    p, R = (solution[f"{seat.frame.body.name}.{w}"][index] for w in ("position", "rotation"))
    return p + R @ place, R @ turn


def solid_stress(part: SolidPart, x: np.ndarray) -> np.ndarray:
    """Von Mises' measure of Cauchy's stress (Pa) at the nodes (frames × nodes): means of the points of the elements around."""
    cells, law = part.elements.nodes, part.material()
    slopes, _ = part.solid.interpolation.at(part.body.part.part.nodes[cells])
    total = np.zeros(x.shape[:2])
    share = np.bincount(cells.ravel(), minlength=x.shape[1]).clip(min=1)
    for t, places in enumerate(x):
        F = np.einsum("eai,egaj->egij", places[cells], slopes).mean(axis=1)
        E = 0.5 * (np.einsum("eki,ekj->eij", F, F) - np.eye(3))
        S = law["lame"] * np.trace(E, axis1=1, axis2=2)[:, None, None] * np.eye(3) + 2.0 * law["shear"] * E
        sigma = np.einsum("eik,ekl,ejl->eij", F, S, F) / np.linalg.det(F)[:, None, None]
        deviator = sigma - np.trace(sigma, axis1=1, axis2=2)[:, None, None] / 3.0 * np.eye(3)
        mises = np.sqrt(1.5 * (deviator**2).sum(axis=(1, 2)))
        np.add.at(total[t], cells.ravel(), np.repeat(mises, cells.shape[1]))
    return np.asarray(total / share)


# -- beams ----------------------------------------------------------------------------------------------------------------


def _tubes(
    part: BeamPart, solution: Any, index: np.ndarray, number: Numbers
) -> tuple[np.ndarray, np.ndarray, list[tuple[str, str, np.ndarray]]]:
    """Outlines of sections at the nodes of every element, joined to tubes."""
    p, R = _cable_frames(part, solution, index) if isinstance(part, CablePart) else _frames(part, solution, index, number)
    vertices, faces, stresses, moved = [], [], [], []
    count = 0
    at_nodes = _stresses_at_nodes(part, solution, index)
    for k, (nodes, axes, section) in enumerate(part.outlines()):
        y, z = section.half_y, section.half_z
        ring = np.array([(0, y, z), (0, -y, z), (0, -y, -z), (0, y, -z)]) @ axes.T
        for i, n in enumerate(nodes):
            at = p[:, n, None] + np.einsum("tij,rj->tri", R[:, n], ring)
            vertices.append(at)
            stresses.append(np.repeat(at_nodes[k][:, i, None], 4, axis=1))
            moved.append(np.linalg.norm(at - at[:1], axis=2))
        for a in range(len(nodes) - 1):
            for i in range(4):
                b, c, d, e = (count + 4 * a + i, count + 4 * a + (i + 1) % 4, count + 4 * a + 4 + (i + 1) % 4, count + 4 * a + 4 + i)
                faces += [(b, c, d), (b, d, e)]
        count += 4 * len(nodes)
    fields = [("stress", "Pa", np.concatenate(stresses, axis=1)), ("displacement", "m", np.concatenate(moved, axis=1))]
    return np.concatenate(vertices, axis=1), np.array(faces, dtype=np.int64), fields


def _frames(part: BeamPart, solution: Any, index: np.ndarray, number: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Places of the nodes and axes of the structure there (frames × nodes × …)."""
    X = part.body.part.part.nodes
    p, R = np.zeros((len(index), len(X), 3)), np.zeros((len(index), len(X), 3, 3))
    seats = {int(part.nodes_of(n)[0]): s for n, s in part.seats.items()}
    for k in range(len(X)):
        if f"{part.name}.{k}.position" in solution:
            p[:, k], R[:, k] = (solution[f"{part.name}.{k}.{w}"][index] for w in ("position", "rotation"))
        else:
            origin, axes = _seated(seats[k], solution, index, number)
            p[:, k], R[:, k] = origin + np.einsum("tij,j->ti", axes, X[k]), axes
    return p, R


def _cable_frames(part: CablePart, solution: Any, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of a cable's nodes, and axes of its structure there: turned with the slope in the shortest way, from node to node."""
    x = np.stack([solution[f"{part.name}.{k}"][index] for k in range(len(part.body.part.part.nodes))], axis=1)
    slope = x[:, :, 3:] / np.linalg.norm(x[:, :, 3:], axis=2, keepdims=True)
    R, before = np.zeros((*slope.shape, 3)), np.broadcast_to(part.slope, slope[:, 0].shape)
    turn = np.broadcast_to(np.eye(3), (len(index), 3, 3))
    for k in range(slope.shape[1]):
        now = slope[:, k]
        axis, c = np.cross(before, now), np.einsum("ti,ti->t", before, now)
        K = np.zeros((len(index), 3, 3))
        K[:, 0, 1], K[:, 0, 2], K[:, 1, 2] = -axis[:, 2], axis[:, 1], -axis[:, 0]
        K -= K.swapaxes(1, 2)
        turn = (np.eye(3) + K + K @ K / np.maximum(1.0 + c, 1e-9)[:, None, None]) @ turn
        R[:, k], before = turn, now
    return x[:, :, :3], R


def _stresses_at_nodes(part: BeamPart, solution: Any, index: np.ndarray) -> list[np.ndarray]:
    """The largest axial stress (Pa) at the nodes of every element (frames × nodes): where elements of one section meet, the mean of both."""
    outlines = list(part.outlines())
    found = [
        _stress(solution, index, f"{part.name}.e{k}", section, np.linspace(-1.0, 1.0, len(n))) for k, (n, _, section) in enumerate(outlines)
    ]
    met: dict[tuple[int, Any], list[np.ndarray]] = {}
    for (nodes, _, section), value in zip(outlines, found, strict=True):
        for i, n in enumerate(nodes):
            met.setdefault((int(n), section), []).append(value[:, i])
    mean = {key: np.mean(values, axis=0) for key, values in met.items()}
    return [np.stack([mean[int(n), section] for n in nodes], axis=1) for nodes, _, section in outlines]


def _stress(solution: Any, index: np.ndarray, element: str, section: Any, along: np.ndarray | None = None) -> np.ndarray:
    """The largest axial stress of a section (Pa) from the resultants of an element: the mean of its points, or ``along`` it (-1 … 1).

    Resultants of two points of Gauss, at -1/√3 and 1/√3, are linear between and beyond them.
    """
    if f"{element}.M" in solution:  # of a cable
        value = np.abs(solution[f"{element}.N"][index]) / section.area + solution[f"{element}.M"][index] * section.half_z / section.Iy
        return np.asarray(value if along is None else np.repeat(value[:, None], len(along), axis=1))

    def resultant(name: str) -> np.ndarray:
        points = [solution[n][index] for n in (f"{element}.{name}", f"{element}.{name}1", f"{element}.{name}2") if n in solution]
        if along is None:
            return np.asarray(np.mean(np.abs(points), axis=0))
        slope = 0.5 * np.sqrt(3.0) * (points[-1] - points[0])
        return np.asarray(np.abs(np.mean(points, axis=0)[:, None] + np.outer(slope, along)))

    return np.asarray(
        resultant("N") / section.area + resultant("My") * section.half_z / section.Iy + resultant("Mz") * section.half_y / section.Iz
    )


__all__ = ["beam_stresses", "node_places", "parts_scene", "solid_stress", "surface_of_part"]
