"""Closed-form loop closure against textbook formulas, reference values, Newton, and exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.analysis.assemble import projective
from jourdain.errors import SolverError
from jourdain.formalisms.functions.reduced import closed_form, closed_system
from jourdain.formalisms.loops.closed_form import ClosedForm
from jourdain.library import mechanisms
from jourdain.symbolic.derivatives import jvp
from jourdain.symbolic.expr import ONE
from jourdain.symbolic.graph import evaluate, substitute
from jourdain.systems.constraints import jacobian
from jourdain.systems.tree.closed_form import closed_native
from jourdain.systems.tree.closure import choices, order_of_elimination, reduced_function
from jourdain.systems.tree.projected import NativeSystem

L0, L1, L2, L3 = 1.0, 0.35, 0.8, 0.7
TURN = np.linspace(0.0, 2.0 * np.pi, 73)


@cache
def serial_four_bar() -> Any:
    """Schiehlen's Fig. 9: three links in a row from O1, relative angles α1, α2, α3, cut at O4 = (0, l0)."""
    m = jd.Model("four-bar of Fig. 9", gravity=(0, -9.81, 0))
    before: Any = m.ground
    for i, length in enumerate((L1, L2, L3), 1):
        across = length**3 / 12
        rod = m.body(f"rod{i}", mass=length, com=(length / 2, 0, 0), inertia=(0, across, across))
        m.revolute(f"alpha{i}", before, rod, axis="z")
        before = rod.at(length, 0, 0)
    m.close("O4", before, m.ground.at(0, L0, 0), "ball")
    return m.compile()


@cache
def inverted_slider_crank() -> Any:
    """A crank whose end carries a block that slides, with an offset, along a rocker."""
    m = jd.Model("inverted slider-crank", gravity=(0, -9.81, 0))
    crank = m.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(0, 0.01, 0.01))
    rocker = m.body("rocker", mass=2.0, com=(0.3, 0, 0), inertia=(0, 0.1, 0.1))
    block = m.body("block", mass=0.3, inertia=(1e-3, 1e-3, 1e-3))
    m.revolute("crank", m.ground, crank, axis="z")
    m.revolute("rocker", m.ground.at(-0.5, 0, 0), rocker, axis="z")
    m.prismatic("slide", rocker.at(0, 0.05, 0), block, axis="x")
    m.close("pin", crank.at(0.2, 0, 0), block, "ball")
    return m.compile()


@cache
def compiled(name: str, **options: Any) -> Any:
    return getattr(mechanisms, name)(**options).compile()


ANDREWS_GUESS = {"beta": -0.0617, "gamma": 0.4553, "Phi": 0.2227, "delta": 0.4874, "Omega": -0.2227, "epsilon": 1.2305}

CASES: list[tuple[Any, Sequence[str]]] = [
    (serial_four_bar, ["alpha1.angle"]), (serial_four_bar, ["alpha2.angle"]),
    (lambda: compiled("four_bar"), ["crank.angle"]), (lambda: compiled("four_bar"), ["rocker.angle"]),
    (lambda: compiled("slider_crank", offset=0.01, gravity=9.81), ["crank.angle"]),
    (lambda: compiled("slider_crank", offset=0.01, gravity=9.81), ["piston.displacement"]),
    (inverted_slider_crank, ["crank.angle"]), (inverted_slider_crank, ["rocker.angle"]),
    (lambda: compiled("rssr"), ["crank.angle"]), (lambda: compiled("andrews"), ["beta.angle"]),
    (lambda: compiled("flyball_governor"), ["shaft.angle", "sleeve.displacement"]),
    (lambda: compiled("flyball_governor"), ["shaft.angle", "left.angle"]),
]  # fmt: skip


def random_state(system: Any, independent: Sequence[str], seed: int) -> Any:
    """A closed state with random independent values near a sensible position, or None where it cannot be closed."""
    rng = np.random.default_rng(seed)
    near = {"piston.displacement": 0.13, "sleeve.displacement": -0.3, "left.angle": 0.7}
    spread = {"piston.displacement": 0.05, "sleeve.displacement": 0.08, "left.angle": 0.4}
    fixed = {n: near.get(n, 0.0) + spread.get(n, np.pi) * rng.uniform(-1, 1) for n in independent}
    start = dict(zip(system.coordinate_names, rng.uniform(-1.0, 1.0, system.nq), strict=True))
    if "sleeve.displacement" in start:
        start |= {"sleeve.displacement": -0.3, "left.angle": 0.6, "right.angle": 0.6}
    try:
        return system.assemble(fixed, guess=start, velocities={n: rng.uniform(-3, 3) for n in independent})
    except SolverError:
        return None


def values(system: Any, form: ClosedForm, state: Any) -> dict:
    eq = system.equations_of_motion
    known = dict(zip(eq.q, state.q, strict=True)) | dict(zip(eq.v, state.v, strict=True)) | {eq.t: 0.0}
    known |= dict(zip(eq.p, system.parameter_vector, strict=True)) | dict(zip(eq.u, system.input_values(), strict=True))
    return known | dict(zip(form.choices, choices(form, known), strict=True))


# --- the four-bar of Schiehlen's section 4 ---------------------------------------------------------------------------


def fig9(sign: int, alpha1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """α2 and α3 by eqs. (27) and (28)."""
    alpha3 = sign * np.arccos((L0**2 + L1**2 - L2**2 - L3**2 - 2 * L0 * L1 * np.sin(alpha1)) / (2 * L2 * L3))
    s = L0 * L2 * np.cos(alpha1) + L0 * L3 * np.cos(alpha1 + alpha3) + L1 * L3 * np.sin(alpha3)
    c = L0 * L2 * np.sin(alpha1) + L0 * L3 * np.sin(alpha1 + alpha3) - L1 * L3 * np.cos(alpha3) - L1 * L2
    return np.arctan2(s, c), alpha3


def modulo(x: np.ndarray) -> np.ndarray:
    return (x + np.pi) % (2 * np.pi) - np.pi


def full_states(system: Any, independent: Sequence[str], branch: Sequence[float], x: np.ndarray) -> np.ndarray:
    """Full states of many independent ones on a branch."""
    form = closed_form(system.equations_of_motion, independent)
    f = system.function("closed_full_state", independent=tuple(independent))
    u = np.concatenate([system.input_values(), branch, np.zeros(len(form.references))])
    return np.array([f(np.zeros(1), row, u)[0] for row in x])


@pytest.mark.parametrize("sign", [1, -1])
def test_four_bar_closes_over_a_full_turn_on_both_branches(sign: int) -> None:
    s = serial_four_bar()
    rates = np.linspace(1.0, 3.0, len(TURN))
    candidates = [full_states(s, ["alpha1.angle"], [b], np.column_stack([TURN, rates])) for b in (1.0, -1.0)]
    alpha2, alpha3 = fig9(sign, TURN)
    X = next(X for X in candidates if np.sign(np.sin(X[0, 2])) == sign)
    np.testing.assert_allclose(modulo(X[:, 2] - alpha3), 0.0, atol=1e-14)
    np.testing.assert_allclose(modulo(X[:, 1] - alpha2), 0.0, atol=1e-14)
    h, J = s.function("constraints")(np.zeros((len(TURN), 1)), X[:, :3])
    assert np.abs(h).max() < 1e-14
    a1, a2, a3 = X[:, :3].T
    rate3 = L0 * L1 * np.cos(a1) / (L2 * L3 * np.sin(a3)) * rates
    rate2 = -L0 * np.cos(a1 + a2) / (L3 * np.sin(a3)) * rates - rate3
    np.testing.assert_allclose(X[:, 4], rate2, atol=1e-13)
    np.testing.assert_allclose(X[:, 5], rate3, atol=1e-13)
    D = X[:, 3:] / rates[:, None]
    second = -(L0 * L1 * np.cos(a1) + L0 * L2 * np.cos(a1 + a2)) / (L2 * L3 * np.sin(a3))
    np.testing.assert_allclose(D[:, 1], second, atol=1e-13)
    np.testing.assert_allclose(np.einsum("ij,ikj->ik", D, J), 0.0, atol=1e-14)


def test_best_independent_coordinates_of_figure_10() -> None:
    s = serial_four_bar()
    X = full_states(s, ["alpha1.angle"], [1.0], np.column_stack([TURN, np.zeros(len(TURN))]))
    cosines = np.array([list(projective(s, s.state().with_values(q=x[:3])).values()) for x in X])
    assert cosines[:, 0].min() > 0.05
    assert cosines[:, 1].min() > 1e-3
    k = int(np.argmin(np.abs(TURN - np.pi / 2))), int(np.argmin(np.abs(TURN - 3 * np.pi / 2)))
    assert cosines[list(k), 2].max() < 1e-20
    assert np.delete(cosines[:, 2], k).min() > 1e-5
    report = s.closure_report(["alpha1"])
    assert report.method == "closed form" and report.margin > 0.1
    assert s.closure_report(["alpha3"]).margin <= 0.0


# --- known solutions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_slider_crank(sign: float) -> None:
    s = compiled("slider_crank", offset=0.01, gravity=9.81)
    r, l, e = 0.05, 0.15, 0.01
    X = full_states(s, ["crank.angle"], [sign], np.column_stack([TURN, np.ones(len(TURN))]))
    reach = np.sqrt(l**2 - (r * np.sin(TURN) - e) ** 2)
    branch = np.sign(X[0, 2] - r)
    np.testing.assert_allclose(X[:, 2], r * np.cos(TURN) + branch * reach, atol=1e-15)
    speed = -r * np.sin(TURN) - branch * (r * np.sin(TURN) - e) * r * np.cos(TURN) / reach
    np.testing.assert_allclose(X[:, 5], speed, atol=1e-15)


def test_inverted_slider_crank() -> None:
    s = inverted_slider_crank()
    found = []
    for sign in (1.0, -1.0):
        X = full_states(s, ["crank.angle"], [sign], np.column_stack([TURN, np.ones(len(TURN))]))
        x, y = 0.5 + 0.2 * np.cos(TURN), 0.2 * np.sin(TURN)
        length = np.sqrt(x**2 + y**2 - 0.05**2)
        side = np.sign(X[0, 2])
        np.testing.assert_allclose(X[:, 2], side * length, atol=1e-14)
        angle = np.arctan2(y, x) - np.arctan2(0.05, side * length)
        np.testing.assert_allclose(modulo(X[:, 1] - angle), 0.0, atol=1e-14)
        found.append(side)
    assert sorted(found) == [-1.0, 1.0]


RSSR_TABLE = {
    1: [
        (0.664273015093143, -0.414246510667467, 20.5352720734899), (1.2116888663777, 2.32544376933068, -4.46022168267888),
        (1.63408945530788, 0.256600119639834, -7.26268192533123), (1.33266212369222, -2.19610489247041, -6.95103549593501),
    ],
    -1: [
        (-1.95127523267971, 0.414246510667467, -8.53527207348988), (-2.13898408437931, -0.992110435997348, 0.904666127123329),
        (-2.35163079584902, -0.256600119639834, 3.15309288423534), (-2.25995734169383, 0.862771559137078, 3.39547994037945),
    ],
}  # fmt: skip


@pytest.mark.parametrize("sign", [1, -1])
def test_rssr_reference_values(sign: int) -> None:
    s = compiled("rssr")
    phi = np.array([0.0, 0.25, 0.5, 0.75]) * 2 * np.pi
    x = np.column_stack([phi, np.full(4, 5.0)])
    tables = [full_states(s, ["crank.angle"], [b], x) for b in (1.0, -1.0)]
    X = next(X for X in tables if np.sign(X[0, 1]) == sign)
    expected = np.array(RSSR_TABLE[sign])
    np.testing.assert_allclose(X[:, 1], expected[:, 0], rtol=1e-14)
    np.testing.assert_allclose(X[:, 3], expected[:, 1], rtol=1e-13)
    eq = s.equations_of_motion
    system = closed_system(eq, ["crank.angle"])
    rate = jvp([system.v[1]], {eq.q[0]: eq.v[0]})[0]  # the crank's speed is constant
    for row, wanted in zip(X, expected, strict=True):
        known = values(s, system.form, s.state().with_values(q=row[:2], v=row[2:]))
        assert float(evaluate(rate, known)) == pytest.approx(wanted[2], rel=1e-12)


def test_andrews_is_three_dyads() -> None:
    s = compiled("andrews")
    x = s.assemble({"Theta": 0.0}, guess=ANDREWS_GUESS)
    report = s.closure_report(["beta"], x)
    assert [kind for *_, kind, _ in report.steps] == ["dyad of two angles"] * 3
    assert "closed form" in str(report) and "Theta.angle" in str(report)
    native = closed_native(s, x, independent=["beta"])
    out = np.zeros(2)
    assert native.rhs(0.0, native.x0, out) == 0
    assert out[1] == pytest.approx(14222.4439199541, rel=1e-12)
    order = order_of_elimination(s, x, ["beta"])
    assert sorted(len(rows) for rows, _ in order) == [2, 2, 2]


# --- every mechanism -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", range(len(CASES)))
def test_closed_form_equals_newton_and_the_projected_equations(case: int) -> None:
    make, independent = CASES[case]
    s = make()
    form = closed_form(s.equations_of_motion, independent)
    assert form.complete, form.reason
    projected = NativeSystem(s)
    tried = 0
    for seed in range(12):
        x = random_state(s, independent, seed)
        if x is None or min((float(m) for m in evaluate(form.margins, values(s, form, x))), default=1.0) < 1e-2:
            continue
        native = closed_native(s, x, independent=independent)
        full = native.expand(0.0, native.x0)
        np.testing.assert_allclose(full, x.x, atol=2e-11)
        out, expected = np.zeros(len(native.x0)), np.zeros(s.nq + s.nv)
        assert native.rhs(0.0, native.x0, out) == 0 and projected.rhs(0.0, full, expected) == 0
        np.testing.assert_allclose(out, native.restrict(expected), rtol=1e-10, atol=1e-9 * np.abs(expected).max())
        tried += 1
    assert tried >= 3


@settings(deadline=None, max_examples=25)
@given(case=st.integers(0, len(CASES) - 1), seed=st.integers(0, 10**6))
def test_rates_are_the_derivatives_of_the_positions(case: int, seed: int) -> None:
    """Velocities by elimination in the blocks = the exact time derivative of the explicit positions."""
    make, independent = CASES[case]
    s = make()
    x = random_state(s, independent, seed)
    if x is None:
        return
    eq = s.equations_of_motion
    system = closed_system(eq, independent)
    known = values(s, system.form, x)
    if min((float(m) for m in evaluate(system.form.margins, known)), default=1.0) < 1e-2:
        return
    direction = dict(zip(eq.q, eq.v, strict=True)) | {eq.t: ONE}
    rates = [float(r) for r in evaluate(jvp(system.q, direction), known)]
    np.testing.assert_allclose(rates, [float(v) for v in evaluate(system.v, known)], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(rates, x.v, rtol=1e-9, atol=1e-9)
    J = jacobian(s, x.q, 0.0)
    Z = np.array([[float(evaluate(row.get(k, 0.0 * eq.t), known)) for k in range(len(independent))] for row in system.space.Z])
    np.testing.assert_allclose(J @ Z, 0.0, atol=1e-12 * max(1.0, np.abs(Z).max()))


def test_rows_linear_in_displacements_and_gears() -> None:
    m = jd.Model("rack")
    pinion, rack, wedge = (m.body(n, mass=1.0, inertia=(1, 1, 1)) for n in ("pinion", "rack", "wedge"))
    turn = m.revolute("turn", m.ground, pinion, axis="z")
    push = m.prismatic("push", m.ground, rack, axis="x")
    lift = m.prismatic("lift", m.ground, wedge, axis="y")
    m.constraint("mesh", push.position - 0.3 * turn.position)
    m.constraint("ramp", lift.position * 2.0 - push.position + 0.1)
    s = m.compile()
    form = closed_form(s.equations_of_motion, ["turn.angle"])
    assert form.complete and not form.branches
    system = closed_system(s.equations_of_motion, ["turn.angle"])
    q = evaluate(system.q, {s.equations_of_motion.q[0]: 2.0})
    np.testing.assert_allclose([float(e) for e in q], [2.0, 0.6, 0.25], rtol=1e-15)


def test_prescribed_motion_enters_the_rates() -> None:
    """With a driven crank the rocker's rate is the partial derivative with respect to time alone."""
    s = mechanisms.rssr(speed=5.0).compile()
    eq = s.equations_of_motion
    system = closed_system(eq, [])
    assert system.form.complete
    known = dict(zip(eq.p, s.parameter_vector, strict=True)) | {eq.t: 0.3, system.form.branches[0]: 1.0, system.form.references[0]: 1.0}
    analytic = float(evaluate(system.v[0], known))
    exact = float(evaluate(jvp(system.q, {eq.t: ONE})[0], known))
    assert analytic == pytest.approx(exact, rel=1e-12) and abs(analytic) > 0.1


# --- where there is none ---------------------------------------------------------------------------------------------


def test_reasons() -> None:
    bricard = compiled("bricard").closure_report()
    assert bricard.method == "Newton" and "unknowns" in bricard.reason and "P6[1]" in str(bricard)
    m = jd.Model("law")
    a, b = m.body("a", mass=1.0, inertia=(1, 1, 1)), m.body("b", mass=1.0, inertia=(1, 1, 1))
    first, second = m.revolute("first", m.ground, a, axis="z"), m.revolute("second", m.ground, b, axis="z")
    m.constraint("cam", first.position - jd.exp(second.position) + 1.0)
    s = m.compile()
    assert "'exp'" in closed_form(s.equations_of_motion, ["first.angle"]).reason
    assert closed_form(s.equations_of_motion, ["second.angle"]).complete
    with pytest.raises(ValueError, match="no closed form"):
        s.simulate(s.assemble({}), 1.0, reduction="closed", independent=["first"])
    free = mechanisms.pendulum().compile()
    assert free.closure_report().method == "none"


# --- reduced functions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [2, 4, 9, 10])
def test_reduced_functions_equal_numerical_elimination(case: int) -> None:
    make, independent = CASES[case]
    s = make()
    reference = next(x for seed in range(20) if (x := random_state(s, independent, seed)) is not None)
    accelerations = reduced_function(s, "reduced_accelerations", reference, independent)
    inverse = reduced_function(s, "reduced_inverse_dynamics", reference, independent)
    projected = NativeSystem(s)
    columns = [s.coordinate_names.index(n) for n in independent]
    for seed in range(20, 26):
        x = random_state(s, independent, seed)
        if x is None or np.linalg.cond(np.delete(jacobian(s, x.q, 0.0), columns, axis=1)) > 1e5:
            continue
        a = accelerations(np.zeros(1), x.q, x.v, x.z, s.input_values())
        expected = np.zeros(s.nq + s.nv)
        assert projected.rhs(0.0, x.x, expected) == 0
        np.testing.assert_allclose(a, expected[s.nq :], rtol=1e-9, atol=1e-9 * np.abs(a).max())
        still = inverse(np.zeros(1), x.q, x.v, a, x.z, s.input_values())
        push = np.zeros(s.nv)
        push[columns] = 1.0
        tau = inverse(np.zeros(1), x.q, x.v, a + push, x.z, s.input_values())
        M, f, J, _, _ = s.function("descriptor")(np.zeros(1), x.x, s.input_values())
        scale = np.abs(M @ a).max() + np.abs(f).max()
        np.testing.assert_allclose(still, 0.0, atol=1e-10 * scale)
        Z = np.linalg.solve(np.vstack([J, np.eye(s.nv)[columns]]), np.vstack([np.zeros((len(J), len(columns))), np.eye(len(columns))]))
        np.testing.assert_allclose(tau, Z.T @ M @ Z @ np.ones(len(columns)), rtol=1e-9, atol=1e-10 * scale)


def test_reduced_functions_ask_for_an_order() -> None:
    with pytest.raises(ValueError, match="reduced_function"):
        compiled("four_bar").function("reduced_accelerations")
    with pytest.raises(ValueError, match="cannot be the independent coordinates"):
        order_of_elimination(compiled("four_bar"), compiled("four_bar").assemble({"crank": 1.0}), ["crank", "rocker"])


def test_explicit_expressions_hold_independent_coordinates_alone() -> None:
    s = compiled("andrews")
    form = closed_form(s.equations_of_motion, ["beta.angle"])
    eq = s.equations_of_motion
    q = form.apply(list(eq.q))
    assert substitute(q, dict.fromkeys(eq.q[1:], ONE)) == q


@pytest.mark.parametrize("cut", ["b", "c", "d"])
def test_any_joint_of_the_loop_may_be_cut(cut: str) -> None:
    """A slider-crank of four declared joints: whichever closes the loop, the piston is where the textbook puts it."""
    m = jd.Model(f"slider-crank cut at {cut}", gravity=(0, 0, -9.81))
    crank, rod, piston = (m.body(n, mass=1.0, com=(0.05, 0, 0), inertia=(0.01, 0.01, 0.01)) for n in ("crank", "rod", "piston"))
    options: dict[str, dict[str, Any]] = {n: {"cut": True} if n == cut else {} for n in "bcd"}
    m.revolute("a", m.ground, crank, axis="y")
    m.revolute("b", crank.at(0.1, 0, 0), rod, axis="y", **options["b"])
    m.revolute("c", rod.at(0.3, 0, 0), piston, axis="y", **options["c"])
    m.prismatic("d", m.ground, piston, axis="x", **options["d"])
    s = m.compile()
    guess = {n: x for n, x in {"b": -1.3, "c": 0.3, "d": 0.35}.items() if n != cut}
    x = s.assemble({"a": 1.0}, guess=guess, velocities={"a": 5.0})
    report = s.closure_report(state=x)
    assert report.method == "closed form" and report.independent != ["d.displacement"] and report.margin > 0.05
    assert s.closure_report(["a"], x).margin == pytest.approx(8.0 / 9.0, rel=1e-2)
    sol = s.simulate(x, 0.5, "dop853", reduction="closed", rtol=1e-10, outputs=6)
    a = sol["a.angle"]
    np.testing.assert_allclose(sol.frame("piston").position[:, 0], 0.1 * np.cos(a) + np.sqrt(0.09 - 0.01 * np.sin(a) ** 2), atol=1e-14)
    np.testing.assert_allclose(np.ptp(sol["energy.total"]), 0.0, atol=1e-8)
