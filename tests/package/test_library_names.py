"""Names of the library: what editors see is what is there, and asking for one field does not load the others."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from jourdain import library


def test_what_editors_see_is_what_is_loaded_on_demand():
    tree = ast.parse(Path(library.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {node.module: tuple(name.name for name in node.names) for node in block.body if isinstance(node, ast.ImportFrom)}
    assert seen == library._FIELDS
    assert {*library._PLACE, "human"} == set(library.__all__)
    assert all(callable(getattr(library, name)) for name in library.__all__)


def test_an_unknown_model_is_told():
    with pytest.raises(AttributeError, match="no attribute 'pendulums'"):
        library.pendulums  # noqa: B018


def test_a_pendulum_needs_no_finite_elements():
    code = "import sys; from jourdain import library; library.pendulum(); print('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
