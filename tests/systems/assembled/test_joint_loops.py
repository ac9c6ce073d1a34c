"""Closed loops in joint coordinates: choices of independent rates, the six-body linkage, the Stewart platform."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from jourdain.elements.discrete.null_space import choose, variable_reduction
from jourdain.elements.rigid import DirectorBody
from jourdain.errors import JourdainError
from jourdain.library.manipulators import planar_manipulator, radio_telescope, stewart_platform
from jourdain.solvers.stepping import frame as ap
from jourdain.solvers.stepping import joint_step as reduced_step
from jourdain.solvers.stepping import kernels as assembled_kernels
from jourdain.systems.assembled.joints import SWITCH, condition_table
from jourdain.systems.assembled.system import AssembledSystem
from tests.systems.assembled.test_joint_steps import model
from tests.systems.assembled.test_joints import PLANAR, SPATIAL, assert_same, flying_pair, joints_of, pair_tree, platform_of


def moved(run: Any, joints: Any, w: np.ndarray) -> np.ndarray:
    """Coordinates after a finite motion w of the tree's joints from the initial state."""
    run.vec.q1, run.vec.u = run.vec.q0, 0.0
    run.count.which, run.count.mode, run.clock.alpha = ap.TANGENT, ap.APPLY, 1.0
    for kernel in (assembled_kernels.evaluate, reduced_step.spaces):
        _go(kernel, run)
    joints.frame.w[:] = 0.0
    joints.frame.w[: w.size] = w
    joints.frame.gd[:] = np.eye(len(joints.closure)).ravel() if joints.closure else 0.0
    run.vec.saved, run.vec.u_saved = run.vec.q1, run.vec.u
    run.lam.kept = run.lam.now
    for kernel in (reduced_step.expand, assembled_kernels.move):
        _go(kernel, run)
    return run.vec.q1.copy()


def _go(kernel: Any, run: Any) -> None:
    ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_ssize_t)(kernel.address)(run.address)


# trees -----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*SPATIAL, *PLANAR], ids=lambda k: k.__name__)
def test_finite_motions_keep_their_pair(kind: Any) -> None:
    """Φ(F(μ)) = 0 for large μ."""
    s, rng = flying_pair(kind), np.random.default_rng(8)
    run, joints = joints_of(s, 0.01)
    for _ in range(20):
        q = moved(run, joints, rng.uniform(-1.4, 1.4, joints.size))
        rows = s.equations.at(q, np.zeros_like(q), 0.0).value if kind.__name__ != "Screw" else _rows_of_bodies(s, q)
        assert np.abs(q - s.q0).max() > 0.3
        assert np.abs(rows).max() < 1e-13 * max(1.0, np.abs(q).max()) ** 2


def _rows_of_bodies(s: AssembledSystem, q: np.ndarray) -> np.ndarray:
    """Residuals of all rows but those that define augmented coordinates, which follow a finite motion to first order only."""
    names = s.equations.row_names
    keep = [k for k, n in enumerate(names) if n[1] not in ("angle", "displacement", "pitch")]
    assert len(keep) == len(names) - 3
    return s.equations.at(q, np.zeros_like(q), 0.0).value[keep]


def test_null_space_is_the_derivative_of_finite_motions() -> None:
    """T of a tree of pairs of all kinds against differences of its forward kinematics."""
    s = pair_tree()
    run, joints = joints_of(s, 0.01)
    joints.build(run, predicted=False)
    T, e = joints.null_space(mean=False), 1e-6
    for k in range(joints.size):
        unit = np.zeros(joints.size)
        unit[k] = e
        rate = (moved(run, joints, unit) - moved(run, joints, -unit)) / (2.0 * e)
        for h in s.handles:
            if h.size == 12:
                u, q = joints.program.first_unknown[h.number], s.q0[h.offset : h.offset + 12]
                wanted = DirectorBody.rates_of(q, T[u : u + 3, k], T[u + 3 : u + 6, k])
                assert rate[h.offset : h.offset + 12] == pytest.approx(wanted, abs=2e-9 * max(1.0, np.abs(wanted).max()))


# loops -----------------------------------------------------------------------------------------------------------------------------------


def test_choices_span_one_space_along_a_run_through_singular_legs() -> None:
    sol = planar_manipulator().simulate(0.8, 0.01, reduction="joints")
    chosen = []
    for k in range(0, len(sol.t), 2):
        platform = platform_of(sol, k)
        P, about = choose(platform)
        rows = platform.closure()
        assert np.abs(rows @ P).max() < 1e-12 * max(1.0, np.abs(P).max())
        assert subspace_angles(P, variable_reduction(rows)[0]).max() < 1e-10
        chosen.append(about["independent"])
    assert {"platforms", "leg"} == set(chosen)


def pivots(limit: float) -> tuple[list[float], int]:
    """Ratio of the pivots of the dependent rates at the steps of a run through singular legs, and the number of new choices."""
    run, joints = joints_of(planar_manipulator(), 0.01)
    joints.frame.state.limit = limit
    run.begin()
    found = []
    for k in range(105):
        run.set_time(0.01 * k, 0.01 * (k + 1), 0.01)
        run.count.grid = 0
        assert run.march()[1] == ap.FINISHED
        found.append(float(joints.frame.state.ratio))
    return found, joints.switches


def test_independent_rates_are_chosen_anew_where_their_pivots_get_small() -> None:
    kept, never = pivots(0.0)
    switched, switches = pivots(SWITCH)
    assert (never, switches > 0) == (0, True)
    assert min(kept) < 0.1 * kept[0]
    assert min(switched) > 2.0 * min(kept)


@pytest.mark.parametrize("make", [radio_telescope, stewart_platform, lambda: model("Bricard")], ids=["telescope", "Stewart", "Bricard"])
def test_condition_numbers_of_spatial_loops(make: Any) -> None:
    table = condition_table(make(), (1e-2, 1e-3, 1e-4))
    assert table["none"]["slope"] == pytest.approx(-3.0, abs=0.1)
    assert table["joints"]["slope"] == pytest.approx(0.0, abs=0.1)


def test_six_body_linkage() -> None:
    """Bricard's linkage: one freedom, exact energy; its motion and what reactions do with it are those with all constraints."""
    s = model("Bricard")
    report = s.report(0.01, reduction="joints")
    assert report["freedoms"] == 1
    full, joints = (s.simulate(1.0, 0.01, reduction=r) for r in ("none", "joints"))
    for n in full.names:
        if n.endswith((".position", ".rotation", "velocity")):
            assert np.abs(joints[n] - full[n]).max() < 1e-8, n
        elif "multiplier" in full.channel(n).description and n in joints:
            assert np.abs(joints[n] - full[n]).max() < 1e-8 * max(1.0, np.abs(full[n]).max()), n
    assert np.ptp(joints["energy.total"]) < 1e-11 * np.abs(joints["energy.kinetic"]).max()


# Stewart platform ------------------------------------------------------------------------------------------------------------------------


def moving_platform() -> AssembledSystem:
    return stewart_platform(velocity=(0.5, -0.3, 0.4), omega=(0.6, 0.5, -0.8))


def test_stewart_platform_rests_on_its_springs() -> None:
    s = stewart_platform()
    assert s.equations.accelerations(s.q0, s.v0, 0.0)[0] == pytest.approx(np.zeros(s.q0.size), abs=1e-10)
    for reduction in ("none", "joints"):
        lifted = stewart_platform()
        raised = s.simulate(0.5, 0.01, reduction=reduction)
        assert np.ptp(raised["platform.position"], axis=0).max() < 1e-12
        found = lifted.equilibrium(reduction)
        assert np.abs(found.q - s.q0).max() < 1e-9


def test_stewart_platform() -> None:
    s = moving_platform()
    now = s.equations.at(s.q0, s.v0, 0.0)
    assert np.abs(now.rows @ s.v0).max() < 1e-14
    sizes = [s.report(0.01, reduction=r) for r in ("none", "bodies", "joints")]
    assert [r["unknowns"] for r in sizes] == [13 * 12 + 6 + 13 * 6 + 6 * 12 + 6, 13 * 6 + 6 + 6 * 12 + 6, 21]
    assert (sizes[2]["closure"], sizes[2]["freedoms"]) == (15, 6)
    sol = assert_same(s, 1.5, 0.01, 1e-10, 1e-8)
    assert np.ptp(sol["energy.total"]) < 1e-11 * np.abs(sol["energy.kinetic"]).max()
    assert np.ptp(sol["platform.position"], axis=0).min() > 0.005
    legs = np.stack([sol[f"length{k}"] for k in range(1, 7)])
    corners = np.stack([_corner(s, sol, k) for k in range(1, 7)])
    assert np.linalg.norm(corners, axis=2) == pytest.approx(legs, abs=1e-11)


def _corner(s: AssembledSystem, sol: Any, k: int) -> np.ndarray:
    """From the foot of a leg to its ball joint at the platform, over time."""
    numbers = {i.name: i for i in s.instances}
    foot = numbers[f"cross{k}"].numbers[:3]
    at = numbers[f"ball{k}"].numbers[3:6]
    return sol["platform.position"] + sol["platform.rotation"] @ at - foot


def test_stewart_platform_at_large_steps() -> None:
    s = stewart_platform(velocity=(1.0, 0.0, 0.5), omega=(0.0, 1.0, 2.0))
    for h in (0.05, 0.2):
        try:
            sol = s.simulate(20 * h, h, reduction="joints")
        except JourdainError:
            continue
        assert np.ptp(sol["energy.total"]) < 1e-9 * np.abs(sol["energy.kinetic"]).max()
