"""Deformable parts of MJCF against MuJoCo: points that are bodies, pinned ones, springs along lines."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.io import read_mjcf

QUIET = '<contact contype="0" conaffinity="0"/>'
PARTS = {
    "line": '<flexcomp name="f" type="grid" dim="1" count="4 1 1" spacing=".1 .2 .3" mass="2" pos="1 0 0" euler="0 0 90"><pin id="0"/>'
    '<edge stiffness="1000" damping="2"/></flexcomp>',
    "frame": '<frame pos="1 0 0" euler="0 30 90"><flexcomp name="f" type="grid" dim="1" count="3 1 1" spacing=".1 .1 .1" mass="3" inertiabox=".02" euler="20 0 0">'
    '<pin id="0"/><edge stiffness="10" damping="0"/></flexcomp></frame>',
    "cloth": '<flexcomp name="f" type="grid" dim="2" count="3 4 1" spacing=".1 .2 .1" mass="3" scale="2 1 1"><pin gridrange="0 0 1 0"/></flexcomp>',
    "block": '<flexcomp name="f" type="grid" dim="3" count="2 3 2" spacing=".1 .2 .1" mass="3"><pin grid="0 0 1 1 2 1" id="4" range="6 7"/></flexcomp>',
    "direct": '<flexcomp name="f" type="direct" dim="1" point="0 0 0 1 0 0 2 0 .5 3 1 1" element="0 1 1 2 2 3" mass="3" scale="2 1 1"><pin id="2"/>'
    '<edge stiffness="10" damping="1"/></flexcomp>',
    "rigid": '<flexcomp name="f" type="grid" dim="1" count="3 1 1" spacing=".1 .1 .1" mass="3" rigid="true"></flexcomp>',
}  # fmt: skip


def text(part: str) -> str:
    """A body on a hinge with a part on it, without contacts."""
    return (
        '<mujoco><compiler eulerseq="xyz"/><option><flag contact="disable"/></option><worldbody><body name="holder" pos="0 0 2">'
        f'<joint name="h" axis="0 1 0"/><geom size=".1" mass="1" contype="0" conaffinity="0"/>{part.replace("</flexcomp>", QUIET + "</flexcomp>")}</body></worldbody></mujoco>'
    )


@pytest.mark.parametrize("name", PARTS)
def test_points_move_as_in_mujoco(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    given = text(PARTS[name])
    peer = mujoco.MjModel.from_xml_string(given)
    model = read_mjcf(given)
    s, data, rng = model.compile(), mujoco.MjData(peer), np.random.default_rng(5)
    assert s.nq == peer.nq and not [note for note in model.notes if "flexcomp" in note]
    for _ in range(3):
        data.qpos[:], data.qvel[:] = 0.05 * rng.normal(size=peer.nq), rng.normal(size=peer.nv)
        mujoco.mj_forward(peer, data)
        own = s.forward_dynamics(data.qpos.copy(), data.qvel.copy(), np.zeros(peer.nv))
        assert own == pytest.approx(data.qacc, rel=1e-9, abs=1e-10 * (1.0 + np.abs(data.qacc).max()))


def test_a_line_of_springs_vibrates_as_its_closed_form() -> None:
    """n equal masses between two walls: ω_k = 2 √(k/m) sin(kπ / 2(n + 1)) along the line (Lagrange)."""
    model = read_mjcf(
        '<mujoco><option gravity="0 0 0"/><worldbody><flexcomp name="f" type="grid" dim="1" count="6 1 1" spacing=".1 .1 .1" mass="6">'
        f'<pin id="0 5"/><edge stiffness="100"/>{QUIET}</flexcomp></worldbody></mujoco>'
    )
    found = np.sort(np.abs(model.compile().modal({}).eigenvalues.imag))[-4:]
    assert found == pytest.approx(20.0 * np.sin(np.arange(1, 5) * np.pi / 10.0), rel=1e-9)


def test_what_is_left_out_is_said() -> None:
    part = '<flexcomp name="f" type="grid" dim="2" count="2 2 1" spacing=".1 .1 .1"><pin id="0"/><edge equality="true"/><elasticity young="1e4"/></flexcomp>'
    with pytest.warns(UserWarning):
        notes = " ".join(read_mjcf(f"<mujoco><worldbody>{part}</worldbody></mujoco>").notes)
    for words in ("the elasticity of flexcomp 'f' is not taken over", "not kept at their lengths", "contacts of flexcomp 'f'"):
        assert words in notes


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ('<flexcomp name="f" type="box" dim="3"/>', r'line 1.*the points of type="box" are made by rules that are not read.*mj_saveLastXML'),
        ('<flexcomp name="f" type="grid" dim="3" count="2 2 2" dof="radial"/>', 'dof = "radial" is not read.*dof="full"'),
        ('<flexcomp name="f" type="grid" dim="1" count="3 1 1"><pin id="3"/></flexcomp>', "not among the 3"),
        ('<flexcomp name="f" type="grid" dim="1" count="3 1 1"><pin range="0 1e15"/></flexcomp>', "no list of whole numbers"),
        ('<flexcomp name="f" type="grid" dim="1" count="3 1 1"><pin id="0.5"/></flexcomp>', "no list of whole numbers"),
        ('<flexcomp name="f" type="grid" dim="2" count="3 3 1"><pin grid="0 5"/></flexcomp>', "not among the 3 × 3"),
        ('<flexcomp name="f" type="grid" dim="3" count="3 3 3"><pin gridrange="0 0 0 99999 99999 99999"/></flexcomp>', "not among the 3 × 3 × 3"),
        ('<flexcomp name="f" type="grid" dim="3" count="3 3 3"><pin gridrange="0 0 0 1"/></flexcomp>', "4 numbers, no multiple of 6"),
        ('<flexcomp name="f" type="direct" dim="1" point="0 0 0 1"/>', "4 numbers, no multiple of 3"),
        ('<flexcomp name="f" type="direct" dim="1" point="0 0 0 1 0 0" element="0 7"/>', "no two of the 2 points"),
        ('<flexcomp name="f" type="direct" dim="1" point="0 0 0 1 0 0" element="0 -1"/>', "no two of the 2 points"),
        ('<flexcomp name="f" type="grid" dim="2" count="3 1 1"/>', "has no points"),
        ('<flexcomp name="f" type="grid" dim="3" count="1000 1000 1000"/>', "points are not read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(part: str, words: str) -> None:
    with pytest.raises(jd.InputError, match=words):
        read_mjcf(f"<mujoco><worldbody>{part}</worldbody></mujoco>")
