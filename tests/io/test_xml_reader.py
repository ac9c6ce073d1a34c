"""XML as data: entities and document types refused, sizes bounded, mutated files never worse than an error."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain import InputError, JourdainError
from jourdain.io import read_mbs, read_mjcf, read_urdf, xml_reader
from jourdain.io.xml_reader import read_xml
from jourdain.model.shapes import box
from jourdain.model.units import unit
from tests.io.test_mbs import CAR
from tests.io.test_mjcf import MODELS, SITES
from tests.io.test_urdf import CHAIN, robot, visual

BOMB = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"/>'
LEAK = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot><link name="a">&x;</link></robot>'
OUTSIDE = '<!DOCTYPE robot SYSTEM "http://example.org/r.dtd"><robot/>'


@pytest.mark.parametrize("text", [BOMB, LEAK, OUTSIDE], ids=["bomb", "leak", "outside"])
@pytest.mark.parametrize("reader", [read_urdf, read_mjcf, read_mbs])
def test_entities_are_refused(text: str, reader: Callable[[str], Any]) -> None:
    with pytest.raises(InputError, match="line 1: document types and entities are refused"):
        reader(text)


def test_elements_know_their_lines() -> None:
    root, path = read_xml('<a>\n  <b name="x">\n1 2</b></a>')
    assert path is None and root.children[0].line == 2 and root.children[0].content() == "1 2"


@pytest.mark.parametrize("word", ["٣", "３", "१.५", "1e٣", "1٣", "1_0", "²", "½"])
def test_numbers_are_written_in_the_digits_0_to_9(word: str) -> None:
    # Python takes digits of every script, and underscores between them, for numbers
    with pytest.raises(InputError):
        read_urdf(f'<robot name="r"><link name="a"><inertial><mass value="{word}"/></inertial></link></robot>')
    with pytest.raises(InputError):
        read_mjcf(f'<mujoco><worldbody><body pos="0 0 {word}"/></worldbody></mujoco>')
    for text in (f"{word} mm", word):
        with pytest.raises(JourdainError):
            box(text, 1.0, 1.0)
    with pytest.raises(JourdainError):
        unit(f"m^{word}" if word not in ("²", "½") else f"m^(2{word})")


def test_bad_texts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2: the XML is not well formed"):
        read_xml("<a>\n<b></a>")
    with pytest.raises(InputError, match="cannot be read"):
        read_xml(tmp_path / "none.urdf")
    with pytest.raises(InputError, match="cannot be read"):
        read_xml("no\0where.urdf")
    with pytest.raises(InputError, match="neither a path nor XML"):
        read_xml(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="encoding"):
        read_xml(b'<?xml version="1.0" encoding="klingon"?><a/>')


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deep = "<a>" * 1000 + "</a>" * 1000
    with pytest.raises(InputError, match="nested more than"):
        read_xml(deep)
    monkeypatch.setattr(xml_reader, "MAX_ELEMENTS", 10)
    with pytest.raises(InputError, match="more than 10 elements"):
        read_xml("<a>" + "<b/>" * 20 + "</a>")
    monkeypatch.setattr(xml_reader, "MAX_BYTES", 100)
    file = tmp_path / "big.xml"
    file.write_text("<a>" + " " * 200 + "</a>")
    for source in (file, file.read_text(), file.read_bytes()):
        with pytest.raises(InputError, match="bytes; at most 100 are read"):
            read_xml(source)


def test_huge_numbers_of_a_chain_do_not_hang() -> None:
    n = 3000
    links = "".join(f'<link name="l{i}"/>' for i in range(n + 1))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/><mimic joint="j{(i + 1) % n}"/></joint>'
        for i in range(n)
    )
    with pytest.raises(JourdainError, match="mimic each other in a circle"):
        read_urdf(f"<robot>{links}{joints}</robot>")


SEEDS: list[tuple[Callable[[str], Any], str]] = [
    (read_urdf, CHAIN),
    (read_urdf, robot(links="a", inside=visual('<mesh filename="package://a/b.stl" scale="1 1 1"/>'))),
    (read_mbs, CAR),
    *((read_mjcf, text) for text in (*MODELS.values(), SITES)),
]
JUNK = [
    "nan", "inf", "-1", "0", "1e308", "1e-320", "", " ", "1 2", "1 2 3", "true", "a", "ground", "base", "../..",
    "\x00", "é", "😀", "<", ">", "&amp;", "&lt;", '"', "'", "/>", "<b/>", "</body>", "<body>", "<joint/>",
    "name", "mass", "type", "pos", "size", "0 0 0", "1 0 0 0", "<!--", "-->", "<![CDATA[", "]]>", "<?x?>",
    "99999999999999999999", "1_0", "0x10", "٣",
]  # fmt: skip


def mutated(text: str, rng: random.Random) -> str:
    """A few pieces cut out, doubled, exchanged or replaced by junk, at the borders of words."""
    words = re.split(r"(\W)", text)
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(words))
        j = min(len(words), i + rng.choice([1, 1, 2, 5, 20, 100]))
        action = rng.randrange(4)
        if action == 0:
            del words[i:j]
        elif action == 1:
            words[i:i] = words[i:j]
        elif action == 2:
            words[i] = rng.choice(JUNK)
        else:
            k = rng.randrange(len(words))
            words[i], words[k] = words[k], words[i]
        if not words:
            break
    return "".join(words)


@settings(max_examples=400)
@given(st.sampled_from(SEEDS), st.randoms(use_true_random=False))
def test_mutated_files_load_or_say_why(seed: tuple[Callable[[str], Any], str], rng: random.Random) -> None:
    reader, text = seed
    broken = mutated(text, rng)
    if not broken.lstrip().startswith("<"):
        return
    try:
        model = reader(broken)
        assert model.topology is not None
        model.check()
    except JourdainError:
        pass


@settings(max_examples=100)
@given(st.sampled_from([read_urdf, read_mjcf, read_mbs]), st.text(max_size=80))
def test_any_text_at_all(reader: Callable[[str], Any], text: str) -> None:
    with pytest.raises(JourdainError):
        reader("<" + text)
