"""The documentation as a static site: the Markdown pages, and a reference of the interface taken from its docstrings.

python docs/build.py [FOLDER]
"""

from __future__ import annotations

import argparse
import html
import importlib
import inspect
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from notebooks import notebook_page
from site_parts import broken_links, first_heading, highlight, markdown, relative, shell

ROOT = HERE.parent
#: Modules of the reference: what users import, room by room.
MODULES = (
    "jourdain", "jourdain.model.model", "jourdain.model.shapes", "jourdain.systems.tree.system", "jourdain.analysis.simulate",
    "jourdain.analysis.assemble", "jourdain.analysis.equilibrium", "jourdain.analysis.linearise", "jourdain.analysis.modal",
    "jourdain.analysis.kinematics", "jourdain.analysis.inverse_dynamics", "jourdain.analysis.inverse_kinematics",
    "jourdain.systems.tree.partition", "jourdain.analysis.mobility", "jourdain.formalisms.explicit", "jourdain.formalisms.principles",
    "jourdain.results.solution", "jourdain.results.plots", "jourdain.results.files", "jourdain.results.store", "jourdain.view", "jourdain.view.scenes.from_solution", "jourdain.io",
    "jourdain.io.export", "jourdain.library",
)  # fmt: skip
ENTRY = re.compile(r"^\| \[(?P<title>[^\]]+)\]\((?P<path>[^)]+\.(?:md|ipynb))\)", re.MULTILINE)
LINK = re.compile(r'(?P<before>(?:href|src)=")(?P<path>[^":#]+)(?P<after>(?:#[^"]*)?")')


@dataclass(frozen=True)
class Page:
    """One page: where it comes from, where it goes, its name in the navigation."""

    source: Path | None
    target: Path
    title: str
    section: str


def sections(index: str) -> list[tuple[str, str, str]]:
    """(section, title, path) of the pages that docs/index.md lists, in its order."""
    found, section = [], "Documentation"
    for line in index.splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        if entry := ENTRY.match(line):
            found.append((section, entry["title"], entry["path"]))
    return found


def navigation(pages: list[Page], here: Page) -> str:
    """Links to all pages, the present one marked."""
    lines, section = [], ""
    for page in pages:
        if page.section != section:
            section = page.section
            lines.append(f"<h2>{html.escape(section)}</h2>")
        mark = ' class="here"' if page == here else ""
        lines.append(f'<a href="{relative(page.target, here.target)}"{mark}>{html.escape(page.title)}</a>')
    return "\n".join(lines)


def render(page: Page, pages: list[Page], folder: Path) -> None:
    """Writes a Markdown page; links to other pages lead to their HTML, other files are copied along."""
    assert page.source is not None
    targets = {p.source: p.target for p in pages if p.source is not None}

    def follow(match: re.Match[str]) -> str:
        meant = (page.source.parent / match["path"]).resolve()  # type: ignore[union-attr]
        target = targets.get(meant)
        if target is None and meant.is_file() and meant.is_relative_to(ROOT):
            target = folder / "files" / meant.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(meant, target)
        return match[0] if target is None else f"{match['before']}{relative(target, page.target)}{match['after']}"

    page.target.parent.mkdir(parents=True, exist_ok=True)
    if page.source.suffix == ".ipynb":
        body = notebook_page(page.source)
        shutil.copy(page.source, page.target.with_name(page.source.name))
    else:
        body = LINK.sub(follow, markdown(page.source.read_text(encoding="utf-8")))
    page.target.write_text(shell(page.title, body, navigation(pages, page)), encoding="utf-8")


# --- reference ---------------------------------------------------------------------------------------------------


def public(module: Any) -> list[tuple[str, Any]]:
    """Classes and functions that a module offers, in order of their source."""
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    if module.__name__ == "jourdain":
        names = [*names, *module._LATER]
    found = []
    for name in names:
        item = getattr(module, name, None)
        own = getattr(module, "__all__", None) is not None or getattr(item, "__module__", "") == module.__name__
        if own and (inspect.isclass(item) or inspect.isfunction(item)):
            found.append((name, item))
    return found


def signature(item: Any) -> str:
    """Arguments of a function or class as they are written."""
    try:
        text = str(inspect.signature(item))
    except (TypeError, ValueError):
        return "(…)"
    return re.sub(r"(?<=[:\[ ,>(|])(?:[a-z_]+\.)+(?=[A-Z])", "", text).replace("'", "")


def prose(item: Any) -> str:
    """A docstring as HTML: paragraphs, code and examples."""
    text = inspect.getdoc(item) or ""
    text = re.sub(r":\w+:`~?([^`]+)`", r"``\1``", text)
    parts = re.split(r"((?:^(?:>>>|\.\.\.)[^\n]*\n?(?:(?!\n|>>>)[^\n]+\n?)*)+)", text, flags=re.MULTILINE)
    return "".join(highlight(part, "pycon") if part.startswith(">>>") else markdown(part) for part in parts)


def entry(name: str, item: Any) -> str:
    """A class with its methods, or a function, as an entry of the reference."""
    kind = "class " if inspect.isclass(item) else ""
    parts = [f'<dt id="{name}"><code>{kind}<b>{name}</b>{html.escape(signature(item))}</code></dt><dd>{prose(item)}']
    if inspect.isclass(item):
        parts.append("<dl>")
        for member, value in inspect.getmembers(item):
            inner = value.fget if isinstance(value, property) else value
            own = inspect.isfunction(inner) and inner.__module__.startswith("jourdain")
            described = own and not member.startswith("_") and inspect.getdoc(inner)
            if described and not issubclass(item, BaseException):
                arguments = "" if isinstance(value, property) else html.escape(signature(inner))
                parts.append(f'<dt id="{name}.{member}"><code>{member}{arguments}</code></dt><dd>{prose(inner)}</dd>')
        parts.append("</dl>")
    return "".join([*parts, "</dd>"])


def render_module(page: Page, pages: list[Page], name: str) -> None:
    """Writes the reference of one module."""
    module = importlib.import_module(name)
    entries = "\n".join(entry(n, item) for n, item in public(module))
    body = f"<h1><code>{name}</code></h1>{prose(module)}<dl>{entries}</dl>"
    page.target.parent.mkdir(parents=True, exist_ok=True)
    page.target.write_text(shell(name, body, navigation(pages, page)), encoding="utf-8")


# --- all ---------------------------------------------------------------------------------------------------------


def all_pages(folder: Path) -> list[Page]:
    """The index, the pages it lists, the reference, and pages that nobody listed."""
    index = HERE / "index.md"
    pages = [Page(index, folder / "index.html", "Overview", "Documentation")]
    for section, title, path in sections(index.read_text(encoding="utf-8")):
        pages.append(Page((HERE / path).resolve(), (folder / path).with_suffix(".html"), title, section))
    known = {p.source for p in pages}
    for path in sorted(HERE.rglob("*.md")):
        if path.resolve() not in known:
            target = (folder / path.relative_to(HERE)).with_suffix(".html")
            pages.append(Page(path.resolve(), target, first_heading(path.read_text(encoding="utf-8")), "More"))
    for name in MODULES:
        pages.append(Page(None, folder / "api" / f"{name}.html", name, "Interface"))
    return pages


def build(folder: Path) -> list[str]:
    """Writes the site and returns the links that lead nowhere."""
    pages = all_pages(folder)
    for page in pages:
        if page.source is not None:
            render(page, pages, folder)
        else:
            render_module(page, pages, page.title)
    return broken_links(folder)


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Builds the documentation.")
    parser.add_argument("folder", nargs="?", default=str(ROOT / "out" / "docs"), help="where to (default: out/docs)")
    folder = Path(parser.parse_args(arguments).folder).resolve()
    wrong = build(folder)
    for line in wrong:
        print(f"link leads nowhere: {line}", file=sys.stderr)
    print(f"open {folder / 'index.html'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
