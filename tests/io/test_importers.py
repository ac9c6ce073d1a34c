"""The comparison of a folder of models with other programs counts what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import importers

ARM = """<robot name="r"><link name="base"/><link name="a"><inertial><origin xyz="0 0 1"/><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="b"><inertial><origin xyz="0 .1 1"/><mass value="2"/>
  <inertia ixx="1" iyy="2" izz="1.5" ixy="0" ixz=".1" iyz="0"/></inertial></link>
  <joint name="z" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="y" type="prismatic"><origin xyz="0 1 0" rpy=".1 .2 .3"/><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
BALL = """<mujoco><worldbody><body name="a">{}<geom size=".1" pos=".2 0 0"/></body></worldbody></mujoco>"""


@pytest.mark.peers
def test_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mujoco")
    pytest.importorskip("pinocchio")
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "hinge.xml").write_text(BALL.format('<joint axis="0 1 0" armature=".2"/>'))
    (tmp_path / "aligned.xml").write_text(BALL.format('<freejoint align="true"/>'))
    (tmp_path / "attached.xml").write_text(
        BALL.format('<joint axis="0 1 0"/><replicate count="2" offset="0 0 1"><geom type="sdf"/></replicate>')
    )
    (tmp_path / "page.xml").write_text("<html/>")
    monkeypatch.setenv("JOURDAIN_MODELS", str(tmp_path))
    assert importers.main() == 0
    said = capsys.readouterr().out
    assert "urdf: 1 files; 1 agrees" in said and "mjcf: 3 files; " in said and "1 agrees" in said.split("mjcf")[1]
    assert "differs  aligned.xml: by" in said and "joint 'a:free': align: its coordinates and keyframes are not moved" in said


def test_a_folder_is_needed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("JOURDAIN_MODELS", raising=False)
    assert importers.main() == 2 and "JOURDAIN_MODELS=FOLDER" in capsys.readouterr().err
