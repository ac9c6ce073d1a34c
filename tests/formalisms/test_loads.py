"""Loads answer for themselves: a sort declared here serves every formulation, file, copy and picture without an edit elsewhere."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import ModelError
from jourdain.formalisms.describe import describe
from jourdain.formalisms.equations import Equations
from jourdain.formalisms.loads import act, measured, power
from jourdain.io.model_files.model_file import dumps_model
from jourdain.model.bodies import Frame
from jourdain.model.fingerprint import fingerprint
from jourdain.model.load_sorts import FrameLoad, JointForce, LinkForce, Load
from jourdain.symbolic.expr import ZERO, Expr, neg, symbol
from jourdain.symbolic.functions import sqrt
from jourdain.symbolic.graph import free_symbols
from jourdain.symbolic.vectors import NULL, Vector

FORMULATIONS = ("recursive", "semi-recursive", "cartesian", "natural", "directors")


@dataclass
class Attraction(Load):
    """A force between two points along the line between them, given as a function of their distance: a link of another make."""

    title = "attraction"
    reading_kinds = {"distance": "position"}
    name: str
    a: Frame
    b: Frame
    distance: Expr
    force: Expr
    potential: Expr = ZERO
    kind: str = "attraction"
    given: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def laws(self):
        return (self.force,)

    @property
    def readings(self):
        return {"distance": self.distance}

    @property
    def frames(self):
        return self.a, self.b

    @property
    def line(self):
        return "belt", self.frames

    @property
    def signature(self):
        return self.a, self.b, self.distance, self.force

    def copied(self, copy, name):
        a, b = copy.frame(self.a), copy.frame(self.b)
        return Attraction(name, a, b, copy.new[self.distance], copy.expr(self.force), copy.expr(self.potential))


@measured.register(Attraction)
def _(load, eq):
    d = eq.kinematics.position(load.b) - eq.kinematics.position(load.a)
    return (sqrt(d.dot(d)),)


@act.register(Attraction)
def _(load, eq, forces, wrenches):
    d = eq.kinematics.position(load.b) - eq.kinematics.position(load.a)
    pull = d * (eq.resolve([load.force])[0] / sqrt(d.dot(d)))
    eq.add_wrench(load.a, pull, NULL, -1, wrenches)
    eq.add_wrench(load.b, -pull, NULL, -1, wrenches)


@power.register(Attraction)
def _(load, eq, laws):
    d = eq.kinematics.position(load.b) - eq.kinematics.position(load.a)
    rate = d.dot(eq.kinematics.velocity(load.b) - eq.kinematics.velocity(load.a)) / sqrt(d.dot(d))
    return neg(eq.resolve(laws)[0] * rate)


def arm(kind: str) -> jd.Model:
    """Two bars and a point in the world that attracts the tip, by the new sort or by a link with the same law."""
    m = jd.Model("arm", gravity=(0.3, 0, -9.81))
    k = m.parameter("k", 4.0)
    first, second = (m.body(n, mass=1.0, com=(0.5, 0, 0.1), inertia=(0.1, 0.2, 0.3)) for n in ("first", "second"))
    m.revolute("shoulder", m.ground, first, axis="y")
    m.universal("elbow", first.at(1, 0, 0), second, axes=("y", "z"))
    a, b = m.ground.at(0.2, 0.5, 1.0), second.at(0.8, 0, 0.1)
    if kind == "link":
        load: Load = m.link("pull", a, b, law=lambda z, rate, t: k * z**2)
        load.potential = k * load.length**3 / 3.0
    else:
        z = symbol("pull.distance", "position")
        load = Attraction("pull", a, b, z, k * z**2, k * z**3 / 3.0)
        m.loads["pull"] = load
    return m


START = {"shoulder.angle": 0.4, "elbow.angle1": -0.7, "elbow.angle2": 0.3, "shoulder.angle_rate": 0.5}


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_new_sort_of_load_serves_every_formulation(formulation):
    """Motion, energy and supplied energy are those of a link with the same law, to rounding."""
    found = []
    for kind in ("link", "attraction"):
        s = arm(kind).compile(formulation=formulation)
        options = {"step": 1e-2} if formulation == "directors" else {"rtol": 1e-9}
        sol = s.simulate(START, t=0.2, **options)
        found.append([sol["elbow.angle1"][-1], sol["elbow.angle2_rate"][-1], sol["energy.total"][-1], sol["energy.dissipated"][-1]])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-8, atol=1e-9)
    assert abs(found[0][0] + 0.7) > 0.01


def test_a_new_sort_of_load_is_copied_mirrored_fingerprinted_named_and_drawn():
    from jourdain.io.model_files.names import ModelNames
    from jourdain.view.scenes.default_shapes import Numbers
    from jourdain.view.scenes.from_solution import _links

    part = arm("attraction")
    whole = jd.Model("whole", gravity=(0, 0, -9.81))
    whole.include(part, "left", mirror="y")
    copy = whole.loads["left.pull"]
    assert isinstance(copy, Attraction) and copy.distance.name == "left.pull.distance"
    assert [float(e) for e in copy.a.position] == [0.2, -0.5, 1.0]
    assert copy.distance in free_symbols([copy.force]) and part.loads["pull"].distance not in free_symbols([copy.force])
    other = arm("attraction")
    assert fingerprint(other) == fingerprint(part)
    other.loads["pull"] = replace(other.loads["pull"], a=other.ground.at(0.2, 0.5, 1.1))
    assert fingerprint(other) != fingerprint(part)
    assert ModelNames(part).find("pull.distance") is part.loads["pull"].distance
    (line,) = [x for x in _links(part, Numbers(part)) if x.name == "pull"]
    assert line.kind == "belt"
    assert "attraction" in describe(part)


def test_a_load_that_formalisms_do_not_know_is_named():
    class Unknown(Attraction):
        pass

    assert act.dispatch(Unknown) is act.dispatch(Attraction)

    class Stranger(Load):
        name, kind, potential, given, title = "odd", "odd", ZERO, {}, "odd"
        laws, signature = (), ()

        def copied(self, copy, name):
            raise AssertionError

    m = arm("link")
    m.loads["odd"] = Stranger()
    with pytest.raises(ModelError, match="load 'odd': what a Stranger does is not known"):
        _ = Equations(m).generalised_forces
    with pytest.raises(ModelError, match="load 'odd': the power of a Stranger"):
        power(m.loads["odd"], Equations(m), ())
    with pytest.raises(ModelError, match="load 'odd': a Stranger cannot be written"):
        dumps_model(m)


@pytest.mark.parametrize("style", ["link", "spring", "damper", "rope", "hose"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_how_a_link_is_drawn_does_not_change_its_law(style, formulation):
    """A law of one's own on a link drawn as a spring: ½ x₀ cos √(k/m) t about the rest length, in every formulation."""
    m = jd.Model("slider", gravity=(0, 0, 0))
    b = m.body("b", mass=1.0, inertia=(1, 1, 1))
    m.prismatic("s", m.ground, b, axis="x")
    m.link("pull", m.ground, b.at(0.5, 0, 0), law=lambda z, rate, t: 10.0 * (z - 1.0), kind=style)
    options = {"step": 1e-3} if formulation == "directors" else {"rtol": 1e-10}
    x = m.compile(formulation=formulation).simulate({"s.displacement": 1.0}, t=1.0, **options)["s.displacement"][-1]
    assert x == pytest.approx(0.5 + 0.5 * np.cos(np.sqrt(10.0)), abs=1e-5)


def test_a_law_of_ones_own_under_the_word_of_a_joint_spring(tmp_path):
    """A file may call a law a joint spring and give its force: no constants, and the same motion in directors."""
    file = tmp_path / "m.toml"
    m = jd.Model("m", gravity=(0, 0, 0))
    b = m.body("b", mass=1.0, inertia=(1, 1, 1))
    m.prismatic("s", m.ground, b, axis="x")
    m.joint_spring(m.joints["s"], 10.0, name="spring")
    m.save(file)
    text = file.read_text().replace("stiffness = 10", 'force = "-10*self.position"')
    assert "self.position" in text
    file.write_text(text)
    again = jd.load_model(file)
    assert again.loads["spring"].kind == "joint_spring" and not again.loads["spring"].given
    x = again.compile(formulation="directors").simulate({"s.displacement": 1.0}, t=1.0, step=1e-3)["s.displacement"][-1]
    assert x == pytest.approx(np.cos(np.sqrt(10.0)), abs=1e-5)


def test_powers_of_all_sorts_are_the_rates_of_their_work():
    """Force times velocity by the generalised forces: Q·v of one load alone is its power, at a random state."""
    rng = np.random.default_rng(3)
    for pick in ("joint", "link", "wrench", "pair"):
        m = arm("link")
        del m.loads["pull"]
        first, second = m.bodies["first"], m.bodies["second"]
        if pick == "joint":
            m.force(m.joints["shoulder"], lambda x, v, t: 1.0 - 2.0 * x - 0.3 * v)
        elif pick == "link":
            m.rope("l", m.ground.at(0, 1, 2), first.at(0.5, 0, 0), second.at(0.4, 0, 0.1), stiffness=3.0, length=0.1, damping=0.2)
        else:
            options = {"axes": first, "reaction": first.at(0.1, 0.2, 0)} if pick == "pair" else {}
            m.load("w", second.at(0.3, 0.1, 0), force=(1.0, -2.0, 0.5), torque=(0.2, 0.1, -0.4), **options)
        eq = Equations(m)
        known = dict(zip((*eq.q, *eq.v), rng.normal(size=6), strict=True)) | {m.time: 0.2}
        known |= dict(zip(eq.p, m.parameter_set.values(None), strict=True))
        (load,) = m.loads.values()
        Q = jd.evaluate(eq.generalised_forces, known)
        assert float(jd.evaluate([power(load, eq, load.laws)], known)[0]) == pytest.approx(
            sum(q * known[v] for q, v in zip(Q, eq.v, strict=True)), rel=1e-12
        )


def test_nobody_asks_for_the_class_of_a_load():
    """Answers by type stand in the registries alone."""
    sorts = {c.__name__ for c in (JointForce, LinkForce, FrameLoad)}
    found = []
    for file in Path(jd.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "isinstance"
                and sorts & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            ):
                found.append(f"{file.name}:{node.lineno}")
    assert found == []


def test_vectors_of_a_load_are_its_laws():
    m = arm("link")
    w = m.load("w", m.bodies["first"], force=(1.0, 2.0, 3.0), torque=(4.0, 5.0, 6.0))
    assert [float(e) for e in w.laws] == [1, 2, 3, 4, 5, 6] and Vector(*w.laws[:3]).x is w.force.x
    assert m.loads["pull"].laws == (m.loads["pull"].tension,) and m.loads["pull"].joints == ()
    f = m.force(m.joints["shoulder"], 1.0)
    assert f.joints == (m.joints["shoulder"],) and f.frames == ()
