"""``jourdain optimise`` and ``jourdain pareto``: the design problems that a model file names."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..analysis.design.front import Front
    from ..analysis.design.optimum import Optimum
    from ..model.model import Model


def add_parsers(verbs: Any, verb: Any) -> None:
    """Adds both verbs to the subparsers of the command."""
    p = verb(verbs, "optimise", optimise, "the best design of a problem that the model names")
    _common(p)
    p.add_argument("--method", default="slsqp", help="optimiser: slsqp, ipopt, cobyqa, cma-es … (default: slsqp)")
    p.add_argument(
        "--weight",
        action="append",
        default=[],
        metavar="NAME=X",
        help="weight of a criterion; may be repeated (default: those of the file)",
    )

    p = verb(verbs, "pareto", pareto, "designs of a problem of which none is better than another in every criterion")
    _common(p)
    p.add_argument("--method", default="epsilon", help="weighted, epsilon, nbi or nsga2 (default: epsilon)")
    p.add_argument("--points", type=int, default=20, help="designs on the front (default: 20)")
    p.add_argument("--population", type=int, default=60, help="of nsga2 (default: 60)")
    p.add_argument("--generations", type=int, default=50, help="of nsga2 (default: 50)")
    p.add_argument("--seed", type=int, default=1, help="of nsga2 (default: 1)")
    p.add_argument("--workers", metavar="N", help="threads, 'processes', or the address of a cluster (default: none)")


def _common(p: argparse.ArgumentParser) -> None:
    p.add_argument("problem", metavar="PROBLEM", nargs="?", help="problem of the model (default: its only one)")
    p.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter, input or initial value; may be repeated")
    p.add_argument("--store", metavar="FILE", help="designs that have run are kept here; the same command goes on where it was cut short")
    p.add_argument("--watch", action="store_true", help="prints the address of a page of the running study, on this machine only")
    p.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help="designs (.csv) or a picture of a front (.png .svg .pdf); may be repeated",
    )


def optimised(
    model: Model,
    name: str,
    settings: Mapping[str, Any],
    weights: Mapping[str, float] | None = None,
    method: str = "slsqp",
    store: str | None = None,
    watch: bool | Callable[[str], Any] = False,
) -> Optimum:
    """The best design, with the weights of the file where none are given."""
    from ..io.model_files.problems import problem
    from ..io.model_files.problems import weights as weights_of

    return problem(model, name, settings).optimise(weights or weights_of(model, name), method, store=store, watch=watch)


def optimise(options: argparse.Namespace) -> None:
    """``jourdain optimise``."""
    from .parts import load, settings

    model = load(options)
    weights = {n: float(x) for n, x in settings(options.weight).items()}
    best = optimised(model, _name(model, options.problem), settings(options.set), weights, options.method, options.store, _watch(options))
    print(best)
    for path in options.output:
        _save(Path(path), [best], None)


def pareto(options: argparse.Namespace) -> None:
    """``jourdain pareto``."""
    from ..io.model_files.problems import problem
    from .parts import load, settings

    model = load(options)
    workers: Any = options.workers
    if workers is not None and workers.isdigit():
        workers = int(workers)
    front = problem(model, _name(model, options.problem), settings(options.set)).pareto(
        options.method, options.points, workers=workers, store=options.store, progress=sys.stderr.isatty(), population=options.population,
        generations=options.generations, seed=options.seed, watch=_watch(options),
    )  # fmt: skip
    print(front)
    for path in options.output:
        _save(Path(path), [front[i] for i in range(len(front))], front)


def _watch(options: argparse.Namespace) -> bool | Callable[[str], Any]:
    """The address goes to the terminal at once: the command may be running on a machine without a browser."""
    return (lambda url: print(f"live page: {url}", file=sys.stderr, flush=True)) if options.watch else False


def _name(model: Model, given: str | None) -> str:
    if given is not None:
        return given
    if len(model.problems) != 1:
        raise InputError(f"model '{model.name}' names {len(model.problems)} problems ({', '.join(model.problems) or 'none'}); say which")
    return next(iter(model.problems))


def _save(path: Path, designs: list[Optimum], front: Front | None) -> None:
    if path.suffix == ".csv":
        from ..results.whole_file import write_whole

        text = io.StringIO()
        rows = csv.writer(text)
        first = designs[0]
        rows.writerow([*first.values, *first.criteria, *first.constraints])
        rows.writerows([*d.values.values(), *d.criteria.values(), *d.constraints.values()] for d in designs)
        write_whole(path, text.getvalue())
    elif front is not None and path.suffix in (".png", ".svg", ".pdf"):
        front.plot(file=path)
    else:
        raise InputError(f"'{path}': a design is written as .csv" + (", a front as .csv, .png, .svg or .pdf" if front is not None else ""))
    print(path)


__all__ = ["add_parsers", "optimised"]
