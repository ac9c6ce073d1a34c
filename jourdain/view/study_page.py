"""The live page of a running study: how far it is, its designs, the front or the best so far, on loopback."""

from __future__ import annotations

import html
import json
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .server import Server


def study_page(
    title: str, criteria: Sequence[str], variables: Mapping[str, str], watch: bool | Callable[[str], Any], judged: bool = True
) -> Server:
    """Serves the page and opens it, or hands its address to a function; news are told by :meth:`.Server.tell`.

    ``variables`` have their units; rows of a study that is not ``judged`` are runs of which none is better than another.
    """
    about = {"criteria": list(criteria), "variables": list(variables), "units": list(variables.values()), "judged": judged}
    text = (Path(__file__).parent / "static" / "study.html").read_text(encoding="utf-8")
    inline = json.dumps(about).replace("<", "\\u003c")
    server = Server(text.replace("__TITLE__", html.escape(title)).replace("__ABOUT__", inline), set())
    if watch is True:
        webbrowser.open(server.url)
    elif callable(watch):
        watch(server.url)
    return server


__all__ = ["study_page"]
