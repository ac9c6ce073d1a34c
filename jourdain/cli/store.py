"""``jourdain store``: what is in a store of runs, and whether it is whole."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..results import Store


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Adds the verb ``store`` with its operations to the subparsers of the command."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "store", help="a store of runs: list, show, check", description="What is in a store of runs (jd.Store), and whether it is whole."
    )
    parser.add_argument("--debug", action="store_true", help="show where an error happened")
    parser.set_defaults(run=lambda options: parser.print_help())
    operations = parser.add_subparsers(title="operations", metavar="OPERATION")
    p = _operation(operations, "list", list_runs, "list the runs, all or those that fulfil a condition")
    p.add_argument("condition", metavar="CONDITION", nargs="?", default="", help="such as \"mass > 3 and status = 'done'\"")
    p = _operation(operations, "show", show, "show a run: model, parameters, status, summary of its results")
    p.add_argument("number", metavar="RUN", type=int, help="number of the run")
    _operation(operations, "check", check, "read every row and number against its digest, and say what is damaged")
    return parser


def _operation(operations: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    p: argparse.ArgumentParser = operations.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    p.add_argument("file", metavar="FILE", help="store")
    p.set_defaults(run=run)
    return p


def _store(options: argparse.Namespace) -> Store:
    from ..results import Store

    if not Path(options.file).is_file():
        raise InputError(f"store '{options.file}' does not exist; check the path")
    if not Path(options.file).stat().st_size:
        raise InputError(f"store '{options.file}' is an empty file: there is nothing in it, or what was there is lost")
    return Store(options.file)


def list_runs(options: argparse.Namespace) -> None:
    """Prints a line for each run."""
    for run in _store(options).query(options.condition):
        values = ", ".join(f"{name} = {value}" for name, value in run.parameters.items())
        print(f"{run.id:6d}  {run.status:11s}  {run.created}  {run.model}  {values}".rstrip())


def show(options: argparse.Namespace) -> None:
    """Prints a run."""
    print(_store(options).show(options.number))


def check(options: argparse.Namespace) -> None:
    """Prints that a store is whole; one that is not is an error that says what is damaged."""
    store = _store(options)
    found = store.check()
    if found:
        print("\n".join(found))
        raise InputError(f"store '{options.file}' is damaged in {len(found)} place{'s' if len(found) > 1 else ''}")
    print(f"{options.file}: {len(store.list('models'))} models, {len(store.list('runs'))} runs, all as they were written")
