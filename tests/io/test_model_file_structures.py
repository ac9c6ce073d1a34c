"""Flexible bodies in model files: a saved model is the same model, numbers of structures stay where they belong, errors have their line."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain import structures
from jourdain.errors import InputError, ModelError
from jourdain.io.model_files.json_schema import json_schema
from jourdain.io.model_files.model_file import dumps_model, load_model, loads_model, save_model
from jourdain.io.model_files.operations import ModelDocument
from jourdain.model.fingerprint import fingerprint
from jourdain.results.store import Store
from jourdain.structures import ALUMINIUM, STEEL, circle, rectangle
from tests.io.flexible_models import MODELS, arm, framed, slider_crank


def same_numbers(a: jd.System, b: jd.System, rng: np.random.Generator, prefix: str = "") -> None:
    """Mass matrix, bias and accelerations at random states, to the last bit."""
    assert [prefix + n for n in a.coordinate_names] == b.coordinate_names
    for _ in range(3):
        x = a.state(
            {n: rng.uniform(-0.3, 0.3) if ".orientation" not in n else v for n, v in zip(a.coordinate_names, a.state().q, strict=True)}
        )
        y = b.state({prefix + n: v for n, v in zip(a.coordinate_names, x.q, strict=True)})
        x.v[:] = y.v[:] = rng.uniform(-1, 1, a.nv)
        for name in ("mass_matrix", "bias", "energy"):
            f, g = a.function(name), b.function(name)
            given = {"q": x.q, "v": x.v, "t": np.zeros(1), "z": x.z, "u": a.input_values()}
            for one, two in zip(
                np.atleast_1d(f(*(given[n] for n in f.inputs))), np.atleast_1d(g(*(given[n] for n in g.inputs))), strict=True
            ):
                np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_is_the_same_model(name: str, rng: np.random.Generator) -> None:
    m = MODELS[name]()
    text = dumps_model(m)
    again = loads_model(text)
    assert fingerprint(again) == fingerprint(m)
    assert dumps_model(again) == text
    a, b = m.compile(), again.compile()
    np.testing.assert_array_equal(a.parameter_vector, b.parameter_vector)
    same_numbers(a, b, rng)
    assert again.initial == m.initial


def test_runs_of_a_saved_model_are_the_same() -> None:
    m = slider_crank(damping=0.01)
    s, again = m.compile(), loads_model(dumps_model(m)).compile()
    one, two = (x.simulate(x.assemble(), t=0.005, rtol=1e-9) for x in (s, again))
    for channel in ("rod.mode1", "rod.mode2", "main.drive_force", "wrist.reaction"):
        np.testing.assert_array_equal(one[channel], two[channel])


def test_a_part_of_matrices_is_kept_in_a_file_beside_the_model(tmp_path: Path, rng: np.random.Generator) -> None:
    made = structures.beam((0, 0, 0), (1, 0, 0), lambda s: circle(0.03 - 0.01 * s), STEEL, elements=4, name="taper")
    m = jd.Model("taper")
    m.revolute("hinge", m.ground, m.flexible_body("bar", made.reduce(modes=2, frame="tangent")).node("start"), axis="y")
    with pytest.raises(
        ModelError, match=r"structure 'taper' of the body 'bar': .* keep it beside the model first: part.save\('taper.npz'\)"
    ):
        dumps_model(m)
    made.save(tmp_path / "taper.npz")
    save_model(m, tmp_path / "bar.toml")
    assert 'file = "taper.npz"' in (tmp_path / "bar.toml").read_text()
    again = load_model(tmp_path / "bar.toml")
    assert fingerprint(again) == fingerprint(m)
    same_numbers(m.compile(), again.compile(), rng)
    (tmp_path / "other").mkdir()
    with pytest.raises(ModelError, match="outside the model's folder"):
        save_model(m, tmp_path / "other" / "bar.toml")
    made.nodes[1, 1] += 1e-6  # another file under the same name
    made.save(tmp_path / "taper.npz")
    with pytest.raises(ModelError, match="its file 'taper.npz' was changed: its digest is .* take the key 'digest' away"):
        load_model(tmp_path / "bar.toml")


def test_the_order_of_declarations_does_not_matter_to_structures() -> None:
    def made(late: bool, swap: bool) -> jd.Model:
        m = jd.Model("order")
        if not late:
            m.parameter("k", 2.0)
        part = structures.beam((0, 0, 0), (1, 0, 0), circle(0.02), STEEL, elements=4)
        bar: Any = m.flexible_body("bar", part, frame="mean axes", modes=2)
        for end in ("end", "start") if swap else ("start", "end"):
            bar.node(end)
        if late:
            m.parameter("k", 2.0)
        m.free("float", m.ground, bar.node("start"))
        return m

    prints = {fingerprint(made(late, swap)) for late in (False, True) for swap in (False, True)}
    assert len(prints) == 1


def test_a_joint_at_the_floating_frame_is_not_one_at_the_node_there() -> None:
    def made(at_node: bool) -> jd.Model:
        m = jd.Model("where")
        bar: Any = m.flexible_body("bar", structures.beam((0, 0, 0), (1, 0, 0), circle(0.02), STEEL, elements=4), modes=2)
        start = bar.node("start")
        m.revolute("hinge", m.ground, start if at_node else bar.origin, axis="y")
        return m

    at_node, at_frame = made(True), made(False)
    assert fingerprint(at_node) != fingerprint(at_frame)
    M, N = (s.mass_matrix(s.state({"bar.mode1": 0.01}).q) for s in (at_node.compile(), at_frame.compile()))
    assert abs(M - N).max() > 1e-3


def test_numbers_of_structures_are_never_listed(tmp_path: Path) -> None:
    m = arm()
    names = {p.name for p in m.parameter_set if p.data}
    assert len(names) > 20
    listed = ["gravity_z", "k"]
    assert [p.name for p in m.parameter_set.listed] == listed
    s = m.compile()
    sol = s.simulate({"hinge": 0.1}, t=0.01)
    assert list(s.parameters) == listed == list(sol.metadata["parameters"])
    assert "2 parameters" in repr(s) and "2 parameters" in repr(m)
    page = tmp_path / "arm.html"
    sol.save_page(page)
    shown = [m.describe(), str(m), s.describe(), dumps_model(m), str(sol), repr(sol.metadata), page.read_text()]
    shown += [p.read_text() for p in jd.export_source(s, "c", ["mass_matrix"], tmp_path)] if hasattr(jd, "export_source") else []
    for text in shown:
        leaked = [n for n in names - {"link.mass"} if n in text]
        assert not leaked
    # a law of the model names the mass of the link, and nothing else
    assert "link.mass" in dumps_model(m)
    with pytest.raises(InputError, match=r"'link.K\[0,0\]' is a number of a structure, not a parameter; change the structure"):
        s.set_parameters(**{"link.K[0,0]": 1.0})
    with pytest.raises(InputError, match="there is no parameter 'link.Q'"):
        s.set_parameters(**{"link.Q": 1.0})


def test_kept_sweeps_tell_structures_apart(tmp_path: Path) -> None:
    """Models with equal equations and other numbers in their structures share machine code, but not results."""

    def swept(diameter: float) -> Any:
        m = jd.Model("swept")
        bar: Any = m.flexible_body(
            "bar", structures.beam((0, 0, 0), (1, 0, 0), circle(diameter), STEEL, elements=4), frame="tangent", modes=1
        )
        m.revolute("hinge", m.ground, bar.node("start"), axis="y")
        m.parameter("k", 1.0)
        s = m.compile()
        with Store(tmp_path / "runs") as store:
            return s, s.sweep({"hinge": 0.3}, 0.05, parameters={"k": [1.0, 2.0]}, outputs=["hinge.angle", "bar.mode1"], store=store)

    (s1, one), (s2, two) = swept(0.02), swept(0.01)
    assert s1.fingerprint == s2.fingerprint
    assert abs(one["bar.mode1"] - two["bar.mode1"]).max() > 1e-6


# --- sub-models --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["arm", "frames", "rigid frames"])
def test_an_included_model_is_the_same(name: str, rng: np.random.Generator) -> None:
    part = MODELS[name]()
    whole = jd.Model("whole")
    whole.include(part, "p")
    a, b = part.compile(), whole.compile()
    same_numbers(a, b, rng, "p.")
    assert whole.initial == {f"p.{n}": x for n, x in part.initial.items()}
    assert fingerprint(loads_model(dumps_model(whole))) == fingerprint(whole)


def test_two_copies_do_not_mix(rng: np.random.Generator) -> None:
    whole = jd.Model("whole")
    for prefix in ("a", "b"):
        whole.include(arm(), prefix, whole.ground.at(0, 1.0 if prefix == "b" else 0.0, 0))
    s, one = whole.compile(), arm().compile()
    x = one.state({"hinge": 0.2, "link.mode2": 0.003})
    M = one.mass_matrix(x.q)
    both = s.mass_matrix(s.state({f"{p}.{n}": v for p in "ab" for n, v in zip(one.coordinate_names, x.q, strict=True)}).q)
    np.testing.assert_allclose(both, np.block([[M, 0 * M], [0 * M, M]])[np.ix_(*[_order(s, one)] * 2)], rtol=1e-13, atol=1e-15)


def _order(s: jd.System, one: jd.System) -> list[int]:
    names = [f"{p}.{n}" for p in "ab" for n in one.coordinate_names]
    return [names.index(n) for n in s.coordinate_names]


def test_flexible_bodies_are_not_mirrored() -> None:
    whole = jd.Model("whole")
    with pytest.raises(ModelError, match="sub-model 'p': the flexible body 'link' cannot be mirrored, for its structure is not; describe"):
        whole.include(arm(), "p", mirror="y")


def test_files_include_flexible_models(tmp_path: Path) -> None:
    save_model(arm(), tmp_path / "arm.toml")
    (tmp_path / "whole.toml").write_text('format = "jourdain"\nversion = 1\n[[include]]\nfile = "arm.toml"\nprefix = "p"\n')
    m = load_model(tmp_path / "whole.toml")
    assert "p.link (3 modes, tangent)" in str(m)
    m.save(tmp_path / "again.toml")
    assert "[[include]]" in (tmp_path / "again.toml").read_text()
    assert fingerprint(load_model(tmp_path / "again.toml")) == fingerprint(m)


# --- what is written by hand -------------------------------------------------------------------------------------

HAND = """format = "jourdain"
version = 1
[structures.bar]
kind = "beam"
start = [0, 0, 0]
end = ["500 mm", 0, 0]
section = {circle = "8 mm", inner = "6 mm"}
material = "steel"
elements = 4
[bodies.link]
flexible = {structure = "bar", frame = "pinned", modes = 2, bending = "y", damping = 0.01}
[bodies.link.frames]
quarter = {position = [0.125, 0, 0]}
[joints.hinge]
kind = "revolute"
parent = "ground"
child = "link.start"
axis = "z"
[loads.pull]
kind = "spring"
points = [{body = "ground", position = [0.5, 0.2, 0]}, {body = "link", position = [0.5, 0, 0]}]
stiffness = 100
length = 0.1
[sensors.there]
frame = "link.node 3"
[outputs]
sag = "there.position.y"
bend = "link.mode1"
"""


def test_a_file_written_by_hand() -> None:
    m = loads_model(HAND)
    part = structures.beam((0, 0, 0), (0.5, 0, 0), circle(0.008, 0.006), STEEL, elements=4)
    other = jd.Model("model")
    link: Any = other.flexible_body("link", part, frame="pinned", modes=2, bending="y", damping=0.01)
    other.revolute("hinge", other.ground, link.node("start"), axis="z")
    other.spring("pull", other.ground.at(0.5, 0.2, 0), link.node("end"), stiffness=100.0, length=0.1)
    a, b = m.compile(), other.compile()
    x = {"hinge": 0.2, "link.mode1": 0.01, "link.mode2": -0.003}
    np.testing.assert_allclose(a.accelerations(a.state(x)), b.accelerations(b.state(x)), rtol=1e-12)
    assert m.bodies["link"].frames["quarter"].node == "node 1"
    assert dumps_model(m) == HAND
    rigid = loads_model(HAND.replace("damping = 0.01", "damping = 0.01, rigid = true").replace('bend = "link.mode1"\n', ""))
    assert rigid.compile().nv == 1 and "rigid = true" in dumps_model(rigid)


def test_variants_change_structures_and_reductions() -> None:
    text = (
        HAND.replace('bend = "link.mode1"\n', "")
        + """[variant.stiff.structures.bar]
section = {inner = "2 mm"}
[variant.rigid.bodies.link]
flexible = {rigid = true}
"""
    )
    stiff, rigid = (loads_model(text, variant) for variant in ("stiff", "rigid"))
    assert stiff.bodies["link"].part.part.elements[0].sections[0][0] == circle(0.008, 0.002)
    assert rigid.compile().nv == 1


def test_the_schema_of_editors_accepts_what_is_written() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json_schema())
    for build in MODELS.values():
        validator.validate(tomllib.loads(dumps_model(build())))
    validator.validate(tomllib.loads(HAND))
    for wrong in ('kind = "beam"', "{circle", 'structure = "bar"'):
        assert list(validator.iter_errors(tomllib.loads(HAND.replace(wrong, wrong.replace("b", "x").replace("c", "x"), 1))))


@st.composite
def reductions(draw: st.DrawFn) -> dict[str, Any]:
    """Options of a reduction that fit a straight beam."""
    frame = draw(st.sampled_from(["mean axes", "tangent", "pinned"]))
    kind = draw(st.sampled_from([None, "fixed", "craig-bampton"]))
    options: dict[str, Any] = {"frame": frame, "modes": draw(st.integers(1, 4))}
    if kind is not None:
        options["kind"] = kind
    if kind == "craig-bampton":
        options["interfaces"] = ["start", draw(st.integers(1, 3))]
    if frame == "tangent":
        options["at"] = draw(st.sampled_from(["end", 2]))
    if kind == "fixed":
        options["fixed"] = ["start"]
    damping = [None, 0.02, {"mass": 0.1}, {"mass": 0.3, "stiffness": 1e-5}]
    return options | {"damping": draw(st.sampled_from(damping)), "normalise": draw(st.sampled_from(["largest", "mass"]))}


@settings(max_examples=15)
@given(
    options=reductions(),
    size=st.floats(0.005, 0.05),
    length=st.floats(0.1, 3.0),
    theory=st.sampled_from(["euler-bernoulli", "rayleigh", "timoshenko"]),
)
def test_any_reduction_of_a_beam_is_the_same_after_saving(options: dict[str, Any], size: float, length: float, theory: str) -> None:
    m = jd.Model("any")
    part = structures.beam((0, 0, 0), (length, 0, 0), rectangle(size, 0.7 * size), ALUMINIUM, elements=4, theory=theory)
    body: Any = m.flexible_body("bar", part.reduce(**options))
    m.free("float", m.ground, body.node("end"), orientation="xyz")
    again = loads_model(dumps_model(m))
    assert fingerprint(again) == fingerprint(m)
    np.testing.assert_array_equal(again.parameter_set.values(), m.parameter_set.values())


WRONG = [
    ('kind = "beam"', 'kind = "beem"', "line 4: structure 'bar': kind 'beem' is unknown; use one of beam, cable, framework, block, sheet, solid, truss, truss_box, lattice_rod, ritz_beam, file"),
    ("elements = 4", "elements = 0", "line 3: structure 'bar': bar: 0 elements"),
    ("elements = 4", "elemnts = 4", r"line 9: structure 'bar' \(beam\) has an unknown key 'elemnts'; did you mean elements"),
    ('{circle = "8 mm", inner = "6 mm"}', "{round = 3}", r"line 7: structure 'bar' \(beam\): section is .*; {circle = …}, {rectangle"),
    ('inner = "6 mm"', 'inner = "9 mm"', "line 3: structure 'bar': circle: diameters 0.008 and inner 0.009"),
    ('"8 mm"', '"8 kg"', "line 7: structure 'bar': circle: .*'kg' is a unit of mass"),
    ('material = "steel"', 'material = "stahl"', "line 8: structure 'bar': material 'stahl' is unknown; use steel, aluminium or"),
    ('material = "steel"', "material = {E = 1e11, nu = 0.7, density = 1}", "line 3: structure 'bar': material: nu = 0.7"),
    ('end = ["500 mm", 0, 0]', "end = [0, 0, 0]", "line 3: structure 'bar': bar: member 0 between nodes 0 and 1 has no length"),
    ('structure = "bar"', 'structure = "bat"', "line 11: body 'link': there is no structure 'bat'; there is bar"),
    ('frame = "pinned"', 'frame = "floating"', "line 11: body 'link': frame 'floating' is unknown; there are mean axes"),
    ("modes = 2", "modes = 200", "line 11: body 'link': .*200"),
    ("modes = 2", 'modes = "two"', "line 11: body 'link': flexible: modes is 'two'; a whole number"),
    ("damping = 0.01", "damping = -1", "line 11: body 'link': bar: damping = -1"),
    ('bending = "y"', 'bending = "x"', "line 11: body 'link': bar: bending = 'x' is along the part"),
    ("[bodies.link.frames]", "mass = 2\n[bodies.link.frames]", "line 11: body 'link': 'mass' has no place beside 'flexible'"),
    ("[0.125, 0, 0]", "[0.13, 0, 0]", r"line 10: .*no node is at \(0.13, 0.0, 0.0\); the nearest is node 1 .* 0.005 m away"),
    ('child = "link.start"', 'child = "link.begin"', "line 17: joint 'hinge': there is no body or frame 'link.begin'"),
    ('"link.node 3"', '"link.node 30"', "line 25: sensor 'there': there is no body or frame 'link.node 30'"),
    ('kind = "beam"', 'kind = "file"\nfile = "../x.npz"', r"structure 'bar' \(file\) has an unknown key 'start'"),
    ("link.mode1", "link.mode3", "there is nothing called 'link.mode3' here; did you mean link.mode"),
]  # fmt: skip


@pytest.mark.parametrize("old, new, message", WRONG)
def test_errors_have_their_line(old: str, new: str, message: str) -> None:
    assert old in HAND
    with pytest.raises(ModelError, match=f"model text, .*{message}"):
        loads_model(HAND.replace(old, new, 1))


def test_files_of_structures_are_read_with_care(tmp_path: Path) -> None:
    text = 'format = "jourdain"\nversion = 1\n[structures.bar]\nkind = "file"\nfile = "bar.npz"\n'
    (tmp_path / "m.toml").write_text(text)
    with pytest.raises(ModelError, match="line 5: structure 'bar': there is no file 'bar.npz'"):
        load_model(tmp_path / "m.toml")
    part = structures.beam((0, 0, 0), (1, 0, 0), circle(0.02), ALUMINIUM, elements=3)
    part.save(tmp_path / "bar.npz")
    load_model(tmp_path / "m.toml")
    whole = (tmp_path / "bar.npz").read_bytes()
    rng = np.random.default_rng(4)
    for _ in range(60):
        cut = bytearray(whole[: rng.integers(1, len(whole))]) if rng.random() < 0.4 else bytearray(whole)
        cut[rng.integers(len(cut))] ^= 1 << rng.integers(8)
        (tmp_path / "bar.npz").write_bytes(cut)
        try:
            load_model(tmp_path / "m.toml")
        except ModelError as error:
            assert "structure 'bar'" in str(error)
    np.savez(tmp_path / "bar.npz", x=np.arange(3))
    with pytest.raises(ModelError, match="line 3: structure 'bar': .*bar.npz: it is no file of a structure"):
        load_model(tmp_path / "m.toml")
    np.savez(tmp_path / "bar.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ModelError, match="line 3: structure 'bar': .*bar.npz: it is no file of a structure"):
        load_model(tmp_path / "m.toml")


def test_mass_is_not_added_to_a_flexible_body() -> None:
    m = framed()
    with pytest.raises(ModelError, match="flexible body 'one': mass is added to its structure, or as a body fixed to a node"):
        m.bodies["one"].add_mass(1.0)
    with pytest.raises(ModelError, match="flexible body 'link': mass is added"):
        loads_model(HAND.replace("[bodies.link.frames]", 'shapes = [{kind = "sphere", radius = 0.1, density = 1}]\n[bodies.link.frames]'))


def test_nodes_are_asked_for_before_compiling() -> None:
    m = arm()
    m.compile()
    with pytest.raises(ModelError, match=r"node 'link.node 1': the model 'arm' is compiled and locked"):
        m.bodies["link"].node(1)
    assert m.frame("link.end").node == "end"


def test_operations_know_structures() -> None:
    d = ModelDocument(HAND)
    assert [o.name for o in d.list("structure")] == ["bar"]
    assert {str(o) for o in d.references("structure", "bar")} >= {"body 'link'", "joint 'hinge'", "load 'pull'", "output 'bend'"}
    with pytest.raises(ModelError, match="structure 'bar' is needed by body 'link'"):
        d.delete("structure", "bar")
    d.modify("structure", "bar", {"elements": 8})
    assert d.model().bodies["link"].part.part.nodes.shape == (9, 3)


def test_sections_are_written_as_they_are_told() -> None:
    m = jd.Model("sections")
    kinds = {"a": circle(0.02), "b": rectangle(0.02, 0.01), "c": circle(0.02, 0.01), "d": structures.Section(1e-4, 1e-9, 2e-9, 3e-9)}
    for name, section in kinds.items():
        part = structures.beam((0, 0, 0), (1, 0, 0), section, STEEL, elements=2, name=name)
        m.free(f"float {name}", m.ground, m.flexible_body(name, part, modes=1))
    again = loads_model(dumps_model(m))
    for name, section in kinds.items():
        assert again.bodies[name].part.part.elements[0].sections[0][0] == section
    text = dumps_model(m)
    assert "section = {circle = 0.02}" in text and "section = {rectangle = [0.02, 0.01]}" in text


def test_robotran_files_say_that_bodies_do_not_bend_there(tmp_path: Path) -> None:
    from jourdain.io.mbs_writer import write_mbs

    lost = write_mbs(arm(), tmp_path / "arm.mbs")
    assert "how link bends (written as rigid)" in lost and not any("elasticity" in text for text in lost)


def test_stiffening_is_kept() -> None:
    def model(stiffening: bool) -> jd.Model:
        st, m = jd.structures, jd.Model("kept")
        part = st.beam((0, 0, 0), (1, 0, 0), st.rectangle(0.01, 0.02), st.STEEL, elements=6)
        body = m.flexible_body("beam", part, frame="pinned", modes=2, bending="y", stiffening=stiffening)
        m.revolute("hinge", m.ground, body.node("start"))
        return m

    stiff = model(True)
    again = loads_model(dumps_model(stiff))
    assert np.array_equal(stiff.parameter_set.values(), again.parameter_set.values())
    assert len(stiff.parameter_set) > len(model(False).parameter_set)


def test_numbers_that_were_changed_later_are_refused() -> None:
    for part in (
        structures.beam((0, 0, 0), (1, 0, 0), circle(0.01), STEEL).reduce(2, frame="tangent"),
        structures.ritz_beam(1.0, circle(0.01), STEEL, bending=2),
    ):
        m = jd.Model("changed")
        m.fixed("clamp", m.ground, m.flexible_body("beam", dataclasses.replace(part, mass=2.0 * part.mass)).node("start"))
        with pytest.raises(jd.ModelError, match="body 'beam': its mass is not what its reduction gives"):
            dumps_model(m)
