"""The page: self-contained, safe, and carrying the motion within the stated bound."""

from __future__ import annotations

import json
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from jourdain.errors import InputError
from jourdain.view import Body, Channel, Inline, Run, Scene, Track, page_html, save_page
from jourdain.view.camera import extent
from jourdain.view.page import BOUNDS, pack
from jourdain.view.shape import box
from jourdain.view.tracks import unpack


class Elements(HTMLParser):
    """Tags with attributes, and the text of elements that have an id."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._id: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._id = dict(attrs).get("id")

    def handle_data(self, data: str) -> None:
        if self._id:
            self.texts[self._id] = self.texts.get(self._id, "") + data


def test_nothing_is_loaded_from_elsewhere(scene: Scene) -> None:
    elements = Elements(page_html(scene))
    for tag, attributes in elements.tags:
        assert not attributes.get("src"), tag
        assert (attributes.get("href") or "data:").startswith("data:")
    style = page_html(scene).split("<style>")[1].split("</style>")[0]
    assert "url(" not in style and "@import" not in style


@pytest.mark.parametrize("tolerance", [None, 1e-4])
def test_the_page_holds_the_motion_within_its_bound(scene: Scene, tolerance: float | None) -> None:
    packed = pack(scene, tolerance)
    blocks = unpack(packed.data["blocks"], packed.tracks)
    assert packed.tolerance == (tolerance or BOUNDS[0][0])
    for run, data in zip(scene.runs, packed.data["runs"], strict=True):
        assert np.array_equal(blocks[data["times"]][:, 0], run.times)
        for name, track in run.bodies.items():
            block = blocks[data["bodies"][name]]
            assert np.max(np.abs(block[:, :3] - track.positions)) <= packed.tolerance * extent(scene).size
            assert np.max(np.abs(block[:, 3:] - track.quaternions)) <= packed.tolerance / 2
        for channel, entry in zip(run.channels, data["channels"], strict=True):
            error = np.max(np.abs(blocks[entry["block"]][:, 0] - channel.values))
            assert error <= 1e-5 * np.ptp(np.asarray(channel.values))


def test_names_cannot_break_out_of_the_page() -> None:
    evil = "</script><script>alert(1)</script>{{tracks}}"
    scene = Scene(evil, [Body(evil, [box(1, 1, 1)], info={evil: float("nan")})])
    page = page_html(scene)
    assert evil not in page
    scripts = [attributes for tag, attributes in Elements(page).tags if tag == "script"]
    assert len(scripts) == 4
    data = json.loads(Elements(page).texts["scene"])
    assert data["bodies"][0]["name"] == evil
    assert data["bodies"][0]["info"][evil] == "nan"


def test_a_long_wild_motion_is_coarsened_and_says_so(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    positions = rng.normal(size=(4000, 3))
    scene = Scene("wild", [Body("b", [box(1, 1, 1)])], runs=[Run(np.arange(4000), {"b": Track(positions)})])
    monkeypatch.setattr("jourdain.view.page.BOUNDS", tuple((bound, 2e4) for bound, _ in BOUNDS))
    with pytest.warns(UserWarning, match="keeps positions to 0.0001 of the scene"):
        packed = pack(scene)
    assert packed.tolerance == 1e-4
    assert len(packed.tracks) < len(pack(scene, 1e-6).tracks)


def test_an_ordinary_page_is_small_and_silent(scene: Scene, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = save_page(scene, tmp_path / "scene.html")
    assert path.stat().st_size < 500_000


def test_inline_is_a_frame_with_the_whole_page(scene: Scene) -> None:
    text = Inline(scene, height=300)._repr_html_()
    frame = Elements(text).tags[0]
    assert frame[0] == "iframe" and "height:300px" in (frame[1]["style"] or "")
    assert frame[1]["srcdoc"] == page_html(scene)


def test_gaps_in_a_channel_stay_gaps() -> None:
    run = Run([0, 1, 2], {}, channels=[Channel("c", [1.0, np.nan, 3.0])])
    packed = pack(Scene("gaps", [Body("b")], runs=[run]))
    values = unpack(packed.data["blocks"], packed.tracks)[packed.data["runs"][0]["channels"][0]["block"]]
    assert np.array_equal(values[:, 0], [1, np.nan, 3], equal_nan=True)


@pytest.mark.parametrize(("option", "value"), [("theme", "pink"), ("tolerance", 2.0)])
def test_bad_options_are_named(scene: Scene, option: str, value: object) -> None:
    with pytest.raises(InputError, match=re.escape(str(value))):
        page_html(scene, **{option: value})  # type: ignore[arg-type]


def test_the_licence_of_the_vendored_library_is_there() -> None:
    static = Path(__import__("jourdain.view", fromlist=["view"]).__file__).parent / "static"
    assert "MIT" in (static / "three.LICENSE").read_text()
    assert (static / "three.module.min.js").stat().st_size > 500_000
