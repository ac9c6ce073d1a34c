"""Every formulation × reduction × kind of input, event, memory, unknown, output, restart and option: the numbers of the default, or a refusal by name.

First with a mechanism of rigid bodies, then with a body that bends, in a loop and in a tree.
"""

from __future__ import annotations

import functools
import pickle
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.results.solution import Solution
from jourdain.solvers import ADAPTIVE

#: Fixed steps of the schemes that have them, and how near these come.
STEP = 1e-3


@dataclass(frozen=True)
class Way:
    """A formulation with its options, options of its runs, and how near its numbers are to those of the default."""

    formulation: str
    compiled: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    near: float = 2e-6

    def __str__(self) -> str:
        words = [self.formulation, *self.compiled.values(), *(x for x in self.run.values() if isinstance(x, str))]
        return " ".join(map(str, words))


FIXED = {"step": STEP}
WAYS = [
    Way("recursive"), Way("recursive", {"reduction": "reduced"}), Way("recursive", {"reduction": "closed"}),
    Way("recursive", {}, {"method": "generalized-alpha", **FIXED}, 2e-4),
    Way("recursive", {}, {"method": "radau"}), Way("recursive", {}, {"method": "rosenbrock2", **FIXED}, 2e-3),
    Way("semi-recursive", {"reduction": "null-space"}, {"method": "radau"}), Way("natural", {}, {"method": "radau"}),
    Way("cartesian", {}, {"method": "generalized-alpha", **FIXED}, 2e-4), Way("cartesian", {}, {"method": "adams"}),
    Way("semi-recursive"), Way("semi-recursive", {"reduction": "range-space"}), Way("semi-recursive", {"reduction": "null-space"}),
    Way("semi-recursive", {"reduction": "augmented-lagrangian"}, FIXED, 2e-4),
    Way("cartesian"), Way("cartesian", {"rotation": "rotation-vector"}), Way("cartesian", {"reduction": "qr"}),
    Way("cartesian", {}, {"stabilisation": "baumgarte"}, 2e-5), Way("cartesian", {}, {"method": "augmented-lagrangian", **FIXED}, 2e-4),
    Way("natural"), Way("directors", {}, FIXED, 2e-4), Way("directors", {"reduction": "bodies"}, FIXED, 2e-4),
    Way("directors", {"reduction": "joints"}, FIXED, 2e-4), Way("directors", {}, {"method": "generalized-alpha", **FIXED}, 2e-4),
]  # fmt: skip


def four_bar(event: str = "", called: bool = False) -> jd.Model:
    """A crank, a coupler and a rocker with a motor on the crank, damping, a spring and a parameter; perhaps with an event or a callback."""
    m = jd.Model("four-bar", gravity=(0, 0, -9.81))
    weight = m.parameter("weight", 1.0)
    crank = m.body("crank", mass=weight, com=(0.1, 0, 0), inertia=(0.002, 0.01, 0.01))
    coupler = m.body("coupler", mass=1.5, com=(0.25, 0, 0), inertia=(0.002, 0.05, 0.05))
    rocker = m.body("rocker", mass=1.2, com=(0.2, 0, 0), inertia=(0.002, 0.03, 0.03))
    hinge = m.revolute("crank", m.ground, crank, axis="-y", damping=0.05)
    m.revolute("coupler", crank.at(0.2, 0, 0), coupler, axis="-y")
    m.revolute("rocker", m.ground.at(0.5, 0, 0), rocker, axis="-y")
    m.revolute("closing", coupler.at(0.5, 0, 0), rocker.at(0.4, 0, 0), axis="-y")
    motor = m.callback("motor", lambda angle: -2.0 * angle, [hinge.position]) if called else m.input("motor", 0.5)
    m.force(hinge, motor)
    m.sensor("coupler", coupler.at(0.25, 0, 0))
    if event == "terminal":
        m.event("limit", hinge.position - 0.9, terminal=True)
    elif event == "acceleration":
        m.event("limit", hinge.acceleration + 20.0, terminal=True)
    elif event == "recorded":
        m.event("limit", hinge.position - 0.9)
    elif event == "jump":
        m.event("brake", hinge.position - 0.9, direction=1, jump={"crank.angle_rate": 0.5 * hinge.velocity})
    elif event.endswith("jump of a rate"):  # the guard stays next to its zero
        m.event("notch", hinge.velocity - 2.0, direction=-1, jump={hinge.velocity: hinge.velocity - (1e-3 if "small" in event else 0.0)})
    elif event.startswith("memory"):
        top = m.memory("top", 0.85, lambda top: jd.maximum(top, hinge.position), unit="rad")
        m.force(hinge, jd.where(hinge.position < top, 40.0 * (top - hinge.position), 0.0), name="ratchet")
        m.event("turn", hinge.velocity, direction=-1)  # the largest angle is that at the end of a step
        if event == "memory set":
            m.event("slip", hinge.position - 1.0, direction=1, jump={top: top + 0.1})
    elif event.endswith("unknown"):
        cubic = 0.0 if event.startswith("linear") else 0.4
        drag = m.unknown("drag", 0.0, unit="N m")
        share = m.unknown("share", 0.0, lambda share: 3.0 * share - drag + 0.1 * motor)
        m.equation(drag, drag + cubic * drag**3 + share - 0.8 * hinge.velocity)
        m.force(hinge, -drag, name="drag")
    return m


def start(s: jd.System) -> Any:
    return s.assemble({"crank.angle": 0.8}, guess={"coupler.angle": -0.5, "rocker.angle": 1.8}, velocities={"crank.angle_rate": 3.0})


@functools.cache
def compiled(way: Way | None, event: str = "", called: bool = False) -> jd.System:
    model = four_bar(event, called)
    return model.compile() if way is None else model.compile(formulation=way.formulation, **way.compiled)


Way.__hash__ = lambda self: hash(str(self))  # type: ignore[method-assign,assignment]


# -- cases: a run of a system with some options ------------------------------------------------------------------------


def plain(s: jd.System, **run: Any) -> Solution:
    return s.simulate(start(s), 0.3, **run)


def with_inputs(given: Callable[[], Any]) -> Callable[..., Solution]:
    return lambda s, **run: s.simulate(start(s), 0.3, inputs={"motor": given()}, **run)


def by_expression(s: jd.System, **run: Any) -> Solution:
    """A sampled law of a velocity and of what an accelerometer reads."""
    hinge, coupler = s.model.joints["crank"], s.model.sensors["coupler"]
    law = -0.3 * hinge.velocity + 0.02 * coupler.acceleration[2]
    return s.simulate(start(s), 0.3, inputs={"motor": jd.Controller(law, 0.05)}, **run)


def with_options(**options: Any) -> Callable[..., Solution]:
    return lambda s, **run: s.simulate(start(s), 0.3, **{**run, **options})


def restarted(s: jd.System, **run: Any) -> Solution:
    return s.simulate(s.simulate(start(s), 0.1, **run), (0.1, 0.3), **run)


def from_memory(s: jd.System, **run: Any) -> Solution:
    return s.simulate(start(s).with_values(memory={"top": 0.95}), 0.3, **run)


def other_parameters(s: jd.System, **run: Any) -> Solution:
    return s.simulate(start(s), 0.3, parameters=np.where(np.array(s.model.parameter_set.names) == "weight", 2.0, s.parameter_vector), **run)


def changed_parameters(s: jd.System, **run: Any) -> Solution:
    own = s.copy()
    own.set_parameters(weight=2.0)
    return own.simulate(start(own), 0.3, **run)


CASES: dict[str, tuple[Callable[..., Solution], str, bool]] = {
    "plain": (plain, "", False),
    "number": (with_inputs(lambda: 1.0), "", False),
    "signal": (with_inputs(lambda: lambda t: 2.0 * jd.sin(20.0 * t)), "", False),
    "table": (with_inputs(lambda: ([0.0, 0.1, 0.3], [0.0, 2.0, 1.0])), "", False),
    "controller": (with_inputs(lambda: jd.Controller(lambda x: -0.3 * x["crank.angle_rate"], 0.05)), "", False),
    "controller by an expression": (by_expression, "", False),
    "callback": (plain, "", True),
    "terminal event": (plain, "terminal", False),
    "acceleration event": (plain, "acceleration", False),
    "recorded event": (plain, "recorded", False),
    "jump": (plain, "jump", False),
    "small jump of a rate": (plain, "small jump of a rate", False),
    "no jump of a rate": (plain, "no jump of a rate", False),
    "memory": (plain, "memory", False),
    "memory set by an event": (plain, "memory set", False),
    "memory in a restart": (restarted, "memory", False),
    "memory given": (from_memory, "memory", False),
    "unknown": (plain, "unknown", False),
    "unknown in a restart": (restarted, "unknown", False),
    "unknown that reads a signal": (with_inputs(lambda: lambda t: 2.0 * jd.sin(20.0 * t)), "unknown", False),
    "linear unknown": (plain, "linear unknown", False),
    "times": (with_options(times=[0.0, 0.05, 0.1, 0.3]), "", False),
    "outputs": (with_options(outputs=4), "", False),
    "restart": (restarted, "", False),
    "parameters": (other_parameters, "", False),
    "set_parameters": (changed_parameters, "", False),
    "max_step": (with_options(max_step=0.01), "", False),
    "tolerances": (with_options(rtol=1e-9, atol=1e-11), "", False),
    "no interpolant": (with_options(dense=False), "", False),
}  # fmt: skip

#: What a way cannot do and refuses.
REFUSED = {
    "callback": ("recursive generalized-alpha", "cartesian generalized-alpha", "augmented-lagrangian", "directors joints"),
    "signal": ("augmented-lagrangian",), "table": ("augmented-lagrangian",), **dict.fromkeys(("controller", "controller by an expression"), ("augmented-lagrangian",)),
    "terminal event": ("augmented-lagrangian",), "recorded event": ("augmented-lagrangian",),
    **dict.fromkeys(("jump", "small jump of a rate", "no jump of a rate"), ("augmented-lagrangian",)),
    "acceleration event": ("augmented-lagrangian", "directors"),
    "max_step": ("augmented-lagrangian", "directors"), "tolerances": ("augmented-lagrangian", "directors"),
    "no interpolant": ("augmented-lagrangian", "directors"),
    **dict.fromkeys(("unknown", "unknown in a restart", "unknown that reads a signal"), ("augmented-lagrangian", "directors")),
    **dict.fromkeys(("memory", "memory set by an event", "memory in a restart", "memory given"), ("augmented-lagrangian",)),
}  # fmt: skip


def refused(way: Way, case: str) -> bool:
    return any(word in str(way) for word in REFUSED.get(case, ()))


@functools.cache
def expected(case: str) -> Solution:
    run, event, called = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return run(compiled(None, event, called), **({} if case == "tolerances" else {"rtol": 1e-9, "atol": 1e-11}))


@pytest.mark.filterwarnings("ignore:model 'four-bar'")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_same_numbers_or_a_refusal(way: Way, case: str) -> None:
    run, event, called = CASES[case]
    system = compiled(way, event, called)
    if refused(way, case):
        with pytest.raises(InputError) as told:
            run(system, **way.run)
        assert len(str(told.value)) > 30, "a refusal says what can be done instead"
        return
    found, exact = run(system, **way.run), expected(case)
    if "event" in case or "jump" in case:
        assert found.statistics["events"] == exact.statistics["events"] > 0
    near = way.near if (str(way), case) != ("directors generalized-alpha", "callback") else 1e-2  # of first order: values of mid-steps
    assert found.metadata["status"] == exact.metadata["status"]
    assert found.t[-1] == pytest.approx(exact.t[-1], abs=10 * near)
    sides = {"crank.angle": 1.0, "crank.angle_rate": 10.0, "rocker.angle": 1.0, "motor": 10.0, "energy.supplied": 3.0, "energy.total": 3.0}
    for name, scale in sides.items():
        assert found[name][-1] == pytest.approx(exact[name][-1], abs=scale * near), name
    if event.endswith("unknown"):
        for name in ("drag", "share"):
            assert found[name][-1] == pytest.approx(exact[name][-1], abs=10 * near)
        given = found["motor"][-1]
        drag, share = found["drag"][-1], found["share"][-1]
        assert 3.0 * share - drag + 0.1 * given == pytest.approx(0.0, abs=1e-13)
    if event.startswith("memory"):
        assert found["top"][-1] == pytest.approx(exact["top"][-1], abs=near)
        assert found["top"].max() > 0.87, "it was renewed"
    # multipliers and reactions follow from inputs, too
    scale = 300.0 * near
    assert found["coupler.reaction"][-1] == pytest.approx(exact["coupler.reaction"][-1], abs=max(scale, 1e-3))
    assert found["crank.reaction_torque"][-1] == pytest.approx(exact["crank.reaction_torque"][-1], abs=max(scale, 1e-3))
    if case in ("times", "outputs"):
        assert found.t == pytest.approx(exact.t, abs=1e-12)
        assert found["crank.angle"] == pytest.approx(exact["crank.angle"], abs=2 * near)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(
    ("verb", "arguments"),
    [("simulate", ({}, 0.1)), ("equilibrium", ()), ("linearise", ()), ("modal", ()), ("kinematics", ([0.0],)), ("static_forces", ()),
     ("inverse_dynamics_along", ({},)), ("mobility", ()), ("equilibria", ("weight", (1.0, 2.0)))],
)  # fmt: skip
def test_unknown_options_are_refused_with_those_there_are(way: Way, verb: str, arguments: tuple[Any, ...]) -> None:
    system = compiled(way)
    with pytest.raises(InputError, match=rf"{verb} 'four-bar': there is no option 'tolerence'; .*there are .*"):
        getattr(system, verb)(*arguments, tolerence=1e-3)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_method_that_is_listed_runs_or_names_the_remedy(way: Way) -> None:
    system = compiled(way)
    with pytest.raises(InputError) as told:
        system.simulate(start(system), 0.01, method="rk45")
    turns = ["auto"] if {"dopri5", "radau"} <= set(system.methods) else []
    assert str(told.value).partition("choose one of ")[2].split(", ") == [*turns, *system.methods]
    for method in system.methods:
        fixed = {} if method in ADAPTIVE else FIXED
        try:
            sol = system.simulate(start(system), 0.01, method=method, **fixed)
        except InputError as error:
            assert re.search("reduction='projected'|rotation='euler-parameters'", str(error)), error
        else:
            assert sol.metadata["method"] == method and sol.t[-1] == 0.01


#: Options of some runs only, with a value.
PARTICULAR = {
    "rho": 0.5, "penalty": 1e4, "stabilisation": "none", "adaptive": True, "every": 2, "projection": False, "independent": ["crank.angle"],
    "criterion": "projective", "repartition": False, "linear_solver": "own", "elements": {}, "tolerance": 1e-10, "max_iterations": 10,
    "dense": True, "max_step": 0.1, "max_steps": 10_000, "alpha": 10.0, "gamma": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("option", PARTICULAR)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_an_option_acts_or_is_refused(way: Way, option: str) -> None:
    system = compiled(way)
    try:
        sol = system.simulate(start(system), 0.02, **{**way.run, option: PARTICULAR[option]})
    except InputError as error:
        assert option in str(error) or "stabilisation" in str(error) or "scheme" in str(error) or "method" in str(error), str(error)
    else:
        assert sol.metadata["status"] == "finished"


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_step_ends_where_something_watched_is_zero_or_that_is_refused(way: Way) -> None:
    system = compiled(way)
    watched = {"watch": [system.model.joints["crank"].position - 0.9]}
    try:
        sol = system.simulate(start(system), 0.1, **way.run, **watched)
    except InputError as error:
        assert "watch" in str(error)
        return
    assert np.abs(sol["crank.angle"] - 0.9).min() < 1e-9
    assert sol["crank.angle"][-1] == pytest.approx(
        plain(system, **{**way.run, "times": [0.0, 0.1, 0.3]})["crank.angle"][1], abs=2 * way.near
    )


@pytest.mark.parametrize("way", list({(w.formulation, *w.compiled.values()): w for w in WAYS}.values()), ids=str)
def test_a_pickled_system_derives_what_was_not_asked_before(way: Way) -> None:
    system = four_bar().compile(formulation=way.formulation, **way.compiled)
    other = pickle.loads(pickle.dumps(system))
    assert type(other) is type(system) and other.describe() == system.describe()
    x, y = start(system), start(other)
    assert other.accelerations(y) == pytest.approx(system.accelerations(x), abs=1e-12)
    found, exact = (s.simulate(start(s), 0.05, **way.run) for s in (other, system))
    assert np.array_equal(found["crank.angle"], exact["crank.angle"])
    assert found["coupler.reaction"] == pytest.approx(exact["coupler.reaction"], abs=1e-12)


@pytest.mark.parametrize("event", ["memory", "unknown", "linear unknown"])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_answers_at_an_instant_with_memories_and_unknowns(way: Way, event: str) -> None:
    s, reference = compiled(way, event), compiled(None, event)
    x = start(s).with_values(memory={"top": 1.1} if event == "memory" else {})
    other = start(reference)
    np.testing.assert_allclose(s.accelerations(x), reference.accelerations(x), atol=1e-8)
    assert event != "memory" or not np.allclose(reference.accelerations(x), reference.accelerations(other), atol=1e-2)
    np.testing.assert_allclose(s.reactions(x)["coupler"][0], reference.reactions(x)["coupler"][0], atol=1e-7)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_answers_at_an_instant_take_inputs(way: Way) -> None:
    s, reference = compiled(way), compiled(None)
    x = start(s)
    for motor in (0.0, 2.0):
        u = {"motor": motor}
        np.testing.assert_allclose(s.accelerations(x, u), reference.accelerations(x, u), atol=1e-8)
        for name in ("crank", "coupler", "closing"):
            np.testing.assert_allclose(s.reactions(x, u)[name][0], reference.reactions(x, u)[name][0], atol=1e-7)
    assert s.mass_matrix(x.q) == pytest.approx(reference.mass_matrix(x.q), abs=1e-12)
    assert s.energy(x.q, x.v) == pytest.approx(reference.energy(x.q, x.v), abs=1e-12)
    assert set(s.multipliers(x)) == set(s.constraints)
    assert isinstance(s, jd.System) and s.dof(x) == 1


# -- a body that bends -------------------------------------------------------------------------------------------------

#: What knows rigid bodies only.
RIGID_ONLY = ("natural", "directors")
#: Fixed steps that resolve the second mode, and how much nearer they are than ``STEP``.
SHORT, NEARER = STEP / 8, 0.1
#: Methods of order one.
FIRST_ORDER = ("euler", "linearly-implicit-euler", "semi-implicit-euler", "newmark")


def bending(shape: str, event: bool) -> jd.Model:
    """A four-bar with a coupler that bends ("loop"), or crank and coupler alone with a weight at the tip ("tree"); perhaps with a brake."""
    st = jd.structures
    m = jd.Model("bending", gravity=(0, 0, -9.81))
    crank = m.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(0.002, 0.01, 0.01))
    bar = st.beam((0, 0, 0), (0.5, 0, 0), st.rectangle(0.02, 0.004), st.Material(70e9, 0.3, 2700.0), elements=4)
    coupler: Any = m.flexible_body("coupler", bar, modes=2, frame="pinned", bending="z", damping=0.05)
    hinge = m.revolute("crank", m.ground, crank, axis="-y", damping=0.05)
    m.revolute("coupler", crank.at(0.2, 0, 0), coupler.node("start"), axis="-y")
    if shape == "loop":
        rocker = m.body("rocker", mass=1.2, com=(0.2, 0, 0), inertia=(0.002, 0.03, 0.03))
        m.revolute("rocker", m.ground.at(0.5, 0, 0), rocker, axis="-y")
        m.revolute("closing", coupler.node("end"), rocker.at(0.4, 0, 0), axis="-y")
    else:
        m.fixed("grip", coupler.node("end"), m.body("weight", mass=0.3, inertia=(1e-3,) * 3))
    m.force(hinge, m.input("motor", 0.5))
    if event:
        m.event("brake", hinge.position - 0.9, direction=1, jump={"crank.angle_rate": 0.5 * hinge.velocity})
    return m


@functools.cache
def bending_system(formulation: str, reduction: tuple[tuple[str, Any], ...], shape: str, event: bool) -> jd.System:
    return bending(shape, event).compile(formulation=formulation, **dict(reduction))


def bending_way(way: Way, shape: str, event: bool) -> jd.System:
    return bending_system(way.formulation, tuple(way.compiled.items()), shape, event)


def bent(s: jd.System) -> Any:
    """A start with both modes excited, its loop closed."""
    free = {"crank.angle": 0.8, "coupler.mode1": 1e-3, "coupler.mode2": -1e-4}
    rates = {"crank.angle_rate": 3.0, "coupler.mode1_rate": 0.05, "coupler.mode2_rate": 0.02}
    if "closing" not in s.model.joints:
        return s.state({**free, "coupler.angle": -0.5}, rates)
    return s.assemble(free, guess={"coupler.angle": -0.5, "rocker.angle": 1.8}, velocities=rates)


def oscillating() -> dict[str, Any]:
    return {"inputs": {"motor": lambda t: 2.0 * jd.sin(20.0 * t)}}


#: Cases of a body that bends: a run, and whether the model has the event.
BENDING: dict[str, tuple[Callable[..., Solution], bool]] = {
    "plain": (lambda s, **run: s.simulate(bent(s), 0.1, **run), False),
    "restart": (lambda s, **run: s.simulate(s.simulate(bent(s), 0.03, **run), (0.03, 0.1), **run), False),
    "signal and jump": (lambda s, **run: s.simulate(bent(s), 0.1, **oscillating(), **run), True),
    "signal, jump and restart": (
        lambda s, **run: s.simulate(s.simulate(bent(s), 0.02, **oscillating(), **run), (0.02, 0.1), **oscillating(), **run), True
    ),
}  # fmt: skip


@functools.cache
def bending_expected(shape: str, case: str) -> Solution:
    run, event = BENDING[case]
    return run(bending_system("recursive", (), shape, event), rtol=1e-10, atol=1e-13)


def agree_bending(found: Solution, shape: str, case: str, near: float) -> None:
    """Angles, rates, amplitudes, energy and reactions at the end; amplitudes are below 3 mm, reactions some 10 N."""
    exact = bending_expected(shape, case)
    assert found.metadata["status"] == exact.metadata["status"] == "finished"
    assert found.statistics.get("events", 0) == exact.statistics["events"] == ("jump" in case)
    sides = {"crank.angle": 1.0, "crank.angle_rate": 20.0, "coupler.angle": 1.0, "coupler.mode1": 0.2, "coupler.mode1_rate": 40.0,
             "coupler.mode2": 0.1, "energy.supplied": 3.0, "energy.total": 3.0, "coupler.reaction": 2000.0}  # fmt: skip
    for name, scale in sides.items():
        np.testing.assert_allclose(found[name][-1], exact[name][-1], rtol=0, atol=scale * near, err_msg=name)


def refused_bending(way: Way, shape: str, case: str) -> bool:
    no_loops = shape == "tree" and way.compiled.get("reduction") in ("reduced", "closed")
    return no_loops or ("signal" in case and "augmented-lagrangian" in str(way) and (shape == "loop" or "method" in way.run))


@pytest.mark.parametrize("case", BENDING)
@pytest.mark.parametrize("shape", ["loop", "tree"])
@pytest.mark.parametrize("way", [way for way in WAYS if way.formulation not in RIGID_ONLY], ids=str)
def test_bodies_that_bend_give_the_same_numbers_or_a_refusal(way: Way, shape: str, case: str) -> None:
    run, event = BENDING[case]
    options = {**way.run, **({"step": SHORT} if "step" in way.run else {})}
    system = bending_way(way, shape, event)
    if refused_bending(way, shape, case):
        with pytest.raises(InputError, match=r"simulate 'bending': .*use "):
            run(system, **options)
        return
    agree_bending(run(system, **options), shape, case, way.near * (NEARER if "step" in way.run else 1.0))


@pytest.mark.parametrize("way", [way for way in WAYS if way.formulation in RIGID_ONLY], ids=str)
def test_what_knows_rigid_bodies_only_says_so(way: Way) -> None:
    told = {
        "natural": "formulation 'natural' knows rigid bodies only, but 'coupler' of 'bending' is flexible; use",
        "directors": "flexible body 'coupler': damping of modes has no counterpart in nonlinear elements; leave it out, or use another formulation",
    }
    with pytest.raises(InputError, match=told[way.formulation]):
        bending("loop", event=False).compile(formulation=way.formulation, **way.compiled)


#: A formulation with its options, once.
COMPILED = {(way.formulation, *way.compiled.values()): way for way in WAYS if way.formulation not in RIGID_ONLY}


@pytest.mark.parametrize("shape", ["loop", "tree"])
@pytest.mark.parametrize("way", COMPILED.values(), ids=lambda way: " ".join((way.formulation, *way.compiled.values())))
def test_bodies_that_bend_in_every_method(way: Way, shape: str) -> None:
    system = bending_way(way, shape, False)
    for method in system.methods:
        fixed = {} if method in ADAPTIVE else {"step": SHORT}
        try:
            sol = system.simulate(bent(system), 0.1, method=method, **fixed)
        except InputError as error:
            assert re.search("reduction='projected'|rotation='euler-parameters'", str(error)), error
        else:
            assert sol.metadata["method"] == method
            agree_bending(sol, shape, "plain", 2e-3 if method in FIRST_ORDER else 2e-5 if fixed else 2e-6)


@pytest.mark.parametrize("shape", ["loop", "tree"])
@pytest.mark.parametrize("way", COMPILED.values(), ids=lambda way: " ".join((way.formulation, *way.compiled.values())))
def test_bodies_that_bend_answer_at_an_instant(way: Way, shape: str) -> None:
    s, reference = bending_way(way, shape, False), bending_system("recursive", (), shape, False)
    x, u = bent(s), {"motor": 2.0}
    np.testing.assert_allclose(s.accelerations(x, u), reference.accelerations(x, u), rtol=1e-10, atol=1e-8)
    for name, (force, torque) in reference.reactions(x, u).items():
        np.testing.assert_allclose(s.reactions(x, u)[name][0], force, rtol=1e-10, atol=1e-8)
        np.testing.assert_allclose(s.reactions(x, u)[name][1], torque, rtol=1e-10, atol=1e-8)
    assert s.dof(x) == (3 if shape == "loop" else 4)
