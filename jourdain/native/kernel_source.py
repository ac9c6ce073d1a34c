"""A Python function as the writer of kernels reads it: its syntax tree, and what the names in it mean."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

from .kernel_types import KernelError


@cache
def _syntax(file: str) -> dict[int, ast.FunctionDef]:
    """Functions of a source file by the lines on which they (or their decorators) begin."""
    found = {}
    for node in ast.walk(ast.parse("".join(linecache.getlines(file)))):
        if isinstance(node, ast.FunctionDef):
            found[min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node
    return found


class Source:
    """A Python function in the kernel language."""

    def __init__(self, function: Callable[..., Any], inlined: bool = False) -> None:
        self.python, self.inlined = function, inlined
        self.name, self.file = function.__name__, function.__code__.co_filename
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self.__wrapped__ = function

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """The function's syntax tree."""
        return _syntax(self.file)[self.python.__code__.co_firstlineno]

    @property
    def arguments(self) -> list[str]:
        """Names of the arguments."""
        return [a.arg for a in self.tree.args.args]

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Values of arguments that need not be given."""
        found = inspect.signature(self.python).parameters.values()
        return {p.name: p.default for p in found if p.default is not p.empty}

    @cached_property
    def around(self) -> dict[str, Any]:
        """Values of names that belong to a function around this one."""
        cells = self.python.__closure__ or ()
        return {n: c.cell_contents for n, c in zip(self.python.__code__.co_freevars, cells, strict=True)}

    def lookup(self, name: str) -> Any:
        """What a name means outside the function."""
        for names in (self.around, self.python.__globals__, vars(builtins)):
            if name in names:
                return names[name]
        raise KernelError(f"the name {name} has no value")
