"""A model's equations as source files in other languages, and as one C program that simulates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from types import MappingProxyType

from ..errors import InputError
from ..formalisms.functions.registry import find_builder
from ..formalisms.functions.tree import reaction_names
from ..model import Model
from ..symbolic.function import SymbolicFunction
from ..symbolic.printers import LANGUAGES, SUFFIXES, print_function
from ..symbolic.printers.program import Language, is_parameters, operation_counts, straight_line, words
from ..symbolic.tables import Table
from ..systems.state import State
from ..systems.system import System
from .contact_source import with_contact_loads
from .model_files.structure_numbers import with_structures
from .standalone import standalone_c


def default_functions(system: System) -> list[str]:
    """What an export holds unless told otherwise: dynamics, energies, poses, reactions and the user's outputs."""
    names = ["inverse_dynamics", "mass_matrix", "bias", "forward_dynamics", "energy", "poses", "reactions"]
    if system.equations_of_motion.rows:
        names += ["descriptor", "constraints", "constraint_velocities"]
    else:
        names += ["state_derivative"]
    return names + (["outputs"] if system.model.outputs else [])


def exported_function(system: System, name: str) -> SymbolicFunction:
    """The symbolic function behind an export, with the parameters' present values noted in its header.

    Names are those of :meth:`System.function`, and "frame:PATH" for the motion of a body or frame.
    """
    head, _, path = name.partition(":")
    if head == "frame":
        if not path:
            raise InputError("export: say which frame, as in frame:body or frame:body.frame")
        f = system.symbolic("frame", path=path)
        f = replace(f, name=f"frame_{identifier(path)}")
    else:
        f = _by_name(system, name)
    f = with_structures(system, f)
    if name == "reactions":
        f = replace(f, notes=(*f.notes, *_lines("Rows: ", reaction_names(system.equations_of_motion))))
    if not any(is_parameters(a) for a in f.inputs):
        return f
    values = [f"{n} = {x:.9g}" for n, x in system.parameters.items()]
    return replace(f, notes=(*f.notes, *_lines("Values now: ", values)))


def _by_name(system: System, name: str) -> SymbolicFunction:
    build = find_builder(name)
    if build is not None:
        required = [p.name for p in signature(build).parameters.values() if p.default is p.empty][1:]
        if required:
            raise InputError(f"export: the function '{name}' needs {', '.join(required)}; its name alone is not enough")
    return system.symbolic(name)


def _lines(title: str, items: Sequence[str]) -> list[str]:
    """A list in a header, six items to a line."""
    return [(title if i == 0 else "  ") + ", ".join(items[i : i + 6]) for i in range(0, len(items), 6)]


_CALLS = MappingProxyType({
    **{op: op + "({0})" for op in words("sqrt exp log sin cos tan asin acos atan sinh cosh tanh floor abs sign")},
    **{op: op + "({0}, {1})" for op in words("atan2 min max")},
    "pow": "({0})^({1})", "where": "where({0}, {1}, {2})",
})  # fmt: skip


class _Plain(Language):
    """Straight-line equations to read: symbols by their names in the model."""

    calls = _CALLS
    conjunction, disjunction, negation, truth = "and", "or", "not ({0})", "({0})"

    def __init__(self, f: SymbolicFunction) -> None:
        self.names = {(a.name, i): s.name for a in f.inputs for i, s in enumerate(a.symbols)}

    def element(self, array: str, index: int) -> str:
        return self.names[array, index]

    def number(self, value: float) -> str:
        return f"{value:.12g}"

    def lookup(self, function: str, table: str, content: Table, orders: Sequence[int], operands: Sequence[str]) -> str:
        return f"{content.name}{chr(39) * sum(orders)}({', '.join(operands)})"


def recursive_text(f: SymbolicFunction) -> str:
    """A function as a list of equations with named intermediate values, in the order in which they are evaluated."""
    program = straight_line(f, _Plain(f))
    lines = [f"{f.title}: {f.name}, {operation_counts(f.operations())}"]
    lines += [f"{name} = {text}" for name, text in (*program.prepare, *program.body)]
    for i, r in enumerate(f.outputs):
        for index, text, _ in program.assignments(i):
            lines.append(f"{r.name}[{', '.join(str(k + 1) for k in index)}] = {text}")
    return "\n".join(lines)


def export_source(model: Model | System, language: str, functions: Sequence[str] | None = None, folder: str | Path = ".") -> list[Path]:
    """Writes one file for each function in a language of ``jourdain.symbolic.printers``, and for C a header besides.

    Existing files of the same names are overwritten.

    >>> import jourdain as jd, tempfile
    >>> m = jd.Model("pendulum")
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -0.5)), axis="y")
    >>> [p.name for p in export_source(m, "julia", ["mass_matrix", "energy"], tempfile.mkdtemp())]
    ['mass_matrix.jl', 'energy.jl']
    """
    if language not in LANGUAGES:
        raise InputError(f"export: the language '{language}' is unknown; choose one of {', '.join(LANGUAGES)}")
    system = model if isinstance(model, System) else model.compile()
    system = with_contact_loads(system, "exported source")
    symbolic = [exported_function(system, name) for name in functions or default_functions(system)]
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for f in symbolic:
        text = print_function(f, language)
        written.append(_write(target / f"{f.name}{SUFFIXES[language]}", text))
    if language == "c":
        written.append(_write(target / f"{identifier(system.model.name)}.h", _c_header(system, symbolic)))
    return written


def export_standalone(model: Model | System, path: str | Path, start: State | None = None, t: float = 1.0, step: float = 1e-3) -> Path:
    """Writes one C99 program that simulates the model with the Runge–Kutta method of order four and prints a table.

    It needs math.h and stdio.h alone; ``start`` is the initial state (neutral position by default), ``t`` and ``step``
    the duration and the step in s, which its first two arguments replace.
    """
    system = model if isinstance(model, System) else model.compile()
    if start is None:
        start = system.assemble() if system.equations_of_motion.rows else system.state()
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    return _write(target, standalone_c(system, start, t, step))


def _c_header(system: System, functions: Sequence[SymbolicFunction]) -> str:
    name = identifier(system.model.name)
    guard = f"JOURDAIN_{name.upper()}_H"
    lines = [f"/* {name}: declarations of the exported functions. */", f"#ifndef {guard}", f"#define {guard}", ""]
    for f in functions:
        lines += [line + ";" for line in print_function(f, "c").splitlines() if line.startswith("void ")]
    return "\n".join([*lines, "", "#endif", ""])


def identifier(name: str) -> str:
    """A name fit for files and programs: letters, digits and underscores."""
    text = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "model"
    return "m" + text if text[0].isdigit() else text


def _write(path: Path, text: str) -> Path:
    from ..results.whole_file import write_whole

    return write_whole(path, text)


__all__ = [
    "default_functions",
    "export_source",
    "export_standalone",
    "exported_function",
    "identifier",
    "recursive_text",
]
