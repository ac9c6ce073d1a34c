"""What the documentation and the gallery share: the shell of a page, Markdown with equations, highlighted code, a check of links."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

STYLE = """
:root { --ink: #1c232b; --soft: #5c6773; --line: #dde2e7; --paper: #ffffff; --panel: #f5f7f9; --accent: #2a5db0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e8ee; --soft: #9aa6b3; --line: #333c47; --paper: #161b21; --panel: #1e252d; --accent: #82aef5; }
  img.plot { filter: invert(0.9) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); font: 16px/1.55 system-ui, sans-serif; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
.frame { display: grid; grid-template-columns: 16rem minmax(0, 1fr); max-width: 84rem; margin: auto; }
nav { padding: 1.6rem 1rem; border-right: 1px solid var(--line); font-size: 0.92rem; position: sticky; top: 0; height: 100vh; overflow-y: auto; }
nav h2 { font-size: 0.75rem; letter-spacing: 0.06em; text-transform: uppercase; color: var(--soft); margin: 1.2rem 0 0.3rem; border: 0; }
nav a { display: block; padding: 0.12rem 0.4rem; border-radius: 4px; } nav a.here { background: var(--panel); font-weight: 600; }
main { padding: 1.2rem 2.4rem 4rem; min-width: 0; } .wide main { max-width: 84rem; margin: auto; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); padding-bottom: 0.2rem; }
pre { background: var(--panel); padding: 0.8rem 1rem; border-radius: 6px; overflow-x: auto; font-size: 0.86rem; line-height: 1.45; }
code { font-family: ui-monospace, monospace; font-size: 0.9em; } :not(pre) > code { background: var(--panel); padding: 0.08em 0.3em; border-radius: 4px; }
table { border-collapse: collapse; display: block; overflow-x: auto; } th, td { border: 1px solid var(--line); padding: 0.3rem 0.7rem; text-align: left; }
math[display=block], .equation { display: block; overflow-x: auto; margin: 1rem 0; font-size: 1.1em; }
img { max-width: 100%; } iframe { width: 100%; aspect-ratio: 16 / 9; border: 1px solid var(--line); border-radius: 8px; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: 1.4rem; }
.card { border: 1px solid var(--line); border-radius: 10px; overflow: hidden; background: var(--panel); display: flex; flex-direction: column; }
.card img { display: block; width: 100%; aspect-ratio: 16 / 9; object-fit: cover; } .card div { padding: 0.7rem 1rem 1rem; }
.card h2 { font-size: 1.05rem; margin: 0 0 0.3rem; border: 0; } .card p { margin: 0 0 0.6rem; color: var(--soft); font-size: 0.92rem; }
dt { margin-top: 1.2rem; } dt code { background: none; padding: 0; } dd { margin: 0.2rem 0 0 1.6rem; }
@media (max-width: 50rem) { .frame { display: block; } nav { position: static; height: auto; border-right: 0; } main { padding: 1rem; } }
"""


def shell(title: str, body: str, nav: str = "") -> str:
    """A complete HTML page; with a navigation it has two columns."""
    content = f'<div class="frame"><nav>{nav}</nav><main>{body}</main></div>' if nav else f'<div class="wide"><main>{body}</main></div>'
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{STYLE}{code_style()}</style></head><body>{content}</body></html>\n"
    )


def code_style() -> str:
    """Colours of highlighted code, for light and dark paper."""
    from pygments.formatters import HtmlFormatter

    def rules(style: str) -> str:
        lines = HtmlFormatter(style=style).get_style_defs(".code").splitlines()
        return "\n".join(line for line in lines if line.startswith(".code .") and "background" not in line)

    return f"{rules('default')}\n@media (prefers-color-scheme: dark) {{ {rules('github-dark')} }}"


def highlight(code: str, language: str) -> str:
    """Code in colours; plain text where the language is unknown."""
    from pygments import highlight as colour
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language or "text")
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    return f'<pre class="code">{colour(code, lexer, HtmlFormatter(nowrap=True))}</pre>'


def equation(latex: str, block: bool = True) -> str:
    """LaTeX as MathML, which browsers draw without any script."""
    from latex2mathml.converter import convert

    text = convert(latex.strip(), display="block" if block else "inline")
    return f'<div class="equation">{text}</div>' if block else text


def markdown(text: str) -> str:
    """Markdown with tables, equations between dollar signs, headings with anchors and highlighted code."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.anchors import anchors_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    reader = MarkdownIt("commonmark", {"highlight": lambda code, language, _: highlight(code, language)}).enable("table")
    reader.use(anchors_plugin, max_level=3)
    reader.use(dollarmath_plugin, renderer=lambda latex, options: equation(latex, options["display_mode"]), double_inline=True)
    return str(reader.render(text))


class _Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attributes: Sequence[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and name in ("href", "src"):
                self.links.append(value)
            if value and name == "id":
                self.anchors.add(value)


def broken_links(folder: Path) -> list[str]:
    """Links of the pages in a folder that lead to no file or to no heading."""
    pages: dict[Path, _Page] = {}
    for path in sorted(folder.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        if 'id="scene"' not in text:  # a page of the viewer has no links, and takes words such as #play as commands
            page = _Page()
            page.feed(text)
            pages[path.resolve()] = page
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("data:"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            if not target.is_file() or (parts.fragment and known is not None and unquote(parts.fragment) not in known.anchors):
                wrong.append(f"{path.relative_to(folder.resolve())}: {link}")
    return wrong


def relative(target: Path, page: Path) -> str:
    """The address of a file as seen from a page."""
    return Path(os.path.relpath(target, page.parent)).as_posix()


def first_heading(text: str) -> str:
    """The title of a Markdown page."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else "untitled"
