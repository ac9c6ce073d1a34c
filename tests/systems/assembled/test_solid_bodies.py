"""Solids on rigid bodies: null spaces against constraints, every reduction, energy and momenta; closed forms, locking, viscosity, inversion."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from jourdain.elements import (
    MOONEY_RIVLIN,
    NEO_HOOKE,
    DirectorBody,
    PlanarBody,
    PlanarRevolute,
    Revolute,
    Solid,
    hexahedron,
    lame,
    ogden,
    quadrilateral,
    tetrahedron,
)
from jourdain.elements.carriers import Directors, Ground, PlanarDirectors
from jourdain.errors import InputError, ModelError
from jourdain.structures import Material, block
from jourdain.systems.assembled.system import AssembledSystem
from jourdain.systems.run import SimulationError

MATTER = Material(1.0, 0.3, 1.0)  # meshes only are taken from structures


def mesh(size: Any, cells: Any, kind: str = "hex8") -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    part = block(size, cells, MATTER, kind=kind)
    return part.nodes, part.elements[0].nodes, part.sets  # type: ignore[attr-defined]


def rotor(coupling: str = "null space", solid: Solid | None = None) -> tuple[AssembledSystem, list[Any]]:
    """A hub on a hinge with an elastic blade at each side, one of them also with a rigid tip."""
    s = AssembledSystem("rotor")
    q = DirectorBody.coordinates_of((0.1, 0.0, 0.0))
    hub = s.coordinates("hub", 12, q, DirectorBody.rates_of(q, (0.0, 0.1, 0.0), (0.0, 0.0, 1.0)))
    s.add(DirectorBody(), "hub.body", {"body": hub}, DirectorBody.numbers(2.0, (0.2, 0.3, 0.4), (0.0, 0.05, 0.0), gravity=(0, 0, -2.0)))
    pair = Revolute(Ground(), Directors())
    s.add(pair, "hinge", {"b": hub}, pair.place((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), b=q))
    X, cells, sets = mesh((1.0, 0.2, 0.1), (3, 1, 1))
    p = DirectorBody.coordinates_of((1.5, 0.1, 0.05))
    tip = s.coordinates("tip", 12, p, DirectorBody.rates_of(p, (-0.1, 1.5, 0.0), (0.0, 0.0, 1.0)))
    s.add(DirectorBody(), "tip.body", {"body": tip}, DirectorBody.numbers(0.3, (0.01, 0.02, 0.02)))
    made: list[Any] = []
    for side, ends in ((1.0, [(hub, sets["x-"]), (tip, sets["x+"])]), (-1.0, [(hub, sets["x-"])])):
        turn = np.diag((side, side, 1.0))
        places = (X + (0.3, 0.0, 0.0)) @ turn
        made += s.mesh(
            solid or Solid(hexahedron()), f"blade{side:+.0f}", places, cells, velocities=np.cross((0.0, 0.0, 1.0), places), density=5.0,
            gravity=(0, 0, -2.0), attach=ends, coupling=coupling, **lame(800.0, 0.3),
        )  # fmt: skip
    return s, made


@pytest.mark.parametrize("solid", [Solid(hexahedron()), Solid(hexahedron(), NEO_HOOKE, enhanced=True)], ids=["plain", "enhanced"])
def test_every_reduction_and_coupling_gives_the_same_motion(solid: Solid) -> None:
    runs = {}
    for coupling in ("null space", "constraints"):
        for reduction in ("none", "projection", "bodies", "joints"):
            s, _ = rotor(coupling, solid)
            runs[coupling, reduction] = s.simulate(0.6, 0.05, reduction=reduction)
    expected = runs["constraints", "none"]
    assert np.ptp(expected["energy.potential"]) > 0.01
    for sol in runs.values():
        assert np.ptp(sol["energy.total"]) < 1e-11 * np.abs(expected["energy.total"]).max()
        for name in ("tip.position", "hub.rotation", "blade-1.15", "momentum.angular"):
            assert sol[name] == pytest.approx(expected[name], abs=1e-9)
        assert np.ptp(sol["momentum.angular"][:, 2]) < 1e-11
    assert expected["constraints.violation"].max() < 1e-12


@pytest.mark.parametrize("method", ["midpoint", "backward-euler", "generalized-alpha"])
def test_other_methods_know_nodes_on_bodies(method: str) -> None:
    runs = [
        rotor(c)[0].simulate(0.2, 0.02, method, reduction=r)
        for c, r in (("constraints", "none"), ("null space", "none"), ("null space", "bodies"))
    ]
    for sol in runs[1:]:
        assert sol["tip.position"] == pytest.approx(runs[0]["tip.position"], abs=1e-9)


def test_nodes_on_bodies_have_no_coordinates() -> None:
    s, nodes = rotor()
    carried = [n for n in nodes if not hasattr(n, "offset")]
    assert len(carried) == 12 and carried[0].body.name == "hub"
    assert s.report(0.05, reduction="none")["unknowns"] == 24 + 12 + 5 + 3 * (32 - 12)
    assert s.report(0.05, reduction="bodies")["unknowns"] == 12 + 5 + 3 * (32 - 12)
    c, _ = rotor("constraints")
    assert c.report(0.05, reduction="none")["unknowns"] == 24 + 12 + 5 + 3 * 32 + 3 * 12


def flat_arm(coupling: str) -> AssembledSystem:
    s = AssembledSystem("flat arm")
    q = PlanarBody.coordinates_of((0.2, 0.0), 0.0)
    arm = s.coordinates("arm", 6, q)
    s.add(PlanarBody(), "arm.body", {"body": arm}, PlanarBody.numbers(1.0, 0.05, gravity=(0.0, -9.81)))
    pair = PlanarRevolute(Ground(2), PlanarDirectors())
    s.add(pair, "hinge", {"b": arm}, pair.place((0.0, 0.0), b=q))
    X = np.stack(np.meshgrid(np.linspace(0.4, 1.4, 6), np.linspace(-0.05, 0.05, 2), indexing="ij"), axis=-1).reshape(-1, 2)
    cells = [[2 * k, 2 * k + 2, 2 * k + 3, 2 * k + 1] for k in range(5)]
    s.mesh(
        Solid(quadrilateral(), enhanced=True), "bar", X, cells, density=10.0, gravity=(0.0, -9.81), thickness=0.2, attach=[(arm, [0, 1])],
        coupling=coupling, **lame(2e4, 0.3),
    )  # fmt: skip
    return s


def test_quadrilaterals_hang_on_planar_bodies() -> None:
    expected = flat_arm("constraints").simulate(1.0, 0.02)
    assert np.ptp(expected["energy.total"]) < 1e-12
    for reduction in ("none", "projection", "bodies", "joints"):
        sol = flat_arm("null space").simulate(1.0, 0.02, reduction=reduction)
        assert sol["bar.11"] == pytest.approx(expected["bar.11"], abs=1e-9)
        assert np.ptp(sol["energy.total"]) < 1e-12


def test_stiff_blades_tend_to_a_rigid_rotor() -> None:
    """Stiffer by 100, the tip's motion is 100 times nearer to that of rigid blades."""
    errors = []
    for young in (1e5, 1e7):
        s = AssembledSystem("stiff")
        q = DirectorBody.coordinates_of()
        hub = s.coordinates("hub", 12, q, DirectorBody.rates_of(q, omega=(0.0, 0.0, 1.0)))
        s.add(DirectorBody(), "hub.body", {"body": hub}, DirectorBody.numbers(1.0, (0.1, 0.1, 0.1)))
        pair = Revolute(Ground(), Directors())
        s.add(pair, "hinge", {"b": hub}, pair.place((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), b=q))
        X, cells, sets = mesh((1.0, 0.2, 0.2), (4, 1, 1))
        X = X - (0.0, 0.1, 0.1)
        s.mesh(
            Solid(hexahedron(), enhanced=True), "blade", X, cells, velocities=np.cross((0, 0, 1.0), X), density=5.0, attach=[(hub, sets["x-"])],
            **lame(young, 0.3),
        )  # fmt: skip
        sol = s.simulate(1.0, 0.01, reduction="bodies")
        far = sol["blade.19"]
        errors.append(np.abs(np.linalg.norm(far[:, :2], axis=1) - np.linalg.norm(far[0, :2])).max())
    assert errors[0] < 1e-3 and errors[0] / errors[1] == pytest.approx(100.0, rel=0.2)


# -- closed forms -----------------------------------------------------------------------------------------------------------


def cube_forces(law: Any, F: np.ndarray, **constants: Any) -> np.ndarray:
    """First Piola stress from the nodal forces of a cube under a homogeneous deformation."""
    X, cells, _ = mesh((1.0, 1.0, 1.0), (2, 2, 2))
    s = AssembledSystem("cube")
    s.mesh(Solid(hexahedron(), law), "cube", X, cells, at=X @ F.T, density=1.0, **constants)
    f = s.equations.at(s.q0, 0 * s.q0, 0.0).force.reshape(-1, 3)
    return np.array([f[X[:, j] == 1.0].sum(axis=0) for j in range(3)]).T


def test_uniaxial_tension_of_neo_hooke() -> None:
    """P₁₁ = μ (λ₁ − 1/λ₁) + λ ln J/λ₁ with free sides where μ (λ₂² − 1) + λ ln J = 0."""
    from scipy.optimize import brentq

    mu, la, stretch = 3.0, 5.0, 1.7
    side = brentq(lambda x: mu * (x * x - 1) + la * np.log(stretch * x * x), 0.3, 1.5, xtol=1e-15)
    P = cube_forces(NEO_HOOKE, np.diag((stretch, side, side)), lame=la, shear=mu)
    along = mu * (stretch - 1 / stretch) + la * np.log(stretch * side**2) / stretch
    assert pytest.approx(np.diag((along, 0.0, 0.0)), abs=1e-13 * along) == P


@pytest.mark.parametrize(
    "law, constants, modulus",
    [(NEO_HOOKE, {"lame": 5.0, "shear": 3.0}, 3.0), (MOONEY_RIVLIN, {"lame": 5.0, "first": 1.0, "second": 0.5}, 3.0),
     (ogden(1), {"lame": 5.0, "shears": 3.0, "powers": 2.0}, 3.0)], ids=["neo-Hooke", "Mooney", "Ogden"],
)  # fmt: skip
def test_simple_shear(law: Any, constants: dict[str, float], modulus: float) -> None:
    """P₁₂ = μ γ for any γ, with μ = 2 (c₁ + c₂) of Mooney."""
    gamma = 0.8
    F = np.eye(3)
    F[0, 1] = gamma
    assert cube_forces(law, F, **constants)[0, 1] == pytest.approx(modulus * gamma, rel=1e-13)


def test_ogden_of_power_two_is_neo_hooke() -> None:
    F = np.eye(3) + 0.2 * np.random.default_rng(3).normal(size=(3, 3))
    expected = cube_forces(NEO_HOOKE, F, lame=5.0, shear=3.0)
    assert cube_forces(ogden(1), F, lame=5.0, shears=3.0, powers=2.0) == pytest.approx(expected, rel=1e-12)
    two = cube_forces(ogden(2), F, lame=5.0, shears=(1.0, 2.0), powers=(2.0, 2.0))
    assert two == pytest.approx(expected, rel=1e-12)


def test_thick_walled_sphere() -> None:
    """A sphere of neo-Hooke, 1 < R < 2, whose inner radius is stretched by 1.4: the outer one as the radial equation says.

    dP_r/dR + 2 (P_r − P_t)/R = 0 with P = μ (λ − 1/λ) + λ₀ ln J/λ in each direction, against quadratic hexahedra of a patch of the sphere, whose
    nodes move along the radius.
    """
    from scipy.integrate import solve_bvp

    mu, la, stretch = 1.0, 1.5, 1.4

    def slope(R: Any, y: Any) -> Any:
        lr, lt = y[1], y[0] / R
        log_j = np.log(lr * lt * lt)
        P = [mu * (x - 1 / x) + la * log_j / x for x in (lr, lt)]
        by_r, by_t = mu * (1 + 1 / lr**2) + la * (1 - log_j) / lr**2, 2 * la / (lr * lt)
        return np.array([lr, -(by_t * (lr - lt) / R + 2 * (P[0] - P[1]) / R) / by_r])

    def ends(a: Any, b: Any) -> Any:
        return np.array([a[0] - stretch, mu * (b[1] - 1 / b[1]) + la * np.log(b[1] * b[0] ** 2 / 4) / b[1]])

    R = np.linspace(1.0, 2.0, 50)
    exact = solve_bvp(slope, ends, R, np.array([R + 0.4 / R**2, 1 - 0.8 / R**3]), tol=1e-10).y[0, -1]
    cube, cells, _ = mesh((1.0, 1.0, 1.0), (6, 2, 2), "hex20")
    directions = np.stack([np.ones(len(cube)), np.tan(0.5 * cube[:, 1]), np.tan(0.5 * cube[:, 2])], axis=1)
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    radius = 1.0 + cube[:, 0]
    s = AssembledSystem("sphere")
    s.mesh(Solid(hexahedron(20), NEO_HOOKE), "sphere", directions * radius[:, None], cells, density=1.0, lame=la, shear=mu)
    at, P = s.equations.native[0], np.zeros((3 * len(cube), len(cube)))
    for k, e in enumerate(directions):
        P[3 * k : 3 * k + 3, k] = e
    w, inner = stretch * (radius == 1.0) + (radius + 0.4 / radius**2) * (radius > 1.0), radius == 1.0
    for _ in range(8):
        f, K = at.forces(P @ w)
        force, full = np.zeros(len(P)), np.zeros((len(P), len(P)))
        for rows, part, own in zip(at.index, f, K, strict=True):
            force[rows] += part
            full[np.ix_(rows, rows)] += own
        free = ~inner
        change = np.linalg.solve((P.T @ full @ P)[np.ix_(free, free)], (P.T @ force)[free])
        w[free] -= change
    assert np.abs(change).max() < 1e-12
    assert w[radius == 2.0].mean() == pytest.approx(exact, rel=1e-4)


# -- locking ----------------------------------------------------------------------------------------------------------------


def tip_deflection(solid: Solid, nu: float, cells: tuple[int, int, int] = (10, 1, 1)) -> float:
    """The static fall of the end of a slender cantilever over that of the beam theory, in the linear limit."""
    X, table, sets = mesh((10.0, 0.5, 0.25), cells, "hex20" if solid.interpolation.nodes == 20 else "hex8")
    s = AssembledSystem("cantilever")
    s.mesh(solid, "bar", X, table, density=1.0, **lame(1e4, nu))
    at = s.equations.native[0]
    _, K = at.forces(s.q0)
    n = 3 * len(X)
    full, load = np.zeros((n, n)), np.zeros(n)
    for rows, part in zip(at.index, K, strict=True):
        full[np.ix_(rows, rows)] += part
    load[3 * sets["x+"] + 2] = 1.0 / len(sets["x+"])
    free = np.ones(n, bool)
    free[3 * sets["x-"]] = False
    low = next(k for k in sets["x-"] if X[k, 1] == 0.0 and X[k, 2] == 0.0)
    free[[3 * low + 1, 3 * low + 2]] = False
    free[3 * next(k for k in sets["x-"] if X[k, 1] > 0.0 and X[k, 2] == 0.0) + 2] = False
    u = np.zeros(n)
    u[free] = np.linalg.solve(full[np.ix_(free, free)], load[free])
    inertia = 0.5 * 0.25**3 / 12
    return float(u[3 * sets["x+"] + 2].mean() / (10.0**3 / (3 * 1e4 * inertia)))


def test_enhanced_strains_do_not_lock_in_bending() -> None:
    assert tip_deflection(Solid(hexahedron()), 0.3) < 0.15
    assert tip_deflection(Solid(hexahedron(), enhanced=True), 0.3) == pytest.approx(1.0, abs=0.02)
    assert tip_deflection(Solid(hexahedron(20)), 0.3, (5, 1, 1)) == pytest.approx(1.0, abs=0.02)


def test_enhanced_strains_do_not_lock_near_one_half() -> None:
    assert tip_deflection(Solid(hexahedron()), 0.4999, (10, 2, 2)) < 0.15
    assert tip_deflection(Solid(hexahedron(), enhanced=True), 0.4999, (10, 2, 2)) == pytest.approx(1.0, abs=0.06)


def test_locking_near_one_half_is_told() -> None:
    for solid, remedy in (
        (Solid(hexahedron()), "take enhanced=True, or quadratic elements"),
        (Solid(tetrahedron()), "take quadratic elements, or hexahedra"),
    ):
        X, table, _ = mesh((1.0, 1.0, 1.0), (1, 1, 1), "tet4" if solid.interpolation.nodes == 4 else "hex8")
        with pytest.warns(RuntimeWarning, match=f"Poisson's ratio 0.499, near 1/2, linear elements lock and hardly deform; {remedy}"):
            AssembledSystem("rubber").mesh(solid, "block", X, table, density=1.0, **lame(1e4, 0.499))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, table, _ = mesh((1.0, 1.0, 1.0), (1, 1, 1), "hex8")
        AssembledSystem("rubber").mesh(Solid(hexahedron(), enhanced=True), "block", X, table, density=1.0, **lame(1e4, 0.499))
        AssembledSystem("steel").mesh(Solid(hexahedron()), "block", X, table, density=1.0, **lame(1e4, 0.3))


# -- viscosity --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("viscosity", ["kelvin-voigt", "standard"])
@pytest.mark.parametrize("enhanced", [False, True])
def test_viscosity_balances_the_energy(viscosity: str, enhanced: bool) -> None:
    """Total energy and what is dissipated stay the sum they were, momenta stay, and dissipation only grows."""
    own = {
        "kelvin-voigt": {"viscous_lame": 1.0, "viscous_shear": 2.0},
        "standard": {"branch_lame": 100.0, "branch_shear": 200.0, "relaxation": 0.3},
    }
    X, cells, _ = mesh((4.0, 1.0, 1.0), (4, 1, 1))
    s = AssembledSystem("bar")
    s.mesh(
        Solid(hexahedron(), NEO_HOOKE, viscosity=viscosity, enhanced=enhanced), "bar", X, cells,
        velocities=np.cross((1.0, 2.0, 3.0), X - X.mean(axis=0)), density=1.0, **lame(500.0, 0.3), **own[viscosity],
    )  # fmt: skip
    sol = s.simulate(2.0, 0.05)
    total, lost = sol["energy.total"], sol["energy.dissipated"]
    assert lost[-1] > 0.01 * total[0] and np.diff(lost).min() >= 0.0
    assert np.ptp(total + lost) < 1e-11 * total[0]
    assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-11 * total[0]


def falling(solid: Solid, **constants: float) -> np.ndarray:
    X, cells, sets = mesh((2.0, 0.5, 0.5), (2, 1, 1))
    s = AssembledSystem("bar")
    s.mesh(solid, "bar", X, cells, fixed=sets["x-"], density=1.0, gravity=(0, 0, -1.0), **constants)
    return np.asarray(s.simulate(2.0, 0.05)["bar.11"])


def test_slow_branches_are_elastic_and_fast_ones_dashpots() -> None:
    """τ → ∞: the moduli add up; τ → 0: a dashpot of moduli times τ; both to first order."""
    law, branch = {"lame": 60.0, "shear": 40.0}, {"branch_lame": 20.0, "branch_shear": 10.0}
    stiff = falling(Solid(hexahedron()), lame=80.0, shear=50.0)
    slow = [np.abs(falling(Solid(hexahedron(), viscosity="standard"), **law, **branch, relaxation=t) - stiff).max() for t in (1e3, 1e4)]
    assert slow[0] < 1e-2 and slow[0] / slow[1] == pytest.approx(10.0, rel=0.05)
    fast = []
    for t in (1e-3, 1e-4):
        dashpot = falling(Solid(hexahedron(), viscosity="kelvin-voigt"), **law, viscous_lame=20.0 * t, viscous_shear=10.0 * t)
        found = falling(Solid(hexahedron(), viscosity="standard"), **law, **branch, relaxation=t)
        fast.append(np.abs(found - dashpot).max())
    assert fast[1] < 1e-3 * np.ptp(stiff) and fast[1] < 0.2 * fast[0]


def test_refusals() -> None:
    with pytest.raises(ModelError, match="tetrahedron of 4 nodes has no enhanced strains"):
        Solid(tetrahedron(), enhanced=True)
    with pytest.raises(ModelError, match="neo-Hooke in plane stress has no energy of its own"):
        Solid(quadrilateral(), NEO_HOOKE, plane="stress")
    with pytest.raises(ModelError, match="viscosity 'maxwell' is unknown"):
        Solid(hexahedron(), viscosity="maxwell")
    with pytest.raises(ModelError, match="tetrahedron of 5 nodes: there are those of 4 and 10"):
        tetrahedron(5)
    s, _ = rotor(solid=None)
    X, cells, sets = mesh((1.0, 0.2, 0.1), (1, 1, 1))
    hub = s.handles[0]
    with pytest.raises(ModelError, match="the 2 node.s. attached to 'hub' lie on a line"):
        s.mesh(Solid(hexahedron()), "bad", X, cells, attach=[(hub, sets["x-"][:2])], density=1.0, **lame(1.0, 0.3))
    with pytest.raises(ModelError, match="node 0 is attached to 'hub', but it is fixed"):
        s.mesh(Solid(hexahedron()), "bad", X, cells, attach=[(hub, sets["x-"])], fixed=[0], density=1.0, **lame(1.0, 0.3))
    v = AssembledSystem("viscous")
    v.mesh(Solid(hexahedron(), viscosity="kelvin-voigt"), "v", X, cells, density=1.0, viscous_lame=1.0, viscous_shear=1.0, **lame(1.0, 0.3))
    with pytest.raises(InputError, match="viscosity 'kelvin-voigt' is balanced by the method 'energy-momentum' alone"):
        v.simulate(0.1, 0.01, "midpoint")


def crushed(at: float = 1.0, speed: float = 0.0) -> AssembledSystem:
    """A bar whose end face stands elsewhere, or moves towards the clamp."""
    X, cells, sets = mesh((2.0, 1.0, 1.0), (2, 1, 1))
    s, velocities, places = AssembledSystem("crushed"), np.zeros_like(X), X.copy()
    velocities[sets["x+"], 0], places[sets["x+"], 0] = -speed, 1.0 + at
    s.mesh(Solid(hexahedron()), "bar", X, cells, at=places, fixed=sets["x-"], velocities=velocities, density=1.0, **lame(10.0, 0.3))
    return s


def test_an_element_inside_out_is_named_with_the_time() -> None:
    with pytest.raises(SimulationError, match=r"at t = 0\.00\d+ s, .* element 'bar\[1\]' turns inside out"):
        crushed(speed=200.0).simulate(0.1, 0.001)
    with pytest.raises(SimulationError, match=r"at t = 0 s, .* element 'bar\[1\]' turns inside out"):
        crushed(at=-0.5).simulate(0.1, 0.001)
