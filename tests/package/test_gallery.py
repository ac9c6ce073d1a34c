"""The gallery and the documentation are built, and no link in them leads nowhere."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
for package in ("markdown_it", "mdit_py_plugins", "latex2mathml", "pygments", "matplotlib"):
    pytest.importorskip(package, reason="the site needs the extra 'docs'")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("site_parts")


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script of the folder docs as a module."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    sys.modules.pop(name, None)
    return importlib.import_module(name)


def test_the_gallery_shows_an_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: ModuleType) -> None:
    gallery = load("gallery", monkeypatch)
    monkeypatch.setenv("PATH", "")  # without a browser pictures are plain and quick
    monkeypatch.delenv("JOURDAIN_CHROMIUM", raising=False)
    assert gallery.main([str(tmp_path), "--only", "pendulum"]) == 0
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "python examples/pendulum.py" in index and 'src="pendulum/small.png"' in index
    page = (tmp_path / "pendulum" / "index.html").read_text(encoding="utf-8")
    assert "<math" in page and 'src="pendulum.html#play"' in page and "pendulum_plot.png" in page
    for name in ("pendulum.html", "pendulum.png", "pendulum_plot.png", "small.png"):
        assert (tmp_path / "pendulum" / name).stat().st_size > 3000


def test_every_example_has_a_title_a_sentence_and_a_command(monkeypatch: pytest.MonkeyPatch, script: ModuleType) -> None:
    gallery = load("gallery", monkeypatch)
    found = gallery.examples([])
    assert {e.name for e in found} >= set(gallery.ORDER)
    for example in found:
        assert 3 < len(example.title) < 60 and 20 < len(example.sentence) < 140, example.name
        assert example.commands[0] == f"python examples/{example.name}.py"


def test_an_unknown_example_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: ModuleType) -> None:
    with pytest.raises(SystemExit, match="no example 'unicycle'"):
        load("gallery", monkeypatch).main([str(tmp_path), "--only", "unicycle"])


def test_the_documentation_is_built_without_broken_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: ModuleType) -> None:
    build = load("build", monkeypatch)
    assert build.build(tmp_path) == []
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'href="user-guide/loops.html"' in index and 'href="api/jourdain.results.solution.html"' in index
    theory = (tmp_path / "theory-of-tree-dynamics.html").read_text(encoding="utf-8")
    assert theory.count("<math") > 20 and "$$" not in theory
    interface = (tmp_path / "api" / "jourdain.results.solution.html").read_text(encoding="utf-8")
    assert 'id="Solution.resample"' in interface and "The solution at other times" in interface


def test_broken_links_are_found(tmp_path: Path, script: ModuleType) -> None:
    (tmp_path / "a.html").write_text('<h1 id="top">a</h1><a href="b.html#x">b</a><a href="#top">up</a><img src="no.png">')
    (tmp_path / "b.html").write_text('<a href="a.html#top">a</a><a href="c.html">c</a>')
    assert script.broken_links(tmp_path) == ["a.html: b.html#x", "a.html: no.png", "b.html: c.html"]


def test_markdown_has_equations_tables_code_and_anchors(script: ModuleType) -> None:
    page = script.markdown("# A title\n\n$$x^2 = y$$ and $z$.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nimport math\n```\n")
    assert page.count("<math") == 2 and "<table>" in page and 'id="a-title"' in page and '<pre class="code">' in page
