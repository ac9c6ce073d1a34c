"""The tutorials run as they are, show what they say, and are kept without outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.notebook.kernels import execute

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
#: What some cell of each tutorial must show.
SHOWN = {
    "1-a-pendulum": ["<svg", r"\ddot", "period 1.465024 s, formula 1.465024 s", "<iframe", "widget-view"],
    "2-a-closed-loop": ["loop: ball", "by rank, here: 1", "-0.560200 rad", "<iframe"],
    "3-vibrations": ["static equilibrium", "modes of", "46.3 %", "<iframe"],
    "4-events": ["bounce", "momentum 4.000000000 … 4.000000000", "coupling"],
    "5-better-designs": ["gradient of isolator", "knee", "KKT residual", "3 runs: 3 done"],
}


def test_there_are_five() -> None:
    assert [path.stem for path in TUTORIALS] == list(SHOWN)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_runs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [c for c in cells if c["cell_type"] == "code"]
    assert not any(c["outputs"] or c["execution_count"] for c in code)
    shown = json.dumps(execute(*("".join(c["source"]) for c in code)), ensure_ascii=False).replace("\\\\", "\\")
    for wanted in SHOWN[path.stem]:
        assert wanted in shown, wanted
