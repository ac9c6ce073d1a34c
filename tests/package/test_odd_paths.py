"""Paths that no file can have, at every door for files: an error of the package in words."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jourdain as jd
from jourdain import library
from jourdain.errors import JourdainError


class Raises:
    """A path in its own way."""

    def __fspath__(self) -> str:
        raise ZeroDivisionError("no path")


@pytest.fixture(scope="module")
def run() -> tuple[jd.Model, jd.Solution, Any]:
    m = library.pendulum()
    s = m.compile()
    return m, s.simulate({"hinge.angle": 0.1}, 0.1), s.linearise(s.state())


DOORS: dict[str, Callable[[Any, Any], Any]] = {
    "save": lambda run, p: run[1].save(p), "load_solution": lambda run, p: jd.load_solution(p), "store": lambda run, p: jd.Store(p),
    "load_model": lambda run, p: jd.load_model(p), "save_model": lambda run, p: run[0].save(p), "read_urdf": lambda run, p: jd.read_urdf(p),
    "read_mjcf": lambda run, p: jd.read_mjcf(p), "read_mbs": lambda run, p: jd.read_mbs(p), "write_mbs": lambda run, p: jd.write_mbs(run[0], p),
    "linear": lambda run, p: run[2].save(p), "mesh": lambda run, p: jd.mesh(p),
}  # fmt: skip
PATHS = {
    "nil": "a\0.npz", "nil of models": "a\0.toml", "half a letter": "\ud800.npz", "bytes": b"a.npz", "raises": Raises(), "long": "x" * 5000 + ".npz", "nothing": None, "number": 5,
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("door", DOORS)
def test_no_path_is_refused_in_words(door: str, path: str, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(JourdainError):
        DOORS[door](run, PATHS[path])
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(signal, "alarm") or not Path("/dev/zero").exists(), reason="devices of Linux")
@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_a_model_is_written_over_no_endless_file(kind: str, run: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    if kind == "device":
        path.symlink_to("/dev/zero")
        run[0].save(path)
        assert path.is_symlink()
    else:
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        run[0].save(path)
        assert os.read(reader, 8) == b"format ="
        os.close(reader)
