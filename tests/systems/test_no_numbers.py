"""What is no real number, at every door by which users' numbers come in: an error of the package that names the door; nothing is cut to fit."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import NumberError
from jourdain.reals import NotReal, real, reals
from tests.systems.test_ends import linkage
from tests.systems.test_every_way import WAYS, Way, compiled, four_bar, refused, start


class Raises:
    """A number only in name."""

    def __float__(self) -> float:
        raise RuntimeError("no number today")


class Unwritable(Raises):
    def __repr__(self) -> str:
        raise RuntimeError("no text either")


WRONG: dict[str, Any] = {
    "complex": 1.0 + 1.0j, "complex of NumPy": np.complex128(1 + 1j), "complex array": np.array(1 + 1j), "nothing": None, "text": "abc",
    "bytes": b"1", "a list": [1.0, 2.0], "an array": np.ones(2), "empty": [], "nan": float("nan"), "inf": np.float32("inf"),
    "decimal nan": Decimal("sNaN"), "huge": 10**400, "longer than text": -(10**5000), "longdouble": np.longdouble("1e4000"),
    "raises": Raises(), "unwritable": Unwritable(), "date": np.datetime64("2020-01-01", "ns"), "masked": np.ma.masked, "dict": {},
}  # fmt: skip
#: What Python, NumPy and fractions call a half, and truth.
RIGHT: list[tuple[Any, float]] = [
    (0.5, 0.5), (np.float32(0.5), 0.5), (np.array(0.5), 0.5), (Fraction(1, 2), 0.5), (Decimal("0.5"), 0.5), (0.5 + 0j, 0.5),
    (np.complex64(0.5), 0.5), (True, 1.0), (np.True_, 1.0), (2**70, 2.0**70),
]  # fmt: skip


@pytest.mark.parametrize(("given", "number"), RIGHT)
def test_numbers_of_any_type_are_the_same_number(given: Any, number: float) -> None:
    assert real(given) == number and reals([given, 0.0], "x").tolist() == [number, 0.0]
    assert compiled(None).input_values({"motor": given}).tolist() == [number]


@pytest.mark.parametrize("name", [n for n in WRONG if n not in ("nan", "inf", "longdouble", "masked")])
def test_what_is_no_number_is_told(name: str) -> None:
    with pytest.raises(NotReal):
        real(WRONG[name])
    with pytest.raises(jd.InputError, match="^x = .* are no real numbers"):
        reals([[0.0, WRONG[name]]], "x")


def test_arrays_lose_nothing() -> None:
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for given in (
        np.array([1 + 1j]),
        np.array(["1"]),
        np.array([None]),
        np.zeros(2, "M8[s]"),
        masked,
        [[1.0], [1.0, 2.0]],
        np.zeros(1, "V8"),
    ):
        with pytest.raises(jd.InputError, match="x = .* are no real numbers"):
            reals(given, "x")
    assert reals(np.ma.array([1.0, 2.0]), "x").tolist() == [1.0, 2.0] and reals(np.array([1 + 0j]), "x").dtype == float


# -- values that stand before a run begins: one word for each door -----------------------------------------------------


def run(**options: Any) -> Any:
    s = compiled(None)
    return s.simulate(_closed(), 0.01, **options)


@functools.cache
def _closed() -> Any:
    return start(compiled(None))


def model(build: Callable[[jd.Model, Any], object]) -> Any:
    m, hinge = linkage()
    build(m, hinge)
    return m.compile().simulate(start(m.compile()), 0.01)


DOORS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "input": ("input 'motor'", lambda x: run(inputs={"motor": x})),
    "signal": ("signal of 'motor'", lambda x: run(inputs={"motor": lambda t: x})),
    "signal in a product": ("signal of 'motor'", lambda x: run(inputs={"motor": lambda t: t * x})),
    "table": ("table 'motor'", lambda x: run(inputs={"motor": ([0.0, 1.0], [0.0, x])})),
    "instants of a table": ("table 'motor'", lambda x: run(inputs={"motor": ([0.0, x], [0.0, 1.0])})),
    "period": ("controller( of 'motor')?: ", lambda x: run(inputs={"motor": jd.Controller(lambda s: 0.1, x)})),
    "inputs of a function": ("input 'motor'", lambda x: compiled(None).input_values({"motor": x})),
    "parameter of a run": ("parameter", lambda x: run(parameters=[x] * len(compiled(None).parameter_vector))),
    "parameter": ("'weight'", lambda x: compiled(None).copy().set_parameters(weight=x)),
    "state": ("'crank.angle'", lambda x: compiled(None).state({"crank.angle": x})),
    "velocity": ("'crank.angle_rate'", lambda x: compiled(None).state(None, {"crank.angle_rate": x})),
    "array of a state": ("q", lambda x: _closed().with_values(q=[x, 0.0, 0.0])),
    "array of a function": ("q", lambda x: compiled(None).function("mass_matrix")([x, 0.0, 0.0])),
    "span": ("time|end", lambda x: compiled(None).simulate(_closed(), (0.0, x))),
    "atol": ("atol", lambda x: run(atol=1e-10 if x is None else x)),
    "rtol": ("rtol", lambda x: run(rtol=1e-8 if x is None else x)),
    "step": ("step", lambda x: run(method="rk4", step=x)),
    "instants": ("times", lambda x: run(times=[0.0, x])),
    "outputs": ("outputs", lambda x: run(outputs=1 if x is None else x)),
    "most steps": ("max_steps", lambda x: run(max_steps=x)),
    "stepper": ("u", lambda x: compiled(None).stepper(_closed(), step=1e-3, inputs=["motor"]).advance([x])),
    "mass": ("mass", lambda x: jd.Model("m").body("b", mass=x)),
    "gravity": ("gravity", lambda x: jd.Model("m", gravity=(0, 0, x))),
    "default of a parameter": ("'p'", lambda x: jd.Model("m").parameter("p", x)),
    "default of an input": ("'i'", lambda x: jd.Model("m").input("i", x)),
    "force": ("force", lambda x: model(lambda m, h: m.force(h, lambda q, v, t: x))),
    "drive": ("drive|crank", lambda x: model(lambda m, h: m.drive(h, lambda t: x))),
    "guard": ("event 'e'", lambda x: model(lambda m, h: m.event("e", x))),
    "jump": ("event 'e'|jump", lambda x: model(lambda m, h: m.event("e", h.position - 0.9, jump={h.velocity: x}))),
    "output": ("output 'o'", lambda x: model(lambda m, h: m.output("o", x))),
    "memory": ("memory 'a'", lambda x: model(lambda m, h: m.memory("a", x, lambda a: a))),
    "renewal": ("memory 'a'", lambda x: model(lambda m, h: m.memory("a", 0.0, lambda a: x))),
    "unknown": ("unknown 'a'", lambda x: model(lambda m, h: m.unknown("a", x, lambda a: a - 1))),
}
#: What a door takes: no error is asked for.
TAKEN = {
    ("step", "nothing"),
    ("step", "inf"),
    ("step", "longdouble"),
    ("atol", "nothing"),
    ("rtol", "nothing"),
    ("most steps", "nothing"),
    ("mass", "nothing"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_what_is_no_number(door: str, name: str) -> None:
    what, attempt = DOORS[door]
    if (door, name) in TAKEN:
        return
    with pytest.raises((jd.InputError, jd.ModelError), match=what), warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)  # an imaginary part was lost
        attempt(WRONG[name])


def test_the_error_is_of_models_and_of_arguments() -> None:
    with pytest.raises(NumberError, match=r"signal of 'motor' at all t: \(1\+1j\) is not a number.*it is complex"):
        run(inputs={"motor": lambda t: 1 + 1j})
    assert issubclass(NumberError, jd.ModelError) and issubclass(NumberError, jd.InputError)


# -- values that come while a run goes on: all ways --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:model 'four-bar'")
@pytest.mark.parametrize(
    ("way", "kind"), [(way, kind) for way in WAYS for kind in ("callback", "controller") if not refused(way, kind)], ids=str
)
def test_every_way_names_who_gave_no_number_and_when(way: Way, kind: str) -> None:
    given: Any = 0.1

    def law(t: float) -> Any:
        return 0.1 if t < 0.01 else given

    m, hinge = (four_bar(), None) if kind == "controller" else linkage()
    if hinge is not None:
        m.force(hinge, m.callback("motor", law, [m.time]))
    options = {"inputs": {"motor": jd.Controller(lambda x: law(x.t), 0.01)}} if hinge is None else {}
    s = m.compile(formulation=way.formulation, **way.compiled)
    first = start(s)
    for name, value in WRONG.items():
        given = value
        with pytest.raises(jd.SimulationError, match=r"(callback|controller of) 'motor' (gave|raised) .* at t = 0.01") as told:
            s.simulate(first, 0.03, **way.run, **options)
        assert 0.0 <= told.value.solution.t[-1] <= 0.0201, name


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_refuses_a_complex_signal_by_name(way: Way) -> None:
    s = compiled(way)
    for signal in (lambda t: 1 + 1j, lambda t: t * np.complex128(1j), lambda t: None, lambda t: 10**400):
        with pytest.raises(jd.InputError, match="signal of 'motor'"):
            s.simulate(start(s), 0.01, inputs={"motor": signal}, **way.run)
