"""What a notebook shows of each sort of object; of all others the text that ``print`` gives."""

from __future__ import annotations

from functools import singledispatch
from html import escape
from typing import Any

import numpy as np

from jourdain.analysis.compare import Comparison
from jourdain.analysis.design.front import Front
from jourdain.analysis.design.optimum import Optimum
from jourdain.analysis.eigen import growing
from jourdain.analysis.equilibrium import Equilibrium
from jourdain.analysis.gradients.gradient import Gradient
from jourdain.analysis.linearise import LinearSystem
from jourdain.analysis.modal import Mode, Modes
from jourdain.analysis.sweep import SweepResult
from jourdain.errors import JourdainError
from jourdain.model.model import Model
from jourdain.notebook.drawings import MOST_BODIES, course, dots, plane, tree
from jourdain.notebook.pieces import caption, fold, matrix, note, number, table, text, whole
from jourdain.results.events import EventTable
from jourdain.results.refine import refined
from jourdain.results.solution import Solution
from jourdain.results.style import COLOURS
from jourdain.results.summary import amount, duration, heading
from jourdain.results.summary import rows as summary_rows
from jourdain.results.touches import HEAD, Touches, cells
from jourdain.systems.compiled import Compiled
from jourdain.systems.state import State

#: Courses that a solution shows, and states beyond which matrices are folded.
MOST_COURSES, MOST_STATES = 6, 8
_SPENT = {"run": "a run", "seconds": "all"}
_SUMMARY = ("channel", "unit", "min", "max", "final", "")


@singledispatch
def html_of(thing: Any) -> str:
    """An object as HTML."""
    return whole(text(str(thing)))


@html_of.register
def _(model: Model) -> str:
    counts = [amount(len(model.bodies), "body", "bodies"), amount(len(model.joints), "joint"), amount(len(model.loads), "load")]
    return whole(caption(model.name, ", ".join(counts)), _tree(model), _parameters(model))


@html_of.register
def _(system: Compiled) -> str:
    model = system.model
    coordinates = table(("coordinate",), [(n,) for n in system.coordinate_names])
    parts = [
        _tree(model),
        fold(f"{amount(system.nq, 'coordinate')}, {amount(system.nv, 'velocity', 'velocities')}", coordinates),
        _parameters(model, system.parameters),
    ]
    return whole(caption(model.name, system.describe()), *parts)


def _tree(model: Model) -> str:
    try:
        return tree(model) if len(model.bodies) <= MOST_BODIES else fold("tree", text(str(model)))
    except JourdainError as unfinished:  # a model that is still being written
        return note(str(unfinished)) + table(("body", "mass"), [(b.name, str(b.mass)) for b in model.bodies.values()])


def _parameters(model: Model, values: Any = None) -> str:
    listed = model._parameters.listed
    if not listed:
        return ""
    rows = [(p.symbol.name, p.value if values is None else values[p.symbol.name], p.unit or "") for p in listed]
    return fold(amount(len(rows), "parameter"), table(("parameter", "value", "unit"), rows), shown=len(rows) <= MOST_STATES)


@html_of.register
def _(state: State) -> str:
    system = state.system
    rows = [*zip(system.coordinate_names, state.q, strict=True), *zip(system.velocity_names, state.v, strict=True)]
    rows += [*zip(system.model.states, state.z, strict=True), *state.memory.items()]
    return whole(caption(f"state of {system.model.name}", f"t = {state.t:g} s"), table(("name", "value"), [(n, float(x)) for n, x in rows]))


@html_of.register
def _(sol: Solution) -> str:
    names = _shown_channels(sol)
    scales: dict[str, float] = {}
    for name in names:
        unit, x = sol.channel(name).unit, sol[name]
        scales[unit] = max(scales.get(unit, 0.0), float(np.abs(x[np.isfinite(x)]).max(initial=0.0)))
    fine = refined(sol)
    drawn = [
        course(fine.t, fine[n], n, sol.channel(n).unit, COLOURS[i % len(COLOURS)], scales[sol.channel(n).unit]) for i, n in enumerate(names)
    ]
    lines = [tuple(_numbered(c) for c in row) for row in summary_rows(sol)]
    parts = [caption(*heading(sol).split(" · ", 1)), f"<div>{''.join(drawn)}</div>"]
    if len(sol.events):
        parts.append(fold(amount(len(sol.events), "event"), _events(sol.events)))
    parts.append(fold(amount(len(sol.names), "channel"), table(_SUMMARY, lines)))
    if sol.metadata.get("note"):
        parts.append(note(f"note: {sol.metadata['note']}"))
    return whole(*parts)


def _numbered(cell: str) -> object:
    """A cell that is a number as one, so that it stands at the right."""
    try:
        return float(cell)
    except ValueError:
        return cell


def _shown_channels(sol: Solution) -> list[str]:
    """The coordinates, where the system is known; else the first channels that are there."""
    known = [n for n in getattr(sol.system, "coordinate_names", ()) if n in sol.names]
    there = known or [n for n in sol.names if sol.channel(n).computed]
    return [n for n in there if sol[n].ndim == 1 and sol[n].dtype.kind == "f"][:MOST_COURSES]


def _events(events: EventTable) -> str:
    return table(("t [s]", "event", "what", "change"), [(e.t, e.name, e.did, e.told) for e in events])


@html_of.register
def _(events: EventTable) -> str:
    return whole(_events(events) if len(events) else text(str(events)))


@html_of.register
def _(touches: Touches) -> str:
    return whole(table(HEAD, map(cells, touches)) if len(touches) else text(str(touches)))


@html_of.register
def _(modes: Modes) -> str:
    head = ("mode", "eigenvalue [1/s]", "ν₀ [Hz]", "ν [Hz]", "ζ [%]", "largest components (size, phase)", "")
    counts = f"{amount(len(modes), 'mode')}, {len(modes.rigid)} rigid, {len(modes.unstable)} unstable"
    lines = [_mode(modes, m) for m in modes.modes]
    drawn = plane(*_both(np.asarray(modes.eigenvalues, dtype=complex)))
    unstable = [i for i, m in enumerate(modes.modes) if not m.stable]
    return whole(caption(f"modes of {modes.system.model.name}", counts), table(head, lines, unstable), drawn)


def _mode(modes: Modes, m: Mode) -> tuple[object, ...]:
    if m.kind == "rigid":
        return m.number, "rigid", 0.0, 0.0, "–", modes._largest(m), ""
    damped = abs(m.eigenvalue.real) > 1e-12 * abs(m.eigenvalue)
    real, imaginary = (m.eigenvalue.real if damped else 0.0), abs(m.eigenvalue.imag)
    value = f"{number(real, 5)}" if imaginary == 0 else f"{number(real, 5)} ± {number(imaginary, 5)}i"
    ratio = 100 * m.damping_ratio if damped else 0.0
    return m.number, value, m.frequency, m.damped_frequency, ratio, modes._largest(m), "" if m.stable else "unstable"


def _both(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues with their conjugates, and which grow."""
    z = np.concatenate([values, values[values.imag != 0].conj()])
    return z, growing(z)


@html_of.register
def _(linear: LinearSystem) -> str:
    counts = f"{len(linear.states)} states, {len(linear.inputs)} inputs, {len(linear.outputs)} outputs"
    parts = []
    tables = [("A", linear.A, linear.states, linear.states), ("B", linear.B, linear.states, linear.inputs)]
    tables += [("C", linear.C, linear.outputs, linear.states), ("D", linear.D, linear.outputs, linear.inputs)]
    for title, values, rows, columns in tables:
        if values.size:
            inside = matrix(title, rows, columns, values)
            parts.append(inside if len(linear.states) <= MOST_STATES else fold(f"{title} {values.shape[0]} × {values.shape[1]}", inside))
    values = np.asarray(linear.eigenvalues, dtype=complex)
    return whole(caption(f"linear system of {linear.system.model.name}", counts), *parts, plane(values, growing(values)))


@html_of.register
def _(found: Equilibrium) -> str:
    rows = [(e.name, e.value, e.unit, "" if e.role == "found" else e.role) for e in found.entries]
    parts = [table(("name", "value", "unit", ""), rows)]
    for title, forces in (("multipliers", found.multipliers), ("forces of driven and locked joints", found.drive_forces)):
        if forces:
            parts.append(fold(title, table(("name", "value"), list(forces.items()))))
    try:
        values = np.asarray(found.eigenvalues, dtype=complex)
        parts += [note(found.stability), plane(values, growing(values))]
    except JourdainError as error:
        parts.append(note(f"stability unknown: {error}"))
    how = f"{found.iterations} iterations ({found.method}), residual {found.residual:.1e}"
    return whole(caption(f"{found.kind} equilibrium of {found.system.model.name}", how), *parts)


@html_of.register
def _(found: Gradient) -> str:
    names, shares = list(found.values), found.elasticities
    head = ["variable", "value"]
    for name in names:
        head += [f"∂ {name}", "elasticity"]
    rows = [
        (n, x, *(v for i in range(len(names)) for v in (float(found.matrix[i, j]), float(shares[i, j]))))
        for j, (n, x) in enumerate(found.variables.items())
    ]
    spent = ", ".join(f"{n} {x:.3g}" if n == "steps" else f"{_SPENT.get(n, n)} {duration(x)}" for n, x in found.cost.items())
    values = table(("criterion", "value"), list(found.values.items()))
    told = "".join(note(n) for n in found.notes)
    return whole(caption(f"gradient of {found.analysis.system.model.name}", f"{found.method}; {spent}"), values, table(head, rows), told)


@html_of.register
def _(best: Optimum) -> str:
    first, *rest = str(best).splitlines()
    rows: list[tuple[object, ...]] = [(n, x, best.units[n], "variable", best.multipliers.get(n, "")) for n, x in best.values.items()]
    rows += [(n, x, "", "criterion", "") for n, x in best.criteria.items()]
    rows += [(n, x, "", str(best.problem.subject_to[n]), best.multipliers.get(n, "")) for n, x in best.constraints.items()]
    told = [line.strip() for line in rest[len(rows) :]]
    name, _, how = first.partition(": ")
    return whole(caption(name, how), table(("name", "value", "unit", "", "multiplier"), rows), *map(note, told))


@html_of.register
def _(front: Front) -> str:
    names, variables = list(front.problem.minimise), [v.name for v in front.problem.variables]
    knee = next(i for i, d in enumerate(front.designs) if d is front.knee)
    rows = [(*d.criteria.values(), *d.values.values(), "knee" if i == knee else "") for i, d in enumerate(front.designs)]
    first = str(front).splitlines()[0]
    drawn = dots(front.values[:, :2], names, knee) if len(names) > 1 else ""
    name, _, how = first.partition(": ")
    return whole(caption(name, how), drawn, table((*names, *variables, ""), rows, [knee]))


@html_of.register
def _(result: SweepResult) -> str:
    names = [*result.parameters, *result.outputs]
    rows = [(i, *(_cell(result.table[n][i]) for n in names), str(result.table["status"][i])) for i in range(len(result))]
    told = [note(f"run {i} failed: {message}") for i, message in list(result.failures.items())[:3]]
    first = str(result).splitlines()[0]
    return whole(caption("sweep", first.removeprefix("sweep of ")), table(("run", *names, "status"), rows), *told)


def _cell(x: Any) -> object:
    return float(x) if np.ndim(x) == 0 and np.asarray(x).dtype.kind in "fiu" else str(x)


@html_of.register
def _(comparison: Comparison) -> str:
    made = comparison.__rich__()
    cells = [[_numbered(str(c)) for c in column.cells] for column in made.columns]
    rows = list(zip(*cells, strict=True))
    head = [str(column.header) for column in made.columns]
    told = note(str(made.caption)) if made.caption else ""
    return whole(f"<div><b>{escape(str(made.title))}</b></div>", table(head, rows), told)
