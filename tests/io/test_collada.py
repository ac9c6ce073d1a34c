"""COLLADA meshes: every kind of polygon, nodes in place, units, colours, damaged files, and robots of a public collection as another program reads them."""

from __future__ import annotations

from pathlib import Path
from string import Template

import numpy as np
import pytest

import jourdain as jd
from jourdain.io.collada import read_collada
from jourdain.io.drawings import MeshFile
from jourdain.view.scenes.from_solution import model_scene
from tests.io.robots import robot_folder

#: A square in the plane z = 0 and its normal, two lists of indices a corner.
SQUARE = Template("""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="u" meter="$metre"/><up_axis>Y_UP</up_axis></asset>
<library_effects>
 <effect id="red-fx"><profile_COMMON><technique sid="c"><phong><emission><color>0 0 0 1</color></emission>
  <diffuse><color>1 0 0 1</color></diffuse></phong></technique></profile_COMMON></effect>
 <effect id="wood-fx"><profile_COMMON><technique sid="c"><lambert><diffuse><texture texture="t" texcoord="u"/></diffuse></lambert></technique></profile_COMMON></effect>
</library_effects>
<library_materials>
 <material id="red"><instance_effect url="#red-fx"/></material>
 <material id="wood"><instance_effect url="#wood-fx"/></material>
</library_materials>
<library_geometries><geometry id="g"><mesh>
 <source id="p"><float_array id="pa" count="16">9 0 0 0 2 0 0 2 2 0 0 2 0 9 9 9</float_array>
  <technique_common><accessor source="#pa" count="4" stride="3" offset="1"/></technique_common></source>
 <source id="n"><float_array id="na" count="3">0 0 1</float_array></source>
 <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
 $polygons
</mesh></geometry></library_geometries>
<library_nodes><node id="lib"><translate>0 0 5</translate><instance_geometry url="#g"/></node></library_nodes>
<library_visual_scenes><visual_scene id="s"><node>$place
 <instance_geometry url="#g"><bind_material><technique_common>
  <instance_material symbol="m" target="#red"/><instance_material symbol="w" target="#wood"/></technique_common></bind_material></instance_geometry>
 $more</node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene>
</COLLADA>""")
INPUTS = '<input semantic="NORMAL" source="#n" offset="0"/><input semantic="VERTEX" source="#v" offset="1"/>'
KINDS = {
    "triangles": f'<triangles count="2" material="m">{INPUTS}<p>0 0 0 1 0 2 0 0 0 2 0 3</p></triangles>',
    "polylist": f'<polylist count="1" material="m">{INPUTS}<vcount>4</vcount><p>0 0 0 1 0 2 0 3</p></polylist>',
    "polygons": f'<polygons count="1" material="m">{INPUTS}<p>0 0 0 1 0 2 0 3</p></polygons>',
    "trifans": f'<trifans count="1" material="m">{INPUTS}<p>0 0 0 1 0 2 0 3</p></trifans>',
    "tristrips": f'<tristrips count="1" material="m">{INPUTS}<p>0 0 0 1 0 3 0 2</p></tristrips>',
}


def square(kind: str = "triangles", metre: str = "1", place: str = "", more: str = "") -> bytes:
    return SQUARE.substitute(metre=metre, polygons=KINDS.get(kind, kind), place=place, more=more).encode()


def normals(drawn) -> np.ndarray:
    a, b, c = np.moveaxis(drawn.vertices[drawn.faces], 1, 0)
    return np.cross(b - a, c - a)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_polygon_is_the_same_square(kind):
    drawn = read_collada(square(kind))
    assert drawn.painted == (("#ff0000", 2),)
    np.testing.assert_allclose(normals(drawn).sum(axis=0) / 2, (0, 0, 4.0))
    assert np.all(normals(drawn)[:, 2] > 0)
    corners = {tuple(x) for x in drawn.vertices.tolist()}
    assert corners == {(0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (2.0, 2.0, 0.0), (0.0, 2.0, 0.0)}


def test_nodes_stand_where_their_motions_put_them_in_metres_and_mirrored_faces_stay_outward():
    plain = read_collada(square()).vertices
    place = "<translate>100 0 0</translate><rotate>0 0 2 90</rotate><scale>1 1 -1</scale>"
    drawn = read_collada(square(metre="0.01", place=place))
    turned = np.column_stack([100 - plain[:, 1], plain[:, 0], -plain[:, 2]]) * 0.01
    assert {tuple(x) for x in drawn.vertices.round(12).tolist()} == {tuple(x) for x in turned.round(12).tolist()}
    assert np.all(normals(drawn)[:, 2] < 0)  # the mirrored upper side looks down
    matrix = "<matrix>0 -1 0 100  1 0 0 0  0 0 -1 0  0 0 0 1</matrix>"
    np.testing.assert_allclose(read_collada(square(metre="0.01", place=matrix)).vertices, drawn.vertices, atol=1e-15)
    twice = read_collada(square(more='<node><instance_node url="#lib"/></node>'))
    assert (len(twice.faces) == 4 and twice.painted == (("#ff0000", 2), (None, 2))) or len(twice.painted) == 2
    assert twice.vertices[:, 2].tolist() == [0.0] * 6 + [5.0] * 6


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        (lambda t: t.replace(b'url="#g"', b'url="#gone"'), "there is no element with the id 'gone'"),
        (lambda t: t.replace(b"0 2 0 3</p>", b"0 2 0 7</p>"), "names vertices 0 … 7, but there are 4"),
        (lambda t: t.replace(b"0 2 0 3</p>", b"0 2 0</p>"), "no multiple of the 2"),
        (lambda t: t.replace(b"9 0 0 0 2", b"9 0 0 zero 2"), "its content is no list of finite numbers"),
        (lambda t: t.replace(b"9 0 0 0 2", b"9 nan 0 0 2"), "its content is no list of finite numbers"),
        (lambda t: t.replace(b"<node>", b"<node><scale>1e30 1 1</scale><scale>1e30 1 1</scale>", 1), "farther than 1e"),
        (lambda t: t.replace(b'semantic="VERTEX"', b'semantic="COLOR"'), 'no <input semantic="VERTEX">'),
        (lambda t: t.replace(b'meter="1"', b'meter="one"'), "not a list of finite numbers"),
        (lambda t: t.replace(b"<node>", b'<node id="n"><instance_node url="#n"/>', 1).replace(b'<node id="lib">', b'<node id="lib"><instance_node url="#lib"/>'), "more than 32 deep"),
        (lambda t: t.replace(b"<node>", b"<node>" + b"<scale>1e40 1e40 1e40</scale>" * 9, 1), "farther than 1e"),
        (lambda t: t.replace(b'meter="1"', b'meter="0"'), "is no length"),
        (lambda t: t.replace(b"9 0 0 0 2", b"9 0 0 0 " + b"2" * 200_000 + b" 0" * 200_000), "its content is no list of finite numbers"),
        (lambda t: t.replace(b"0 2 0 3</p>", b"0 2 0 " + b"3" * 200_000 + b" 0" * 200_000 + b"</p>"), "its content is no list of whole numbers"),
        (lambda t: t[:-12], "the XML is not well formed"),
    ],
)  # fmt: skip
def test_damaged_files_are_told_in_one_sentence(damaged, told):
    with pytest.raises(jd.InputError, match=told):
        read_collada(damaged(square(more='<node><instance_node url="#lib"/></node>')))


def test_polygons_whose_counted_corners_overflow_are_refused():
    counts = f"{2**63 - 1} {2**63 - 1} 6"
    with pytest.raises(jd.InputError, match="<vcount> counts .* corners, but <p> has 4"):
        read_collada(square(KINDS["polylist"].replace("<vcount>4", f"<vcount>{counts}")))


def test_short_files_whose_nodes_show_each_other_again_and_again_are_refused():
    chain = "".join(f'<node id="n{k}"><instance_node url="#n{k + 1}"/><instance_node url="#n{k + 1}"/></node>' for k in range(30))
    with pytest.raises(jd.InputError, match="shows more than 200000 nodes and meshes"):
        read_collada(square(more=f'{chain}<node id="n30"/><node><instance_node url="#n0"/></node>'))


def two_colours(folder: Path) -> Path:
    path = folder / "part.dae"
    big = f'<triangles count="1" material="w">{INPUTS}<p>0 0 0 1 0 2</p></triangles>'
    path.write_bytes(square(KINDS["triangles"] + big))
    return path


def test_a_robot_is_drawn_in_the_colours_of_its_meshes_unless_it_says_another(tmp_path):
    two_colours(tmp_path)
    blue = '<material name="b"><color rgba="0 0 1 1"/></material>'
    for material, colours in (("", {"#ff0000"}), (blue, {"#0000ff"})):
        geometry = f'<visual><geometry><mesh filename="part.dae" scale="2 2 2"/></geometry>{material}</visual>'
        (tmp_path / "robot.urdf").write_text(f'<robot name="r"><link name="base">{geometry}</link></robot>')
        m = jd.read_urdf(tmp_path / "robot.urdf", base="fixed")
        assert not any("not shown" in n for n in m.notes)
        (shape,) = (x for b in m.bodies.values() for x in b.shapes)
        assert isinstance(shape, MeshFile)
        drawn = [x for b in model_scene(m).bodies for x in b.shapes if x.kind == "mesh"]
        assert {x.colour for x in drawn} - {None} == colours
        assert sum(len(x.triangles()[1]) for x in drawn) == 3
        assert max(x.triangles()[0][:, 0].max() for x in drawn) == pytest.approx(2.0 * read_collada(square()).vertices[:, 0].max())


def test_a_scene_without_triangles_draws_nothing(tmp_path):
    (tmp_path / "part.dae").write_text('<COLLADA><asset><unit meter="1"/></asset><library_geometries/></COLLADA>')
    geometry = '<visual><geometry><mesh filename="part.dae"/></geometry></visual>'
    (tmp_path / "robot.urdf").write_text(f'<robot name="r"><link name="base">{geometry}</link></robot>')
    drawn = [x for b in model_scene(jd.read_urdf(tmp_path / "robot.urdf", base="fixed")).bodies for x in b.shapes]
    assert sum(len(x.triangles()[1]) for x in drawn if x.kind == "mesh") == 0


def test_meshes_of_a_collection_are_those_another_program_reads():
    coal, folder = pytest.importorskip("coal"), robot_folder()
    if folder is None:
        pytest.skip("the robots of example-robot-data are not installed")
    small = [f for f in sorted(folder.rglob("*.dae")) if f.stat().st_size < 400_000]
    assert len(small) > 20
    loader = coal.MeshLoader()
    for file in small[:40]:
        drawn, other = read_collada(file), loader.load(str(file), np.ones(3))
        points = np.asarray(other.vertices()).reshape(-1, 3)
        size = np.ptp(drawn.vertices, axis=0).max()
        for reduce in (np.min, np.max):
            np.testing.assert_allclose(reduce(drawn.vertices, axis=0), reduce(points, axis=0), atol=2e-7 * size, err_msg=str(file))
        assert other.num_tris <= len(drawn.faces) <= 1.03 * other.num_tris + 3  # the other drops triangles without area
