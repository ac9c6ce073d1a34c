"""Feedback about a state: eigenvalues over the gain of a loop, and regulators that minimise a quadratic cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..reals import reals
from ..shown import Shown
from ..symbolic.expr import Expr, as_expr
from ..systems.inputs import Controller
from .eigen import spectrum
from .modal import RootLocus, matched

if TYPE_CHECKING:
    from ..model.model import Model
    from .linearise import LinearSystem


def gain_locus(linear: LinearSystem, input: str, output: str, gains: Any) -> RootLocus:
    """Eigenvalues over the gain k of the loop u = −k y from one output to one input: those of A − k b c/(1 + k d)."""
    b, c = linear.B[:, _place(input, linear.inputs, "input")], linear.C[_place(output, linear.outputs, "output")]
    d = float(linear.D[linear.outputs.index(output), linear.inputs.index(input)])
    rows: list[np.ndarray] = []
    grid = np.atleast_1d(reals(gains, "root locus: gains"))
    if grid.ndim != 1 or not np.isfinite(grid).all():
        raise InputError(f"root locus: gains = {gains!r} are no list of finite numbers")
    for k in grid.tolist():
        if 1.0 + k * d == 0.0:
            raise InputError(
                f"root locus: with the gain {k:g} the loop from '{output}' to '{input}' has no solution, 1 + k d = 0; shift it"
            )
        found = spectrum(linear.A - k / (1.0 + k * d) * np.outer(b, c), linear.dof, len(linear.M)).all_values
        rows.append(matched(rows[-1], found) if rows else found[np.lexsort((found.real, found.imag))])
    return RootLocus(f"gain from {output} to {input}", grid, np.array(rows))


@dataclass(frozen=True)
class Regulator(Shown):
    """State feedback u = u₀ − K (x − x₀) that minimises ∫ xᵀQ x + uᵀR u dt; sampled with a period if one was given."""

    linear: LinearSystem = field(repr=False)
    #: gains (inputs, states), the cost matrix of the start xᵀP x, and eigenvalues of the closed loop in 1/s
    K: np.ndarray
    P: np.ndarray
    eigenvalues: np.ndarray
    period: float | None = None

    def laws(self, model: Model | None = None) -> dict[str, Expr]:
        """The feedback of each input as an expression of the model, or of another one with the same names (so that it can be built in)."""
        of = self.linear.system.model if model is None else model
        symbols = {n: s for c in of.coordinates for n, s in (*zip(c.names, c.q, strict=True), *zip(c.velocity_names, c.v, strict=True))}
        symbols |= {n: z.symbol for n, z in of.states.items()}
        missing = [n for n in self.linear.states if n not in symbols]
        if missing:
            raise InputError(
                f"regulator: '{missing[0]}' is no number that can be read (a quaternion, or not in '{of.name}'); give a law by hand"
            )
        found = {}
        for name, row in zip(self.linear.inputs, self.K, strict=True):
            law = as_expr(float(self.linear.u[list(self.linear.system.model.inputs).index(name)]))
            for gain, state in zip(row.tolist(), self.linear.states, strict=True):
                law = law - gain * (symbols[state] - self.linear.state[state])
            found[name] = law
        return found

    def controllers(self) -> dict[str, Controller]:
        """The feedback as sampled controllers, for ``simulate(inputs=…)``."""
        if self.period is None:
            raise InputError("regulator: it was made for continuous time; give lqr(…, period=) in s to sample it")
        return {name: Controller(law, self.period) for name, law in self.laws().items()}

    def __str__(self) -> str:
        lines = [f"regulator of {self.linear.system.model.name}" + ("" if self.period is None else f", every {self.period:g} s")]
        for name, row in zip(self.linear.inputs, self.K, strict=True):
            lines += [f"  {name} = … − {k:.6g} {state}" for k, state in zip(row, self.linear.states, strict=True)]
        slowest = self.eigenvalues[np.argmax(self.eigenvalues.real)]
        return "\n".join([*lines, f"  slowest eigenvalue {slowest.real:.5g} ± {abs(slowest.imag):.5g}i 1/s"])


def lqr(linear: LinearSystem, Q: Any, R: Any, period: float | None = None) -> Regulator:
    """The linear quadratic regulator of a linear system.

    Q: weights of the states, a matrix, or numbers by the names of states and outputs ({"shoulder.angle": 100.0, "tip": 1e4}), the others zero.
    R: weights of the inputs, a matrix, a number for each, or numbers by name.
    period: of sampling (s): the same cost with inputs that are held in between (Van Loan 1978), instead of continuous feedback.
    """
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    A, B = linear.A, linear.B
    q, r = _state_weights(linear, Q), _input_weights(linear, R)
    try:
        if period is None:
            P = solve_continuous_are(A, B, q, r)
            K = np.linalg.solve(r, B.T @ P)
            closed = spectrum(A - B @ K, linear.dof, len(linear.M)).all_values
        else:
            if not period > 0:
                raise InputError(f"lqr: the period {period} s must be positive")
            Ad, Bd, q, r, N = _held(A, B, q, r, period)
            P = solve_discrete_are(Ad, Bd, q, r, s=N)
            K = np.linalg.solve(r + Bd.T @ P @ Bd, Bd.T @ P @ Ad + N.T)
            closed = np.log(np.linalg.eigvals(Ad - Bd @ K).astype(complex)) / period
    except np.linalg.LinAlgError as error:
        raise InputError(
            f"lqr: '{linear.system.model.name}' has no regulator for these weights ({error}); each growing or lasting motion must be reached by an input "
            "and cost something in Q"
        ) from None
    if not closed.real.max() < 0.0:
        raise InputError(
            f"lqr: the closed loop of '{linear.system.model.name}' would keep the eigenvalue {closed[np.argmax(closed.real)]:.4g} 1/s; give its motion a weight in Q"
        )
    return Regulator(linear, K, P, closed, period)


def _held(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, h: float) -> tuple[np.ndarray, ...]:
    """A, B, Q, R and cross weights N of the system sampled with inputs held over a period h."""
    from scipy.linalg import expm

    n, m = B.shape
    F = np.zeros((n + m, n + m))
    F[:n, :n], F[:n, n:] = A, B
    W = np.zeros_like(F)
    W[:n, :n], W[n:, n:] = Q, R
    E = expm(h * np.block([[-F.T, W], [np.zeros_like(F), F]]))
    step = E[n + m :, n + m :]
    cost = step.T @ E[: n + m, n + m :]
    cost = 0.5 * (cost + cost.T)
    return step[:n, :n], step[:n, n:], cost[:n, :n], cost[n:, n:], cost[:n, n:]


def _state_weights(linear: LinearSystem, given: Any) -> np.ndarray:
    n = len(linear.states)
    if not isinstance(given, Mapping):
        return _matrix(given, n, "Q", linear.states)
    Q = np.zeros((n, n))
    for name, weight in given.items():
        if name in linear.states:
            row = np.eye(n)[linear.states.index(name)]
        else:
            k = _place(name, linear.outputs, "state or output")
            row = linear.C[k]
            if np.any(linear.D[k]):
                raise InputError(f"lqr: output '{name}' depends on inputs at once; weigh states or outputs of positions and velocities")
        Q += float(weight) * np.outer(row, row)
    return Q


def _input_weights(linear: LinearSystem, given: Any) -> np.ndarray:
    if isinstance(given, Mapping):
        missing = [n for n in linear.inputs if n not in given]
        if missing or len(given) != len(linear.inputs):
            raise InputError(f"lqr: R must weigh the inputs {', '.join(linear.inputs)}, each once; got {', '.join(given)}")
        given = [float(given[n]) for n in linear.inputs]
    R = _matrix(given, len(linear.inputs), "R", linear.inputs)
    if not np.linalg.eigvalsh(R).min(initial=1.0) > 0:
        raise InputError(f"lqr: R = {R.tolist()} must be positive: every input costs something")
    return R


def _matrix(given: Any, n: int, what: str, names: list[str]) -> np.ndarray:
    array = reals(given, f"lqr: {what}")
    array = np.diag(np.broadcast_to(array, n)) if array.ndim < 2 and array.size in (1, n) else array
    if array.shape != (n, n) or not np.allclose(array, array.T):
        raise InputError(
            f"lqr: {what} must be a symmetric matrix of {n} × {n}, a number for each of {', '.join(names)}, or numbers by name"
        )
    return array


def _place(name: str, names: list[str], what: str) -> int:
    if name not in names:
        raise InputError(f"'{name}' is no {what} of the linear system; it has {', '.join(names)}")
    return names.index(name)


__all__ = ["Regulator", "gain_locus", "lqr"]
