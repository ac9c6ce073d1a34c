"""Curves of equilibria over a parameter, followed through folds by pseudo-arclength (Keller).

The curve F(x, μ) = 0 is followed along its tangent; each new point solves F = 0 together with a plane across the tangent, so
that nothing happens where the curve turns back in μ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError, short
from ..reals import reals
from ..shown import Shown
from ..symbolic.expr import Expr
from ..systems.pushed import touches_rigidly
from ..systems.state import State
from .equations.balance import Balance, Place, Unknown, row_sizes
from .equations.residual import temporary_parameters
from .equilibrium import Equilibrium, _result, describe_problem, equilibrium, find_unknown
from .tables import File, write_columns
from .touching.paths import follow

if TYPE_CHECKING:
    from ..systems.system import System


@dataclass(frozen=True)
class Branch(Shown):
    """A curve of equilibria over a parameter, in the order in which it was followed."""

    system: System = field(repr=False)
    parameter: str
    points: list[Equilibrium] = field(repr=False)
    #: equilibria at which the curve turns back in the parameter
    folds: list[Equilibrium] = field(repr=False)
    #: why following ended at each end
    ends: tuple[str, str]

    @property
    def values(self) -> np.ndarray:
        """The parameter along the curve."""
        return np.array([p[self.parameter] for p in self.points])

    @property
    def stable(self) -> np.ndarray:
        """Stability along the curve."""
        return np.array([p.stable for p in self.points])

    def __getitem__(self, name: str) -> np.ndarray:
        return np.array([p[name] for p in self.points])

    def __len__(self) -> int:
        return len(self.points)

    def __str__(self) -> str:
        values = self.values
        lines = [
            f"{len(self.points)} equilibria of {self.system.model.name} over {self.parameter} = {values.min():.6g} … {values.max():.6g}; "
            f"{int(self.stable.sum())} stable, {len(self.folds)} folds"
        ]
        lines += [f"  fold at {self.parameter} = {x[self.parameter]:.9g}" for x in self.folds]
        lines += [f"  {where}: {why}" for where, why in zip(("first end", "last end"), self.ends, strict=True)]
        return "\n".join(lines)

    def save(self, path: File) -> None:
        """Parameter, coordinates and stability along the curve as CSV."""
        names = self.system.coordinate_names
        write_columns(path, {self.parameter: self.values, **{n: self[n] for n in names}, "stable": self.stable})

    def plot(self, name: str, show: bool = False, file: Any = None) -> Any:
        """A variable over the parameter: stable parts full, unstable dashed, folds marked."""
        from ..results.style import COLOURS, finish, house_style, new_figure

        x, y, stable = self.values, self[name], self.stable
        with house_style():
            figure = new_figure(6.8, 4.4, show)
            axes = figure.subplots()
            for i in range(len(x) - 1):
                both = bool(stable[i] and stable[i + 1])
                axes.plot(x[i : i + 2], y[i : i + 2], color=COLOURS[0] if both else COLOURS[1], ls="-" if both else "--")
            axes.plot([f[self.parameter] for f in self.folds], [f[name] for f in self.folds], "o", mfc="white", mec="black", ls="")
            axes.set_xlabel(self.parameter)
            axes.set_ylabel(name)
            return finish(figure, file, show)


def equilibria(
    system: System,
    parameter: str,
    span: tuple[float, float],
    x0: State | Mapping[str, Any] | None = None,
    step: float | None = None,
    points: int = 400,
    exchange: Mapping[str, str] | None = None,
    equations: Mapping[str, Expr] | Sequence[Expr] | None = None,
    kind: str = "static",
    inputs: Mapping[str, float] | None = None,
    unknowns: Sequence[str] | None = None,
) -> Branch:
    """Follows the curve of equilibria through ``x0`` both ways until a parameter (or input) leaves ``span``.

    ``step`` is the largest change of the unknowns in one step (rad, m, or a fraction of the span), 0.1 by default.  Where rigid contacts hold the system, each
    position follows from the one before as in a slow change of the parameter, up to the value at which it slides, tips or falls: ``ends`` names it.
    """
    ends = reals(span, "equilibria: span")
    if ends.shape != (2,):
        raise InputError(f"equilibria: span = {short(span)} must be a pair: (lowest, highest)")
    low, high = map(float, ends)
    if not high > low:
        raise InputError(f"equilibria: the span ({low:g}, {high:g}) is empty; give (lowest, highest)")
    along = find_unknown(system, parameter)
    if along.kind not in "up":
        raise InputError(f"equilibria: '{parameter}' is neither a parameter nor an input")
    given = dict(inputs or {})
    present = system.input_values(given)[along.index] if along.kind == "u" else system.parameters[parameter]
    if not low <= present <= high:
        raise InputError(f"equilibria: the present value {present:g} of '{parameter}' is outside the span ({low:g}, {high:g})")
    first = equilibrium(system, x0, unknowns, exchange, equations, kind, (), given)
    if touches_rigidly(system.model):
        return _while_it_stands(system, along, float(present), (low, high), first, 0.1 if step is None else float(step), points, given)
    with temporary_parameters(system):
        system.set_parameters(**first.exchanged_parameters)
        problem = describe_problem(system, first, unknowns, exchange, equations, kind, [], first.inputs, None)
        balance = problem.balance([along])
        balance.held = [find_unknown(system, n) for n in first.held]
        balance.partition(balance.place)
        follower = _Follower(balance, along, low, high, 0.1 if step is None else float(step), kind)
        start = balance.place
        tangent = follower.tangent(start, None)
        back, folds_back, why_back = follower.follow(start, {k: -x for k, x in tangent.items()}, points // 2)
        ahead, folds_ahead, why_ahead = follower.follow(start, tangent, points // 2)
        middle = follower.result(start)
    return Branch(system, parameter, [*reversed(back), middle, *ahead], [*reversed(folds_back), *folds_ahead], (why_back, why_ahead))


def _while_it_stands(
    system: System,
    along: Unknown,
    present: float,
    span: tuple[float, float],
    first: Equilibrium,
    step: float,
    points: int,
    given: dict[str, float],
) -> Branch:
    """Positions held by rigid contacts from the present value of a parameter to both ends of a span."""

    def held(value: float, last: Equilibrium) -> Equilibrium:
        if along.kind == "u":
            return equilibrium(system, last.state, inputs=given | {along.name: value})
        with temporary_parameters(system):
            system.set_parameters(**{along.name: value})
            return replace(equilibrium(system, last.state, inputs=given), exchanged_parameters={along.name: value})

    first = replace(first, exchanged_parameters={along.name: present}) if along.kind == "p" else first
    length = step * (span[1] - span[0])
    (back, why_back), (ahead, why_ahead) = (follow(held, first, present, end, length, step, points // 2, along.name) for end in span)
    return Branch(system, along.name, [*reversed(back), first, *ahead], [], (why_back, why_ahead))


#: A direction in full coordinates, so that it survives a change of the independent ones.
Direction = dict[str, np.ndarray]


class _Follower:
    """Steps along a curve of equilibria."""

    def __init__(self, balance: Balance, along: Unknown, low: float, high: float, step: float, kind: str) -> None:
        self.balance, self.along, self.low, self.high, self.longest, self.kind = balance, along, low, high, step, kind

    def scales(self, place: Place) -> np.ndarray:
        """Sizes of the unknowns; the span for the parameter."""
        scale = self.balance.scales(place)
        scale[self._last] = self.high - self.low
        return scale

    @property
    def _last(self) -> int:
        return self.balance.unknowns.index(self.along)

    def result(self, place: Place) -> Equilibrium:
        """A point of the curve as an equilibrium."""
        from .equations.balance import Outcome

        outcome = Outcome(place, True, self.balance.equation_values(place), 0)
        return _result(self.balance.system, self.balance, outcome, self.kind, "continuation")

    def tangent(self, place: Place, before: Direction | None) -> Direction:
        """Unit tangent (in scaled unknowns), pointing the way it did before."""
        step = self._null(place, before)
        d = self.balance.residual.derivatives(place.point, "qvazup")
        full = self.balance.directions(place, self.balance.unknowns, d)
        return {k: full[k] @ (self.scales(place) * step) for k in "qvzup"} | {"x": step}

    def _null(self, place: Place, before: Direction | None) -> np.ndarray:
        J = self.balance.jacobian(place) * self.scales(place)
        _, _, vt = np.linalg.svd(J / row_sizes(J)[:, None])
        step = vt[-1]
        reference = step[self._last] if before is None else self._product(place, step, before)
        return step if reference >= 0 else -step

    def _product(self, place: Place, step: np.ndarray, before: Direction) -> float:
        """Product with an earlier direction in coordinates common to both."""
        scaled = step * self.scales(place)
        total = 0.0
        for x, d, s in zip(self.balance.unknowns, scaled, self.scales(place), strict=True):
            index = self.balance.parameters.index(x.name) if x.kind == "p" else x.index
            total += d * float(before[x.kind][index]) / s**2
        return total

    def follow(self, place: Place, tangent: Direction, points: int) -> tuple[list[Equilibrium], list[Equilibrium], str]:
        """Points, folds and the reason of the end in one direction."""
        found: list[Equilibrium] = []
        folds: list[Equilibrium] = []
        length = 0.2 * self.longest
        if self.balance.parts.condition < 1e-3:
            self.balance.partition(place)
        while len(found) < points:
            try:
                ahead, effort = self.corrected(place, tangent["x"], length)
            except SolverError as error:
                length *= 0.4
                if length < 1e-6:
                    return found, folds, f"the curve was lost: {error}"
                continue
            turned = self.tangent(ahead, tangent)
            if float(turned["x"] @ tangent["x"]) < 0.9 and length > 1e-4 * self.longest:
                length *= 0.4
                continue
            value = self.balance.value(ahead, self.along)
            if not self.low <= value <= self.high:
                limit = min(max(value, self.low), self.high)
                last = self._at_limit(ahead, limit)
                if last is not None and abs(self.balance.value(place, self.along) - limit) > 1e-12 * (self.high - self.low):
                    found.append(last)
                return found, folds, f"'{self.along.name}' leaves the span"
            if turned["x"][self._last] * tangent["x"][self._last] < 0:
                folds.append(self.result(self._fold(place, tangent, length, ahead)))
            found.append(self.result(ahead))
            place, tangent = ahead, turned
            length = min(self.longest, length * (1.5 if effort <= 3 else 1.0 if effort <= 5 else 0.5))
        return found, folds, f"{points} points were found"

    def corrected(self, place: Place, tangent: np.ndarray, length: float) -> tuple[Place, int]:
        """The point of the curve at a distance along the tangent: Newton on F = 0 and the plane across."""
        scale = self.scales(place)
        trial = self.balance.moved(place, length * tangent * scale)
        off = np.zeros(len(tangent))
        for k in range(12):
            F = self.balance.equation_values(trial)
            J = self.balance.jacobian(trial) * scale
            weight = row_sizes(J)
            if np.abs(F / weight).max(initial=0.0) < 1e-11:
                return trial, k
            A = np.vstack([J / weight[:, None], tangent])
            step = np.linalg.lstsq(A, -np.append(F / weight, tangent @ off), rcond=1e-12)[0]
            if np.abs(step).max() > 2 * self.longest:
                break
            off += step
            trial = self.balance.moved(trial, step * scale)
        if np.abs(F / weight).max(initial=0.0) < 1e-8:
            return trial, 12
        raise SolverError(f"no equilibrium next to '{self.along.name}' = {self.balance.value(place, self.along):.6g}")

    def _fold(self, place: Place, tangent: Direction, length: float, ahead: Place) -> Place:
        """The point between two where the tangent is across the parameter, by a safeguarded secant.

        Where branches cross, Newton's method may fail on the way; the best point so far is kept then.
        """
        a, b = 0.0, length
        fa, fb = float(tangent["x"][self._last]), float(self.tangent(ahead, tangent)["x"][self._last])
        for _ in range(60):
            c = b - fb * (b - a) / (fb - fa) if fb != fa else 0.5 * (a + b)
            if not min(a, b) < c < max(a, b):
                c = 0.5 * (a + b)
            try:
                ahead, _ = self.corrected(place, tangent["x"], c)
            except SolverError:
                break
            fc = float(self.tangent(ahead, tangent)["x"][self._last])
            if abs(fc) < 1e-12 or abs(b - a) < 1e-13 * length:
                break
            if fc * fb < 0:
                a, fa = b, fb
            else:
                fa *= 0.5
            b, fb = c, fc
        return ahead

    def _at_limit(self, place: Place, value: float) -> Equilibrium | None:
        """The equilibrium exactly at the end of the span."""
        last = self._last
        scale = self.scales(place)
        trial = place
        for _ in range(12):
            F = self.balance.equation_values(trial)
            J = self.balance.jacobian(trial) * scale
            weight = row_sizes(J)
            gap = (value - self.balance.value(trial, self.along)) / scale[last]
            if np.abs(F / weight).max(initial=0.0) < 1e-11 and abs(gap) < 1e-14:
                return self.result(trial)
            A = np.vstack([J / weight[:, None], np.eye(len(scale))[last]])
            try:
                trial = self.balance.moved(trial, scale * np.linalg.lstsq(A, np.append(-F / weight, gap), rcond=1e-12)[0])
            except SolverError:
                return None
        return None
