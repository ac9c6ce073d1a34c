"""The verbs that show things: run, plot and view."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain import cli
from jourdain.cli import main
from jourdain.view.scene import Scene

ROOT = Path(__file__).resolve().parents[2]
PENDULUM = f"{ROOT / 'examples' / 'pendulum.py'}:pendulum"
FOUR_BAR = f"{ROOT / 'examples' / 'four_bar.py'}:four_bar"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert main(["run", PENDULUM, "-t", "1", "--set", "hinge=60deg", "--outputs", "51", "-o", "swing"]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [str(Path("swing") / name) for name in cli.RUN_FILES]
    return tmp_path / "swing"


@pytest.fixture
def scenes(monkeypatch: pytest.MonkeyPatch) -> list[Scene]:
    """Scenes that were to be shown in the browser."""
    shown: list[Scene] = []

    class Closed:
        url = "http://127.0.0.1/"

        def __enter__(self) -> Closed:
            return self

        def __exit__(self, *error: object) -> None:
            pass

    def serve(scene: Scene) -> Closed:
        shown.append(scene)
        return Closed()

    monkeypatch.setattr("jourdain.view.serve", serve)
    monkeypatch.setattr(cli, "wait_for_interrupt", lambda: None)
    return shown


def test_run_keeps_table_plot_and_page(run: Path) -> None:
    sol = jd.load_solution(run / "run.npz")
    assert len(sol) == 51 and sol["hinge.angle"][0] == pytest.approx(np.pi / 3, rel=1e-15)
    assert (run / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "pendulum" in (run / "run.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("where", ["swing", "swing/run.npz"])
def test_plot_of_a_run(run: Path, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", where, "hinge.angle*", "energy.total", "--unit", "deg", "-o", "figures/a.png"]) == 0
    assert capsys.readouterr().out == "figures/a.png\n"
    assert Path("figures/a.png").stat().st_size > 10_000


def test_plot_errors_are_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "swing", "hinge.speed"]) == 2
    assert "hinge.speed" in capsys.readouterr().err
    assert main(["plot", "swing", "hinge.angle", "-o", "a.doc"]) == 2
    assert "'.doc' is unknown" in capsys.readouterr().err
    assert not Path("a.doc").exists()


@pytest.mark.parametrize("where", ["swing", "swing/run.npz"])
def test_view_of_a_run_with_its_model(run: Path, where: str, scenes: list[Scene]) -> None:
    assert main(["view", where, "--model", PENDULUM, "--trace", "bob.centre"]) == 0
    (scene,) = scenes
    sol = jd.load_solution(run / "run.npz")
    assert [p.name for p in scene.points] == ["bob.centre"]
    for t, angle in zip(sol.t, sol["hinge.angle"], strict=True):
        _, q = scene.pose("bob", t)
        assert np.allclose(np.abs(q), np.abs([np.cos(angle / 2), 0, np.sin(angle / 2), 0]), atol=1e-14)


def test_view_of_a_run_without_its_model_says_what_to_do(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "swing"]) == 2
    assert "--model MODEL" in capsys.readouterr().err


def test_view_of_a_run_of_another_model_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "swing", "--model", FOUR_BAR]) == 2
    assert "'motor.angle'" in capsys.readouterr().err


def test_view_of_a_model_at_its_start(scenes: list[Scene]) -> None:
    assert main(["view", FOUR_BAR, "--set", "motor=30deg"]) == 0
    (scene,) = scenes
    assert not scene.runs
    crank, coupler = scene.body("crank"), scene.body("coupler")
    assert np.allclose(coupler.position, np.asarray(crank.position) + 0.1 * np.array([np.cos(np.pi / 6), 0, -0.5]), atol=1e-12)


def test_view_of_a_motion(scenes: list[Scene]) -> None:
    assert main(["view", PENDULUM, "-t", "0.5", "--set", "hinge=1"]) == 0
    (scene,) = scenes
    assert scene.runs[0].times[-1] == 0.5


def test_view_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("jourdain.view.picture.find_chromium", lambda: None)
    monkeypatch.setattr("jourdain.view.picture._told", {"chromium"})
    monkeypatch.chdir(tmp_path)
    for name, start in (("a/page.html", b"<!doctype html>"), ("a/picture.png", b"\x89PNG")):
        assert main(["view", PENDULUM, "-o", name]) == 0
        assert Path(name).read_bytes().lower().startswith(start.lower())
    assert main(["view", PENDULUM, "-o", "a/picture.xyz"]) == 2
    assert "picture.xyz" in capsys.readouterr().err


def test_view_of_a_saved_page_opens_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert main(["view", "swing/run.html"]) == 0
    assert opened == [(run / "run.html").resolve().as_uri()]
