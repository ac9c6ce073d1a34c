"""``jourdain structure``: info, modes, reduce."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.cli import main

S = jd.structures


@pytest.fixture
def part(tmp_path: Path) -> Path:
    S.block((0.2, 0.03, 0.02), (5, 2, 1), S.STEEL, name="bar").save(tmp_path / "bar.npz")
    return tmp_path / "bar.npz"


def test_info(part: Path, capsys) -> None:
    assert main(["structure", "info", str(part), "--interface", "big=x-", "--interface", "small=x+:average"]) == 0
    told = capsys.readouterr().out
    assert "bar: 36 nodes, 108 degrees of freedom" in told and "big (rigid, 6 nodes), small (average, 6 nodes)" in told


def test_modes(part: Path, capsys) -> None:
    found = S.read(part)
    assert main(["structure", "modes", str(part), "-n", "3"]) == 0
    assert f"{found.frequencies(1)[0] / (2 * np.pi):.6g}" in capsys.readouterr().out
    assert main(["structure", "modes", str(part), "-n", "3", "--fixed", "x-"]) == 0
    told = capsys.readouterr().out
    assert f"{found.fixed_frequencies('x-', 1)[0]:.6g}" in told and "held at x-" in told


def test_reduce(part: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "reduced.npz"
    options = [
        "-n",
        "4",
        "--kind",
        "craig-bampton",
        "--interface",
        "big=x-",
        "--interface",
        "small=x+",
        "--damping",
        "0.01",
        "-o",
        str(out),
    ]
    assert main(["structure", "reduce", str(part), *options]) == 0
    assert "10 elastic coordinates (craig-bampton), frame mean axes" in capsys.readouterr().out
    body = S.read_reduced(out)
    assert body.modes == 10 and body.damping[0, 0] > 0 and set(body.points) == {"big", "small"}
    assert (
        main(["structure", "reduce", str(part), "-n", "2", "--frame", "tangent", "--interface", "big=x-", "--at", "big", "-o", str(out)])
        == 0
    )
    assert S.read_reduced(out).frame == "tangent"


def test_errors_are_one_line(part: Path, tmp_path: Path, capsys) -> None:
    for arguments in (
        ["info", str(tmp_path / "none.npz")],
        ["modes", str(part), "-n", "1000"],
        ["info", str(part), "--interface", "nothing"],
        ["reduce", str(part), "-o", str(tmp_path / "x.txt")],
    ):
        assert main(["structure", *arguments]) == 2
        told = capsys.readouterr().err
        assert told.startswith("jourdain: ") and told.count("\n") == 1
