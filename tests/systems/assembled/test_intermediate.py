"""The intermediate scheme (Uhlar, eq. 3.26): the balance projected by the discrete null space, all constraints kept, no multipliers.

It is written here in a dense form, with the matrix and the residual of the full scheme, against which the engine's reductions are held.
``reduction="projection"`` does the same for the constraints inside bodies, with sparse matrices.
"""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.sparse import csc_matrix

from jourdain.elements.carriers import Ground
from jourdain.elements.discrete.schemes import NAMES, scheme
from jourdain.elements.pairs import Revolute
from jourdain.elements.rigid import DirectorBody
from jourdain.systems.assembled.system import AssembledSystem


def double_pendulum() -> AssembledSystem:
    """Two rods with hinges about different axes: 24 coordinates, 22 constraints."""
    s = AssembledSystem("double pendulum")
    q = [DirectorBody.coordinates_of((0.5 + k, 0.0, 0.0)) for k in range(2)]
    rods = [s.coordinates(f"rod{k}", 12, q[k]) for k in range(2)]
    for k in range(2):
        s.add(DirectorBody(), f"inertia{k}", {"body": rods[k]}, DirectorBody.numbers(1.0, (1e-2, 1 / 12, 1 / 12), gravity=(0, 0, -9.81)))
    shoulder, elbow = Revolute(a=Ground()), Revolute()
    s.add(shoulder, "shoulder", {"b": rods[0]}, shoulder.place((0, 0, 0), (0, 1, 0), b=q[0]))
    s.add(elbow, "elbow", {"a": rods[0], "b": rods[1]}, elbow.place((1, 0, 0), (0, 0.6, 0.8), a=q[0], b=q[1]))
    return s


def intermediate(s: AssembledSystem, h: float, steps: int) -> tuple[np.ndarray, int]:
    """Coordinates at the ends of all steps, and the number of unknowns: P̄ᵀ r(q₁) = 0 and Φ(q₁) = 0 by Newton's method in q₁ alone."""
    run, program = s.new_run(scheme("energy-momentum"), "none", 0.0, h * steps, h, 1, 1e-12, 20)
    rows = program.multiplier_rows
    n, rows = s.q0.size, rows[rows >= 0]
    q = np.setdiff1d(np.arange(run.r.size), rows)
    found = [run.vec.q0.copy()]
    assert q.size == n == 24
    for _ in range(steps):
        q0, v0 = run.vec.q0.copy(), run.vec.v0.copy()
        moved = h * v0
        for _ in range(20):
            run.vec.u, run.vec.q1 = moved, q0 + moved
            run.vec.excess = moved - h * v0
            run.lam.now = 0.0
            run.matrix(predicted=False)
            K = csc_matrix((run.values, program.indices, program.starts), shape=(run.r.size,) * 2).toarray()
            P = null_space(K[np.ix_(q, rows)].T)
            residual = np.concatenate([P.T @ run.r[q], run.r[rows]])
            change = -np.linalg.solve(np.vstack([P.T @ K[np.ix_(q, q)], K[np.ix_(rows, q)]]), residual)
            moved = moved + change
            if np.abs(change).max() < 1e-13:
                break
        run.vec.q0, run.vec.v0 = q0 + moved, 2.0 * moved / h - v0
        found.append(run.vec.q0.copy())
    return np.array(found), residual.size


@pytest.mark.parametrize("reduction", ["none", "projection", "bodies", "joints"])
def test_projection_alone_gives_the_same_motion(reduction: str) -> None:
    """Unknowns: 24 + 22 in the full scheme, 24 in the intermediate one (24 + 10 by bodies), 12 + 10 reduced by bodies, 2 by joints."""
    s = double_pendulum()
    q, unknowns = intermediate(s, 0.02, 25)
    sol = s.simulate(0.5, 0.02, reduction=reduction)
    places = np.column_stack([sol["rod0.position"], sol["rod1.position"]])
    assert unknowns == 24 and sol.statistics["unknowns"] == {"none": 46, "projection": 34, "bodies": 22, "joints": 2}[reduction]
    assert np.abs(places - q[:, [0, 1, 2, 12, 13, 14]]).max() < 1e-10


@pytest.mark.parametrize("method", NAMES)
def test_projected_balances_in_every_scheme(method: str) -> None:
    s = double_pendulum()
    full, projected = (s.simulate(0.5, 0.01, method, reduction=r) for r in ("none", "projection"))
    for n in ("rod0.position", "rod1.rotation", "rod1.velocity", "elbow.position.x"):
        assert np.allclose(full[n], projected[n], rtol=0, atol=1e-8 if n.startswith("elbow") else 1e-10), n
    if method == "energy-momentum":
        assert np.ptp(projected["energy.total"]) < 1e-12


def test_projected_balances_of_a_free_body_have_no_multipliers() -> None:
    """A spinning top in free flight: 12 unknowns instead of 18, and a condition that does not grow as h → 0."""
    s = AssembledSystem("free")
    q = DirectorBody.coordinates_of()
    body = s.coordinates("top", 12, q, DirectorBody.rates_of(q, velocity=(1, 0, 0), omega=(3.0, 0.1, 5.0)))
    s.add(DirectorBody(), "inertia", {"body": body}, DirectorBody.numbers(1.0, (1.0, 2.0, 2.5)))
    sol = s.simulate(5.0, 0.05, reduction="projection")
    assert sol.statistics["unknowns"] == 12
    assert np.ptp(sol["energy.total"]) < 1e-11 and np.ptp(sol["momentum.angular"], axis=0).max() < 1e-11
    coarse, fine = ([s.report(h, reduction=r)["condition_unscaled"] for r in ("none", "projection")] for h in (1e-2, 1e-4))
    assert fine[0] > 1e3 * coarse[0] and fine[1] < 1.1 * coarse[1]
