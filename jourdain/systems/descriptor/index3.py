"""A run of the index-3 augmented Lagrangian in the coordinates of a descriptor or of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...solvers.constraints.reductions import independent_rows, kkt, multipliers, penalty_scale
from ...solvers.interruption import in_chunks
from ..state import State
from ..units import units_of


def augmented_lagrangian_run(
    system: Any, own: State, span: tuple[float, float], step: float | None, penalty: float, u: np.ndarray, times: Any, tangent: str = "tangent",
    charts: Sequence[int] = (),
) -> tuple[np.ndarray, np.ndarray, str, str]:  # fmt: skip
    """Times and rows (x, ẋ) of fixed trapezoidal steps, status and message; ``times`` must lie on the grid of steps.

    The penalty α of a row is ``penalty`` times the mass it feels times 4/h²: so many times stiffer than inertia over a step.
    ``tangent`` names the system's function that gives K and C; ``charts`` are the first coordinates of rotation vectors.
    """
    from ...solvers.constraints.index3 import Compiled, Terms, Work, march

    eq, name = system.equations_of_motion, system.model.name
    if step is None or not step > 0:
        raise InputError(f"simulate '{name}': the augmented Lagrangian takes fixed steps; give step= in s")
    if system.nq != system.nv:
        raise InputError(
            f"simulate '{name}': the index-3 augmented Lagrangian has no quaternions; describe ball joints by angles (orientation='xyz')"
        )
    if eq.holonomic < len(eq.rows) or system.nz or system.model.events:
        raise InputError(f"simulate '{name}': the index-3 augmented Lagrangian serves holonomic constraints without user states and events")
    n, steps = system.nq, round((span[1] - span[0]) / step)
    h = (span[1] - span[0]) / steps
    clock, state, inputs = np.array([span[0]]), np.concatenate([own.q, own.v]), np.array(u, dtype=float)
    M, f, J, g, _ = system.function("descriptor")(clock, state, inputs)
    kept, _ = independent_rows(J)
    xdd = np.array(kkt(M, J[kept], f, g[kept]).a)
    lam = -multipliers(M, J, f, xdd)
    arrays: dict[str, np.ndarray] = {}
    functions: dict[str, Compiled] = {}
    known = {"t": clock, "x": state, "q": state[:n], "v": state[n:], "u": inputs, "z": np.zeros(1)}
    names = {"descriptor": "descriptor", "constraints": "constraints", "velocities": "constraint_velocities", "tangent": tangent}
    for role, function in names.items():  # all of them write the same Jacobian
        fn = system.function(function)
        outputs = [arrays.setdefault(o, np.zeros(max(1, int(np.prod(shape))))) for o, shape in fn.signature.outputs]
        arguments = fn.arguments(*(known[i] for i, _ in fn.signature.inputs), *outputs)
        functions[role] = Compiled(function=fn.address, args=arguments)
    terms = Terms(clock=clock, state=state, **functions, **{k: arrays[k] for k in ("M", "f", "J", "g", "h", "w", "K", "C")})
    units = units_of(system)
    row, unit = units.row[:, None], units.velocity
    alpha = penalty * 4.0 / h**2 * (units.row * penalty_scale(unit[:, None] * M * unit, row * J * unit)) ** 2
    memory = {"A": n * n, "W": n * n, "b": n, "start": 2 * n, "again": 3}
    work = Work(**{k: np.zeros(size) for k, size in memory.items()}, pivots=np.zeros(n, dtype=np.int64), alpha=alpha, unit=unit)
    grid = span[0] + h * np.arange(steps + 1)
    wanted = np.arange(steps + 1) if times is None else np.rint((np.asarray(times, dtype=float) - span[0]) / h).astype(int)
    if times is not None and np.abs(grid[wanted] - times).max() > 1e-9 * max(1.0, abs(span[1])):
        raise InputError(f"simulate '{name}': output times must lie on the grid of fixed steps of {h:g} s")
    out = np.empty((steps + 1, 2 * n))
    out[0] = state
    turned = np.array(charts, dtype=np.int64)
    done, status, message = (
        in_chunks(lambda first, last: march(terms, work, xdd, lam, turned, h, span[0], first, last, out), steps),
        "finished",
        "",
    )
    if done < 0:
        done, status = -1 - done, "failed"
        message = f"Newton's method fails at t = {span[0] + done * h:.6g} s; use a smaller step= or another penalty="
    elif done < steps:
        status = "interrupted"
    wanted = wanted[wanted <= done]
    return grid[wanted], out[wanted], status, message
