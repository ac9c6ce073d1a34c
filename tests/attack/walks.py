"""Random walks through the whole public interface: functions, constructors and methods, what they give, and what that has.

Arguments are those that fit by name or by the kind with which a parameter is annotated (of the same system or of another one), or oddities.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import random
import traceback
from typing import Any

import numpy as np

import jourdain as jd
from jourdain.errors import JourdainError
from tests.attack.calls import KINDS, LEFT_OUT, REFUSED, UNHARMED, call_of, oddities, place, prepared, told

#: What programs other than this one would see, writes files of any name, or takes its time by right.
OUTSIDE = (LEFT_OUT - {"optimal_control", "identify", "identify_inertia", "excitation", "symbolic", "symbolic_linearisation", "equations", "places", "told"}) | {
    "System", "RestitutionTable", "Restitution", "RigidImpact", "ReducedStructure", "MassField", "Criterion", "Constraint", "Frame", "Joint", "Body", "Expr", "Symbols", "import_module", "told_name", "british", "dictate", "to_control", "save_figure", "close", "write_mbs", "run", "Store", "animate", "play", "show", "compile_all", "export", "save_sound", "write", "push_belt_variator", "human",
    "crash_test_problem", "s_beam_problem", "train_devices_problem", "crash_scenario", "element_belt", "hexapod_map", "spatial_train",
}  # fmt: skip
#: Parts of the package itself that properties lead to.
INNER = (
    "Topology",
    "Equations",
    "Configuration",
    "Symbols",
    "type",
    "ABCMeta",
    "Tree",
    "Restart",
    "Coordinate",
    "Parameters",
    "BodyShape",
    "Penalty",
    "Rigid",
    "EventTable",
)
ROOMS = ("contact", "criteria", "library", "structures")


def ball() -> jd.Model:
    m = jd.Model("ball")
    stone = m.body("stone", mass=1.0, inertia=(0.01, 0.01, 0.01), shape=jd.sphere(0.1))
    m.prismatic("lift", m.ground, stone, axis="z")
    m.contact("floor", stone, m.ground, jd.plane())
    return m


def hopper() -> jd.Model:
    m = jd.Model("hopper")
    stone = m.body("stone", mass=1.0, inertia=(0.01, 0.01, 0.01))
    m.planar("slide", m.ground, stone, plane="xz")
    m.rigid_contact("foot", stone.at(0, 0, -0.1), friction=0.3) if hasattr(m, "rigid_contact") else None
    return m


@functools.cache
def beginnings() -> list[Any]:
    """Objects with which walks begin."""
    found: list[Any] = []
    for kind, (_, start, _) in KINDS.items():
        for formulation in ("recursive", "cartesian"):
            s, x0, run = prepared(kind, formulation)
            found += [s, x0, run]
        s = prepared(kind, "recursive")[0]
        found += [s.model, *s.model.bodies.values(), *s.model.joints.values()]
        for make in (lambda s=s, start=start: s.linearise(s.assemble(start)), lambda s=s, start=start: s.modal(s.assemble(start))):
            with contextlib.suppress(JourdainError):
                found.append(make())
    for make in (ball, hopper):
        try:
            m = make()
            s = m.compile()
            found += [m, s, s.state({}), s.simulate({}, 0.1)]
        except (JourdainError, TypeError, AttributeError):
            pass
    found += [jd.sphere(0.1), jd.box(1, 1, 1), jd.symbol("w"), jd.Controller(lambda x: 0.1, 0.05)]
    return found


@functools.cache
def functions() -> list[tuple[str, Any]]:
    """All public functions and constructors, by room."""
    found: list[tuple[str, Any]] = [("jd", jd)]
    found += [(f"jd.{room}", getattr(jd, room)) for room in ROOMS]
    return [
        (f"{where}.{name}", getattr(room, name))
        for where, room in found
        for name in (room.__all__ if room in (jd, jd.criteria) else dir(room))
        if name[0] != "_"
        and name not in OUTSIDE
        and callable(getattr(room, name))
        and not (inspect.isclass(x := getattr(room, name)) and issubclass(x, BaseException))
    ]


def methods(owner: Any) -> list[str]:
    return [n for n in dir(type(owner)) if not n.startswith("_") and n not in OUTSIDE and inspect.isfunction(getattr(type(owner), n, None))]


def properties(owner: Any) -> list[str]:
    def is_one(name: str) -> bool:
        return isinstance(inspect.getattr_static(type(owner), name, None), property | functools.cached_property)

    return [n for n in dir(type(owner)) if not n.startswith("_") and is_one(n)]


#: By names of parameters: what may well be meant.
FITS: dict[str, list[Any]] = {
    "t": [0.05, 0.1], "t0": [0.0], "t1": [0.1], "times": [[0.0, 0.05]], "step": [0.01], "outputs": [5], "method": ["rk4", "dopri5", "radau"], "rtol": [1e-5], "atol": [1e-8],
    "parameters": [{"l": [0.4, 0.5]}, {"l": 0.6}], "frequencies": [[1.0, 2.0]], "input": ["u"], "output": ["hinge.angle", "angle"], "outputs_": [["angle"]], "name": ["hinge.angle", "crank.angle", "new"],
    "names": [["hinge.angle"], ["crank.angle"]], "velocities": [{}, {"hinge.angle": 1.0}], "body": ["bob", "crank"], "inputs": [{"u": 0.1}, ["u"]], "axis": ["x", "y"], "mass": [1.0],
    "inertia": [(1, 1, 1)], "stiffness": [10.0, 1e5], "damping": [1.0], "length": [1.0], "radius": [0.1], "n": [2, 3], "number": [2], "count": [2], "file": [None], "show": [False], "unit": ["m", "rad"],
    "value": [1.0], "law": [lambda x, v, t: -x], "criterion": [jd.criteria.final("hinge.angle")], "variables": [["l"]], "matrix": [np.eye(2)], "M": [np.eye(2)], "q": [np.array([1.0, -1.0]), np.zeros(1), np.zeros(3)],
    "v": [np.zeros(1), np.zeros(3)], "a": [np.zeros(1), np.zeros(3)], "tau": [np.zeros(1), np.zeros(3)], "index": [0, -1], "k": [0, 1], "workers": [1], "friction": [0.3], "period": [0.05], "order": [2],
    "span": [(0.0, 0.1)], "start": [{"hinge": 0.2}, {"crank": 0.8}], "x0": [{"hinge": 0.2}], "fixed": [{"crank.angle": 0.1}], "guess": [{"crank.angle": 0.1}], "goal": [{"hinge.angle": 0.5}], "final": [{"hinge.angle": 0.5}],
    "end": [{"hinge.angle": 0.5}, 0.1], "duration": [0.1], "points": [5], "segments": [3], "intervals": [3], "velocity": [1.0], "force": [(0, 0, 1)], "Q": [np.eye(2)], "R": [np.eye(1)], "data": [{"t": [0, 0.1], "hinge.angle": [0, 0.1]}],
    "width": [0.1], "height": [0.1], "thickness": [0.01], "section": [0.01], "material": [jd.structures.STEEL], "elements": [2], "modes": [2], "rng": [np.random.default_rng(0)], "seed": [0], "size": [2],
}  # fmt: skip


def argument(rng: random.Random, pool: list[Any], p: inspect.Parameter) -> Any:
    chosen = rng.random()
    if chosen < 0.45 and p.name in FITS:
        return rng.choice(FITS[p.name])
    if chosen < 0.75:
        kinds = [x for x in pool if type(x).__name__ in str(p.annotation)]
        if kinds:
            return rng.choice(kinds)
        if p.name in FITS:
            return rng.choice(FITS[p.name])
    if chosen < 0.8:
        return rng.choice(pool)
    if chosen < 0.85:
        return rng.choice(rng.choice(list(FITS.values())))
    return rng.choice(oddities())


def in_words(error: BaseException) -> bool:
    """Whether the package itself has raised an error of Python (for operators and attributes, where Python wants it so)."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    of_python = isinstance(error, TypeError | AttributeError | NotImplementedError)
    by_package = "/jourdain/" in last.filename and (last.line or "").startswith("raise ")
    return of_python and (by_package or last.filename == __file__)


def step(rng: random.Random, pool: list[Any]) -> Any:
    """One call, or one look at what an object has; None where it is refused."""
    from tests.attack.attacks import Fault

    words = ""
    try:
        if rng.random() < 0.3:
            words, function = rng.choice(functions())
        else:
            kinds = sorted({type(x).__name__ for x in pool})
            kind = rng.choice(kinds)
            owner = rng.choice([x for x in pool if type(x).__name__ == kind])
            looked = properties(owner)
            if looked and rng.random() < 0.25:
                words = f"{kind}.{rng.choice(looked)}"
                return getattr(owner, words.rpartition(".")[2])
            known = methods(owner)
            if not known:
                return None
            verb = rng.choice(known)
            words, function = f"{kind}.{verb}", getattr(owner, verb)
        args, given = call_of(rng, function, lambda p: argument(rng, pool, p))
        words += "(" + ", ".join([*map(told, args), *(f"{n}={told(x)}" for n, x in given.items())]) + ")"
        return function(*args, **given)
    except (JourdainError, Fault) as error:
        if isinstance(error, Fault):
            raise Fault(f"{words}: {error}") from error
        return None
    except BaseException as error:
        if in_words(error):
            return None
        raise Fault(f"{words}: {place(error)}") from error


def walks(rng: random.Random) -> str:
    """Some calls one after the other; what they give is called in turn."""
    from tests.attack.attacks import Fault

    pool = list(beginnings())
    any_taken = False
    for _ in range(6):
        found = step(rng, pool)
        any_taken |= found is not None
        items = list(found.values())[:3] if isinstance(found, dict) else list(found)[:3] if isinstance(found, list | tuple) else [found]
        pool += [x for x in items if type(x).__module__.startswith("jourdain") and type(x).__name__ not in INNER] * 20
    s, x0, reference = prepared("swing", "recursive")
    if not np.array_equal(s.simulate(x0, 0.1)["hinge.angle"], reference["hinge.angle"]):
        raise Fault("the run has other numbers afterwards")
    return UNHARMED if any_taken else REFUSED


__all__ = ["walks"]
