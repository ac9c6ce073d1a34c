"""Results of runs: solutions with named channels and units, files, tables, plots and the store."""

from jourdain.results.channel import Channel, UnknownChannelError
from jourdain.results.exchange import MissingExtraError, from_pandas
from jourdain.results.files import ResultFileError, load_solution, save_solution
from jourdain.results.frames import FrameMotion
from jourdain.results.run_writer import RunWriter
from jourdain.results.solution import Sample, Solution
from jourdain.results.store import RunRecord, Store

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
