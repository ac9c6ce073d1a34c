"""The command ``jourdain``: look at a model, print its equations, export its source, simulate it."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cli_crash import add_parser as add_crash_parser
from .cli_cvt import add_parser as add_cvt_parser
from .cli_design import add_parsers as add_design_parsers
from .cli_model import add_parser as add_model_parser
from .cli_restitution import add_parser as add_restitution_parser
from .cli_store import add_parser as add_store_parser
from .cli_structure import add_parser as add_structure_parser
from .errors import InputError, ModelError

if TYPE_CHECKING:
    from .model import Model
    from .systems.system import System

PRINCIPLES = ("newton-euler", "virtual-work", "lagrange", "gauss", "jourdain", "gibbs-appell", "kane")
FORMULATIONS = ("recursive", "semi-recursive", "cartesian", "natural", "directors")
LANGUAGES = ("c", "python", "matlab", "julia", "fortran", "rust", "jax", "latex")
PICTURES = (".png", ".svg", ".pdf")
TABLES = (".npz", ".csv", ".parquet", ".h5", ".mat")
#: Functions whose operations ``jourdain info`` counts.
COUNTED = ("inverse_dynamics", "mass_matrix", "bias", "forward_dynamics")
#: Above so many velocities operations are not counted: deriving would take longer than reading.
MOST_COUNTED = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status: 0, 2 with one line on the error output, or 130 after Ctrl-C."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.run is None:
        parser.print_help()
        return 0
    for stream in (sys.stdout, sys.stderr):  # a console that lacks a letter shows "?" instead of failing
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("jourdain: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if options.debug:
            raise
        print(f"jourdain: {explanation(error)}", file=sys.stderr)
        return 2
    return 130 if options.interrupted else 0


def explanation(error: Exception) -> str:
    """An error as one line, several errors of a file as one line each."""
    from .errors import JourdainError

    text = "\n".join(" ".join(line.split()) for line in str(error).splitlines() if line.strip())
    if isinstance(error, (JourdainError, OSError)):
        return text
    if isinstance(error, ModuleNotFoundError):
        return f"the package '{error.name}' is needed for this: pip install {error.name}"
    return f"unexpected {type(error).__name__}: {text} (--debug shows where)"


def build_parser() -> argparse.ArgumentParser:
    """The grammar of the command."""
    from . import __version__

    parser = argparse.ArgumentParser(
        prog="jourdain", description="Multibody dynamics: equations, source code and motion of a model.",
        epilog="MODEL is a .toml model file, a .urdf, .xml (MJCF) or .mbs file, or your own Python as file.py:name or package.module:name, "
        "where name is a Model or a function that returns one.",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"jourdain {__version__}")
    parser.set_defaults(run=None, debug=False, interrupted=False)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB")

    verb(verbs, "info", info, "the tree, coordinates, parameters, formalisms and operation counts")

    p = verb(verbs, "equations", equations, "the equations of motion, in closed form where that is readable")
    p.add_argument("--latex", action="store_true", help="as LaTeX instead of text")
    p.add_argument("--recursive", action="store_true", help="the recursive form also for a small model")

    p = verb(verbs, "derive", derive, "the equations of motion step by step, from one of the principles of dynamics")
    p.add_argument("--principle", choices=PRINCIPLES, default="lagrange", help="the principle to start from (default: lagrange)")
    p.add_argument("--latex", action="store_true", help="as LaTeX instead of text")
    p.add_argument("--markdown", action="store_true", help="as Markdown instead of text")

    p = verb(verbs, "compare", compare, "all formulations of the model side by side: size, cost, agreement, drift")
    add_start(p, 1.0)
    p.add_argument("-o", "--output", metavar="FILE", help="also as bars (.png .svg .pdf)")

    p = verb(verbs, "export", export, "source code of the model's functions")
    p.add_argument("--to", choices=LANGUAGES, default="c", help="language (default: c)")
    p.add_argument("--functions", metavar="NAMES", help="names separated by commas (default: dynamics, energy, reactions …)")
    p.add_argument("-o", "--output", metavar="FOLDER", help="folder, or file of --standalone (default: MODEL-LANGUAGE)")
    p.add_argument("--standalone", action="store_true", help="one C program that simulates the model")
    add_start(p, 1.0)
    p.add_argument("--step", type=seconds, default=1e-3, metavar="S", help="step of --standalone in s (default: 0.001)")

    p = verb(verbs, "simulate", simulate, "motion from a start, as a summary, tables, plots and pages")
    add_start(p, None)
    add_method(p)
    p.add_argument(
        "-o", "--output", action="append", default=[], metavar="FILE",
        help="table (.npz .csv .parquet .h5 .mat), plot (.png .svg .pdf) or 3-D page (.html); may be repeated",
    )  # fmt: skip

    p = verb(verbs, "run", run, "the analyses a model names, or a motion (-t), kept in a folder as tables, plots and pages")
    p.add_argument("analyses", metavar="ANALYSIS", nargs="*", help="analyses of the model (default: all)")
    add_start(p, 0.0, "the analyses of the model")
    add_method(p)
    p.add_argument("-o", "--output", default="run", metavar="RUN", help="folder (default: run)")

    add_design_parsers(verbs, verb)

    p = verb(verbs, "view", view, "a model, or the motion of a run, in the browser")
    add_start(p, 0.0)
    add_method(p)
    p.add_argument("--model", dest="model_of_run", metavar="MODEL", help="the model that a table of results belongs to")
    p.add_argument("--trace", action="append", default=[], metavar="FRAME", help="draw the path of a frame; may be repeated")
    p.add_argument("--forces", action="append", default=[], metavar="JOINT", help="draw the reaction of a joint; may be repeated")
    p.add_argument("--plot", action="append", default=[], metavar="CHANNEL", help="a diagram beside the motion; may be repeated")
    p.add_argument("--stress", metavar="FIELD", help="colour flexible bodies: 'von mises', displacement, strain, Mz …, or BODY=FIELD, …")
    p.add_argument("--exaggerate", type=float, default=1.0, metavar="TIMES", help="deform flexible bodies so many times more")
    p.add_argument("--follow", metavar="BODY", help="the body the camera follows")
    p.add_argument("--live", action="store_true", help="show the motion of -t while it is computed, in real time")
    p.add_argument("--mode", type=int, metavar="N", help="modes about the equilibrium near the start; N is shown in pictures and movies")
    p.add_argument(
        "-o", "--output", metavar="FILE", help="write a page (.html), picture (.png .jpg), movie (.mp4 .gif) or POV-Ray scene (.pov)"
    )
    p.add_argument("--at", type=float, metavar="S", help="time of a picture in s (default: the start)")
    p.add_argument("--speed", type=positive, default=1.0, help="speed of a movie (default: 1, real time)")
    p.add_argument("--size", type=picture_size, default=(1280, 720), metavar="WxH", help="size of a picture or movie (default: 1280x720)")

    p = verb(verbs, "explore", explore, "sliders for parameters and start values in the browser: motion, energy and eigenvalues follow")
    p.add_argument("names", metavar="NAME", nargs="*", help="parameters and start values (default: the first of the model)")
    add_start(p, 5.0)
    add_method(p)
    p.add_argument("--trace", action="append", default=[], metavar="FRAME", help="draw the path of a frame; may be repeated")
    p.add_argument("--plot", action="append", default=[], metavar="CHANNEL", help="a diagram beside the motion; may be repeated")
    p.add_argument("--port", type=int, default=0, help="port on this machine (default: a free one)")

    p = verbs.add_parser("plot", help="channels of a run over time", description="Channels of a run over time.")
    p.add_argument("run_file", metavar="RUN", help="table of results, or folder of `jourdain run`")
    p.add_argument("channels", metavar="CHANNEL", nargs="+", help="names or patterns such as 'crank.*'")
    p.add_argument("--unit", help="unit of the channels that it fits, such as deg")
    p.add_argument("-o", "--output", default="plot.png", metavar="FILE", help=".png, .svg or .pdf (default: plot.png)")
    p.add_argument("--debug", action="store_true", help="show where an error happened")
    p.set_defaults(run=plot)

    add_model_parser(verbs)
    add_store_parser(verbs)
    add_structure_parser(verbs)
    add_cvt_parser(verbs)
    add_restitution_parser(verbs)
    add_crash_parser(verbs)
    p = verbs.add_parser("demo", help="derive, compile and simulate an engine, and draw it")
    p.add_argument("-o", "--output", default="out", metavar="FOLDER", help="folder of the pictures (default: out)")
    p.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    p.set_defaults(run=demo)
    return parser


def verb(verbs: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    """A verb on a model with the options all of them share."""
    p: argparse.ArgumentParser = verbs.add_parser(
        name,
        aliases=[american] if (american := name.replace("ise", "ize")) != name else [],
        help=text,
        description=text[0].upper() + text[1:] + ".",
    )
    p.add_argument("model", metavar="MODEL", help="file or Python name of the model")
    p.add_argument("--base", choices=("free", "fixed"), help="URDF: does the root link fly? (default: fixed)")
    p.add_argument("--root", metavar="FOLDER", help="MJCF: the folder around all files of the model, where names lead out of its own")
    p.add_argument(
        "--missing", choices=("refuse", "note"), help="MJCF: geoms that cannot be read but whose mass is needed (default: refuse)"
    )
    p.add_argument("--parameters", choices=("symbolic", "numbers"), help=".mbs: masses and lengths (default: numbers)")
    p.add_argument("--variant", metavar="NAME", help="model file: the variant to lay over it")
    p.add_argument("--debug", action="store_true", help="show where an error happened")
    p.set_defaults(run=run)
    return p


def add_method(p: argparse.ArgumentParser) -> None:
    """Options that say how a motion is integrated."""
    p.add_argument("--formulation", choices=FORMULATIONS, default="recursive", help="formulation of a motion (default: recursive)")
    p.add_argument("--method", help="method of integration (default: auto, dopri5 and where it is stiff radau; directors: energy-momentum)")
    p.add_argument("--step", type=seconds, default=None, metavar="S", help="fixed or first step in s (directors: 0.01)")
    p.add_argument("--rtol", type=positive, help="relative tolerance of a step (default: 1e-8; directors: steps of one size)")
    p.add_argument("--outputs", type=int, default=None, metavar="N", help="that many equally spaced rows (default: all steps)")


def add_start(p: argparse.ArgumentParser, duration: float | None, without: str = "the model at rest") -> None:
    """Options that say where a motion begins and how long it lasts."""
    default = f" (default: {duration:g})" if duration else "" if duration is None else f" (default: {without})"
    time = {"default": duration, "required": duration is None, "help": f"duration in s{default}"}
    p.add_argument("-t", "--time", type=seconds, metavar="S", **time)  # type: ignore[arg-type]
    p.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="initial coordinate, velocity or state, parameter or input, such as hinge=30deg; may be repeated",
    )  # fmt: skip


def positive(text: str) -> float:
    """A positive number from the command line."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def seconds(text: str) -> float:
    """A positive time from the command line, in s or with its unit: 0.5, "500 ms", 2min."""
    from .model.units import UnitError, quantity

    try:
        value = quantity(text, "s")
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return positive(str(value))


def picture_size(text: str) -> tuple[int, int]:
    """Width and height from "1280x720"."""
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal() and 16 <= int(width) <= 8192 and 16 <= int(height) <= 8192):
        raise argparse.ArgumentTypeError(f"{text} is not a size in pixels such as 1280x720")
    return int(width), int(height)


# --- verbs -------------------------------------------------------------------------------------------------------


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
    from .formalisms.explicit import explicit_equations

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
    from .io.export import recursive_text

    print(recursive_text(model.compile().symbolic("inverse_dynamics")))


def derive(options: argparse.Namespace) -> None:
    """``jourdain derive``."""
    from .formalisms.principles import derive as derivation

    found = derivation(load(options), options.principle)
    print(found.latex() if options.latex else found.markdown() if options.markdown else found.text())


def compare(options: argparse.Namespace) -> None:
    """``jourdain compare``."""
    from .analysis.compare import compare as side_by_side
    from .io.analyses import starting

    if options.output and Path(options.output).suffix not in PICTURES:
        raise InputError(f"'{options.output}' is not a picture; write one of {', '.join(PICTURES)}")
    system, start = starting(load(options), settings(options.set))
    found = side_by_side(system, start, options.time)
    print(found)
    if options.output:
        found.plot().savefig(options.output)
        print(f"wrote {options.output}")


def export(options: argparse.Namespace) -> None:
    """``jourdain export``."""
    from .io.analyses import starting
    from .io.export import export_source, export_standalone, identifier

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
    from .io.analyses import ModelRun
    from .io.analyses import run as run_analyses

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
        done = run_analyses(model, *options.analyses, settings=settings(options.set), progress=sys.stderr.isatty(), formulation=word)
    print(done["run"] if options.time else done)
    for path in done.save(options.output):
        print(path)


def optimise_named(model: Model, names: Sequence[str], options: argparse.Namespace) -> None:
    """``jourdain run MODEL PROBLEM``: what `jourdain optimise` does."""
    from .cli_design import optimised

    if len(names) < len(options.analyses):
        other = next(n for n in options.analyses if n not in names)
        raise InputError(f"'{names[0]}' is a problem and '{other}' none; run them one after the other")
    for name in names:
        print(optimised(model, name, settings(options.set)))


def view(options: argparse.Namespace) -> None:
    """``jourdain view``."""
    from .io.run_folder import table_of_run

    path = table_of_run(options.model)
    if path.suffix.lower() == ".html" and not options.output:
        open_page(path)
        return
    if options.live:
        watch_live(options)
        return
    page = path.with_suffix(".html")
    try:
        scene = scene_to_view(options, path)
    except InputError:
        if options.output or options.model_of_run or path.suffix.lower() not in TABLES or not page.is_file():
            raise
        open_page(page)  # the table keeps too few channels to draw from; its page was made from all
        return
    if options.output:
        save_view(scene, Path(options.output), options)
        print(options.output)
        return
    from .view import serve

    with serve(scene) as server:
        print(f"{server.url} (Ctrl-C ends)")
        wait_for_interrupt()


def explore(options: argparse.Namespace) -> None:
    """``jourdain explore``."""
    from .io.analyses import starting
    from .systems.formulations import formulate

    system, start = starting(load(options), settings(options.set), options.formulation)
    formulated = formulate(system, options.formulation)
    shown = {"plots": options.plot, "trace": options.trace, "port": options.port}
    with formulated.explore(options.names or None, start, options.time, **shown, **integration(options)) as server:
        print(f"{server.url} (Ctrl-C ends)", flush=True)
        wait_for_interrupt()


def plot(options: argparse.Namespace) -> None:
    """``jourdain plot``."""
    from .io.run_folder import table_of_run
    from .results import load_solution

    target = Path(options.output)
    if target.suffix.lower() not in PICTURES:
        raise InputError(f"plot '{target}': the ending '{target.suffix}' is unknown; use one of {' '.join(PICTURES)}")
    target.parent.mkdir(parents=True, exist_ok=True)
    load_solution(table_of_run(options.run_file)).plot(*options.channels, unit=options.unit, file=target)
    print(options.output)


def demo(options: argparse.Namespace) -> None:
    """``jourdain demo``."""
    from .demo import run

    run(options.output)


# --- parts -------------------------------------------------------------------------------------------------------


def load(options: argparse.Namespace, said: bool = True) -> Model:
    """The model named on the command line; what was left out of its file is said on standard error, or left to the caller."""
    from .io.model_reference import load_model
    from .io.notes import LeftOut

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOut)
        model = load_model(options.model, options.base, options.parameters, options.variant, options.root, options.missing)
    for note in model.notes if said else ():
        print(f"note: {note}", file=sys.stderr)
    return model


def motion(options: argparse.Namespace) -> Any:
    """The solution that the options of a start and a method describe."""
    from .io.analyses import starting
    from .systems.formulations import formulate
    from .systems.run import SimulationInterrupted

    system, start = starting(load(options), settings(options.set), options.formulation)
    chosen, formulated = integration(options), formulate(system, options.formulation)
    if options.formulation == "directors" and options.rtol:
        chosen["adaptive"] = True
    try:
        return formulated.simulate(start, options.time, outputs=options.outputs, progress=sys.stderr.isatty(), **chosen)
    except SimulationInterrupted as error:
        if not len(error.solution):
            raise
        print(f"jourdain: {str(error).partition(';')[0]}; what was done is kept", file=sys.stderr)
        options.interrupted = True
        return error.solution


def integration(options: argparse.Namespace) -> dict[str, Any]:
    """Method, step and tolerance, as far as they are given."""
    return {k: x for k in ("method", "step", "rtol") if (x := getattr(options, k)) is not None}


def scene_to_view(options: argparse.Namespace, path: Path) -> Any:
    """The scene of a table of results with its model, of a motion, or of a model at its start."""
    from .io.run_folder import model_of_run

    if path.suffix.lower() in TABLES:
        if not path.exists():
            raise InputError(f"there is no file '{path}'")
        beside = model_of_run(path)
        if options.model_of_run is None and beside is None:
            raise InputError(f"'{path}' holds numbers and no model; name it: jourdain view {path} --model MODEL")
        from .results import load_solution

        options.model = options.model_of_run or str(beside)
        return load_solution(path).scene(system=load(options).compile(formulation=options.formulation), **scene_options(options))
    if options.time:
        return motion(options).scene(**scene_options(options))
    from .io.analyses import starting
    from .view import scene_of_modes, state_scene
    from .view.from_solution import show_stress

    system, start = starting(load(options), settings(options.set))
    if options.mode is not None:
        return scene_of_modes(system.modal(system.equilibrium(start)), stress_of(options.stress))
    scene = state_scene(system, start)
    scene.exaggeration = options.exaggerate
    show_stress(scene, stress_of(options.stress))
    return scene


def scene_options(options: argparse.Namespace) -> dict[str, Any]:
    """What is to be drawn besides the bodies."""
    follow = {"follow": options.follow} if options.follow else {}
    bending = {"stress": stress_of(options.stress), "exaggerate": options.exaggerate}
    return {"plots": options.plot, "trace": options.trace, "forces": options.forces, **bending, **follow}


def stress_of(text: str | None) -> dict[str, str] | str | None:
    """What colours flexible bodies: one word for all, or pairs BODY=FIELD."""
    if text is None or "=" not in text:
        return text
    return dict(pair.strip().split("=", 1) for pair in text.split(",") if "=" in pair)


def watch_live(options: argparse.Namespace) -> None:
    """Shows a motion while it is computed."""
    from .io.analyses import starting
    from .view import play

    if not options.time or options.output:
        raise InputError("--live shows a motion: give its duration with -t, and no -o")
    system, start = starting(load(options), settings(options.set))
    drawn = {k: x for k, x in scene_options(options).items() if k != "follow"}
    _, server = play(
        system, start, options.time, inputs=list(system.model.outer_inputs), **integration(options), **drawn,
        on_start=lambda server: print(f"{server.url} (Ctrl-C ends)", flush=True),
    )  # fmt: skip
    with server:
        wait_for_interrupt()


def save_view(scene: Any, path: Path, options: argparse.Namespace) -> None:
    """Writes a scene as a page, picture, movie or input of the ray tracer by the ending of the file."""
    from .view import povray_scene, save_movie, save_page, save_picture, vibration

    path.parent.mkdir(parents=True, exist_ok=True)
    suffix = path.suffix.lower()
    if suffix == ".html":
        save_page(scene, path)
    elif suffix in (".mp4", ".gif"):
        save_movie(scene, path, speed=options.speed, size=options.size, mode=options.mode)
    elif suffix == ".pov":
        shown = scene if options.mode is None else vibration(scene, options.mode)
        path.write_text(povray_scene(shown, options.at or 0.0, aspect=options.size[0] / options.size[1]), encoding="utf-8")
    else:
        save_picture(scene, path, options.at, size=options.size, mode=options.mode)


def open_page(path: Path) -> None:
    """Shows a saved page in the browser."""
    import webbrowser

    if not path.is_file():
        raise InputError(f"there is no page '{path}'")
    webbrowser.open(path.resolve().as_uri())


def wait_for_interrupt() -> None:
    """Returns when the user presses Ctrl-C."""
    import threading

    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        print()


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


if __name__ == "__main__":
    sys.exit(main())
