"""Implicit methods in every formulation: exact derivatives of the native right-hand side, and the same motion as the recursive default."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.library import mechanisms
from jourdain.systems.formulations import formulate
from jourdain.systems.state import State
from jourdain.systems.tree.closed_form import closed_native
from jourdain.systems.tree.projected import NativeSystem
from jourdain.systems.tree.reduced import ReducedSystem
from jourdain.systems.tree.semi_recursive import MultiplierSystem
from tests.systems.zoo import ZOO, assembled


def stiff_governor() -> tuple[Any, State]:
    s = mechanisms.stiff_governor().compile()
    angles = {"slide.displacement": 0.5, "left.angle": np.pi / 6, "right.angle": np.pi / 6}
    return s, s.state(angles, {"shaft.angle_rate": 2 * np.pi})


def user_states() -> tuple[Any, State]:
    """A slider-crank whose force follows a stiff filter of its own motion and of time."""
    m = mechanisms.slider_crank(gravity=9.81)
    z = m.state("filter", 0.3)
    m.rate(z, 2e3 * (m.joints["crank"].position * 0.5 + 0.2 * jd.sin(9.0 * m.time) - z))
    m.load("push", m.bodies["rod"], force=(0, 40.0 * z, 0))
    return assembled(m, **{"crank.angle": 0.6, "rod.angle": -0.8, "piston.displacement": 0.18})


def held_ball() -> tuple[Any, State]:
    """A ball joint held by a rod: a quaternion in a loop."""
    m = jd.Model("held ball")
    body = m.body("bob", mass=1.0, com=(0.1, 0, -0.4), inertia=(0.1, 0.12, 0.05))
    m.spherical("pivot", m.ground, body)
    m.rod("rod", m.ground.at(1, 0, -1), body.at(0, 0, -1), 1.0)
    return assembled(m)


CASES: dict[str, Callable[[], tuple[Any, State]]] = {
    "four-bar": ZOO["four-bar"], "stiff governor": stiff_governor, "RSSR": ZOO["RSSR"], "rolling disk": ZOO["rolling disk"],
    "user states": user_states, "Bennett": lambda: assembled(mechanisms.bennett()), "RSSR driven": ZOO["RSSR driven"],
    "random 1": ZOO["random 1"], "couplings": ZOO["couplings"],
}  # fmt: skip
#: Those with loops that have a closed form, all of them or some.
CLOSED = ("four-bar", "RSSR", "user states", "couplings")
#: Formulations by what to compile, with options.
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "cartesian": ("cartesian", {}),
    "euler parameters": ("cartesian", {"rotation": "euler-parameters"}),
    "rotation vector": ("cartesian", {"rotation": "rotation-vector"}),
    "natural": ("natural", {}),
    "null space": ("semi-recursive", {"reduction": "null-space"}),
    "range space": ("semi-recursive", {"reduction": "range-space"}),
}


@cache
def case(name: str) -> tuple[Any, State]:
    return CASES[name]()


def values(system: Any, solution: Any) -> np.ndarray:
    return np.array([solution[n][-1] for n in (*system.coordinate_names, *system.velocity_names)])


# --- derivatives ---------------------------------------------------------------------------------------------------


def differences(rhs: Any, t: float, x: np.ndarray, h: float = 1e-4) -> tuple[np.ndarray, np.ndarray]:
    """∂ẋ/∂x and ∂ẋ/∂t by central differences of order six."""

    def at(time: float, state: np.ndarray) -> np.ndarray:
        out = np.zeros(len(x))
        assert rhs(time, np.ascontiguousarray(state), out) == 0
        return out

    def slope(f: Callable[[float], np.ndarray]) -> np.ndarray:
        return sum(w * (f(k * h) - f(-k * h)) for k, w in ((1, 45), (2, -9), (3, 1))) / (60 * h)  # type: ignore[return-value]

    columns = [slope(lambda s, e=e: at(t, x + s * e)) for e in np.eye(len(x))]
    return np.column_stack(columns), slope(lambda s: at(t + s, x))


def check(native: Any, t: float, x: np.ndarray, along: np.ndarray | None = None) -> None:
    n = len(x)
    J, rate = np.zeros((n, n)), np.zeros(n)
    found = native.derivatives()
    assert found["jacobian"](t, x.copy(), J.reshape(-1)) == 0
    assert found["time_derivative"](t, x.copy(), rate) == 0
    expected, expected_rate = differences(native.rhs, t, x)
    along = np.eye(n) if along is None else along
    assert np.abs((J - expected) @ along).max() < 1e-8 * max(1.0, np.abs(expected).max())
    assert np.abs(rate - expected_rate).max() < 1e-8 * max(1.0, np.abs(expected_rate).max())


def turns(native: Any, x: np.ndarray, places: list[int]) -> np.ndarray:
    """The projector that keeps quaternions at length one: functions of others may differ by how they read them."""
    P = np.eye(len(x))
    for iq, _ in native.system.configuration.quaternions:
        k = [places.index(iq + i) for i in range(4)]
        P[np.ix_(k, k)] -= np.outer(x[k], x[k])
    return P


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("form", ["tree", "reduced", "closed", *FORMS])
def test_derivatives_are_those_of_the_native_right_hand_side(name: str, form: str) -> None:
    system, state = case(name)
    if form == "tree":
        tree = NativeSystem(system, start=state)
        return check(tree, state.t, state.x, turns(tree, state.x, list(range(system.nq))))
    if form == "reduced":
        if not system.equations_of_motion.rows or name == "RSSR driven":  # nothing to reduce, nothing left
            return None
        native = ReducedSystem(system, state)
        return check(native, state.t, native.x0)
    if form == "closed":
        if name in CLOSED:
            closed = closed_native(system, state)
            check(closed, state.t, closed.x0)
        return None
    formulation, options = FORMS[form]
    compiled: Any = formulate(system, formulation, **options)
    if formulation == "semi-recursive":
        if compiled.constraints:
            loops = MultiplierSystem(compiled, options["reduction"], State(compiled, state.q, state.v, state.z, state.t))
            check(loops, state.t, state.x, turns(loops, state.x, list(range(system.nq))))
        return None
    own = compiled.own.state_of(state)
    return check(compiled.own.native(own), own.t, own.x)


def test_derivatives_with_stabilisation() -> None:
    system, state = case("RSSR")
    compiled: Any = formulate(system, "cartesian")
    own = compiled.own.state_of(state)
    check(compiled.own.stabilised(15.0, 20.0).native(own), own.t, own.x)


# --- motion --------------------------------------------------------------------------------------------------------


@cache
def motion(name: str) -> np.ndarray:
    """The end of a run of the recursive default by an explicit method (a stiff one where it would take too long)."""
    system, state = case(name)
    method = "radau" if name in ("stiff governor", "user states") else "dop853"
    return values(system, system.simulate(state, 0.1, method, rtol=1e-11, atol=1e-12))


#: Relative errors allowed at rtol = 1e-9.
ALLOWED = {"radau": 1e-7, "rosenbrock": 1e-6, "generalized-alpha": 1e-3, "hht": 1e-3, "newmark": 1e-2, "trapezoidal": 1e-3}


@pytest.mark.parametrize("method", list(ALLOWED))
@pytest.mark.parametrize(
    ("name", "form"),
    [
        (name, form)
        for name in ("four-bar", "stiff governor", "RSSR", "rolling disk", "user states")
        for form in ("recursive", "reduced", *FORMS)
        if (name, form) != ("stiff governor", "reduced")  # it has no loops to reduce
    ],
)
def test_implicit_methods_in_all_formulations(name: str, form: str, method: str) -> None:
    system, state = case(name)
    fixed = method in ("generalized-alpha", "hht", "newmark", "trapezoidal")
    options: dict[str, Any] = {"step": 5e-4} if fixed else {"rtol": 1e-9, "atol": 1e-11}
    formulation, given = FORMS.get(form, ("recursive", {}))
    compiled = formulate(system, formulation, **given)
    if form == "reduced":
        options["reduction"] = "reduced"
    able = not fixed or form == "recursive" or form in ("cartesian", "euler parameters", "natural") or not system.equations_of_motion.rows
    if fixed and (form == "rotation vector" or not able):
        with pytest.raises(InputError, match=method):
            compiled.simulate(state, 0.1, method=method, **options)
        return
    found = values(system, compiled.simulate(state, 0.1, method=method, **options))
    expected = motion(name)
    assert np.abs(found - expected).max() < ALLOWED[method] * max(1.0, np.abs(expected).max())


def test_generalised_alpha_converges_with_order_two_in_cartesian_coordinates() -> None:
    system, state = case("RSSR")
    expected = values(system, system.simulate(state, 0.2, "dop853", rtol=1e-12, atol=1e-13))
    compiled = formulate(system, "cartesian")
    errors = [
        np.abs(values(system, compiled.simulate(state, 0.2, method="generalized-alpha", step=h)) - expected).max()
        for h in (2e-3, 1e-3, 5e-4)
    ]
    assert all(3.5 < a / b < 4.5 for a, b in pairwise(errors)), errors


@pytest.mark.parametrize("method", ["radau", "rosenbrock"])
@pytest.mark.parametrize("name", ["random 1", "held ball"])
def test_quaternions_among_the_dependent_coordinates(name: str, method: str) -> None:
    """All positions are carried along then, and Newton's method turns the quaternions."""
    system, state = ZOO[name]() if name == "random 1" else held_ball()
    expected = values(system, system.simulate(state, 0.3, "dop853", rtol=1e-11, atol=1e-12))
    found = values(system, system.simulate(state, 0.3, method, rtol=1e-9, atol=1e-11, reduction="reduced"))
    assert np.abs(found - expected).max() < ALLOWED[method] * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("stabilisation", ["baumgarte", "none"])
def test_generalised_alpha_needs_no_stabilisation(stabilisation: str) -> None:
    system, state = case("RSSR")
    with pytest.raises(InputError, match="runs take no option 'stabilisation'"):
        formulate(system, "cartesian").simulate(state, 0.1, method="hht", step=1e-3, stabilisation=stabilisation)


@pytest.mark.parametrize("method", ["radau", "rosenbrock"])
def test_stabilised_and_drifting_runs_by_stiff_methods(method: str) -> None:
    system, state = case("RSSR")
    expected = motion("RSSR")
    for stabilisation in ("baumgarte", "none"):
        found = formulate(system, "cartesian").simulate(state, 0.1, method=method, rtol=1e-9, atol=1e-11, stabilisation=stabilisation)
        assert np.abs(values(system, found) - expected).max() < ALLOWED[method] * max(1.0, np.abs(expected).max())


def test_signals_keep_the_stabilisation() -> None:
    """An input given as a function of time used to drop Baumgarte's terms: constraints drifted as without them."""
    m = mechanisms.four_bar()
    m.torque(m.joints["crank"], m.input("drive", 0.0, unit="N m"))
    system, state = assembled(m, **{"crank.angle": 1.0, "coupler.angle": -0.9, "rocker.angle": 1.6})
    compiled = formulate(system, "cartesian")
    drift = {}
    for stabilisation in ("baumgarte", "none"):
        options: dict[str, Any] = {
            "rtol": 1e-5,
            "atol": 1e-7,
            "stabilisation": stabilisation,
            "inputs": {"drive": lambda t: 0.1 * jd.sin(t)},
        }
        drift[stabilisation] = compiled.drift(compiled.simulate(state, 3.0, **options))[0]
    assert drift["baumgarte"] < 0.1 * drift["none"]
