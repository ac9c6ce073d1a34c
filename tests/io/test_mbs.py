"""ROBOTRAN files: the 29-joint humanoid against numbers of the real program; what else the format holds; writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jourdain import JourdainError, Model, ModelError, load_model
from jourdain.io import read_mbs, write_mbs
from jourdain.io.mbs.data import Cut, ForcePoint, JointData, Link, SensorPoint, UserVariable
from jourdain.io.model_files.analyses import starting
from jourdain.io.notes import LeftOut
from tests.io.mbs_files import between, body, joint, mbs, point
from tests.reference import ReferenceTree

DATA = Path(__file__).parent.parent / "data" / "robotran"
COMAN = DATA / "coman_robotran.mbs"


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((DATA / "coman_reference.json").read_text())
    return data


def relative(x: Any, y: Any) -> float:
    return float(np.abs(np.asarray(x) - np.asarray(y)).max() / np.abs(y).max())


def test_joints_are_in_robotrans_order(reference: dict[str, Any]) -> None:
    model = read_mbs(COMAN)
    assert model.name == "coman_robotran"
    assert list(model.joints) == reference["joint_order"]
    assert [j.name for j in model.imported["joints"]] == reference["joint_order"]
    names = [c.names[0].rsplit(".", 1)[0] for c in ReferenceTree(model).coordinates]
    assert names == reference["joint_order"]
    assert model.imported["joints"][2] == JointData("FJ_T3", "Waist", "T3", "independent", q0=0.5268)


def test_total_mass() -> None:
    text = COMAN.read_text()
    masses = [float(part.split("<")[0]) for part in text.split("<mass>")[1:]]
    assert len(masses) == 24
    assert ReferenceTree(read_mbs(COMAN)).total_mass == pytest.approx(sum(masses), rel=1e-14)


@pytest.mark.parametrize("parameters", ["numbers", "symbolic"])
def test_dynamics_against_robotran(reference: dict[str, Any], parameters: str) -> None:
    tree = ReferenceTree(read_mbs(COMAN, parameters=parameters))
    for state in reference["states"]:
        q, v, a = (np.array(state[k]) for k in ("q", "qd", "qdd"))
        assert relative(tree.mass_matrix(q), state["M"]) < 1e-13
        assert relative(tree.bias(q, v), state["c"]) < 1e-13
        assert relative(tree.inverse_dynamics(q, v, a), state["phi"]) < 1e-13


def test_compiled_system_against_robotran(reference: dict[str, Any]) -> None:
    system = read_mbs(COMAN, parameters="symbolic").compile(check=False)
    for state in reference["states"]:
        q, v, a = (np.array(state[k]) for k in ("q", "qd", "qdd"))
        assert relative(system.mass_matrix(q), state["M"]) < 1e-10
        assert relative(system.bias(q, v), state["c"]) < 1e-10
        assert relative(system.inverse_dynamics(q, v, a), state["phi"]) < 1e-10


def test_parameters_are_what_is_not_zero() -> None:
    model = read_mbs(COMAN, parameters="symbolic")
    values = {p.name: p.value for p in model.parameter_set}
    assert values["Waist.m"] == 1.8008695
    assert values["Waist.Lx"] == -0.026391145
    assert values["Waist.Ixz"] == 0.0016920543
    assert values["Waist.Point_0.y"] == -0.023
    assert "Waist.Ixy" not in values and "Waist.Point_0.x" not in values
    assert all(v != 0.0 for v in values.values())
    assert [p.name for p in read_mbs(COMAN).parameter_set] == ["gravity_z"]
    heavier = ReferenceTree(model, {"Waist.m": 2.8008695})
    assert heavier.total_mass == pytest.approx(ReferenceTree(model).total_mass + 1.0)


def test_everything_else_parses() -> None:
    imported = read_mbs(COMAN).imported
    assert len(imported["sensors"]) == 52 and len(imported["forces"]) == 3
    assert imported["sensors"][0] == SensorPoint("RHipSagJ", "Waist.Point_0", ("Pos", "Rot", "Vit", "Om", "Acc", "Omp", "Jac"))
    (user,) = imported["user_models"]
    (parameter,) = user.parameters
    assert len(parameter.values) == 46 and user[parameter.name] is parameter
    (scene,) = imported["scene"]
    assert [scene.count(f"<{tag}>") for tag in ("viewpoint", "spotLight", "background")] == [3, 3, 1]


CAR = """<?xml version="1.0"?>
<mbsDescR7><mbsname>car</mbsname>
<base><gravity><coordinates><x>0</x><y>0</y><z>-9.81</z></coordinates></gravity>
  <point><pointname>road</pointname><coordinates><x>1</x><y>0</y><z>0</z></coordinates>
    <sensor name="S0" Pos="true"/></point></base>
<bodytree>
  <body><bodyname>chassis</bodyname><parent><bodyname>base</bodyname><pointname>origin</pointname></parent>
    <joint><jointname>x</jointname><type>T1</type><nature>independent</nature>
      <initialvalue><q>1</q><qd>20</qd><qdd>0.5</qdd></initialvalue></joint>
    <joint><jointname>pitch</jointname><type>R2</type><nature>dependent</nature><actuated/></joint>
    <mass>100</mass><com><coordinates><x>0.1</x><y>0</y><z>0.2</z></coordinates></com>
    <inertia><Ixx>10</Ixx><Iyy>20</Iyy><Izz>25</Izz><Ixz>1</Ixz></inertia>
    <point><pointname>A</pointname><coordinates><x>1</x><y>0.5</y><z>0</z></coordinates>
      <extforce name="F1" Pos="true" Vit="true"/></point></body>
  <body><bodyname>arm</bodyname><parent><bodyname>chassis</bodyname><pointname>A</pointname></parent>
    <joint><jointname>swing</jointname><type>R1</type><nature>driven</nature><initialvalue><q>0.3</q></initialvalue></joint>
    <joint><jointname>roll</jointname><type>R3</type><nature>dependent</nature></joint>
    <mass>5</mass><inertia><Ixx>1</Ixx><Iyy>1</Iyy><Izz>1</Izz></inertia>
    <point><pointname>B</pointname><coordinates><x>0</x><y>1</y><z>0</z></coordinates></point></body>
</bodytree>
<cuts><ball><name>c1</name><endpoint1><bodyname>arm</bodyname><pointname>B</pointname></endpoint1>
    <endpoint2><bodyname>base</bodyname><pointname>road</pointname></endpoint2><ignore><y/></ignore></ball>
  <rod><name>c2</name><endpoint1><bodyname>arm</bodyname><pointname>B</pointname></endpoint1>
    <endpoint2><bodyname>chassis</bodyname><pointname>origin</pointname></endpoint2><length>1.5</length></rod>
  <solid><name>c3</name><endpoint1><bodyname>arm</bodyname><pointname>B</pointname></endpoint1>
    <endpoint2><bodyname>chassis</bodyname><pointname>A</pointname></endpoint2></solid></cuts>
<links><link><name>spring</name><endpoint1><bodyname>chassis</bodyname><pointname>A</pointname></endpoint1>
    <endpoint2><bodyname>base</bodyname><pointname>road</pointname></endpoint2></link>
  <link3D><name>bush</name><endpoint1><bodyname>chassis</bodyname><pointname>A</pointname></endpoint1>
    <endpoint2><bodyname>arm</bodyname><pointname>B</pointname></endpoint2></link3D></links>
<user_models><user_model><name>tyre</name>
    <parameter><name>k</name><type>scalar</type><value>1e5</value></parameter>
    <parameter><name>table</name><type>lut1D</type><lutfile>PRJPATH/t.txt</lutfile></parameter></user_model></user_models>
<user_variables><user_variable><varname>u</varname><type>in</type><size>3</size></user_variable></user_variables>
<novelty/></mbsDescR7>"""


def test_loops_links_and_natures() -> None:
    model = read_mbs(CAR)
    imported = model.imported
    assert imported["cuts"] == [
        Cut("c1", "ball", "arm.B", "ground.road", None, ("y",)),
        Cut("c2", "rod", "arm.B", "chassis", 1.5),
        Cut("c3", "solid", "arm.B", "chassis.A"),
    ]
    assert imported["links"] == [Link("spring", "chassis.A", "ground.road"), Link("bush", "chassis.A", "arm.B", True)]
    assert imported["forces"] == [ForcePoint("F1", "chassis.A", ("Pos", "Vit"))]
    assert imported["sensors"] == [SensorPoint("S0", "ground.road", ("Pos",))]
    assert imported["user_variables"] == [UserVariable("u", "in", 3)]
    assert imported["user_models"][0]["k"].values == (1e5,)
    assert imported["user_models"][0]["table"].texts == {"lutfile": "PRJPATH/t.txt"}
    assert [j.nature for j in imported["joints"]] == ["independent", "dependent", "driven", "dependent"]
    assert imported["joints"][1].actuated and imported["joints"][0].v0 == 20.0
    assert all(model.frame(p) for c in imported["cuts"] for p in (c.first, c.second))
    assert model.notes[0] == "the element <novelty> is not read"


NOTED = CAR.replace(
    "<nature>dependent</nature><actuated/>", "<nature>dependent</nature><actuated/><extforce name='push'/><symbols><q/></symbols>"
).replace(
    "</pointname>",
    "</pointname><sensor name='eye' Pos='true'><range>2</range></sensor><graphics><x3D><x3D_shapes><box/></x3D_shapes></x3D></graphics>",
    1,
)


@pytest.mark.parametrize(
    "note",
    [
        "the element <extforce> is not read: 'push' of joint 'pitch'",
        "the element <novelty> is not read",
        "the element <range> is not read: of sensor 'eye'",
        "the element <x3D_shapes> is not read: of point 'road'",
        "forces of links are programs in ROBOTRAN; here they are inputs, zero until given: 'spring', 'bush'",
        "external forces are programs in ROBOTRAN; here they are inputs, zero until given: 'F1'",
        "driven joints are held at their initial values; give their motions with model.drive: 'swing'",
        "initial accelerations are not taken over, they follow from the forces: 'x'",
        "user models are records in model.imported alone: 'tyre'",
        "user variables are records in model.imported alone: 'u'",
    ],
)
def test_what_is_left_out_is_said_by_name(note: str) -> None:
    assert note in read_mbs(NOTED).notes


def test_it_is_said_by_one_warning() -> None:
    with pytest.warns(LeftOut, match="the element <novelty> is not read") as caught:
        model = read_mbs(NOTED)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert not any("symbols" in note for note in model.notes)  # an empty table says nothing


PROGRAM = """
# h[1] = mbs_data.q[1]
def user_cons_hJ(h, Jac, mbs_data, tsim):
    \"\"\"h[1] = 0\"\"\"
{}
    return
"""


@pytest.mark.parametrize(
    "name, empty, written",
    [
        ("user_cons_hJ.py", PROGRAM.format(""), PROGRAM.format("    h[1] = mbs_data.q[1]\n")),
        (
            "user_cons_hJ.c",
            '#include "math.h"\nvoid user_cons_hJ(double *h, double **Jac, MbsData *mbs_data, double tsim)\n{\n/* h[1] = 0; */ // h\n}\n',
            "void user_cons_hJ(double *h)\n{\n  h[1] = q[1];\n}\n",
        ),
        (
            "user_cons_hJ.m",
            "function [h,Jac] = user_cons_hJ(mbs_data,tsim)\n% h(1) = 0\nglobal MBS_user\nh = zeros(Nuc,1);\nreturn\n",
            "function [h,Jac] = user_cons_hJ(mbs_data,tsim)\nh(1) = q(1);\n",
        ),
        (
            "user_cons_hJ.py",
            "def user_cons_hJ(h, Jac,\n                 mbs_data, tsim):\n    pass\n",
            "def user_cons_hJ(h, Jac, mbs_data, tsim): h[1] = mbs_data.q[1]\n",
        ),
        (
            "user_cons_hJ.c",
            "void user_cons_hJ(double *h,\n    double **Jac, MbsData *s, double tsim)\n{\n}\n",
            "void user_cons_hJ(double *h,\n    double **Jac, MbsData *s, double tsim)\n{\n  h[1] = s->q[1];\n}\n",
        ),
    ],
)
def test_programs_of_the_project_are_named(name: str, empty: str, written: str, tmp_path: Path) -> None:
    (tmp_path / "dataR").mkdir()
    (tmp_path / "userfctR").mkdir()
    (tmp_path / "dataR" / "car.mbs").write_text(CAR)
    for text, expected in ((empty, 0), (written, 1)):
        (tmp_path / "userfctR" / name).write_text(text)
        notes = read_mbs(tmp_path / "dataR" / "car.mbs").notes
        assert sum(f"the program {name} is not read: constraints" in note for note in notes) == expected


def test_impossible_inertias_are_taken_as_they_stand(tmp_path: Path) -> None:
    text = CAR.replace("<Ixx>1</Ixx><Iyy>1</Iyy><Izz>1</Izz>", "<Iyy>1</Iyy>")
    model = read_mbs(text)
    (note,) = [n for n in model.notes if "mass properties" in n]
    assert "'arm'" in note and "triangle inequality" in note
    model.save(tmp_path / "car.toml")
    outer = Model("outer")
    outer.include(model, "part")
    for m in (model, load_model(tmp_path / "car.toml"), outer):
        m.check()
        assert m.compile().nv == 3
    model.unphysical.clear()
    with pytest.raises(ModelError, match="body 'arm': principal inertias"):
        model.check()


def test_the_start_is_that_of_the_file() -> None:
    open_chain = CAR[: CAR.index("<cuts>")] + CAR[CAR.index("<links>") :]
    model = read_mbs(open_chain)
    assert model.initial == {"x.displacement": 1.0, "x.displacement_rate": 20.0} and model.guesses == []
    _, start = starting(model, {})
    assert (start["x.displacement"], start["x.displacement_rate"]) == (1.0, 20.0)
    other = read_mbs(open_chain)
    other.drive(other.joints["x"], lambda t: 1.0 + 20.0 * t)
    assert other.initial == {}
    assert starting(other, {})[1].q.tolist() == [0.0, 0.0]


def test_independent_joints_keep_their_start_and_dependent_ones_begin_there() -> None:
    bar = body("a", ("base", "origin"), [joint("ja", "R2", q0=0.4, v0=2.0)], [point("tip", (0.5, 0.0, 0.0))])
    rocker = body("b", ("base", "right"), [joint("jb", "R2", "dependent", q0=1.9)], [point("tip", (0.5, 0.0, 0.0))])
    text = mbs(
        "bars", [point("right", (1.2, 0.0, 0.0))], [bar, rocker], between("rod", "rod", ("a", "tip"), ("b", "tip"), "<length>0.6</length>")
    )
    model = read_mbs(text)
    assert model.initial == {"ja.angle": 0.4, "ja.angle_rate": 2.0, "jb.angle": 1.9} and model.guesses == ["jb.angle"]
    _, start = starting(model, {})
    assert (start["ja.angle"], start["ja.angle_rate"]) == (0.4, 2.0)
    tips = [np.array([x + 0.5 * np.cos(q), -0.5 * np.sin(q)]) for x, q in ((0.0, 0.4), (1.2, start["jb.angle"]))]
    assert np.linalg.norm(tips[1] - tips[0]) == pytest.approx(0.6, abs=1e-10)
    assert 0.0 < abs(start["jb.angle"] - 1.9) < 0.5


def test_driven_joints_are_locked_or_free(rng: np.random.Generator) -> None:
    locked, free = ReferenceTree(read_mbs(CAR)), ReferenceTree(read_mbs(CAR, driven="free"))
    assert (locked.nv, free.nv) == (3, 4)
    q, v, _ = free.random_state(rng)
    q[2], v[2] = 0.3, 0.0
    keep = [0, 1, 3]
    np.testing.assert_allclose(locked.mass_matrix(q[keep]), free.mass_matrix(q)[np.ix_(keep, keep)], atol=1e-12)
    np.testing.assert_allclose(locked.bias(q[keep], v[keep]), free.bias(q, v)[keep], atol=1e-10)


# ---- writing ------------------------------------------------------------------------------------------------


def same_dynamics(first: Model, second: Model, rng: np.random.Generator) -> None:
    a, b = ReferenceTree(first), ReferenceTree(second)
    q, v, _ = a.random_state(rng)
    np.testing.assert_allclose(b.mass_matrix(q), a.mass_matrix(q), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(b.bias(q, v), a.bias(q, v), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("source", [COMAN, CAR], ids=["coman", "car"])
def test_written_file_reads_back(source: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    model = read_mbs(source, parameters="symbolic")
    write_mbs(model, tmp_path / "copy.mbs")
    copy = read_mbs(tmp_path / "copy.mbs", parameters="symbolic")
    assert list(copy.joints) == list(model.joints)
    assert [p.name for p in copy.parameter_set] == [p.name for p in model.parameter_set]
    for kind in ("joints", "cuts", "links", "forces", "sensors", "user_models", "user_variables", "drawings", "scene"):
        assert sorted(copy.imported[kind], key=repr) == sorted(model.imported[kind], key=repr)
    same_dynamics(model, copy, rng)


def test_drawings_are_written(tmp_path: Path) -> None:
    xyz = "<x>{}</x><y>{}</y><z>{}</z>"
    pose = (
        f"<position>{xyz.format(0.1, 0.2, 0.3)}</position><scale>{xyz.format(1, 2, 1)}</scale><rotation>{xyz.format(0, 0.5, 0)}</rotation>"
    )
    look = '<color R="10" G="20" B="255"/><specularColor R="1" G="2" B="3"/><shininess>250</shininess><transparency>0.5</transparency>'
    shapes = (
        f"<box><name>hull</name>{pose}{look}<size>{xyz.format(3, 1, 0.5)}</size></box>"
        f"<cylinder><name>axle</name>{pose}<radius>0.2</radius><height>1.5</height></cylinder>"
        "<inline><name>mesh</name><url>PRJPATH/animationR/a.wrl</url></inline>"
    )
    graphics = f"<graphics><x3D><x3D_shapes>{shapes}</x3D_shapes></x3D></graphics>"
    model = read_mbs(CAR.replace("<mass>5</mass>", f"<mass>5</mass>{graphics}").replace("</gravity>", f"</gravity>{graphics}"))
    drawings = model.imported["drawings"]
    assert [(d.body, d.kind) for d in drawings] == [(b, k) for b in ("ground", "arm") for k in ("box", "cylinder", "inline")]
    assert drawings[0].colours == {"color": (10.0, 20.0, 255.0), "specularColor": (1.0, 2.0, 3.0)}
    assert drawings[0].surface == {"shininess": 250.0, "transparency": 0.5}
    assert write_mbs(model, tmp_path / "m.mbs") == []
    assert read_mbs(tmp_path / "m.mbs").imported["drawings"] == drawings


def test_what_a_shape_holds_besides_is_kept(tmp_path: Path) -> None:
    spine = "<spine><p k='1 &amp; 2'>0 0 1</p></spine>"
    shape = f"<extrusion><name>e</name>{spine}</extrusion><cone><name>c</name><height>2</height><bottomRadius>0.4</bottomRadius></cone>"
    graphics = f"<graphics><x3D><x3D_shapes>{shape}</x3D_shapes></x3D></graphics>"
    model = read_mbs(CAR.replace("<mass>5</mass>", f"<mass>5</mass>{graphics}"))
    extrusion, cone = model.imported["drawings"]
    assert extrusion.others == ('<spine><p k="1 &amp; 2">0 0 1</p></spine>',)
    assert cone.others == ("<bottomRadius>0.4</bottomRadius>",) and cone.size == {"height": 2.0}
    assert write_mbs(model, tmp_path / "m.mbs") == []
    assert read_mbs(tmp_path / "m.mbs").imported["drawings"] == [extrusion, cone]


def skewed() -> Model:
    """Turned frames on both sides, axes along nothing in particular, a joint declared from its far end."""
    m = Model("skewed", gravity=(1.0, 2.0, -9.0))
    a = m.body("a", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(1.0, 2.0, 2.5, 0.1, 0.2, 0.3))
    b = m.body("b", mass=1.0, com=(0.3, 0.0, 0.1), inertia=(0.5, 0.6, 0.7))
    c = m.body("c", mass=3.0, com=(0.0, 0.3, 0.1), inertia=(0.5, 0.6, 0.7), about="com")
    d = m.body("d", mass=0.5)
    m.free("base", m.ground.at(1, 2, 3, ("x", 0.4)), a.at(0.1, 0.2, 0.3, ("y", 0.7)), orientation="zxy")
    m.revolute("hinge", a.at(0.3, 0.1, 0.2, rotation=[("x", 0.3), ("z", 0.2)]), b.at(0, 0.1, 0), axis=(1, 2, -3))
    m.prismatic("slide", c.at(0.2, 0.3, 0, rotation=("z", 1.0)), b.at(0.5, 0, 0), axis="-y")
    m.fixed("weld", c.at(0, 0, 1, rotation=("x", 0.3)), d.at(0.1, 0, 0))
    d.frame("tip", (0.1, 0.2, 0.3))
    return m


def test_any_tree_of_elementary_joints_can_be_written(tmp_path: Path, rng: np.random.Generator) -> None:
    model = skewed()
    assert write_mbs(model, tmp_path / "m.mbs") == []
    copy = read_mbs(tmp_path / "m.mbs")
    same_dynamics(model, copy, rng)
    q, _, _ = ReferenceTree(model).random_state(rng)
    ours, theirs = (ReferenceTree(m).frame_pose("d.tip", q)[1] for m in (model, copy))
    np.testing.assert_allclose(theirs, ours, atol=1e-12)


def test_ball_cut_of_a_model_is_written(tmp_path: Path) -> None:
    m = Model("loop")
    a, b = (m.body(n, mass=1.0, inertia=(1, 1, 1)) for n in "ab")
    m.revolute("j1", m.ground, a, axis="y", damping=0.5)
    m.revolute("j2", a.at(1, 0, 0), b, axis="y", limits=(-1, 1))
    m.spherical("close", b.at(1, 0, 0), m.ground.at(1, 0, 0))
    lost = write_mbs(m, tmp_path / "m.mbs")
    assert len(lost) == 2 and "damping" in lost[0] and "limits" in lost[1]
    copy = read_mbs(tmp_path / "m.mbs")
    assert [(c.kind, c.first, c.second) for c in copy.imported["cuts"]] == [("ball", "b.close_cut", "ground.close_cut")]
    assert [float(x) for x in copy.frame("b.close_cut").position] == [1.0, 0.0, 0.0]


def test_closures_and_starts_of_a_model_are_written_and_the_rest_is_named(tmp_path: Path, rng: np.random.Generator) -> None:
    m = Model("loops")
    a, b, c = (m.body(n, mass=1.0, inertia=(1, 1, 1), com=(0.1, 0.2, 0.0)) for n in "abc")
    m.revolute("j1", m.ground, a, axis="y")
    m.revolute("j2", a.at(1, 0, 0), b, axis="z")
    m.revolute("j3", m.ground.at(0, 2, 0), c, axis="x")
    m.close("ball", b.at(1, 0, 0), m.ground.at(1, 0.5, 0), "ball")
    m.close("rod", b.at(0, 1, 0), c.at(0, 0, 1), "rod", length=1.7)
    m.close("weld", a.at(1, 0, 1), c, "body", convention="robotran", ignore=["y"])
    m.initial |= {"j1.angle": "30 deg", "j2.angle_rate": 2.0}
    m.spring("spring", a, c, 100.0, 1.0)
    m.sensor("eye", b)
    m.constraint("gear", m.joints["j1"].position - 2.0 * m.joints["j3"].position)
    u = m.input("u")
    m.output("twice", 2.0 * u)
    lost = write_mbs(m, tmp_path / "m.mbs")
    assert lost == ["the constraint gear", "the load spring", "the sensor eye", "the input u", "the output twice"]
    copy = read_mbs(tmp_path / "m.mbs")
    assert [(k.name, k.kind, k.length, k.ignore) for k in copy.imported["cuts"]] == [
        ("ball", "ball", None, ()), ("rod", "rod", 1.7, ()), ("weld", "solid", None, ("y",)),
    ]  # fmt: skip
    assert {n: x for n, x in copy.initial.items() if x} == {"j1.angle": pytest.approx(np.pi / 6), "j2.angle_rate": 2.0}
    q = rng.normal(size=3)
    ours, theirs = (s.compile().function("constraints")(np.zeros(1), q)[0] for s in (m, copy))
    np.testing.assert_allclose(theirs[:3], -ours[:3], atol=1e-14)
    np.testing.assert_allclose(theirs[3], 1.7 * ours[3], atol=1e-14)
    np.testing.assert_allclose(theirs[4:], ours[4:-1], atol=1e-14)


def test_what_robotran_cannot_say_is_an_error(tmp_path: Path) -> None:
    m = Model("ball")
    m.spherical("s", m.ground, m.body("a", mass=1.0))
    with pytest.raises(ModelError, match="joint 's': ROBOTRAN has no quaternions"):
        write_mbs(m, tmp_path / "m.mbs")
    m = Model("screw")
    m.helical("h", m.ground, m.body("a", mass=1.0), pitch=0.1)
    with pytest.raises(ModelError, match="joint 'h': ROBOTRAN has no coupled joints"):
        write_mbs(m, tmp_path / "m.mbs")


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("<type>R1</type>", "<type>R4</type>", "type 'R4' is unknown"),
        ("<nature>driven</nature>", "<nature>lazy</nature>", "nature 'lazy' is unknown"),
        ("<bodyname>arm</bodyname><parent>", "<bodyname>chassis</bodyname><parent>", "'chassis' already"),
        ("<pointname>A</pointname></parent>", "<pointname>Z</pointname></parent>", "no point 'Z'"),
        ("<mass>5</mass>", "<mass>-5</mass>", "negative"),
        ("<mass>5</mass>", "<mass>heavy</mass>", "not a list of finite numbers"),
        ("<jointname>roll</jointname>", "<jointname>x</jointname>", "joint 'x' already"),
        ("<length>1.5</length>", "<length>0</length>", "must be greater than zero"),
        ("mbsDescR7", "mbs", "root element must be <mbsDescR7>"),
    ],
)
def test_errors(old: str, new: str, words: str) -> None:
    with pytest.raises(JourdainError, match=r"text, line \d+: <") as caught:
        read_mbs(CAR.replace(old, new))
    assert words in str(caught.value)


def test_circle_of_parents_is_reported() -> None:
    form = "<bodyname>{}</bodyname><pointname>{}</pointname></parent>"
    text = CAR.replace(form.format("base", "origin"), form.format("arm", "B"))
    with pytest.raises(JourdainError, match="not connected to the ground"):
        assert read_mbs(text).topology


def test_a_hinge_that_an_impossible_inertia_leaves_without_inertia_is_named() -> None:
    """The file's Iyy alone compiles, but the arm's last joint turns about z: nothing resists it."""
    open_chain = CAR[: CAR.index("<cuts>")] + CAR[CAR.index("<links>") :]
    system = read_mbs(open_chain.replace("<Ixx>1</Ixx><Iyy>1</Iyy><Izz>1</Izz>", "<Iyy>1</Iyy>")).compile()
    with pytest.raises(ModelError, match="mass matrix is singular: 'roll.angle' meets no inertia"):
        system.simulate(system.state({}), 0.1)
