"""<attach> of MJCF: bodies of other models, with their own defaults, assets and compiler settings, against MuJoCo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jourdain import InputError
from jourdain.io import read_mjcf
from tests.io.test_mjcf import compare

PART = """<mujoco><compiler angle="radian" eulerseq="zyx" meshdir="parts"/>
  <default><geom density="500"/><joint armature="0.1"/><default class="thin"><geom size="0.05" euler="0.1 0.2 0.3"/></default></default>
  <asset><mesh file="wedge.obj" scale="0.2 0.2 0.2"/></asset>
  <worldbody><geom size="0.3"/>
    <body name="root" pos="0.1 0.2 0.3" euler="0.5 0.2 0.1"><joint name="j" axis="0 1 0" range="-1 1" ref="0.3"/><geom size="0.1" pos="0.1 0 0"/>
      <body name="tip" pos="0 0 1" childclass="thin"><joint axis="1 0 0"/><geom type="capsule" size="0.05 0.1" pos="0.2 0 0"/>
        <geom type="mesh" mesh="wedge"/><site name="s" pos="0 0 1"/></body></body></worldbody>
  <contact><exclude body1="root" body2="tip"/></contact></mujoco>"""
WHOLE = """<mujoco><asset><model name="m" file="sub/part.xml"/></asset><default><geom density="3000"/></default><worldbody>
  <body name="a" pos="0 0 2"><joint name="j" axis="0 1 1" range="-30 40"/><geom size="0.1"/>{}</body></worldbody></mujoco>"""
CASES = {
    "twice": '<attach model="m" body="root" prefix="p_"/><frame pos="1 0 0" euler="30 0 0"><attach model="m" body="root" prefix="q_"/></frame>',
    "whole world": '<attach model="m" prefix="w/"/>',
    "inner body": '<body name="b"><joint type="ball"/><geom size="1"/><attach model="m" body="tip" prefix="_"/></body>',
}


def files(folder: Path, inside: str, part: str = PART) -> Path:
    (folder / "sub" / "parts").mkdir(parents=True)
    (folder / "sub" / "parts" / "wedge.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (folder / "sub" / "part.xml").write_text(part)
    (folder / "whole.xml").write_text(WHOLE.format(inside))
    return folder / "whole.xml"


@pytest.mark.peers
@pytest.mark.parametrize("case", CASES)
def test_against_mujoco(case: str, tmp_path: Path, rng: np.random.Generator) -> None:
    mujoco = pytest.importorskip("mujoco")
    path = files(tmp_path, CASES[case])
    # MuJoCo holds the vertices of meshes in single precision
    compare(read_mjcf(path), mujoco.MjModel.from_xml_path(str(path)), rng, 1e-5)


def test_each_model_is_read_by_its_own_rules(tmp_path: Path) -> None:
    model = read_mjcf(files(tmp_path, CASES["twice"]))
    assert list(model.bodies)[-4:] == ["p_root", "p_tip", "q_root", "q_tip"]
    assert model.joints["j"].limits == pytest.approx(np.radians([-30, 40])) and model.joints["p_j"].limits == (-1.0, 1.0)


def test_an_attached_model_attaches_another(tmp_path: Path) -> None:
    path = files(tmp_path, '<attach model="m" body="root" prefix="p_"/>')
    inner = PART.replace("<asset>", '<asset><model name="again" file="part2.xml"/>').replace(
        "<site", '<attach model="again" body="tip" prefix="i_"/><site'
    )
    (tmp_path / "sub" / "part.xml").write_text(inner)
    (tmp_path / "sub" / "part2.xml").write_text(PART)
    assert list(read_mjcf(path).bodies)[-3:] == ["p_root", "p_tip", "p_i_tip"]


@pytest.mark.peers
def test_models_without_a_name_among_the_assets_are_called_as_their_files_say(tmp_path: Path, rng: np.random.Generator) -> None:
    mujoco = pytest.importorskip("mujoco")
    path = files(tmp_path, '<attach model="inner" body="root" prefix="p_"/>', PART.replace("<mujoco>", '<mujoco model="inner">'))
    path.write_text(path.read_text().replace('<model name="m" ', "<model "))
    compare(read_mjcf(path), mujoco.MjModel.from_xml_path(str(path)), rng, 1e-5)


WRONG = {
    "of its own": ('<frame name="f"/><attach frame="f" prefix="p"/>', PART, "parts of this model itself are not attached"),
    "no model": ('<attach model="n" prefix="p"/>', PART, "the model 'n' is not among the assets; there are m"),
    "no body": ('<attach model="m" body="root2" prefix="p"/>', PART, "the model 'm' has no body 'root2'"),
    "same names": ('<attach model="m" body="root" prefix=""/><attach model="m" body="root" prefix=""/>', PART, "there is a (body|joint) '(root|j)' already"),
    "itself": ('<attach model="m" body="root" prefix="p"/>', PART.replace("<asset>", '<asset><model name="x" file="../sub/part.xml"/>').replace(
        "<site", '<attach model="x" prefix="y"/><site'), "the model 'x' attaches itself|not within the folder"),
    "other masses": ('<attach model="m" prefix="p"/>', PART.replace('angle="radian"', 'boundmass="2"'), "the model 'm' has another boundmass"),
    "not a model": ('<attach model="m" prefix="p"/>', "<robot/>", "root element must be <mujoco>"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_attachments_are_told(case: str, tmp_path: Path) -> None:
    inside, part, message = WRONG[case]
    with pytest.raises(InputError, match=message):
        read_mjcf(files(tmp_path, inside, part))


def test_text_has_no_files() -> None:
    with pytest.raises(InputError, match="an attached model needs a model read from a file, not from text"):
        read_mjcf(WHOLE.format(CASES["twice"]))
