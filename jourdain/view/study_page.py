"""The live page of a running study: how far it is, its designs, the front or the best so far, on loopback."""

from __future__ import annotations

import html
import json
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .server import Server

if TYPE_CHECKING:
    from ..analysis.design.problem import Problem


def study_page(problem: Problem, what: str, watch: bool | Callable[[str], Any]) -> Server:
    """Serves the page and opens it, or hands its address to a function; news are told by :meth:`.Server.tell`."""
    title = f"{problem.analysis.system.model.name}: {what}"
    about = {
        "criteria": list(problem.minimise), "variables": [v.name for v in problem.variables], "units": [v.unit for v in problem.variables],
    }  # fmt: skip
    text = (Path(__file__).parent / "static" / "study.html").read_text(encoding="utf-8")
    inline = json.dumps(about).replace("<", "\\u003c")
    server = Server(text.replace("__TITLE__", html.escape(title)).replace("__ABOUT__", inline), set())
    if watch is True:
        webbrowser.open(server.url)
    elif callable(watch):
        watch(server.url)
    return server


__all__ = ["study_page"]
