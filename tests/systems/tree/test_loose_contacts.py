"""Contacts of bodies that nothing holds: the factor of the inverse mass, and one array in the place of J and M⁻¹Jᵀ."""

from __future__ import annotations

import numpy as np

import jourdain as jd

INERTIA = ((0.02, 0.003, -0.002), (0.003, 0.03, 0.001), (-0.002, 0.001, 0.025))


def lumps(gravity: float, beside: bool = False) -> jd.System:
    """Two eccentric balls, with a pendulum beside them or without."""
    m = jd.Model("lumps", gravity=(0.0, 0.0, -gravity))
    m.ground.shapes.append(jd.plane())
    for i in range(2):
        body = m.body(f"b{i}", mass=2.0, com=(0.01, -0.02, 0.03), inertia=INERTIA)
        body.shapes.append(jd.sphere(0.1))
        m.free(f"f{i}", m.ground, body)
    if beside:
        m.revolute("j", m.ground, m.body("arm", mass=1.0, com=(0.0, 0.0, -0.5)), axis="y")
    m.contact("all", law=jd.contact.rigid(friction=0.4, restitution=0.3))
    return m.compile()


def test_the_factor_squared_is_the_inverse_of_the_mass_matrix() -> None:
    s = lumps(0.0)
    e = np.array([0.7, -0.3, 0.5, 0.4]) / np.linalg.norm([0.7, -0.3, 0.5, 0.4])
    start = {f"f{i}.orientation.e{k}": float(x) for i in range(2) for k, x in enumerate(e)} | {"f0.z": 1.0, "f1.z": 2.0}
    s.simulate(start, 2e-3, "moreau", step=1e-3)
    M = s.mass_matrix(s.state(start).q)
    for part in range(2):
        B = s._idle["contacts"][-1].parts.M[36 * part : 36 * (part + 1)].reshape(6, 6)
        block = M[6 * part : 6 * (part + 1), 6 * part : 6 * (part + 1)]
        assert np.abs(B @ B.T @ block - np.eye(6)).max() < 1e-12


def test_bodies_move_alike_alone_and_beside_what_is_held() -> None:
    start: dict[str, float] = {}
    for i in range(2):
        start |= {f"f{i}.x": 0.01 * i, f"f{i}.z": 0.12 + 0.22 * i, f"f{i}.x_rate": 0.7 - i, f"f{i}.orientation.omega_y": 3.0}
    found = []
    for beside in (False, True):
        s = lumps(9.81, beside)
        sol = s.simulate(start, 0.4, "moreau", step=1e-3, tolerance=1e-10)
        assert s._idle["contacts"][-1].record.halfway == (not beside)
        found.append(np.array([sol[f"f{i}.{c}"] for i in range(2) for c in ("x", "y", "z", "orientation.e0", "orientation.e2")]))
    assert np.abs(found[0] - found[1]).max() < 1e-11


def test_memory_of_bodies_that_nothing_holds_does_not_grow_with_their_square() -> None:
    s = lumps(9.81)
    s.simulate({"f0.z": 0.2, "f1.z": 0.5}, 2e-3, "moreau", step=1e-3)
    (native,) = s._idle["native"]
    elimination = native._constraints[0].elimination
    assert elimination.space.a0.size == s.nv
    assert elimination.ZM.size == elimination.reduced.size == elimination.space.Z.size == 0
