"""Simulation in the coordinates of a descriptor: index 1 with projection or Baumgarte's stabilisation, or index 3 with an augmented
Lagrangian; the time loop is native in all cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...analysis.simulate import SimulationError, instants_of, solution_of, sort_inputs, span_of
from ...errors import InputError
from ...results.solution import Solution
from ...solvers import METHODS
from ..state import State
from ..tree.alpha import ALPHA_METHODS
from .methods import integrate_native
from .system import DescriptorSystem, tree_states

#: α = β of Baumgarte's stabilisation (1/s) where none are given.
BAUMGARTE = 20.0
STABILISATIONS = ("projection", "baumgarte", "none")
AUGMENTED_LAGRANGIAN = "augmented_lagrangian"


def simulate_descriptor(
    system: DescriptorSystem, formulation: str, start: State, t: float | Sequence[float], method: str = "dopri5", rtol: float = 1e-8,
    atol: float = 1e-10, step: float | None = None, times: Any = None, outputs: int | None = None, stabilisation: str = "projection",
    alpha: float = BAUMGARTE, beta: float | None = None, penalty: float = 1e5, inputs: Mapping[str, Any] | None = None,
    max_steps: int = 10_000_000, progress: bool = False, rho: float = 0.8,
) -> Solution:  # fmt: skip
    """Motion from a state of the reference system over ``t`` seconds (or from t[0] to t[1]), as a solution of the reference system.

    ``stabilisation``: "projection" puts x and ẋ back onto the constraints after each step, "baumgarte" adds −2αḣ − β²h to the
    accelerations of the constraints (α, β in 1/s, equal by default), "none" lets them drift.  ``method`` is any of the
    integrators, or "augmented_lagrangian": index 3 with the trapezoidal rule in fixed steps of ``step`` seconds, constraints ``penalty`` times
    stiffer than inertia over a step, and mass-orthogonal projections of velocities and accelerations (Cuadrado et al. 1997).
    """
    if stabilisation not in STABILISATIONS:
        raise InputError(f"stabilisation '{stabilisation}' is unknown; use one of {', '.join(STABILISATIONS)}")
    if method not in (*METHODS, *ALPHA_METHODS, AUGMENTED_LAGRANGIAN):
        raise InputError(f"method '{method}' is unknown; choose one of {', '.join([*METHODS, *ALPHA_METHODS, AUGMENTED_LAGRANGIAN])}")
    span = span_of(system.model.name, start.t, t)
    jumps = [e.name for e in system.model.events.values() if e.jump]
    if jumps:
        raise InputError(f"event '{jumps[0]}' sets joint coordinates; simulate it with the recursive formulation")
    times = instants_of(system.model.name, span, times, outputs)
    if times is not None and not (span[0] <= np.min(times) and np.max(times) <= span[1]):
        raise InputError(f"simulate '{system.model.name}': output times must lie between {span[0]:g} and {span[1]:g} s")
    own = system.state_of(start)
    constants, signals, controllers = sort_inputs(system.reference, inputs or {})
    if controllers:
        raise InputError(f"controller of '{next(iter(controllers))}': sampled controllers need the recursive formulation")
    u = system.input_values(constants)
    about = {
        "model": system.model.name,
        "formulation": formulation,
        "method": method,
        "stabilisation": stabilisation,
        "rtol": rtol,
        "atol": atol,
    }
    if method == AUGMENTED_LAGRANGIAN:
        from .index3 import augmented_lagrangian_run

        if signals:
            raise InputError(f"method '{method}' takes inputs as numbers")
        grid, rows = augmented_lagrangian_run(system, own, span, step, penalty, u, times, charts=[c[0] for c in system.descriptor.charts])
        return wrap(system, start, grid, rows, about)
    if stabilisation == "baumgarte":
        system = system.stabilised(alpha, alpha if beta is None else beta)
    native = system.native(own, u, signals)
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "step": step, "progress": progress, "max_steps": max_steps}
    options["dense"] = times is not None
    if system.descriptor.charts:
        from ...solvers.constraints.rotation_chart import exchange

        options["switch"] = exchange([chart[0] for chart in system.descriptor.charts], system.nq)
    trajectory = integrate_native(native, span, own.x, method, stabilisation, rho, events=native.events(), **options)
    if native.callbacks is not None and native.callbacks.error is not None:
        raise native.callbacks.error
    about |= {"status": trajectory.status, "message": trajectory.message}
    about |= {} if method in ALPHA_METHODS else {"reduction": system.reduction}  # they solve for multipliers themselves
    if times is None:
        solution = wrap(system, start, trajectory.t, trajectory.x[:, : native.n], about)
    else:  # turns of joints are counted from step to step, whatever the output
        wanted = np.asarray(times, dtype=float)
        wanted = wanted[wanted <= trajectory.t[-1]]
        grid = np.union1d(trajectory.t, wanted)
        solution = wrap(system, start, grid, trajectory.at(grid)[:, : native.n], about, np.searchsorted(grid, wanted))
    if trajectory.status in ("failed", "max_steps"):
        raise SimulationError(f"simulate '{system.model.name}' in {formulation} coordinates: {trajectory.message}", solution)
    return solution


def wrap(
    system: DescriptorSystem, start: State, t: np.ndarray, rows: np.ndarray, about: dict[str, Any], kept: np.ndarray | slice = slice(None)
) -> Solution:
    """Rows (x, ẋ, z), or the ``kept`` ones, as a solution of the reference system; they themselves stay in ``solution.unknowns``."""
    n = system.nq
    zero = np.zeros(n)
    p, R, v, w, _, _ = system.function("bodies")(t[:, None], rows[:, :n], rows[:, n : 2 * n], zero)
    states = np.column_stack([tree_states(system.reference, start, t, p, R, v, w, drifting=True), rows[:, 2 * n :]])
    solution = solution_of(system.reference, t[kept], states[kept], about)
    solution.unknowns = rows[kept]  # type: ignore[attr-defined]
    return solution


def drift(system: DescriptorSystem, solution: Solution) -> tuple[float, float]:
    """Largest |h| and largest velocity residual of the constraints along a solution made by :func:`simulate_descriptor`."""
    rows = getattr(solution, "unknowns", None)
    if rows is None or rows.shape[1] != 2 * system.nq + system.nz:
        raise InputError("this solution was not simulated in these coordinates; its constraint errors are not known")
    if not system.equations_of_motion.rows:
        return 0.0, 0.0
    n = system.nq
    clock, x, xd = solution.t[:, None], rows[:, :n], rows[:, n : 2 * n]
    h = system.function("constraints")(clock, x)[0] if system.equations_of_motion.holonomic else np.zeros((1, 0))
    f = system.function("constraint_velocities")
    extra = {"z": rows[:, 2 * n :], "u": system.input_values()}
    w = f(clock, x, xd, *(extra[name] for name in list(f.inputs)[3:]))[0]
    return float(np.abs(h).max(initial=0.0)), float(np.abs(w).max(initial=0.0))


__all__ = ["AUGMENTED_LAGRANGIAN", "STABILISATIONS", "drift", "simulate_descriptor", "wrap"]
