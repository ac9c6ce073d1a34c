"""What the matrix of a step of an assembled system tells: its size and condition, and why a run has failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.discrete.schemes import Scheme
from ...solvers.memory_log import not_renewed
from ...solvers.stepping import frame as ap

if TYPE_CHECKING:
    from ...solvers.stepping.run import Run
    from .program import Program
    from .system import AssembledSystem


def report(system: AssembledSystem, step: float, chosen: Scheme, reduction: str) -> dict[str, float]:
    """What :meth:`AssembledSystem.report` gives."""
    from scipy.sparse import csc_matrix, diags

    run, program = system.new_run(chosen, reduction, 0.0, step, step, 1, 1e-12, 20)
    if run.joints is not None:
        found: dict[str, float] = run.joints.report(run, step)
        return found
    assert run.lu is not None
    n, k = program.unknowns, program.coordinate_unknowns
    K = csc_matrix((run.values, program.indices, program.starts), shape=(n, n))
    left, right = np.ones(n), np.ones(n)
    left[:k], right[k:] = 2.0 / step, run.scheme.kappa
    textbook = csc_matrix(diags(left) @ K @ diags(right))
    return {
        "unknowns": n, "coordinates": k, "multipliers": n - k, "nonzeros": int(run.values.size), "fill": run.lu.fill,
        "condition": _condition(K), "condition_unscaled": _condition(textbook),
    }  # fmt: skip


def failure(name: str, run: Run, program: Program) -> str:
    """Why a run cannot go on."""
    if run.error is not None:
        return f"simulate '{name}': {run.error}"
    if run.memories is not None and run.memories.bad >= 0:
        return f"simulate '{name}': {not_renewed(run.memories, run.memory_names, run.clock.t)}"
    unknown = run.undetermined() if run.joints is None else None
    if unknown is not None:
        return (
            f"simulate '{name}': the equations of a step do not determine {program.describe(unknown)} at t = {run.clock.t:.9g} s, "
            f"even with a step of {run.clock.h:.3g} s (singular matrix); give it mass or stiffness there, or remove constraints that coincide"
        )
    if wrong := _astray(run, program):
        return f"simulate '{name}': at t = {run.clock.t:.9g} s, even with a step of {run.clock.h:.3g} s, {wrong}"
    if run.count.refused:
        return (
            f"simulate '{name}': a step of {run.clock.h:.3g} s at t = {run.clock.t:.9g} s is refused, because "
            + ("its energies do not balance: is a law's force none of its energies?" if run.count.refused == ap.TOTAL else
               "an angle leaves the directions of its bodies: do forces or speeds run away there? (form='thesis' has a mirror branch: use 'robust')")
        )  # fmt: skip
    r = np.abs(run.r) * (1.0 if run.lu is None else run.lu.row_scale)
    k = int(np.argmax(np.where(np.isfinite(r), r, np.inf)))
    return (
        f"simulate '{name}': Newton's method does not converge at t = {run.clock.t:.9g} s, even with a step of {run.clock.h:.3g} s; "
        f"the worst equation belongs to '{program.unknown_names[k]}' (residual {run.r[k]:.3g}); try a smaller step or look at the laws there"
    )


def _astray(run: Run, program: Program) -> str:
    """A solid or beam that has gone wrong where the run has failed."""
    from .at_rest import astray

    return astray(program.instances, np.asarray(run.vec.q1)) if np.isfinite(run.vec.q1).all() else ""


def _condition(K: Any) -> float:
    """‖K‖₁ ‖K⁻¹‖₁: exact for small matrices, estimated for large ones."""
    from scipy.sparse.linalg import LinearOperator, onenormest, splu

    if K.shape[0] <= 400:
        return float(np.linalg.cond(K.toarray(), 1))
    lu = splu(K)
    inverse = LinearOperator(K.shape, matvec=lu.solve, rmatvec=lambda b: lu.solve(b, trans="T"))
    return float(onenormest(K) * onenormest(inverse))
