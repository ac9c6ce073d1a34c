"""Mesh files as MuJoCo reads them, against MuJoCo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.io.mjcf.mesh_files import read_mesh

#: A warped block: its quadrilaterals are not flat, so that the diagonal matters; a second object behind it does not count.
BLOCK = """o first
v 0 0 0
v 1 0 0.3
v 1.2 1 0
v 0 1 0.2
v 0 0.1 1
v 1 0 1.4
v 1 1.3 1
v 0 1 1.2
f 4 3 2 1
f 5 6 7 8
f 1/1/1 2/2/1 6/3/1 5/4/1
f 2//1 3//1 7//1 6//1
f 3 4 8 7
f -5 -8 -4 -1
o second
v 5 5 5
v 6 5 5
v 5 6 5
v 5 5 6
f 9 11 10
f 9 10 12
f 9 12 11
f 10 11 12
"""


def model_of(folder: Path, file: str) -> Path:
    """A body of one mesh on a hinge."""
    path = folder / "model.xml"
    path.write_text(
        f'<mujoco><asset><mesh name="m" file="{file}"/></asset><worldbody><body name="b"><joint axis="1 2 3"/>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    return path


def test_the_first_object_of_an_obj_file_with_its_quadrilaterals(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "block.obj").write_text(BLOCK)
    path = model_of(tmp_path, "block.obj")
    theirs, ours = mujoco.MjModel.from_xml_path(str(path)), jd.read_mjcf(path)
    assert float(ours.bodies["b"].mass) == pytest.approx(theirs.body_mass[1], rel=1e-6)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    assert ours.compile(check=False).mass_matrix([0.0])[0, 0] == pytest.approx(theirs.dof_M0[0], rel=1e-5)


def test_vertices_without_faces_stand_for_their_hull(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "points.obj").write_text("\n".join(line for line in BLOCK.split("o second")[0].splitlines() if line[:2] != "f "))
    path = model_of(tmp_path, "points.obj")
    theirs, ours = mujoco.MjModel.from_xml_path(str(path)), jd.read_mjcf(path)
    assert float(ours.bodies["b"].mass) == pytest.approx(theirs.body_mass[1], rel=1e-6)
    mujoco.mj_forward(theirs, mujoco.MjData(theirs))
    assert ours.compile(check=False).mass_matrix([0.0])[0, 0] == pytest.approx(theirs.dof_M0[0], rel=1e-5)


def test_builtin_meshes_are_told(tmp_path: Path) -> None:
    path = model_of(tmp_path, "none.obj")
    path.write_text(path.read_text().replace('file="none.obj"', 'builtin="sphere" params="2"'))
    with pytest.raises(jd.InputError, match='the points of builtin="sphere" are made by rules that are not read'):
        jd.read_mjcf(path)


def test_msh_files_hold_what_stl_files_hold(tmp_path: Path) -> None:
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype="<f4")
    faces = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)], dtype="<i4")
    head = np.array([4, 0, 0, 4], dtype="<i4")
    (tmp_path / "t.msh").write_bytes(head.tobytes() + corners.tobytes() + faces.tobytes())
    model = jd.read_mjcf(model_of(tmp_path, "t.msh"))
    assert float(model.bodies["b"].mass) == pytest.approx(1000.0 / 6.0)
    (tmp_path / "h.msh").write_bytes(np.array([4, 0, 0, 0], dtype="<i4").tobytes() + corners.tobytes())
    assert float(jd.read_mjcf(model_of(tmp_path, "h.msh")).bodies["b"].mass) == pytest.approx(1000.0 / 6.0)
    (tmp_path / "bad.msh").write_bytes(head.tobytes() + corners.tobytes())
    with pytest.raises(jd.InputError, match="which do not fit"):
        jd.read_mjcf(model_of(tmp_path, "bad.msh"))


def test_polygons_are_told_and_nonsense_is_refused(tmp_path: Path) -> None:
    (tmp_path / "five.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 1.3 0.6 0\nv 0.5 1 0\nv -0.2 0.5 0\nv 0.5 0.5 1\nf 5 4 3 2 1\nf 1 2 6\nf 2 3 6\nf 3 4 6\nf 4 5 6\nf 5 1 6\n"
    )
    with pytest.warns(UserWarning, match="more than four corners"):
        model = jd.read_mjcf(model_of(tmp_path, "five.obj"))
    x = np.array([(0, 0), (1, 0), (1.3, 0.6), (0.5, 1), (-0.2, 0.5)])
    area = 0.5 * sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(x, np.roll(x, -1, axis=0), strict=True))
    assert float(model.bodies["b"].mass) == pytest.approx(1000.0 * area / 3.0)
    for text in (
        "v 0 0 x\n",
        "v 0 0 0\nf 1 2 3\n",
        "v 0 0 0\n",
        "v 0 0\nv 1 0\nv 0 1\nv 1 1\nv 2 2\nv 3 3\nf 1 2 3\n",
        "v 0 0 0\nv 1 0\nf 1 2 1\n",
    ):
        (tmp_path / "bad.obj").write_text(text)
        with pytest.raises(jd.InputError, match="bad.obj"):
            jd.read_mjcf(model_of(tmp_path, "bad.obj"))


def cone(x: np.ndarray) -> str:
    """A polygon in the plane z = 0 under a point at the height 1."""
    n = len(x)
    points = [f"v {a!r} {b!r} 0" for a, b in x.tolist()]
    sides = [f"f {i + 1} {(i + 1) % n + 1} {n + 1}" for i in range(n)]
    return "\n".join([*points, "v 0 0 1", "f " + " ".join(map(str, range(n, 0, -1))), *sides])


def test_polygons_of_many_corners_are_cut_in_time_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = np.linspace(0.0, 6.0 * np.pi, 60)[:, None]
    out = np.hstack([np.cos(turn), np.sin(turn)]) * (1.0 + turn)
    spiral = np.concatenate([out, 1.05 * out[::-1]])
    (tmp_path / "spiral.obj").write_text(cone(spiral))
    vertices, faces = read_mesh(tmp_path / "spiral.obj")
    after = np.roll(spiral, -1, axis=0)
    area = 0.5 * abs(float(np.sum(spiral[:, 0] * after[:, 1] - spiral[:, 1] * after[:, 0])))
    assert faces is not None and abs(np.linalg.det(vertices[faces]).sum()) / 6.0 == pytest.approx(area / 3.0)
    monkeypatch.setattr("jourdain.io.mjcf.mesh_files.LOOKS", 0)
    monkeypatch.setattr("jourdain.io.mjcf.mesh_files.LOOKS_EACH", 20)
    with pytest.raises(jd.InputError, match="takes too long to cut; save it as triangles"):
        read_mesh(tmp_path / "spiral.obj")


def test_meshes_and_files_are_found_from_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "parts" / "meshes").mkdir(parents=True)
    (tmp_path / "parts" / "assets").mkdir()
    (tmp_path / "parts" / "meshes" / "block.obj").write_text(BLOCK)
    (tmp_path / "parts" / "assets" / "all.xml").write_text('<mujoco><asset><mesh name="m" file="../meshes/block.obj"/></asset></mujoco>')
    for k in range(30):
        (tmp_path / "parts" / f"empty{k}.xml").write_text("<mujoco/>")
    includes = "".join(f'<include file="parts/empty{k}.xml"/>' for k in range(30))
    (tmp_path / "model.xml").write_text(
        f'<mujoco>{includes}<include file="parts/assets/all.xml"/><worldbody><body name="b"><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    assert float(jd.read_mjcf(tmp_path / "model.xml").bodies["b"].mass) > 500.0


@pytest.mark.parametrize("settings", ["", '<compiler fitaabb="true"/>'])
@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
def test_primitives_in_the_place_of_meshes_are_mujocos(kind: str, settings: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(5)
    points = (rng.normal(size=(30, 3)) * (0.1, 0.2, 0.4)) @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + (0.3, -0.1, 0.2)
    text = (
        f'<mujoco>{settings}<asset><mesh name="m" vertex="{" ".join(map(str, points.ravel()))}"/></asset><worldbody><body name="b">'
        '<joint axis="0 1 0"/><joint axis="1 0.2 0" pos="0 0.1 0"/><joint type="slide" axis="0.1 0 1"/>'
        f'<geom type="{kind}" mesh="m" pos="0.1 0.2 0.3" euler="20 30 40" fitscale="1.3"/></body></worldbody></mujoco>'
    )
    theirs, ours = mujoco.MjModel.from_xml_string(text), jd.read_mjcf(text)
    assert float(ours.bodies["b"].mass) == pytest.approx(theirs.body_mass[1], rel=1e-6)
    assert np.diag(ours.compile(check=False).mass_matrix(np.zeros(3))) == pytest.approx(theirs.dof_M0, rel=1e-6)
