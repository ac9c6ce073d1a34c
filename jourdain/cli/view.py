"""``jourdain view``, ``explore`` and ``plot``: models and motions in the browser, as pictures, movies and diagrams."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import InputError
from .parts import PICTURES, TABLES, integration, load, motion, settings


def view(options: argparse.Namespace) -> None:
    """``jourdain view``."""
    from ..io.model_files.run_folder import table_of_run

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
    from ..view import serve

    with serve(scene) as server:
        print(f"{server.url} (Ctrl-C ends)")
        wait_for_interrupt()


def explore(options: argparse.Namespace) -> None:
    """``jourdain explore``."""
    from ..io.model_files.analyses import starting
    from ..systems.formulations import formulate

    system, start = starting(load(options), settings(options.set), options.formulation)
    formulated = formulate(system, options.formulation)
    shown = {"plots": options.plot, "trace": options.trace, "port": options.port}
    own = start if options.set or system.reference.constraints else None
    with formulated.explore(options.names or None, own, options.time, **shown, **integration(options)) as server:
        print(f"{server.url} (Ctrl-C ends)", flush=True)
        wait_for_interrupt()


def plot(options: argparse.Namespace) -> None:
    """``jourdain plot``."""
    from ..io.model_files.run_folder import table_of_run
    from ..results import load_solution

    target = Path(options.output)
    if target.suffix.lower() not in PICTURES:
        raise InputError(f"plot '{target}': the ending '{target.suffix}' is unknown; use one of {' '.join(PICTURES)}")
    target.parent.mkdir(parents=True, exist_ok=True)
    load_solution(table_of_run(options.run_file)).plot(*options.channels, unit=options.unit, file=target)
    print(options.output)


def scene_to_view(options: argparse.Namespace, path: Path) -> Any:
    """The scene of a table of results with its model, of a motion, or of a model at its start."""
    from ..io.model_files.run_folder import model_of_run

    if path.suffix.lower() in TABLES:
        if not path.exists():
            raise InputError(f"there is no file '{path}'")
        beside = model_of_run(path)
        if options.model_of_run is None and beside is None:
            raise InputError(f"'{path}' holds numbers and no model; name it: jourdain view {path} --model MODEL")
        from ..results import load_solution

        options.model = options.model_of_run or str(beside)
        return load_solution(path).scene(system=load(options).compile(formulation=options.formulation), **scene_options(options))
    if options.time:
        return motion(options).scene(**scene_options(options))
    from ..io.model_files.analyses import starting
    from ..view import scene_of_modes, state_scene
    from ..view.scenes.from_solution import show_stress

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
    from ..io.model_files.analyses import starting
    from ..view import play

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
    from ..view import povray_scene, save_movie, save_page, save_picture, vibration

    path.parent.mkdir(parents=True, exist_ok=True)
    suffix = path.suffix.lower()
    if suffix == ".html":
        save_page(scene, path)
    elif suffix in (".mp4", ".gif"):
        save_movie(scene, path, speed=options.speed, size=options.size, mode=options.mode)
    elif suffix == ".pov":
        shown = scene if options.mode is None else vibration(scene, options.mode)
        from ..results.whole_file import write_whole

        write_whole(path, povray_scene(shown, options.at or 0.0, aspect=options.size[0] / options.size[1]))
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
