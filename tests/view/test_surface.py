"""Surfaces of flexible bodies: where their vertices go, and what their colours say, against closed forms and the structure itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from jourdain import structures
from jourdain.errors import InputError
from jourdain.structures import ReducedStructure, Section, Structure, circle, rectangle
from jourdain.structures.parts.elements import ElementGroup
from jourdain.structures.parts.sections import Material
from jourdain.view import Body, Joint, Link, Mode, Point, Run, Scene, Track, povray_scene, vibration
from jourdain.view.plain import draw_plain
from jourdain.view.scene import Frame
from jourdain.view.scenes.from_structure import MISES, hermite, outer_faces, structure_scene, surface_of
from jourdain.view.scenes.surface import SEQUENTIAL, Field, Node, Surface, coloured
from jourdain.view.still import links, skin, traces

SOFT = Material(2.0e9, 0.3, 1000.0)


def bar(section: Section, elements: int = 4, **options: Any) -> ReducedStructure:
    part = structures.beam((0.1, 0.2, 0.3), (1.1, 0.2, 0.3), section, SOFT, elements=elements, **options)
    return part.reduce(modes=6, frame="tangent", at="start")


def one_amplitude(part: Structure, displacement: np.ndarray) -> ReducedStructure:
    """A body whose only shape is a displacement of all degrees of freedom."""
    from jourdain.structures.reduction import record

    return record(part, "tangent", "fixed", np.zeros((6, len(part.dofs))), displacement[:, None], None)


def cantilever(
    section: Section, load: tuple[int, float], elements: int = 3, offset: tuple[float, float, float] = (0, 0, 0)
) -> ReducedStructure:
    """A beam along x of 2 m, held at its start, with a load (component, size) at its end."""
    part = structures.beam((0, 0, 0), (2, 0, 0), section, SOFT, elements=elements, offset=offset)
    free = np.arange(6, len(part.dofs))
    force = np.zeros(len(part.dofs))
    force[-6 + load[0]] = load[1]
    u = np.zeros(len(part.dofs))
    u[free] = np.linalg.solve(part.K.toarray()[np.ix_(free, free)], force[free])
    return one_amplitude(part, u)


@pytest.mark.parametrize("section", [circle(0.02), rectangle(0.03, 0.01), Section(1e-4, 1e-9, 2e-9, 3e-9)])
def test_rings_at_nodes_move_as_rigid_discs_with_their_nodes(section: Section, rng: np.random.Generator) -> None:
    part = bar(section, offset=(0, 0.004, -0.002))
    surface, whole = surface_of(part), part.part
    e = rng.uniform(-0.1, 0.1, part.modes)
    u = part.displacement(e)[whole.dofs.table]
    moved = surface.deformed(e)
    assert surface.places is not None
    seen = 0
    for node, place in enumerate(whole.nodes):
        here = np.flatnonzero((surface.places == node) & (np.abs(surface.vertices[:, 0] - place[0]) < 1e-12))
        arms = surface.vertices[here] - place
        expected = place + u[node, :3] + arms + np.cross(u[node, 3:], arms)
        np.testing.assert_allclose(moved[here], expected, atol=1e-13)
        seen += len(here)
    assert seen >= 4 * len(whole.nodes)


def test_between_nodes_a_beam_bends_by_its_cubic() -> None:
    """A cantilever of one element with a force at its tip: v = F x² (3 L − x) / 6 E I everywhere, not at its nodes alone."""
    section = circle(0.04)
    surface = surface_of(cantilever(section, (1, 5.0), elements=1))
    middle = surface.vertices.reshape(-1, 3)
    x = middle[:, 0]
    exact = 5.0 * x**2 * (6.0 - x) / (6 * SOFT.E * section.Iz)
    np.testing.assert_allclose(surface.shapes[:, 1, 0], exact, atol=1e-12)
    # sections stay plane and normal to the axis: u = −y v′
    slope = 5.0 * x * (12.0 - 3 * x) / (6 * SOFT.E * section.Iz)
    np.testing.assert_allclose(surface.shapes[:, 0, 0], -middle[:, 1] * slope, atol=1e-12)


def test_hermite_is_exact_for_rigid_motions_and_the_ends(rng: np.random.Generator) -> None:
    ends = rng.uniform(-1, 1, (12, 3))
    for x, first in ((0.0, 0), (1.0, 6)):
        shift, turn = hermite(x, 0.7, ends)
        np.testing.assert_allclose(np.concatenate([shift, turn]), ends[first : first + 6], atol=1e-14)
    v, w = rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)
    rigid = np.concatenate([v, w, v + np.cross(w, [0.7, 0, 0]), w])[:, None]
    shift, turn = hermite(0.3, 0.7, rigid)
    np.testing.assert_allclose(shift[:, 0], v + np.cross(w, [0.21, 0, 0]), atol=1e-14)
    np.testing.assert_allclose(turn[:, 0], w, atol=1e-14)


@pytest.mark.parametrize("section", [circle(0.04), rectangle(0.03, 0.05)])
@pytest.mark.parametrize("component, moment", [(1, "Mz"), (2, "My")])
def test_bending_of_a_cantilever(section: Section, component: int, moment: str) -> None:
    """σ = M (half height) / I, ε = σ / E, κ = M / E I; the moment falls linearly to the tip."""
    surface = surface_of(cantilever(section, (component, 5.0), elements=3))
    e, x = np.array([2.0]), surface.vertices[:, 0]
    M = 2.0 * 5.0 * (2.0 - x) * (1.0 if component == 1 else -1.0)
    np.testing.assert_allclose(surface.field(moment).values(e), M, atol=1e-9)
    I, arm = (section.Iz, -surface.vertices[:, 1]) if component == 1 else (section.Iy, surface.vertices[:, 2])
    np.testing.assert_allclose(surface.field("stress").values(e), M * arm / I, rtol=1e-9, atol=1e-3)
    np.testing.assert_allclose(surface.field("strain").values(e), M * arm / I / SOFT.E, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(surface.field(f"curvature {moment[1]}").values(e), M / (SOFT.E * I), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(surface.field("von mises").values(e), np.abs(M * arm / I), rtol=1e-7, atol=1e-3)
    half = section.half_y if component == 1 else section.half_z
    assert surface.field("Von-Mises").range(e[None])[1] == pytest.approx(2.0 * 5.0 * 2.0 * half / I, rel=1e-9)


def test_torsion_and_tension_of_a_rod() -> None:
    section = circle(0.04)
    twisted = surface_of(cantilever(section, (3, 7.0)))
    np.testing.assert_allclose(twisted.field("von mises").values(np.ones(1)), np.sqrt(3) * 7.0 * 0.02 / section.torsion, rtol=1e-9)
    pulled = surface_of(cantilever(section, (0, 7.0)))
    np.testing.assert_allclose(pulled.field("stress").values(np.ones(1)), 7.0 / section.area, rtol=1e-9)
    np.testing.assert_allclose(pulled.field("N").values(np.ones(1)), 7.0, rtol=1e-9)
    np.testing.assert_allclose(
        pulled.field("displacement").values(np.ones(1)), 7.0 * pulled.vertices[:, 0] / (SOFT.E * section.area), rtol=1e-9, atol=1e-15
    )


def test_von_mises_of_tensors(rng: np.random.Generator) -> None:
    for _ in range(20):
        s = rng.uniform(-1, 1, 6)
        S = np.array([[s[0], s[3], s[5]], [s[3], s[1], s[4]], [s[5], s[4], s[2]]])
        deviator = S - np.trace(S) / 3 * np.eye(3)
        assert s @ MISES[6] @ s == pytest.approx(1.5 * np.sum(deviator**2), rel=1e-12)
        plane = np.array([s[0], s[1], 0, s[3], 0, 0])
        assert plane[[0, 1, 3]] @ MISES[3] @ plane[[0, 1, 3]] == pytest.approx(plane @ MISES[6] @ plane, rel=1e-12)


class Constant(ElementGroup):
    """Elements that know their nodes, and whose channels are given means of the displacements."""

    def __init__(self, nodes: np.ndarray, rows: np.ndarray, channels: list[str]) -> None:
        self.nodes, self.rows, self._channels = nodes, rows, channels

    @property
    def channels(self) -> list[str]:
        return self._channels

    def recovery(self) -> np.ndarray:
        operator = np.zeros((len(self.nodes), len(self._channels), self.rows.shape[1]))
        for k in range(len(self._channels)):
            operator[:, k, k % 3 :: 3] = 1.0 / self.nodes.shape[1]
        return operator

    def von_mises(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0]

    def strains(self) -> np.ndarray:
        return self.recovery()

    def rotations(self) -> np.ndarray:
        return self.recovery()

    def geometric(self, displacement: np.ndarray, size: int) -> sp.csc_array:
        return sp.csc_array((size, size))


def block_of_bricks(count: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    n = np.array(count) + 1
    grid = np.stack(np.meshgrid(*(np.arange(k) for k in n), indexing="ij"), -1).reshape(-1, 3)
    number = {tuple(p): i for i, p in enumerate(grid.tolist())}
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)])
    cells = np.stack(np.meshgrid(*(np.arange(k) for k in count), indexing="ij"), -1).reshape(-1, 3)
    return grid.astype(float), np.array([[number[tuple(c + d)] for d in corners.tolist()] for c in cells])


def test_18_T14_solids_show_their_outside(rng: np.random.Generator) -> None:
    points, bricks = block_of_bricks((3, 2, 2))
    K = sp.csc_array(sp.eye_array(3 * len(points)))
    rows = (3 * bricks[:, :, None] + np.arange(3)).reshape(len(bricks), 24)
    part = Structure(points, K, K, elements=[Constant(bricks, rows, ["sxx", "syy", "szz", "sxy", "syz", "szx"])], name="block")
    shape = rng.uniform(-1, 1, 3 * len(points))
    surface = surface_of(one_amplitude(part, shape))
    a, b, c = surface.vertices[surface.faces].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    assert 0.5 * np.linalg.norm(normals, axis=1).sum() == pytest.approx(2 * (3 * 2 + 3 * 2 + 2 * 2))
    outward = np.einsum("na,na->n", normals, (a + b + c) / 3 - points.mean(axis=0))
    assert (outward > 0).all()
    assert np.sum(np.einsum("na,na->n", normals, a)) / 6 == pytest.approx(12.0)  # volume by Gauss' theorem
    assert surface.places is not None
    faces = surface.places[surface.faces]
    assert len(faces) == 2 * 2 * (3 * 2 + 3 * 2 + 2 * 2)  # two triangles a face
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()  # a closed surface
    np.testing.assert_allclose(surface.shapes[:, :, 0], shape.reshape(-1, 3)[surface.places])
    inside = [i for i, p in enumerate(points) if (p > 0).all() and (p < (3, 2, 2)).all()]
    assert set(inside).isdisjoint(surface.places.tolist()) and inside
    # a node's stress is the mean of the elements around it
    corner = int(np.flatnonzero((surface.vertices == 0).all(axis=1))[0])
    expected = shape.reshape(-1, 3)[bricks[0]].mean(axis=0)
    for k, name in enumerate(("sxx", "syy", "szz")):
        assert surface.field(name).values(np.ones(1))[corner] == pytest.approx(expected[k])
    s = np.concatenate([expected, expected])
    assert surface.field("von mises").values(np.ones(1))[corner] == pytest.approx(np.sqrt(s @ MISES[6] @ s))


def test_tetrahedra_sheets_bars_and_bare_matrices() -> None:
    four = np.array([[0, 1, 2, 3]])
    assert len(outer_faces(four, ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)))) == 4
    nodes = np.array([(0.0, 0), (1, 0), (1, 1), (0, 1)])
    rows = np.arange(8).reshape(1, 8)
    sheet = Structure(nodes, np.eye(8), np.eye(8), elements=[Constant(four, rows, ["sxx"])], name="sheet")
    assert len(surface_of(one_amplitude(sheet, np.ones(8))).faces) == 2
    bars = Structure(nodes, np.eye(8), np.eye(8), elements=[Constant(np.array([[0, 1], [1, 2]]), rows.reshape(2, 4), ["N"])], name="truss")
    surface = surface_of(one_amplitude(bars, np.ones(8)))
    assert len(surface.faces) == 0 and surface.lines.tolist() == [[0, 1], [1, 2]]
    bare = surface_of(one_amplitude(Structure(nodes, np.eye(8), np.eye(8)), np.ones(8)))
    assert len(bare.faces) == 32 and [f.name for f in bare.fields] == ["displacement"]


# --- scenes ------------------------------------------------------------------------------------------------------


def bending_scene() -> Scene:
    """A bar that swings and bends, with a joint, a frame, a point and a link at its tip, and a mode."""
    part = bar(rectangle(0.05, 0.03))
    surface = surface_of(part)
    surface.show("von mises")
    t = np.linspace(0, 1, 41)
    e = np.zeros((41, part.modes))
    e[:, 0], e[:, 1] = 0.08 * np.sin(6 * t), 0.03 * np.cos(9 * t)
    turn = np.column_stack([np.cos(0.2 * t), 0 * t, np.sin(0.2 * t), 0 * t])
    tip = part.part.nodes[-1]
    return Scene(
        "bending",
        [Body("bar", surface=surface, colour="#4c78a8")],
        points=[Point("tip", "bar", tip, node="end")],
        links=[Link("rope", "line", ("bar", tip), (None, (1, 1, 1)), nodes=("end", None))],
        joints=[Joint("hinge", "revolute", "bar", tip, node="end")],
        frames=[Frame("end", "bar", tip, node="end")],
        runs=[Run(t, {"bar": Track(np.column_stack([t, 0 * t, 0 * t]), turn)}, amplitudes={"bar": e})],
        modes=[Mode("first", {}, 3.0, amplitudes={"bar": np.eye(part.modes)[0]})],
        exaggeration=2.0,
    )


def test_what_is_fastened_to_a_node_moves_with_it() -> None:
    scene = bending_scene()
    scene.check()
    surface = scene.bodies[0].surface
    assert surface is not None
    for t in (0.0, 0.31, 0.777):
        e = scene.amplitudes("bar", t)
        p, q = scene.pose("bar", t)
        node = surface.nodes["end"]
        there = node.position + 2.0 * node.shift @ e
        from jourdain.view.rotation import matrix_from_quaternion

        expected = matrix_from_quaternion(q) @ there + p
        np.testing.assert_allclose(scene.place("bar", node.position, "end", t), expected, atol=1e-14)
        ((_, line),) = links(scene, t)
        np.testing.assert_allclose(line[0], expected, atol=1e-14)
        vertices, colours = skin(scene, scene.bodies[0], t)
        np.testing.assert_allclose(vertices, surface.vertices + 2.0 * np.einsum("nak,k->na", surface.shapes, e), atol=1e-14)
        assert colours is not None and colours.shape == vertices.shape
    ((_, path),) = traces(scene, 1.0)
    np.testing.assert_allclose(path[-1], scene.place("bar", surface.nodes["end"].position, "end", 1.0), atol=1e-14)


def test_a_point_beside_a_node_turns_with_it() -> None:
    node = Node(np.zeros(3), np.zeros((3, 1)), np.array([[0.0], [0.0], [0.5]]))
    np.testing.assert_allclose(node.moved(np.array([1.0, 0, 0]), np.ones(1)), [np.cos(0.5), np.sin(0.5), 0])
    np.testing.assert_allclose(node.moved(np.array([1.0, 0, 0]), np.ones(1), 2.0), [np.cos(1.0), np.sin(1.0), 0])


def test_18_T14_colours_run_from_the_first_to_the_last() -> None:
    colours = coloured(np.array([-1.0, 0.0, 5.0, 10.0, 20.0]), 0.0, 10.0, SEQUENTIAL)
    ends = [np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) / 255 for c in (SEQUENTIAL[0], SEQUENTIAL[-1])]
    np.testing.assert_allclose(colours[[0, 1]], [ends[0]] * 2)
    np.testing.assert_allclose(colours[[3, 4]], [ends[1]] * 2)
    scene = bending_scene()
    low, high = scene.field_range("von mises")
    surface = scene.bodies[0].surface
    assert surface is not None
    every = surface.field("von mises").values(np.asarray(scene.runs[0].amplitudes["bar"]).T)
    assert (low, high) == (0.0, pytest.approx(every.max()))
    low, high = scene.field_range("stress")
    assert low == -high


def test_a_mode_as_a_motion() -> None:
    scene = bending_scene()
    shown = vibration(scene, 1, amplitude=0.2)
    assert shown.amplitudes("bar", 0.75)[0] == pytest.approx(-0.2)
    np.testing.assert_allclose(shown.amplitudes("bar", 0.75, run=1), 0.0)
    surface = scene.bodies[0].surface
    assert surface is not None
    usual = vibration(scene, 1)
    moved = np.abs(surface.shapes @ usual.amplitudes("bar", 0.0)).max()
    assert 0.02 < moved < 0.2  # a visible share of a bar of 1 m


def test_pictures_without_a_browser_and_for_the_ray_tracer() -> None:
    scene = bending_scene()
    assert draw_plain(scene, 0.3, None, (200, 120), "png").startswith(b"\x89PNG")
    text = povray_scene(scene, 0.3)
    surface = scene.bodies[0].surface
    assert surface is not None
    assert f"vertex_vectors {{ {len(surface.vertices)}," in text and f"texture_list {{ {len(surface.vertices)}," in text
    surface.shown = None
    assert "texture_list" not in povray_scene(scene, 0.3)


@pytest.mark.skipif(shutil.which("povray") is None, reason="POV-Ray is not installed")
def test_the_ray_tracer_draws_a_bent_bar(tmp_path: Path) -> None:
    """Colours of the field are in the picture: red of the largest stress at the root, and no such red where it is shown plainly."""
    image = pytest.importorskip("PIL.Image")
    scene = bending_scene()
    scene.points = []  # whose paths are red, too

    def drawn(name: str) -> np.ndarray:
        (tmp_path / f"{name}.pov").write_text(povray_scene(scene, 0.27), encoding="utf-8")
        command = ["povray", f"{name}.pov", "+W320", "+H180", "-D", "+FN", f"+O{name}.png", "-A"]
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=240)
        return np.asarray(image.open(tmp_path / f"{name}.png").convert("RGB"), dtype=float)

    def warm(picture: np.ndarray) -> int:
        return int(((picture[..., 0] > 1.6 * picture[..., 2]) & (picture[..., 0] > 90)).sum())

    coloured_picture = drawn("coloured")
    surface = scene.bodies[0].surface
    assert surface is not None
    surface.shown = None
    assert warm(coloured_picture) > 20 and warm(drawn("plain")) == 0


def test_a_part_alone_shows_its_modes() -> None:
    part = bar(circle(0.03))
    scene = structure_scene(part, "strain")
    scene.check()
    assert len(scene.modes) == part.modes and scene.bodies[0].surface is not None and scene.bodies[0].surface.shown == "strain"
    assert scene.modes[0].frequency == pytest.approx(part.frequencies[0] / (2 * np.pi), rel=1e-6)


def test_wrong_surfaces_are_refused() -> None:
    scene = bending_scene()
    surface = scene.bodies[0].surface
    assert surface is not None
    with pytest.raises(InputError, match="'von mices' is not known on this surface; there is displacement, von mises, stress"):
        surface.show("von mices")
    with pytest.raises(InputError, match=r"field 'x': rows of shape \(4, 2, 1\) .* several need a metric"):
        Field("x", "", np.zeros((4, 2, 1)))
    with pytest.raises(InputError, match="its faces name vertices that there are not"):
        Surface(np.zeros((2, 3)), np.zeros((2, 3, 1)), np.array([[0, 1, 2]]))
    scene.runs[0].amplitudes["bar"] = np.zeros((41, 2))
    with pytest.raises(InputError, match=r"amplitudes of shape \(41, 2\) are not finite \(nt, 6\)"):
        scene.check()
    with pytest.raises(InputError, match="amplitudes of 'bar' has 3 samples for 2 times"):
        Run([0.0, 1.0], amplitudes={"bar": np.zeros((3, 6))})
    scene = bending_scene()
    scene.points[0].node = "nowhere"
    with pytest.raises(InputError, match="'tip' refers to the node 'nowhere' of 'bar', which there is not"):
        scene.check()
