"""Sliders in a notebook: the page in a frame whose questions go to the kernel through a widget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jourdain.errors import InputError, JourdainError

if TYPE_CHECKING:
    from jourdain.view.explore import Explorer

#: The widget's side of the browser: it shows the page and carries messages between its frame and the kernel.
CARRIER = """
export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width:100%;height:${model.get("height")}px;border:0;border-radius:10px`;
    frame.allow = "fullscreen";
    frame.srcdoc = model.get("page");
    const ask = (event) => { if (event.source === frame.contentWindow && event.data?.ask) model.send(event.data); };
    const answer = (message) => frame.contentWindow?.postMessage(message, "*");
    window.addEventListener("message", ask);
    model.on("msg:custom", answer);
    el.append(frame);
    return () => { window.removeEventListener("message", ask); model.off("msg:custom", answer); };
  },
};
"""


def sliders(explorer: Explorer, height: int = 560, theme: str = "auto") -> Any:
    """The widget of an exploration; ``widget.explorer`` computes."""
    try:
        import anywidget
        import traitlets
    except ImportError as missing:
        raise InputError("explore in a notebook needs the package anywidget: pip install 'jourdain[notebook]'") from missing

    class Sliders(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = CARRIER
        page = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)

    widget = Sliders(page=explorer.page("parent", theme), height=height)
    widget.explorer = explorer

    def heard(_: Any, message: Any, __: Any) -> None:
        if isinstance(message, Mapping) and "ask" in message:
            widget.send({"answer": message["ask"], "value": _answered(explorer, message.get("value"))})

    widget.on_msg(heard)
    return widget


def _answered(explorer: Explorer, question: Any) -> Mapping[str, Any]:
    try:
        return explorer.answer(question if isinstance(question, Mapping) else {})
    except JourdainError as error:
        return {"error": str(error)}


__all__ = ["sliders"]
