"""The public interface with wrong arguments: what does not fit is told in words, and no bare error comes out of the package's depths."""

from __future__ import annotations

import inspect
import pickle
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.cli import main
from jourdain.told import is_told


class Odd:
    """Something that is no argument of anything."""


#: Values that hardly fit anywhere.
WRONG: dict[str, Any] = {
    "none": None, "odd": Odd(), "text": "nonsense", "not a number": float("nan"), "pair": (1, 2), "dictionary": {"nope": 1.0}, "names": ["nope"],
    "function": lambda: 0, "array": np.zeros((2, 3)),
}  # fmt: skip
#: Methods of models that read, write or need more than an arm has.
OTHERS = {
    "adopt_switches", "check", "compile", "contact", "describe", "flexible_body", "include", "mass_faults", "phase", "piezo_patch", "released_at_start",
    "save", "shapes",
}  # fmt: skip


def arm() -> jd.Model:
    m = jd.Model("arm")
    a, b, c = (m.body(n, mass=1.0, inertia=(0.1, 0.1, 0.1)) for n in "abc")
    hip = m.revolute("hip", m.ground, a, axis="y", limits=(-1, 1))
    m.prismatic("slide", a, b, axis="x")
    m.revolute("wrist", b, c, axis="y")
    a.frame("tip", (1, 0, 0))
    m.parameter("l", 0.5, unit="m")
    m.force(hip, m.input("u", 0.0, "N m"))
    z = m.state("z")
    m.rate(z, -z)
    m.memory("worn", update=lambda x: x)
    m.unknown("current", equation=lambda i: i - 1.0)
    m.output("angle", hip.position)
    return m


def right(m: jd.Model, method: str, name: str) -> Any:
    """An argument that fits, by the name of its parameter."""
    hip, slide = m.joints["hip"], m.joints["slide"]
    if name == "child":
        return m.body("fresh", mass=1.0, inertia=(1, 1, 1))
    if name in ("link", "held"):
        spring = m.spring("spring", m.bodies["a"], m.bodies["c"].at(1, 1, 1), stiffness=1.0, length=1.0)
        return spring if name == "link" else m.close("closing", m.bodies["c"], m.ground)
    of_one = {
        "bushing": {"stiffness": (1.0,) * 6}, "gear": {"a": hip, "b": slide}, "rate": {"state": m.states["z"].symbol}, "callback": {"function": lambda x: x},
        "update": {"memory": m.inputs["worn"].symbol}, "equation": {"unknown": m.inputs["current"].symbol}, "joint": {"kind": "revolute"},
        "point_on_curve": {"parameter": slide},
    }  # fmt: skip
    of_all = {
        "name": "new", "frame": m.bodies["a"].at(1, 0, 0), "body": m.bodies["a"], "a": m.bodies["a"], "b": m.bodies["b"], "parent": m.bodies["c"],
        "joint": hip, "pinion": hip, "angle": hip, "rack": slide, "displacement": slide, "path": "a.tip", "arguments": [hip.position], "sequence": ["Rx"],
        "motion": lambda t: t, "law": lambda x, v, t: -x, "curve": lambda s: (s, 0, 0), "surface": lambda x, y, z: z,
        "expression": hip.position, "guard": hip.position, "signal": hip.position,
    }  # fmt: skip
    return of_one.get(method, {}).get(name, of_all.get(name, 1.0))


def bare(call: Callable[[], Any]) -> str | None:
    """The error of a call that is not one of the package's, and where it comes from."""
    try:
        call()
    except jd.JourdainError:
        return None
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {error}"
    return None


def called(owner: Any, name: str, wrong: str, value: Any, fitting: Callable[[str], Any]) -> Any:
    """A method called with what it needs, and one argument wrong."""
    args: list[Any] = []
    given: dict[str, Any] = {}
    for p in inspect.signature(getattr(owner, name)).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            args += [value] if p.name == wrong else [fitting("frame"), fitting("b")]
        elif p.name == wrong or (p.default is p.empty and p.kind is not p.VAR_KEYWORD):
            argument = value if p.name == wrong else fitting(p.name)
            if p.kind is p.KEYWORD_ONLY or p.default is not p.empty:
                given[p.name] = argument
            else:
                args.append(argument)
    return getattr(owner, name)(*args, **given)


def faults_of(make: Callable[[], Any], name: str, fitting: Callable[[Any, str], Any]) -> list[str]:
    """Bare errors of a method of what is made anew for each call."""
    found = []
    for p in inspect.signature(getattr(make(), name)).parameters.values():
        for label, value in WRONG.items() if p.kind not in (p.VAR_KEYWORD, p.POSITIONAL_ONLY) else ():
            owner = make()
            fault = bare(lambda o=owner, p=p, v=value: called(o, name, p.name, v, lambda n: fitting(o, n)))  # type: ignore[misc]
            found += [] if fault is None else [f"{name}({p.name}={label}): {fault}"]
    return found


@pytest.mark.parametrize(
    "name", [n for n in dir(jd.Model) if not n.startswith("_") and inspect.isfunction(getattr(jd.Model, n)) and n not in OTHERS]
)
def test_models(name: str) -> None:
    fits = arm()
    if name not in ("encoder", "material", "release", "rope"):  # these need more than their arguments without defaults
        called(fits, name, "", None, lambda n: right(fits, name, n))
    found = faults_of(arm, name, lambda m, n: right(m, name, n))
    assert not found, "\n".join(found)


#: Verbs that take their time, or are those of others.
SLOW = {
    "copy", "evaluation", "excitation", "explore", "identify", "identify_inertia", "optimal_control", "periodic", "places", "run", "stream", "sweep",
    "time_per_evaluation", "to_casadi", "symbolic_linearization", "linearize", "operations", "equations_of_motion",
}  # fmt: skip


@pytest.fixture(scope="module")
def swing() -> tuple[jd.System, jd.Solution]:
    m = jd.Model("swing")
    bob = m.body("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    hinge = m.revolute("hinge", m.ground, bob, axis="y")
    m.force(hinge, m.input("u", 0.0, "N m"))
    m.parameter("l", 0.5)
    bob.frame("tip", (0, 0, -1))
    m.output("angle", hinge.position)
    s = m.compile()
    return s, s.simulate({"hinge": 0.1}, t=0.1)


def fitting(swing: tuple[jd.System, jd.Solution], name: str) -> Any:
    q = np.zeros(1)
    return {
        "q": q, "v": q, "a": q, "tau": q, "x0": {"hinge": 0.1}, "t": 0.1, "motion": {"hinge": lambda t: 0.1 * t}, "times": [0, 0.1], "parameter": "l",
        "values": [0.4, 0.5], "span": (0.4, 0.6), "input": "u", "output": "angle", "frequencies": [1, 2], "targets": {"bob.tip": (0, 0, -1)},
        "fixed": {"hinge": 0.1}, "name": "mass_matrix", "step": 0.01, "run": swing[1], "body": "bob", "solution": swing[1], "other": swing[1],
        "state": swing[0].state({"hinge": 0.1}), "t0": 0.0, "t1": 0.05, "Q": {"hinge.angle": 1.0}, "R": {"u": 1.0},
    }.get(name, "hinge.angle")  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("of", ["system", "solution", "state", "linear system", "modes"])
def test_what_users_hold(of: str, swing: tuple[jd.System, jd.Solution], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    s, sol = swing
    held = {"system": lambda: s, "solution": lambda: sol, "state": s.state, "linear system": s.linearise, "modes": s.modal}[of]()
    names = [n for n in dir(type(held)) if not n.startswith("_") and inspect.isfunction(getattr(type(held), n)) and n not in SLOW]
    pictures = ("view", "plot", "scene", "save", "save_page", "save_picture", "save_movie", "save_vtu")
    found = [fault for n in names if n not in pictures for fault in faults_of(lambda: held, n, lambda _, name: fitting(swing, name))]
    assert not found, "\n".join(found)


PUBLIC = [
    (module, name)
    for module, names in (
        (jd, [n for n in jd.__all__ if n not in ("evaluate", "symbol", "symbols", "table")]), (jd.library, jd.library.__all__),
        (jd.structures, jd.structures.__all__), (jd.contact, jd.contact.__all__), (jd.criteria, jd.criteria.__all__),
    )
    for name in names
]  # fmt: skip


def test_every_public_function_tells_what_does_not_fit() -> None:
    """An argument of no parameter is named with how the function is called; and what is told can be pickled, as studies do."""
    checked = 0
    for module, name in PUBLIC:
        f = getattr(module, name)
        target = f.__init__ if inspect.isclass(f) else f
        if not inspect.isfunction(target) or target.__module__.startswith("jourdain.symbolic") or not is_told(target):
            assert inspect.ismodule(f) or not callable(f) or name in ("Expr",) or f.__module__.startswith("jourdain.symbolic") or (
                inspect.isclass(f) and (issubclass(f, BaseException) or f.__init__ is object.__init__)
            ), name  # fmt: skip
            continue
        if not any(p.kind is p.VAR_KEYWORD for p in inspect.signature(f).parameters.values()):
            with pytest.raises(jd.JourdainError, match=rf"{f.__name__}\(\) .*'no_such_thing'.*; it is called {f.__name__}\("):
                f(no_such_thing=1)
            checked += 1
        assert pickle.loads(pickle.dumps(f)) is f
    assert checked > 150


CALLS: dict[str, tuple[Callable[[jd.System, jd.Solution], Any], str]] = {
    "a box of two lengths": (lambda s, sol: jd.box(1, 2), r"box\(\) missing 1 required positional argument: 'lz'; it is called box\(lx, ly, lz, density="),  # type: ignore[call-arg]
    "a model's unknown argument": (lambda s, sol: jd.library.pendulum(lenght=1), r"'lenght'; did you mean 'length'\?; it is called pendulum\(mass=, length="),  # type: ignore[call-arg]
    "a stepper of nothing": (lambda s, sol: s.stepper(), r"stepper 'swing': stepper\(\) missing 2 required positional arguments: 'x0' and 'step'"),  # type: ignore[call-arg]
    "no such channel at the end": (lambda s, sol: sol.final["xyzzy"], "channel 'xyzzy' is not in the solution; known are"),
    "a near channel at the end": (lambda s, sol: sol.final["hinge.angel"], "did you mean 'hinge.angle'"),
    "a centre without a mass": (lambda s, sol: jd.Model("m").body("b", com=(0, 0, 1)), "body 'b': com= is where mass= is, which is not given"),
    "a state for q": (lambda s, sol: s.mass_matrix(s.state()), r"input 'q': an array of numbers is needed, got a State; its arrays are \.q and \.v"),
    "a rate for a guess": (lambda s, sol: s.assemble(guess={"hinge.angle_rate": 1.0}), r"'hinge.angle_rate' is a velocity, and a position is asked for here; give it among velocities="),
    "one stiffness of a bushing": (lambda s, sol: jd.Model("m").bushing("b", jd.Model("m").ground, jd.Model("m").ground, 1.0), r"bushing\(\): stiffness = 1.0 is no list"),  # type: ignore[arg-type]
    "a joint's name": (lambda s, sol: s.model.stop("hinge"), r"stop\(\): joint = 'hinge' is no Joint; it is called stop\(joint, lower="),  # type: ignore[arg-type]
    "time of another kind": (lambda s, sol: sol.between("1 kg", "2 s"), "'kg' is a unit of mass, 's' of time"),
    "an odd event": (lambda s, sol: sol.events[None], "events: None is neither a name nor a number"),  # type: ignore[call-overload]
    "a continuation of nothing": (lambda s, sol: s.equilibrium({"hinge": 3.0}, continuation=[], iterations=1), r"continuation = \[\] must be a parameter"),  # type: ignore[arg-type]
    "a list for x0": (lambda s, sol: s.kinematics([0, 0.1], {"hinge": lambda t: t}, x0=[0.4]), r"x0 = \[0.4\] must be values by name"),  # type: ignore[arg-type]
    "a negative seed": (lambda s, sol: s.assembly_modes({"hinge": 0.1}, seed=-1), "seed = -1 must be a whole number from 0 on"),
    "a state of another name": (lambda s, sol: s.state().with_values(name=1.0), "a state has no 'name'; it has .*q, v"),
    "an option of modes": (lambda s, sol: s.assembly_modes({"hinge": 0.1}, nope=1), "nope"),  # type: ignore[call-arg]
    "a huge time": (lambda s, sol: sol.between(-(10**400), 0.05), "is not a number of seconds"),
    "a time that is a symbol": (lambda s, sol: sol.between(0.0, jd.symbol("x")), "is not a number of seconds"),  # type: ignore[arg-type]
    "fewer than no samples": (lambda s, sol: sol.resample(-1), "-1 samples are too few"),
    "no samples": (lambda s, sol: sol.resample([]), "must be a row of times"),
    "a run for times": (lambda s, sol: sol.resample(sol), "resample: times = .* are no real numbers"),  # type: ignore[arg-type]
    "a side that is none": (lambda s, sol: sol.at(0.05, np.array([1, 2])), "is neither 'left'"),  # type: ignore[arg-type]
    "a sample that is none": (lambda s, sol: sol.final_state(10**400), "no sample .*; there are"),
    "actuators without names": (lambda s, sol: s.static_forces(actuators=[1]), "actuators hold 1; give names"),  # type: ignore[list-item]
    "a huge period": (lambda s, sol: s.periodic(period=-(10**400)), "must be a positive number of seconds"),
    "a text for a state": (lambda s, sol: s.modal("nonsense"), "nonsense"), "numbers for a state": (lambda s, sol: s.linearise([0.4, 0.5]), r"0\.4, 0\.5"),
    "a joint for a state": (lambda s, sol: s.velocity_transformation(s.model.joints["hinge"]), "hinge"),
    "a span of three": (lambda s, sol: s.equilibria("u", (1, 2, 3)), r"span = \(1, 2, 3\) must be a pair"),  # type: ignore[arg-type]
    "plots of numbers": (lambda s, sol: sol.scene(plots={1, 2}), "plots hold .*; give names of channels"),  # type: ignore[arg-type]
    "outputs that read nothing": (lambda s, sol: s.sweep({}, 0.1, parameters={"l": [1]}, outputs=[None]), "outputs hold None"),  # type: ignore[list-item]
    "one number as outputs": (lambda s, sol: s.sweep({}, 0.1, parameters={"l": [1]}, outputs=0.5), "outputs is a list of names"),  # type: ignore[arg-type]
    "a weight of nothing": (lambda s, sol: s.assemble({}, weights={"hinge": None}), "weight of 'hinge'"),  # type: ignore[dict-item]
    "inputs without names": (lambda s, sol: s.check_inputs([1]), "1 is no name of an input"),  # type: ignore[list-item]
    "a phase of numbers": (lambda s, sol: s.model.phase([1]), "must be names of joints"),  # type: ignore[list-item]
    "pairs of numbers": (lambda s, sol: (m := arm()).contact("c", a=m.ground, exclude=range(3)), "must hold pairs of bodies"),  # type: ignore[arg-type]
    "names for sets": (lambda s, sol: s.sweep({}, 1.0, parameters=["l"]), r"parameters are lists by name, or sets \{name: value\} in a list; 'l' is none"),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_words(case: str, swing: tuple[jd.System, jd.Solution]) -> None:
    call, message = CALLS[case]
    with pytest.raises(jd.JourdainError, match=message):
        call(*swing)


def test_times_with_units(swing: tuple[jd.System, jd.Solution]) -> None:
    sol = swing[1]
    assert sol.at("50 ms")["hinge.angle"] == sol.at(0.05)["hinge.angle"]
    assert np.array_equal(sol.between("20 ms", "50 ms").t, sol.between(0.02, 0.05).t)


def test_a_missing_result_is_told_as_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "missing.npz"]) != 0
    assert "there is no file 'missing.npz'" in capsys.readouterr().err


@pytest.mark.parametrize("formulation", ["cartesian", "natural"])
def test_refused_gradients_name_runs_once(formulation: str) -> None:
    m = jd.Model("drop")
    m.ground.shapes += [jd.plane()]
    m.prismatic("slide", m.ground, m.body("ball", shape=jd.sphere(0.1, density=1000.0)), axis="z")
    m.contact("floor", law=jd.contact.rigid())
    given = {"slide.displacement": 0.2}
    run = jd.Analysis(m.compile(formulation=formulation), "simulate", given, t=0.01, method="moreau", step=1e-3)
    with warnings.catch_warnings(), pytest.raises(jd.JourdainError) as found:
        warnings.simplefilter("ignore")
        run.gradient({"x": jd.criteria.final("slide.displacement")}, ["slide.displacement"])
    assert str(found.value).count(formulation) == 1, found.value
