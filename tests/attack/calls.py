"""Random sequences of calls of the public interface with arguments that hardly fit.

Each call gives something, or an error of the package; a refused call leaves a model as it was; and whatever was asked of a system, its
run gives the same numbers afterwards.
"""

from __future__ import annotations

import copy
import datetime
import fractions
import functools
import inspect
import pathlib
import random
import re
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import jourdain as jd
from jourdain.errors import JourdainError

REFUSED, UNHARMED = "refused", "unharmed"


class Odd:
    """Something that is no argument of anything."""


class Raises:
    """Something that is no number in its own way."""

    def __float__(self) -> float:
        raise ZeroDivisionError("no number")

    def __array__(self, *options: Any, **more: Any) -> Any:
        raise ZeroDivisionError("no array")


@functools.cache
def other() -> tuple[jd.Model, jd.System, jd.Solution]:
    """A model that nothing else has to do with."""
    m = jd.Model("other")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1.0), inertia=(1, 1, 1)), axis="y")
    m.prismatic("slide", m.bodies["bob"], m.body("weight", mass=1.0, inertia=(1, 1, 1)), axis="x")
    s = m.compile()
    return m, s, s.simulate({"hinge": 0.1}, t=0.1)


def oddities() -> list[Any]:
    m, s, sol = other()
    ring: list[Any] = []
    ring.append(ring)
    return [
        None, Odd(), Odd, Raises(), "", "nonsense", "3 mm", "1 kg", "x" * 10_000, "\0", "é\ud800", b"bytes", float("nan"), float("inf"), -1, -0.5, 0, 1,
        2.5, 1e308, -(10**400), True, 1j, 1 + 0j, (1, 2), (0, 0, 0), (1, 0, 0), [], (), {}, {"nope": 1.0}, {"hinge": float("nan")}, {"hinge": "a"}, {5: 5},
        {None: None}, ["nope"], ["hinge", "hinge"], [[1], [1, 2]], ring, {1, 2}, range(3), iter([1.0]), lambda: 0, lambda *a: None, lambda *a: float("nan"),
        lambda *a: 1 / 0, np.zeros((2, 3)), np.zeros(0), np.zeros((0, 3)), np.full(3, np.nan), np.array("a"), np.array([None, 1]), np.array([1j, 2]),
        np.ma.masked_array([1.0, 2.0], [True, False]), np.float32(0.5), np.datetime64("2020-01-01"), datetime.timedelta(1), fractions.Fraction(1, 3),
        pathlib.Path("nowhere/at/all.npz"), jd.symbol("z"), jd.sin, m, m.bodies["bob"], m.joints["hinge"], m.joints["hinge"].position, m.ground, s, s.state(), sol,
        sol.events, jd.box(1, 1, 1), int, ..., NotImplemented, len, jd,
    ]  # fmt: skip


def swing() -> jd.Model:
    m = jd.Model("swing")
    bob = m.body("bob", mass=1.0, com=(0, 0, -m.parameter("l", 0.5, unit="m")), inertia=(0.1, 0.1, 0.1))
    hinge = m.revolute("hinge", m.ground, bob, axis="y", damping=0.1)
    m.force(hinge, m.input("u", 0.0, "N m"))
    bob.frame("tip", (0, 0, -1))
    m.output("angle", hinge.position)
    m.event("low", hinge.position)
    return m


def linkage() -> jd.Model:
    from tests.systems.test_ends import linkage

    return linkage()[0]


def thrown() -> jd.Model:
    m = jd.Model("thrown")
    stone = m.body("stone", mass=1.0, inertia=(0.1, 0.2, 0.3))
    m.free("free", m.ground, stone)
    m.rate(m.state("z"), -m.states["z"].symbol)
    return m


KINDS: dict[str, tuple[Callable[[], jd.Model], dict[str, float], str]] = {
    "swing": (swing, {"hinge": 0.4}, "hinge.angle"), "linkage": (linkage, {"crank": 0.8}, "crank.angle"), "thrown": (thrown, {"free.x": 0.1}, "free.x"),
}  # fmt: skip
FORMULATIONS = ("recursive", "cartesian", "natural", "directors")


@functools.cache
def prepared(kind: str, formulation: str) -> tuple[Any, Any, jd.Solution]:
    make, start, _ = KINDS[kind]
    s = make().compile(formulation=formulation)
    x0 = s.assemble(start)
    return s, x0, s.simulate(x0, 0.1, step=0.01) if formulation == "directors" else s.simulate(x0, 0.1)


#: What programs other than this one would see, what changes a system by right, and what takes its time.
LEFT_OUT = {
    "view", "explore", "to_casadi", "save_movie", "save_picture", "save_page", "save_vtu", "plot", "set_parameters", "symbolic", "symbolic_linearisation", "symbolic_linearization", "places",
    "told", "optimal_control", "identify", "identify_inertia", "stream", "time_per_evaluation", "excitation", "save", "equations", "function", "to_xarray",
}  # fmt: skip


def verbs(owner: Any) -> list[str]:
    return [
        n for n in dir(type(owner)) if not n.startswith("_") and n not in LEFT_OUT and inspect.isfunction(getattr(type(owner), n, None))
    ]


def argument(rng: random.Random, fits: dict[str, Any], name: str) -> Any:
    if name in fits and rng.random() < 0.6:
        return fits[name]
    return rng.choice(oddities()) if rng.random() < 0.7 else rng.choice(list(fits.values()))


def call_of(
    rng: random.Random, function: Callable[..., Any], value: Callable[[inspect.Parameter], Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a call: those that it needs, some others, now and then one too many or of no parameter."""
    args: list[Any] = []
    given: dict[str, Any] = {}
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            args += [value(p) for _ in range(rng.randrange(3))]
        elif p.kind is p.VAR_KEYWORD:
            given |= {rng.choice(["nope", "color", "l", "name"]): value(p)} if rng.random() < 0.1 else {}
        elif p.default is p.empty or rng.random() < 0.2:
            if p.kind is p.KEYWORD_ONLY or given or p.default is not p.empty:
                given[p.name] = value(p)
            else:
                args.append(value(p))
    if rng.random() < 0.02:
        args.append(None)
    return args, given


def place(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {pathlib.Path(last.filename).name}:{last.lineno}: {str(error)[:120]}"


def told(x: Any) -> str:
    try:
        return re.sub(r"\s+", " ", repr(x))[:60]
    except Exception:
        return type(x).__name__


def tried(rng: random.Random, owner: Any, verb: str, fits: dict[str, Any]) -> Any:
    """What a call gives; None where it is refused in words."""
    from tests.attack.attacks import Fault

    args, given = call_of(rng, getattr(owner, verb), lambda p: argument(rng, fits, p.name))
    try:
        return getattr(owner, verb)(*args, **given)
    except JourdainError:
        return None
    except BaseException as error:
        words = ", ".join([*map(told, args), *(f"{n}={told(x)}" for n, x in given.items())])
        raise Fault(f"{type(owner).__name__}.{verb}({words}): {error if isinstance(error, Fault) else place(error)}") from error


def systems(rng: random.Random) -> str:
    """Calls of a system, of its runs and states."""
    from tests.attack.attacks import Fault

    kind, formulation = rng.choice(list(KINDS)), rng.choice(FORMULATIONS)
    s, x0, reference = prepared(kind, formulation)
    q = KINDS[kind][2]
    n = len(np.atleast_1d(x0.q))
    fits = {
        "x0": x0, "state": x0, "start": x0, "t": 0.05, "t0": 0.0, "t1": 0.05, "q": x0.q.copy(), "v": x0.v.copy(), "a": np.zeros(n), "tau": np.zeros(n), "times": [0.0, 0.05],
        "step": 0.01, "outputs": 5, "method": rng.choice(["rk4", "dopri5", "radau", "adams"]), "rtol": 1e-5, "atol": 1e-8, "solution": reference, "run": reference,
        "values": [0.4, 0.5], "parameters": {"l": [0.4, 0.5]}, "frequencies": [1.0, 2.0], "input": "u", "output": q, "name": q, "names": [q], "fixed": {q: 0.1},
        "guess": {q: 0.1}, "velocities": {}, "motion": {q: lambda t: 0.1 * t}, "span": (0.4, 0.6), "parameter": "l", "body": "bob", "inputs": {"u": 0.1},
    }  # fmt: skip
    owners = [s, s, s, reference, x0]
    any_taken = False
    for _ in range(4):
        owner = rng.choice(owners)
        found = tried(rng, owner, rng.choice(verbs(owner)), fits)
        any_taken |= found is not None
        if isinstance(found, jd.Solution) and not np.isfinite(found.t).all():
            raise Fault("a run with times that are no numbers")
    again = s.simulate(x0, 0.1, step=0.01) if formulation == "directors" else s.simulate(x0, 0.1)
    if not np.array_equal(again[q], reference[q]):
        raise Fault(f"{kind}, {formulation}: the run has other numbers afterwards")
    return UNHARMED if any_taken else REFUSED


def contents(m: jd.Model) -> str:
    return repr([sorted(getattr(m, n)) if isinstance(getattr(m, n), dict) else len(getattr(m, n)) for n in LISTS])


LISTS = [n for n in ("bodies", "joints", "states", "inputs", "outputs", "events", "links", "loops") if hasattr(jd.Model("x"), n)]


def models(rng: random.Random) -> str:
    """Calls that describe a model; a refused one leaves it as it was, so that it can be made right and given again."""
    from tests.attack.attacks import Fault

    m = swing()
    hinge, bob = m.joints["hinge"], m.bodies["bob"]
    fits = {
        "name": f"n{rng.randrange(10**6)}", "body": bob, "parent": bob, "a": m.ground, "b": bob, "joint": hinge, "axis": "y", "mass": 1.0, "inertia": (1, 1, 1), "stiffness": 10.0,
        "damping": 1.0, "length": 1.0, "law": lambda x, v, t: -x, "guard": hinge.position, "expression": hinge.position, "signal": hinge.position, "at": (1, 0, 0),
        "frame": bob.at(1, 0, 0), "motion": lambda t: t, "kind": "revolute", "child": m.body("fresh", mass=1.0, inertia=(1, 1, 1)), "rest": 0.0, "value": 1.0, "unit": "m",
    }  # fmt: skip
    left = ("save", "include", "compile", "describe", "adopt_switches", "flexible_body")
    any_taken = False
    for _ in range(4):
        verb = rng.choice([v for v in verbs(m) if v not in left])
        before = contents(m)
        found = tried(rng, m, verb, fits)
        any_taken |= found is not None
        if found is None and contents(m) != before and inspect.signature(getattr(m, verb)).return_annotation not in ("None", None):
            raise Fault(f"refused {verb} left something in the model: {before} {contents(m)}")
    try:
        m.check()
        copy.deepcopy(m)
    except JourdainError:
        return REFUSED
    return UNHARMED if any_taken else REFUSED


def calls(rng: random.Random) -> str:
    """Calls of models, or of systems and what they give."""
    return models(rng) if rng.random() < 0.5 else systems(rng)
