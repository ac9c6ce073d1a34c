"""What verbs of the command share: the model, its motion, settings, files of results."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..model import Model

PICTURES = (".png", ".svg", ".pdf")
#: How long a motion lasts (s) where nothing says so.
DURATION = 1.0
TABLES = (".npz", ".csv", ".parquet", ".h5", ".mat")


def load(options: argparse.Namespace, said: bool = True) -> Model:
    """The model named on the command line; what was left out of its file is said on standard error, or left to the caller."""
    from ..io.model_reference import load_model
    from ..io.notes import LeftOut

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOut)
        model = load_model(options.model, options.base, options.parameters, options.variant, options.root, options.missing)
    for note in model.notes if said else ():
        print(f"note: {note}", file=sys.stderr)
    return model


def motion(options: argparse.Namespace) -> Any:
    """The solution that the options of a start and a method describe."""
    from ..io.model_files.analyses import own_duration, starting
    from ..results.interrupted import what_is_kept
    from ..systems.formulations import formulate
    from ..systems.run import SimulationInterrupted

    model = load(options)
    span = options.time or own_duration(model) or DURATION
    system, start = starting(model, settings(options.set), options.formulation)
    chosen, formulated = integration(options), formulate(system, options.formulation)
    if options.formulation == "directors" and options.rtol:
        chosen["adaptive"] = True
    try:
        return formulated.simulate(start, span, outputs=options.outputs, progress=sys.stderr.isatty(), **chosen)
    except SimulationInterrupted as error:
        if not len(error.solution):
            raise
        kept, said = what_is_kept(error.solution)
        print(f"jourdain: {str(error).partition(';')[0]}; {said}", file=sys.stderr)
        options.interrupted = True
        return kept


def integration(options: argparse.Namespace) -> dict[str, Any]:
    """Method, step, tolerance and what becomes of overlaps, as far as they are given."""
    return {k: x for k in ("method", "step", "rtol", "overlap") if (x := getattr(options, k)) is not None}


def settings(texts: Sequence[str]) -> dict[str, float | str]:
    """All of ``--set`` by name."""
    return dict(setting(text) for text in texts)


def setting(text: str) -> tuple[str, float | str]:
    """NAME=VALUE as a pair; the value may carry a unit."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise InputError(f"--set '{text}': write NAME=VALUE, such as hinge=0.3 or hinge=30deg")
    try:
        return name.strip(), float(value)
    except ValueError:
        return name.strip(), value.strip()


def check_output(path: Path) -> None:
    """Refuses an unknown ending before anything is computed."""
    known = (*TABLES, *PICTURES, ".html")
    if path.suffix.lower() not in known:
        raise InputError(f"output '{path}': the ending '{path.suffix}' is unknown; use one of {' '.join(known)}")


def save(sol: Any, path: Path) -> None:
    """Writes a solution as a table, a plot of its coordinates or a page, by the ending of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    suffix = path.suffix.lower()
    if suffix in PICTURES:
        names = [*sol.system.model.outputs] or sol.system.coordinate_names[:12]
        sol.plot(*names, file=path)
    elif suffix == ".html":
        sol.save_page(path)
    else:
        sol.save(path)
