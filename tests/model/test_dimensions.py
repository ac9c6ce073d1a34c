"""Quantities of the wrong dimension are refused wherever a unit may be written, in Python and in files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import jourdain as jd
from jourdain.errors import JourdainError
from jourdain.io.model_files.model_file import loads_model


def bench() -> tuple[jd.Model, Any, Any, Any]:
    m = jd.Model("bench")
    a, b = m.body("a", mass=1.0, inertia=(0.1,) * 3), m.body("b", mass=1.0, inertia=(0.1,) * 3)
    return m, m.revolute("hinge", m.ground, a, axis="y"), m.prismatic("slide", m.ground, b, axis="x"), b


#: A call, the argument that is varied, a right unit and wrong ones.
CALLS: dict[str, tuple[Callable[[str], Any], str, tuple[str, ...]]] = {
    "spring stiffness": (lambda x: _on(lambda m, h, s, b: m.spring("k", m.ground, b, stiffness=x, length=1.0)), "2 N/mm", ("200 N", "3 kg")),
    "spring length": (lambda x: _on(lambda m, h, s, b: m.spring("k", m.ground, b, stiffness=1.0, length=x)), "3 cm", ("0.6 kg", "2 rad")),
    "spring damping": (lambda x: _on(lambda m, h, s, b: m.spring("k", m.ground, b, 1.0, 1.0, damping=x)), "3 N s/m", ("0.6 N/m",)),
    "spring preload": (lambda x: _on(lambda m, h, s, b: m.spring("k", m.ground, b, 1.0, 1.0, preload=x)), "3 kN", ("0.6 N m",)),
    "damper": (lambda x: _on(lambda m, h, s, b: m.damper("d", m.ground, b, x)), "3 N s/m", ("3 N",)),
    "rope": (lambda x: _on(lambda m, h, s, b: m.rope("r", m.ground, b, stiffness=x, length=1.0)), "3 kN/m", ("3 N",)),
    "turning spring": (lambda x: _on(lambda m, h, s, b: m.joint_spring(h, stiffness=x)), "3 N m/rad", ("3 N/m", "3 N")),
    "turning spring in degrees": (lambda x: _on(lambda m, h, s, b: m.joint_spring(h, stiffness=1.0, rest=x)), "30 deg", ("3 mm",)),
    "sliding spring": (lambda x: _on(lambda m, h, s, b: m.joint_spring(s, stiffness=x)), "3 N/mm", ("3 N m/rad",)),
    "sliding damping": (lambda x: _on(lambda m, h, s, b: m.joint_spring(s, 1.0, damping=x)), "3 N s/m", ("3 N m s",)),
    "torque": (lambda x: _on(lambda m, h, s, b: m.force(h, x)), "3 N m", ("3 N",)),
    "force": (lambda x: _on(lambda m, h, s, b: m.force(s, x)), "3 N", ("3 N m",)),
    "friction": (lambda x: _on(lambda m, h, s, b: m.friction(h, coulomb=x)), "3 N m", ("3 N",)),
    "friction speed": (lambda x: _on(lambda m, h, s, b: m.friction(s, 1.0, smoothing=x)), "1 mm/s", ("3 rpm",)),
    "stop": (lambda x: _on(lambda m, h, s, b: m.stop(h, upper=x)), "90 deg", ("1 m",)),
    "stop stiffness": (lambda x: _on(lambda m, h, s, b: m.stop(s, upper=1.0, stiffness=x)), "1 N/mm", ("1 N m/rad",)),
    "load": (lambda x: _on(lambda m, h, s, b: m.load("f", b, force=(x, 0, 0))), "3 kN", ("3 N m",)),
    "bushing": (lambda x: _on(lambda m, h, s, b: m.bushing("u", m.ground, b, (1, 1, 1, x, 1, 1))), "1 N m/rad", ("1 N/m",)),
    "contact": (lambda x: _on(lambda m, h, s, b: m.ground_contact("c", b, stiffness=1e5, radius=x)), "3 cm", ("3 kg",)),
    "drag": (lambda x: _on(lambda m, h, s, b: m.drag("c", b, 0.3, area=x)), "300 cm^2", ("3 m",)),
    "motor": (lambda x: _on(lambda m, h, s, b: m.motor(h, 12.0, 0.1, resistance=x)), "3 ohm", ("3 V",)),
    "rack": (lambda x: _on(lambda m, h, s, b: m.rack("r", h, s, radius=x)), "30 mm", ("3 kg",)),
    "rod": (lambda x: _on(lambda m, h, s, b: m.rod("r", m.ground, b, length=x)), "30 mm", ("3 kg",)),
    "joint damping": (lambda x: _on(lambda m, h, s, b: m.revolute("j", b, m.body("c", mass=1.0), axis="y", damping=x)), "1 N m s", ("1 kg",)),
    "joint stiffness": (lambda x: _on(lambda m, h, s, b: m.prismatic("j", b, m.body("c", mass=1.0), axis="y", stiffness=x)), "1 N/m", ("1 N",)),
    "rotor": (lambda x: _on(lambda m, h, s, b: m.revolute("j", b, m.body("c", mass=1.0), axis="y", rotor_inertia=x)), "1 g m^2", ("1 kg",)),
    "rotor of a slide": (
        lambda x: _on(lambda m, h, s, b: m.prismatic("j", b, m.body("c", mass=1.0), axis="y", rotor_inertia=x, gear_ratio="200 rad/m")),
        "1 g m^2", ("1 kg",),
    ),
    "input": (lambda x: _on(lambda m, h, s, b: m.input("u", x, unit="N")), "3 kN", ("3 m",)),
    "state": (lambda x: _on(lambda m, h, s, b: m.state("z", x, unit="m")), "3 mm", ("3 s",)),
    "transmission stiffness": (lambda x: _on(lambda m, h, s, b: m.transmission(h, 1.0, stiffness=x)), "3 N m/rad", ("3 N", "3 kg")),
    "transmission of a slide": (lambda x: _on(lambda m, h, s, b: m.transmission(s, 1.0, 1.0, ratio=x)), "200 rad/m", ("3 m", "3 kg")),
    "transmission damping": (lambda x: _on(lambda m, h, s, b: m.transmission(h, 1.0, 1.0, damping=x)), "3 N m s/rad", ("3 N",)),
    "transmission backlash": (lambda x: _on(lambda m, h, s, b: m.transmission(h, 1.0, 1.0, backlash=x)), "1 deg", ("1 mm",)),
    "control target": (lambda x: _on(lambda m, h, s, b: m.pd(h, x, 1.0)), "30 deg", ("3 mm",)),
    "control gain": (lambda x: _on(lambda m, h, s, b: m.pd(s, 1.0, x)), "3 N/mm", ("3 N m/rad",)),
    "control rate gain": (lambda x: _on(lambda m, h, s, b: m.pd(s, 1.0, 1.0, x)), "3 N s/m", ("3 N",)),
    "control limit": (lambda x: _on(lambda m, h, s, b: m.pd(h, 1.0, 1.0, limit=x)), "3 N m", ("3 N",)),
    "encoder": (lambda x: _on(lambda m, h, s, b: m.encoder("e", h, counts=x)), "500", ("5 kg",)),
    "memory": (lambda x: _on(lambda m, h, s, b: m.memory("w", 0.0, x, unit="N")), "3 kN", ("3 kg",)),
    "duration": (lambda x: _ran(t=x), "10 ms", ("5 kg",)),
    "span": (lambda x: _ran(t=(0.0, x)), "10 ms", ("5 kg",)),
    "step": (lambda x: _ran(t=0.01, step=x, method="rk4"), "1 ms", ("1 mm",)),
    "largest step": (lambda x: _ran(t=0.01, max_step=x), "1 ms", ("1 mm",)),
    "given input": (lambda x: _ran(t=0.01, inputs={"push": x}), "1 kN", ("1 mm",)),
}  # fmt: skip


def _on(call: Callable[..., Any]) -> Any:
    return call(*bench())


def _ran(**options: Any) -> Any:
    m, _, slide, _ = bench()
    m.force(slide, m.input("push", 0.0, unit="N"))
    return m.compile().simulate({}, **options)


@pytest.mark.parametrize("case", CALLS)
def test_python(case: str) -> None:
    call, right, wrong = CALLS[case]
    call(right)
    for x in wrong:
        with pytest.raises(JourdainError, match="should be in '.*' or a like unit: .* is a unit of") as told:
            call(x)
        assert x in str(told.value)


def test_a_duration_in_milliseconds_is_taken_as_such() -> None:
    sol = _ran(t="10 ms", step="1 ms", method="rk4")
    assert sol.t[-1] == 0.01 and len(sol.t) == 11


HEAD = """format = "jourdain"
version = 1
name = "file"

[bodies.a]
mass = 1.0
inertia = [0.1, 0.1, 0.1]
{body}
[joints.hinge]
kind = "revolute"
parent = "ground"
child = "a"
axis = "y"
{joint}
{rest}
"""


@pytest.mark.parametrize(
    ("parts", "line", "message"),
    [
        ({"rest": '[loads.s]\nkind = "spring"\npoints = ["ground", "a"]\nlength = 1.0\nstiffness = "200 N"'}, 19, "spring 's': stiffness"),
        ({"rest": '[loads.s]\nkind = "spring"\npoints = ["ground", "a"]\nlength = "0.6 kg"\nstiffness = 1.0'}, 18, "spring 's': length"),
        ({"joint": 'damping = "3 kg"'}, 14, "joint 'hinge': damping"),
        ({"joint": 'rotor_inertia = "3 kg"'}, 14, "joint 'hinge': rotor_inertia"),
        ({"body": 'shapes = [{kind = "sphere", radius = "0.1 kg"}]'}, 8, "body 'a': sphere: radius"),
        ({"body": '[[bodies.a.shapes]]\nkind = "sphere"\nradius = 0.1\ndensity = "7 m"'}, 11, "body 'a': sphere: density"),
        ({"rest": '[initial]\n"hinge.angle" = "3 kg"'}, 16, "initial value of 'hinge.angle'"),
        ({"rest": '[initial]\nhinge = "3 m"'}, 16, "initial value of 'hinge'"),
        ({"rest": '[analyses.run]\nverb = "simulate"\nt = "5 kg"'}, 17, "analysis 'run': t"),
        ({"rest": '[analyses.run]\nverb = "simulate"\nt = 1\ntimes = {from = 0, to = "3 m", count = 3}'}, 18, "analysis 'run': times"),
    ],
)
def test_files_tell_the_line(parts: dict[str, str], line: int, message: str) -> None:
    text = HEAD.format(**{"body": "", "joint": "", "rest": ""} | parts)
    with pytest.raises(JourdainError) as told:
        loads_model(text)
    assert f"line {line}: {message}: quantity" in str(told.value)


def test_several_errors_are_told_at_once_and_what_follows_from_them_is_not() -> None:
    rest = """
[bodies.b]
mass = "2 m"

[joints.slide]
kind = "prismatic"
parent = "a"
child = "b"
axis = [0, 0, 0]

[loads.pull]
kind = "joint_spring"
joint = "slide"
stiffness = 3.0

[outputs]
twice = "2 * nothing"
"""
    with pytest.raises(JourdainError) as told:
        loads_model(HEAD.format(body="", joint='damping = "3 kg"', rest=rest))
    lines = str(told.value).splitlines()
    assert [line.split(": ")[1].split(" ")[0] for line in lines] == ["joint", "body", "joint", "output"]  # as in the file
    assert "joint 'hinge': damping" in lines[0] and "body 'b': mass" in lines[1] and "joint 'slide'" in lines[2] and "'nothing'" in lines[3]
    with pytest.raises(JourdainError) as told:
        loads_model(HEAD.format(body='colr = "red"', joint="dampin = 3", rest="[loads.x]\nkind = 'magic'\n"))
    assert len(str(told.value).splitlines()) == 3


def test_what_is_right_is_read() -> None:
    rest = (
        '[initial]\nhinge = "3 deg"\n[analyses.run]\nverb = "simulate"\nt = "50 ms"\n[[bodies.a.shapes]]\nkind = "sphere"\nradius = "5 cm"'
    )
    m = loads_model(HEAD.format(body="", joint='damping = "3 N m s/rad"', rest=rest))
    assert jd.run(m)["run"].t[-1] == 0.05 and len(m.bodies["a"].shapes) == 1


def test_limits_of_joints_of_several_freedoms_are_refused() -> None:
    m, *_ = bench()
    with pytest.raises(JourdainError, match="joint 'fly': limits need a joint of one freedom"):
        m.free("fly", m.ground, m.body("c", mass=1.0, inertia=(1, 1, 1)), limits=(0, 1))


#: Expressions of parameters l (m), m (kg), k (N/m), w (rad/s), P (N), where they fit, and where they certainly do not.
EXPRESSIONS: dict[str, tuple[Callable[[jd.Model, Any], Any], Callable[..., Any], Callable[..., Any]]] = {
    "mass": (lambda m, x: m.body("c", mass=x), lambda l, m, k, w, P: k / w**2, lambda l, m, k, w, P: 2 * l),
    "half": (lambda m, x: m.bodies["a"].at(x, 0, 0), lambda l, m, k, w, P: l / 2, lambda l, m, k, w, P: -m / 2),
    "inertia": (lambda m, x: m.body("c", mass=1.0, inertia=(x, x, x)), lambda l, m, k, w, P: m * l**2 / 12, lambda l, m, k, w, P: m * l),
    "stiffness": (lambda m, x: m.spring("s", m.ground, m.bodies["b"], x, 1.0), lambda l, m, k, w, P: m * w**2, lambda l, m, k, w, P: k / m),
    "sum": (lambda m, x: m.spring("s", m.ground, m.bodies["b"], 1.0, x), lambda l, m, k, w, P: l + 0.2 + P / k, lambda l, m, k, w, P: l + P),
    "root": (lambda m, x: m.state("z", 0.0, "rad") is m.rate(m.states["z"].symbol, x), lambda l, m, k, w, P: jd.sqrt(k / m), lambda l, m, k, w, P: jd.sqrt(k * m)),
    "unit stiffness": (
        lambda m, x: m.spring("s", m.ground, m.bodies["b"], 1.0, x), lambda l, m, k, w, P: l, lambda l, m, k, w, P: P / m,
    ),
    "choice": (lambda m, x: m.force(m.joints["slide"], x), lambda l, m, k, w, P: jd.where(l > 0.5, P, k * l), lambda l, m, k, w, P: jd.maximum(P, k)),
    "law": (
        lambda m, x: m.force(m.joints["slide"], lambda q, v, t: x(q, v)),
        lambda l, m, k, w, P: lambda q, v: -k * (q - l) + P * jd.sin(w * v),
        lambda l, m, k, w, P: lambda q, v: -k * v,
    ),
    "link": (
        lambda m, x: m.link("s", m.ground, m.bodies["b"], law=lambda z, rate, t: x(z)),
        lambda l, m, k, w, P: lambda z: k * (z - l),
        lambda l, m, k, w, P: lambda z: P * (z - l),
    ),
    "output": (lambda m, x: m.output("o", x, unit="W"), lambda l, m, k, w, P: P * l * w, lambda l, m, k, w, P: P * l),
}  # fmt: skip

#: Those that hold coordinates: a law of the motion may be an empirical one, so that it is told and taken.
MOTION = ("law", "link")


@pytest.mark.parametrize("case", EXPRESSIONS)
def test_dimensions_of_expressions(case: str) -> None:
    call, right, wrong = EXPRESSIONS[case]
    for law, fits in ((right, True), (wrong, False)):
        m, *_ = bench()
        symbols = [m.parameter(n, v) for n, v in (("l", "0.6 m"), ("m", "2 kg"), ("k", "3 N/mm"), ("w", "60 rpm"), ("P", "1 kN"))]
        if fits:
            call(m, law(*symbols))
        else:
            told = (
                pytest.warns(UserWarning, match=r"does not fit .*\(")
                if case in MOTION
                else pytest.raises(JourdainError, match=r"does not fit .*\(")
            )
            with told as heard:
                call(m, law(*symbols))
            assert case not in MOTION or heard[0].filename == __file__  # type: ignore[index]


def test_what_cannot_be_known_is_not_refused() -> None:
    m, hinge, slide, _ = bench()
    l, mass, P, plain = m.parameter("l", "0.4 m"), m.parameter("m", "2 kg"), m.parameter("P", "1 N"), m.parameter("plain", 3.0)
    m.body("rod", mass=1.5, inertia=(1.5 * l**2 / 12,) * 3)  # a mass in numbers
    m.force(slide, 9.81 * mass)  # an acceleration in numbers
    m.force(slide, lambda x, v, t: -x - 0.3 * v + P)  # units of one
    m.force(hinge, 0.5 * m.input("current", 0.0, "A"))  # a gain in numbers
    m.force(hinge, plain * l + 5.0 * jd.sin(3.0 * m.time))
    m.joint_spring(hinge, stiffness=plain * mass)


@pytest.mark.parametrize(
    ("law", "fits"), [("k*(slide.displacement - l)", True), ("k*slide.displacement_rate", False), ("3[N/m]*l", True), ("2*l", False)]
)
def test_dimensions_of_expressions_in_files(law: str, fits: bool) -> None:
    text = f"""
format = "jourdain"
version = 1
[parameters]
k = "200 N/m"
l = "0.6 m"
[bodies.a]
mass = 1.0
[joints.slide]
kind = "prismatic"
parent = "ground"
child = "a"
axis = "x"
[loads.push]
kind = "joint"
joint = "slide"
force = "{law}"
"""
    if fits:
        loads_model(text)
    else:
        told = (
            pytest.warns(UserWarning, match="does not fit")
            if "slide" in law
            else pytest.raises(JourdainError, match="line 1[4-8].*does not fit")
        )
        with told:
            loads_model(text)


def test_dimensions_of_new_values_coefficients_and_targets() -> None:
    m = jd.Model("ball")
    slide = m.prismatic("slide", m.ground, m.body("a", mass=1.0), axis="x")
    level, speed = m.state("level", unit="m"), m.parameter("speed", "3 m/s")
    hit = m.event("hit", slide.position - 1.0, jump={slide.velocity: "3 cm/s", level: level + 1.0})
    assert float(hit.jump[slide.velocity]) == 0.03
    m.event("again", slide.position - 2.0, jump={slide.velocity: -0.8 * slide.velocity - speed})
    for name, jump in (("one", {slide.velocity: "3 m"}), ("two", {level: "2 kg"}), ("three", {"slide.displacement": speed})):
        with pytest.raises(JourdainError, match=f"event '{name}': new value of .* should be in"):
            m.event(name, slide.position - 3.0, jump=jump)
    for word in ("friction", "restitution", "static"):
        with pytest.raises(jd.InputError, match=f"{word}: quantity '2 m' should be in '1'"):
            jd.contact.rigid(**{"friction": 0.1, word: "2 m"})
    assert str(jd.contact.rigid(friction="50 %")) == "rigid, μ = 0.5, e = 0"
    with pytest.raises(jd.InputError, match=r"target of 'a': quantity '3 kg'"):
        m.compile().inverse_kinematics({"a": ("3 kg", 0, 0)})
    with pytest.raises(jd.InputError, match="quantity '1 m' should be in '1'"):
        m.ground.at(0, 0, 0, rotation={"quaternion": ("1 m", 0, 0, 0)})


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("200[N]", r"quantity '200\[N\]' should be in 'N/m'"),
        ("k + 3[m]", r"k in 'N/m' and 3\[m\] in 'm' have different dimensions"),
        ("-0.1[kg] + 300[N/m]", r"0.1\[kg\] in 'kg' and 300\[N/m\] in 'N/m' have different dimensions"),
        ("where(l < 3[s], k, 2*k)", r"l in 'm' and 3\[s\] in 's' have different dimensions"),
        ("200[N/m] + k", None),
        ("where(l < 30[mm], k, k + 2[N/mm])", None),
    ],
)
def test_numbers_with_units_in_expressions_of_files(written: str, told: str | None) -> None:
    text = f"""
format = "jourdain"
version = 1
[parameters]
k = {{value = 200, unit = "N/m"}}
l = {{value = 0.6, unit = "m"}}
[bodies.a]
mass = "1.5[kg]"
[joints.slide]
kind = "prismatic"
parent = "ground"
child = "a"
axis = "x"
[loads.rubber]
kind = "joint_spring"
joint = "slide"
stiffness = "{written}"
"""
    if told is None:
        assert jd.loads_model(text).compile().mass_matrix([0.0])[0, 0] == 1.5
    else:
        with pytest.raises(jd.JourdainError, match=f"line 17: load 'rubber'.*{told}"):
            jd.loads_model(text)
