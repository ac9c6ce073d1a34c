"""The order of rooms: a module imports at its top only from its own room and from rooms before it, and no imports go in a ring."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import jourdain

ROOT = Path(jourdain.__file__).parent
#: Data flows one way through these rooms; a room on the same line as another may not import it.
ROOMS = (
    "errors",
    "shown",
    "progress",
    "symbolic",
    "structures",
    "model",
    "formalisms",
    "elements",
    "native",
    "solvers",
    "contact",
    "results",
    "systems",
    "analysis",
    "view",
    "notebook",
    "io",
    "library",
    "cli",
)
#: The largest number of modules side by side: more is a heap.
MOST_FILES = 30


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(("jourdain", *path.relative_to(ROOT).with_suffix("").parts))
        found[name.removesuffix(".__init__")] = path
    return found


def room_of(module: str) -> str:
    return (module.split(".") + [""])[1]


def imported_at_the_top(module: str, path: Path, known: dict[str, Path]) -> set[str]:
    """Modules of the package that are imported when a module is, without those for type checkers."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module if path.name == "__init__.py" else module.rpartition(".")[0]
                up = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*up, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.add(full if full in known else base)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name in known and name != module}


@cache
def graph() -> dict[str, set[str]]:
    """Which modules each module imports, read from the sources once, when a test asks for it."""
    known = modules()
    return {name: imported_at_the_top(name, path, known) for name, path in known.items()}


def test_rooms_import_only_from_rooms_before_them() -> None:
    order = {room: i for i, room in enumerate(ROOMS)}
    wrong = [
        f"{name} imports {other}"
        for name, others in graph().items()
        for other in others
        if room_of(name) in order and room_of(other) in order and order[room_of(other)] > order[room_of(name)]
    ]
    assert not wrong, "\n".join(wrong)


def test_every_folder_is_a_room() -> None:
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert folders <= set(ROOMS), f"{sorted(folders - set(ROOMS))} have no place in the order of rooms"


def test_imports_have_no_ring() -> None:
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            pytest.fail(" → ".join((*way[way.index(name) :], name)))
        if name not in done:
            for other in sorted(graph()[name]):
                visit(other, (*way, name))
            done.add(name)

    for name in graph():
        visit(name, ())


def test_no_folder_is_a_heap() -> None:
    counts = {folder: len(list(folder.glob("*.py"))) for folder in {p.parent for p in modules().values()}}
    heaps = {str(f.relative_to(ROOT)): n for f, n in counts.items() if n > MOST_FILES}
    assert not heaps, f"{heaps}: would subjects make folders?"


def test_files_that_documents_name_are_there() -> None:
    top = ROOT.parent
    told = [p for p in (*(top / "docs").rglob("*.md"), top / "README.md", top / "CHANGELOG.md")]
    missing = [
        f"{page.relative_to(top)}: {name}"
        for page in told
        for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", page.read_text())
        if not (top / name).exists() and not (ROOT / name).exists()
    ]
    assert not missing, "\n".join(missing)
