"""The README and the documentation do what they say: every block of code is run, every printed text compared."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from jourdain.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, content) of the fenced blocks of a page."""
    return [(m[1], m[2]) for m in BLOCK.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Python blocks share their names; a text block after one is what it prints; `jourdain` commands are run."""
    pytest.importorskip("matplotlib", reason="pages draw with matplotlib")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    printed: str | None = None
    for number, (language, content) in enumerate(blocks(page), 1):
        where = f"block {number} of {page.name}"
        if language == "python":
            capsys.readouterr()
            exec(compile(content, where, "exec"), names)
            printed = capsys.readouterr().out
        elif language == "text" and printed is not None:
            assert printed.rstrip() == content.rstrip(), f"{where} is not what the block before it prints"
            printed = None
        elif language == "sh":
            run_commands(content, where)
            printed = None
        else:
            assert language in ("text", "c", "latex"), f"{where} has the unknown language {language!r}"
            printed = None


def run_commands(content: str, where: str) -> None:
    for line in content.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["jourdain"] and words != ["jourdain", "demo"]:  # the demonstration has a test of its own
            assert main(words[1:]) == 0, f"{where}: {line}"
        elif words[:1] == ["python"] and words[1].endswith(".py"):
            assert (ROOT / words[1]).is_file(), f"{where}: there is no {words[1]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")]
    missing = [p for p in pages if p != "index.md" and f"({p})" not in index]
    assert not missing
