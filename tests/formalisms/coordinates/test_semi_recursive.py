"""The semi-recursive formulation: worked numbers, path matrix, fill-in, reference points, rods, closures, against the recursive one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.formalisms.coordinates.semi_recursive import REFERENCES, SemiRecursive
from jourdain.formalisms.equations import Equations
from jourdain.formalisms.tree.articulated_blocks import accelerations
from jourdain.formalisms.tree.composite_body import mass_matrix
from jourdain.formalisms.tree.mass_factor import SparseFactor
from jourdain.formalisms.tree.newton_euler import inverse_dynamics
from jourdain.library import car as cars
from jourdain.library import mechanisms, suspensions
from jourdain.symbolic import symbols
from jourdain.symbolic.expr import ZERO
from tests.formalisms.strategies import error, matrix_of, random_state, random_trees, values, vector_of

seeds = st.integers(0, 10**6)

# --- test system S1: the tree of Fig. 4 --------------------------------------------------------------------------

#: body: parent, joint, place on the parent, axis, place on the body, mass, centre of mass, inertia; bodies and joints from the root up
TREE = {
    5: (0, "revolute", (0, 0, 1), "y", (0, 0, 0), 5.0, (0, 0, -0.25), (0.20, 0.25, 0.10)),
    4: (5, "revolute", (-0.3, 0.1, -0.5), "y", (0, 0, 0.1), 2.5, (0, 0.03, -0.1), (0.05, 0.06, 0.02)),
    3: (4, "prismatic", (0, 0, -0.3), "z", (0, 0, 0), 1.5, (0.02, 0, -0.1), (0.03, 0.03, 0.01)),
    2: (5, "revolute", (0.3, 0, -0.5), "x", (0, 0, 0.2), 2.0, (0, 0, -0.05), (0.04, 0.05, 0.01)),
    1: (2, "revolute", (0, 0, -0.4), "y", (0, 0, 0.2), 1.0, (0.01, 0.02, 0), (0.02, 0.02, 0.005)),
}
POSITION = {1: 0.3, 2: -0.2, 3: 0.1, 4: 0.4, 5: 0.25}
RATE = {1: 1.0, 2: -0.7, 3: 0.5, 4: 0.9, 5: -1.2}
MASS = [
    [0.0601, 0.000991013529, 0, 0, 0.256208269607],
    [0.000991013529, 0.814561747446, 0, 0, 0.063557790351],
    [0, 0, 1.5, -0.03, 0.09241369057],
    [0, 0, -0.03, 0.4306, 1.063243325852],
    [0.256208269607, 0.063557790351, 0.09241369057, 1.063243325852, 6.683047549741],
]
FORCE = [-1.163674663099, 2.497012743496, -13.015462054988, -6.322068405956, -24.960460250534]
ACCELERATION = [-14.957047302419, 3.165250271366, -8.866914494321, -12.71793346039, -1.045606086312]
WITH_ROD = [
    [0.102766666667, 0.000991013529, -0.005613820661, 0.026472272196, 0.456212338549],
    [0.000991013529, 1.071785311172, -0.023962325628, -0.005065554390, 0.060146433197],
    [-0.005613820661, -0.023962325628, 1.766666666667, -0.03, 0.015911047073],
    [0.026472272196, -0.005065554390, -0.03, 0.497266666667, 1.291978216891],
    [0.456212338549, 0.060146433197, 0.015911047073, 1.291978216891, 7.924214186449],
]


def tree_of_five(rod: float | None = None, length: float | None = None, order=(5, 2, 4, 1, 3)) -> jd.Model:
    m = jd.Model("S1")
    bodies = {0: m.ground}
    for i in order:
        parent, kind, out, axis, own, mass, com, inertia = TREE[i]
        bodies[i] = m.body(f"b{i}", mass=mass, com=com, inertia=inertia)
        m.joint(kind, f"j{i}", bodies[parent].at(*out), bodies[i].at(*own), axis=axis)
    if length is not None:
        m.rod("rod", bodies[1].at(0, 0, -0.2), bodies[3].at(0, 0, -0.2), length, mass=rod)
    return m


def numbered(eq, position=POSITION, rate=RATE):
    """Values of the symbols, and the columns of the joints 1 to 5."""
    order = [int(c.names[0][1]) for c in eq.tree.coordinates]
    known = {eq.q[k]: position[i] for k, i in enumerate(order)} | {eq.v[k]: rate[i] for k, i in enumerate(order)}
    known |= dict(zip(eq.model.parameter_set.symbols, eq.model.parameter_set.values(), strict=True))
    return known, [order.index(i) for i in range(1, 6)]


@pytest.mark.parametrize("reference", REFERENCES)
def test_numbers_of_the_tree_of_five_bodies(reference):
    s = SemiRecursive(tree_of_five(), reference)
    known, at = numbered(s)
    M, Q = matrix_of(s.mass_matrix, known)[np.ix_(at, at)], vector_of(s.forces, known)[at]
    np.testing.assert_allclose(M, MASS, atol=1e-10)
    np.testing.assert_allclose(Q, FORCE, atol=1e-10)
    np.testing.assert_allclose(vector_of(SparseFactor(s.mass_matrix).solve(s.forces), known)[at], ACCELERATION, atol=1e-10)


def test_energies_of_the_tree_of_five_bodies():
    s = tree_of_five().compile()
    q = [POSITION[int(n[1])] for n in s.coordinate_names]
    v = [RATE[int(n[1])] for n in s.coordinate_names]
    assert s.energy(q, v) == pytest.approx([3.9312987685718, 52.5585124043281], abs=1e-11)


@pytest.mark.parametrize(
    ("mass", "expected"),
    [
        (0.8, [-23.404860238905, 2.461212122063, -9.749492292795, -12.889707159657, -0.372671576584]),
        (None, [-23.017265978494, 2.849187013325, -9.036388003827, -12.753475116678, -0.886385416186]),
    ],
)
@pytest.mark.parametrize("reference", REFERENCES)
def test_numbers_with_a_removed_rod(reference, mass, expected):
    length = 0.8926255954549
    s = SemiRecursive(tree_of_five(mass, length), reference)
    known, at = numbered(s, rate=RATE | {4: 0.229289978558})
    M, Q = matrix_of(s.mass_matrix, known)[np.ix_(at, at)], vector_of(s.forces, known)[at]
    J = np.zeros(5)
    for (_, j), e in s.constraint_jacobian.items():
        J[at.index(j)] = jd.evaluate([e], known)[0]
    g = -vector_of(s.constraint_accelerations, known)
    if mass:
        np.testing.assert_allclose(M, WITH_ROD, atol=1e-10)
    np.testing.assert_allclose(2 * length * J, [-0.647211733068, -0.372228900641, 0.397910732991, 0.818597207365, 0], atol=1e-10)
    K = np.block([[M, -J[:, None]], [J[None], np.zeros((1, 1))]])
    np.testing.assert_allclose(np.linalg.solve(K, np.concatenate([Q, g]))[:5], expected, atol=1e-10)
    assert np.argmax(np.abs(J)) == 3  # full pivoting makes z4 dependent


def test_the_mixed_reading_of_accelerations_and_the_printed_sign_fail(monkeypatch):
    """d of one reading with e of the other gives −13.96 where −14.957 is right; the sign of eq. 26 as printed is wrong as well."""
    s = SemiRecursive(tree_of_five(), regroup=False)
    known, at = numbered(s)
    plain = SemiRecursive._bias_step

    def derivative(self, link, before):
        """d_i as the derivative of the components of b_i ż_i: Ṗ × u + P × (ω_p × u), or ω_p × u."""
        a, alpha = plain(self, link, before)
        own = self._relative(link)
        if link.sliding_axes:
            return before.omega.cross(own.velocity), alpha
        rate = own.omega
        P, velocity = self.kinematics.link_position(link.index), self.kinematics.link_rates(link.index)[1]
        return velocity.cross(rate) + P.cross(before.omega.cross(rate)), alpha

    right = vector_of(SparseFactor(s.mass_matrix).solve(s.forces), known)[at]
    monkeypatch.setattr(SemiRecursive, "_bias_step", derivative)
    wrong = SemiRecursive(s.model, regroup=False)
    mixed = vector_of(SparseFactor(wrong.mass_matrix).solve(wrong.forces), known)[at]
    np.testing.assert_allclose(mixed, [-13.9616, 2.9926, -8.6301, -12.3486, -1.0767], atol=1e-4)
    printed = np.linalg.solve(np.array(MASS), -np.array(FORCE))
    assert abs(mixed[0] - right[0]) > 0.9 and abs(printed[0] - right[0]) > 1.0


@pytest.mark.parametrize("reference", REFERENCES)
def test_double_pendulum(reference):
    """Uniform bars: M and accelerations in closed form; the outer bar's angle is relative."""
    (l1, l2), (m1, m2) = (1.0, 0.8), (2.0, 1.5)
    m = jd.Model("double pendulum")
    before = m.ground
    for i, (l, mass) in enumerate(((l1, m1), (l2, m2)), 1):
        bar = m.body(f"bar{i}", mass=mass, com=(0, 0, -l / 2), inertia=(mass * l**2 / 12, mass * l**2 / 12, 0))
        m.revolute(f"th{i}", before, bar, axis="-y")
        before = bar.at(0, 0, -l)
    s = SemiRecursive(m, reference)
    known = values(m, s.tree, np.array([0.4, 0.7]), np.array([0.9, -1.1]), np.zeros(2))
    c = np.cos(0.7)
    M12 = m2 * (l2**2 / 3 + l1 * l2 * c / 2)
    expected = [[m1 * l1**2 / 3 + m2 * (l1**2 + l2**2 / 3 + l1 * l2 * c), M12], [M12, m2 * l2**2 / 3]]
    np.testing.assert_allclose(matrix_of(s.mass_matrix, known), expected, rtol=1e-12)
    found = vector_of(SparseFactor(s.mass_matrix).solve(s.forces), known)
    np.testing.assert_allclose(found, [-1.036323304952, -14.848558092995], atol=1e-11)


# --- topology ----------------------------------------------------------------------------------------------------


def test_path_matrix_of_figure_4():
    T = SemiRecursive(tree_of_five(order=(5, 4, 3, 2, 1))).path_matrix.astype(int)
    assert T.tolist() == [[1, 1, 0, 0, 1], [0, 1, 0, 0, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]


def fill(M) -> int:
    """Entries of the factor, diagonal included."""
    return sum(len(row) for row in SparseFactor(M).rows) + len(M)


def test_leaves_to_root_keeps_the_pattern_and_root_to_leaves_fills_it():
    M = SemiRecursive(tree_of_five()).mass_matrix
    pattern = sum(M[i][j] is not ZERO for i in range(5) for j in range(i + 1))
    turned = [row[::-1] for row in M[::-1]]
    assert (pattern, fill(M), fill(turned)) == (11, 11, 15)


@settings(max_examples=12)
@given(random_trees(mimic=False, prescribed=False, joints=("revolute", "prismatic", "universal", "spherical zxz")))
def test_the_factor_of_a_tree_has_as_many_entries_as_its_paths(model):
    s = SemiRecursive(model)
    assert fill(s.mass_matrix) <= s.path_matrix.sum()


def test_coupled_block_of_a_rod_stands_in_rows_of_one_path_and_columns_of_the_other():
    s = SemiRecursive(tree_of_five(0.8, 0.9))
    known, at = numbered(s)
    rod = matrix_of(s.mass_matrix, known)[np.ix_(at, at)]
    bare = np.array(MASS)
    first, second = {1, 2, 5}, {3, 4, 5}
    for i in range(1, 6):
        for j in range(1, 6):
            coupled = (i in first and j in second) or (i in second and j in first)
            alone = (i in first and j in first) or (i in second and j in second)
            assert (abs(rod[i - 1, j - 1] - bare[i - 1, j - 1]) > 1e-9) <= (coupled or alone)
            if coupled and not alone:
                assert bare[i - 1, j - 1] == 0 and abs(rod[i - 1, j - 1]) > 1e-4


# --- against the recursive formulation ---------------------------------------------------------------------------


@settings(max_examples=25)
@given(random_trees(), seeds, st.sampled_from(REFERENCES))
def test_random_trees(model, seed, reference):
    eq, s = Equations(model), SemiRecursive(model, reference)
    q, v, a = random_state(eq.tree, np.random.default_rng(seed))
    known = values(model, eq.tree, q, v, a, 0.7)
    assert error(matrix_of(s.mass_matrix, known), matrix_of(mass_matrix(eq.tree), known)) < 1e-11
    assert error(vector_of(s.forces, known), -vector_of(inverse_dynamics(eq.tree, acceleration=False), known), 1.0) < 1e-11


@settings(max_examples=12)
@given(random_trees(mimic=False), seeds)
def test_factored_and_articulated_accelerations_and_inverse_dynamics(model, seed):
    eq, s = Equations(model), SemiRecursive(model)
    q, v, a = random_state(eq.tree, np.random.default_rng(seed))
    known = values(model, eq.tree, q, v, a, 0.7)
    tau = symbols([f"tau{i}" for i in range(eq.tree.nv)], "input")
    known |= dict(zip(tau, vector_of(inverse_dynamics(eq.tree), known), strict=True))
    found = vector_of(SparseFactor(s.mass_matrix).solve([x + y for x, y in zip(s.forces, tau, strict=True)]), known)
    assert error(found, a) < 1e-8
    assert error(found, vector_of(accelerations(eq.tree, tau), known)) < 1e-8


@cache
def compiled(name: str):
    makers = {
        "five-link": lambda: suspensions.five_link_suspension("removed"),
        "five-link on its frame": lambda: suspensions.five_link_suspension("removed", carried_by="frame"),
        "five-link, rods as bodies": lambda: suspensions.five_link_suspension("bodies"),
        "mcpherson": suspensions.mcpherson_suspension,
        "double wishbone": suspensions.double_wishbone_suspension,
        "four-bar": mechanisms.four_bar,
        "slider-crank": lambda: mechanisms.slider_crank(gravity=9.81),
        "bricard": mechanisms.bricard,
        "squeezer": mechanisms.andrews,
        "car": lambda: cars.car(tyres=None),
        "car with tyres": cars.car,
    }
    return makers[name]().compile()


def closed_state(s, seed: int):
    rng = np.random.default_rng(seed)
    guess = {n: float(x) for n, x in zip(s.coordinate_names, rng.normal(scale=0.02, size=s.nq), strict=True)}
    start = {"crank.angle": 1.0} if "crank.angle" in s.coordinate_names else {}
    if start:
        guess |= {n: x for n, x in (("coupler.angle", -0.5), ("rocker.angle", 1.5)) if n in s.coordinate_names}
    state = s.assemble(start, guess=guess)
    return s.assemble(state, velocities={n: float(rng.normal(scale=0.5)) for n in state.report.independent})


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize(
    "name", ["five-link", "five-link on its frame", "five-link, rods as bodies", "mcpherson", "double wishbone", "four-bar", "slider-crank"]
)
def test_terms_of_mechanisms(name, reference):
    s = compiled(name)
    state = closed_state(s, 3)
    arguments = np.array([0.0]), state.x, s.input_values()
    for a, b in zip(
        s.function("semi_recursive_descriptor", reference=reference)(*arguments), s.function("descriptor")(*arguments), strict=True
    ):
        assert error(a, b, 1.0) < 1e-11


@pytest.mark.parametrize("name", ["car", "car with tyres"])
def test_terms_of_the_car(name):
    s = compiled(name)
    state = closed_state(s, 4)
    arguments = np.array([0.0]), state.x, s.input_values()
    for a, b in zip(
        s.function("semi_recursive_descriptor", reference="body")(*arguments), s.function("descriptor")(*arguments), strict=True
    ):
        assert error(a, b, 1.0) < 1e-10


# --- constraints by unit joint velocities ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("ball", {}), ("body", {}), ("rod", {"length": 0.7}), ("revolute", {"axis": (0.3, 1, 0.2)}), ("prismatic", {"axis": "x"}),
        ("cylindrical", {"axis": "y"}), ("universal", {"axes": ("x", "z")}), ("planar", {"axis": (1, 1, 0)}), ("parallel", {"axis": "z"}),
    ],
)  # fmt: skip
def test_unit_joint_velocities_give_what_differentiation_gives(kind, options):
    """Also where the loop is open, with a quaternion, a slider, a driven joint and a mimicking one on the way."""
    m = jd.Model("chains")
    base = m.body("base", mass=1.0)
    m.free("base", m.ground, base)
    ends = []
    for side in (-1, 1):
        one, two, three = (m.body(f"{n}{side}", mass=1.0) for n in "abc")
        m.revolute(f"r{side}", base.at(0.3 * side, 0.1, 0), one, axis=(0.2, side, 0.1))
        m.prismatic(f"p{side}", one.at(0, 0.2, 0.1), two, axis="z")
        m.spherical(f"s{side}", two.at(0.1, 0, 0.3), three)
        ends.append(three.at(0.2, -0.1, 0.15, rotation=("x", 0.4)))
    extra = m.body("extra", mass=0.2)
    m.revolute("extra", ends[1], extra, axis="y", mimic=(m.joints["r1"], 0.7, 0.1))
    m.drive(m.joints["p1"], lambda t: 0.2 * jd.sin(3 * t))
    m.close("loop", ends[0], extra.at(0.1, 0.2, 0), kind, **options)
    eq = Equations(m)
    rng = np.random.default_rng(5)
    q, v, a = random_state(eq.tree, rng)
    known = values(m, eq.tree, q, v, a, 0.3)
    (J, rates), (K, others) = eq.rates_by_unit_velocities, eq.rates_by_differentiation
    dense = [np.zeros((len(eq.rows), eq.tree.nv)) for _ in range(2)]
    for table, entries in zip(dense, (J, K), strict=True):
        for (i, j), e in entries.items():
            table[i, j] = jd.evaluate([e], known)[0]
    np.testing.assert_allclose(dense[0], dense[1], atol=1e-12)
    np.testing.assert_allclose(vector_of(rates, known), vector_of(others, known), atol=1e-11)


def test_a_wrong_reference_point_is_named():
    with pytest.raises(jd.InputError, match="reference 'tip' is unknown; use one of origin, cg, body"):
        SemiRecursive(tree_of_five(), "tip")
