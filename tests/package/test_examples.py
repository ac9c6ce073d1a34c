"""Every example runs, ends with a picture, a plot and a page, and its model can be named on the command line."""

from __future__ import annotations

import ast
import inspect
import runpy
from pathlib import Path

import pytest

import jourdain as jd
from jourdain.io.model_reference import load_model

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))


def test_there_are_enough() -> None:
    assert len(EXAMPLES) >= 12


#: Examples that take longer than half a minute.
LONG = {"car_comfort", "flexible_scara"}


@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=pytest.mark.slow) if p.stem in LONG else p for p in EXAMPLES], ids=lambda path: path.stem
)
def test_example(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="examples draw with matplotlib")
    # the plain pictures of machines without a browser: tests of the view look at the others
    monkeypatch.setattr("jourdain.view.picture.find_chromium", lambda: None)
    monkeypatch.setattr("jourdain.view.picture._told", {"chromium"})
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    for name in (f"{path.stem}.png", f"{path.stem}_plot.png"):
        picture = tmp_path / "out" / name
        assert picture.read_bytes().startswith(b"\x89PNG"), name
        assert picture.stat().st_size > 8_000, name
    page = tmp_path / "out" / f"{path.stem}.html"
    assert 50_000 < page.stat().st_size < 2_000_000
    written = f"wrote out/{path.stem}.png, out/{path.stem}_plot.png and out/{path.stem}.html"
    assert written in capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_models_of_examples_have_names(path: Path) -> None:
    names = runpy.run_path(str(path), run_name="example")
    functions = {n: item for n, item in names.items() if inspect.isfunction(item)}
    builders = [n for n, item in functions.items() if item.__annotations__.get("return") is jd.Model]
    assert builders, f"{path.name} has no function that returns a model"
    for name in builders:
        load_model(f"{path}:{name}").check()
        assert inspect.getdoc(names[name])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_short_and_say_how_to_run_them(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    heading = ast.get_docstring(ast.parse(text))
    assert heading is not None and f"python examples/{path.name}" in heading
    assert len(text.splitlines()) <= 100
