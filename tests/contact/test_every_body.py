"""Every body by every model: the books of energy and momentum close, or the model refuses; roles may be exchanged."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jourdain as jd

C = jd.contact

BALL = C.ball(0.015, E=210e9, nu=0.3, density=7780.0)
ALUMINIUM = {"E": 70e9, "nu": 0.33, "density": 2700.0}
PART = jd.structures.beam(
    (0, 0, 0), (0.4, 0, 0), jd.structures.circle(0.02), jd.structures.Material(70e9, 0.33, 2700.0), elements=20, theory="timoshenko"
)
BODIES = {
    "ball": lambda **more: C.ball(0.02, **ALUMINIUM, **more),
    "rod": lambda **more: C.rod(0.4, 0.01, **ALUMINIUM, **more),
    "beam": lambda **more: C.beam(0.4, 0.01, **ALUMINIUM, elements=40, **more),
    "plate": lambda **more: C.plate(0.1, 0.01, **ALUMINIUM, **more),
    "disc": lambda **more: C.disc(0.1, 0.01, **ALUMINIUM, **more),
    "cylinder": lambda **more: C.cylinder(0.1, 0.03, **ALUMINIUM, **more),
    "structure": lambda **more: C.structure(PART, "middle", "-z", radii=(0.01, None), E=70e9, nu=0.33, **more),
}
MODELS = {
    "waves": {"model": "waves"},
    "modes": {"model": "modes"},
    "hertz": {"model": "finite elements", "contact": "hertz"},
    "penalty": {"model": "finite elements", "contact": "penalty", "quiet": 1e-5},
}
REFUSED = {("waves", b) for b in ("beam", "plate", "disc", "cylinder", "structure")} | {
    ("penalty", b) for b in ("beam", "plate", "disc", "structure")
}
#: Finite elements kick with the force of a step's begin, and lump masses.
CLOSED = {"waves": 1e-6, "modes": 1e-6, "hertz": 5e-3, "penalty": 2e-2}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("model", MODELS)
def test_books_close(model: str, body: str) -> None:
    struck = BODIES[body]()
    if (model, body) in REFUSED:
        with pytest.raises(jd.InputError, match=struck.name):
            jd.restitution(BALL, struck, 0.2, **MODELS[model])
        return
    e = jd.restitution(BALL, struck, 0.2, **MODELS[model])
    assert e.history.finished
    before = 0.5 * BALL.mass * 0.2**2
    assert abs(e.energy_in_waves - e.loss * before) < CLOSED[model] * before
    assert_allclose(sum(c.impulse for c in e.contacts), e.impulse, rtol=1e-9)
    assert -0.2 < e.value < 1.01
    t = np.linspace(0, e.history.time[-1], 50)
    assert np.isfinite(
        e.history.b.displacement(0.0 if model != "modes" or body in ("ball", "rod") else struck.elastic().places[0], t)
    ).all()
    if model != "penalty":  # the ball itself vibrates there
        later = e.history.time[-1]
        assert_allclose(e.history.a.velocity(0.0, later), e.speeds[0], atol=2e-4)


@pytest.mark.parametrize("model", MODELS)
def test_who_comes_and_who_waits_is_the_same(model: str) -> None:
    rod = BODIES["rod"]()
    one, other = jd.restitution(BALL, rod, 0.2, **MODELS[model]), jd.restitution(rod, BALL, 0.2, **MODELS[model])
    assert_allclose(other.impulse, one.impulse, rtol=1e-8)
    assert_allclose(other.energy_in_waves, one.energy_in_waves, rtol=1e-6)
    if model in ("waves", "modes"):
        x, t = 0.15, np.linspace(2e-5, 3e-4, 40)
        assert_allclose(other.history.a.strain(x, t), one.history.b.strain(x, t), atol=1e-6 * np.abs(one.history.b.strain(x, t)).max())
        assert_allclose(other.history.a.velocity(x, t), 0.2 - one.history.b.velocity(x, t), atol=1e-7)


@pytest.mark.parametrize("model", ["modes", "hertz"])
def test_a_structure_that_strikes(model: str) -> None:
    """Its whole body comes along the blow, whatever its axes are."""
    part = BODIES["structure"]()
    one, other = jd.restitution(BALL, part, 0.2, **MODELS[model]), jd.restitution(part, BALL, 0.2, **MODELS[model])
    assert_allclose(other.impulse, one.impulse, rtol=1e-7)


@pytest.mark.parametrize("body", ["rod", "beam", "plate", "cylinder", "structure"])
def test_viscosity_takes_energy(body: str) -> None:
    """Less is left in vibration than the rigid motion lost; elements and modes take about the same."""
    eta = 2e-7
    before = 0.5 * BALL.mass * 0.2**2
    left = {}
    for model in ("modes", "hertz"):
        e = jd.restitution(BALL, BODIES[body](viscosity=eta), 0.2, **MODELS[model])
        left[model] = e.energy_in_waves / before
        assert e.energy_in_waves < e.loss * before
    if body in ("beam", "structure"):  # rods and cylinders also yield under the point load of elements
        assert_allclose(left["hertz"], left["modes"], rtol=0.1)


def test_modes_and_waves_of_a_rod_agree_everywhere() -> None:
    rod = BODIES["rod"]()
    waves, modes = jd.restitution(BALL, rod, 0.2, "waves"), jd.restitution(BALL, rod, 0.2, "modes", modes=400)
    t = np.linspace(0, 1e-3, 500)
    for x in (0.1, 0.25, 0.4):
        assert_allclose(
            modes.history.b.displacement(x, t), waves.history.b.displacement(x, t), atol=2e-3 * np.ptp(waves.history.b.displacement(x, t))
        )
    strain = waves.history.b.strain(0.2, t)
    assert np.abs(modes.history.b.strain(0.2, t) - strain).max() < 0.02 * np.ptp(strain)
