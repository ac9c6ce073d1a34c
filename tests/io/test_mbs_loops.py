"""Loops of ROBOTRAN files have ROBOTRAN's h, J, J̇q̇ and λ, in every formulation; the expected numbers come from dense NumPy kinematics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from tests.io.mbs_files import LOOPS, between, body, joint, loop_file, mbs, point
from tests.reference import ReferenceTree, skew

FORMULATIONS = ("recursive", "cartesian", "natural", "directors", "semi-recursive")


class Robotran:
    """h, J and J̇v of the one cut of a file, whose ends have the body ``turret`` as their youngest common ancestor.

    Manual, section 3.2.3, and generated code: x_1 − x_2 in the ancestor's axes; ½(|x_1 − x_2|² − l²); off-diagonal entries 32, 13, 21 of
    A B^T, with the Jacobian of ω_1 − ω_2.
    """

    def __init__(self, model: jd.Model) -> None:
        self.tree = ReferenceTree(model)
        (self.cut,) = model.imported["cuts"]

    def _end(self, path: str, state: Any) -> tuple[np.ndarray, ...]:
        """Rotation, position, velocity, angular velocity, both accelerations, both Jacobians (world axes)."""
        frame = self.tree.model.frame(path)
        pose, twist, acc, J = (getattr(state, k)[frame.body.name] for k in ("pose", "twist", "acceleration", "jacobian"))
        p = pose.p + pose.R @ np.array([float(x) for x in frame.position])
        w, al = twist[:3], acc[:3]
        v = twist[3:] + np.cross(w, p)
        a = acc[3:] + np.cross(al, p) + np.cross(w, v)
        return pose.R, p, v, w, a, al, J[3:] - skew(p) @ J[:3], J[:3]

    def __call__(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        state = self.tree.kinematics(q, v, np.zeros_like(v))
        R1, p1, v1, w1, a1, al1, J1, W1 = self._end(self.cut.first, state)
        R2, p2, v2, w2, a2, al2, J2, W2 = self._end(self.cut.second, state)
        E, _, _, w, _, al, _, W = self._end("turret", state)
        d, dd, ddd, JD = p1 - p2, v1 - v2, a1 - a2, J1 - J2
        if self.cut.kind == "rod":
            return np.array([0.5 * (d @ d - self.cut.length**2)]), (d @ JD)[None], np.array([d @ ddd + dd @ dd])
        rates = ddd - np.cross(al, d) - 2.0 * np.cross(w, dd) + np.cross(w, np.cross(w, d))
        h, J, g = E.T @ d, E.T @ (JD + skew(d) @ W), E.T @ rates
        kept = ["xyz".index(c) for c in "xyz" if c not in self.cut.ignore]
        h, J, g = h[kept], J[kept], g[kept]
        if self.cut.kind == "solid":
            S = E.T @ R1 @ R2.T @ E
            h = np.append(h, [S[2, 1], S[0, 2], S[1, 0]])
            J = np.vstack([J, E.T @ (W1 - W2)])
            g = np.append(g, E.T @ (al1 - al2 - np.cross(w, w1 - w2)))
        return h, J, g


@pytest.fixture(scope="module")
def models() -> dict[str, jd.Model]:
    return {kind: jd.read_mbs(loop_file(kind)) for kind in LOOPS}


@pytest.mark.parametrize("kind", LOOPS)
def test_rows_jacobian_and_velocity_terms_are_robotrans(kind: str, models: dict[str, jd.Model], rng: np.random.Generator) -> None:
    system, theirs = models[kind].compile(), Robotran(models[kind])
    for _ in range(5):
        q, v, _ = theirs.tree.random_state(rng)
        h, J, g = theirs(q, v)
        ours_h, ours_J = system.function("constraints")(np.zeros(1), q)
        w, again = system.function("constraint_velocities")(np.zeros(1), q, v)
        _, _, J4, g4, *_ = system.function("descriptor")(np.zeros(1), np.concatenate([q, v]), np.zeros(0))
        assert len(h) == LOOPS[kind]
        np.testing.assert_allclose(ours_h, h, rtol=0, atol=1e-13)
        for matrix in (ours_J, again, J4):
            np.testing.assert_allclose(matrix, J, rtol=0, atol=1e-13)
        np.testing.assert_allclose(w, J @ v, rtol=0, atol=1e-12)
        np.testing.assert_allclose(-g4, g, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", LOOPS)
def test_both_ways_to_the_rates_agree(kind: str, models: dict[str, jd.Model], rng: np.random.Generator) -> None:
    from jourdain.symbolic.graph import evaluate

    eq = models[kind].compile().equations_of_motion
    known = dict(zip((*eq.q, *eq.v), rng.normal(size=len(eq.q) + len(eq.v)), strict=True)) | {
        p.symbol: p.value for p in eq.model.parameter_set
    }
    ways = [eq.rates_by_differentiation, eq.rates_by_unit_velocities]
    for a, b in zip(*([*J.values(), *rates] for J, rates in ((dict(sorted(J.items())), r) for J, r in ways)), strict=True):
        assert evaluate([a], known)[0] == pytest.approx(evaluate([b], known)[0], abs=1e-12)


def closed_state(system: Any, theirs: Robotran, rng: np.random.Generator) -> Any:
    """A closed state off q = 0, moving with admissible random velocities."""
    start = {n: 0.25 * x for n, x in zip(system.coordinate_names, rng.normal(size=len(system.coordinate_names)), strict=True)}
    q = system.assemble({}, guess=start).q
    J = theirs(q, np.zeros(system.nv))[1]
    v = rng.normal(size=system.nv)
    v -= np.linalg.lstsq(J, J @ v, rcond=None)[0]
    return system.state(dict(zip(system.coordinate_names, q, strict=True)), dict(zip(system.velocity_names, v, strict=True)))


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("kind", LOOPS)
def test_multipliers_balance_the_tree_with_robotrans_jacobian(
    kind: str, formulation: str, models: dict[str, jd.Model], rng: np.random.Generator
) -> None:
    """M a + c = J^T λ with M, c, J of the NumPy tree: λ has ROBOTRAN's sign, scale and axes, whatever the unknowns."""
    theirs = Robotran(models[kind])
    system = models[kind].compile(formulation=formulation)
    state = closed_state(system.reference, theirs, rng)
    q, v = state.q, state.v
    h, J, g = theirs(q, v)
    np.testing.assert_allclose(h, 0.0, atol=1e-10)
    a, found = system.accelerations(state), system.multipliers(state)
    np.testing.assert_allclose(J @ a, -g, atol=1e-8)
    needed = theirs.tree.inverse_dynamics(q, v, a)
    names = [r.name for r in models[kind].compile().equations_of_motion.rows]
    if formulation == "natural" and names[0] not in found:
        assert kind in ("ball", "body")  # both bodies share the point: there is no equation and no multiplier
        lam = np.linalg.lstsq(J.T, needed, rcond=None)[0]
    else:
        lam = np.array([found[n] for n in names])
    np.testing.assert_allclose(J.T @ lam, needed, rtol=0, atol=1e-8 * np.abs(needed).max())
    if kind in ("ball", "body"):  # spec: the force and torque of the second body on the first
        force, torque = system.reactions(state)["cut"]
        E = theirs.tree.kinematics(q).pose["turret"].R
        wrench = np.append(-E @ lam[:3], -E @ lam[3:] if kind == "body" else np.zeros(3))
        np.testing.assert_allclose(np.append(force, torque), wrench, rtol=0, atol=1e-7 * np.abs(wrench).max())


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("kind", ["rod", "body"])
def test_the_motion_does_not_depend_on_the_convention(kind: str, formulation: str, rng: np.random.Generator) -> None:
    theirs, ours = (jd.read_mbs(loop_file(kind)) for _ in range(2))
    ours.constraints["cut"].convention = "jourdain"  # type: ignore[union-attr]
    start = closed_state(theirs.compile(), Robotran(theirs), rng)
    options = {"method": "variational", "step": 1e-3} if formulation == "directors" else {"rtol": 1e-10, "atol": 1e-12}
    ends = []
    for model in (theirs, ours):
        system = model.compile(formulation=formulation)
        given = [dict(zip(names, x, strict=True)) for names, x in ((system.coordinate_names, start.q), (system.velocity_names, start.v))]
        solution = system.simulate(system.state(*given), 0.3, **options)
        ends.append([solution[n][-1] for n in system.coordinate_names])
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-7)


def planar_loop() -> str:
    """A four-bar linkage in the plane y = 0.1 of its base, whose points have the offset."""
    right, tip = point("right", (1.0, 0.1, 0.0)), point("tip", (0.8, 0.05, 0.0))
    bodies = [
        body("a", ("base", "left"), [joint("ja", "R2", q0=-0.9)], [point("tip", (0.4, 0.0, 0.0))]),
        body("b", ("a", "tip"), [joint("jb", "R2", "dependent", q0=0.8)], [tip]),
        body("c", ("base", "right"), [joint("jc", "R2", "dependent", q0=-1.2)], [point("tip", (0.5, 0.05, 0.0))]),
    ]
    return mbs("plane", [point("left", (0.0, 0.1, 0.0)), right], bodies, between("ball", "cut", ("b", "tip"), ("c", "tip")))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_equations_of_parameters_alone_are_conditions(formulation: str, rng: np.random.Generator) -> None:
    """The row normal to the plane reads b.tip.y + left.y − c.tip.y − right.y = 0: it holds with the file's values."""
    numbers, symbolic = (jd.read_mbs(planar_loop(), parameters=p) for p in ("numbers", "symbolic"))
    q = rng.normal(size=3)
    plain, named = numbers.compile(formulation=formulation), symbolic.compile(formulation=formulation)
    both = [s.reference.function("constraints")(np.zeros(1), q) for s in (plain, named)]
    for a, b in zip(*both, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-15)
    assert [r.name for r in named.reference.equations_of_motion.rows] == ["cut[1]", "cut[3]"]
    assert list(named.reference.equations_of_motion.conditions) == ["cut[2]"]
    start = named.assemble({"ja.angle": -0.9}, guess={"jb.angle": 0.8, "jc.angle": -1.2})
    names = {n: start[n] for n in named.coordinate_names}
    np.testing.assert_allclose(named.accelerations(named.state(names)), plain.accelerations(plain.state(names)), rtol=1e-9, atol=1e-9)
    with pytest.raises(
        jd.InputError, match=r"constraint 'cut\[2\]' depends on parameters alone .* 0.1 = 0 with .*b.tip.y = 0.15"
    ) as caught:
        named.set_parameters(**{"b.tip.y": 0.15})
    assert "give values with which it holds" in str(caught.value)
    assert named.parameters["b.tip.y"] == 0.05  # refused whole
    named.set_parameters(**{"b.tip.y": 0.15, "c.tip.y": 0.15})
    values = named.parameter_vector.copy()
    values[list(named.parameters).index("b.tip.y")] = 0.05
    with pytest.raises(jd.InputError, match="depends on parameters alone"):
        named.copy(values)


def test_contradicting_values_are_refused_at_once() -> None:
    text = planar_loop().replace("<x>0.5</x><y>0.05</y>", "<x>0.5</x><y>0.06</y>")
    with pytest.raises(jd.ModelError, match=r"constraint 'cut\[2\]' cannot be met: it reads -0.01 = 0"):
        assert jd.read_mbs(text).compile().equations_of_motion.rows
    with pytest.raises(jd.ModelError, match=r"constraint 'cut\[2\]' depends on parameters alone and cannot be met: it reads -0.01 = 0"):
        assert jd.read_mbs(text, parameters="symbolic").compile().equations_of_motion.rows


def test_a_model_file_keeps_the_convention(models: dict[str, jd.Model], tmp_path: Any, rng: np.random.Generator) -> None:
    for kind, model in models.items():
        model.save(tmp_path / "loop.toml")
        copy = jd.load_model(tmp_path / "loop.toml")
        assert copy.compile().fingerprint == model.compile().fingerprint
        q, v, _ = ReferenceTree(model).random_state(rng)
        h, J, _ = Robotran(model)(q, v)
        again = copy.compile().function("constraints")(np.zeros(1), q)
        np.testing.assert_allclose(again[0], h, atol=1e-13, err_msg=kind)
        np.testing.assert_allclose(again[1], J, atol=1e-13)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"kind": "revolute", "convention": "robotran"}, "ROBOTRAN has no cut of kind 'revolute'"),
        ({"kind": "ball", "convention": "adams"}, "convention 'adams' is unknown; use one of jourdain, robotran"),
        ({"kind": "ball", "ignore": ["x"]}, "is for a ball or body of convention='robotran'"),
        ({"kind": "ball", "convention": "robotran", "ignore": ["u"]}, "the direction 'u'"),
    ],
)
def test_what_the_convention_cannot_say(options: dict[str, Any], words: str) -> None:
    m = jd.Model("m")
    a = m.body("a", mass=1.0)
    m.revolute("j", m.ground, a)
    with pytest.raises(jd.ModelError, match="closure 'c'") as caught:
        m.close("c", m.ground, a.at(1, 0, 0), **options)
    assert words in str(caught.value)
