"""The examples as a static site: pictures, equations, plots, printed output, source, and pages where they move.

python docs/gallery.py [FOLDER] [--only NAME …]
"""

from __future__ import annotations

import argparse
import ast
import html
import inspect
import os
import runpy
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from site_parts import broken_links, equation, highlight, shell

import jourdain as jd
from jourdain.errors import JourdainError
from jourdain.formalisms.explicit import explicit_equations
from jourdain.view.darkroom import lent_page

ROOT = Path(__file__).resolve().parents[1]
#: From easy to large.
ORDER = (
    "pendulum", "double_pendulum", "gyroscope", "bouncing_ball", "dominoes", "billiards", "cradle", "rattleback", "arch", "cam", "quadruped", "rod_impact", "beam_impact", "head_on", "train_front", "overriding", "s_beam", "push_belt", "ratio_change", "ball_on_turntable", "energy_large_steps", "clearance", "slider_crank", "flexible_slider_crank", "four_bar",
    "governor", "bricard",
    "inverted_pendulum", "modes", "quarter_car", "vehicle_comfort", "car_comfort", "robust_damper", "identify_pendulum", "swing_up", "robot_arm", "flexible_arm", "spin_up_beam", "flexible_scara", "conrod", "solar_array", "helicopter_rotor", "elastic_trebuchet", "sliding_ring", "crane", "humanoid", "bicycle", "full_car",
)  # fmt: skip
#: Longest closed form in LaTeX that is shown.
LONGEST_EQUATION = 4000
#: Closed forms of larger models are never that short, and take long.
MOST_COORDINATES = 6
THUMBNAIL = (640, 360)


@dataclass
class Example:
    """One script and what it says about itself."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the script without its ending."""
        return self.path.stem

    @property
    def source(self) -> str:
        """The script."""
        return self.path.read_text(encoding="utf-8")

    @property
    def heading(self) -> list[str]:
        """Lines of the docstring."""
        return (ast.get_docstring(ast.parse(self.source)) or "").splitlines()

    @property
    def title(self) -> str:
        """What it shows, in a few words."""
        return self.heading[0].partition(":")[0]

    @property
    def sentence(self) -> str:
        """What it shows, in a sentence."""
        text = self.heading[0].partition(":")[2].strip()
        return text[:1].upper() + text[1:]

    @property
    def commands(self) -> list[str]:
        """Commands that run it."""
        return [line for line in self.heading if line.startswith(("python ", "jourdain "))]


def examples(only: list[str]) -> list[Example]:
    """The examples in order; new ones come last."""
    known = {p.stem: p for p in (ROOT / "examples").glob("*.py")}
    names = [n for n in ORDER if n in known] + sorted(set(known) - set(ORDER))
    unknown = set(only) - set(known)
    if unknown:
        raise SystemExit(f"gallery: there is no example '{min(unknown)}'; there are {', '.join(names)}")
    return [Example(known[n]) for n in names if not only or n in only]


def run(example: Example, folder: Path, more: Mapping[str, str]) -> str:
    """Runs an example in a folder, with more in its environment, and returns what it prints."""
    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, str(example.path)], cwd=folder, capture_output=True, encoding="utf-8",
        env=os.environ | more | {"PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8", "COLUMNS": "120"},
    )  # fmt: skip
    if done.returncode:
        raise JourdainError(f"gallery: {example.path.name} failed:\n{done.stderr[-3000:]}")
    for path in (folder / "out").iterdir():
        shutil.move(path, folder / path.name)
    (folder / "out").rmdir()
    print(f"{example.name}: {time.perf_counter() - start:.1f} s", flush=True)
    return done.stdout


def equations(example: Example) -> str:
    """The closed form of the example's models as MathML, where it is short."""
    found = []
    for item in runpy.run_path(str(example.path), run_name="gallery").values():
        if inspect.isfunction(item) and item.__annotations__.get("return") is jd.Model:
            try:
                model = item()
                if len(model.coordinates) > MOST_COORDINATES:
                    continue
                latex = explicit_equations(model).latex()
            except JourdainError:
                continue
            if len(latex) < LONGEST_EQUATION:
                found.append(equation(latex))
    return "".join(found)


def example_page(example: Example, printed: str, sounds: list[str]) -> str:
    """The page of one example."""
    name = html.escape(example.name)
    commands = highlight("\n".join(example.commands), "sh")
    formulas = equations(example)
    parts = [
        '<p><a href="../index.html">All examples</a></p>',
        f"<h1>{html.escape(example.title)}</h1><p>{html.escape(example.sentence)}</p>{commands}",
        f'<iframe src="{name}.html#play" title="{name}" loading="lazy"></iframe><p><a href="{name}.html">The page alone</a></p>',
        f"<h2>Equations</h2>{formulas}" if formulas else "",
        f'<h2>Results</h2><p><img class="plot" src="{name}_plot.png" alt="Plots of {name}"></p>',
        f'<p><img src="{name}.png" alt="Picture of {name}"></p>',
        "".join(f'<p>{s}: <audio controls src="{s}"></audio></p>' for s in sounds),
        f"<details><summary>What it prints</summary>{highlight(printed, 'text')}</details>",
        f"<h2>Source</h2>{highlight(example.source, 'python')}",
    ]
    return shell(example.title, "\n".join(parts))


def card(example: Example) -> str:
    """The example in the grid of the first page."""
    name = html.escape(example.name)
    return (
        f'<article class="card"><a href="{name}/index.html"><img src="{name}/small.png" alt="{name}" loading="lazy"></a>'
        f'<div><h2><a href="{name}/index.html">{html.escape(example.title)}</a></h2><p>{html.escape(example.sentence)}</p>'
        f"<code>{html.escape(example.commands[0])}</code></div></article>"
    )


def thumbnail(picture: Path, small: Path) -> None:
    """A small copy of a picture (the picture itself where Pillow is missing)."""
    try:
        from PIL import Image, ImageOps
    except ImportError:
        shutil.copy(picture, small)
        return
    with Image.open(picture) as image:
        plain = image.convert("RGB")  # pictures of another shape keep it, on their own ground
        ImageOps.pad(plain, THUMBNAIL, color=plain.getpixel((0, 0))).quantize(256, kmeans=3).save(small, optimize=True)


def make(example: Example, place: Path, pages: Queue[dict[str, str]]) -> None:
    """Runs an example and writes its page; pictures are taken on one of the browser pages that are kept open."""
    page = pages.get()
    try:
        printed = run(example, place, page)
    finally:
        pages.put(page)
    thumbnail(place / f"{example.name}.png", place / "small.png")
    (place / "index.html").write_text(example_page(example, printed, sorted(p.name for p in place.glob("*.wav"))), encoding="utf-8")


def build(folder: Path, only: list[str], workers: int) -> list[str]:
    """Writes the site and returns the links that lead nowhere."""
    chosen = examples(only)
    pages: Queue[dict[str, str]] = Queue()
    with ExitStack() as kept, ThreadPoolExecutor(workers) as pool:
        for _ in range(min(workers, len(chosen))):
            pages.put(kept.enter_context(lent_page()))
        made = [pool.submit(make, example, folder / example.name, pages) for example in chosen]
    failed = [str(error) for error in (done.exception() for done in made) if error is not None]
    if failed:
        raise SystemExit("\n".join(failed))
    intro = (
        "<h1>Jourdain: gallery</h1><p>Every picture is made by a short script; open one to see it move, with its equations and plots.</p>"
    )
    grid = "\n".join(card(e) for e in chosen)
    (folder / "index.html").write_text(shell("Jourdain: gallery", f'{intro}<div class="grid">{grid}</div>'), encoding="utf-8")
    return broken_links(folder)


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Builds the gallery.")
    parser.add_argument("folder", nargs="?", default=str(ROOT / "out" / "site"), help="where to (default: out/site)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these examples alone")
    parser.add_argument(
        "--workers",
        type=int,
        default=min(os.cpu_count() or 1, 4),
        metavar="N",
        help="examples run at once (default: one a core, at most 4)",
    )
    options = parser.parse_args(arguments)
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    start, before = time.perf_counter(), os.times()
    wrong = build(folder, options.only, options.workers)
    spent = sum(os.times()[:4]) - sum(before[:4])
    for line in wrong:
        print(f"link leads nowhere: {line}", file=sys.stderr)
    print(f"{time.perf_counter() - start:.0f} s, {spent:.0f} s of processor time")
    print(f"open {folder / 'index.html'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
