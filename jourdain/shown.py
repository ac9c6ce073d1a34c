"""What notebooks show of an object: the drawing, table or formulas of :mod:`jourdain.notebook`, found when they are asked for."""

from __future__ import annotations

from typing import Any

from .told import told


class Shown:
    """An object that users hold: the last value of a cell shows itself, without a drawing of its own by the text that ``print`` gives;
    and calls of its methods that do not fit are told.
    """

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        told(cls)

    def _repr_html_(self) -> str:
        from jourdain.notebook import html_of

        return html_of(self)


class Formulas(str):
    """Equations as text that notebooks typeset: ``formulas.latex`` is what they set."""

    latex: str

    def __new__(cls, text: str, latex: str) -> Formulas:
        made = super().__new__(cls, text)
        made.latex = latex
        return made

    def _repr_latex_(self) -> str:
        return displayed(self.latex)

    def __reduce__(self) -> tuple[Any, ...]:
        return Formulas, (str(self), self.latex)


class Typeset:
    """An object whose ``latex()`` notebooks typeset."""

    def _repr_latex_(self) -> str:
        return displayed(self.latex())  # type: ignore[attr-defined]


def displayed(latex: str) -> str:
    """Formulas between double dollars: ``aligned`` is the one environment of lines that MathJax and KaTeX both take there."""
    for name in ("align*", "align"):
        latex = latex.replace(rf"\begin{{{name}}}", r"\begin{aligned}").replace(rf"\end{{{name}}}", r"\end{aligned}")
    return f"$$\n{latex.strip()}\n$$"


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook (JupyterLab, VS Code, Colab)."""
    import sys

    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")


__all__ = ["Formulas", "Shown", "Typeset", "displayed", "in_notebook"]
