"""Functions of systems in CasADi give the numbers of ours, and CasADi's derivatives those of differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import library

casadi = pytest.importorskip("casadi")


def models() -> dict[str, jd.Model]:
    m = library.double_pendulum()
    first, second = m.joints.values()
    curve = jd.table([-2.0, -0.5, 0.4, 2.5], [0.0, 1.0, -1.0, 3.0])
    m.force(first, m.input("M") + curve(first.position) - jd.where(second.velocity > 0, 0.3, -0.2) * jd.minimum(second.position, 0.5))
    lag = m.state("lag", 0.2)
    m.rate(lag, jd.tanh(first.velocity) - 3.0 * lag)
    m.force(second, -jd.sqrt(1.0 + lag**2) * abs(second.velocity), name="pull")
    return {"pendulum": m, "vehicle": library.plane_vehicle(), "four-bar": library.four_bar(), "top": library.heavy_top()}


@pytest.mark.parametrize("name", ["pendulum", "vehicle", "four-bar", "top"])
def test_the_same_numbers(name: str) -> None:
    s = models()[name].compile()
    random = np.random.default_rng(1)
    words = (
        ("mass_matrix", "constraints", "applied_forces")
        if s.equations_of_motion.rows
        else ("state_derivative", "mass_matrix", "inverse_dynamics")
    )
    for word in words:
        ours, theirs = s.function(word), s.to_casadi(word)
        for _ in range(5):
            given: list[Any] = [random.uniform(-1, 1, len(a.symbols)) for a in s.symbolic(word).inputs if a.name != "p"]
            p = [s.parameter_vector] if "p" in [a.name for a in s.symbolic(word).inputs] else []
            a, b = ours(*given), theirs(*given, *p)
            for x, y in zip(a if isinstance(a, tuple) else (a,), b if isinstance(b, (tuple, list)) else (b,), strict=True):
                x, y = np.ravel(x), np.array(y).ravel()
                assert np.abs(x - y).max(initial=0.0) < 1e-12 * (1.0 + np.abs(x).max(initial=0.0))


def test_derivatives_of_casadi() -> None:
    s = models()["pendulum"].compile()
    f = s.to_casadi()
    x, u, t = np.array([0.3, -0.2, 0.5, 0.7, 0.1]), np.array([0.4]), np.array([0.0])
    inputs = f.sx_in()
    J = np.array(casadi.Function("J", inputs, [casadi.jacobian(f.call(inputs)[0], inputs[1])])(t, x, u, s.parameter_vector))
    for j in range(5):
        e = 1e-6 * np.eye(5)[j]
        slope = (np.ravel(s.function("state_derivative")(t, x + e, u)) - np.ravel(s.function("state_derivative")(t, x - e, u))) / 2e-6
        assert np.abs(slope - J[:, j]).max() < 1e-7 * (1 + np.abs(slope).max())


def test_tables_of_two_variables_are_refused() -> None:
    m = jd.Model("two")
    a = m.revolute("a", m.ground, m.body("b", mass=1.0, com=(1, 0, 0)), axis="z")
    m.force(a, jd.table([0, 1], [0, 1], [[0, 1], [2, 3]], kind="linear")(a.position, a.velocity))
    with pytest.raises(jd.InputError, match="has two variables"):
        m.compile().to_casadi()


@pytest.mark.parametrize("what", ["contacts", "rigid stops", "dry friction without smoothing"])
def test_set_valued_laws_and_contacts_are_refused(what: str) -> None:
    m = jd.Model("arm")
    b = m.body("b", mass=1.0, com=(1, 0, 0), shape=jd.sphere(0.1))
    a = m.revolute("a", m.ground, b, axis="z", limits=(-1, 1))
    if what == "contacts":
        m.contact("floor", b, m.ground, law=jd.contact.linear(1e5))
    elif what == "rigid stops":
        m.stops(law=jd.contact.rigid(), joints=[a])
    else:
        m.friction(a, 0.2, smoothing=0)
    with pytest.raises(jd.InputError, match=f"to_casadi knows no {what}"):
        m.compile().to_casadi()
