"""Random files of others, over several folders, against the programs they are written for."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from benchmarks.importers import verdict
from tests.io.random_files import MjcfFiles, urdf_text
from tests.io.test_mjcf import compare


def check_mjcf(folder: Path, seed: int) -> None:
    mujoco = pytest.importorskip("mujoco")
    files = MjcfFiles(folder, seed)
    mj = mujoco.MjModel.from_xml_path(str(files.path))
    rng = np.random.default_rng(seed)
    data = mujoco.MjData(mj)
    mujoco.mj_integratePos(mj, data.qpos, rng.normal(size=mj.nv), 0.5)
    v = rng.normal(size=mj.nv)
    files.add_keyframe(data.qpos, v)
    mj = mujoco.MjModel.from_xml_path(str(files.path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = jd.read_mjcf(files.path, root=folder, keyframe="home")
    compare(model, mj, rng, 2e-5)  # MuJoCo holds the vertices of meshes in single precision
    mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    data.qpos[:], data.qvel[:] = mj.key_qpos[0], v
    mujoco.mj_forward(mj, data)
    system = model.compile(check=False)
    if not any("of a ball joint is not taken over" in note for note in model.notes):
        np.testing.assert_allclose(
            system.forward_dynamics(mj.key_qpos[0], v, np.zeros(mj.nv)),
            data.qacc,
            rtol=2e-4,
            atol=2e-5 * max(1.0, np.abs(data.qacc).max(initial=0.0)),
        )
    for section in ("tendon", "actuator", "equality", "sensor"):
        assert any(f"<{section}>" in note for note in model.notes) == (f"<{section}>" in files.whole)
    start = system.state()
    np.testing.assert_allclose(start.q, mj.key_qpos[0], atol=1e-9)
    np.testing.assert_allclose(start.v, v, atol=1e-9)


@pytest.mark.peers
@pytest.mark.parametrize("seed", range(6))
def test_mjcf_in_folders_against_mujoco(seed: int, tmp_path: Path) -> None:
    check_mjcf(tmp_path, seed)


@pytest.mark.peers
@pytest.mark.parametrize("seed", range(8))
def test_urdf_with_mimics_against_pinocchio(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("pinocchio")
    path = tmp_path / "robot.urdf"
    path.write_text(urdf_text(seed), encoding="utf-8")
    word, told = verdict("urdf", path, np.random.default_rng(seed))
    assert word == "agrees", told
