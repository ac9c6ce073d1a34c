"""The verbs that show things: run, plot and view."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.cli import main
from jourdain.cli import view as cli_view
from jourdain.view.scene import Scene

ROOT = Path(__file__).resolve().parents[2]
PENDULUM = f"{ROOT / 'examples' / 'pendulum.py'}:pendulum"
FOUR_BAR = f"{ROOT / 'examples' / 'four_bar.py'}:four_bar"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert main(["run", PENDULUM, "-t", "1", "--set", "hinge=60deg", "--outputs", "51", "-o", "swing"]) == 0
    assert capsys.readouterr().out.splitlines()[-4:] == [str(Path("swing") / n) for n in ("model.toml", "run.npz", "run.png", "run.html")]
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
    monkeypatch.setattr(cli_view, "wait_for_interrupt", lambda: None)
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


def test_view_of_a_run_finds_its_model_beside_it(run: Path, scenes: list[Scene]) -> None:
    assert main(["view", "swing", "--forces", "hinge", "--plot", "hinge.angle_rate", "--follow", "bob"]) == 0
    (scene,) = scenes
    assert scene.follow == "bob" and [a.name for a in scene.arrows] == ["hinge.reaction"]
    assert [p.channels for p in scene.plots] == [["hinge.angle_rate"]]


def test_view_of_a_run_without_its_model_says_what_to_do(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "model.toml").unlink()
    (run / "run.html").unlink()
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


FILE = """format = "jourdain"
version = 1
name = "pendulum"
keep = ["energy.total"]
[parameters]
l = {value = 0.5, unit = "m"}
[bodies.bob]
mass = 2
com = [0, 0, "-l"]
[joints.hinge]
kind = "revolute"
parent = "ground"
child = "bob"
axis = "y"
[initial]
"hinge.angle" = "30 deg"
[analyses.swing]
verb = "simulate"
t = 1
[analyses.modes]
verb = "modal"
initial = {"hinge.angle" = 0}
[variant.long.parameters]
l = 2
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    Path("pendulum.toml").write_text(FILE)
    return tmp_path


def test_run_of_a_file_does_what_the_file_says(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["run", "pendulum.toml", "-o", "out"]) == 0
    printed = capsys.readouterr().out
    assert "modes of pendulum" in printed and str(Path("out") / "modes.csv") in printed
    table = jd.load_solution("out/swing.npz")
    assert list(table.names) == ["energy.total"] and table.t[-1] == 1.0
    assert table["energy.total"][0] == pytest.approx(-2 * 9.81 * 0.5 * np.cos(np.pi / 6), rel=1e-12)
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert main(["view", "out"]) == 0  # energies alone cannot be drawn, but the page was made from everything
    assert opened == [(file / "out" / "swing.html").resolve().as_uri()]


def test_run_of_chosen_analyses_variants_and_settings(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "pendulum.toml", "modes", "--variant", "long", "-o", "long"]) == 0
    assert not Path("long/swing.npz").exists()
    assert f"{np.sqrt(9.81 / 2) / (2 * np.pi):.5g}" in Path("long/modes.txt").read_text()
    assert main(["run", "pendulum.toml", "swing", "--set", "hinge=0", "--set", "l=1m", "-o", "still"]) == 0
    assert jd.load_solution("still/swing.npz")["energy.total"][-1] == pytest.approx(-2 * 9.81, rel=1e-12)
    capsys.readouterr()
    for wrong, message in (
        (["swing", "-t", "1"], "leave out the names"),
        (["nothing"], "there is no analysis 'nothing'"),
        (["swing", "--set", "hinge=3kg"], "unit of mass"),
        (["swing", "--set", "l=3kg"], "unit of mass"),
        (["--variant", "short"], "no variant 'short'"),
    ):
        assert main(["run", "pendulum.toml", *wrong]) == 2
        assert message in capsys.readouterr().err
    assert main(["run", PENDULUM]) == 2
    assert "names no analyses; say how long to simulate: -t 10" in capsys.readouterr().err


def test_view_as_movies_and_modes(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    image = pytest.importorskip("PIL.Image")
    monkeypatch.setattr("jourdain.view.picture.find_chromium", lambda: None)
    monkeypatch.setattr("jourdain.view.picture._told", {"chromium"})
    small = ["--size", "96x64"]
    assert main(["view", "pendulum.toml", "-t", "0.2", "-o", "swing.gif", "--speed", "0.5", *small]) == 0
    with image.open("swing.gif") as movie:
        assert movie.size == (96, 64) and movie.n_frames == 13
    pytest.importorskip("imageio_ffmpeg")
    assert main(["view", "pendulum.toml", "-t", "0.1", "-o", "swing.mp4", *small]) == 0
    assert Path("swing.mp4").stat().st_size > 500
    assert main(["view", "pendulum.toml", "-t", "0.2", "--at", "0.1", "-o", "still.png", *small]) == 0
    assert main(["view", "pendulum.toml", "--mode", "1", "-o", "mode.png", *small]) == 0
    assert main(["view", "pendulum.toml", "--mode", "1", "-o", "mode.html"]) == 0
    assert '"modes":[{' in Path("mode.html").read_text(encoding="utf-8")
    assert main(["view", "pendulum.toml", "--mode", "1", "-o", "mode.pov"]) == 0
    assert Path("mode.pov").read_text().startswith("#version")
    assert main(["view", "pendulum.toml", "--live"]) == 2
    assert "give its duration with -t" in capsys.readouterr().err


def test_view_while_it_runs(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cli_view, "wait_for_interrupt", lambda: None)
    monkeypatch.setattr("webbrowser.open", lambda url: None)
    assert main(["view", "pendulum.toml", "-t", "0.2", "--live"]) == 0
    assert "http://127.0.0.1:" in capsys.readouterr().out
