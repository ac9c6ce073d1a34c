"""The table of contacts of an instant: by fixed steps, by events, by laws that give way, and of an equilibrium."""

import numpy as np
import pytest

import jourdain as jd


def _cup_and_ball(law: object) -> jd.System:
    m = jd.Model("table")
    m.ground.shapes += [jd.plane()]
    for i, name in enumerate(("cup", "ball")):
        m.free(f"f{i}", m.ground, m.body(name, shape=jd.sphere(0.1, density=1000.0)))
    m.contact("floor", law=law)
    return m.compile()


START = {"f0.z": 0.1, "f1.z": 0.1, "f1.x": 1.0}
RIGID = jd.contact.rigid(friction=0.5)


@pytest.mark.parametrize(
    ("law", "options"),
    [
        (RIGID, {"method": "moreau", "step": 1e-2}),
        (RIGID, {}),
        (jd.contact.hunt_crossley(stiffness=1e6, restitution=0.5, friction=0.5), {}),
    ],
)
def test_contacts_of_an_instant_are_a_table(law, options):
    s = _cup_and_ball(law)
    sol = s.simulate(START, t=0.5, **options)
    touches = sol.contacts.at(0.4)
    for other in (sol.select("f1.*"), sol.with_frames("ball"), sol.resample(sol.t)):
        assert str(other.contacts.at(0.4)) == str(touches)
    assert touches.names == ("floor", "ground", "cup", "ball") and len(touches) == 2
    (ball,) = touches["ball"]
    weight = 1000.0 * 4.0 / 3.0 * np.pi * 1e-3 * 9.81
    assert abs(ball.force[2]) == pytest.approx(weight, rel=1e-3 if not options and law is not RIGID else 1e-8)
    assert isinstance(touches[0:1], type(touches)) and touches[0:1][0] is touches[0]
    lines = str(touches).splitlines()
    assert len(lines) == 3 and lines[0].split() == [
        "contact",
        "body",
        "on",
        "point",
        "[m]",
        "normal",
        "gap",
        "[m]",
        "force",
        "[N]",
        "state",
    ]
    table = touches.to_pandas()
    assert table["force.z"].abs().tolist() == pytest.approx([weight] * 2, rel=1e-3)
    assert "ball" in touches._repr_html_()
    with pytest.raises(KeyError, match="'bal'.*'ball'"):
        touches["bal"]
    with pytest.raises(jd.InputError, match="neither a name nor a number"):
        touches[1.5]
    with pytest.raises(IndexError, match="no contact number 7; 2 touch"):
        touches[7]


def test_an_equilibrium_has_the_same_table_and_nothing_touches_in_the_air():
    s = _cup_and_ball(RIGID)
    assert len(s.equilibrium(START).contacts["cup"]) == 1
    high = s.simulate({"f0.z": 10.0, "f1.z": 10.0, "f1.x": 1.0}, t=0.1, method="moreau", step=1e-2)
    assert str(high.contacts.at(0.05)) == "no contacts" and list(high.contacts.at(0.05)) == []
