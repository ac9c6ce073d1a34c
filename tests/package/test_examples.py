"""Every example runs, ends with a picture, and its model can be named on the command line."""

from __future__ import annotations

import inspect
import runpy
from pathlib import Path

import pytest

import jourdain as jd
from jourdain.io.model_reference import load_model

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="examples draw with matplotlib")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    picture = tmp_path / "out" / f"{path.stem}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
    assert f"wrote out/{path.stem}.png" in capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_models_of_examples_have_names(path: Path) -> None:
    names = runpy.run_path(str(path), run_name="example")
    functions = {n: item for n, item in names.items() if inspect.isfunction(item)}
    builders = [n for n, item in functions.items() if item.__annotations__.get("return") is jd.Model]
    assert builders, f"{path.name} has no function that returns a model"
    for name in builders:
        load_model(f"{path}:{name}").check()
        assert inspect.getdoc(names[name])
