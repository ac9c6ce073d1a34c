"""Joints: their coordinates, their motion against SciPy's rotations, and what a wrong one is told."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import jourdain as jd
from jourdain.errors import ModelError
from jourdain.formalisms.equations import Equations
from jourdain.formalisms.functions.registry import derive
from tests.reference import rotation_of_quaternion

finite = st.floats(-3.0, 3.0)


def pair() -> tuple[jd.Model, jd.Body, jd.Body]:
    m = jd.Model("m")
    return m, m.body("a", mass=1.0), m.body("b", mass=1.0)


def pose(m: jd.Model, path: str, q: Any, v: Any = None) -> dict[str, np.ndarray]:
    """Position, rotation, velocity of a frame by the symbolic kinematics, evaluated without compiling."""
    joined = {f.body.name for j in m.joints.values() for f in (j.parent, j.child)}
    for body in [b for b in m.bodies.values() if b.name not in joined]:
        m.fixed(f"hold {body.name}", m.ground, body)
    eq = Equations(m)
    f = derive(eq, "frame", path=path)
    values = dict(zip(eq.q, np.atleast_1d(np.asarray(q, dtype=float)), strict=True))
    v = np.zeros(len(eq.tree.v)) if v is None else np.atleast_1d(np.asarray(v, dtype=float))
    values |= dict(zip(eq.tree.v, v, strict=True)) | dict.fromkeys(eq.tree.a, 0.0)
    values |= dict(zip(m.parameter_set.symbols, m.parameter_set.values(), strict=True)) | {m.time: 0.0}
    got = {r.name: np.array(jd.evaluate(list(r.expressions), values), dtype=float).reshape(r.shape) for r in f.outputs}
    return got


COORDINATES = {
    "fixed": ({}, [], []),
    "revolute": ({}, ["angle"], ["rad"]),
    "prismatic": ({}, ["displacement"], ["m"]),
    "helical": ({"pitch": 0.01}, ["angle"], ["rad"]),
    "cylindrical": ({}, ["displacement", "angle"], ["m", "rad"]),
    "universal": ({}, ["angle1", "angle2"], ["rad", "rad"]),
    "planar": ({"plane": "xz"}, ["x", "z", "angle"], ["m", "m", "rad"]),
    "spherical": ({}, ["orientation.e0", "orientation.e1", "orientation.e2", "orientation.e3"], [""]),
    "free": ({}, ["x", "y", "z", "orientation.e0", "orientation.e1", "orientation.e2", "orientation.e3"], ["m", "m", "m", ""]),
    "sequence": ({"sequence": ["Tx", "Rz", "R1", "Rz"]}, ["x", "rz", "rx", "rz2"], ["m", "rad", "rad", "rad"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", COORDINATES)
def test_coordinates_and_units(kind: str) -> None:
    m, a, _ = pair()
    options, names, units = COORDINATES[kind]
    j = m.joint(kind, "j", m.ground, a, **options)
    assert [n for c in j.coordinates for n in c.names] == [f"j.{n}" for n in names]
    assert [c.unit for c in j.coordinates] == units
    for c in j.coordinates:
        assert [s.name for s in c.q] == list(c.names)
        assert [s.name for s in c.v] == list(c.velocity_names)
        assert len(c.v) == (3 if c.is_quaternion else 1)
        assert len(c.a) == len(c.v)
    assert m.joints["j"] is j


@pytest.mark.parametrize("orientation", ["xyz", "zxz", "zyx", "yxy"])
def test_orientation_by_a_sequence(orientation: str) -> None:
    m, a, _ = pair()
    j = m.spherical("j", m.ground, a, orientation=orientation)
    assert [c.unit for c in j.coordinates] == ["rad"] * 3
    angles = [0.4, -0.9, 1.3]
    got = pose(m, "a", angles)["rotation"]
    np.testing.assert_allclose(got, Rotation.from_euler(orientation.upper(), angles).as_matrix(), atol=1e-15)


AXIS = np.array([1.0, -2.0, 0.5])
N = AXIS / np.linalg.norm(AXIS)


@given(finite, finite)
def test_motion_of_the_elementary_kinds(x: float, angle: float) -> None:
    turn = Rotation.from_rotvec(N * angle).as_matrix()
    pitch = 0.3
    cases: dict[str, tuple[dict[str, Any], list[float], np.ndarray, np.ndarray]] = {
        "revolute": ({}, [angle], np.zeros(3), turn),
        "prismatic": ({}, [x], N * x, np.eye(3)),
        "helical": ({"pitch": pitch}, [angle], N * pitch * angle / (2 * np.pi), turn),
        "cylindrical": ({}, [x, angle], N * x, turn),
    }
    for kind, (options, q, position, rotation) in cases.items():
        m, a, _ = pair()
        m.joint(kind, "j", m.ground, a, axis=AXIS, **options)
        got = pose(m, "a", q)
        np.testing.assert_allclose(got["position"], position, atol=1e-14)
        np.testing.assert_allclose(got["rotation"], rotation, atol=1e-14)


def test_a_turn_of_a_screw_advances_by_its_pitch() -> None:
    m, a, _ = pair()
    m.helical("j", m.ground, a, pitch="5 mm", axis="-z")
    got = pose(m, "a", [2 * np.pi], [2 * np.pi])
    np.testing.assert_allclose(got["position"], [0, 0, -0.005], atol=1e-18)
    np.testing.assert_allclose(got["velocity"], [0, 0, -0.005, 0, 0, -2 * np.pi], atol=1e-15)


@given(finite, finite, finite)
def test_motion_of_universal_and_planar(x: float, y: float, z: float) -> None:
    m, a, _ = pair()
    m.universal("j", m.ground, a, axes=("z", "-x"))
    expected = Rotation.from_euler("Z", x) * Rotation.from_euler("X", -y)
    np.testing.assert_allclose(pose(m, "a", [x, y])["rotation"], expected.as_matrix(), atol=1e-15)
    for plane, order in (("xy", (0, 1, 2)), ("yz", (1, 2, 0)), ("xz", (0, 2, 1)), ("zx", (2, 0, 1))):
        m, a, _ = pair()
        m.planar("j", m.ground, a, plane=plane)
        got = pose(m, "a", [x, y, z])
        expected_position = np.zeros(3)
        expected_position[[order[0], order[1]]] = x, y
        np.testing.assert_allclose(got["position"], expected_position, atol=1e-15)
        np.testing.assert_allclose(got["rotation"], Rotation.from_euler("xyz"[order[2]], z).as_matrix(), atol=1e-15)


@given(
    st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda e: np.linalg.norm(e) > 0.1), st.lists(finite, min_size=6, max_size=6)
)
def test_motion_of_a_free_body(e: list[float], v: list[float]) -> None:
    m, a, _ = pair()
    m.free("j", m.ground, a)
    unit = np.array(e) / np.linalg.norm(e)
    got = pose(m, "a", [1.0, 2.0, 3.0, *unit], v)
    R = Rotation.from_quat([*unit[1:], unit[0]]).as_matrix()
    np.testing.assert_allclose(got["position"], [1, 2, 3])
    np.testing.assert_allclose(got["rotation"], R, atol=1e-14)
    np.testing.assert_allclose(R, rotation_of_quaternion(unit), atol=1e-14)
    np.testing.assert_allclose(got["velocity"], [*v[:3], *(R @ v[3:])], atol=1e-13)


@settings(max_examples=10)
@given(st.data())
def test_a_joint_declared_backwards_moves_the_other_way(data: st.DataObject) -> None:
    """Ground as the child: the body's pose is the inverse of the joint's transformation, with placements on both sides."""
    kind = data.draw(st.sampled_from(sorted(set(COORDINATES) - {"spherical", "free"})))
    options = dict(COORDINATES[kind][0])
    if kind in ("revolute", "prismatic", "helical", "cylindrical"):
        options["axis"] = AXIS

    def built(forward: bool) -> jd.Model:
        m, a, _ = pair()
        fixed = m.ground.at(0.1, -0.2, 0.3, rotation=("x", 0.4))
        carried = a.at(0.5, 0.6, -0.7, rotation={"rpy": (0.1, 0.2, 0.3)})
        m.joint(kind, "j", fixed if forward else carried, carried if forward else fixed, **options)
        return m

    count = len(built(True).joints["j"].coordinates)
    q = np.array(data.draw(st.lists(finite, min_size=count, max_size=count)))
    forward, backward = pose(built(True), "a", q), pose(built(False), "a", q)

    def matrix(p: dict[str, np.ndarray]) -> np.ndarray:
        return np.block([[p["rotation"], p["position"][:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])

    F = np.eye(4)
    F[:3, :3], F[:3, 3] = Rotation.from_euler("x", 0.4).as_matrix(), [0.1, -0.2, 0.3]
    C = np.eye(4)
    C[:3, :3], C[:3, 3] = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix(), [0.5, 0.6, -0.7]
    T = np.linalg.inv(F) @ matrix(forward) @ C  # the joint itself, from the forward model
    np.testing.assert_allclose(F @ np.linalg.inv(T) @ np.linalg.inv(C), matrix(backward), atol=1e-12)


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_a_quaternion_needs_the_direction_of_the_tree(kind: str) -> None:
    m, a, _ = pair()
    m.joint(kind, "j", a, m.ground)
    with pytest.raises(ModelError, match="joint 'j' is reached from its child 'ground'; declare it from 'ground' to 'a'"):
        pose(m, "a", [])


def test_mimic_follows_with_ratio_and_offset() -> None:
    m, a, b = pair()
    lead = m.revolute("lead", m.ground, a, axis="x")
    follow = m.revolute("follow", a, b, axis="y", mimic=(lead, -2.0, "10 deg"))
    again = m.revolute("again", b, m.body("c", mass=1.0), axis="z", mimic=(follow, 0.5))
    assert follow.coordinates == lead.coordinates == again.coordinates
    got = pose(m, "c", [0.3])["rotation"]
    angle = -0.6 + np.deg2rad(10)
    np.testing.assert_allclose(got, Rotation.from_euler("XYZ", [0.3, angle, 0.5 * angle]).as_matrix(), atol=1e-15)


def test_drive_constants() -> None:
    m, a, _ = pair()
    n = m.parameter("n", 50.0)
    j = m.revolute(
        "j",
        m.ground,
        a,
        rotor_inertia=1e-4,
        gear_ratio=n,
        damping="0.1 N m s/rad",
        friction=0.2,
        stiffness=3,
        rest="5 deg",
        limits=("-90 deg", None),
    )
    assert float(m.parameter_set.evaluate(j.drive.reflected_inertia)) == pytest.approx(0.25)
    assert float(j.drive.damping) == 0.1
    assert float(j.drive.rest) == pytest.approx(np.deg2rad(5))
    assert j.limits == (pytest.approx(-np.pi / 2), None)
    assert m.prismatic("k", a, m.body("c", mass=1), limits=np.array(["-5 mm", "1 cm"])).limits == (-0.005, 0.01)


def test_single_coordinate_access() -> None:
    m, a, b = pair()
    j = m.revolute("j", m.ground, a)
    assert (j.position, j.velocity, j.acceleration) == (j.coordinates[0].q[0], j.coordinates[0].v[0], j.coordinates[0].a[0])
    c = m.cylindrical("c", a, b)
    assert c.coordinate("angle") is c.coordinates[1]
    with pytest.raises(ModelError, match=r"joint 'c' \(cylindrical\) has the coordinates c.displacement, c.angle; name one of them"):
        c.position  # noqa: B018
    with pytest.raises(ModelError, match=r"joint 'c' has no coordinate 'angel'; it has displacement, angle"):
        c.coordinate("angel")
    s = m.spherical("s", b, m.body("d", mass=1))
    assert s.coordinate("orientation") is s.coordinates[0]
    assert s.coordinate("orientation.e2") is s.coordinates[0]
    f = m.fixed("f", b, m.body("e", mass=1))
    with pytest.raises(ModelError, match=r"joint 'f' has no coordinate 'x'; it has none"):
        f.coordinate("x")


Z3 = (0, 0, 0)
ERRORS: dict[str, tuple[str, dict[str, Any], str]] = {
    "zero axis": ("revolute", {"axis": Z3}, r"joint 'j': axis \(0.0, 0.0, 0.0\) has no direction"),
    "axis letter": ("prismatic", {"axis": "w"}, "joint 'j': axis 'w' is unknown; use 'x', 'y', 'z'"),
    "short axis": ("cylindrical", {"axis": (0, 1)}, r"joint 'j': \(0, 1\) is not a vector of three values"),
    "nan axis": ("helical", {"axis": (0, np.nan, 1), "pitch": 1}, "joint 'j': nan is not a finite number"),
    "no axis": ("revolute", {"axis": None}, "joint 'j': None is not a vector of three values"),
    "unknown option": ("revolute", {"axs": "x"}, "joint 'j': unknown option 'axs'; a revolute joint takes axis, .*limits, mimic"),
    "option of another kind": ("revolute", {"pitch": 1}, "joint 'j': unknown option 'pitch'; a revolute joint takes"),
    "kind": ("hinge", {}, "joint 'j': kind 'hinge' is unknown; use one of fixed, revolute, prismatic, .*sequence"),
    "no pitch": ("helical", {}, "joint 'j': pitch None is not an advance in a turn; give pitch= in m, such as 0.005 or '5 mm'"),
    "pitch per turn": ("helical", {"pitch": "5 mm/rev"}, "joint 'j': pitch '5 mm/rev' is not an advance in a turn"),
    "pitch unit": ("helical", {"pitch": "5 deg"}, "joint 'j': pitch: quantity '5 deg' should be in 'm'"),
    "no sequence": ("sequence", {}, r"joint 'j': give its sequence= of motions, such as \['Tx', 'Rz'\]"),
    "motion": ("sequence", {"sequence": ["Tx", "Qy"]}, "joint 'j': motion 'Qy' is unknown; use Tx, Ty, Tz, Rx, Ry, Rz"),
    "motion number": ("sequence", {"sequence": [1]}, "joint 'j': motion '1' is unknown"),
    "one axis": ("universal", {"axes": ("x",)}, r"joint 'j': axes \('x',\) are not two axes; give axes=\('x', 'y'\)"),
    "no axes": ("universal", {"axes": None}, "joint 'j': axes None are not two axes"),
    "parallel axes": ("universal", {"axes": ("x", (-2, 0, 0))}, r"joint 'j': axes .* are parallel; the two turns would be one"),
    "orientation": ("spherical", {"orientation": "xxz"}, "joint 'j': orientation 'xxz' is unknown; use 'quaternion' or three axes such as 'xyz', 'zxz'"),
    "orientation length": ("free", {"orientation": "xy"}, "joint 'j': orientation 'xy' is unknown"),
    "no orientation": ("free", {"orientation": None}, "joint 'j': orientation 'None' is unknown"),
    "plane": ("planar", {"plane": "xx"}, "joint 'j': plane 'xx' is unknown; use 'xy', 'xz' or 'yz'"),
    "limits reversed": ("revolute", {"limits": (1, -1)}, "joint 'j': the lower limit 1 is above the upper limit -1"),
    "limits number": ("revolute", {"limits": 1}, r"joint 'j': limits 1 are not a pair; give limits=\(lower, upper\)"),
    "limits three": ("revolute", {"limits": (1, 2, 3)}, "are not a pair"),
    "limits unit": ("revolute", {"limits": ("1 mm", None)}, "joint 'j': limit: quantity '1 mm' should be in 'rad'"),
    "limits nan": ("prismatic", {"limits": (np.nan, None)}, "joint 'j': limit: nan is not a finite number"),
    "negative damping": ("revolute", {"damping": -1}, "joint 'j': damping = -1 is negative"),
    "negative rotor": ("revolute", {"rotor_inertia": -1}, "joint 'j': rotor_inertia = -1 is negative"),
    "rotor of a ball": ("spherical", {"rotor_inertia": 1, "orientation": "xyz"}, "joint 'j': a rotor inertia about all axes needs orientation='quaternion', not 'xyz'"),
    "unit of a ball's rotor": ("spherical", {"rotor_inertia": "1 kg"}, "joint 'j': rotor_inertia: quantity '1 kg' should be in 'kg m\\^2'"),
    "unit of a free rotor": ("free", {"rotor_inertia": "1 kg"}, "joint 'j': rotor_inertia: quantity '1 kg' should be in '1'"),
    "rotor of many": ("cylindrical", {"rotor_inertia": 1}, "joint 'j': rotor inertia, damping, friction and stiffness need a joint of one freedom"),
    "stiff ball": ("spherical", {"rotor_inertia": 1, "stiffness": 1}, "joint 'j': rotor inertia, damping, friction and stiffness need a joint of one freedom"),
    "damping of many": ("free", {"damping": 1}, "joint 'j': rotor inertia, .* need a joint of one freedom"),
    "damping nan": ("revolute", {"damping": np.nan}, "joint 'j': damping: nan is not a finite number"),
    "mimic name": ("revolute", {"mimic": "lead"}, r"joint 'j': mimic: 'lead' is not a joint; give the object that m.revolute"),
    "mimic entries": ("revolute", {"mimic": (1, 2, 3, 4)}, r"joint 'j': mimic has 4 entries; give a joint or \(joint, ratio, offset\)"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_wrong_joints(case: str) -> None:
    m, a, _ = pair()
    kind, options, message = ERRORS[case]
    with pytest.raises(ModelError, match=message):
        m.joint(kind, "j", m.ground, a, **options)
    assert not m.joints


def test_mimic_of_the_wrong_joint() -> None:
    m, a, b = pair()
    other = jd.Model("other")
    foreign = other.revolute("lead", other.ground, other.body("x", mass=1))
    free = m.free("base", m.ground, a)
    ball = m.spherical("ball", a, m.body("c", mass=1))
    hinge = m.revolute("hinge", a, m.body("d", mass=1))
    with pytest.raises(ModelError, match="joint 'j': mimic: joint 'lead' does not belong to the model 'm'"):
        m.revolute("j", a, b, mimic=foreign)
    for leader in (free, ball):
        with pytest.raises(ModelError, match=rf"joint 'j': only joints of one freedom can follow another \(leader '{leader.name}'\)"):
            m.revolute("j", a, b, mimic=leader)
    with pytest.raises(ModelError, match="only joints of one freedom"):
        m.cylindrical("j", a, b, mimic=hinge)


def test_prescribed_motion() -> None:
    m, a, b = pair()
    w = m.parameter("w", 2.0)
    j = m.revolute("j", m.ground, a)
    k = m.cylindrical("k", a, b)
    m.drive(j, lambda t: jd.sin(w * t))
    m.lock(k, "30 deg", "angle")
    assert [c.nature for c in (*j.coordinates, *k.coordinates)] == ["driven", "free", "locked"]
    assert float(k.coordinates[1].motion) == pytest.approx(np.pi / 6)
    got = pose(m, "b", [0.2])
    np.testing.assert_allclose(got["position"], [0, 0, 0.2])
    np.testing.assert_allclose(got["rotation"], Rotation.from_euler("z", np.pi / 6).as_matrix(), atol=1e-15)
    np.testing.assert_allclose(got["velocity"], [0, 0, 0, 0, 0, 2.0], atol=1e-15)


def test_wrong_prescribed_motion() -> None:
    m, a, b = pair()
    ball = m.spherical("ball", m.ground, a)
    hinge = m.revolute("hinge", a, b)
    weld = m.fixed("weld", b, m.body("c", mass=1))
    other = jd.Model("other")
    foreign = other.revolute("far", other.ground, other.body("x", mass=1))
    cases: list[tuple[Any, str]] = [
        (lambda: m.drive(ball, 0.1), "joint 'ball': a quaternion cannot be prescribed by a function; use an orientation sequence such as 'xyz'"),
        (lambda: m.lock(ball, 0.1, "orientation"), "joint 'ball': a quaternion cannot be prescribed"),
        (lambda: m.drive(weld, 0.1), r"joint 'weld' \(fixed\) has the coordinates none"),
        (lambda: m.drive(hinge, 0.1, "angel"), "joint 'hinge' has no coordinate 'angel'; it has angle"),
        (lambda: m.drive(hinge, hinge.velocity), "drive of 'hinge.angle': hinge.angle_rate must depend on time and parameters alone"),
        (lambda: m.lock(hinge, m.time), r"lock of 'hinge.angle': t must depend on parameters alone; use m.drive\(...\)"),
        (lambda: m.drive(hinge, "3 mm"), "drive of 'hinge.angle': quantity '3 mm' should be in 'rad'"),
        (lambda: m.drive(hinge, np.nan), "drive of 'hinge.angle': nan is not a finite number"),
        (lambda: m.drive(hinge, lambda t: None), "drive of 'hinge.angle': None is not a number"),
        (lambda: m.drive("hinge", 0.1), "'hinge' is not a joint"),
        (lambda: m.drive(foreign, 0.1), "joint 'far' does not belong to the model 'm'"),
    ]  # fmt: skip
    for attempt, message in cases:
        with pytest.raises(ModelError, match=message):
            attempt()
    assert all(c.nature == "free" for j in m.joints.values() for c in j.coordinates)


def test_motions_by_the_names_of_their_channels() -> None:
    m = jd.Model("names")
    hinge, free = (getattr(m, kind)(kind, m.ground, m.body(f"on {kind}", mass=1.0)) for kind in ("revolute", "free"))
    assert hinge.angle is hinge.position and hinge.angle_rate is hinge.velocity and hinge.angle_acc is hinge.acceleration
    assert [str(e) for e in (free.x, free.z_rate)] == ["free.x", "free.z_rate"] and "angle_rate" in dir(hinge)
    assert copy.deepcopy(hinge).angle is hinge.angle and not hasattr(hinge, "_ipython_display_")
    with pytest.raises(
        AttributeError, match=r"joint 'revolute' \(revolute\) has no 'angel'; its motion is called angle, angle_rate, angle_acc"
    ):
        hinge.angel  # noqa: B018
