"""A run kept in a folder: the model, and for each result a table, a plot, a page and what it prints."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, JourdainError
from ...model.model import Model

if TYPE_CHECKING:
    from .analyses import ModelRun

#: The model that a run belongs to.
MODEL = "model.toml"
#: Most coordinates in the plot of a motion whose model names no outputs or channels to keep.
MOST_CURVES = 12


def save_run(done: ModelRun, folder: str | os.PathLike[str]) -> list[Path]:
    """Writes every result of a run, and the model as one file of its own; returns the files."""
    from .analyses import is_solution

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = save_model_of(done.system.model, place)
    for name in done:
        base = place / _file_name(name)
        whole = done.whole[name]
        written += save_motion(whole, done[name], base) if is_solution(whole) else save_finding(whole, base)
    return written


def save_model_of(model: Model, folder: Path) -> list[Path]:
    """Writes the model of a run, sub-models written out; a model with laws in Python has no file."""
    from .model_file import dumps_model, write_whole

    try:
        write_whole(folder / MODEL, dumps_model(model))
    except JourdainError:
        (folder / MODEL).unlink(missing_ok=True)
        return []
    return [folder / MODEL]


def save_motion(whole: Any, kept: Any, base: Path) -> list[Path]:
    """A motion: the channels kept as a table, a plot of them, and the page of the whole; of an interrupted one the table, as somebody waits."""
    model = whole.system.model
    table, plot, page = (base.with_name(base.name + ending) for ending in (".npz", ".png", ".html"))
    kept.save(table)
    if whole.metadata.get("status") == "interrupted":
        for old in (plot, page):  # of another run in the same folder
            old.unlink(missing_ok=True)
        return [table]
    scalar = [n for n in (kept.names if model.keep else ()) if kept[n].ndim == 1]
    names = scalar[:MOST_CURVES] or [*model.outputs] or whole.system.coordinate_names[:MOST_CURVES]
    (kept if scalar else whole).plot(*names, file=plot)
    whole.save_page(page, plots=names[:4] if scalar or model.outputs else ())
    return [table, plot, page]


def save_finding(result: Any, base: Path) -> list[Path]:
    """Modes, an equilibrium, a linear system, a response …: what it prints, and table, plot and page where it has them."""
    from ...analysis.continuation import Branch
    from ...analysis.equilibrium import Equilibrium
    from ...analysis.linearise import LinearSystem
    from ...results.whole_file import write_whole
    from ...view import save_page

    def file(ending: str) -> Path:
        return base.with_name(base.name + ending)

    written = [file(".txt")]
    write_whole(written[0], f"{result}\n")
    if hasattr(result, "save"):
        written.append(file(".json" if isinstance(result, Equilibrium) else ".npz" if isinstance(result, LinearSystem) else ".csv"))
        result.save(written[-1])
    if hasattr(result, "plot"):
        written.append(file(".png"))
        result.plot(*result.system.coordinate_names[:1] if isinstance(result, Branch) else (), file=written[-1])
    scene = scene_of_finding(result)
    if scene is not None:
        written.append(save_page(scene, file(".html")))
    return written


def scene_of_finding(result: Any) -> Any:
    """Modes that move, or a position that was found; None for what cannot be seen."""
    from ...analysis.equilibrium import Equilibrium
    from ...analysis.modal import Modes
    from ...systems.state import State
    from ...view import scene_of_modes, state_scene

    if isinstance(result, Modes):
        return scene_of_modes(result)
    state = result.state if isinstance(result, Equilibrium) else result
    return state_scene(state.system, state) if isinstance(state, State) else None


def table_of_run(given: str | os.PathLike[str]) -> Path:
    """The table of results meant by a path: itself, or the one in the folder of a run."""
    path = Path(given)
    if not path.is_dir():
        return path
    tables = sorted(path.glob("*.npz"))
    if path / "run.npz" in tables or not tables:
        return path / "run.npz"
    motions = [t for t in tables if t.with_suffix(".html").is_file()]
    if len(motions or tables) > 1:
        raise InputError(f"'{path}' holds several runs; name one: {', '.join(str(t) for t in motions or tables)}")
    return (motions or tables)[0]


def model_of_run(table: Path) -> Path | None:
    """The model file beside a table of results, if there is one."""
    beside = table.parent / MODEL
    return beside if beside.is_file() else None


def _file_name(name: str) -> str:
    """A name as a file may have it."""
    return "".join(c if c.isalnum() or c in "-_ ." else "_" for c in name).strip(". ") or "result"


__all__ = ["MODEL", "model_of_run", "save_run", "table_of_run"]
