"""Calls that do not fit: arguments that are missing, too many, unknown or in the wrong place are told in words, everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import jourdain as jd
from jourdain import InputError, JourdainError
from jourdain.told import told


def arm() -> jd.Model:
    m = jd.Model("arm")
    body = m.body("body", mass=1.0, com=(0, 0, -m.parameter("l", 0.5, unit="m")), inertia=(0.1, 0.1, 0.1))
    m.force(m.revolute("hip", m.ground, body, axis="y"), m.input("u"))
    return m


MODEL: dict[str, tuple[Callable[[Any], Any], str]] = {
    "name first": (lambda m: m.joint_spring("k", m.joints["hip"], stiffness=5), r"joint_spring\(\) got multiple values for argument 'stiffness'; it is called joint_spring\(joint, stiffness, rest=, damping=, name=\)"),
    "no joint": (lambda m: m.joint_spring("k", 5), "joint_spring: 'k' is not a joint"),
    "misspelt": (lambda m: m.spring("s", m.ground, "body", stifness=4, length=1), r"unexpected keyword argument 'stifness'; did you mean 'stiffness'\?"),
    "too few": (lambda m: m.revolute("k"), r"missing 2 required positional arguments: 'parent' and 'child'; it is called revolute\(name, parent, child, axis=\)"),
    "too many": (lambda m: m.damper("d", m.ground, "body", 4, 5), r"takes 4 positional arguments but 5 were given; it is called damper\(name, a, b, damping\)"),
    "formulation first": (lambda m: m.compile("cartesian"), "check = 'cartesian' is neither True nor False; name a formulation as formulation='cartesian'"),
    "law without arguments": (lambda m: m.force(m.joints["hip"], lambda: 1.0), r"the function does not fit \(.*takes 0 positional arguments but 3 were given\); it is called with hip.angle, hip.angle_rate, t"),
    "no name": (lambda m: jd.Model(""), "a model needs a name, got ''"),
    "a number as name": (lambda m: jd.Model(5), "a model needs a name, got 5"),  # type: ignore[arg-type]
}  # fmt: skip
SYSTEM: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a coordinate twice": (lambda s: s.simulate({"hip": 1.0, "hip.angle": 2.0}, t=1), "coordinate 'hip.angle' is given twice, by its joint's name and by its own"),
    "a guess twice": (lambda s: s.assemble(guess={"hip": 1.0, "hip.angle": 2.0}), "coordinate 'hip.angle' is given twice, as 'hip' and as 'hip.angle'"),
    "a name that is none": (lambda s: s.state({5: 1.0}), "5 is not the name of a coordinate"),
    "parameters in a dictionary": (lambda s: s.set_parameters({"l": 1.0}), r"values are given by name, as \w+=…, or as \*\*"),
    "a signal without time": (lambda s: s.simulate(t=1, inputs={"u": lambda: 1.0}), r"signal of 'u': the function does not fit \(.*\); it is called with t"),
    "sweep without times": (lambda s: s.sweep({"l": [1, 2]}), r"sweep .arm.: sweep\(\) missing 1 required positional argument: .t.; it is called sweep\(x0, t, "),
    "targets that are none": (lambda s: s.inverse_kinematics("body", (0, 0, 1)), "targets = 'body' must give targets by the paths of frames"),
    "motion for times": (lambda s: s.kinematics({"hip": 1.0}), r"the times = {'hip': 1.0} are no real numbers .*; give times first"),
    "time in words": (lambda s: s.simulate(t=0.1).at("end"), "the time 'end' is not a number of seconds"),
    "no file name": (lambda s: s.simulate(t=0.1).save(5), "5 is no file name"),
}  # fmt: skip


@pytest.mark.parametrize("case", MODEL)
def test_calls_of_models(case: str) -> None:
    call, message = MODEL[case]
    with pytest.raises(JourdainError, match=message):
        call(arm())


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive"])
@pytest.mark.parametrize("case", SYSTEM)
def test_calls_of_systems(case: str, formulation: str) -> None:
    call, message = SYSTEM[case]
    with pytest.raises(JourdainError, match=message):
        call(arm().compile(formulation=formulation))


def test_errors_from_within_stay_what_they_are() -> None:
    @told
    class Own:
        def method(self, x: Any) -> Any:
            return {}[x + 1]

    with pytest.raises(KeyError, match="6"):
        Own().method(5)
    with pytest.raises(InputError, match=r"method\(\): x = None does not fit \(.*\); it is called method\(x\)"):
        Own().method(None)


def test_near_words_are_proposed() -> None:
    with pytest.raises(AttributeError, match=r"did you mean m\.force\?"):
        arm().joint_force()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError) as found:
        jd.library.pendulm()  # type: ignore[attr-defined]
    assert found.value.name == "pendulm" and found.value.obj is jd.library


@pytest.mark.parametrize("second", [5, "same", "other"])
def test_a_refused_event_declares_nothing(second: Any) -> None:
    """Two things are to let go; if the second cannot, the first stays a joint of the tree."""
    m = arm()
    hip = m.joints["hip"]
    with pytest.raises(JourdainError, match="no joint and no constraint|named twice"):
        m.event("off", hip.position, release=hip, engage={5: 5, "same": hip, "other": arm().joints["hip"]}[second])
    assert not m.events and not m.switches and not m.memories and not hip.cut
    with pytest.raises(JourdainError, match="no joint and no constraint"):
        m.release(hip, arm().joints["hip"])
    assert not m.switches and not m.memories and not hip.cut
