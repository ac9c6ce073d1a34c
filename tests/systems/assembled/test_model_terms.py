"""Potentials of models between bodies: written in invariants of rigid motions, they keep energy and both momenta exactly."""

import numpy as np
import pytest

import jourdain as jd
from jourdain.elements.relative_pose import relative
from jourdain.symbolic import gradient, maximum, sqrt, symbol
from jourdain.symbolic.graph import evaluate
from jourdain.systems.formulations import formulate


def two_bodies(kind: str) -> jd.Model:
    m = jd.Model(kind, gravity=(0, 0, 0))
    a, b = (m.body(n, mass=i, inertia=(0.1 * i, 0.15, 0.2)) for n, i in (("a", 1.0), ("b", 2.0)))
    m.free("fa", m.ground, a)
    m.free("fb", m.ground, b)
    p, q = m.sensor("pa", a.at(0.2, 0.1, 0)), m.sensor("pb", b.at(-0.1, 0.2, 0.1))
    d = q.position - p.position
    r = sqrt(d.dot(d))
    energy = {"contact": 300.0 * maximum(1.0 - r, 0.0) ** 2.5, "cubic": 20.0 * (r - 1.0) ** 2 + 5.0 * (r - 1.0) ** 4}[kind]
    force = gradient(energy, [q.x, q.y, q.z])
    on_b = m.load("on_b", b.at(-0.1, 0.2, 0.1), force=[-g for g in force])
    on_b.potential = energy
    m.load("on_a", a.at(0.2, 0.1, 0), force=force)
    return m


@pytest.mark.parametrize("kind", ["contact", "cubic"])
def test_forces_between_bodies_keep_energy_and_momenta_in_large_steps(kind: str) -> None:
    m = two_bodies(kind)
    directors = m.compile(formulation="directors")
    start = {"fb.x": 1.5, "fb.x_rate": -1.0, "fa.y_rate": 0.1, "fa.orientation.omega_z": 1.0, "fb.orientation.omega_x": 2.0}
    sol = directors.simulate(start, 3.0, step=0.02, tolerance=1e-14)
    assert np.ptp(sol["fb.x_rate"]) > 0.2
    energy = sol["step.energy.total"] - sol["step.energy.supplied"]
    assert np.ptp(energy) < 1e-10
    assert np.ptp(sol["step.momentum.linear"], axis=0).max() < 1e-10
    assert np.ptp(sol["step.momentum.angular"], axis=0).max() < 1e-10
    exact = m.compile().simulate(start, 1.0, rtol=1e-10, atol=1e-12)["fb.x"][-1]
    assert formulate(m, "directors").simulate(start, 1.0, step=0.0025)["fb.x"][-1] == pytest.approx(exact, abs=2e-5)


def symbols(name: str) -> tuple:
    return tuple(symbol(f"{name}{i}", "position") for i in range(12))


def test_symmetry_is_found_behind_closed_branches() -> None:
    a, b = symbols("a"), symbols("b")
    gap = (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 + (b[2] - a[2]) ** 2
    assert len(relative(maximum(0.01 - gap, 0.0), (a, b), ()).symbols) == 3
    level = maximum(a[2] - b[2] - 50.0, 0.0) ** 2  # translations only
    found = relative(level, (a, b), ())
    assert [str(e) for e in found.invariants] == ["b2 - a2"]
    assert relative(maximum(a[2] - 50.0, 0.0) + gap, (a, b), ()) is None
    assert relative(gap, (a,), ()) is None


def test_values_are_the_same_in_invariants() -> None:
    rng = np.random.default_rng(3)
    a, b, angle = symbols("a"), symbols("b"), symbol("angle", "position")
    axis = a[9] * b[9] + a[10] * b[10] + a[11] * b[11]
    e = sqrt(2.0 + axis) * angle + (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 + (b[2] - a[2]) ** 2
    found = relative(e, (a, b), (angle,))
    values = {angle: 0.4}
    for body in (a, b):
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        values |= dict(zip(body, [*rng.normal(size=3), *(Q * np.linalg.det(Q)).T.ravel()], strict=True))
    inner = dict(zip(found.symbols, evaluate(list(found.invariants), values), strict=True))
    assert evaluate([found.expression], inner)[0] == pytest.approx(evaluate([e], values)[0], abs=1e-13)
