"""What files of others contain that is seldom seen: bodies without names or masses, pairs that are there twice, what stands still and is fused."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import jourdain as jd
from jourdain.io import read_mjcf
from tests.io.test_mjcf import compare


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_bodies_without_names_leave_names_to_those_that_have_them() -> None:
    text = (
        '<mujoco><worldbody><body><joint axis="0 1 0"/><geom size="0.1"/></body><body name="body" pos="1 0 0"><joint/><geom size="0.2"/></body>'
        '<body name="body1"><joint/><geom size="0.3"/></body></worldbody></mujoco>'
    )
    masses = {name: float(b.mass) for name, b in read_mjcf(text).bodies.items()}
    balls = [4000.0 / 3.0 * np.pi * r**3 for r in (0.1, 0.2, 0.3)]
    assert masses == pytest.approx({"body2": balls[0], "body": balls[1], "body1": balls[2]})


@pytest.mark.peers
def test_masses_that_follow_from_bounds_alone_are_where_mujoco_puts_them() -> None:
    mujoco = pytest.importorskip("mujoco")
    text = (
        '<mujoco><compiler boundmass="0.5" boundinertia="0.02" inertiagrouprange="0 2"/><worldbody><frame pos="0.1 0.2 0.3" euler="10 20 30">'
        '<body name="a" pos="0.4 -0.1 0.2" euler="0 40 0"><joint axis="1 1 0"/><geom size="0.2" group="4"/>'
        '<body name="b" pos="0.3 0 0.1"><joint axis="0 1 1" pos="0.1 0 0"/></body></body></frame></worldbody></mujoco>'
    )
    model = read_mjcf(text)
    compare(model, mujoco.MjModel.from_xml_string(text), np.random.default_rng(1))
    assert sum("boundmass and boundinertia alone" in note for note in model.notes) == 2


def test_what_fusestatic_may_leave_out_of_the_total_mass_is_refused() -> None:
    text = (
        '<mujoco><compiler settotalmass="3" fusestatic="{}"/><worldbody><body name="post"><geom size="0.1"/><body name="arm"><joint/><geom size="0.1"/>'
        "</body></body></worldbody></mujoco>"
    )
    with pytest.raises(jd.InputError, match=r"line 1.*'post' stands still.*leave out fusestatic"):
        read_mjcf(text.format("true"))
    assert sum(float(b.mass) for b in read_mjcf(text.format("false")).bodies.values()) == pytest.approx(3.0)


def test_pairs_that_are_there_twice_count_once() -> None:
    ball = '<body name="{0}" pos="{1} 0 0"><freejoint/><geom name="{0}" size="0.1"/></body>'
    pair = '<pair geom1="{}" geom2="{}" friction="0.3"/>'
    text = (
        f"<mujoco><worldbody>{ball.format('a', 0)}{ball.format('b', 1)}{ball.format('c', 2)}</worldbody>"
        f"<contact>{pair.format('a', 'b')}{pair.format('b', 'a')}{pair.format('a', 'c')}</contact></mujoco>"
    )
    model = read_mjcf(text, contacts=True)
    assert [name for name in model.contacts if name.startswith("pair")] == ["pair a b", "pair a c"]
    assert any("taken once: b and a" in note for note in model.notes)


def test_stills_on_an_aligned_body_are_told() -> None:
    text = (
        '<mujoco><compiler fusestatic="{}" alignfree="true"/><worldbody><body name="a"><freejoint/><geom size="0.1" pos="0.1 0 0"/>'
        '<body name="b" pos="0 0.3 0"><geom size="0.1"/></body></body></worldbody></mujoco>'
    )
    assert [any("keeps it from being aligned" in n for n in read_mjcf(text.format(word)).notes) for word in ("true", "false")] == [
        True,
        False,
    ]
