"""Results of runs: solutions with named channels and units, files, tables, plots and the store."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what loads later, for type checkers and editors
    from jourdain.results.channel import Channel, UnknownChannelError
    from jourdain.results.exchange import MissingExtraError, from_pandas
    from jourdain.results.files import ResultFileError, load_solution, save_solution
    from jourdain.results.frames import FrameMotion
    from jourdain.results.run_writer import RunWriter
    from jourdain.results.sample import Sample
    from jourdain.results.solution import Solution
    from jourdain.results.store import RunRecord, Store

#: Public names with their modules, which load when first used: a run needs neither files nor the store.
_LATER = {
    "Channel": "channel",
    "FrameMotion": "frames",
    "MissingExtraError": "exchange",
    "ResultFileError": "files",
    "RunRecord": "store",
    "RunWriter": "run_writer",
    "Sample": "sample",
    "Solution": "solution",
    "Store": "store",
    "UnknownChannelError": "channel",
    "from_pandas": "exchange",
    "load_solution": "files",
    "save_solution": "files",
}


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f"jourdain.results.{_LATER[name]}"), name)
    raise AttributeError(f"module 'jourdain.results' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "Channel",
    "FrameMotion",
    "MissingExtraError",
    "ResultFileError",
    "RunRecord",
    "RunWriter",
    "Sample",
    "Solution",
    "Store",
    "UnknownChannelError",
    "from_pandas",
    "load_solution",
    "save_solution",
]
