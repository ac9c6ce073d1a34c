"""Model files: the same bytes and the same equations there and back, on random models and on every feature."""

from __future__ import annotations

import inspect
import json
import random
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import JourdainError, ModelError
from jourdain.io.model_files.json_schema import SCHEMA_FILE, json_schema, schema_text
from jourdain.io.model_files.model_file import dumps_model, load_model, loads_model, save_model
from jourdain.io.model_files.toml_source import Source
from jourdain.library import mechanisms
from jourdain.model.fingerprint import fingerprint
from jourdain.model.loads import LinkForce
from tests.formalisms.strategies import random_trees

GAS = jd.table([0.0, 0.1, 0.25], [3.0, 2.0, 1.1], name="gas")


def random_law(rng: random.Random, pool: list[Any]) -> Any:
    """An expression of symbols in the pool; new expressions join it, so that laws share parts."""
    for _ in range(rng.randint(1, 6)):
        a, b = rng.choice(pool), rng.choice(pool)
        law = rng.choice([
            lambda a=a, b=b: a + b, lambda a=a, b=b: a - b, lambda a=a, b=b: a * b, lambda a=a, b=b: b - 0.3 * a, lambda a=a, b=b: a / (2.0 + b * b),
            lambda a=a: jd.sin(a), lambda a=a, b=b: jd.where(a < b, a, b), lambda a=a: GAS(a), lambda a=a, b=b: jd.maximum(a, b), lambda a=a: -a,
            lambda a=a: jd.tanh(a / 0.1), lambda a=a, b=b: jd.step(a, 0.0, 1.0) * b, lambda a=a: a * rng.uniform(-2, 2) + rng.choice([1.0, -2.5]),
        ])()  # fmt: skip
        if isinstance(law, jd.Expr) and not law.is_number:
            pool.append(law)
    return pool[-1]


def decorate(m: jd.Model, rng: random.Random) -> None:
    """Loads, constraints, channels, events and outputs in random order, with laws that share expressions.

    What has a unit stands in them with a factor, which may have one, too: units of random laws fit nowhere.
    """
    joints = [j for j in m.joints.values() if j.coordinates and not j.coordinates[0].is_quaternion]
    bodies = m.all_bodies
    pool: list[Any] = [
        m.time,
        *(0.9 * p for p in m.parameter_set.symbols),
        *(s for j in joints for c in j.coordinates for s in (*c.q, *c.v)),
    ]

    def point() -> Any:
        b = rng.choice(bodies)
        if rng.random() < 0.3:
            return b.frame(f"f{len(b.frames)}", (rng.random(), 0.0, rng.random()), ("y", f"{rng.randint(1, 90)} deg"))
        return b if rng.random() < 0.3 else b.at(rng.random(), rng.random(), 0.1 * rng.choice(list(m.parameter_set.symbols) or [0.5]))

    def pair() -> tuple[Any, Any]:
        return m.ground.at(0.1, 0.2, 3.0), rng.choice(list(m.bodies.values())).at(rng.random(), 0.0, 0.0)

    for i in range(rng.randint(0, 9)):
        what = rng.choice(["input", "state", "link", "spring", "rope", "load", "force", "joint spring", "sensor", "close", "equation", "event", "output", "parameter", "bushing", "drag", "contact", "friction", "damper", "memory", "unknown"])  # fmt: skip
        if what == "input":
            pool.append(1.1 * m.input(f"u{i}", rng.random(), "N"))
        elif what == "memory":
            law = random_law(rng, pool)
            pool.append(1.1 * m.memory(f"memory{i}", rng.random(), lambda old, law=law: jd.maximum(old, law), unit="m"))
        elif what == "unknown":
            w = m.unknown(f"unknown{i}", rng.random())
            m.equation(w, w + 0.1 * w**3 - random_law(rng, pool))
            pool.append(w)
        elif what == "parameter":
            pool.append(m.parameter(f"late{i}", rng.random(), bounds=(None, 2.0), description="declared late"))
        elif what == "state":
            z = m.state(f"z{i}", rng.random())
            pool.append(z)
            m.rate(z, random_law(rng, pool))
        elif what == "link":
            link = m.link(
                f"link{i}",
                *pair(),
                law=lambda z, v, t, known=tuple(pool): 3.0 * (z - 1.0) + random_law(rng, [z, v, t, *known]),
                kind=rng.choice(["link", "muscle"]),
            )
            pool += [link.length, link.rate]
        elif what == "spring":
            m.spring(f"spring{i}", *pair(), stiffness=0.7 * rng.choice([100.0, *pool[:3]]), length=1.0, damping=rng.choice([0.0, 2.0]))
        elif what == "damper":
            m.damper(f"damper{i}", *pair(), damping=3.5)
        elif what == "rope":
            m.rope(f"rope{i}", *pair(), pair()[0], stiffness=50.0, length=2.0)
        elif what == "load":
            m.load(f"load{i}", point(), force=[random_law(rng, pool) for _ in range(3)], axes=rng.choice([None, point()]))
        elif what == "force" and joints:
            j = rng.choice(joints)
            short = rng.choice(j.coordinates).names[0].removeprefix(j.name + ".")
            if short in [c.names[0].removeprefix(j.name + ".") for c in j.coordinates] and j.coordinates[0].names[0].startswith(j.name):
                m.force(j, random_law(rng, pool), coordinate=short, name=f"force{i}")
        elif what in ("joint spring", "friction"):
            single = [j for j in joints if len(j.coordinates) == 1]
            if single and what == "friction":
                m.friction(rng.choice(single), 2.0, 0.1, name=f"friction{i}")
            elif single:
                m.joint_spring(rng.choice(single), stiffness=20.0, rest=0.1, name=f"js{i}")
        elif what == "sensor":
            s = m.sensor(f"s{i}", point(), rng.choice([None, point()]))
            pool += [s.x, s.velocity[1], s.angular_velocity[2], s.rotation[0, 1]]
        elif what == "close":
            m.close(f"loop{i}", *pair(), rng.choice(["ball", "revolute", "universal", "parallel"]), axis=(1.0, 2.0, rng.random()))
        elif what == "equation":
            m.constraint(f"eq{i}", jd.sin(random_law(rng, pool)) + pool[-1] * m.time)
        elif what == "event":
            jump = {joints[0].coordinates[0].v[0]: random_law(rng, pool)} if joints and rng.random() < 0.5 else {}
            m.event(f"event{i}", jd.cos(random_law(rng, pool)) + m.time, rng.choice([-1, 0, 1]), rng.random() < 0.3, jump)
        elif what == "output":
            m.output(f"out{i}", random_law(rng, pool), rng.choice(["", "N"]))
        elif what == "bushing":
            m.bushing(f"bush{i}", *pair(), [100.0] * 6, [1.0] * 6)
        elif what == "drag":
            m.drag(f"drag{i}", point(), 0.3)
        elif what == "contact":
            m.ground_contact(f"contact{i}", point(), 1e4, friction=0.5, radius=0.1, height=lambda x, y: 0.1 * jd.sin(x))


def check_round_trip(m: jd.Model) -> jd.Model:
    text = dumps_model(m)
    again = loads_model(text)
    assert fingerprint(again) == fingerprint(m)
    assert dumps_model(again) == text
    assert np.array_equal(again.parameter_set.values(), m.parameter_set.values())
    return again


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random_trees(), st.integers(0, 2**32))
def test_random_models_come_back_the_same(m: jd.Model, seed: int) -> None:
    decorate(m, random.Random(seed))
    check_round_trip(m)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random_trees(max_bodies=3), st.integers(0, 2**32))
def test_written_files_obey_the_published_schema(m: jd.Model, seed: int) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    decorate(m, random.Random(seed))
    data = json.loads(json.dumps(tomllib.loads(dumps_model(m))))
    jsonschema.Draft202012Validator(json_schema()).validate(data)


def test_the_published_schema_is_the_one_in_the_code() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text()
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(json_schema())


LIBRARY = [
    f for n, f in inspect.getmembers(mechanisms, inspect.isfunction) if f.__module__ == mechanisms.__name__ and not n.startswith("_")
]


@pytest.mark.parametrize("build", LIBRARY, ids=lambda f: f.__name__)
def test_library_models(build: Any) -> None:
    text = dumps_model(build())
    check_round_trip(build())
    assert "[creation]" not in text  # built in the usual order: nothing to say about it


def test_same_compiled_dynamics() -> None:
    m = mechanisms.double_pendulum()
    q, v, tau = np.array([0.3, -1.2]), np.array([2.0, 0.7]), np.array([0.1, 0.2])
    found = [x.compile().forward_dynamics(q, v, tau) for x in (m, loads_model(dumps_model(m)))]
    assert np.array_equal(found[0], found[1]) and np.all(np.abs(found[0]) > 0.1)


def test_a_compiled_model_can_be_saved(tmp_path: Path) -> None:
    m = mechanisms.four_bar()
    m.compile()
    m.save(tmp_path / "four_bar.toml")
    assert fingerprint(load_model(tmp_path / "four_bar.toml")) == fingerprint(m)
    assert [p.name for p in tmp_path.iterdir()] == ["four_bar.toml"]


def test_an_unusual_order_of_making_is_kept() -> None:
    m = jd.Model("order")
    body = m.body("b", mass=1.0)
    hinge = m.revolute("hinge", m.ground, body)
    k, c = m.parameters(k=2.0, c=3.0)
    early = k * c
    d = m.parameter("d", 1.0)
    m.output("late", (hinge.position * hinge.position) + early * d)
    m.force(hinge, early * hinge.position)
    s = m.sensor("s", body)
    m.output("r", s.z * s.x + d * k)
    text = dumps_model(m)
    assert "[creation]" in text
    check_round_trip(m)
    # without the list the equations are the same up to the order of operands
    data = text[: text.index("[creation]")]
    other = loads_model(data)
    values = dict(zip(m.parameter_set.symbols, (2.0, 3.0, 1.0, 0.5), strict=False))
    assert jd.evaluate(m.outputs["late"].expression, {**values, hinge.position: 0.3}) == pytest.approx(
        jd.evaluate(other.outputs["late"].expression, {**dict(zip(other.parameter_set.symbols, (2.0, 3.0, 1.0, 0.5), strict=False)), other.joints["hinge"].position: 0.3})
    )  # fmt: skip


def test_everything_else_a_model_holds(tmp_path: Path) -> None:
    m = jd.Model("all kinds – été", gravity=(0, -9.81, 0))
    l = m.parameter("l", 0.5, "m", ("100 mm", 2.0), 'length of the "arm"')
    m.parameter("odd name", -0.0)
    a = m.body(
        "a", shape=[jd.box(l, 0.1, 0.2, 7800.0).at(0, 0, 0.1), jd.box(0.3, 0.3, 0.3, 500.0) - jd.cylinder(0.05, 0.3)], colour="#112233"
    )
    a.shapes.append(jd.sphere(0.1))
    b = m.body("b.c", mass=1.0, com=(0.1, 0, 0), inertia=(1, 2, 2.5))
    b.add_mass(0.5, (0, 0, 1), [[2, 0.1, 0], [0.1, 2, 0], [0, 0, 3]], about="origin", axes=("z", "30 deg"))
    b.shapes.append(jd.union(jd.cone(0.1, 0.2, 0.3, 100.0), jd.torus(1.0, 0.1, 100.0, axis="x")))
    b.shapes.append(jd.prism([(0, 0), (l, 0), (0, l)], 0.1).rotated("x", 0.3))
    b.shapes.append(jd.revolved([(0, 0), (0.04, 0), (0.04, 0.06)], 2700.0, colour="#00ff00"))
    corner = ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    b.shapes.append(jd.mesh(corner, density=10.0, scale=0.1))
    b.frame("tip", (l, 0, 0), [("z", 0.1), ("x", "20 deg")])
    m.ground.frame("mount", rotation={"rpy": (0.1, 0.2, 0.3)})
    m.ground.shapes.append(jd.box(1.0, 1.0, 0.1))
    j = m.revolute("j", m.ground.frames["mount"], a, axis=(1, 1, 0), limits=("-30 deg", None), rotor_inertia=0.1, gear_ratio=3, cut=False)
    k = m.prismatic("k", a.at(1, 0, 0, {"quaternion": (1, 0.1, 0, 0)}), m.frame("b.c.tip"), axis=(l, 1.0, 0))
    m.body("screwed", mass=1.0)
    m.helical("h", a, "screwed", "5 mm", axis="-x")
    m.body("follower", mass=1.0)
    m.revolute("f", a, "follower", mimic=(j, 2.0, 0.1))
    m.drive(k, lambda t: 0.1 * jd.sin(t))
    m.lock(m.joints["h"], "10 deg")
    m.gear("gear", j, k, 0.2)
    m.rod("rod", a, b.at(0, 1, 0), l)
    m.output("p", GAS(j.position) + jd.table([0.0, 1.0], [2.0, 3.0], kind="linear", extrapolate="extend")(k.position))
    m.expressions["sum of all"] = j.position + k.position * l
    m.output("named", 2.0 * (j.position + k.position * l))
    m.initial = {"j.angle": "20 deg", "k.displacement_rate": 0.5}
    m.analyses = {"run": {"verb": "simulate", "t": 2.0, "method": "dopri5", "outputs": 100}, "modes": {"verb": "modal"}}
    m.keep, m.notes = ["j.angle", "p"], ["a remark\nof two lines"]
    again = check_round_trip(m)
    assert again.initial == m.initial and again.analyses == m.analyses and again.keep == m.keep and again.notes == m.notes
    assert again.parameter_set["l"].bounds == (0.1, 2.0) and again.parameter_set["l"].description == 'length of the "arm"'
    assert again.bodies["a"].colour == "#112233"
    assert [s.kind for s in again.bodies["b.c"].shapes] == [s.kind for s in b.shapes]
    numbers = [m.parameter_set.evaluate([jd.symbolic.as_expr(s.volume) for body in x.bodies.values() for s in body.shapes]) for x in (m,)]
    others = again.parameter_set.evaluate([jd.symbolic.as_expr(s.volume) for body in again.bodies.values() for s in body.shapes])
    assert np.array_equal(numbers[0], others)
    assert again.bodies["b.c"].shapes[-1] == b.shapes[-1] and again.bodies["b.c"].shapes[2] == b.shapes[2]
    assert again.joints["j"].limits == j.limits and again.joints["j"].drive.gear_ratio == 3.0
    text = dumps_model(m)
    assert (
        'axes = ["z", "30 deg"]' in text
        and 'limits = ["-30 deg", inf]' in text
        and "'sum of all'" in text
        and '[bodies."b.c".frames]' in text
    )


def test_a_mesh_in_the_folder_is_named_by_its_file(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "parts").mkdir()
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "parts" / "box.stl")
    m = jd.Model("mesh")
    m.free("free", m.ground, m.body("b", shape=jd.mesh(tmp_path / "parts" / "box.stl", density=100.0)))
    m.save(tmp_path / "m.toml")
    assert 'file = "parts/box.stl"' in (tmp_path / "m.toml").read_text()
    assert float(load_model(tmp_path / "m.toml").bodies["b"].mass) == pytest.approx(600.0)
    m.save(tmp_path / "parts" / "elsewhere.toml")
    assert fingerprint(load_model(tmp_path / "parts" / "elsewhere.toml")) == fingerprint(m)


def test_python_laws_cannot_be_written() -> None:
    m = jd.Model("callback")
    m.callback("f", lambda x: x, [m.time])
    with pytest.raises(ModelError, match="callback 'f': a file cannot hold Python"):
        dumps_model(m)


def test_a_law_with_a_foreign_symbol_cannot_be_written() -> None:
    m = jd.Model("foreign")
    m.output("o", jd.symbol("elsewhere") * 2.0)
    with pytest.raises(JourdainError, match="'elsewhere' does not belong to the model 'foreign'"):
        dumps_model(m)


def test_names_that_mean_several_things_are_told_apart() -> None:
    m = jd.Model("names")
    p, u, z = m.parameter("x", 2.0), m.input("x"), m.state("x")
    t = m.parameter("t", 1.0)
    m.rate(z, p * u + z - t * m.time)
    hub = m.body("hub", mass=1.0)
    m.free("hub", m.ground, hub)
    s = m.sensor("hub", hub)
    m.output(
        "o", s.x * m.joints["hub"].coordinates[0].q[0] + m.parameter("and", 1.0) * m.parameter("self.x", 2.0) * m.parameter("it's", 3.0)
    )
    again = check_round_trip(m)
    assert {e.name for e in jd.symbolic.graph.free_symbols([again.states["x"].rate])} == {"x", "t"}


def test_laws_of_known_kinds_keep_their_constants() -> None:
    m = jd.Model("springs")
    b = m.body("b", mass=1.0)
    j = m.prismatic("j", m.ground, b)
    k = m.parameter("k", 100.0)
    m.spring("s", m.ground.at(0, 0, 1), b, stiffness=k, length=0.5, damping=2.0)
    m.joint_spring(j, stiffness=2 * k, name="js")
    text = dumps_model(m)
    assert 'kind = "spring"\npoints = [{body = "ground", position = [0, 0, 1]}, "b"]\nstiffness = "k"\nlength = 0.5\ndamping = 2\n' in text
    assert 'kind = "joint_spring"\njoint = "j"\nstiffness = "2*k"\n' in text
    check_round_trip(m)
    spring = m.loads["s"]
    assert isinstance(spring, LinkForce)
    spring.tension = spring.tension * 2.0  # changed by hand: the constants say no longer what the law is
    assert 'tension = "' in dumps_model(m)
    check_round_trip(m)


HEAD = 'format = "jourdain"\nversion = 1\nname = "hand"\n'


def test_written_by_hand() -> None:
    m = loads_model(
        HEAD
        + """
gravity = [0, 0, "-g"]
[parameters]
g = "9.81 m/s^2"
k = {value = "1 N/mm", unit = "N/m", bounds = [0, inf]}
[tables]
height = {x = [0, 1, 2], y = [0, 0.1, 0]}
[expressions]
speed = "sqrt(hub.velocity.x^2 + hub.velocity.z^2)"
[bodies.wheel]
mass = "1200 g"
com = ["5 mm", 0, "2*3[mm]"]
shapes = [{kind = "cylinder", radius = 0.3, length = "50 mm", axis = "y"}]
[bodies.wheel.frames]
rim = {position = [0.3, 0, 0], rotation = ["y", "90 deg"]}
[joints.ride]
kind = "planar"
parent = "ground"
child = "wheel"
plane = "xz"
[sensors.hub]
frame = "wheel.rim"
[loads.strut]
kind = "spring"
points = ["wheel", {body = "ground", position = [0, 0, 2]}]
tension = "k*(self.length - 1) + 3*self.rate"
[loads.road]
kind = "contact"
frame = "wheel"
stiffness = "100 N/mm"
radius = 0.3
height = "height(self.x)"
[loads.brake]
kind = "joint"
joint = "ride"
coordinate = "angle"
force = "-2*self.velocity"
[constraints.flat]
kind = "equation"
expression = "ride.z - height(ride.x)"
[events.stop]
guard = "speed - 20[km/h]"
direction = 1
terminal = true
jump = {"ride.x_rate" = 0}
[outputs]
speed = "speed"
"""
    )
    assert m.parameter_set["k"].value == pytest.approx(1000.0) and float(m.bodies["wheel"].mass) == 1.2
    assert [float(e) for e in m.bodies["wheel"].moment] == pytest.approx([0.006, 0.0, 0.0072])
    strut = m.loads["strut"]
    assert isinstance(strut, LinkForce) and strut.kind == "spring"
    assert float(jd.evaluate(strut.tension, {m.parameter_set["k"].symbol: 1000.0, strut.length: 1.5, strut.rate: 2.0})) == 506.0
    assert m.events["stop"].jump and m.outputs["speed"].expression is m.expressions["speed"]
    check_round_trip(m)


def test_scan_and_strict_reader_agree_on_every_place() -> None:
    text = (
        HEAD
        + """
keep = [ # comment ] "
  "a#b", 'c"d', # another
]
'quoted "key"'.x = 1
[bodies."a.b" ] # comment
mass = 1e-3
description = \"\"\"two
"lines" \"\"\"
shapes = [{kind = "box", lx = 1}, {kind = 'x', p = [[1, 2], [3, 4]]}]
[[include]]
file = 'a'
[[include]]
file = "b\\u0041\\""
[include.parameters]
k = 3
"""
    )
    source = Source(text)
    lines = {
        (): 1,
        ("keep", 1): 6,
        ("bodies", "a.b"): 9,
        ("bodies", "a.b", "description"): 11,
        ("include", 1): 16,
        ("include", 1, "parameters", "k"): 19,
    }
    for path, line in lines.items():
        assert source.line(path) == line, path

    def walk(data: Any, path: tuple[Any, ...]) -> None:
        if path and not (isinstance(data, (dict, list)) and path not in source.spans):
            assert path in source.spans, path
            span = source.spans[path]
            if not isinstance(data, dict) and (path[-1] != "include"):
                assert tomllib.loads("v = " + text[span.value : span.end])["v"] == data
        for key, entry in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
            walk(entry, (*path, key))

    walk(source.data, ())


def test_deep_laws_need_no_deep_recursion() -> None:
    m = jd.Model("deep")
    x = m.revolute("j", m.ground, m.body("b", mass=1.0)).position
    law = x
    for i in range(3000):
        law = jd.sin(law) * x + float(i)
    m.output("deep", law)
    again = check_round_trip(m)
    values = [jd.evaluate(n.outputs["deep"].expression, {n.joints["j"].position: 0.3}) for n in (m, again)]
    assert float(values[0]) == float(values[1])
    names = [f"a{i}" for i in range(60)]
    circle = "\n".join(f'{a} = "{b} + 1"' for a, b in zip(names, [*names[1:], names[0]], strict=True))
    with pytest.raises(ModelError, match="in a circle"):
        loads_model(HEAD + "[expressions]\n" + circle)


def test_save_replaces_the_file_whole(tmp_path: Path) -> None:
    target = tmp_path / "m.toml"
    save_model(mechanisms.pendulum(), target)
    first = target.read_bytes()
    save_model(mechanisms.pendulum(), target)
    assert target.read_bytes() == first
    with pytest.raises(JourdainError, match="cannot be written"):
        save_model(mechanisms.pendulum(), tmp_path / "missing" / "m.toml")
