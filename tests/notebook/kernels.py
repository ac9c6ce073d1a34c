"""Notebooks executed by a kernel of their own."""

from __future__ import annotations

from typing import Any

import pytest


def execute(*cells: str, widgets: bool = False) -> list[dict[str, Any]]:
    """Runs cells one after the other; for each what it shows, by MIME type, the last of several displays winning, and how many ``times`` something is."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    nbclient.NotebookClient(book, timeout=240, kernel_name="python3", store_widget_state=widgets).execute()
    shown = []
    for cell in book.cells:
        data: dict[str, Any] = {}
        for output in cell.outputs:
            data |= output.get("data", {})
            data["times"] = data.get("times", 0) + (output.output_type in ("display_data", "execute_result"))
            if output.output_type == "stream":
                data[output.name] = data.get(output.name, "") + output.text
        shown.append(data)
    return shown
