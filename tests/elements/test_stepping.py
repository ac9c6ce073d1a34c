"""Derived steps of elements: tangents against complex steps, energy identities, null spaces, errors of declarations."""

import numpy as np
import pytest

from jourdain.elements.discrete.schemes import NAMES, scheme
from jourdain.elements.discrete.stepping import AUDIT, ElementStep
from jourdain.elements.element import Composite, Element, Internal, Servo, symbols_of
from jourdain.elements.rigid import DirectorBody, PlanarBody, euler_tensor
from jourdain.errors import InputError, ModelError
from jourdain.symbolic import cos, evaluate, sin


class Everything(Element):
    """One of each: mass, potential, constraint, rolling row, internal force with history, external force, servo."""

    blocks = {"a": 3, "angle": 1}
    constants = {"stiffness": 1, "weight": 2}
    history = {"slip": 1}

    def mass(self, s):
        return {("a", 0, "a", 0): s.weight[0], ("a", 1, "a", 1): s.weight[1], ("a", 0, "a", 1): 0.1, ("a", 1, "a", 0): 0.1}

    def potential(self, s):
        r2 = s.vector("a").dot(s.vector("a"))
        return [s.stiffness * r2, Composite(lambda p: p * p * p, (r2,)), Composite(cos, (s.angle[0],))]

    def constraints(self, s):
        turned = Composite(lambda x: sin(x - s.at0.angle[0]), (s.angle[0],))
        return [("length", [s.a[0] * s.a[1] - 0.5]), ("angle", [s.a[2], turned])]

    def rolling(self, s):
        return [("roll", {("a", 1): s.mid.a[0], ("angle", 0): -s.at1.a[2]})]

    def internal(self, s):
        new = 0.5 * (s.at1.a[0] + s.history.slip[0])
        rate = (s.at1.a[0] - s.at0.a[0]) / s.h
        return Internal({("a", 0): 0.3 * rate}, {"slip": [new]}, 0.3 * rate * rate * s.h)

    def external(self, s):
        return {("a", 1): s.mid.a[0] * s.rate.a[1] + s.t}

    def servo(self, s):
        return [Servo("drive", s.at1.angle[0] - s.t1 * s.t1, {("angle", 0): 1.0 + 0.0 * s.mid.a[0]})]


def inputs(step, rng, h=0.3):
    p = step.packing
    known = {s: rng.normal() for s in p.symbols} | dict(zip(p.scalars, (h, 0.7, 0.5 * h * h, 1.0, 1.0 / h), strict=True))
    for c in step.element.constants:
        entries = getattr(step.s, c)
        known |= {e: rng.uniform(0.5, 1.5) for e in (entries if isinstance(entries, tuple) else (entries,))}
    return known


CASES = [
    (Everything(), {}),
    (DirectorBody(), {}),
    (DirectorBody(), {"body": DirectorBody.reduction}),
    (PlanarBody(), {"body": PlanarBody.reduction}),
]


@pytest.mark.parametrize("evaluation", ["discrete", "midpoint", "start", "end"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_tangent_against_complex_steps(case, evaluation):
    """∂r/∂unknowns: q₁ moves along the null space (to first order), the excess with it, multipliers by themselves."""
    element, reduced = CASES[case]
    step = ElementStep(element, evaluation, reduced)
    p, rng = step.packing, np.random.default_rng(case)
    known = inputs(step, rng)
    q1 = np.array([known[e] for e in p.q1])
    n = len(step.unknowns) - len(step.row_names)
    exact = np.zeros((len(step.unknowns),) * 2)
    for at, value in zip(step.tangent_entries, evaluate(list(step.tangent_entries.values()), known), strict=True):
        exact[at] = value
    columns = step._basis([known_expr(v) for v in q1])
    tiny = 1e-30
    for j in range(len(step.unknowns)):
        moved = dict(known)
        if j < n:
            for i, e in columns[j]:
                moved[p.q1[i]] = known[p.q1[i]] + 1j * tiny * float(e)
                moved[p.excess[i]] = known[p.excess[i]] + 1j * tiny * float(e)
        else:
            moved[p.multipliers[j - n]] = known[p.multipliers[j - n]] + 1j * tiny
        column = np.imag([complex(v) for v in evaluate(step.residual_expressions, moved)]) / tiny
        assert np.allclose(exact[:, j], column, rtol=1e-10, atol=1e-11)


def known_expr(value):
    from jourdain.symbolic import constant

    return constant(float(value))


@pytest.mark.parametrize("element", [DirectorBody(), PlanarBody()])
def test_discrete_null_space_annihilates_discrete_rows(element):
    """Ḡ P̄ = 0 for arbitrary ends on the constraints, large turns included, and rank P̄ = n − m."""
    step = ElementStep(element, "discrete", {"body": element.reduction})
    full = ElementStep(element, "discrete")
    rng = np.random.default_rng(7)
    for _ in range(10):
        q0, q1 = (random_configuration(element, rng) for _ in range(2))
        values = dict(zip(step.packing.q0, q0, strict=True)) | dict(zip(step.packing.q1, q1, strict=True))
        P = np.zeros((element.size, element.reduction.size))
        for a, column in enumerate(step._left):
            for i, e in column:
                P[i, a] = evaluate(e, values)
        values = dict(zip(full.packing.q0, q0, strict=True)) | dict(zip(full.packing.q1, q1, strict=True))
        G = np.array([[float(evaluate(e, values)) for e in row] for row in full.acting_rows])
        assert np.abs(G @ P).max() < 1e-14
        assert np.linalg.matrix_rank(P) == element.reduction.size
        assert np.abs(G @ (np.array(q1) - q0)).max() < 1e-13


def random_configuration(element, rng):
    if element.size == 6:
        return PlanarBody.coordinates_of(rng.normal(size=2), rng.uniform(-3, 3))
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return DirectorBody.coordinates_of(rng.normal(size=3), Q * np.sign(np.linalg.det(Q)))


def test_reduced_mass_is_newton_euler():
    """PᵀMP = diag(m 1, R J Rᵀ) for a body given in principal axes at its centre of mass (test T3a)."""
    body = DirectorBody()
    mass, J = 3.0, np.diag([1.0, 2.0, 2.5])
    numbers = body.numbers(mass, J)
    rng = np.random.default_rng(8)
    q = random_configuration(body, rng)
    R = q[3:].reshape(3, 3).T
    s = symbols_of(body)
    known = {s.mass: mass} | dict(zip(s.moment, numbers["moment"], strict=True)) | dict(zip(s.euler, numbers["euler"], strict=True))
    M = np.zeros((12, 12))
    for (_, i, _, j), e in body.mass(s).items():
        M[i, j] = evaluate(e, known)
    P = np.array([[float(e) for e in row] for row in body.reduction.basis([known_expr(v) for v in q])])
    expected = np.zeros((6, 6))
    expected[:3, :3], expected[3:, 3:] = mass * np.eye(3), R @ J @ R.T
    assert np.abs(P.T @ M @ P - expected).max() < 1e-14
    E = euler_tensor(J)
    assert np.abs(np.trace(E) * np.eye(3) - E - J).max() < 1e-14


@pytest.mark.parametrize("body", [DirectorBody(), PlanarBody()])
def test_retraction_keeps_constraints_and_follows_the_null_space(body):
    rng = np.random.default_rng(9)
    q = random_configuration(body, rng)
    r = body.reduction
    s = symbols_of(body)
    for size in (2.0, 1e-6):
        delta = size * rng.normal(size=r.size)
        moved = np.array([float(e) for e in r.retract([known_expr(v) for v in q], [known_expr(v) for v in delta])])
        for _, terms in body.constraints(s):
            assert abs(float(evaluate(terms[0], dict(zip(s.body, moved, strict=True))))) < 1e-14
    P = np.array([[float(e) for e in row] for row in r.basis([known_expr(v) for v in q])])
    assert np.allclose((moved - q) / 1e-6, P @ delta / 1e-6, atol=1e-5)
    twist = [float(e) for e in r.twist([known_expr(v) for v in q], [known_expr(v) for v in P @ delta])]
    assert np.allclose(twist, delta, atol=1e-15)


def test_audit_energies():
    step = ElementStep(Everything(), "discrete")
    known = inputs(step, np.random.default_rng(10))
    audit = dict(zip(AUDIT, evaluate(list(step.audit().outputs[0].expressions), known), strict=True))
    p = step.packing
    v = np.array([known[e] for e in p.excess])
    w = [known[e] for e in step.s.weight]
    assert audit["kinetic"] == pytest.approx(0.5 * (w[0] * v[0] ** 2 + w[1] * v[1] ** 2 + 0.2 * v[0] * v[1]))
    moved = known[p.q1[0]] - known[p.q0[0]]
    assert audit["dissipated"] == pytest.approx(0.3 * moved**2 / 0.3)
    assert len(step.audit().outputs[1].expressions) == 1


def test_declarations_that_are_wrong_say_so():
    class Cubic(Everything):
        def potential(self, s):
            return [s.a[0] * s.a[1] * s.a[2]]

    class Unknown(Everything):
        def external(self, s):
            return {("b", 0): 1.0}

    class Rheonomic(Everything):
        def potential(self, s):
            return [s.a[0] * s.t]

    class Twice(Everything):
        blocks = {"a": 3, "stiffness": 1}

    for element, message in ((Cubic(), "Composite"), (Unknown(), "no coordinate"), (Rheonomic(), "depends on time")):
        with pytest.raises(ModelError, match=message):
            _ = ElementStep(element, "discrete").residual_expressions
    with pytest.raises(ModelError, match="used twice"):
        symbols_of(Twice())
    with pytest.raises(ModelError, match="no distribution of mass"):
        DirectorBody.numbers(1.0, (1.0, 1.0, 3.0))


def test_schemes_by_name():
    assert [scheme(n).name for n in NAMES] == list(NAMES)
    assert scheme("hht", alpha=-0.1).beta == pytest.approx(0.3025)
    same, trapezoidal = scheme("generalized-alpha", rho=1.0), scheme("trapezoidal")
    assert (same.beta, same.gamma) == pytest.approx((trapezoidal.beta, trapezoidal.gamma))
    for bad in (
        {"name": "hht", "alpha": -0.5},
        {"name": "newmark", "gamma": 0.4},
        {"name": "generalized-alpha", "rho": 2.0},
        {"name": "euler"},
    ):
        with pytest.raises(InputError):
            scheme(**bad)
