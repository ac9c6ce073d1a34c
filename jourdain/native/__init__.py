"""Machine code from symbolic functions."""

from .function import Function, compile_function
from .lanes import thread_count

__all__ = ["Function", "compile_function", "thread_count"]
