"""Loops, links and forces of a ROBOTRAN file act in the model as the same things declared in Python do."""

from __future__ import annotations

import numpy as np

import jourdain as jd

POINT = "<endpoint{n}><bodyname>{body}</bodyname><pointname>{point}</pointname></endpoint{n}>"


def _ends(first: tuple[str, str], second: tuple[str, str]) -> str:
    return "".join(POINT.format(n=i + 1, body=b, point=p) for i, (b, p) in enumerate((first, second)))


def _point(name: str, x: float, z: float, inside: str = "") -> str:
    return f"<point><pointname>{name}</pointname><coordinates><x>{x}</x><y>0</y><z>{z}</z></coordinates>{inside}</point>"


def _bar(name: str, parent: str, at: str, joint: str, inside: str = "") -> str:
    return (
        f"<body><bodyname>{name}</bodyname><parent><bodyname>{parent}</bodyname><pointname>{at}</pointname></parent>"
        f"<joint><jointname>{joint}</jointname><type>R2</type><nature>independent</nature></joint><mass>1</mass>"
        "<com><coordinates><x>0.25</x><y>0</y><z>0</z></coordinates></com>"
        "<inertia><Ixx>0.01</Ixx><Iyy>0.02</Iyy><Izz>0.02</Izz></inertia>"
        f"{_point('tip', 0.5, 0.0, inside)}</body>"
    )


PUSH = '<extforce name="push" Pos="true" />'
FILE = (
    "<mbsDescR7><mbsname>two_bars</mbsname><base><gravity><coordinates><x>0</x><y>0</y><z>-9.81</z></coordinates></gravity>"
    f"{_point('right', 1.2, 0.0)}{_point('above', 0.3, 1.0)}</base>"
    f"<bodytree>{_bar('a', 'base', 'origin', 'ja', PUSH)}{_bar('b', 'base', 'right', 'jb')}</bodytree>"
    f"<cuts><rod><name>bar</name>{_ends(('a', 'tip'), ('b', 'tip'))}<length>0.6</length></rod></cuts>"
    f"<links><link><name>spring</name>{_ends(('base', 'above'), ('a', 'tip'))}</link></links></mbsDescR7>"
)


def declared() -> jd.Model:
    """The same system in Python."""
    m = jd.Model("two_bars")
    bars = [m.body(n, mass=1.0, com=(0.25, 0, 0), inertia=(0.01, 0.02, 0.02)) for n in "ab"]
    m.revolute("ja", m.ground, bars[0], axis="y")
    m.revolute("jb", m.ground.at(1.2, 0, 0), bars[1], axis="y")
    m.close("bar", bars[0].at(0.5, 0, 0), bars[1].at(0.5, 0, 0), "rod", length=0.6, convention="robotran")
    m.link("spring", m.ground.at(0.3, 0, 1.0), bars[0].at(0.5, 0, 0), law=m.input("spring.tension"))
    w = [m.input(f"push.{c}") for c in ("fx", "fy", "fz", "tx", "ty", "tz")]
    m.load("push", bars[0].at(0.5, 0, 0), force=w[:3], torque=w[3:])
    return m


def test_the_file_and_the_declared_model_move_alike(rng: np.random.Generator) -> None:
    systems = [jd.read_mbs(FILE).compile(), declared().compile()]
    x = np.array([0.3, 2.9, *rng.normal(size=2)])
    u = rng.normal(size=7)
    for name in ("descriptor", "constraints"):
        left, right = (
            s.function(name)(np.zeros(1), x, u) if name == "descriptor" else s.function(name)(np.zeros(1), x[:2]) for s in systems
        )
        for a, b in zip(left, right, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-14 * (1 + np.abs(b).max(initial=0.0)))
    assert [r.name for r in systems[0].equations_of_motion.rows] == ["bar[1]"]


def test_ignored_directions_of_a_cut_are_left_out() -> None:
    text = FILE.replace("<rod><name>bar</name>", "<ball><name>bar</name>").replace(
        "<length>0.6</length></rod>", "<ignore><y/><z/></ignore></ball>"
    )
    system = jd.read_mbs(text).compile()
    assert [r.name for r in system.equations_of_motion.rows] == ["bar[1]"]
