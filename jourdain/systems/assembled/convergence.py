"""How errors of an assembled system's runs fall with the step: relative error of chosen channels at the end against a fine reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .system import AssembledSystem


@dataclass(frozen=True)
class Convergence:
    """Relative errors by method over ``steps`` (s), NaN where a run failed."""

    steps: np.ndarray
    errors: Mapping[str, np.ndarray]

    @property
    def orders(self) -> dict[str, np.ndarray]:
        """Observed orders between neighbouring steps, by method."""
        ratio = np.log(self.steps[:-1] / self.steps[1:])
        return {m: np.log(e[:-1] / e[1:]) / ratio for m, e in self.errors.items()}

    def __str__(self) -> str:
        lines = ["h, s".rjust(10) + "".join(f"{m:>18s}  order" for m in self.errors)]
        for k, h in enumerate(self.steps):
            cells = [f"{e[k]:18.3e}" + (f"{self.orders[m][k - 1]:7.2f}" if k else 7 * " ") for m, e in self.errors.items()]
            lines.append(f"{h:10.3g}" + "".join(cells))
        return "\n".join(lines)

    def plot(self, file: Any = None, show: bool = False) -> Figure:
        """Errors over steps in logarithmic axes, with a line of second order."""
        from ...results.style import finish, house_style, new_figure

        with house_style():
            figure = new_figure(5.0, 4.0, show)
            panel = figure.subplots()
            for method, errors in self.errors.items():
                panel.loglog(self.steps, errors, "o-", markersize=4, label=method)
            largest = max((np.nanmax(e) for e in self.errors.values() if np.isfinite(e).any()), default=1.0)
            panel.loglog(self.steps, largest * (self.steps / self.steps.max()) ** 2, "k:", linewidth=1.0, label="second order")
            panel.set(xlabel="h, s", ylabel="relative error")
            panel.legend()
            finish(figure, file, show)
        return figure


def convergence(
    system: AssembledSystem, end: float, steps: Sequence[float], channels: Sequence[str], methods: Mapping[str, Mapping[str, Any]] | Sequence[str],
    exact: Mapping[str, Any] | None = None, reference: float | None = None, **options: Any,
) -> Convergence:  # fmt: skip
    """Errors of ``channels`` at ``end`` (s) for several steps and methods; see :meth:`.AssembledSystem.convergence`."""
    from ..run import SimulationError

    h = np.sort(np.asarray(steps, float))[::-1]
    if h.size < 2 or not (h > 0.0).all():
        raise InputError(f"convergence of '{system.name}': steps {h.tolist()} must be two at least, all positive")
    if not channels:
        raise InputError(f"convergence of '{system.name}': no channels are given; name some, such as coordinates or positions")

    def last(method: str, step: float, more: Mapping[str, Any]) -> np.ndarray:
        sol = system.simulate(end, step, method, every=10**9, **{**options, **more})
        return np.concatenate([np.ravel(sol[c][-1]) for c in channels])

    if exact is None:
        target = last("energy-momentum", 0.1 * float(h[-1]) if reference is None else reference, {})
    else:
        target = np.concatenate([np.ravel(np.asarray(exact[c], float)) for c in channels])
    size = float(np.linalg.norm(target)) or 1.0
    chosen = methods if isinstance(methods, Mapping) else {m: {} for m in methods}
    errors: dict[str, np.ndarray] = {}
    for method, more in chosen.items():
        found = np.full(h.size, np.nan)
        for k, step in enumerate(h):
            try:
                found[k] = np.linalg.norm(last(method, float(step), more) - target) / size
            except (SimulationError, SolverError):
                continue
        errors[method] = found
    return Convergence(h, errors)


__all__ = ["Convergence", "convergence"]
