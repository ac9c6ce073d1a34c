"""Meshes: surface integrals, files, checks of closedness and their messages."""

from __future__ import annotations

import builtins
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.errors import InputError, ModelError
from jourdain.model import shapes as sh
from jourdain.symbolic import evaluate, symbols

RHO = 2700.0


def bracket():
    outline = [(0, 0), (0.3, 0), (0.3, 0.1), (0.1, 0.1), (0.1, 0.4), (0, 0.4)]
    return sh.prism(outline, 0.2, RHO).rotated((1, 2, 3), 0.8).at(1, -2, 3)


def compare(a, b, tolerance):
    assert a.volume == pytest.approx(b.volume, rel=tolerance)
    assert a.mass == pytest.approx(b.mass, rel=tolerance)
    np.testing.assert_allclose(a.com, b.com, rtol=tolerance, atol=tolerance)
    inertia = np.array(b.inertia)
    np.testing.assert_allclose(a.inertia, inertia, rtol=0, atol=tolerance * np.abs(inertia).max())


# ---- surface integrals ------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), shift=st.floats(-100, 100))
def test_tetrahedron_against_its_barycentric_moments(seed, shift):
    """The second moments of a tetrahedron are V/20 Σ (vᵢ − c)(vᵢ − c)ᵀ."""
    points = np.random.default_rng(seed).uniform(-1, 1, (4, 3))
    volume = np.linalg.det(points[1:] - points[0]) / 6
    if abs(volume) < 1e-3:
        return
    faces = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    found = sh.polyhedron_properties(points + shift, faces)
    centre = points.mean(axis=0)
    assert found.mass == pytest.approx(volume, rel=1e-10)
    np.testing.assert_allclose(found.com, centre + shift, rtol=1e-12, atol=1e-11)
    second = volume / 20 * (points - centre).T @ (points - centre)
    np.testing.assert_allclose(found.second, second, atol=1e-10 * np.abs(second).max())


def test_plane_faced_shapes_equal_their_triangulation():
    shape = bracket()
    compare(sh.mesh(shape.tessellate(), RHO), shape, 1e-12)
    compare(sh.mesh(sh.box(1, 2, 3).at(10, 20, 30).tessellate(), RHO), sh.box(1, 2, 3, RHO).at(10, 20, 30), 1e-12)


def test_scale_may_be_symbolic():
    s, rho = symbols("s rho")
    vertices, faces = bracket().tessellate()
    symbolic = sh.mesh((vertices * 1000, faces), rho, scale=s)
    assert float(evaluate(symbolic.mass, {s: 1e-3, rho: RHO})) == pytest.approx(bracket().mass, rel=1e-12)
    compare(symbolic.numeric(lambda e: float(evaluate(e, {s: 1e-3, rho: RHO}))), bracket(), 1e-12)


# ---- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["stl", "obj", "ply", "glb"])
def test_files(tmp_path, ending):
    trimesh = pytest.importorskip("trimesh")
    vertices, faces = bracket().tessellate()
    path = tmp_path / f"bracket.{ending}"
    trimesh.Trimesh(vertices * 1000, faces, process=False).export(path)
    compare(sh.mesh(path, RHO, scale=0.001), bracket(), 1e-6)
    assert sh.mesh(str(path), RHO).source == str(path)


@pytest.mark.parametrize("ending", ["stl", "glb"])
def test_scenes_of_several_bodies(tmp_path, ending):
    trimesh = pytest.importorskip("trimesh")
    pair = sh.sphere(0.2, RHO).at(1, 0, 0) + sh.sphere(0.2, RHO)
    scene = trimesh.Scene([trimesh.Trimesh(*part.tessellate(64)) for part in pair.parts])
    path = tmp_path / f"pair.{ending}"
    scene.export(path)
    reference = sh.polyhedron_properties(*pair.tessellate(64))
    assert sh.mesh(path, RHO).volume == pytest.approx(reference.mass, rel=1e-6)
    np.testing.assert_allclose(sh.mesh(path, RHO).com, reference.com, atol=1e-6)


def test_trimesh_agrees_with_the_surface_integrals():
    trimesh = pytest.importorskip("trimesh")
    vertices, faces = sh.torus(0.3, 0.1).rotated((1, 1, 0), 0.4).at(0.1, 0.2, 0.3).tessellate(40)
    peer = trimesh.Trimesh(vertices, faces, process=False)
    found = sh.polyhedron_properties(vertices, faces)
    assert found.mass == pytest.approx(peer.volume, rel=1e-12)
    np.testing.assert_allclose(found.com, peer.center_mass, atol=1e-12)
    np.testing.assert_allclose(found.inertia, peer.moment_inertia, atol=1e-12 * np.abs(peer.moment_inertia).max())


def test_file_messages(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"mesh 'part.step': format '.step' is not read; convert it to STL"):
        sh.mesh("part.step")
    with pytest.raises(InputError, match=r"mesh 'absent.stl': there is no file"):
        sh.mesh(tmp_path / "absent.stl")
    broken = tmp_path / "broken.glb"
    broken.write_bytes(b"not a mesh")
    with pytest.raises(InputError, match=r"mesh 'broken.glb': the file cannot be read"):
        sh.mesh(broken)
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        if name == "trimesh":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)
    with pytest.raises(InputError, match=r"reading 'broken.glb' needs the package trimesh; install it with: pip"):
        sh.mesh(broken)


# ---- checks -----------------------------------------------------------------------------------------------------


def cube(size=1.0, at=(0.0, 0.0, 0.0)):
    vertices, faces = sh.box(size, size, size).at(*at).tessellate()
    return vertices, faces


def joined(*pieces):
    vertices = np.concatenate([v for v, _ in pieces])
    starts = itertools.accumulate([0] + [len(v) for v, _ in pieces[:-1]])
    return vertices, np.concatenate([f + start for (_, f), start in zip(pieces, starts, strict=True)])


def reversed_faces(piece):
    return piece[0], piece[1][:, ::-1]


def test_open_surface_is_refused_and_can_be_closed():
    vertices, faces = cube()
    with pytest.raises(ModelError, match=r"mesh: the surface is open: 3 edges lack a second face, the first from \("):
        sh.mesh((vertices, faces[1:]))
    assert sh.mesh((vertices, faces[1:]), repair=True).volume == pytest.approx(1)


def test_faces_turned_against_each_other():
    vertices, faces = cube()
    faces = faces.copy()
    faces[3] = faces[3, ::-1]
    with pytest.raises(ModelError, match=r"faces are turned against each other at 3 edges.*repair=True"):
        sh.mesh((vertices, faces))
    assert sh.mesh((vertices, faces), repair=True).volume == pytest.approx(1)


def test_inside_out():
    with pytest.raises(ModelError, match=r"the surface is inside out \(volume -1\)"):
        sh.mesh(reversed_faces(cube()))
    assert sh.mesh(reversed_faces(cube()), repair=True).volume == pytest.approx(1)


def test_repair_of_a_surface_with_every_fault():
    vertices, faces = sh.torus(0.3, 0.1).tessellate(24)
    volume = sh.polyhedron_properties(vertices, faces).mass
    random = np.random.default_rng(3)
    spoilt = faces.copy()
    flip = random.random(len(faces)) < 0.3
    spoilt[flip] = spoilt[flip, ::-1]
    soup = vertices[np.concatenate([spoilt, spoilt[:5]])].reshape(-1, 3)
    soup += random.uniform(-1e-9, 1e-9, soup.shape)
    indices = np.arange(len(soup)).reshape(-1, 3)
    assert sh.mesh((soup, indices), repair=True).volume == pytest.approx(volume, rel=1e-6)


def test_repair_closes_large_plane_holes_and_keeps_cavities():
    vertices, faces = sh.cylinder(0.3, 1.0).tessellate(24)
    lid = (vertices[faces][:, :, 2] > 0.49).all(axis=1)
    volume = sh.polyhedron_properties(vertices, faces).mass
    assert lid.sum() == 24
    assert sh.mesh((vertices, faces[~lid]), repair=True).volume == pytest.approx(volume, rel=1e-12)
    hollow = joined(cube(), cube(0.5), reversed_faces(cube(0.25)))
    assert sh.mesh(hollow, repair=True).volume == pytest.approx(1 - 0.5**3 + 0.25**3, rel=1e-12)


def test_separate_shells():
    assert sh.mesh(joined(cube(), cube(at=(3, 0, 0)))).volume == pytest.approx(2)
    assert sh.mesh(joined(cube(), reversed_faces(cube(0.5)))).volume == pytest.approx(1 - 0.125)
    with pytest.raises(ModelError, match=r"of its 2 shells the one at .* lies inside another one"):
        sh.mesh(joined(cube(), cube(0.5)))
    with pytest.raises(ModelError, match=r"of its 2 shells the one at .* is inside out"):
        sh.mesh(joined(cube(), reversed_faces(cube(0.5, at=(3, 0, 0)))))


def test_triangle_soup_is_joined():
    vertices, faces = cube()
    soup = vertices[faces].reshape(-1, 3)
    solid = sh.mesh((soup, np.arange(len(soup)).reshape(-1, 3)))
    assert len(solid.vertices) == 8 and solid.volume == pytest.approx(1)


def test_nearly_equal_vertices_are_joined_by_repair():
    vertices, faces = cube()
    soup = vertices[faces].reshape(-1, 3) + np.random.default_rng(0).uniform(-1e-9, 1e-9, (36, 3))
    indices = np.arange(36).reshape(-1, 3)
    with pytest.raises(ModelError, match="open"):
        sh.mesh((soup, indices))
    assert sh.mesh((soup, indices), repair=True).volume == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (([(0, 0)], [(0, 0, 0)]), r"vertices have shape \(1, 2\); \(n, 3\) is needed"),
        (([(0, 0, 0)], [(0, 0, 0, 0)]), r"faces of shape \(1, 4\).*cut other polygons into triangles"),
        (([(0, 0, 0)], [(0.0, 0.0, 0.0)]), r"\(m, 3\) whole numbers are needed"),
        (([(0, 0, np.nan)], [(0, 0, 0)]), r"vertex 0 = .* is not finite"),
        (([(0, 0, 0)], [(0, 1, 2)]), r"faces name vertices 0 … 2, but there are 1"),
        (([(0, 0, 0)], [(0, 0, 0)]), r"it has no triangles of non-zero size"),
        ((["a", "b"], [(0, 0, 0)]), r"give a file name or a pair"),
        (3, r"give a file name or a pair"),
        (
            ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 1)]),
            r"the surface is closed but encloses no volume",
        ),
        (([(0, 0, 0)], np.empty((0, 3), int)), r"it has no triangles"),
    ],
)
def test_messages(source, message):
    with pytest.raises((InputError, ModelError), match=message):
        sh.mesh(source)


def test_display_only_meshes_have_no_mass():
    vertices, faces = cube()
    sheet = sh.mesh((vertices, faces[1:]), RHO, display_only=True, scale=2.0)
    assert len(sheet.primitive()["faces"]) == 11
    assert np.ptp(sheet.primitive()["vertices"]) == 2.0
    with pytest.raises(ModelError, match="mesh: loaded for display only, so it has no volume or mass"):
        _ = sheet.mass


def test_meshes_combine_and_contain():
    solid = sh.mesh(cube(), RHO)
    np.testing.assert_array_equal(solid.contains([(0, 0, 0), (0.49, 0.49, -0.49), (0.51, 0, 0)]), [True, True, False])
    assert (solid - sh.sphere(0.3)).volume == pytest.approx(1 - sh.sphere(0.3).volume, rel=1e-13)
    with pytest.raises(ModelError, match="the sphere is not inside the mesh"):
        _ = solid - sh.sphere(0.55)
    assert solid == sh.mesh(cube(), RHO) and hash(solid) == hash(sh.mesh(cube(), RHO))
    assert solid != solid.at(1, 0, 0) and solid != sh.mesh(cube(2.0), RHO)
    with pytest.raises(ValueError, match="read-only"):
        solid.vertices[0, 0] = 5.0
