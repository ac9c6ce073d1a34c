"""A page of a front: designs as points and as lines over all criteria and variables, brushed by dragging, each played where it is clicked."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..results.whole_file import write_whole

if TYPE_CHECKING:
    from ..analysis.design.front import Front


def save_front_page(front: Front, path: str | os.PathLike[str], play: bool = True, **options: Any) -> Path:
    """Writes the page, and with ``play`` beside it a folder with the motion of every design (``options`` are those of ``save_page``)."""
    target = Path(path)
    if not len(front):
        raise InputError("front: there is no design to show")
    problem = front.problem
    names = [*problem.minimise, *(v.name for v in problem.variables)]
    units = [*(problem.space.units.get(n) or "" for n in problem.minimise), *(v.unit for v in problem.variables)]
    folder = target.with_suffix("")
    rows = []
    for i, d in enumerate(front.designs):
        row: dict[str, Any] = {"x": [float(x) for x in (*d.criteria.values(), *d.values.values())]}
        result: Any = d.run() if play else None
        if hasattr(result, "save_page"):
            folder.mkdir(parents=True, exist_ok=True)
            result.save_page(folder / f"design-{i}.html", **options)
            row["page"] = f"{folder.name}/design-{i}.html"
        rows.append(row)
    knee = next(i for i, d in enumerate(front.designs) if d is front.knee)
    title = f"{problem.analysis.system.model.name}: {len(front)} designs ({front.method})"
    data = {"names": names, "units": units, "criteria": len(problem.minimise), "rows": rows, "knee": knee}
    text = (Path(__file__).parent / "static" / "front.html").read_text(encoding="utf-8")
    inline = json.dumps(data).replace("<", "\\u003c")
    return write_whole(target, text.replace("__TITLE__", html.escape(title)).replace("__DATA__", inline))


__all__ = ["save_front_page"]
