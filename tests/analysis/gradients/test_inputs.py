"""Gradients by ordinates of tables, through sampled laws, and of trees in loops over links."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import jourdain as jd
from jourdain import criteria as cr


def cart() -> tuple[jd.Model, Any]:
    m = jd.Model("cart", gravity=(0, 0, 0))
    x = m.prismatic("x", m.ground, m.body("cart", mass=m.parameter("m", 2.0)), axis="x")
    m.force(x, m.input("F"))
    return m, x


def both(run: jd.Analysis, criteria: dict[str, Any], wrt: list[str], close: float = 1e-12) -> Any:
    forward, adjoint = (run.gradient(criteria, wrt, method=m) for m in ("forward", "adjoint"))
    size = np.maximum(np.abs(forward.matrix), 1e-6 * np.abs(forward.matrix).max(axis=1, keepdims=True))
    assert (np.abs(forward.matrix - adjoint.matrix) / size).max() < close
    return adjoint


@pytest.mark.parametrize("kind", ["linear", "spline"])
def test_ordinates_of_a_table_are_variables(kind: str) -> None:
    """x(T) = ∫ (T − t) F/m dt of a force in ordinates: its slopes are moments of the shapes; the run is that of a table of numbers."""
    m, _ = cart()
    values, times = np.sin(np.arange(6.0)), np.array([0.0, 0.3, 0.5, 1.1, 1.6, 2.0])
    f = [m.parameter(f"f{i}", v) for i, v in enumerate(values)]
    force = jd.table(times, f, kind=kind)
    s = m.compile()
    given: dict[str, Any] = {"method": "dop853", "rtol": 1e-11, "atol": 1e-13, "max_step": 0.02}
    run = jd.Analysis(s, "simulate", {}, t=2.0, inputs={"F": lambda t: force(t)}, **given)
    g = both(run, {"x": cr.final("x.displacement"), "work": cr.integral("F*x.displacement_rate")}, [f"f{i}" for i in range(6)])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    for i in range(6):
        shape = jd.table(times, np.eye(6)[i], kind=kind)
        moment = 0.0
        for a, b in itertools.pairwise(times):
            t = 0.5 * (a + b) + 0.5 * (b - a) * nodes
            moment += 0.5 * (b - a) * np.sum(weights * (2.0 - t) * shape.value((0,), t)) / 2.0
        assert g["x", f"f{i}"] == pytest.approx(moment, rel=1e-7 if kind == "linear" else 1e-9)
    plain = s.simulate({}, t=2.0, inputs={"F": (times, values)} if kind == "spline" else {"F": jd.table(times, values, kind=kind)}, **given)
    assert plain["x.displacement"][-1] == pytest.approx(
        g.values["x"], rel=1e-9 if kind == "linear" else 1e-12
    )  # steps meet corners to their tolerance
    g.check()


def test_a_table_of_two_variables_takes_numbers_alone() -> None:
    m, _ = cart()
    with pytest.raises(jd.InputError, match="two variables must be numbers"):
        jd.table([0, 1], [0, 1], [[m.parameter("a", 1.0), 0.0], [0.0, 1.0]])
    with pytest.raises(jd.InputError, match="1 values for 2 breakpoints"):
        jd.table([0, 1], [m.parameter("b", 1.0)])


def test_a_sampled_law() -> None:
    """F = −k x − d ẋ every h seconds: x after n samples is (Φ − Γ K)ⁿ x₀, whose derivatives are those of a product."""
    m, x = cart()
    k, d = m.parameter("k", 5.0), m.parameter("d", 2.0)
    h, n = 0.1, 7
    run = jd.Analysis(m.compile(), "simulate", {"x": 1.0}, t=n * h, inputs={"F": jd.Controller(-k * x.position - d * x.velocity, h)})
    wrt = ["m", "k", "d", "x.displacement", "x.displacement_rate"]
    g = both(run, {"x": cr.final("x.displacement"), "work": cr.integral("F^2"), "F": cr.at(0.25, "F"), "top": cr.largest("abs(F)")}, wrt)

    def end(p: np.ndarray) -> float:
        mass, k, d, x0, v0 = p
        A = expm(np.array([[0, 1, 0], [0, 0, 1 / mass], [0, 0, 0]]) * h)
        step = A[:2, :2] - np.outer(A[:2, 2], [k, d])
        return (np.linalg.matrix_power(step, n) @ [x0, v0])[0]

    p = np.array([2.0, 5.0, 2.0, 1.0, 0.0])
    assert g.values["x"] == pytest.approx(end(p), rel=1e-12)

    # complex steps are exact: entries of the matrices are polynomials and fractions of the variables
    def slope(j: int) -> float:
        e = 1e-30 * np.eye(5)[j]
        mass, k, d, x0, v0 = p + 1j * e
        A = np.array([[1, h], [0, 1]], complex)
        step = A - np.outer(np.array([h * h / 2, h]) / mass, [k, d])
        return float((np.linalg.matrix_power(step, n) @ np.array([x0, v0]))[0].imag / 1e-30)

    assert g["x"] == pytest.approx([slope(j) for j in range(5)], rel=1e-11)
    g.check()


def test_two_sampled_laws_of_different_periods_and_an_event() -> None:
    m = jd.Model("two", gravity=(0, 0, 0))
    x, y = (m.prismatic(n, m.ground, m.body(f"{n} mass", mass=m.parameter(f"m{n}", 1.5)), axis=n) for n in "xy")
    for j, n in ((x, "F"), (y, "G")):
        m.force(j, m.input(n) - m.parameter(f"c{n}", 0.2) * j.velocity)
    m.event("wall", x.position - 0.4, direction=-1, jump={x.velocity: -0.8 * x.velocity})
    k = m.parameter("k", 6.0)
    laws = {"F": jd.Controller(-k * (x.position - 0.3 * y.position), 0.1), "G": jd.Controller(-k * y.position - m.inputs["F"].symbol, 0.25)}
    run = jd.Analysis(m.compile(), "simulate", {"x": 1.0, "y": 0.5}, t=1.7, inputs=laws)
    g = both(run, {"x": cr.final("x.displacement^2 + y.displacement"), "t": cr.event_time("wall"), "i": cr.integral("F*G")}, ["mx", "my", "cF", "k", "y.displacement"])  # fmt: skip
    g.check()


def test_laws_in_python_are_refused_by_name() -> None:
    m, _ = cart()
    run = jd.Analysis(m.compile(), "simulate", {"x": 1.0}, t=0.5, inputs={"F": jd.Controller(lambda s: -float(s.q[0]), 0.1)})
    with pytest.raises(jd.InputError, match="controller of 'F' is a Python function"):
        run.gradient({"x": cr.final("x.displacement")}, ["m"])


def test_loops_over_links() -> None:
    """The same gradient as by code written out."""
    m = jd.Model("chain")
    at: Any = m.ground
    for i in range(5):
        body = m.body(f"b{i}", mass=m.parameter(f"m{i}", 1.0 + 0.1 * i), com=(0.3, 0.1, 0), inertia=(0.1, 0.2, 0.15))
        m.revolute(f"j{i}", at, body, axis="y" if i % 2 else "z")
        at = body.frame("tip", (0.8, 0, 0.1))
    wrt, criteria = ["m0", "m3", "j0.angle"], {"end": cr.final("j4.angle"), "sum": cr.integral("j1.angle_rate^2")}
    looped, straight = (
        both(jd.Analysis(m.compile(form=f), "simulate", {"j0": 0.3, "j2": 0.4}, t=0.4), criteria, wrt) for f in ("looped", "straight")
    )
    assert looped.matrix == pytest.approx(straight.matrix, rel=1e-9)
    looped.check()
