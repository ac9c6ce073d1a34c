"""Simulation with constraints held by penalty and multiplier: every step is repeated with better multipliers until they are met.

García Orden & Goicolea, eq. 8 with the sign that converges: f = −(λ* + αΦ̄) DΦ, λ* ← λ* + ½αΦ₁ (½ as Φ̄ is a mean).  A penalty α far below that of a pure
penalty method is enough, and the equations of a step stay well conditioned.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.discrete.schemes import scheme
from ...elements.potentials import AugmentedLagrangian
from ...errors import ModelError, SolverError
from ...results.solution import Solution

if TYPE_CHECKING:
    from .program import Program
    from .system import AssembledSystem


def simulate_augmented(
    system: AssembledSystem, end: float, step: float, *, violation: float = 1e-10, sweeps: int = 200, tolerance: float = 1e-13
) -> Solution:
    """Simulates with the energy-momentum scheme, repeating each step until all rows of augmented Lagrangians are below ``violation``.

    ``sweeps`` bounds the repetitions of a step, ``tolerance`` is that of Newton's method.  The statistics count all sweeps.
    """
    from ...solvers.stepping.run import Rows
    from .channels import channels_of

    begun = time.perf_counter()
    run, program = system.new_run(scheme("energy-momentum"), "none", 0.0, end, step, 1, tolerance, 20)
    slots, alpha = _multiplier_slots(system, program)
    run.begin()
    rows, repeated = Rows(), 0
    run.add_state(rows)
    stepper = _Stepper(run)
    finished = False
    while not finished:
        start, others = run.save("vec", "lam", "clock", "count", "book"), run.z.start.copy()
        for _ in range(sweeps):
            before = run.z.start[slots].copy()
            finished = stepper.advance(system.name)
            worst = float(np.abs(2.0 * (run.z.start[slots] - before) / alpha).max(initial=0.0))
            if worst < violation:
                break
            repeated += 1
            others[slots] = run.z.start[slots]
            run.restore(start)
            run.z.start = run.z.end = others
        else:
            raise SolverError(
                f"simulate '{system.name}': constraints are violated by {worst:.3g} after {sweeps} sweeps at t = {start['clock'].t:.6g} s; "
                "raise alpha or the number of sweeps"
            )
        rows.add(*stepper.row())
    t, q, v, lam, book = rows.joined()
    about = {
        "model": system.name,
        "method": "energy-momentum, augmented Lagrangian",
        "step": step,
        "tolerance": tolerance,
        "status": "finished",
    }
    statistics = run.statistics(time.perf_counter() - begun) | {"sweeps": repeated + len(t) - 1}
    return Solution(t, channels_of(system.handles, system.instances, program.multiplier_names, q, v, lam, book), about, statistics, system)


class _Stepper:
    """One step of a run at a time."""

    def __init__(self, run: Any) -> None:
        from ...solvers.stepping import frame as ap
        from ...solvers.stepping.march import march

        n, m, frame = run.vec.q0.size, run.lam.last.size, run.frame
        self.run, self.plan, self.march = run, ap, march.call
        self.out = np.empty(4), np.empty((4, n)), np.empty((4, n)), np.empty((4, m)), np.empty((4, ap.BOOK))
        frame.out_t, frame.out_q, frame.out_v, frame.out_lam, frame.out_book = self.out
        frame.room = 1

    def advance(self, name: str) -> bool:
        """To the next point of output; whether it is the end."""
        ap, run = self.plan, self.run
        run.count.out, run.frame.limit = 0, 1 << 30
        while True:
            reason = self.march(run.address)
            if reason == ap.ANALYSE:
                run.analyse_again()
                continue
            if reason == ap.FAILED:
                raise SolverError(f"simulate '{name}': Newton's method does not converge at t = {run.clock.t:.9g} s; try a smaller step")
            return bool(reason == ap.FINISHED)

    def row(self) -> list[np.ndarray]:
        """The row of output last written."""
        return [block[:1] for block in self.out]


def _multiplier_slots(system: AssembledSystem, program: Program) -> tuple[np.ndarray, np.ndarray]:
    """Where multipliers stand among the internal variables, and the α of each."""
    slots, alphas, at = [], [], 0
    for group in program.groups:
        element = group.kernels.step.element
        size = sum(element.history.values())
        for member in group.members:
            if isinstance(element, AugmentedLagrangian):
                first = at + sum(n for name, n in element.history.items() if name != "multiplier")
                count = element.history["multiplier"]
                slots += list(range(first, first + count))
                alphas += [float(system.constants[member]["alpha"][0])] * count
            at += size
    if not slots:
        raise ModelError(f"system '{system.name}' has no augmented Lagrangian; use simulate, or wrap constraints in AugmentedLagrangian")
    return np.array(slots), np.array(alphas)


__all__ = ["simulate_augmented"]
