"""Workers: where the runs of a study are done.  One seam for sweeps, design problems, fronts and identification.

``workers`` is None (the caller itself) or a number (threads); ``"processes"`` or ``"processes:4"``; the address of a Dask cluster,
``"tcp://10.0.0.5:8786"``; or any :class:`concurrent.futures.Executor` (also a Dask client).  A run depends on its job alone, so results are the
same to the last bit whatever the workers are.

Runs go in parcels that take about a twentieth of a second, on a cluster a fifth; the caller gets every parcel as soon as it is done, and keeps it.  A worker that dies
takes along at most its parcel, whose runs are then tried again alone; one that dies with its worker each time is marked and does not end the
study.  ``timeout`` ends a worker whose run gives no answer, with the same consequence.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from ..errors import InputError, JourdainError
from ..forking import lock
from ..native.lanes import thread_count

Workers = None | int | str | Executor | Any

#: The most runs in a parcel.
MOST = 256
#: Runs that a caller without workers does in one native loop at first, before their results are handed on.
SERIAL = 16
#: A run is marked when its worker has died this often.
TRIES = 3
#: How long a cluster may take to answer (s).
PATIENCE = 10.0


@dataclass(frozen=True)
class Failed:
    """A run without a result, and why."""

    message: str


class WorkersError(JourdainError, RuntimeError):
    """Workers that cannot be had, or that are gone."""


class OtherVersion(WorkersError):
    """A worker runs another version of this package or of Python."""


# -- at the worker ----------------------------------------------------------------------------------------------------

_TASKS: dict[str, Any] = {}
_READY = threading.local()
_FIRST = lock()


def attempt(task: Callable[[Any], Any], job: Any) -> Any:
    """The result of a job, or why there is none."""
    try:
        return task(job)
    except (JourdainError, ArithmeticError, np.linalg.LinAlgError) as error:
        return Failed(str(error))


def attempt_in_turn(task: Callable[[Any], Any], job: Any) -> Any:
    """The same; the first job that a thread does is done while no other does its own: machine code is loaded by one at a time."""
    if getattr(_READY, "task", None) is task:
        return attempt(task, job)
    with _FIRST:
        found = attempt(task, job)
    _READY.task = task
    return found


def _parcel(task: Callable[[Any], Any], jobs: Sequence[Any], timeout: float | None = None) -> tuple[float, list[Any]]:
    """Results of some jobs, and how long they took."""
    begun, found = time.perf_counter(), list[Any]()
    for i, job in enumerate(jobs):
        ready = getattr(_READY, "task", None) is task
        if (ready or _loops(task)) and timeout is None and (several := _at_once(task, jobs[i:])) is not None:
            found += several
            break
        with _watched(timeout):
            found.append(attempt_in_turn(task, job))
    return time.perf_counter() - begun, found


def _loops(task: Any) -> bool:
    """Whether a task does several jobs in one native loop, as far as it knows without a look at them."""
    return getattr(task, "alone", None) == ""


def _at_once(task: Any, jobs: Sequence[Any]) -> list[Any] | None:
    """Results of several jobs by a task that does them in one native loop; None where it does not.  For one job a loop is used, but not made."""
    many, made = getattr(task, "many", None), getattr(_READY, "loop", None) is task
    if many is None or (len(jobs) < 2 and not made):
        return None
    first: list[Any] | None = []
    if not made:
        with _FIRST:  # machine code is loaded by one at a time
            first = many(jobs[:2])
        _READY.loop = task
    if first is None or len(first) == len(jobs):
        return first
    rest = many(jobs[len(first) :])
    return None if rest is None else [*first, *rest]


def _sent_parcel(sent: bytes, jobs: bytes, version: str, timeout: float | None) -> tuple[float, list[Any]]:
    """The same where task and jobs came from another process."""
    if version != _version():
        raise OtherVersion(f"a worker has {_version()}, the caller {version}; give both the same")
    key = sha256(sent).hexdigest()
    with _FIRST:
        if key not in _TASKS:
            _TASKS[key] = pickle.loads(sent)
    task = _TASKS[key]
    seconds, found = _parcel(task, _by(task, "unpacked_jobs", pickle.loads(jobs)), timeout)
    return seconds, _by(task, "packed_results", found)


def _by(task: Any, name: str, *what: Any) -> Any:
    """Jobs or results as tables of numbers where a task has such a form (``packed_jobs``, ``unpacked_jobs``, ``packed_results``, ``unpacked_results``), else
    as they are: pickling many small objects takes longer than short runs."""
    form = getattr(task, name, None)
    return what[-1] if form is None else form(*what)


def _version() -> str:
    from .. import __version__

    return f"jourdain {__version__}, Python {sys.version_info.major}.{sys.version_info.minor}, NumPy {np.__version__}"


@contextmanager
def _watched(timeout: float | None) -> Iterator[None]:
    """Ends this process when a run takes longer; nothing else ends a run that hangs."""
    if timeout is None:
        yield
        return
    watch = threading.Timer(timeout, os._exit, (86,))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _begin_process() -> None:
    """Ctrl-C is the caller's; when the caller is gone, so is its worker."""
    from multiprocessing import parent_process
    from multiprocessing.connection import wait as gone

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def follow() -> None:
        if parent is not None:
            gone([parent.sentinel])
            os._exit(0)

    threading.Thread(target=follow, daemon=True).start()


# -- kinds of workers -------------------------------------------------------------------------------------------------


class Crew:
    """Workers of one kind, open for a study."""

    #: Whether they share the caller's memory, its file system; whether a run that hangs can be ended.
    same_memory = same_machine = ends_hung = False
    count = 1
    #: How long a parcel of runs takes (s), and how long one at least, so that handing it over does not cost more than it gains.
    parcel, least = 0.05, 0.0

    def __init__(self) -> None:
        #: How long a run took (s), by the sort of task: what the parcels of the next generation are made of.
        self.pace: dict[type, float] = {}

    def submit(self, task: Any, jobs: Sequence[Any], timeout: float | None) -> Future[tuple[float, list[Any]]]:
        """Begins a parcel."""
        raise NotImplementedError

    def again(self) -> None:
        """New workers for those that have died."""

    def check(self) -> None:
        """Raises where nobody is left who could answer."""

    def close(self, at_once: bool) -> None:
        """Lets the workers go."""


class _Threads(Crew):
    same_memory = same_machine = True
    least = 0.002

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.pool = ThreadPoolExecutor(count, thread_name_prefix="worker")

    def submit(self, task: Any, jobs: Sequence[Any], timeout: float | None) -> Future[tuple[float, list[Any]]]:
        return self.pool.submit(_parcel, task, jobs)

    def close(self, at_once: bool) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)


class _Sending(Crew):
    """Workers to whom task and jobs are sent."""

    def __init__(self) -> None:
        super().__init__()
        self._sent: tuple[Any, Any] = (None, None)

    def sent(self, task: Any) -> Any:
        """The task as bytes, made once."""
        if self._sent[0] is not task:
            self._sent = (task, self.placed(packed(task)))
        return self._sent[1]

    def placed(self, data: bytes) -> Any:
        """The bytes as they are handed to workers."""
        return data


class _Processes(_Sending):
    same_machine = ends_hung = True

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.again()

    def again(self) -> None:
        from multiprocessing import get_context

        # spawned: a fork of a process with threads and native code may stand still
        self.pool = ProcessPoolExecutor(self.count, mp_context=get_context("spawn"), initializer=_begin_process)

    def submit(self, task: Any, jobs: Sequence[Any], timeout: float | None) -> Future[tuple[float, list[Any]]]:
        return self.pool.submit(_sent_parcel, self.sent(task), packed(_by(task, "packed_jobs", jobs)), _version(), timeout)

    def close(self, at_once: bool) -> None:
        if at_once:
            for process in list((getattr(self.pool, "_processes", None) or {}).values()):
                process.kill()
        self.pool.shutdown(wait=True, cancel_futures=True)


class _Given(_Sending):
    """Any executor; it belongs to the caller and stays open."""

    def __init__(self, executor: Executor) -> None:
        super().__init__()
        self.executor = executor
        self.same_memory = self.same_machine = isinstance(executor, ThreadPoolExecutor)
        self.same_machine = self.same_memory or isinstance(executor, ProcessPoolExecutor)
        self.count = int(getattr(executor, "_max_workers", None) or thread_count())

    def submit(self, task: Any, jobs: Sequence[Any], timeout: float | None) -> Future[tuple[float, list[Any]]]:
        if self.same_memory:
            return self.executor.submit(_parcel, task, jobs)
        return self.executor.submit(_sent_parcel, self.sent(task), packed(_by(task, "packed_jobs", jobs)), _version(), timeout)

    def again(self) -> None:
        raise WorkersError("workers: the executor is broken (a worker died); results that were done are kept, call again with a new one")


class _Cluster(_Sending):
    """A Dask cluster: it places runs, and does those of a dead worker elsewhere."""

    ends_hung = True
    parcel, least = 0.2, 0.04  # a task costs Dask some 10 ms of processor time

    def __init__(self, client: Any, own: bool) -> None:
        super().__init__()
        self.client, self.own, self.address, self.told = client, own, str(getattr(client.scheduler, "address", "")), False
        self.executor = client.get_executor(pure=False)
        self.count = max(1, sum(client.nthreads().values()))

    def placed(self, data: bytes) -> Any:
        """As a result of the cluster itself, which it makes anew where the worker that had it has died."""
        return self.client.submit(bytes, data, pure=False)

    def submit(self, task: Any, jobs: Sequence[Any], timeout: float | None) -> Future[tuple[float, list[Any]]]:
        sent = self.sent(task), packed(_by(task, "packed_jobs", jobs)), _version(), timeout
        found: Future[tuple[float, list[Any]]] = self.executor.submit(_sent_parcel, *sent)
        return found

    def check(self) -> None:
        """A scheduler that is gone ends the study; without workers it waits, and says so."""
        if self.client.status in ("closed", "closing", "closing-report"):
            raise WorkersError(
                f"workers: the cluster at '{self.address}' is gone; results that were done are kept with store=, with which the same call goes on"
            )
        if self.client.status == "running" and not self.told and not self.client.nthreads():
            self.told = True
            warnings.warn(
                f"workers: the cluster at '{self.address}' has no workers left; the study waits for some (dask worker {self.address})",
                stacklevel=2,
            )

    def close(self, at_once: bool) -> None:
        self.executor.shutdown(wait=not at_once)
        self._sent = (None, None)
        if self.own:
            self.client.close()


def packed(value: Any) -> bytes:
    """Bytes to send: code of scripts and lambdas goes along where cloudpickle is installed."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    try:
        from cloudpickle import dumps
    except ImportError:
        dumps = pickle.dumps
    try:
        return bytes(dumps(value))
    except Exception as error:
        remedy = "define functions at the top of a module, or install jourdain[cluster]" if dumps is pickle.dumps else "use threads"
        raise InputError(f"workers: the task cannot be sent to another process ({error}); {remedy}") from error


def crew_of(workers: Workers, most: int | None = None) -> Crew | None:
    """The workers meant by ``workers``; None is the caller itself."""
    if workers is None:
        return None
    if isinstance(workers, Executor):
        return _Given(workers)
    if hasattr(workers, "get_executor"):
        return _Cluster(workers, own=False)
    if isinstance(workers, str):
        return _by_name(workers, most)
    if isinstance(workers, bool) or not isinstance(workers, (int, np.integer)) or workers < 1:
        raise InputError(
            f"workers = {workers!r} must be a number of threads from 1 on, 'processes', the address of a cluster such as 'tcp://10.0.0.5:8786', or an executor"
        )
    count = min(int(workers), most or int(workers))
    return None if count == 1 else _Threads(count)


def _by_name(word: str, most: int | None) -> Crew:
    kind, _, number = word.partition(":")
    if kind == "processes":
        if number and not (number.isdigit() and int(number) > 0):
            raise InputError(f"workers = '{word}': write 'processes', or 'processes:4' for a number of them")
        return _Processes(min(int(number or thread_count()), most or MOST))
    if "://" not in word:
        raise InputError(
            f"workers = '{word}' is unknown; use a number of threads, 'processes', or the address of a cluster such as 'tcp://10.0.0.5:8786'"
        )
    try:
        from distributed import Client
    except ImportError:
        raise InputError(f"workers = '{word}': a cluster needs Dask; install it with: pip install 'jourdain[cluster]'") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            client = Client(word, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"workers: the cluster at '{word}' gives no answer ({error}); is a scheduler running there (dask scheduler)?"
        ) from None
    if not client.nthreads():
        client.close()
        raise InputError(f"workers: the cluster at '{word}' has no workers; start some (dask worker {word})")
    return _Cluster(client, own=True)


@contextmanager
def crew_for(workers: Workers) -> Iterator[Crew | None]:
    """Workers that stay for all parts of a study."""
    crew, done = crew_of(workers), False
    try:
        yield crew
        done = True
    finally:
        if crew is not None:
            crew.close(not done)


# -- the study --------------------------------------------------------------------------------------------------------


def results(
    task: Callable[[Any], Any], jobs: Sequence[Any], workers: Workers = None, *, timeout: float | None = None, crew: Crew | None = None
) -> Iterator[tuple[int, Any]]:
    """Numbers of jobs with their results, or :class:`Failed`, as they come.  A crew that is given stays open."""
    if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
        raise InputError(f"workers: timeout = {timeout!r} must be a positive number of seconds")
    own = crew is None and len(jobs) > 0
    crew = crew_of(workers, len(jobs)) if own else crew
    if timeout is not None and not (crew is not None and crew.ends_hung):
        if own and crew is not None:
            crew.close(True)
        raise InputError(
            "workers: a run that hangs can be ended in another process only; use workers='processes' or a cluster with timeout="
        )
    if crew is None:
        yield from _serially(task, jobs)
        return
    done = False
    try:
        yield from _Study(crew, task, jobs, timeout).run()
        done = True
    finally:
        if own:
            crew.close(not done)


def _serially(task: Any, jobs: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Results of a caller without workers: one by one, or in native loops about as long as a parcel."""
    first, size = 0, SERIAL
    while first < len(jobs):
        some, begun = jobs[first : first + size], time.perf_counter()
        several = _at_once(task, some)
        pace = (time.perf_counter() - begun) / len(some)
        yield from enumerate((attempt(task, job) for job in some) if several is None else several, first)
        first, size = first + len(some), max(1, min(MOST, 4 * size, int(Crew.parcel / max(pace, 1e-6))))


@dataclass
class _Study:
    """Jobs that wait, that are out, and that were out when a worker died."""

    crew: Crew
    task: Any
    jobs: Sequence[Any]
    timeout: float | None
    out: dict[Future[tuple[float, list[Any]]], list[int]] = field(default_factory=dict)
    deaths: dict[int, int] = field(default_factory=dict)
    size: int = 1

    def __post_init__(self) -> None:
        if type(self.task) in self.crew.pace:
            self.size = self._runs_in(self.crew.parcel)
        elif _loops(self.task):
            self.size = 2  # for less no loop is made

    def run(self) -> Iterator[tuple[int, Any]]:
        """Results as they come."""
        waiting, alone = deque(range(len(self.jobs))), deque[int]()
        if (
            self.crew.same_memory and waiting and type(self.task) not in self.crew.pace and not _loops(self.task)
        ):  # derives and compiles what all need
            first = waiting.popleft()
            yield first, attempt(self.task, self.jobs[first])
        try:
            while waiting or alone or self.out:
                while waiting and len(self.out) < 2 * self.crew.count:
                    parcel = [waiting.popleft() for _ in range(self._next_size(len(waiting)))]
                    if not self._send(parcel, alone):
                        break
                if alone and not self.out:  # a run that may have ended its worker goes without company
                    self._send([alone.popleft()], alone)
                done = wait(self.out, PATIENCE, return_when=FIRST_COMPLETED).done if self.out else ()
                if self.out and not done:
                    self.crew.check()
                for future in done:
                    yield from self._received(future, self.out.pop(future), alone)
        finally:
            for future in self.out:
                future.cancel()

    def _next_size(self, left: int) -> int:
        """Runs in the next parcel: as long as a parcel is, and not all for one worker."""
        shared = max(left // (2 * self.crew.count), self._runs_in(self.crew.least))
        return max(1, min(self.size, shared, left))

    def _runs_in(self, seconds: float) -> int:
        """How many runs take so long, as far as is known."""
        pace = self.crew.pace.get(type(self.task))
        return 1 if pace is None else max(1, min(MOST, int(seconds / pace)))

    def _send(self, parcel: list[int], alone: deque[int]) -> bool:
        try:
            self.out[self.crew.submit(self.task, [self.jobs[i] for i in parcel], self.timeout)] = parcel
        except BrokenExecutor:  # a worker died between two parcels
            alone.extend(parcel)
            if not self.out:
                self.crew.again()
            return False
        return True

    def _received(self, future: Future[tuple[float, list[Any]]], parcel: list[int], alone: deque[int]) -> Iterator[tuple[int, Any]]:
        try:
            seconds, found = future.result()
        except Exception as error:
            if not _died(error):
                raise
            yield from self._lost(error, parcel, alone)
            return
        if not self.crew.same_memory:
            found = _by(self.task, "unpacked_results", [self.jobs[i] for i in parcel], found)
        self.crew.pace[type(self.task)] = max(seconds, 1e-6) / len(parcel)
        self.size = min(self._runs_in(self.crew.parcel), 4 * self.size)
        yield from zip(parcel, found, strict=True)

    def _lost(self, error: Exception, parcel: list[int], alone: deque[int]) -> Iterator[tuple[int, Any]]:
        """A worker has died with a parcel."""
        self.crew.check()
        self.size = 1
        for i in parcel:
            lonely = len(parcel) == 1 and not self.out
            self.deaths[i] = self.deaths.get(i, 0) + (1 if lonely or isinstance(error, OtherVersion) else 0)
            if self.deaths[i] >= TRIES:
                yield i, Failed(_told(error, self.timeout))
            else:
                alone.append(i)
        if isinstance(error, BrokenExecutor) and not self.out:
            self.crew.close(True)
            self.crew.again()


def _died(error: Exception) -> bool:
    """Whether an error is the loss of a worker, and no fault of the task."""
    return isinstance(error, (BrokenExecutor, OtherVersion)) or type(error).__name__ in (
        "KilledWorker",
        "CancelledError",
        "FutureCancelledError",
    )


def _told(error: Exception, timeout: float | None) -> str:
    if isinstance(error, OtherVersion):
        return str(error)
    slow = "" if timeout is None else f" or gave no answer within {timeout:g} s"
    return f"its worker died{slow}, {TRIES} times"


__all__ = [
    "Crew",
    "Failed",
    "OtherVersion",
    "Workers",
    "WorkersError",
    "attempt",
    "attempt_in_turn",
    "crew_for",
    "crew_of",
    "packed",
    "results",
]
