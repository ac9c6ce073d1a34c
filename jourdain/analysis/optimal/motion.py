"""The result of an optimal control problem: a motion with its inputs, which simulates back to itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, nearest
from ...results.plots import axis_label, place_legend, quantity_label
from ...results.style import finish, house_style, line_style, new_figure
from ...shown import Shown
from ...symbolic.tables import Table
from ...systems.state import State, split_state
from ..gradients.units import state_unit
from .schemes import HERMITE_SIMPSON, Scheme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...results.solution import Solution
    from ...systems.system import System


@dataclass(frozen=True, eq=False)
class OptimalMotion(Shown):
    """States at nodes of a mesh and between them, inputs as quadratics in each interval, and what they cost."""

    system: System = field(repr=False)
    #: Nodes with what the scheme has between them, and the states there in rows.
    t: np.ndarray
    x: np.ndarray = field(repr=False)
    #: Inputs at the three points of each interval (intervals × 3), by name.
    controls: Mapping[str, np.ndarray] = field(repr=False)
    #: What was minimised, and the values of all criteria by name.
    cost: float
    criteria: Mapping[str, float]
    converged: bool
    iterations: int
    message: str
    #: The largest error of a state in an interval, as a part of the size of that state, estimated from what the interpolant misses of the equations.
    error: float
    notes: tuple[str, ...] = ()
    scheme: Scheme = field(default=HERMITE_SIMPSON, repr=False)

    @property
    def mesh(self) -> np.ndarray:
        """Ends of the intervals (s)."""
        return self.t[:: len(self.scheme.nodes)]

    @property
    def duration(self) -> float:
        """How long the motion takes (s)."""
        return float(self.t[-1] - self.t[0])

    @property
    def start(self) -> State:
        """The first state."""
        return split_state(self.system.reference, self.x[0].copy(), float(self.t[0]))

    @property
    def end(self) -> State:
        """The last state."""
        return split_state(self.system.reference, self.x[-1].copy(), float(self.t[-1]))

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Inputs as tables of time."""
        nodes = self.mesh
        found = {}
        for name, u in self.controls.items():
            h = np.diff(nodes)
            powers = u @ self.scheme.quadratics.T
            pieces = np.column_stack([powers[:, 0], powers[:, 1] / h, powers[:, 2] / h**2, np.zeros(len(h))])
            found[name] = Table(f"optimal {name}", (nodes,), pieces, "hold")
        return found

    def simulate(self, **options: Any) -> Solution:
        """The simulation from the first state with these inputs, as functions of time."""
        inputs = {**options.pop("inputs", {}), **self.tables}
        return self.system.simulate(self.start, t=float(self.t[-1]), inputs=inputs, **options)

    def __getitem__(self, name: str) -> np.ndarray:
        """A state at nodes and between them, or an input at the three points of each interval."""
        s = self.system
        names = [*s.coordinate_names, *s.velocity_names, *s.model.states]
        if name in names:
            return np.asarray(self.x[:, names.index(name)])
        if name in self.controls:
            return np.asarray(self.controls[name])
        near = nearest(name, [*names, *self.controls], 3)
        raise InputError(f"the motion has no '{name}'; " + (f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(names)}"))

    def plot(self, file: Any = None, show: bool = False) -> Figure:
        """States and inputs over time: one axis for each unit."""
        s = self.system
        fine = np.concatenate([np.linspace(a, b, 9) for a, b in zip(self.mesh[:-1], self.mesh[1:], strict=True)])
        lines = [(n, state_unit(s, n), self.t, self[n]) for n in (*s.coordinate_names, *s.velocity_names, *s.model.states)]
        lines += [(n, s.model.inputs[n].unit or "", fine, table.value((0,), fine)) for n, table in self.tables.items()]
        groups: dict[str, list[tuple[str, np.ndarray, np.ndarray]]] = {}
        for name, unit, t, y in lines:
            groups.setdefault(unit, []).append((name, t, y))
        with house_style():
            figure = new_figure(8.0, 1.2 + 2.0 * len(groups), show)
            every = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
            for axes, (unit, members) in zip(every, groups.items(), strict=True):
                for j, (name, t, y) in enumerate(members):
                    axes.plot(t, y, label=name, **line_style(j))
                axes.set_ylabel(axis_label(members[0][0], unit) if len(members) == 1 else quantity_label(unit))
                if len(members) > 1:
                    place_legend(axes, len(members))
            figure.align_ylabels(every)
            every[0].set_title(f"{s.model.name}: {self.duration:.4g} s, cost {self.cost:.5g}")
            every[-1].set_xlabel("time [s]")
            return finish(figure, file, show)

    def __str__(self) -> str:
        state = "" if self.converged else f" NOT CONVERGED: {self.message}"
        lines = [f"optimal motion of {self.system.model.name}: {self.duration:.6g} s, cost {self.cost:.8g}{state}"]
        lines.append(f"  {len(self.mesh) - 1} intervals, {self.iterations} iterations, error of states {self.error:.1e}")
        lines += [f"  {name}: {x:.8g}" for name, x in self.criteria.items()]
        lines += [f"  {name}: {u.min():.5g} … {u.max():.5g}" for name, u in self.controls.items()]
        return "\n".join([*lines, *self.notes])


__all__ = ["OptimalMotion"]
