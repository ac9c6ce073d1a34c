"""Notes of importers: every one is kept, all are printed by one warning."""

from __future__ import annotations

import warnings

import pytest

import jourdain as jd
from jourdain.io.notes import QUOTED, LeftOut, tell


def test_notes_are_kept_once_and_told_in_one_warning() -> None:
    model = jd.Model("m")
    model.notes.append("first")
    with pytest.warns(LeftOut) as caught:
        tell(model, ["second", "first", "second"], stacklevel=2)
    assert model.notes == ["first", "second"]
    assert len(caught) == 1 and caught[0].filename == __file__
    assert str(caught[0].message) == "model 'm' (model.notes):\n  - first\n  - second"


def test_a_long_list_is_cut_in_the_warning_alone() -> None:
    model = jd.Model("m")
    with pytest.warns(LeftOut, match="… and 3 more in model.notes"):
        tell(model, [f"note {k}" for k in range(QUOTED + 3)])
    assert len(model.notes) == QUOTED + 3


def test_nothing_left_out_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tell(jd.Model("m"), [])
