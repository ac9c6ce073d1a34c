"""Second derivatives of criteria of a motion: products of Hessians with directions, forward over adjoint, and those of Gauss and Newton.

A direction is carried along the steps, then weights and their changes are walked back (:mod:`jourdain.solvers.sensitivity.second`): the cost of a product does
not grow with the number of variables.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, nearest
from ...model.values import number
from ...reals import reals
from ...shown import Shown
from ...solvers.sensitivity.path import forwards
from ...solvers.sensitivity.second import Second, bend_back, second_of
from ..design.criteria import Criterion
from .gradient import numbers_of, present_value, split, variables_of
from .simulated import GradientWarning, NotCarried, Simulated

if TYPE_CHECKING:
    from ..design.planned import Analysis

#: Names of methods.
METHODS = ("exact", "gauss-newton", "differences")
#: Kinds of criteria whose second derivatives are carried; instants of extrema and of events would move.
CARRIED = ("integral", "mean", "rms", "final", "at", "largest", "least_squares")
#: Step of central differences of gradients, as a part of what a direction changes.
STEP = 1e-5


@dataclass(frozen=True, eq=False)
class Hessian(Shown):
    """Second derivatives of criteria: ``h["comfort"]`` is the matrix, or its product with the direction that was asked for."""

    analysis: Analysis = field(repr=False)
    criteria: Mapping[str, Criterion] = field(repr=False)
    #: Values of the criteria, and present values of the variables, in order.
    values: Mapping[str, float]
    variables: Mapping[str, float]
    #: ∂ψᵢ/∂pⱼ, found on the way.
    gradient: np.ndarray
    #: Directions, a row each.
    directions: np.ndarray
    #: Products: criteria × directions × variables.
    products: np.ndarray
    method: str
    #: Whether one direction was asked for instead of the matrix.
    single: bool = False
    cost: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def __getitem__(self, criterion: str) -> np.ndarray:
        names = list(self.values)
        if criterion not in names:
            raise InputError(f"the Hessian has no criterion '{criterion}'; it has {', '.join(names)}")
        found = self.products[names.index(criterion)]
        return found[0] if self.single else found

    def check(self, rtol: float = 1e-5) -> Hessian:
        """Compares with central differences of gradients of runs that take the same steps; an error says where they differ."""
        if self.method == "gauss-newton":
            raise InputError("products of Gauss and Newton leave out a part of the Hessian: differences of gradients do not give them")
        rows = [differences(self.analysis, self.criteria, self.variables, d) for d in self.directions]
        other = np.array(rows).transpose(1, 0, 2)
        for i, (name, value) in enumerate(self.values.items()):
            sizes = np.array([max(abs(x), 1e-3) for x in self.variables.values()])
            widths = np.array([max(np.abs(d / sizes).max(), 1e-300) for d in self.directions])[:, None]
            scaled = [m * sizes / widths for m in (self.products[i], other[i])]
            gap, most = np.abs(scaled[0] - scaled[1]), max(float(np.abs(scaled[0]).max()), 1e-6 * abs(value))
            if gap.max() > rtol * most:
                k, j = np.unravel_index(int(gap.argmax()), gap.shape)
                raise InputError(
                    f"Hessian of '{name}', entry of '{list(self.variables)[j]}': {self.method} gives {self.products[i][k, j]:.9g}, differences of "
                    f"gradients {other[i][k, j]:.9g}"
                )
        return self

    def __str__(self) -> str:
        width = max(len(n) for n in self.variables)
        spent = ", ".join(f"{n} {x:.3g}" for n, x in self.cost.items())
        lines = [f"{'product of the Hessian' if self.single else 'Hessian'} of {self.analysis.system.model.name} ({self.method}; {spent})"]
        for name, value in self.values.items():
            lines.append(f"{name} = {value:.6g}")
            found = np.atleast_2d(self[name])
            for j, n in enumerate(self.variables):
                lines.append(f"  {n:<{width}} " + " ".join(f"{x:>12.5g}" for x in found[:, j]))
        return "\n".join([*lines, *self.notes])


def hessian(
    analysis: Analysis, criteria: Mapping[str, Criterion], wrt: Sequence[str], direction: Any = None, method: str = "exact",
    values: Mapping[str, Any] | None = None,
) -> Hessian:  # fmt: skip
    """Second derivatives of criteria of a simulation by the variables ``wrt``: products with a ``direction`` (numbers by name or in order), or whole matrices.

    method: "exact" differentiates the walk back of the adjoint gradient; "gauss-newton" gives Jᵀ W J of criteria that are least squares, without second
        derivatives of what is compared; "differences" are those of gradients of runs with the same steps, for comparison.
    """
    if method not in METHODS:
        raise InputError(f"hessian: method '{method}' is unknown; use one of {', '.join(METHODS)}")
    if analysis.verb != "simulate":
        raise NotCarried(f"Hessians are those of simulations; of {analysis.verb} differentiate gradients at neighbouring values")
    names = variables_of(analysis, wrt, criteria)
    base = numbers_of(values)
    own, chosen = split(criteria, base)
    directions = np.eye(len(names)) if direction is None else _direction(names, direction)[None, :]
    run = Simulated(analysis, chosen, names, own, to_bends=False)
    _look(run, method)
    _look_at_bends(run)
    begun = time.perf_counter()
    present = {n: base.get(n, present_value(analysis, chosen, n)) for n in names}
    if method == "differences":
        found, gradient = run.adjoint()
        rows = [differences(analysis, criteria, {**base, **present}, d, names, run) for d in directions]
    else:
        walk = SecondWalk(run)
        rows = []
        for d in directions:
            found, gradient, row = walk.product(d, method == "gauss-newton")
            rows.append(row)
    cost = {"run": run.seconds, "seconds": time.perf_counter() - begun, "steps": len(run.t) - 1}
    products = np.array(rows).transpose(1, 0, 2)
    return Hessian(
        analysis, chosen, found, present, gradient, directions, products, method, direction is not None, cost, tuple(run.notes)
    )  # fmt: skip


def _direction(names: Sequence[str], given: Any) -> np.ndarray:
    """A direction in the order of the variables."""
    if isinstance(given, Mapping):
        strange = [n for n in given if n not in names]
        if strange:
            near = nearest(str(strange[0]), names, 2) or names
            raise InputError(f"hessian: the direction speaks of '{strange[0]}', which is no variable here; there is {', '.join(near)}")
        return np.array([number(given.get(n, 0.0), f"direction of '{n}'") for n in names])
    found = reals(given, "hessian: the direction")
    if found.shape != (len(names),) or not np.isfinite(found).all():
        raise InputError(f"hessian: the direction must have {len(names)} finite numbers, one for each of {', '.join(names)}")
    return found


def _look(run: Simulated, method: str) -> None:
    """Refuses what has no second derivative here."""
    head = f"Hessian of '{run.system.model.name}':"
    for name, c in run.criteria.items():
        if method == "gauss-newton" and c.kind != "least_squares":
            raise NotCarried(
                f"{head} criterion '{name}' ({c}) is no sum of squares of values; products of Gauss and Newton are those of least_squares"
            )
        if c.kind not in CARRIED or (c.kind == "largest" and not c.options.get("smooth")):
            raise NotCarried(
                f"{head} the instants of criterion '{name}' ({c}) move, which is not carried; use largest(…, smooth=), at, final, integral, mean, rms or least_squares"
            )
    events = [p.event for p in run.pieces if p.event is not None]
    if events or len(run.pieces) > 1:
        told = run.told_of(events[0]) if events else "a restart"
        raise NotCarried(
            f"{head} {told} happens on the way; runs with events are not carried: differences of gradients work (method='differences' of runs without)"
        )
    if run.run.held:
        raise NotCarried(f"{head} memories and sampled laws ('{run.run.held[0].name}') are not carried; take differences of gradients")
    if run.run.touched is not None:
        contact = next(iter(run.system.model.contacts))
        raise NotCarried(f"{head} contacts ('{contact}') are not carried; take differences of gradients")


def _look_at_bends(run: Simulated) -> None:
    """Tells of laws whose slopes jump on the way: what the instants of that add to second derivatives is not in those of the steps."""
    for bend in run.code.surfaces.bent(run.t, run.x):
        told = (
            f"a law or an integrand bends where {bend.surface} is zero (first at t = {bend.t:.6g} s): gradients have a corner there, and what moving that instant "
            "adds to second derivatives is left out; smooth it where that matters"
        )
        run.notes.append(told)
        warnings.warn(f"Hessian of '{run.system.model.name}': {told}", GradientWarning, stacklevel=5)


class SecondWalk:
    """Walks for products with directions along a run without events."""

    def __init__(self, run: Simulated) -> None:
        self.run, self.walks = run, run.walks
        for word in ("push", "pull", "bend"):
            self.walks.need(word)
        self.path = self.walks.path
        self.second: Second = second_of(self.path.leg)
        leg, r, n = self.path.leg, len(run.criteria), run.walks.field.n
        self.history = leg.history = np.zeros((len(run.t), n))
        self.by = run._symbol_changes()
        self.starts = run.run.start_changes(run.wrt, run.initial, self.by, run.symbols)
        P, count = len(run.points.t), max(1, r * leg.values.count)
        self.second.point_weights = np.zeros((P, count))
        for name, width in (("xbar", n), ("weights", max(1, leg.integrands.count)), ("cbar", max(1, run.walks.field.nc)), ("rbar", max(1, leg.integrands.nc)), ("vbar", max(1, leg.values.nc))):  # fmt: skip
            setattr(self.second, name, np.zeros((r, width)))

    def product(self, direction: np.ndarray, gauss_newton: bool) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
        """Values, gradients and products with a direction, a row a criterion."""
        run = self.run
        total, values, dtotal, dvalues = self._carry(direction)
        weights, dweights = self._seeds(total, values, dtotal, dvalues)
        if gauss_newton:
            # the gradient of ½ Σ w (F − y)² with F′ d for F − y; changes are not asked for
            gradient, _ = self._back(weights, None, direction)
            product, _ = self._back(dweights, None, direction)
        else:
            gradient, product = self._back(weights, dweights, direction)
        return run.results(total, values), gradient, product

    def _carry(self, direction: np.ndarray) -> tuple[np.ndarray, list[np.ndarray], np.ndarray, list[np.ndarray]]:
        """The direction along the steps, its changes of all states kept."""
        run, path = self.run, self.path
        leg = path.leg
        self.walks.begin_forwards(1)
        dp = direction @ self.by
        leg.dx[0] = direction @ self.starts
        for array, table in zip((leg.dc, leg.dr, leg.dv), run.code.slopes, strict=True):
            array[0, : len(table)] = table @ dp
        self.constants = [a[0].copy() for a in (leg.dc, leg.dr, leg.dv)]
        self.history[0] = leg.dx[0]
        leg.keeps = 1
        try:
            run._walk(path, forwards)
        finally:
            leg.keeps = 0
        return leg.total.copy(), run._values(path), leg.dtotal[0].copy(), [v[:, 0] for v in run._changed_values(path, 1)]

    def _seeds(self, total: np.ndarray, values: list[np.ndarray], dtotal: np.ndarray, dvalues: list[np.ndarray]) -> Any:
        """Weights of integrals and of values at instants, and their changes, a row a criterion."""
        run, leg = self.run, self.path.leg
        items, T = run.primitives.items, run.span[1] - run.span[0]
        found = [(np.zeros((len(items), max(1, leg.integrands.count))), np.zeros((len(run.points.t), max(1, len(items) * leg.values.count)))) for _ in range(2)]  # fmt: skip
        for i, item in enumerate(items):
            k = item.integrand
            whole, change = (float(total[k]), float(dtotal[k])) if k >= 0 else (0.0, 0.0)
            slopes = item.slopes(whole, values[i], T)[:2], item.bends(whole, change, dvalues[i], T)
            for (by_total, by_points), (of_total, of_values) in zip(found, slopes, strict=True):
                if k >= 0:
                    by_total[i, k] = of_total
                if len(item.times):
                    rows = run.points.item == i
                    by_points[rows, i * leg.values.count + item.value] = of_values[run.points.number[rows]]
        return found

    def _back(self, weights: Any, dweights: Any, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients, and their changes along the direction, of given weights with their changes (None: of fixed ones)."""
        run, second, r = self.run, self.second, len(self.run.criteria)
        path = self.walks.begin_back(r)
        leg = path.leg
        leg.weights[:], leg.point_weights[:] = weights
        second.weights[:], second.point_weights[:] = (0.0, 0.0) if dweights is None else dweights
        bars = [getattr(second, name) for name in ("xbar", "cbar", "rbar", "vbar")]
        for a in bars:
            a.fill(0.0)
        self.walks.put(path, run.t, run.x)
        leg.first, leg.last, leg.point_first, leg.point_last = run.pieces[0].first, run.pieces[0].last, 0, len(run.points.t)
        leg.margin = 0.0
        run._looked_at(path, bend_back.call(second.address))
        dp = direction @ self.by
        gradient, change = (np.zeros((r, len(run.wrt))) for _ in range(2))
        for bar, dbar, table, bent in zip((leg.cbar, leg.rbar, leg.vbar), bars[1:], run.code.slopes, self._bent(dp), strict=True):
            gradient += bar[:, : len(table)] @ table @ self.by.T
            change += (dbar[:, : len(table)] @ table + np.array([bent(row[: len(table)]) for row in bar])) @ self.by.T
        gradient += leg.xbar @ self.starts.T
        change += bars[0] @ self.starts.T
        change += run.run.start_bends(leg.xbar, self.starts, direction @ self.starts, dp, self.by, run.symbols)
        return gradient, change

    def _bent(self, dp: np.ndarray) -> list[Any]:
        """What curvature of constants in the parameters adds to the changes, of rate, integrands and values."""
        run = self.run
        own = run.code.own_columns

        def of_rate(cbar: np.ndarray) -> np.ndarray:
            found = np.zeros(len(dp))
            found[own] = run.run.bent_constants(cbar, dp[own])
            return found

        return [of_rate, *((lambda c, f=f: np.zeros(len(dp)) if f is None else f.curvature(c, dp)) for f in run.code.readings)]


def differences(
    analysis: Analysis, criteria: Mapping[str, Criterion], values: Mapping[str, float], direction: np.ndarray, wrt: Sequence[str] | None = None,
    run: Simulated | None = None,
) -> np.ndarray:  # fmt: skip
    """Central differences of gradients of runs that take the same steps (criteria × variables)."""
    names = list(values) if wrt is None else list(wrt)
    base = run if run is not None else Simulated(analysis, split(criteria, values)[1], names, split(criteria, values)[0], to_bends=False)
    sizes = np.array([abs(values[n]) or 1.0 for n in names])
    h = STEP / max(float(np.abs(direction / sizes).max()), 1e-300)
    ends = []
    for sign in (1.0, -1.0):
        moved = {**values, **{n: values[n] + sign * h * d for n, d in zip(names, direction, strict=True)}}
        own, chosen = split(criteria, moved)
        ends.append(Simulated(analysis, chosen, names, own, base.solution, again=True, to_bends=False).adjoint()[1])
    return np.asarray((ends[0] - ends[1]) / (2.0 * h))


__all__ = ["Hessian", "hessian"]
