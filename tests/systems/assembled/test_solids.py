"""Solids of large deformation: native loops against the symbolic declaration, exact energy and momenta, patch test, convergence."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from jourdain.elements import (
    MOONEY_RIVLIN,
    NEO_HOOKE,
    SAINT_VENANT_KIRCHHOFF,
    PointLaw,
    Solid,
    hexahedron,
    lame,
    ogden,
    quadrilateral,
    tetrahedron,
)
from jourdain.elements.discrete.schemes import scheme
from jourdain.elements.discrete.stepping import ElementStep
from jourdain.errors import InputError, ModelError
from jourdain.solvers.stepping import frame as ap
from jourdain.solvers.stepping.kernels import accept
from jourdain.solvers.stepping.kernels import evaluate as native_evaluate
from jourdain.structures.parts.solids import HEX20
from jourdain.symbolic.functions import log
from jourdain.symbolic.graph import evaluate
from jourdain.systems.assembled.system import AssembledSystem


def own_neo_hooke(E: Any, c: Any) -> Any:
    """½ μ (tr C − 3) − μ ln J + ½ λ (ln J)² with C = 1 + 2E: a material of one's own."""
    a, b, d, e, f, g = 1 + 2 * E[0], 1 + 2 * E[1], 1 + 2 * E[2], E[3], E[4], E[5]
    log_j = 0.5 * log(a * b * d + 2 * e * f * g - a * f * f - b * g * g - d * e * e)
    return 0.5 * c.shear * (a + b + d - 3) - c.shear * log_j + 0.5 * c.lame * log_j**2


OWN = PointLaw("neo-Hooke of one's own", own_neo_hooke, {"lame": 1, "shear": 1})
LAWS = {"St. Venant–Kirchhoff": SAINT_VENANT_KIRCHHOFF, "neo-Hooke": NEO_HOOKE, "own": OWN}
METHODS = ("energy-momentum", "midpoint", "backward-euler", "hht")
CORNERS = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)], float)
TETRAHEDRON = CORNERS[[0, 1, 3, 4]]
PLACES = {
    8: CORNERS, 20: 0.5 * (HEX20 + 1.0), 4: TETRAHEDRON,
    10: np.vstack([TETRAHEDRON, [0.5 * (TETRAHEDRON[i] + TETRAHEDRON[j]) for i, j in ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))]]),
}  # fmt: skip
ELASTIC: dict[Any, dict[str, Any]] = {
    SAINT_VENANT_KIRCHHOFF: lame(50.0, 0.3), NEO_HOOKE: lame(50.0, 0.3), OWN: lame(50.0, 0.3),
    MOONEY_RIVLIN: {"first": 7.0, "second": 2.0, "lame": 30.0}, ogden(2): {"shears": (8.0, -3.0), "powers": (1.7, -2.5), "lame": 25.0},
}  # fmt: skip
VISCOUS: dict[str, dict[str, float]] = {
    "none": {}, "kelvin-voigt": {"viscous_lame": 0.7, "viscous_shear": 1.1},
    "standard": {"branch_lame": 9.0, "branch_shear": 13.0, "relaxation": 0.2},
}  # fmt: skip
CASES = {
    "hexahedron 8": Solid(hexahedron()), "hexahedron 8, neo-Hooke": Solid(hexahedron(), NEO_HOOKE), "hexahedron 8, own": Solid(hexahedron(), OWN),
    "hexahedron 20, neo-Hooke": Solid(hexahedron(20), NEO_HOOKE), "tetrahedron 4, Mooney": Solid(tetrahedron(), MOONEY_RIVLIN),
    "tetrahedron 4": Solid(tetrahedron()), "tetrahedron 10, Mooney": Solid(tetrahedron(10), MOONEY_RIVLIN),
    "hexahedron 8, Ogden": Solid(hexahedron(), ogden(2)), "hexahedron 8 enhanced": Solid(hexahedron(), enhanced=True),
    "hexahedron 8 enhanced, neo-Hooke": Solid(hexahedron(), NEO_HOOKE, enhanced=True), "quadrilateral, neo-Hooke": Solid(quadrilateral(), NEO_HOOKE),
    "quadrilateral, plane stress": Solid(quadrilateral(), plane="stress"), "quadrilateral enhanced, Ogden": Solid(quadrilateral(), ogden(2), enhanced=True),
}  # fmt: skip
DAMPED = {
    "Kelvin–Voigt": Solid(hexahedron(), viscosity="kelvin-voigt"), "standard, neo-Hooke": Solid(hexahedron(), NEO_HOOKE, viscosity="standard"),
    "standard, enhanced Ogden": Solid(quadrilateral(), ogden(2), viscosity="standard", enhanced=True),
    "Kelvin–Voigt, tetrahedron 10": Solid(tetrahedron(10), MOONEY_RIVLIN, viscosity="kelvin-voigt"),
}  # fmt: skip


def material(solid: Solid) -> dict[str, Any]:
    return ELASTIC[solid.law] | VISCOUS[solid.viscosity]


def single(solid: Solid, seed: int = 0) -> AssembledSystem:
    """One distorted element."""
    rng, d = np.random.default_rng(seed), solid.interpolation.dimension
    X = (PLACES[solid.interpolation.nodes] * (1.0, 0.8, 1.2) if d == 3 else CORNERS[:4, :2] * (1.0, 0.8)).copy()
    X += 0.05 * rng.normal(size=X.shape)
    s = AssembledSystem("one")
    s.mesh(solid, "one", X, np.arange(len(X))[None], density=2.0, gravity=(0.3, -0.4, -9.81)[:d], **material(solid))
    return s


def stepped(
    s: AssembledSystem, method: str, q0: np.ndarray, q1: np.ndarray, excess: np.ndarray, h: float = 0.1
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Residual and matrix by the native loops, and the run."""
    s.set_state(q0, 0 * q0)
    run, _ = s.new_run(scheme(method), "none", 0.0, 1.0, h, 1, 1e-12, 20)
    run.begin()
    run.matrix()
    run.vec.q0, run.vec.q1, run.vec.excess = q0, q1, excess
    run.count.which = ap.TANGENT
    native_evaluate.call(run.address)
    n = q0.size
    return run.r.copy(), run.values.reshape(n, n).T.copy(), run


def states(s: AssembledSystem, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q0, q1 = (s.q0 + 0.05 * rng.normal(size=s.q0.size) for _ in range(2))
    return q0, q1, rng.normal(size=s.q0.size)


DECLARED = ("tetrahedron 4", "tetrahedron 4, Mooney", "quadrilateral, neo-Hooke", "quadrilateral, plane stress")


@pytest.mark.parametrize("case, method", [*product(DECLARED, METHODS), ("hexahedron 8, own", "energy-momentum")])
def test_native_loops_are_what_is_declared_in_symbols(case: str, method: str) -> None:
    """Residual and tangent between random places, for schemes with forces everywhere in a step (of a hexahedron the residual alone)."""
    s = single(CASES[case], 1)
    q0, q1, excess = states(s, 2)
    r, K, run = stepped(s, method, q0, q1, excess)
    step = ElementStep(s.instances[0].element, scheme(method).evaluation)
    p = step.packing
    known = dict(zip(p.scalars, (run.clock.h, run.clock.t, run.scheme.kappa, run.scheme.weight, run.scheme.factor), strict=True))
    for symbols, values in ((p.q0, q0), (p.q1, q1), (p.excess, excess), (p.offset, 0 * q0)):
        known |= dict(zip(symbols, values, strict=True))
    for name, numbers in s.constants[0].items():
        given = getattr(step.s, name)
        known |= dict(zip(given if isinstance(given, tuple) else (given,), numbers, strict=True))
    assert r == pytest.approx(np.array(evaluate(step.residual_expressions, known), float), abs=1e-13 * np.abs(r).max())
    if not case.startswith("hexahedron"):
        found = np.zeros_like(K)
        for (i, j), e in zip(step.tangent_entries, evaluate(list(step.tangent_entries.values()), known), strict=True):
            found[i, j] = e
        assert pytest.approx(found, abs=1e-12 * np.abs(K).max()) == K


@pytest.mark.parametrize("case", CASES | DAMPED)
def test_tangent_is_the_derivative_of_the_residual(case: str) -> None:
    solid = (CASES | DAMPED)[case]
    s = single(solid, 3)
    q0, q1, excess = states(s, 4)
    for method in METHODS[: 1 if solid.viscosity != "none" else 4]:
        _, K, _ = stepped(s, method, q0, q1, excess)
        for k in range(0, q0.size, 7):
            e = np.zeros(q0.size)
            e[k] = 1e-5
            slope = (stepped(s, method, q0, q1 + e, excess + e)[0] - stepped(s, method, q0, q1 - e, excess - e)[0]) / 2e-5
            assert K[:, k] == pytest.approx(slope, abs=1e-8 * np.abs(K).max())


def balance(s: AssembledSystem, q0: np.ndarray, q1: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Forces of a step without inertia, their work, and the change of energies with what is dissipated."""
    r, _, run = stepped(s, "energy-momentum", q0, q1, 0 * q0)
    force, before = r / run.scheme.kappa, run.book[1] + run.book[2]
    run.vec.u, run.vec.v1 = q1 - q0, 0 * q0
    accept.call(run.address)
    change = run.frame.audit[1:4].sum() - before
    return force, float(force @ (q1 - q0)), float(change)


@pytest.mark.parametrize("case", CASES | DAMPED)
def test_discrete_gradient_is_exact(case: str) -> None:
    """Forces times displacement are the difference of energies between any two states, and what is dissipated; no net force and moment about
    the mean places."""
    solid = (CASES | DAMPED)[case]
    s = single(solid, 5)
    start, d = s.q0.copy(), solid.interpolation.dimension
    g = np.array((0.3, -0.4, -9.81))[:d]
    for seed in range(5):
        rng = np.random.default_rng(10 + seed)
        q0, q1 = (start + size * rng.normal(size=start.size) for size in (0.05, 10.0 ** -rng.integers(1, 6) if seed else 0.05))
        force, work, change = balance(s, q0, q1)
        assert work == pytest.approx(change, abs=1e-12 * max(1.0, np.abs(force).max()))
        mean, f = 0.5 * (q0 + q1).reshape(-1, d), force.reshape(-1, d)
        mass = s.equations.at(q0, 0 * q0, 0.0).mass.toarray()[::d, ::d].sum(axis=1)
        assert f.sum(axis=0) == pytest.approx(-mass.sum() * g, abs=1e-12 * np.abs(f).max())
        inner = f + mass[:, None] * g
        moment = mean[:, 0] * inner[:, 1] - mean[:, 1] * inner[:, 0] if d == 2 else np.cross(mean, inner)
        assert np.abs(moment.sum(axis=0)).max() < 1e-12 * np.abs(f).max()


def block(
    counts: tuple[int, int, int], size: tuple[float, float, float] = (1.0, 1.0, 1.0), irregular: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and cells of a block, inner nodes moved at random."""
    nx, ny, nz = counts
    X = np.stack(np.meshgrid(*(np.linspace(0.0, w, n + 1) for w, n in zip(size, counts, strict=True)), indexing="ij"), axis=-1).reshape(
        -1, 3
    )
    number = np.arange(len(X)).reshape(nx + 1, ny + 1, nz + 1)
    cells = np.stack([number[a : nx + a, b : ny + b, c : nz + c].ravel() for a, b, c in CORNERS.astype(int)], axis=1)
    inner = ((X > 1e-9) & (np.array(size) - 1e-9 > X)).all(axis=1)
    return X + irregular * inner[:, None] * np.random.default_rng(0).normal(size=X.shape), cells


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("h", [0.02, 0.5])
def test_energy_and_momenta_of_a_tumbling_bar(law: str, h: float) -> None:
    """Free of loads, at steps as large as the motion: to rounding."""
    X, cells = block((4, 1, 1), (4.0, 1.0, 1.0))
    s = AssembledSystem("bar")
    s.mesh(
        Solid(hexahedron(), LAWS[law]), "bar", X, cells, velocities=np.cross((1.0, 2.0, 3.0), X - X.mean(axis=0)) + (0.1, 0.0, -0.2), density=1.0,
        **lame(500.0, 0.3),
    )  # fmt: skip
    sol = s.simulate(20 * h, h)
    energy, momentum = sol["energy.total"], sol["momentum.angular"]
    assert sol["energy.potential"].max() > 0.005 * energy[0]
    assert np.ptp(energy) < 1e-12 * energy[0]
    assert np.ptp(momentum, axis=0).max() < 1e-12 * np.abs(momentum).max()
    assert np.ptp(sol["momentum.linear"], axis=0).max() < 1e-12


@pytest.mark.parametrize("law", LAWS)
def test_patch(law: str) -> None:
    """An irregular block with any homogeneous deformation on its boundary has it inside, too: no force on inner nodes."""
    X, cells = block((3, 3, 3), irregular=0.04)
    F = np.array([[1.1, 0.2, 0.0], [-0.1, 0.95, 0.15], [0.05, 0.0, 1.2]])
    inner = np.flatnonzero(((X > 1e-9) & (X < 1 - 1e-9)).all(axis=1))
    s = AssembledSystem("patch")
    s.mesh(Solid(hexahedron(), LAWS[law]), "patch", X, cells, at=X @ F.T, density=1.0, **lame(1e3, 0.3))
    r = stepped_forces(s)
    scale = np.abs(r).max()
    assert scale > 10.0 and np.abs(r[inner]).max() < 1e-13 * scale


def stepped_forces(s: AssembledSystem) -> np.ndarray:
    """Forces of the deformed mesh at rest, one row a node."""
    run, _ = s.new_run(scheme("energy-momentum"), "none", 0.0, 1.0, 0.1, 1, 1e-12, 20)
    run.vec.q0 = run.vec.q1 = s.q0
    run.vec.excess = 0 * s.q0
    run.count.which = ap.RESIDUAL
    native_evaluate.call(run.address)
    return (run.r / run.scheme.kappa).reshape(-1, 3)


def test_frequency_of_a_clamped_bar_converges_to_that_of_the_rod() -> None:
    """Axial vibration (ν = 0) of small amplitude: ω = π/2 √(E/ρ)/L, with errors of second order in the length of elements."""
    errors = []
    for n in (4, 8, 16):
        X, cells = block((n, 1, 1), (1.0, 0.1, 0.1))
        s = AssembledSystem("rod")
        clamped = np.flatnonzero(X[:, 0] == 0.0)
        shape = 1e-6 * np.sin(0.5 * np.pi * X[:, :1]) * (1.0, 0.0, 0.0)
        s.mesh(Solid(hexahedron()), "rod", X, cells, at=X + shape, fixed=clamped, density=1.0, **lame(1.0, 0.0))
        end = f"rod.{np.argmax(X[:, 0])}"
        sol = s.simulate(2.0, 0.002)
        x = sol[end][:, 0] - 1.0
        k = int(np.flatnonzero(np.diff(np.sign(x)))[0])
        quarter = sol.t[k] - x[k] * (sol.t[k + 1] - sol.t[k]) / (x[k + 1] - x[k])
        errors.append(abs(quarter - 1.0))
    assert errors[0] < 0.02
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15) and np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.3)


def test_large_extension_of_neo_hooke_is_that_of_its_closed_form() -> None:
    """A cube pulled to a stretch with free sides (λ = 0): S₁₁ = μ (1 − 1/λ₁²), and sides stay as they are."""
    X, cells = block((2, 2, 2))
    s = AssembledSystem("cube")
    stretch = 1.7
    s.mesh(Solid(hexahedron(), LAWS["neo-Hooke"]), "cube", X, cells, at=X * (stretch, 1.0, 1.0), density=1.0, lame=0.0, shear=3.0)
    r = stepped_forces(s)
    pulled = X[:, 0] == 1.0
    assert r[pulled, 0].sum() == pytest.approx(3.0 * (stretch - 1.0 / stretch), rel=1e-13)
    assert np.abs(r[:, 1:]).max() < 1e-13


def test_materials_may_differ_from_cell_to_cell() -> None:
    """Two cells of their own constants pull at their common face as two systems of one cell do."""
    X, cells = block((2, 1, 1), (2.0, 1.0, 1.0))
    F = np.diag((1.2, 1.0, 0.9))

    def forces(chosen: list[int], shear: Any) -> np.ndarray:
        s = AssembledSystem("two")
        s.mesh(
            Solid(hexahedron()),
            "two",
            X,
            cells[chosen],
            fixed=np.setdiff1d(np.arange(len(X)), cells[chosen]),
            at=X @ F.T,
            density=1.0,
            lame=0.0,
            shear=shear,
        )
        found = np.zeros((len(X), 3))
        found[np.unique(cells[chosen])] = stepped_forces(s)
        return found

    assert forces([0, 1], [2.0, 5.0]) == pytest.approx(forces([0], 2.0) + forces([1], 5.0), abs=1e-13)


@pytest.mark.parametrize("reduction", ["none", "projection", "bodies", "joints"])
def test_every_reduction_gives_the_same_motion(reduction: str) -> None:
    def made() -> AssembledSystem:
        X, cells = block((2, 1, 1), (2.0, 1.0, 1.0))
        s = AssembledSystem("arm")
        s.mesh(
            Solid(hexahedron()),
            "arm",
            X,
            cells,
            fixed=np.flatnonzero(X[:, 0] == 0.0),
            density=1.0,
            gravity=(0, 0, -9.81),
            **lame(300.0, 0.3),
        )
        return s

    expected, found = (made().simulate(0.5, 0.05, reduction=r) for r in ("none", reduction))
    assert found["arm.11"] == pytest.approx(expected["arm.11"], abs=1e-11)


def test_refusals_name_what_is_wrong() -> None:
    X, cells = block((1, 1, 1))
    s, solid, steel = AssembledSystem("bad"), Solid(hexahedron()), lame(1e3, 0.3)
    with pytest.raises(ModelError, match="element 0 is turned inside out"):
        s.mesh(solid, "a", X, cells[:, [4, 5, 6, 7, 0, 1, 2, 3]], density=1.0, **steel)
    with pytest.raises(ModelError, match=r"cells name nodes 1 … 8; there are 0 … 7"):
        s.mesh(solid, "a", X, cells + 1, density=1.0, **steel)
    with pytest.raises(ModelError, match=r"it needs \['lame', 'shear'\]"):
        s.mesh(solid, "a", X, cells, density=1.0, young=1e3)
    with pytest.raises(ModelError, match="no elastic solid"):
        lame(1e3, 0.5)
    with pytest.raises(ModelError, match=r"fixed name nodes 9 … 9; there are 0 … 7"):
        s.mesh(solid, "a", X, cells, fixed=[9], density=1.0, **steel)
    with pytest.raises(ModelError, match="node 8 is in no cell"):
        s.mesh(solid, "a", np.vstack([X, X[:1]]), cells, density=1.0, **steel)
    with pytest.raises(ModelError, match=r"velocities of shape \(2,\) are not numbers"):
        s.mesh(solid, "a", X, cells, velocities=[1.0, 2.0], density=1.0, **steel)
    with pytest.raises(ModelError, match="density -1 kg/m³ is negative"):
        s.mesh(solid, "a", X, cells, density=-1.0, **steel)
    with pytest.raises(ModelError, match="shear holds a number that is not finite"):
        s.mesh(solid, "a", X, cells, density=1.0, lame=1.0, shear=np.nan)
    assert not s.handles and not s.instances
    s.mesh(solid, "a", X, cells, density=1.0, **steel)
    with pytest.raises(ModelError, match=r"'a\.0' exist already"):
        s.mesh(solid, "a", X, cells, density=1.0, **steel)
    with pytest.raises(InputError, match="'variational' does not know solids"):
        s.simulate(0.1, 0.01, method="variational")
