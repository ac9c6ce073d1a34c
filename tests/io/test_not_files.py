"""What is not a plain file is refused at once: pipes, devices, folders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no pipes with names")

PROGRAM = """
import sys
import jourdain as jd
from jourdain.errors import JourdainError
from jourdain.io.model_reference import load_model
from jourdain.results import load_solution
for path in sys.argv[1:]:
    try:
        load_solution(path) if path.endswith(("npz", "csv", "h5")) else load_model(path)
        print("read", path)
    except JourdainError as error:
        print("refused", error)
"""


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    paths = [tmp_path / f"{kind}{suffix}" for kind in ("pipe", "endless", "folder")
             for suffix in (".toml", ".urdf", ".xml", ".mbs", ".npz", ".csv", ".h5")]  # fmt: skip
    for path in paths:
        if path.stem == "pipe":
            os.mkfifo(path)
        elif path.stem == "endless":
            path.symlink_to("/dev/zero")
        else:
            path.mkdir()
    done = subprocess.run([sys.executable, "-c", PROGRAM, *map(str, paths)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-500:]
    lines = done.stdout.strip().splitlines()
    assert len(lines) == len(paths) and all(line.startswith("refused") and len(line) > 30 for line in lines), done.stdout
