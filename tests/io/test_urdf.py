"""URDF: joints, origins, inertias, mimic, meshes and their addresses, bad files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from jourdain import InputError, JourdainError
from jourdain.io import read_urdf
from jourdain.io.notes import LeftOut
from tests.reference import ReferenceTree, rotation_about

INERTIAL = (
    '<inertial><origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 0.1"/><mass value="2"/>'
    '<inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial>'
)


def robot(*joints: str, links: str = "abcd", inside: str = INERTIAL) -> str:
    bodies = "".join(f'<link name="{n}">{inside}</link>\n' for n in links)
    return f'<robot name="r">\n{bodies}{"".join(joints)}</robot>'


def joint(name: str, kind: str, parent: str, child: str, inside: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>\n'


CHAIN = robot(
    joint("j1", "revolute", "a", "b", '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 2 0"/>'
          '<limit lower="-1" upper="2" effort="10" velocity="3"/><dynamics damping="0.4" friction="0.5"/>'),
    joint("j2", "prismatic", "b", "c", '<origin xyz="0 0 1"/><axis xyz="1 1 0"/>'
          '<limit lower="0" upper="1" effort="1" velocity="1"/>'),
    joint("j3", "continuous", "c", "d", '<limit effort="1" velocity="2"/>'),
)  # fmt: skip


def rpy(r: float, p: float, y: float) -> np.ndarray:
    x, yy, z = np.eye(3)
    return rotation_about(z, y) @ rotation_about(yy, p) @ rotation_about(x, r)


def test_chain_by_hand() -> None:
    model = read_urdf(CHAIN)
    assert model.name == "r" and list(model.joints) == ["root", "j1", "j2", "j3"]
    assert list(model.bodies) == ["a", "b", "c", "d"]
    tree = ReferenceTree(model)
    q = np.array([0.4, 0.7, -0.3])
    R = rpy(0.1, 0.2, 0.3) @ rotation_about(np.array([0.0, 1.0, 0.0]), 0.4)
    p = np.array([1.0, 2, 3]) + R @ (np.array([0, 0, 1]) + 0.7 * np.array([1, 1, 0]) / np.sqrt(2))
    turned = R @ rotation_about(np.array([1.0, 0, 0]), -0.3)  # the default axis is x
    found_R, found_p = tree.frame_pose("d", q)
    np.testing.assert_allclose(found_p, p, atol=1e-14)
    np.testing.assert_allclose(found_R, turned, atol=1e-14)


def test_limits_and_dynamics() -> None:
    model = read_urdf(CHAIN)
    assert model.joints["j1"].limits == (-1.0, 2.0) and model.joints["j3"].limits == (None, None)
    drive = model.joints["j1"].drive
    assert (float(drive.damping), float(drive.friction)) == (0.4, 0.5)
    limits = {e.joint: (e.effort, e.velocity) for e in model.imported["effort_limits"]}
    assert limits == {"j1": (10.0, 3.0), "j2": (1.0, 1.0), "j3": (1.0, 2.0)}


def test_rotated_inertia_frame() -> None:
    body = read_urdf(CHAIN).bodies["b"]
    I = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    R, c = rpy(0.3, 0.2, 0.1), np.array([0.1, 0.2, 0.3])
    expected = R @ I @ R.T + 2 * (c @ c * np.eye(3) - np.outer(c, c))
    xx, yy, zz, xy, xz, yz = (float(e) for e in body.inertia.entries)
    np.testing.assert_allclose([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], expected, atol=1e-14)
    assert [float(x) for x in body.moment] == pytest.approx((2 * c).tolist())


def test_right_angles_are_exact() -> None:
    model = read_urdf(robot(joint("j", "continuous", "a", "b", f'<origin rpy="{np.pi / 2!r} 0 {np.pi!r}"/>'), links="ab"))
    R = [float(e) for e in model.joints["j"].parent.rotation.entries]
    assert R == [-1, 0, 0, 0, 0, 1, 0, 1, 0]


def test_free_base_and_floating_joint() -> None:
    assert ReferenceTree(read_urdf(CHAIN, base="free")).nv == 9
    model = read_urdf(robot(joint("f", "floating", "a", "b"), links="ab"))
    assert ReferenceTree(model).nq == 7
    with pytest.raises(InputError, match="base = 'flying'"):
        read_urdf(CHAIN, base="flying")


def test_planar_joint_moves_across_its_axis() -> None:
    model = read_urdf(robot(joint("p", "planar", "a", "b", '<axis xyz="1 0 0"/>'), links="ab"))
    tree = ReferenceTree(model)
    R, p = tree.frame_pose("b", tree.neutral())
    np.testing.assert_allclose(R, np.eye(3), atol=1e-15)
    R, p = tree.frame_pose("b", np.array([0.3, 0.4, 0.5]))
    assert p[0] == pytest.approx(0.0, abs=1e-15) and np.hypot(p[1], p[2]) == pytest.approx(0.5)
    np.testing.assert_allclose(R, rotation_about(np.array([1.0, 0, 0]), 0.5), atol=1e-14)


def test_merging_fixed_joints_changes_nothing_but_the_number_of_bodies(rng: np.random.Generator) -> None:
    text = robot(
        joint("w1", "fixed", "a", "b", '<origin xyz="0.1 0.2 0.3" rpy="1 2 3"/>'),
        joint("h", "continuous", "b", "c", '<origin xyz="0.1 0 0.3" rpy="3 2 1"/><axis xyz="0 1 1"/>'),
        joint("w2", "fixed", "c", "d", '<origin xyz="0.4 0.2 0.3" rpy="1 0 3"/>'),
    )
    merged, kept = read_urdf(text, base="free"), read_urdf(text, base="free", merge_fixed=False)
    assert list(merged.bodies) == ["a", "c"] and list(kept.bodies) == ["a", "b", "c", "d"]
    assert list(merged.joints) == ["root", "h"] and list(kept.joints) == ["root", "w1", "h", "w2"]
    one, two = ReferenceTree(merged), ReferenceTree(kept)
    q, v, a = one.random_state(rng)
    np.testing.assert_allclose(one.inverse_dynamics(q, v, a), two.inverse_dynamics(q, v, a), atol=1e-11)
    np.testing.assert_allclose(one.frame_pose("c.d", q)[1], two.frame_pose("d", q)[1], atol=1e-13)
    np.testing.assert_allclose(one.frame_pose("a.b", q)[0], two.frame_pose("b", q)[0], atol=1e-13)


def test_mimic_chain_with_leader_behind() -> None:
    text = robot(
        joint("j1", "continuous", "a", "b", '<axis xyz="0 0 1"/><mimic joint="j2" multiplier="2" offset="0.1"/>'),
        joint("j2", "continuous", "b", "c", '<axis xyz="0 0 1"/><mimic joint="j3" multiplier="-3" offset="0.2"/>'),
        joint("j3", "continuous", "c", "d", '<axis xyz="0 0 1"/>'),
    )
    tree = ReferenceTree(read_urdf(text))
    assert tree.nv == 1
    q3 = 0.25
    q2 = -3 * q3 + 0.2
    q1 = 2 * q2 + 0.1
    R, _ = tree.frame_pose("d", np.array([q3]))
    np.testing.assert_allclose(R, rotation_about(np.array([0.0, 0, 1]), q1 + q2 + q3), atol=1e-14)
    assert ReferenceTree(read_urdf(text, mimic=False)).nv == 3


def test_mimic_of_nothing_is_noted_and_of_itself_refused() -> None:
    text = robot(joint("j", "continuous", "a", "b", '<mimic joint="gone"/>'), links="ab")
    model = read_urdf(text)
    assert ReferenceTree(model).nv == 1 and "mimics 'gone'" in model.notes[0]
    with pytest.raises(JourdainError, match="'j' mimic each other"):
        read_urdf(text.replace("gone", "j"))


def test_massless_links_are_reported() -> None:
    model = read_urdf(robot(joint("j", "continuous", "a", "b"), joint("w", "fixed", "b", "c"), links="abc", inside=""))
    assert model.notes == ["links without <inertial>, taken as massless: b"]
    model = read_urdf(robot(links="a", inside=INERTIAL.replace("2.5", "9")))
    (note,) = model.notes
    assert note.startswith("mass properties that no body can have are taken as they stand: 'a'")
    assert model.compile().nv == 0


@pytest.mark.peers
def test_faulty_files_that_pinocchio_reads(tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    hinge = '<axis xyz="0 1 0"/><limit lower="{}" upper="1" effort="1" velocity="1"/>'
    cases = {
        "an <inertial> without <mass> is taken for none: links a, b": robot(
            joint("j", "revolute", "a", "b", hinge.format(0)), links="ab", inside='<inertial><origin xyz="0 0 1"/></inertial>'
        ),
        "joint 'j': its lower limit 2 is above the upper one 1; it is taken as unlimited": robot(
            joint("j", "revolute", "a", "b", hinge.format(2)), links="ab"
        ),
        "mass properties that no body can have": robot(
            joint("j", "revolute", "a", "b", hinge.format(0)), links="ab", inside=INERTIAL.replace("2.5", "9")
        ),
        "": "\n  \n<?xml version='1.0'?>" + robot(joint("j", "revolute", "a", "b", hinge.format(0)), links="ab"),
    }
    for words, text in cases.items():
        file = tmp_path / "robot.urdf"
        file.write_text(text)
        model = read_urdf(file)
        assert any(note.startswith(words) for note in model.notes) if words else model.notes == []
        peer = pin.buildModelFromXML(text)
        expected = pin.crba(peer, peer.createData(), np.array([0.3]))
        np.testing.assert_allclose(model.compile().mass_matrix([0.3]), expected, atol=1e-12)


def test_axes_of_joints_that_have_none_are_not_looked_at() -> None:
    model = read_urdf(robot(joint("f", "fixed", "a", "b", '<axis xzy="0 0 1"/>'), joint("w", "floating", "b", "c", "<axis/>"), links="abc"))
    assert model.compile().nv == 6
    with pytest.raises(InputError, match="'xyz' is missing"):
        read_urdf(robot(joint("h", "continuous", "a", "b", '<axis xzy="0 0 1"/>'), links="ab"))


def test_lines_are_counted_from_the_top_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text("\n\n<?xml version='1.0'?>\n<robot name='r'><link/></robot>")
    with pytest.raises(InputError, match=r"robot.urdf, line 4: <link>"):
        read_urdf(file)


# ---- shapes -------------------------------------------------------------------------------------------------


def visual(geometry: str, rest: str = "") -> str:
    return f'<visual><origin xyz="0 0 1" rpy="0 0 0"/><geometry>{geometry}</geometry>{rest}</visual>'


def test_shapes_are_drawn_and_weigh_nothing() -> None:
    inside = (
        visual('<box size="1 2 3"/>', '<material name="red"/>')
        + visual('<cylinder radius="1" length="2"/>', '<material name="x"><color rgba="0 1 0 1"/></material>')
        + visual('<sphere radius="1"/>')
    )
    text = robot(links="a", inside=inside).replace("</robot>", '<material name="red"><color rgba="1 0 0 1"/></material></robot>')
    model = read_urdf(text)
    a = model.bodies["a"]
    assert [s.kind for s in a.shapes] == ["box", "cylinder", "sphere"]
    assert [s.primitive()["colour"] for s in a.shapes] == ["#ff0000", "#00ff00", None]
    assert a.shapes[0].primitive()["position"] == [0.0, 0.0, 1.0]
    assert float(a.mass) == 0.0


STL = """solid t
facet normal 0 0 0
outer loop
vertex 0 0 0
vertex 0 1 0
vertex 1 0 0
endloop
endfacet
endsolid t
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package folder "bot" with urdf/ and meshes/."""
    for folder in ("urdf", "meshes"):
        (tmp_path / "bot" / folder).mkdir(parents=True)
    (tmp_path / "bot" / "meshes" / "t.stl").write_text(STL)
    return tmp_path / "bot"


def read_with_mesh(package: Path, address: str, scale: str = "", **options: object):  # type: ignore[no-untyped-def]
    path = package / "urdf" / "bot.urdf"
    path.write_text(robot(links="a", inside=visual(f'<mesh filename="{address}" {scale}/>')))
    return read_urdf(path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["package://bot/meshes/t.stl", "../meshes/t.stl", "ABSOLUTE", "file://ABSOLUTE"])
def test_meshes_are_found(package: Path, address: str) -> None:
    pytest.importorskip("trimesh")
    model = read_with_mesh(package, address.replace("ABSOLUTE", str(package / "meshes" / "t.stl")), 'scale="2 -3 4"')
    (shape,) = model.bodies["a"].shapes
    vertices, faces = shape.tessellate()
    assert model.notes == []
    np.testing.assert_allclose(sorted(vertices.tolist()), [[0, -3, 1], [0, 0, 1], [2, 0, 1]])
    normal = np.cross(*(vertices[faces[0, k]] - vertices[faces[0, 0]] for k in (1, 2)))
    assert normal[2] < 0  # mirrored and turned over again: it looks down as before
    assert shape.primitive()["kind"] == "mesh"


def test_given_packages_and_resolver(package: Path) -> None:
    elsewhere = {"other": package}
    model = read_with_mesh(package, "package://other/meshes/t.stl", packages=elsewhere)
    assert len(model.bodies["a"].shapes) == 1
    asked: list[str] = []

    def resolver(address: str) -> Path | None:
        asked.append(address)
        return package / "meshes" / "t.stl"

    model = read_with_mesh(package, "package://unknown/x.stl", packages=resolver)
    assert len(model.bodies["a"].shapes) == 1 and asked == ["package://unknown/x.stl"]


@pytest.mark.parametrize("address", ["ABSOLUTE", "file://ABSOLUTE", "../../out.stl", "%2e%2e/%2e%2e/out.stl", "link.stl"])
def test_meshes_elsewhere_are_not_read(package: Path, address: str) -> None:
    pytest.importorskip("trimesh")
    out = package.parent / "out.stl"
    out.write_text(STL)
    (package / "urdf" / "link.stl").symlink_to(out)
    model = read_with_mesh(package, address.replace("ABSOLUTE", str(out)))
    assert model.bodies["a"].shapes == [] and "outside the folder of the model; pass root=" in model.notes[0]
    model = read_with_mesh(package, address.replace("ABSOLUTE", str(out)), root=package.parent)
    assert len(model.bodies["a"].shapes) == 1


def test_a_package_is_where_its_description_is(package: Path) -> None:
    pytest.importorskip("trimesh")
    (package / "urdf" / "arms").mkdir()
    path = package / "urdf" / "arms" / "bot.urdf"
    path.write_text(robot(links="a", inside=visual('<mesh filename="../../meshes/t.stl"/>')))
    assert read_urdf(path).bodies["a"].shapes == []
    (package / "package.xml").write_text("<package/>")
    assert len(read_urdf(path).bodies["a"].shapes) == 1


def test_a_model_names_no_folder_that_is_not_a_package(package: Path) -> None:
    pytest.importorskip("trimesh")
    private = package.parent / "private"
    private.mkdir()
    (private / "s.stl").write_text(STL)
    (package.parent / "s.stl").write_text(STL)
    addresses = ["package://private/s.stl", "model://private/s.stl", f"package://{package.parent.name}/s.stl"]
    for address in [*addresses, f"package://{package.parents[1].name}/{package.parent.name}/private/s.stl"]:
        model = read_with_mesh(package, address)
        assert model.bodies["a"].shapes == [] and "is not known; pass packages=" in model.notes[0]
        assert len(read_with_mesh(package, address, folder=package.parents[1]).bodies["a"].shapes) == 1
    for mark in ("package.xml", "model.config"):
        (private / mark).write_text("<package/>")
        assert len(read_with_mesh(package, addresses[0]).bodies["a"].shapes) == 1
        (private / mark).unlink()


@pytest.mark.parametrize(
    "address, words",
    [
        ("package://bot/meshes/gone.stl", "there is no file"),
        ("package://nowhere/t.stl", "package 'nowhere' is not known"),
        ("package://bot/../../secret.stl", "leaves the folder of the package"),
        ("http://example.org/t.stl", "are not fetched"),
        ("../meshes/t.dae", "there is no file"),
        ("bot.urdf", "format '.urdf' is not read"),
    ],
)
def test_missing_meshes_are_said_and_nothing_else(package: Path, address: str, words: str) -> None:
    model = read_with_mesh(package, address)
    assert model.bodies["a"].shapes == [] and words in model.notes[0]
    assert read_with_mesh(package, address, meshes=False).notes == []


# ---- bad files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, words",
    [
        (robot(joint("j", "revolut", "a", "b"), links="ab"), "joint type 'revolut' is unknown"),
        (robot(joint("j", "revolute", "a", "z"), links="ab"), "child link 'z' does not exist"),
        (robot(joint("j", "revolute", "a", "b", '<axis xyz="0 0 0"/>'), links="ab"), "has no direction"),
        (robot(joint("j", "fixed", "a", "b"), joint("j", "fixed", "a", "c"), links="abc"), "joint 'j' already"),
        (robot(joint("j", "fixed", "a", "b"), joint("k", "fixed", "c", "b"), links="abc"), "URDF has no loops"),
        (robot(joint("j", "fixed", "a", "b"), joint("k", "fixed", "b", "a"), links="ab"), "form a circle"),
        (robot(joint("j", "fixed", "b", "c"), joint("k", "fixed", "c", "b"), links="abc"), "not connected"),
        (robot(links="ab"), "2 links have no parent"),
        (robot(links="aa"), "link 'a' already"),
        (robot(links=""), "no <link>"),
        (robot(links="a", inside='<inertial><mass value="-1"/></inertial>'), "negative"),
        (robot(joint("j", "revolute", "a", "b", '<dynamics damping="-1"/>'), links="ab"), "negative"),
        (robot(links="a", inside='<inertial><mass value="1_0"/></inertial>'), "finite numbers"),
        ('<robot name="r"><xacro:include filename="x"/></robot>', "xacro"),
        ("<sdf/>", "root element must be <robot>"),
    ],
)
def test_errors_name_element_and_line(text: str, words: str) -> None:
    with pytest.raises(JourdainError, match=r"^text, line \d+: <\w+") as caught:
        read_urdf(text)
    assert words in str(caught.value)


def test_line_numbers_are_right() -> None:
    with pytest.raises(InputError, match=r"text, line 4: <joint name=\"j\">"):
        read_urdf(robot(joint("j", "revolut", "a", "b"), links="ab"))


def test_a_link_called_ground() -> None:
    model = read_urdf('<robot name="r"><link name="ground"/></robot>')
    assert list(model.bodies) == ["ground_link"] and "ground_link" in model.notes[0]


# ---- what is left out ---------------------------------------------------------------------------------------


def test_what_is_left_out_is_said_by_name() -> None:
    solid = INERTIAL + '<collision><geometry><sphere radius="1"/></geometry></collision>'
    text = robot(
        joint("j", "revolute", "a", "b", '<limit lower="-1" upper="1" effort="1" velocity="1"/><safety_controller k_velocity="1"/>'
              '<dynamics damping="1" spring_stiffness="3"/>'),
        joint("fly", "floating", "b", "c", '<dynamics damping="1"/><mimic joint="j" multiplier="2"/>'),
        '<transmission name="gear"/><gazebo reference="a"/><gazebo/><material name="red"/><sensor name="eye"/>',
        links="abc",
    ).replace(INERTIAL, solid, 2).replace(INERTIAL, INERTIAL + "<sensor/>")  # fmt: skip
    with pytest.warns(LeftOut, match="model 'r'") as caught:
        model = read_urdf(text)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert model.notes == [
        "collision shapes touch nothing until m.contact(…) lets them, as in m.contact('feet', m.shapes('*_foot'), m.ground): links a, b",
        "<transmission> is not taken over: transmission 'gear'",
        "<gazebo> is not taken over: gazebo 'a', gazebo in line 7",
        "<sensor> is not taken over: sensor 'eye'",
        "<sensor> of links is not taken over: a, b, c",
        "<safety_controller> of joints is not taken over: j",
        "<dynamics spring_stiffness> of joints is not taken over: j",
        "<dynamics> of joints is not taken over: fly",
        "<mimic> of joints is not taken over: fly",
    ]


def test_nothing_left_out_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_urdf(CHAIN).notes == []
