"""Derivatives of long trees for stiff methods: column by column from one in any direction, against those written out."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.systems.tree import projected
from jourdain.systems.tree.projected import NativeSystem, _together


def arm(n: int, base: str) -> jd.Model:
    """n bodies on skew hinges behind a base, with a drive that lags and a spring that hardens."""
    m = jd.Model("arm", gravity=(0, 0, -9.81))
    before = m.ground
    if base == "free":
        before = m.body("base", mass=3.0, inertia=[0.3, 0.4, 0.5])
        m.free("base", m.ground, before)
    current = m.state("current", 0.2)
    hinge = None
    for i in range(n):
        body = m.body(f"b{i}", mass=1.0, com=(0.1, 0.02, -0.03), inertia=[0.02, 0.03, 0.025])
        frame = before.at(0.3 if i else 0.0, 0.05, 0.1, rotation=[("x", 0.4 + 0.1 * i)])
        hinge = m.revolute(f"j{i}", frame, body, axis="z", damping=0.1)
        before = body
    assert hinge is not None
    m.rate(current, -5.0 * current + jd.sin(m.time) - hinge.velocity)
    m.force(hinge, 2.0 * current - 4.0 * hinge.position**3)
    return m


def derivatives(system: jd.System, x: np.ndarray) -> list[np.ndarray]:
    """∂ẋ/∂x and ∂ẋ/∂t."""
    native = NativeSystem(system.reference)
    found = native.derivatives()
    results = np.zeros((native.n, native.n)), np.zeros(native.n)
    for f, out in zip((found["jacobian"], found["time_derivative"]), results, strict=True):
        assert f(0.3, x, out) == 0
    return list(results)


@pytest.mark.parametrize(("base", "formulation"), [("ground", "recursive"), ("free", "recursive"), ("ground", "semi-recursive")])
def test_derivatives_by_directions_are_those_written_out(base: str, formulation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    s = arm(3, base).compile(formulation=formulation)
    rng = np.random.default_rng(1)
    for _ in range(3):
        x = np.concatenate([s.configuration.random(rng), rng.normal(size=s.nv + s.nz)])
        written = derivatives(s, x)
        with monkeypatch.context() as patch:
            patch.setattr(projected, "TOGETHER", 2)
            by_directions = derivatives(s, x)
        for a, b in zip(by_directions, written, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-10 * (1.0 + abs(b).max()))


def test_only_bodies_that_hang_together_count() -> None:
    m = jd.Model("pendulums")
    for k in range(4):
        before = m.ground
        for i in range(2 + (k == 3)):
            body = m.body(f"b{k}{i}", mass=1.0, com=(0.1, 0, 0))
            m.revolute(f"j{k}{i}", before, body, axis="y")
            before = body
    assert _together(m.compile().reference) == 3


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rosenbrock", "radau"])
def test_stiff_methods_carry_a_long_chain(method: str) -> None:
    s = arm(24, "ground").compile()
    start = s.state(dict.fromkeys(s.coordinate_names, 0.1))
    exact = s.simulate(start, 0.05, "dop853", rtol=1e-11, atol=1e-11)
    found = s.simulate(start, 0.05, method, rtol=1e-7, atol=1e-8)
    for name in s.coordinate_names:
        assert found[name][-1] == pytest.approx(exact[name][-1], abs=1e-5)


@pytest.mark.slow
def test_a_long_chain_is_never_written_out() -> None:
    """The derivatives of 24 bodies written out are 360 000 operations."""
    s = arm(24, "ground").compile()
    assert _together(s.reference) >= projected.TOGETHER
    native = NativeSystem(s.reference)
    native.derivatives()
    assert not any(key[0] == "state_jacobian" for key in s._functions)
