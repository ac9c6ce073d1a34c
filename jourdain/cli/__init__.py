"""The command ``jourdain``: look at a model, print its equations, export its source, simulate it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .grammar import build_parser

__all__ = ["build_parser", "explanation", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status: 0, 2 with one line on the error output, or 130 after Ctrl-C."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.run is None:
        parser.print_help()
        return 0
    for stream in (sys.stdout, sys.stderr):  # a console that lacks a letter shows "?" instead of failing
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("jourdain: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if options.debug:
            raise
        print(f"jourdain: {explanation(error)}", file=sys.stderr)
        return 2
    return 130 if options.interrupted else 0


def explanation(error: Exception) -> str:
    """An error as one line, several errors of a file as one line each."""
    from ..errors import JourdainError

    text = "\n".join(" ".join(line.split()) for line in str(error).splitlines() if line.strip())
    if isinstance(error, (JourdainError, OSError)):
        return text
    if isinstance(error, ModuleNotFoundError):
        return f"the package '{error.name}' is needed for this: pip install {error.name}"
    return f"unexpected {type(error).__name__}: {text} (--debug shows where)"
