"""Rotor inertias of joints of several freedoms (MuJoCo's armature), and of joints that close loops: M, φ and motions in every formulation."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain import JourdainError, ModelError
from tests.reference import ReferenceTree


def spinning(**start: float) -> jd.Model:
    """A free body that carries another by a ball, both joints with rotors."""
    m = jd.Model("spinning")
    a = m.body("a", mass=2.0, com=(0.1, 0.2, -0.1), inertia=(0.3, 0.4, 0.5, 0.01, 0.02, -0.03))
    b = m.body("b", mass=1.0, com=(0.0, 0.1, -0.4), inertia=(0.1, 0.2, 0.15))
    m.free("f", m.ground, a, rotor_inertia=0.7)
    m.spherical("s", a.at(0.2, 0.1, 0.3), b.at(0.0, 0.0, 0.1), rotor_inertia=m.parameter("J", 0.4))
    m.initial.update(start)
    return m


@pytest.mark.parametrize("how", [{}, {"form": "looped"}, {"formulation": "semi-recursive"}], ids=str)
def test_mass_matrix_and_accelerations_against_the_reference(how: dict[str, str], rng: np.random.Generator) -> None:
    model = spinning()
    tree, s = ReferenceTree(model), model.compile(**how)
    q, v, a = tree.random_state(rng)
    x = s.state(dict(zip((*s.coordinate_names, *s.velocity_names), np.concatenate([q, v]).tolist(), strict=True)))
    tau = tree.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(s.mass_matrix(q), tree.mass_matrix(q), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(s.inverse_dynamics(q, v, a), tau, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(s.accelerations(x), np.linalg.solve(tree.mass_matrix(q), -tree.bias(q, v)), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("formulation", ["cartesian", "natural", "directors"])
def test_absolute_coordinates_refuse_them_by_name(formulation: str) -> None:
    with pytest.raises(JourdainError, match="joint '[fs]': a rotor inertia about all axes is known to joint coordinates alone"):
        spinning().compile(formulation=formulation).simulate(t=0.01)


@pytest.mark.parametrize("method", ["dop853", "radau", "generalized-alpha"])
def test_energy_is_kept(method: str) -> None:
    start = {"f.orientation.omega_x": 2.0, "f.orientation.omega_y": -1.0, "s.orientation.omega_z": 4.0, "f.x_rate": 1.0}
    options = {"step": 1e-3} if method == "generalized-alpha" else {"rtol": 1e-9, "atol": 1e-9}
    sol = spinning(**start).compile().simulate(t=1.0, method=method, **options)
    assert np.abs(sol["energy.error"]).max() < (1e-4 if method == "generalized-alpha" else 1e-6)


def test_a_loose_body_with_a_rotor_is_no_plain_loose_body() -> None:
    """Bodies that nothing holds have closed forms in runs with contacts; with m + J in the place of m it falls with m g/(m + J)."""
    m = jd.Model("ball")
    m.free("f", m.ground, m.body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1), shape=jd.sphere(0.1)), rotor_inertia=0.5)
    m.contact("touch", "ball", m.ground, law=jd.contact.rigid())
    sol = m.compile().simulate({"f.z": 5.0}, t=0.5, method="moreau", step=1e-3)
    assert sol["f.z"][-1] == pytest.approx(5.0 - 9.81 * 0.5**2 / 2 * 2.0 / 2.5, abs=1e-6)


def four_bar(**rotors: float) -> jd.Model:
    m = jd.Model("four-bar")
    a, b, c = (m.body(n, mass=1.0, com=(x, 0, 0), inertia=(0.01,) * 3) for n, x in (("a", 0.1), ("b", 0.2), ("c", 0.15)))
    m.revolute("j0", m.ground, a, axis="y", rotor_inertia=rotors.get("j0", 0.0))
    m.revolute("j1", a.at(0.2, 0, 0), b, axis="y", rotor_inertia=rotors.get("j1", 0.0))
    m.revolute("j2", m.ground.at(0.35, 0, 0), c, axis="y", rotor_inertia=rotors.get("j2", 0.0))
    m.revolute("j3", b.at(0.4, 0, 0), c.at(0.3, 0, 0), axis="y", cut=True, rotor_inertia=rotors.get("j3", 0.0))
    return m


def test_a_rotor_where_a_loop_is_cut_is_not_lost() -> None:
    """It was left out of joint coordinates without a word."""
    guess = {"j0.angle": -1.2, "j1.angle": 1.0, "j2.angle": -1.0}
    for verb in ("accelerations", "simulate", "modal"):
        s = four_bar(j3=0.5).compile()
        with pytest.raises(ModelError, match="joint 'j3' closes a loop, and a rotor inertia there .*cut=True there"):
            getattr(s, verb)(s.assemble(guess=guess), **({"t": 0.1} if verb == "simulate" else {}))
    # as the remedy says, and in other coordinates
    free = four_bar().compile()
    x = free.assemble(guess=guess, velocities={"j0.angle_rate": 2.0})
    angles = {n: float(x[n]) for n in guess}
    angles["j3.angle"] = angles["j2.angle"] - angles["j0.angle"] - angles["j1.angle"]
    moved = four_bar(j3=0.5)
    moved.joints["j3"].cut, moved.joints["j2"].cut = False, True
    ends = []
    for s in (moved.compile(), four_bar(j3=0.5).compile(formulation="cartesian")):
        start = s.assemble(guess={n: e for n, e in angles.items() if n in s.coordinate_names}, velocities={"j0.angle_rate": 2.0})
        sol = s.simulate(start, t=0.2, rtol=1e-10, atol=1e-10)
        ends.append(sol["j0.angle"][-1])
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)
    assert abs(ends[0] - free.simulate(x, t=0.2)["j0.angle"][-1]) > 0.01
