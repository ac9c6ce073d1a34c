"""A derivation: steps with words and equations, printed as text, LaTeX, Markdown or a web page, and equations to calculate with."""

from __future__ import annotations

import html as html_text
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import InputError
from ...model.model import Model
from ...symbolic.derivatives import jacobian
from ...symbolic.expr import ZERO, Expr, add, neg, sub
from ...symbolic.graph import evaluate, free_symbols, operations, substitute
from .free_bodies import Mechanics
from .printing import (  # fmt: skip
    WIDTH,
    Formula,
    Line,
    ModelNotation,
    Scaled,
    Step,
    Term,
    equals,
    escaped,
    expressions_of,
    latex_line,
    name,
    short_names,
    text_line,
)
from .speeds import Speeds, default_values, tidy, velocity_names

#: A reduced equation with more operations than this in one term is written as a combination of others.
MOST_WRITTEN = 60

# --- the derivation --------------------------------------------------------------------------------------------------


@dataclass
class Derivation:
    """The steps from a principle to the equations of motion of a model; ``print`` shows them.

    ``equations`` holds the result: one expression of q, u, u̇ and t that vanishes for each independent velocity u, the same whatever the
    principle.  ``stated`` holds what the principle states before reactions or multipliers are eliminated, linear in ``unknowns``.
    """

    principle: str
    mechanics: Mechanics
    speeds: Speeds
    notation: ModelNotation
    #: writes the steps; called when they are first looked at
    make_steps: Callable[[], list[Step]]
    #: E(q, u, u̇, t) = 0 as derived
    residuals: list[Expr]
    stated: list[Expr]
    unknowns: list[Expr]
    unknown_names: list[str]
    #: how ``stated`` is solved for numbers
    solver: Callable[[np.ndarray, np.ndarray], np.ndarray] = field(default_factory=lambda: solve_exactly)

    @cached_property
    def steps(self) -> list[Step]:
        """The steps in order."""
        return self.make_steps()

    @property
    def model(self) -> Model:
        """The model it is about."""
        return self.mechanics.model

    @property
    def title(self) -> str:
        """What was derived from what."""
        return f"{self.model.name}: {TITLES[self.principle]}"

    @cached_property
    def equations(self) -> list[Expr]:
        """The equations of motion E(q, u, u̇, t) = 0, simplified where they are small."""
        return [tidy(e) for e in self.residuals]

    @property
    def quasi_velocities(self) -> dict[str, Expr]:
        """The independent velocities u by name, with their definitions."""
        return dict(zip(self.speeds.names, self.speeds.definitions, strict=True))

    # -- printing -------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The derivation as plain text."""
        parts = [self.title, "=" * len(self.title)]
        for number, step in enumerate(self.steps, 1):
            parts.append(f"\n{number}. {step.title}")
            parts.append(textwrap.fill(step.text, WIDTH, initial_indent="   ", subsequent_indent="   "))
            parts += [textwrap.indent(text_line(line, self.notation), "     ") for line in step.lines]
        if legend := self._legend():
            parts += ["", textwrap.fill(f"where {legend}", WIDTH, subsequent_indent="      ")]
        return "\n".join(parts)

    def latex(self) -> str:
        r"""The derivation as LaTeX: a section, with a subsection for each step (needs amsmath)."""
        parts = [rf"\section*{{{escaped(self.title)}}}"]
        for step in self.steps:
            parts.append(rf"\subsection*{{{escaped(step.title)}}}" + "\n" + escaped(step.text))
            if step.lines:
                rows = " \\\\\n".join(latex_line(line, self.notation) for line in step.lines)
                parts.append(f"\\begin{{align*}}\n{rows}\n\\end{{align*}}")
        if legend := self._legend():
            parts.append(f"where {escaped(legend)}.")
        return "\n\n".join(parts) + "\n"

    def markdown(self) -> str:
        """The derivation as Markdown with equations between double dollar signs."""
        parts = [f"## {self.title}"]
        for number, step in enumerate(self.steps, 1):
            parts.append(f"### {number}. {step.title}\n\n{step.text}")
            parts += [f"$$\n{block}\n$$" for block in self._blocks(step)]
        if legend := self._legend():
            parts.append(f"where {legend}.")
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """The derivation as a web page whose equations every browser draws (needs the package latex2mathml)."""
        from latex2mathml.converter import convert

        parts = [f"<h1>{html_text.escape(self.title)}</h1>"]
        for number, step in enumerate(self.steps, 1):
            parts.append(f"<h2>{number}. {html_text.escape(step.title)}</h2><p>{html_text.escape(step.text)}</p>")
            parts += [f"<div>{convert(block, display='block')}</div>" for block in self._blocks(step)]
        if legend := self._legend():
            parts.append(f"<p>where {html_text.escape(legend)}.</p>")
        head = f'<meta charset="utf-8"><title>{html_text.escape(self.title)}</title>'
        return f"<!doctype html>\n<html><head>{head}</head><body>\n" + "\n".join(parts) + "\n</body></html>\n"

    def _blocks(self, step: Step) -> list[str]:
        if not step.lines:
            return []
        rows = " \\\\\n".join(latex_line(line, self.notation) for line in step.lines)
        return [f"\\begin{{aligned}}\n{rows}\n\\end{{aligned}}"]

    def _legend(self) -> str:
        shown = [e for step in self.steps for line in step.lines for t in (*line.left, *line.right) for e in expressions_of(t)]
        used = {s.id for s in free_symbols(shown)}
        legend = self.notation.legend(shown)
        rows = zip(self.mechanics.multipliers, self.mechanics.constraint_names, strict=True)
        multipliers = [f"{m.name} of {row}" for m, row in rows if m.id in used]
        return ", ".join([*([legend] if legend else []), *multipliers])

    def __str__(self) -> str:
        return self.text()

    def _repr_markdown_(self) -> str:
        return self.markdown()

    # -- numbers --------------------------------------------------------------------------------------------------

    def values(self, q: Any, v: Any, t: float = 0.0, **given: float) -> dict[Expr, float]:
        """Values of all symbols at a state; parameters, inputs and user states may be given by name."""
        m = self.mechanics
        values = default_values(m.eq) | {m.t: float(t)}
        values |= dict(zip(m.q, np.asarray(q, dtype=float).tolist(), strict=True))
        values |= dict(zip(m.v, np.asarray(v, dtype=float).tolist(), strict=True))
        by_name = {s.name: s for s in (*m.eq.p, *m.eq.u, *m.eq.z)}
        for key, number in given.items():
            if key not in by_name:
                raise InputError(f"there is no parameter, input or state '{key}'; there are {', '.join(by_name)}")
            values[by_name[key]] = float(number)
        speeds = evaluate(self.speeds.definitions, values)
        return values | {u: float(x) for u, x in zip(self.speeds.u, speeds, strict=True)}

    def solve(self, q: Any, v: Any, t: float = 0.0, **given: float) -> dict[str, float]:
        """The principle's own unknowns at a state, by name: accelerations, and multipliers or reactions where it has them."""
        values = self.values(q, v, t, **given)
        slopes, rest = self._linear_form
        A = np.array([float(x) for x in evaluate([e for row in slopes for e in row], values)]).reshape(len(slopes), -1)
        b = np.array([float(x) for x in evaluate(rest, values)])
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            raise InputError(
                f"at this position the independent velocities {', '.join(self.speeds.names)} do not determine the others; "
                "choose other ones with quasi_velocities="
            )
        return dict(zip(self.unknown_names, self.solver(A, -b).tolist(), strict=True))

    def accelerations(self, q: Any, v: Any, t: float = 0.0, **given: float) -> np.ndarray:
        """v̇ of all velocities at a state that meets the constraints, from the equations as the principle states them."""
        found = self.solve(q, v, t, **given)
        known = self.values(q, v, t, **given) | {s: found[n] for s, n in zip(self.unknowns, self.unknown_names, strict=True)}
        if all(a in known for a in self.mechanics.a):
            return np.array([known[a] for a in self.mechanics.a])
        return np.array([float(x) for x in evaluate(self.speeds.accelerations, known)])

    @cached_property
    def _linear_form(self) -> tuple[list[list[Expr]], list[Expr]]:
        return jacobian(self.stated, self.unknowns), substitute(self.stated, dict.fromkeys(self.unknowns, ZERO))


def minimal(
    principle: str, mechanics: Mechanics, speeds: Speeds, notation: ModelNotation, steps: Callable[[], list[Step]], residuals: list[Expr]
) -> Derivation:
    """A derivation whose principle states the equations of motion themselves, without further unknowns."""
    names = [f"{n}_dot" for n in speeds.names]
    return Derivation(principle, mechanics, speeds, notation, steps, residuals, residuals, list(speeds.u_dot), names)


def differences(inertia: Sequence[Expr], weight: Sequence[Expr], applied: Sequence[Expr]) -> list[Expr]:
    """inertia − weight − applied, one by one."""
    return [sub(i, add(w, q)) for i, w, q in zip(inertia, weight, applied, strict=True)]


def solve_exactly(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solution of a linear system, in units that make rows and columns equally large; of least norm where it is singular."""
    rows = 1.0 / np.maximum(np.abs(A).max(axis=1), 1e-300)
    columns = 1.0 / np.maximum(np.abs(A * rows[:, None]).max(axis=0), 1e-300)
    scaled = A * rows[:, None] * columns
    if A.shape[0] == A.shape[1] and np.linalg.cond(scaled) < 1e12:
        return np.asarray(columns * np.linalg.solve(scaled, rows * b))
    return np.asarray(columns * np.linalg.lstsq(scaled, rows * b, rcond=1e-12)[0])


#: Principles by word, with what their derivation is called.
TITLES = {
    "newton-euler": "Newton–Euler equations of free bodies, reactions eliminated",
    "virtual-work": "the principle of virtual work (d'Alembert)",
    "lagrange": "Lagrange's equations",
    "gauss": "Gauss's principle of least constraint",
    "jourdain": "Jourdain's principle of virtual power",
    "gibbs-appell": "the Gibbs–Appell equations",
    "kane": "Kane's equations",
}


# --- steps that several principles share -------------------------------------------------------------------------------


def balance(inertial: Expr, weight: Expr, applied: Expr, rates: Sequence[Expr], reaction: Expr = ZERO, note: str = "") -> Line:
    """(inertia)·(accelerations) + velocity terms − weight = applied + reaction."""
    slopes = jacobian([inertial], rates)[0]
    rest = substitute([inertial], dict.fromkeys(rates, ZERO))[0]
    left: list[Term] = [Scaled(s, r) for s, r in zip(slopes, rates, strict=True)]
    return Line([*left, rest, neg(weight)], [applied, reaction], note)


def reduced(speeds: Speeds, inertia: Sequence[Expr], weight: Sequence[Expr], applied: Sequence[Expr]) -> list[Expr]:
    """Bᵀ(inertia − weight − applied), written with the independent velocities."""
    return differences(*(speeds.motion(speeds.project(x)) for x in (inertia, weight, applied)))


def combined(speeds: Speeds, names: Sequence[str], *parts: Sequence[Expr]) -> list[Line]:
    """The balances of the coordinates combined with Bᵀ: written out where they are short, as B times balances where they are not."""
    lines = balances(speeds, *(speeds.motion(speeds.project(x)) for x in parts))
    size = max(operations([e]).flops for line in lines for t in (*line.left, *line.right) for e in expressions_of(t))
    if size <= MOST_WRITTEN:
        return lines
    short = []
    for column in zip(*speeds.basis, strict=True):
        factors = [(n, e) for n, e in zip(names, column, strict=True) if e is not ZERO]
        short.append(Line([Formula(*_product(n, e)) for n, e in factors], [ZERO]))
    entries = [(n, e) for column in zip(*speeds.basis, strict=True) for n, e in zip(names, column, strict=True) if not e.is_number]
    return [*short, *(equals(f"B_{n}", e) for n, e in entries)]


def _product(coordinate: str, factor: Expr) -> tuple[str, str]:
    """Text and LaTeX of B·E for one coordinate."""
    E, B = name(f"E_{coordinate}"), name(f"B_{coordinate}")
    if factor.is_number:
        number = float(factor)
        sign = "" if number == 1.0 else "-" if number == -1.0 else f"{number:g}*"
        return sign + E.text, sign.replace("*", " ") + E.latex
    return f"{B.text}*{E.text}", f"{B.latex} {E.latex}"


def balances(speeds: Speeds, *parts: Sequence[Expr]) -> list[Line]:
    """A line for each independent velocity from inertial forces, weights and applied forces."""
    return [balance(i, w, q, speeds.u_dot) for i, w, q in zip(*parts, strict=True)]


def speeds_step(speeds: Speeds) -> list[Step]:
    """How all velocities follow from the independent ones; nothing where they are all independent."""
    m = speeds.mechanics
    if speeds.is_trivial:
        return []
    lines = []
    if speeds.quasi:
        lines += [Line([u], [e]) for u, e in zip(speeds.u, speeds.definitions, strict=True)]
    lines += [Line([m.eq.constraint_velocities[i]], [ZERO], m.constraint_names[i]) for i in speeds.rows]
    dependent = [(v, e) for v, e in zip(m.v, speeds.velocities, strict=True) if v is not e]
    lines += [Line([v], [e]) for v, e in dependent]
    kind = "quasi-velocities" if speeds.quasi else "independent velocities"
    words = f"The motion is described by the {kind} {', '.join(speeds.names)}."
    if speeds.rows:
        words += " The constraints, linear in the velocities, are solved for the others."
    if speeds.redundant:
        words += f" Redundant, because met when the others are: {', '.join(speeds.redundant)}."
    return [Step("Velocities", words, lines)]


def short_velocity_names(speeds: Speeds) -> list[str]:
    """Names of the independent velocities for subscripts."""
    if speeds.quasi:
        return speeds.names
    places = dict(zip(velocity_names(speeds.mechanics), coordinate_names(speeds.mechanics), strict=True))
    return [places[n] for n in speeds.names]


def coordinate_names(mechanics: Mechanics) -> list[str]:
    """A short name for every velocity: that of its coordinate."""
    short = short_names(mechanics)
    found = []
    for c in mechanics.tree.coordinates:
        found += [f"omega_{x}" for x in "xyz"] if c.is_quaternion else [short[c.names[0]]]
    return found
