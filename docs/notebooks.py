"""A tutorial notebook as a page of the site: executed, its text, code and what its cells show."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from site_parts import highlight, markdown


def executed(path: Path) -> Any:
    """The notebook with what its cells give."""
    import nbclient
    import nbformat

    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    return book


def notebook_page(path: Path) -> str:
    """The body of the page, with a link to the notebook itself."""
    parts = []
    for cell in executed(path).cells:
        if cell.cell_type == "markdown":
            parts.append(markdown(cell.source))
        else:
            parts += [highlight(cell.source, "python"), *map(_output, cell.outputs)]
    note = f'<p><a href="{path.name}" download>This page as a notebook</a>: open it in JupyterLab, VS Code or Colab and change it.</p>'
    return "\n".join([parts[0], note, *parts[1:]])


def _output(output: Any) -> str:
    if output.output_type == "stream":
        return f"<pre>{html.escape(output.text)}</pre>" if output.name == "stdout" else ""
    data = output.get("data", {})
    if "application/vnd.jupyter.widget-view+json" in data:
        return "<p><em>Here the notebook has sliders; they need a running kernel.</em></p>"
    if "text/html" in data:
        return str(data["text/html"])
    if "text/latex" in data:
        return markdown(str(data["text/latex"]))
    if "image/png" in data:
        return f'<img alt="plot" src="data:image/png;base64,{data["image/png"].strip()}">'
    return f"<pre>{html.escape(str(data.get('text/plain', '')))}</pre>"


def notebook_title(path: Path) -> str:
    """The first heading of a notebook."""
    import json

    text = "".join(
        "".join(c["source"]) + "\n" for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "markdown"
    )
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else path.stem
