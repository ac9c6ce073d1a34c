"""Normal forms: expansion, collection, equality with its three answers, and readable equations of known systems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import jourdain.symbolic as S
from jourdain.errors import InputError
from jourdain.symbolic import normal
from jourdain.symbolic.normal import coefficients, collect, equal, expand, factor_common, readable
from jourdain.symbolic.printers.text import to_text
from tests.symbolic.trees import OutOfDomainError, build, direct, trees, values

sin, cos = S.sin, S.cos


@pytest.fixture
def little_work(monkeypatch):
    """Give up soon."""
    monkeypatch.setattr(normal, "MOST_WORK", 20_000)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tree=trees(3, smooth=True), x=values(3))
def test_every_form_keeps_the_value(little_work, tree, x):
    try:
        direct(tree, x)
        symbols = S.symbols("x0 x1 x2")
        e = build(tree, symbols)
    except (OutOfDomainError, InputError):
        assume(False)
    at = dict(zip(symbols, x))
    nodes = S.topological([e])
    size = max(float(abs(v)) for v in S.evaluate(nodes, at))
    small = min((float(abs(S.evaluate(n.args[1], at))) for n in nodes if n.op == "div"), default=1.0)
    assume(size < 1e4 and small > 1e-2)
    for form in (expand, lambda f: expand(f, trig=True), factor_common, readable):
        try:
            made = form(e)
        except InputError:
            assume(False)  # too many terms, or a denominator that vanishes identically
        parts = S.evaluate(S.topological([made]), at)
        scale = max(float(abs(v)) for v in parts)
        assume(np.isfinite(scale))
        got = float(S.evaluate(made, at))
        assert got == pytest.approx(float(S.evaluate(e, at)), rel=1e-7, abs=1e-9 * max(scale, size) ** 2)


def test_expansion_is_canonical():
    x, y, z = S.symbols("x y z")
    assert expand((x + y) * (x - y)) is expand(x**2 - y**2)
    assert expand((x + y + z) ** 3) is expand((z + x + y) * (x + y + z) ** 2)
    assert expand(x * (y + z) - x * y - z * x).is_zero
    assert expand(y * sin(x) ** 2 + y * cos(x) ** 2) is y
    assert expand(S.sqrt(x + y) ** 2 * z) is expand(z * (x + y))
    assert to_text(expand((x + y) ** 3)) == "x^3 + 3*x^2*y + 3*x*y^2 + y^3"
    assert to_text(expand((x + 1) / y)) == "x/y + 1/y"
    assert expand(sin((x + y) ** 2)) is sin(expand((x + y) ** 2))


def test_term_is_dropped_only_when_exactly_zero():
    x, y = S.symbols("x y")
    kept = expand((0.1 + x) * 3 * y - 0.3 * y - 3 * x * y)
    assert float(S.evaluate(kept, {x: 1.0, y: 1.0})) == 3 * 0.1 - 0.3 != 0.0


def test_too_many_terms_is_refused(little_work):
    x = S.symbols([f"x{i}" for i in range(12)])
    with pytest.raises(InputError, match="terms"):
        expand(sum(x) ** 8)


def test_collection():
    a, b, x, y = S.symbols("a b x y")
    e = (a + b * x) * (x + y) ** 2
    table = coefficients(e, [x, y])
    assert set(table) == {(3, 0), (2, 1), (1, 2), (2, 0), (1, 1), (0, 2)}
    assert table[3, 0] is b and table[1, 1] is 2 * a and table[2, 1] is 2 * b
    assert equal(collect(e, [x, y]), e)
    assert to_text(collect(a * x + b * x + a, [x])) == "(a + b)*x + a"
    assert to_text(factor_common(2 * a * x - 4 * b * x * x)) == "2*(a - 2*b*x)*x"


def test_equality_has_three_answers():
    x, y, z = S.symbols("x y z")
    same = [
        (sin(3 * x), 3 * sin(x) - 4 * sin(x) ** 3),
        (cos(x + y + z), cos(x) * cos(y + z) - sin(x) * sin(y + z)),
        (x / (x + y) + y / (x + y), 1),
        (1 / (1 / x + 1 / y), x * y / (x + y)),
        (S.tan(x), sin(x) / cos(x)),
        (1 / sin(x) ** 2 - 1, cos(x) ** 2 / sin(x) ** 2),
        (S.sqrt(x * x + y) ** 4, (x * x + y) ** 2),
        (S.exp(x + 2 * y), S.exp(x) * S.exp(y) ** 2),
        (S.cosh(x) ** 2 - S.sinh(x) ** 2, 1),
        (abs(x) ** 2, x**2),
        (sin(x + np.pi / 2), cos(x)),
        (0.1 * x + 0.2 * x, 0.3 * x),
        ((x**2 - y**2) / (x - y), x + y),
        (S.sqrt(x) / x, 1 / S.sqrt(x)),
        (x / (y * (1 + x)), (1 / y) * (1 - 1 / (1 + x))),
        (sin(x) / cos(x + y) ** 2 + sin(y) / cos(x + y), (sin(x) + sin(y) * cos(x + y)) / cos(x + y) ** 2),
    ]
    assert to_text(readable(cos(x) / sin(x) - cos(x) * sin(x) / (cos(x) ** 2 - 1))) == "2*cos(x)/sin(x)"
    for a, b in same:
        assert equal(a, b) is True, (a, b)
    different = [(x, y), (sin(x), x), (sin(x + y), sin(x) + sin(y)), (x + 1e-6, x), (abs(x), x), (x, 1.0)]
    for a, b in different:
        assert equal(a, b) is False
    # True as numbers go, but the algebra knows nothing of logarithms of products.
    assert equal(S.log(x * x) + 0 * y, 2 * S.log(abs(x))) is None


def lagrange(positions, masses, q, v, a, g):
    """Equations of Lagrange for point masses: an independent way to the equations of motion."""
    kinetic, potential = S.constant(0.0), S.constant(0.0)
    for (x, y), m in zip(positions, masses):
        vx, vy = S.jvp([x, y], dict(zip(q, v)))
        kinetic += m * (vx * vx + vy * vy) / 2
        potential += m * g * y
    rates = dict(zip(q, v)) | dict(zip(v, a))
    momenta = S.gradient(kinetic, v)
    forces = S.gradient(kinetic - potential, q)
    return [p - f for p, f in zip(S.jvp(momenta, rates), forces)]


@pytest.fixture
def pendulum():
    m1, m2, l1, l2, g = S.symbols("m1 m2 l1 l2 g")
    q, v, a = (S.symbols(f"{n}1 {n}2", kind) for n, kind in (("q", "position"), ("w", "velocity"), ("a", "acceleration")))
    return m1, m2, l1, l2, g, q, v, a


def test_double_pendulum_with_absolute_angles(pendulum):
    m1, m2, l1, l2, g, q, v, a = pendulum
    first = (l1 * sin(q[0]), -l1 * cos(q[0]))
    second = (first[0] + l2 * sin(q[1]), first[1] - l2 * cos(q[1]))
    e1, e2 = lagrange([first, second], [m1, m2], q, v, a, g)
    assert to_text(readable(e1)) == ("(m1 + m2)*l1^2*a1 + m2*l1*l2*cos(q1 - q2)*a2 + m2*l1*l2*sin(q1 - q2)*w2^2 + (m1 + m2)*g*l1*sin(q1)")
    assert to_text(readable(e2)) == ("m2*l1*l2*cos(q1 - q2)*a1 + m2*l2^2*a2 - m2*l1*l2*sin(q1 - q2)*w1^2 + m2*g*l2*sin(q2)")
    difference = q[0] - q[1]
    closed = (m1 + m2) * l1**2 * a[0] + m2 * l1 * l2 * (cos(difference) * a[1] + sin(difference) * v[1] ** 2)
    assert equal(e1, closed + (m1 + m2) * g * l1 * sin(q[0])) is True
    assert equal(e1, closed - (m1 + m2) * g * l1 * sin(q[0])) is False


def test_double_pendulum_with_relative_angles(pendulum):
    m1, m2, l1, l2, g, q, v, a = pendulum
    first = (l1 * sin(q[0]), -l1 * cos(q[0]))
    second = (first[0] + l2 * sin(q[0] + q[1]), first[1] - l2 * cos(q[0] + q[1]))
    _, e2 = lagrange([first, second], [m1, m2], q, v, a, g)
    assert to_text(readable(e2)) == ("m2*l1*l2*cos(q2)*a1 + m2*l2^2*a1 + m2*l2^2*a2 + m2*l1*l2*sin(q2)*w1^2 + m2*g*l2*sin(q1 + q2)")


def test_triple_pendulum_with_relative_angles():
    m, l = S.symbols("m1 m2 m3"), S.symbols("l1 l2 l3")
    q, v, a = (S.symbols(f"{n}1 {n}2 {n}3", kind) for n, kind in zip("qwa", ("position", "velocity", "acceleration")))
    angle, x, y, points = (S.constant(0.0),) * 3 + ([],)
    for i in range(3):
        angle = angle + q[i]
        x, y = x + l[i] * sin(angle), y - l[i] * cos(angle)
        points.append((x, y))
    equations = lagrange(points, m, q, v, a, S.symbol("g"))
    for e in equations:
        assert equal(e, readable(e)) is True
    assert to_text(readable(equations[2])).startswith(
        "m3*l1*l3*cos(q2 + q3)*a1 + m3*l2*l3*cos(q3)*a1 + m3*l3^2*a1 + m3*l2*l3*cos(q3)*a2 + m3*l3^2*a2 + m3*l3^2*a3"
    )


def test_readable_does_not_depend_on_the_order_of_making():
    m1, m2, l1 = S.symbols("m1 m2 l1")
    texts = set()
    for order in ("abc", "cba", "bca"):
        made = {n: S.symbol(n, "position") for n in order}
        x, y, z = (made[n] for n in "abc")
        moment = m1 * (sin(x) * cos(y) + cos(x) * sin(y)) * z - l1 * m1 * z**2
        texts.add(to_text(readable(moment + m2 * z * sin(x + y))))
    assert texts == {"(m1 + m2)*c*sin(a + b) - m1*l1*c^2"}


def test_readable_prefers_the_shorter_square():
    m, l = S.symbols("m l")
    q, w = S.symbol("q", "position"), S.symbol("w", "velocity")
    assert to_text(readable(m * l**2 * sin(q) ** 2 * w**2)) == "m*l^2*sin(q)^2*w^2"
    assert to_text(readable(m * (1 - cos(q) ** 2) * w)) == "m*sin(q)^2*w"
