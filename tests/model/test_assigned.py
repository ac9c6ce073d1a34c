"""What is assigned to objects of a model acts, or is refused with the words to write instead; parts by a wrong name are told."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import pytest

import jourdain as jd
from jourdain.errors import InputError, ModelError


def pendulum() -> jd.Model:
    m = jd.Model("pendulum")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), axis="y")
    return m


@pytest.mark.parametrize(
    "assign, told",
    [
        (lambda m: setattr(m.bodies["bob"], "com", (0, 0, -2)), "body 'bob': 'com' cannot be assigned; give it to m.body"),
        (lambda m: setattr(m.bodies["bob"], "mass", 5.0), "'mass' cannot be assigned; give it to m.body"),
        (lambda m: setattr(m.bodies["bob"], "friction", 0.5), "give friction= to m.contact"),
        (lambda m: setattr(m.bodies["bob"], "shape", jd.sphere(1.0)), "did you mean 'shapes'"),
        (lambda m: setattr(m.bodies["bob"], "wheels", 4), "nothing would read it"),
        (
            lambda m: setattr(m, "wheel", m.body("wheel", mass=1.0)),
            "'wheel' cannot be assigned; nothing would read it; keep it in a variable, wheel = …",
        ),
        (lambda m: setattr(m.joints["hinge"], "damping", 0.1), "joint 'hinge': 'damping' cannot be assigned; give m.joint_spring"),
        (lambda m: setattr(m.joints["hinge"], "limit", (0, 1)), "did you mean 'limits'"),
        (lambda m: setattr(m, "gravity", (0, 0, -1.62)), "model 'pendulum': 'gravity' cannot be assigned; give jd.Model"),
        (lambda m: setattr(m, "intial", {}), "did you mean 'initial'"),
    ],
)
def test_what_would_not_act_is_refused(assign, told: str) -> None:
    m = pendulum()
    with pytest.raises(ModelError) as error:
        assign(m)
    assert told in str(error.value) and str(error.value).count("\n") == 0


def test_what_acts_is_assigned_in_both_spellings() -> None:
    m = pendulum()
    m.bodies["bob"].color = "red"
    m.joints["hinge"].limits = (-1.0, 1.0)
    m.initial = {"hinge.angle": 0.5}
    m.name = "swing"
    assert m.bodies["bob"].colour == "red" and m.compile().simulate(t=0.1)["hinge.angle"][0] == 0.5

    class Car(jd.Model):
        def __init__(self) -> None:
            super().__init__("car")
            self.wheels = 4  # classes of users have what they like

    assert Car().wheels == 4


def test_parts_by_a_wrong_name_are_told_and_copies_hold_them() -> None:
    m = pendulum()
    with pytest.raises(KeyError, match=r"^there is no joint 'hing'; did you mean 'hinge'\?$"):
        m.joints["hing"]
    with pytest.raises(ModelError, match="there is no body 0; there are bob"):
        m.bodies[0]
    assert m.joints.get("x") is None and "x" not in m.joints
    for twin in (copy.deepcopy(m.bodies), pickle.loads(pickle.dumps(m.bodies))):
        assert list(twin) == ["bob"] and twin.kind == "body"


def test_a_condition_is_no_guard() -> None:
    """A guard that is 0 or 1 crosses zero on one side only: half of the events were missed."""
    m = pendulum()
    with pytest.raises(ModelError, match="is a condition, and an event happens where a quantity crosses zero"):
        m.event("passes", m.joints["hinge"].position > 0.1)


def test_other_words_of_motions_and_methods() -> None:
    s = pendulum().compile()
    sol = s.simulate({"hinge": 0.1}, t=0.1)
    for asked, meant in (
        ("hinge", "hinge.angle"),
        ("hinge.velocity", "hinge.angle_rate"),
        ("hinge.acc", "hinge.angle_acc"),
        ("hinge.q", "hinge.angle"),
    ):
        with pytest.raises(KeyError, match=f"did you mean '{meant}'"):
            sol[asked]
    with pytest.raises(InputError, match="method 'RK45' is unknown .* did you mean 'dopri5'"):
        s.simulate({"hinge": 0.1}, t=0.1, method="RK45")
    with pytest.raises(AttributeError, match="did you mean jd.maximum"):
        jd.max  # noqa: B018
    with pytest.raises(AttributeError, match="ask the solution of a run"):
        s.model.plot  # noqa: B018
    with pytest.raises(ModelError, match="body 'bob' has no shape that could touch"):
        s.model.shapes("bob")


def test_a_clamped_part_with_modes_of_a_free_one_is_told() -> None:
    """Bernoulli's cantilever: 1.875²/(2π l²) √(EI/ρA); the remedy that is told meets it."""
    st = jd.structures
    part = st.beam((0, 0, 0), (2, 0, 0), section=st.rectangle(0.05, 0.05), material=st.STEEL, elements=20)
    exact = 1.8751040687**2 / (2 * math.pi * 4) * math.sqrt(st.STEEL.E * 0.05**2 / 12 / st.STEEL.density)
    for node in ("start", "end"):
        m = jd.Model("cantilever", gravity=(0, 0, 0))
        m.fixed("clamp", m.ground, m.flexible_body("beam", part, modes=6).node(node))
        with pytest.warns(UserWarning, match=f"clamped at '{node}', but bends by the modes of a free part"):
            s = m.compile()
        assert s.modal({}).frequencies[0] > 1.2 * exact
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for how in ({"modes": 6, "frame": "clamped", "at": node}, {"modes": 6, "kind": "craig-bampton"}):
                m = jd.Model("cantilever", gravity=(0, 0, 0))
                m.fixed("clamp", m.ground, m.flexible_body("beam", part, **how).node(node))
                assert m.compile().modal({}).frequencies[0] == pytest.approx(exact, rel=2e-3)


def test_what_is_asked_where_it_is_not() -> None:
    """Expressions, bodies, models and systems say where a number is that people look for."""
    m = jd.Model("pendulum")
    length = m.parameter("length", "60 cm")
    bob = m.body("bob", mass=1.0, com=(0, 0, -length))
    m.revolute("hinge", m.ground, bob, axis="y")
    s = m.compile()
    for ask, words in (
        (lambda: length.value, "parameter_set\\['length'\\].value"),
        (lambda: (2 * length).subs, "substitute"),
        (lambda: length.sin, "jd.sin"),
        (lambda: length.nothing, "the expression length has no 'nothing'$"),
        (lambda: (2 * length).name, "is not a symbol"),
        (lambda: bob.com, "body.moment"),
        (lambda: bob.velocity, "m.sensor"),
        (lambda: bob.color, "did you mean colour"),
        (lambda: m.length, "m.parameter_set\\['length'\\]"),
        (lambda: m.bob, "m.bodies\\['bob'\\]"),
        (lambda: s.length, "s.parameters\\['length'\\]"),
        (lambda: s.bodies, "s.model.bodies"),
    ):
        with pytest.raises(AttributeError, match=words):
            ask()
    assert copy.deepcopy(m).bodies["bob"].name == "bob" and copy.copy(length) is not None
