"""Internal forces: F·Δq = ΔΨ + ΔD with ΔD ≥ 0 for random steps, limits at zero step, and the laws behind them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from jourdain.elements.carriers import Directors, Ground, Particle
from jourdain.elements.clearance import Cavity, SphericalClearance, blob
from jourdain.elements.dissipation import Plastic, PointDashpot, Rayleigh, Viscoelastic, Viscous, ViscousLaw
from jourdain.elements.element import Element
from jourdain.symbolic import evaluate
from jourdain.symbolic.derivatives import jacobian
from jourdain.symbolic.functions import tanh
from jourdain.symbolic.graph import substitute
from tests.elements.readings import Reading

ELEMENTS: dict[str, tuple[Element, dict]] = {
    "viscous": (Viscous(), {"damping": 1.5}),
    "friction law": (ViscousLaw(lambda v, c: c.force * tanh(v / c.speed), {"force": 1, "speed": 1}), {"force": 3.0, "speed": 0.1}),
    "viscoelastic": (Viscoelastic(), {"stiffness": 100.0, "branch": 50.0, "viscosity": 35.0}),
    "viscoelastic, quartic": (Viscoelastic(lambda x, c: 0.5 * c.quartic * x**4, {"quartic": 1}), {"quartic": 100.0, "branch": 50.0, "viscosity": 35.0}),
    "plastic": (Plastic(), {"stiffness": 200.0, "limit": 45.0}),
    "plastic with dashpot": (Plastic(dashpot=True), {"stiffness": 200.0, "limit": 45.0, "damping": 15.0}),
    "dashpot of points": (PointDashpot(Particle(), Directors()), {"damping": 2.0, "point_b": [0.1, 0.2, 0.3]}),
    "Rayleigh": (Rayleigh(3), {"matrix": [2.0, 0.5, 0.0, 0.5, 1.0, 0.2, 0.0, 0.2, 3.0]}),
    "sphere with loss": (
        SphericalClearance(Ground(), Particle(), dissipation=True), {"point_a": [0, 0, 0], "radius": 0.5, "stiffness": 40.0, "damping": 0.3},
    ),
    "blob with loss": (
        Cavity(blob, {"scale": 3, "offset": 1}, Ground(), Particle(), dissipation=True),
        {"point_a": [0, 0, 0], "frame_a": np.eye(3).ravel(), "scale": [0.8, 0.7, 0.6], "offset": 1.1, "stiffness": 40.0, "damping": 0.3},
    ),
}  # fmt: skip


def read(name: str, step: float = 1.0, samples: int = 200) -> Reading:
    element, constants = ELEMENTS[name]
    rng = np.random.default_rng(21)
    q0 = rng.normal(size=(element.size, samples))
    r = Reading(element, q0, q0 + step * rng.normal(size=q0.shape), constants, h=0.05)
    for k in element.history:  # admissible at the start: a plastic force within its limit
        spread = rng.uniform(-0.22, 0.22, samples)
        r.values |= {getattr(r.s.history, k)[0]: q0[0] + spread}
    return r


def stored_at_start(r: Reading, internal) -> np.ndarray:
    """Ψ of q₀ and the old internal variables: that of a step of no length."""
    at = r.values | dict(zip(r.x1, r.q0, strict=True)) | {r.s.h: 1e-300}
    return np.asarray(evaluate(internal.stored, at))


@pytest.mark.parametrize("step", [1.0, 1e-3, 1e-8])
@pytest.mark.parametrize("name", ELEMENTS)
def test_balance(name: str, step: float) -> None:
    r = read(name, step)
    internal = r.element.internal(r.s)
    work = np.einsum("in,in->n", r.forces(internal.forces), r.q1 - r.q0)
    stored = r.numbers([internal.stored])[0] - stored_at_start(r, internal)
    lost = r.numbers([internal.dissipated])[0]
    assert lost.min() >= 0.0
    assert lost.max() > 0.0 or step < 1.0
    assert np.abs(work - stored - lost).max() < 1e-13 * max(1.0, np.abs(r.numbers([internal.stored])).max(), lost.max())


@pytest.mark.parametrize("name", ELEMENTS)
def test_no_step_no_nan(name: str) -> None:
    r = read(name, 0.0, 20)
    internal = r.element.internal(r.s)
    f = list(internal.forces.values())
    slopes = [e for row in jacobian(f, r.x1) for e in row]
    assert np.isfinite(r.numbers([*f, *slopes, internal.dissipated, internal.stored])).all()


@pytest.mark.parametrize("name", ELEMENTS)
def test_tangent(name: str) -> None:
    r = read(name, 1.0, 1)
    f = list(r.element.internal(r.s).forces.values())
    # mid-coordinates move with the end
    f = substitute(f, {m: 0.5 * (a + b) for m, a, b in zip(r.flat(r.s.mid), r.x0, r.x1, strict=True)})
    J = r.numbers([e for row in jacobian(f, r.x1) for e in row]).reshape(len(f), -1)
    for j in range(r.element.size):
        sides = []
        for sign in (-1.0, 1.0):
            q = r.q1.copy()
            q[j] += sign * 1e-6
            sides.append(np.array(evaluate(f, r.values | dict(zip(r.x1, q, strict=True)))).reshape(len(f)))
        assert np.abs((sides[1] - sides[0]) / 2e-6 - J[:, j]).max() < 1e-6 * max(1.0, np.abs(J).max())


def march(element: Element, constants: dict, path: np.ndarray, h: float, history: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Forces and internal variable along a prescribed path of one coordinate."""
    (name,) = element.history
    forces, states = [], [history]
    for x0, x1 in itertools.pairwise(path):
        r = Reading(element, [x0], [x1], constants, {name: states[-1]}, h=h)
        internal = element.internal(r.s)
        forces.append(float(r.forces(internal.forces)[0]))
        states.append(float(evaluate(internal.history[name][0], r.values)))
    return np.array(forces), np.array(states)


def test_relaxation_of_the_standard_solid() -> None:
    """A held displacement relaxes as E∞ q + E_d q exp(−t/τ)."""
    element, constants = ELEMENTS["viscoelastic"]
    h = 0.005
    forces, _ = march(element, constants, np.full(401, 0.3), h)
    t = h * (np.arange(400) + 0.5)
    exact = 0.3 * (100.0 + 50.0 * np.exp(-t / 0.7))
    assert np.abs(forces / exact - 1.0).max() < 2e-5


def test_linear_solid_has_the_mid_point_force() -> None:
    element, constants = ELEMENTS["viscoelastic"]
    path = np.cumsum(np.random.default_rng(3).normal(size=50))
    forces, alpha = march(element, constants, path, 0.02)
    mid, mean = 0.5 * (path[1:] + path[:-1]), 0.5 * (alpha[1:] + alpha[:-1])
    assert forces == pytest.approx(100.0 * mid + 50.0 * (mid - mean), rel=1e-12)


def test_return_mapping() -> None:
    """Loading beyond the limit, unloading elastically, sliding back: a parallelogram of area 2 F_max · slip."""
    element, constants = ELEMENTS["plastic"]
    out, back = np.linspace(0.0, 1.0, 201), np.linspace(1.0, -1.0, 401)
    path = np.concatenate([out, back[1:], np.linspace(-1.0, 1.0, 401)[1:]])
    forces, plastic = march(element, constants, path, 0.01)
    assert np.abs(forces).max() <= 45.0 + 1e-12
    assert plastic[200] == pytest.approx(1.0 - 45.0 / 200.0, rel=1e-14)
    cycle = slice(200, None)
    loop = float(np.sum(forces[cycle] * np.diff(path[200:])))
    assert loop == pytest.approx(2 * 45.0 * (2.0 - 2 * 45.0 / 200.0), rel=1e-12)
