"""Sliders for parameters and start values: the motion, its diagrams, its energy and its eigenvalues follow."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jourdain.analysis.design.planned import Analysis
from jourdain.analysis.eigen import growing
from jourdain.errors import InputError, JourdainError
from jourdain.model.units import quantity
from jourdain.model.values import number
from jourdain.view.page import packed_json, page_html
from jourdain.view.scenes.from_solution import scene_of

if TYPE_CHECKING:
    from jourdain.results.solution import Solution
    from jourdain.systems.system import System
    from jourdain.view.server import Server

#: Sliders of a model whose parameters are not chosen.
MOST_SLIDERS = 8
ENERGIES = ("energy.kinetic", "energy.potential", "energy.total")


@dataclass(frozen=True)
class Slider:
    """What a slider moves: a parameter or a start value, with its unit and its ends."""

    name: str
    unit: str
    low: float
    high: float
    value: float


class Explorer:
    """A simulation with sliders: it answers what a page asks when one is moved.

    ``parameters`` names parameters and start values, or gives their ends: ``{"l": (0.2, 2.0), "hinge.angle": (-3, 3)}``.  The ends are
    otherwise the bounds of a parameter, or a fifth and three times its value.  ``plots``, ``trace``, ``forces`` and ``follow`` are those
    of the view, other options those of ``simulate``.
    """

    def __init__(
        self, system: System, parameters: Sequence[str] | Mapping[str, Any] | None = None, start: Any = None, t: Any = 5.0, *,
        plots: Sequence[Any] = (), trace: Sequence[str] = (), forces: Sequence[str] = (), follow: str | None = None,
        eigenvalues: bool = True, **options: Any,
    ) -> None:  # fmt: skip
        self.system = system
        span = quantity(t, "s") if not isinstance(t, (tuple, list)) else t
        given = {} if start is None else start
        self.analysis = Analysis(system, "simulate", given, t=span, **options)
        self._shown: dict[str, Any] = {"trace": trace, "forces": forces, "follow": follow}
        self._plots = [list(p) if not isinstance(p, str) else [p] for p in plots]
        self._eigenvalues = eigenvalues
        chosen = _default_names(system, given) if parameters is None else parameters
        self.sliders = [_slider(self.analysis, n, chosen[n] if isinstance(chosen, Mapping) else None) for n in chosen]
        if not self.sliders:
            raise InputError(f"explore: '{system.model.name}' has no parameters to move; name start values: parameters=[\"joint.angle\"]")

    def run(self, values: Mapping[str, float] | None = None) -> Solution:
        """The motion for values of the sliders."""
        solution: Solution = self.analysis.run({s.name: s.value for s in self.sliders} | dict(values or {}))
        return solution

    def scene(self, solution: Solution) -> Any:
        """What the page shows of a motion."""
        coordinates = [n for n in self.system.coordinate_names if ".orientation." not in n and n in solution.names]
        plots = self._plots or [[n] for n in coordinates[:2]]
        energies = [n for n in ENERGIES if n in solution.names]
        return scene_of(solution, [*plots, *([energies] if energies else [])], fine=240, **self._shown)

    def controls(self, way: str) -> dict[str, Any]:
        """The sliders as the page wants them."""
        sliders = [vars(s) for s in self.sliders]
        return {"title": "explore", "way": way, "sliders": sliders}

    def page(self, way: str, theme: str = "auto") -> str:
        """The page at the present values; ``way`` is how it asks: "http", or "parent" in a notebook."""
        solution = self.run()
        return page_html(self.scene(solution), theme=theme, controls=self.controls(way) | self._small_motions(solution))

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The scene for other values: {"values": {name: number}}; what cannot run is told in words."""
        values = question.get("values")
        known = {s.name for s in self.sliders}
        if not isinstance(values, Mapping) or not set(values) <= known:
            raise InputError(f"explore: the page asked {question!r}; there are sliders for {', '.join(sorted(known))}")
        began = time.perf_counter()
        try:
            solution = self.run({n: number(x, f"slider '{n}'") for n, x in values.items()})
            spent = time.perf_counter() - began
            found = packed_json(self.scene(solution)) | self._small_motions(solution)
        except (JourdainError, TypeError, ValueError) as error:
            return {"error": str(error)}
        note = [f"{1e3 * spent:.3g} ms for {solution.t[-1] - solution.t[0]:g} s", str(solution.metadata.get("note") or "")]
        return found | {"note": "; ".join(filter(None, [*note, found.get("note", "")]))}

    def _small_motions(self, solution: Solution) -> dict[str, Any]:
        """Eigenvalues about the equilibrium next to where the motion starts, where there is one."""
        if not self._eigenvalues:
            return {"eigenvalues": []}
        system = solution.system
        try:
            guess = {n: float(solution[n][0]) for n in system.coordinate_names}
            z = np.asarray(system.equilibrium(guess).eigenvalues, dtype=complex)
        except (JourdainError, np.linalg.LinAlgError) as error:
            return {"eigenvalues": [], "note": f"no eigenvalues: {str(error).partition(';')[0]}"}
        return {"eigenvalues": [[float(x.real), float(x.imag), bool(g)] for x, g in zip(z, growing(z), strict=True)]}


def explore(
    system: System, parameters: Sequence[str] | Mapping[str, Any] | None = None, start: Any = None, t: Any = 5.0, *,
    open_browser: bool = True, port: int = 0, theme: str = "auto", **options: Any,
) -> Server:  # fmt: skip
    """The page with sliders from a server on this machine; it stays open until it is closed.  See :class:`Explorer` for the options."""
    import webbrowser

    from jourdain.view.server import serve

    explorer = Explorer(system, parameters, start, t, **options)
    server = serve(explorer.page("http", theme), False, port=port, answer=explorer.answer)
    if open_browser:
        webbrowser.open(server.url)
    return server


def _default_names(system: System, start: Any) -> list[str]:
    """Parameters that the user named, gravity apart, and the start values that were given; without any, the first coordinates of a tree, which would hang still."""
    own = [p.name for p in system.model.parameter_set.listed if not p.name.startswith("gravity")]
    given = list(start) if isinstance(start, Mapping) else []
    if start == {} and not system.reference.constraints:
        given = [n for n in system.coordinate_names if ".orientation." not in n][:2]
    names = [*own[: MOST_SLIDERS - min(len(given), 3)], *given][:MOST_SLIDERS]
    full = {c.partition(".")[0]: c for c in reversed(system.coordinate_names)}
    return [full.get(n, n) if n not in own and n not in system.coordinate_names and n not in system.velocity_names else n for n in names]


def _slider(analysis: Analysis, name: str, ends: Any) -> Slider:
    kind, own = analysis.variable(name)
    value = analysis.value_of(name)
    system = analysis.system
    if kind == "parameter":
        parameter = next(p for p in system.model.parameter_set.listed if p.name == own)
        unit, bounds = parameter.unit or "", parameter.bounds or (None, None)
    else:
        unit, bounds = _unit(system, own), (None, None)
    if ends is not None:
        low, high = (number(x, f"explore: slider '{name}'", unit or None) for x in ends)
    else:
        low, high = _ends(value, bounds, unit)
    if not low < high:
        raise InputError(f"explore: the slider '{name}' goes from {low:g} to {high:g}; its second end must be above the first")
    return Slider(name, unit, min(low, value), max(high, value), value)


def _unit(system: System, name: str) -> str:
    c = system.configuration
    if name in c.position_names:
        return c.units[c.position_names.index(name)] or ""
    if name in c.velocity_names and name.endswith("_rate") and name.removesuffix("_rate") in c.position_names:
        return f"{c.units[c.position_names.index(name.removesuffix('_rate'))]}/s"
    return ""


def _ends(value: float, bounds: Sequence[Any], unit: str) -> tuple[float, float]:
    """Bounds, or a range around a value that keeps its sign; angles go all around."""
    if unit == "rad":
        low, high = -np.pi, np.pi
    elif value == 0.0:
        low, high = -1.0, 1.0
    else:
        low, high = sorted((0.2 * value, 3.0 * value))
    return (low if bounds[0] is None else float(bounds[0])), (high if bounds[1] is None else float(bounds[1]))


__all__ = ["Explorer", "Slider", "explore"]
