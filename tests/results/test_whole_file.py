"""Files that are written whole: what every writer does where a file cannot be written, and what is written as it is."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.cli.design import _save as save_designs
from jourdain.contact import write_wav
from jourdain.errors import InputError, JourdainError
from jourdain.library.mechanisms import double_pendulum
from jourdain.results import Channel
from jourdain.results.fields import PathFields
from jourdain.results.whole_file import make_whole, write_whole
from jourdain.structures import Structure
from jourdain.view import save_movie, save_povray


@pytest.fixture(scope="module")
def sol() -> jd.Solution:
    return double_pendulum().compile().simulate({"shoulder.angle": 1.0}, 0.1)


WRITERS: dict[str, Callable[[jd.Solution, Path], Any]] = {
    "model.mbs": lambda sol, path: jd.write_mbs(double_pendulum(), path), "page.html": lambda sol, path: sol.save_page(path),
    "run.npz": lambda sol, path: sol.save(path), "run.csv": lambda sol, path: sol.save(path), "model.toml": lambda sol, path: double_pendulum().save(path),
    "start.json": lambda sol, path: sol.system.equilibrium().save(path), "linear.npz": lambda sol, path: sol.system.linearise().save(path),
    "plot.png": lambda sol, path: sol.plot("shoulder.angle", file=path), "plot.svg": lambda sol, path: sol.plot("shoulder.angle", file=path),
    "sound.wav": lambda sol, path: write_wav(path, np.sin(np.arange(1000.0))), "part.npz": lambda sol, path: part().save(path),
    "fields.csv": lambda sol, path: PathFields([0.0, 1.0, 2.0], [("arc", 0.0, 2.0)], {"P": Channel([0.0, 1.0, 2.0], "N")}).to_csv(path),
    "designs.csv": lambda sol, path: save_designs(path, [design()], None), "movie.gif": lambda sol, path: movie(sol, path),
    "movie.mp4": lambda sol, path: movie(sol, path), "motion.inc": lambda sol, path: save_povray(sol.scene(), path.parent, [0.0, 0.1]),
}  # fmt: skip


def design() -> Any:
    """A design as the command writes it."""
    return SimpleNamespace(values={"mass of the arm [kg]": 1.0}, criteria={"time [s]": 2.0}, constraints={})


def part() -> Structure:
    return Structure(np.zeros((2, 3)), np.eye(6), np.eye(6))


def movie(sol: jd.Solution, path: Path) -> Path:
    if path.suffix == ".mp4":
        pytest.importorskip("imageio_ffmpeg")
    return save_movie(sol.scene(), path, fps=20.0, size=(160, 120), progress=False)


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("name", WRITERS)
def test_a_file_without_room_is_told_and_the_old_one_kept(
    name: str, sol: jd.Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource
    import signal

    path = tmp_path / name
    monkeypatch.setattr("jourdain.view.picture.find_chromium", lambda: None)
    monkeypatch.setattr("jourdain.view.picture._told", {"chromium"})
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python takes a translated source that was cut off for whole
    path.write_text("old")
    limits, before = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
    try:
        with pytest.raises(JourdainError, match=f"{name}.*(could not be|cannot be) written.*"):
            WRITERS[name](sol, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == [name]
    WRITERS[name](sol, path)
    others = {"movie.ini", "scene.pov"} if name == "motion.inc" else set()
    assert path.stat().st_size > 20 and {p.name for p in tmp_path.iterdir()} - others == {name}


def test_a_folder_that_is_not_there_is_told(tmp_path: Path, sol: jd.Solution) -> None:
    with pytest.raises(InputError, match="could not be written: No such file"):
        sol.save_page(tmp_path / "nowhere" / "page.html")


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "here" / "file.txt")
    for text in ("one", "two"):
        write_whole(link, text)
        assert link.is_symlink() and (tmp_path / "here" / "file.txt").read_text() == text


@pytest.mark.skipif(os.name != "posix", reason="a pipe with a place in the file system")
def test_pipes_are_written_as_they_are() -> None:
    """Never replaced by a file: /dev/stdout and /dev/null would be gone for all."""
    program = "from jourdain.results.whole_file import write_whole; write_whole('/dev/stdout', 'told'); write_whole('/dev/null', 'lost')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "told" and not Path("/dev/null").is_file()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="a folder in memory")
def test_files_in_the_folder_of_shared_memory_are_replaced_whole() -> None:
    """It is below /dev, but no device."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "file.txt"
        write_whole(path, "old")

        def fails(temporary: Path) -> None:
            temporary.write_text("ne")
            raise OSError("killed here")

        with pytest.raises(InputError, match="killed here; what was there is kept"):
            make_whole(path, fails)
        assert path.read_text() == "old" and len(list(Path(folder).iterdir())) == 1
