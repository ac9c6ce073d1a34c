"""Trees with flexible bodies against sums over the points that they are made of."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.formalisms.tree.energy import kinetic_energy, potential_energy
from jourdain.symbolic.derivatives import jacobian, jvp
from jourdain.symbolic.expr import LONG
from jourdain.symbolic.graph import evaluate

from .clouds import chain, cloud


class Sums:
    """Numbers of a model of clouds from the motion of every single point."""

    def __init__(self, system: jd.System, masses: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        eq = system.equations_of_motion
        self.k, self.model = eq.kinematics, system.model
        known = dict(zip(eq.q, q, strict=True)) | dict(zip(eq.v, v, strict=True)) | dict(zip(eq.a, a, strict=True))
        self.known = known | dict(zip(eq.p, system.parameter_vector, strict=True)) | {eq.t: 0.0}
        self.v, g = v, np.array([0.0, 0.0, -9.81])
        n = system.nv
        self.M, self.phi, self.kinetic, self.p, self.h = np.zeros((n, n)), np.zeros(n), 0.0, np.zeros(3), np.zeros(3)
        for name, weights in masses.items():
            for i, w in enumerate(weights):
                self._add(self.model.bodies[name].frames[f"n{i}"], w, g)
        self._add_rigid(g)

    def read(self, expressions: object) -> np.ndarray:
        return np.array([float(x) for x in evaluate(list(expressions), self.known)])  # type: ignore[call-overload]

    def _add(self, frame: object, w: float, g: np.ndarray, J: np.ndarray | None = None) -> None:
        k = self.k
        J = np.array([self.read(column) for column in k.jacobian(frame)[0]]).T  # type: ignore[arg-type]
        velocity = self.read(k.velocity(frame))  # type: ignore[arg-type]
        assert np.allclose(J @ self.v, velocity, rtol=0, atol=1e-11)
        self.M += w * J.T @ J
        self.phi += J.T @ (w * (self.read(k.acceleration(frame)) - g))  # type: ignore[arg-type]
        self.kinetic += 0.5 * w * velocity @ velocity
        self.p += w * velocity
        self.h += w * np.cross(self.read(k.position(frame)), velocity)  # type: ignore[arg-type]

    def _add_rigid(self, g: np.ndarray) -> None:
        body, k = self.model.bodies["r"], self.k
        self._add(body.at(0.1, 0.2, 0.3), 1.3, g)
        J = np.array([self.read(column) for column in k.jacobian(body)[1]]).T
        R = self.read(k.rotation(body).entries).reshape(3, 3)
        inertia, w = R @ np.diag([0.4, 0.5, 0.6]) @ R.T, self.read(k.angular_velocity(body))
        self.M += J.T @ inertia @ J
        self.phi += J.T @ (inertia @ self.read(k.angular_acceleration(body)) + np.cross(w, inertia @ w))
        self.kinetic += 0.5 * w @ inertia @ w
        self.h += inertia @ w


def near(found: object, expected: object, tolerance: float = 1e-13) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert np.abs(found - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3))])
def test_inertia_is_that_of_the_points(seed: int) -> None:
    model, masses = chain(seed)
    s = model.compile()
    rng = np.random.default_rng(100 + seed)
    q, v, a = rng.normal(size=s.nq), rng.normal(size=s.nv), rng.normal(size=s.nv)
    sums = Sums(s, masses, q, v, a)
    M = s.mass_matrix(q)
    near(M, sums.M)
    assert np.array_equal(M, M.T)
    near(s.inverse_dynamics(q, v, a), sums.phi)
    near(s.energy(q, v)[0], sums.kinetic)
    p, h, _ = s.function("momentum")(q, v)
    near(p, sums.p)
    near(h, sums.h)
    A, bias = s.function("centroidal")(q, v)
    near((A @ v)[:3], sums.p)
    near(s.function("coriolis")(q, v)[0] @ v + s.function("coriolis")(q, v)[1], s.bias(q, v), 1e-12)


@pytest.mark.slow
def test_many_modes_are_summed_by_loops() -> None:
    """Beyond LONG modes their numbers are arrays that native code runs over, one state at a time or several."""
    rng = np.random.default_rng(1)
    part, weights = cloud(6, LONG + 1, rng)
    m = jd.Model("many modes")
    body = m.flexible_body("a", part)
    for name in part.points:
        body.node(name)
    m.revolute("hinge", m.ground, body.node("n0"), axis="y")
    m.fixed("clamp", body.node("n1"), m.body("r", mass=1.3, com=(0.1, 0.2, 0.3), inertia=(0.4, 0.5, 0.6)))
    s = m.compile()
    q, v, a = rng.normal(size=s.nq), rng.normal(size=s.nv), rng.normal(size=s.nv)
    sums = Sums(s, {"a": weights}, q, v, a)
    near(s.mass_matrix(q), sums.M, 1e-12)
    near(s.inverse_dynamics(q, v, a), sums.phi, 1e-12)
    many = rng.normal(size=(5, s.nv))
    batch = s.inverse_dynamics(np.tile(q, (5, 1)), many, many)
    near(batch[3], s.inverse_dynamics(q, many[3], many[3]), 1e-13)


def test_derivatives_are_those_of_the_values() -> None:
    model, _ = chain(2)
    s = model.compile()
    rng = np.random.default_rng(7)
    q, v, a = (0.5 * rng.normal(size=s.nv) for _ in range(3))
    dq, dv, M = s.function("inverse_dynamics_derivatives")(q, v, a)
    near(M, s.mass_matrix(q))
    step = 1e-6
    for i in range(s.nv):
        e = np.zeros(s.nv)
        e[i] = step
        near(dq[:, i], (s.inverse_dynamics(q + e, v, a) - s.inverse_dynamics(q - e, v, a)) / (2 * step), 1e-7)
        near(dv[:, i], (s.inverse_dynamics(q, v + e, a) - s.inverse_dynamics(q, v - e, a)) / (2 * step), 1e-7)
    tau = rng.normal(size=s.nv)
    near(s.inverse_dynamics(q, v, s.tree_accelerations(q, v, tau)), tau, 1e-11)


WAYS = [
    ("recursive", {}), ("semi-recursive", {}), ("semi-recursive", {"point": "cg"}), ("semi-recursive", {"point": "body"}),
    ("cartesian", {"rotation": "euler-parameters"}), ("cartesian", {"rotation": "rotation-vector"}),
]  # fmt: skip


@pytest.mark.parametrize(("formulation", "options"), WAYS)
def test_every_formulation_gives_the_same_motion_and_reactions(formulation: str, options: dict) -> None:
    reference = chain(3)[0].compile()
    s = chain(3)[0].compile(formulation=formulation, **options)
    rng = np.random.default_rng(11)
    c = reference.configuration
    start = [dict(zip(names, 0.3 * rng.normal(size=s.reference.nv), strict=True)) for names in (c.position_names, c.velocity_names)]
    x, y = reference.state(*start), s.state(*start)
    near(s.accelerations(y), reference.accelerations(x), 1e-11)
    expected = reference.reactions(x)
    for name, wrench in s.reactions(y).items():
        near(wrench, expected[name], 1e-10)
    run = s.simulate(y, t=0.1, rtol=1e-10, atol=1e-12)
    known = reference.simulate(x, t=0.1, rtol=1e-10, atol=1e-12)
    for channel in ("a.mode2", "b.mode1", "j3.angle", "c.mode1_rate"):
        near(run[channel][-1], known[channel][-1], 1e-8)
    assert run.metadata["status"] == "finished"
    assert np.ptp(run["energy.error"]) < 1e-5 * run["energy.kinetic"].max()


def test_energy_is_kept_but_for_what_dampers_take() -> None:
    s = chain(4)[0].compile()
    rng = np.random.default_rng(5)
    c = s.configuration
    x = s.state(
        dict(zip(c.position_names, 0.2 * rng.normal(size=s.nq), strict=True)),
        dict(zip(c.velocity_names, rng.normal(size=s.nv), strict=True)),
    )
    run = s.simulate(x, t=0.5, rtol=1e-11, atol=1e-13)
    assert run["energy.dissipated"][-1] > 0.1
    assert np.ptp(run["energy.error"]) < 1e-8 * run["energy.total"].max()


@pytest.mark.parametrize(
    "formulation, why",
    [
        ("natural", r"'a' of 'clouds' is flexible; use recursive"),
        ("directors", r"flexible body 'a': formulation 'directors' makes nonlinear elements of solids in space .* but this structure has"),
    ],
)
def test_formulations_of_rigid_bodies_say_so(formulation: str, why: str) -> None:
    with pytest.raises(jd.InputError, match=why):
        chain()[0].compile(formulation=formulation)
    with pytest.raises(jd.InputError, match="looped form serves trees of rigid bodies"):
        chain()[0].compile(form="looped")
    with pytest.raises(jd.InputError, match="the regressor knows rigid bodies only"):
        chain()[0].compile().function("regressor")
    with pytest.raises(jd.InputError, match="a derivation step by step knows rigid bodies only"):
        jd.derive(chain()[0], "lagrange")


@pytest.mark.parametrize("order", [1, 2])
def test_forces_are_those_of_lagrange_from_the_kinetic_energy(order: int) -> None:
    """φ = d/dt ∂T/∂v − ∂T/∂q + ∂V/∂q, whatever the polynomials of the inertia."""
    s = chain(5, order)[0].compile()
    eq = s.equations_of_motion
    T, V = kinetic_energy(eq.kinematics), potential_energy(eq.kinematics)
    p = jacobian([T], eq.v)[0]
    rates = jvp(p, dict(zip(eq.q, eq.v, strict=True)) | dict(zip(eq.v, eq.a, strict=True)))
    slopes = jacobian([T - V], eq.q)[0]
    rng = np.random.default_rng(13)
    q, v, a = (0.7 * rng.normal(size=s.nv) for _ in range(3))
    known = dict(zip((*eq.q, *eq.v, *eq.a), (*q, *v, *a), strict=True)) | dict(zip(eq.p, s.parameter_vector, strict=True))
    expected = np.array(evaluate(rates, known), float) - np.array(evaluate(slopes, known), float)
    near(s.inverse_dynamics(q, v, a), expected, 1e-12)
    near(s.mass_matrix(q), np.array(evaluate([e for row in jacobian(p, eq.v) for e in row], known), float).reshape(s.nv, s.nv), 1e-12)


@pytest.mark.slow
def test_terms_of_second_order_are_complete() -> None:
    """Against the points themselves, masses are missed in the second order of the amplitudes only, and moments in the third."""
    model, masses = chain(6, 2)
    s = model.compile()
    rng = np.random.default_rng(17)
    q, v, a = (rng.normal(size=s.nv) for _ in range(3))
    modes = ["mode" in n for n in s.configuration.position_names]
    missed = []
    for size in (0.04, 0.02):
        at = np.where(modes, size * q, q)
        M = Sums(s, masses, at, v, a).M
        missed.append(np.abs(s.mass_matrix(at) - M).max())
    assert missed[0] / missed[1] == pytest.approx(4.0, rel=0.1)
    still = np.where(modes, 0.0, v)
    rigid = []
    for size in (0.04, 0.02):
        at = np.where(modes, size * q, q)
        rigid.append(abs(s.energy(at, still)[0] - Sums(s, masses, at, still, a).kinetic))
    assert rigid[0] / rigid[1] > 6.0
