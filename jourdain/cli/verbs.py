"""Verbs of the command on a model: what it is, its equations, its source, its motion."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, ModelError
from .parts import PICTURES, check_output, load, motion, save, settings

if TYPE_CHECKING:
    from ..model import Model
    from ..systems.system import System

#: Functions whose operations ``jourdain info`` counts.
COUNTED = ("inverse_dynamics", "mass_matrix", "bias", "forward_dynamics")
#: Above so many velocities operations are not counted: deriving would take longer than reading.
MOST_COUNTED = 200


def info(options: argparse.Namespace) -> None:
    """``jourdain info``."""
    from rich.console import Console

    model = load(options, said=False)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(model.describe())
    for note in model.notes:
        console.print(f"note: {note}")
    system = model.compile()
    if system.nv and system.nv <= MOST_COUNTED:
        console.print()
        console.print(operations_table(system))


def operations_table(system: System) -> Any:
    """Operation counts of the main functions for a ``rich`` console."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title="Operations of one evaluation", title_justify="left", title_style="", box=SIMPLE_HEAD)
    for heading in ("function", "+", "×", "÷", "functions", "once for given parameters"):
        table.add_column(heading, justify="left" if heading == "function" else "right", no_wrap=True)
    for name in COUNTED:
        try:
            f = system.symbolic(name)
        except ModelError:  # the tree by itself, without its loops, may move what has no inertia
            table.add_row(name, *["–"] * 5)
            continue
        n, once = f.operations(), f.prepare_operations()
        counts = (n.adds, n.mults, n.divs, n.functions, once.flops + once.divs + once.functions)
        table.add_row(name, *map(str, counts))
    return table


def equations(options: argparse.Namespace) -> None:
    """``jourdain equations``."""
    from ..formalisms.explicit import explicit_equations

    model = load(options)
    if not options.recursive:
        try:
            closed = explicit_equations(model)
            print(closed.latex() if options.latex else closed.text())
            return
        except InputError as error:
            if "fill pages" not in str(error) or options.latex:
                raise
            note = f"jourdain: '{model.name}' is too large for a readable closed form; this is the recursive one"
            print(note, file=sys.stderr)
    if options.latex:
        raise InputError("the recursive form is printed as text; leave out --latex, or export with --to latex")
    from ..io.export import recursive_text

    print(recursive_text(model.compile().symbolic("inverse_dynamics")))


def derive(options: argparse.Namespace) -> None:
    """``jourdain derive``."""
    from ..formalisms.principles import derive as derivation

    found = derivation(load(options), options.principle)
    print(found.latex() if options.latex else found.markdown() if options.markdown else found.text())


def compare(options: argparse.Namespace) -> None:
    """``jourdain compare``."""
    from ..analysis.compare import compare as side_by_side
    from ..io.model_files.analyses import starting
    from ..results.style import finish

    if options.output and Path(options.output).suffix not in PICTURES:
        raise InputError(f"'{options.output}' is not a picture; write one of {', '.join(PICTURES)}")
    system, start = starting(load(options), settings(options.set))
    found = side_by_side(system, start, options.time)
    print(found)
    if options.output:
        finish(found.plot(), options.output, show=False)
        print(f"wrote {options.output}")


def export(options: argparse.Namespace) -> None:
    """``jourdain export``."""
    from ..io.export import export_source, export_standalone, identifier
    from ..io.model_files.analyses import starting

    model = load(options)
    name = identifier(model.name)
    if options.standalone:
        if options.to != "c" or options.functions:
            raise InputError("--standalone writes one C program: leave out --functions, and --to other than c")
        target = Path(options.output or f"{name}.c")
        target = target if target.suffix == ".c" else target / f"{name}.c"
        system, start = starting(model, settings(options.set))
        written = [export_standalone(system, target, start, options.time, options.step)]
    else:
        if options.set:
            raise InputError("--set concerns the start of a --standalone program; functions take every state")
        functions = [f.strip() for f in options.functions.split(",") if f.strip()] if options.functions else None
        written = export_source(model, options.to, functions, options.output or f"{name}-{options.to}")
    for path in written:
        print(path)


def simulate(options: argparse.Namespace) -> None:
    """``jourdain simulate``."""
    from rich.console import Console

    for path in options.output:
        check_output(Path(path))
    sol = motion(options)
    Console(highlight=False).print(sol) if sys.stdout.isatty() else print(sol)
    for path in options.output:
        save(sol, Path(path))
        print(path)


def run(options: argparse.Namespace) -> None:
    """``jourdain run``."""
    from ..io.model_files.analyses import AnalysesInterrupted, ModelRun
    from ..io.model_files.analyses import run as run_analyses

    if options.time and options.analyses:
        raise InputError("-t asks for a motion of its own; leave it out, or leave out the names of analyses")
    if options.time:
        sol = motion(options)
        done = ModelRun(sol.system, sol.final_state(0))
        done.whole["run"] = sol
    else:
        model = load(options)
        chosen = [n for n in options.analyses if n in model.problems and n not in model.analyses]
        if chosen:
            return optimise_named(model, chosen, options)
        if not model.analyses:
            raise InputError(f"model '{model.name}' names no analyses; say how long to simulate: -t 10")
        word = None if options.formulation == "recursive" else options.formulation
        try:
            done = run_analyses(model, *options.analyses, settings=settings(options.set), progress=sys.stderr.isatty(), formulation=word)
        except AnalysesInterrupted as error:
            print(f"jourdain: {error}", file=sys.stderr)
            options.interrupted, done = True, error.run
    print(done["run"] if options.time else done)
    for path in done.save(options.output):
        print(path)
    if options.interrupted:
        print(f"plot and page of what was interrupted: jourdain plot {options.output} CHANNEL, jourdain view {options.output}")


def optimise_named(model: Model, names: Sequence[str], options: argparse.Namespace) -> None:
    """``jourdain run MODEL PROBLEM``: what `jourdain optimise` does."""
    from .design import optimised

    if len(names) < len(options.analyses):
        other = next(n for n in options.analyses if n not in names)
        raise InputError(f"'{names[0]}' is a problem and '{other}' none; run them one after the other")
    for name in names:
        print(optimised(model, name, settings(options.set)))


def demo(options: argparse.Namespace) -> None:
    """``jourdain demo``."""
    from ..demo import run

    run(options.output)
