"""Equation error with the regressor, physically consistent masses, motions that excite."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.analysis.identification.inertia import _of_pseudo_inertia, _pseudo_inertia


def arm(scale: float = 1.0) -> jd.System:
    m = jd.Model("arm")
    at = m.ground.frame("base", (0, 0, 0.3))
    for i, axis in enumerate("zyy"):
        body = m.body(
            f"link{i}",
            mass=scale * (3.0 - 0.5 * i),
            com=(0.2, 0.02 * i, 0.05),
            inertia=tuple(scale * np.array((0.03, 0.05, 0.04)) * (1 + i)),
        )
        m.revolute(f"j{i}", at, body, axis=axis)
        at = body.frame("tip", (0.4, 0, 0))
    m.joint_spring(m.joints["j1"], 4.0, damping=0.3)
    return m.compile()


LIMITS = {"j0.angle": 1.2, "j1.angle": 0.8, "j2.angle": 1.0}


def test_forces_are_met_on_other_motions() -> None:
    """From wrong numbers: combinations that forces tell are found to rounding, so that forces of another motion are predicted."""
    true, guess = arm(), arm(1.7)
    plan = true.excitation(LIMITS, period=3.0, limit=8)
    assert plan.condition < plan.first
    path = true.kinematics(plan.times(120), plan.motion)
    forces = true.inverse_dynamics_along(path, ["j0", "j1", "j2"])
    random = np.random.default_rng(1)
    q, v, a = random.normal(size=(3, 3))
    other = true.function("regressor")
    known = {"t": np.zeros(1), "q": q, "v": v, "a": a}
    Y = np.asarray(other(*(known[n] for n in other.inputs))).reshape(3, -1)
    for consistent, close in ((False, 1e-9), (True, 1e-5)):
        fit = guess.identify_inertia((path.t, path.q, path.v, path.a), forces.forces, consistent=consistent)
        expected = true.inverse_dynamics(q, v, a)
        assert np.abs(Y @ np.array(list(fit.values.values())) - expected).max() < close * np.abs(expected).max()
        assert fit.left < close * np.abs(forces.forces).max() and fit.rank == 30 - len(fit.unknown) < 30


def test_noise_makes_impossible_bodies_unless_it_may_not() -> None:
    true, random = arm(), np.random.default_rng(3)
    path = true.kinematics(np.linspace(0, 1.0, 40), {n: (lambda t, k=k: 0.3 * jd.sin((2 + k) * t)) for k, n in enumerate(LIMITS)})
    forces = true.inverse_dynamics_along(path, ["j0", "j1", "j2"]).forces
    noisy = forces + random.normal(0, 0.02 * np.abs(forces).max(), forces.shape)
    given = (path.t, path.q, path.v, path.a)
    plain, possible = (arm(1.3).identify_inertia(given, noisy, consistent=c) for c in (False, True))
    least = [
        [np.linalg.eigvalsh(_pseudo_inertia(np.array(list(f.values.values()))[10 * k : 10 * k + 10])).min() for k in range(3)]
        for f in (plain, possible)
    ]
    assert min(least[0]) < 0 and min(least[1]) > -1e-12
    assert all(m > 0 and np.linalg.eigvalsh(inertia).min() > -1e-9 for m, _, inertia in possible.bodies.values())
    assert possible.left < 1.2 * plain.left


def test_pseudo_inertia_there_and_back() -> None:
    pi = np.array([2.0, 0.1, -0.2, 0.3, 0.5, 0.6, 0.4, 0.02, -0.01, 0.03])
    assert np.abs(_of_pseudo_inertia(_pseudo_inertia(pi)) - pi).max() < 1e-15


def test_wrong_input() -> None:
    s = arm()
    given = (np.zeros(4), *(np.zeros((4, 3)) for _ in range(3)))
    with pytest.raises(jd.InputError, match=r"shape \(4, 3\)"):
        s.identify_inertia(given, np.zeros((4, 2)))
    with pytest.raises(jd.InputError, match="limits must be given for every coordinate"):
        s.excitation({"j0.angle": 1.0})
    with pytest.raises(jd.InputError, match="loops are not carried"):
        jd.library.four_bar().compile().identify_inertia(given, np.zeros((4, 3)))


@pytest.mark.parametrize("samples", [80, 3])
def test_parameters_of_untold_combinations_have_no_errors(samples: int) -> None:
    """Their parts outside what is told are those of the first guess: an error of zero would call them exact.  Fewer equations than parameters leave more of them."""
    true = arm()
    path = true.kinematics(np.linspace(0, 1.0, samples), {n: (lambda t, k=k: 0.3 * jd.sin((2 + k) * t)) for k, n in enumerate(LIMITS)})
    forces = true.inverse_dynamics_along(path, ["j0", "j1", "j2"]).forces
    forces = forces + 0.01 * np.random.default_rng(0).normal(size=forces.shape)
    fit = true.identify_inertia(path, forces, consistent=False)
    lost = {n for combination in fit.unknown for n in combination}
    assert fit.rank == 30 - len(fit.unknown) <= min(30, 3 * samples) and lost
    assert all(np.isinf(e) == (n in lost) for n, e in fit.errors.items())
    assert "link0.m " in str(fit) and str(fit).count("in combinations only") == len(lost)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"period": -1.0}, "period = -1 s must be positive"), ({"harmonics": 0}, "harmonics = 0"), ({"samples": 6}, "more than two samples for each"),
     ({"limits": {**LIMITS, "j1.angle": -0.8}}, "the limit of 'j1.angle' = -0.8 must be positive")],
)  # fmt: skip
def test_excitations_that_are_none(given: dict, message: str) -> None:
    with pytest.raises(jd.InputError, match=message):
        arm().excitation(**({"limits": LIMITS} | given))
