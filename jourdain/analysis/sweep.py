"""Many simulations in one call: parameters, initial states and inputs vary, threads share the work, one table comes back."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import numpy as np

from ..errors import InputError, short
from ..model.contact.methods import contact_digest
from ..native.lanes import thread_count
from ..progress import counted
from ..results.identity import UnidentifiedError, identity
from ..results.solution import Solution
from ..results.store import Store
from ..shown import Shown
from ..told import outside
from .news import News, Watch, check_watch
from .workers import Failed, Workers, crew_of
from .workers import results as worked

if TYPE_CHECKING:
    import pandas

    from ..systems.state import State
    from ..systems.system import System
    from ..view.server import Server

Reader = Callable[[Solution], Any]
Outputs = Sequence[str | Reader] | Mapping[str, str | Reader] | None


@dataclass
class SweepResult(Shown):
    """One row for each run: its parameters, its outputs, its status ("done", "failed", "pending").

    ``result["name"]`` is a column; ``failures`` gives the message of each failed run by its number.
    """

    table: np.ndarray
    parameters: list[str]
    outputs: list[str]
    failures: dict[int, str] = field(default_factory=dict)
    wall_time: float = 0.0
    threads: int = 1
    #: The live page of a sweep that was watched; ``page.close()`` ends it.
    page: Server | None = field(default=None, repr=False, compare=False)
    #: Why runs were done one by one; nothing where native loops did many at a time.
    alone: str = ""

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in (self.table.dtype.names or ()):
            raise InputError(f"the sweep has no column '{name}'; it has {', '.join(self.table.dtype.names or ())}")
        column: np.ndarray = self.table[name]
        return column

    def __len__(self) -> int:
        return len(self.table)

    @property
    def done(self) -> np.ndarray:
        """Which runs reached their end."""
        result: np.ndarray = self.table["status"] == "done"
        return result

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame; outputs of several numbers give several columns."""
        import pandas

        columns: dict[str, Any] = {}
        for name in self.table.dtype.names or ():
            values = self.table[name]
            if values.ndim == 1:
                columns[name] = values
            else:
                flat = values.reshape(len(values), -1)
                columns |= {f"{name}[{i}]": flat[:, i] for i in range(flat.shape[1])}
        return pandas.DataFrame(columns)

    def __str__(self) -> str:
        states = {s: int((self.table["status"] == s).sum()) for s in ("done", "failed", "pending")}
        parts = ", ".join(f"{n} {s}" for s, n in states.items() if n)
        head = f"sweep of {len(self)} runs: {parts}; {self.wall_time:.3g} s on {self.threads} workers"
        lines = [head]
        for name in (*self.parameters, *self.outputs):
            values = np.asarray(self.table[name][self.done], dtype=float)
            if values.size:
                lines.append(f"  {name}: {np.nanmin(values):.6g} … {np.nanmax(values):.6g}")
        lines += [f"  run {i} failed: {message}" for i, message in list(self.failures.items())[:3]]
        return "\n".join(lines)


@dataclass(frozen=True)
class _Job:
    parameters: dict[str, float]
    initial: Any
    inputs: Mapping[str, Any]


def sweep(
    system: System, x0: Any, t: float | Sequence[float], parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    initial: Sequence[Any] | None = None, inputs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None, outputs: Outputs = None,
    method: str | None = None, grid: bool = False, threads: int | None = None, progress: bool = True, store: Store | str | os.PathLike[str] | None = None,
    workers: Workers = None, timeout: float | None = None, watch: Watch | Sequence[Any] = False, **options: Any,
) -> SweepResult:  # fmt: skip
    """Simulates once for each parameter set (and initial state, and set of inputs) and gathers outputs in one table.

    ``parameters``: arrays by name, run together (``grid=True``: every combination), or a list of mappings.  ``initial``: a state
    for each run (``x0`` serves when it is not given); ``inputs``: as for :meth:`System.simulate`, or a list of such mappings.
    ``outputs``: channel names (their final values) or functions of the solution, as a list or by name; the final state by default.
    ``workers``: a number of threads (all processors by default), ``"processes"``, the address of a cluster or an executor, with the same bits
    in the table (:mod:`jourdain.analysis.workers`); ``timeout`` (s) gives up runs that hang, in other processes.
    ``watch``: True opens a page of the running sweep in the browser (on this machine only), a function such as ``print`` gets its address;
    a list belongs to :meth:`System.simulate`.  ``result.page.close()`` ends the page.
    A failed run has its message in ``failures`` and NaN in the table, and a warning tells how many there are.  Ctrl-C returns what is done, with a warning.  With ``store`` (a
    :class:`jourdain.Store`) finished runs are kept there, and a sweep started again takes them from there: runs whose model, parameters,
    start, inputs, options and output functions are the same, functions by what they do (:mod:`jourdain.results.identity`).

    >>> from jourdain.library.mechanisms import pendulum
    >>> s = pendulum().compile()
    >>> r = s.sweep({"hinge.angle": 0.1}, 1.0, parameters={"length": [0.5, 1.0, 2.0]}, outputs=["hinge.angle"])
    >>> r["hinge.angle"].round(6)
    array([-0.028189, -0.099993, -0.059931])
    """
    readers = _readers(system, outputs)
    jobs = _jobs(system, x0, parameters, initial, inputs, grid)
    names = list(dict.fromkeys(n for job in jobs for n in job.parameters))
    if threads is not None and (isinstance(threads, bool) or int(threads) < 1):
        raise InputError(f"sweep '{system.model.name}': threads = {threads} must be at least 1")
    chosen = workers if workers is not None else threads if threads is not None else thread_count()
    method = system.method if method is None else method
    if isinstance(watch, (list, tuple)):  # surfaces that simulations look for
        watch, options = False, {**options, "watch": watch}
    task = _Simulations(system, t, method, options, readers, names)
    kept = _Kept(
        store if store is None or isinstance(store, Store) else Store(store),
        system,
        jobs,
        t,
        method,
        {"options": options, "outputs": readers},
    )
    results: dict[int, dict[str, Any] | str] = dict(kept.found)
    left = [i for i in range(len(jobs)) if i not in results]
    news = _news(system, readers, names, watch)
    news.begin("runs", len(jobs), len(results))
    own = system.parameters
    shown = [[job.parameters.get(n, own[n]) for n in names] for job in jobs] if news.page is not None else [[]] * len(jobs)
    begun, crew = time.perf_counter(), crew_of(chosen, max(1, len(left)))
    try:
        with counted("runs", len(jobs), len(results), progress) as tick, news.told():
            for i, result in results.items():
                _hear(news, i, shown[i], result)
            for k, result in worked(task, [jobs[i] for i in left], timeout=timeout, crew=crew):
                results[left[k]] = result.message if isinstance(result, Failed) else result
                kept.save(left[k], results[left[k]])
                tick()
                news.done += 1
                _hear(news, left[k], shown[left[k]], results[left[k]])
    except KeyboardInterrupt:
        warnings.warn(
            f"sweep '{system.model.name}': interrupted; {len(results)} of {len(jobs)} runs are done and kept", stacklevel=outside()
        )
    finally:
        if crew is not None:
            crew.close(len(results) < len(jobs))
    table = _table(system, jobs, names, list(readers), results)
    failures = {i: r for i, r in sorted(results.items()) if isinstance(r, str)}
    if failures:
        first = next(iter(failures))
        told = f"{len(failures)} of {len(jobs)} runs failed and are NaN in the table (failures); run {first}: {failures[first]}"
        warnings.warn(f"sweep '{system.model.name}': {told}", RuntimeWarning, stacklevel=outside())
    workers_used = 1 if crew is None else crew.count
    return SweepResult(table, names, list(readers), failures, time.perf_counter() - begun, workers_used, news.page, task.alone)


def _news(system: System, readers: Mapping[str, Reader], names: Sequence[str], watch: Any) -> News:
    """What a page is told; nothing where none is wanted."""
    check_watch(f"sweep '{system.model.name}'", watch)
    if not watch:
        return News("runs")
    from ..view.study_page import study_page

    units = {n: system.model.parameter_set[n].unit for n in names}
    return News("runs", study_page(f"{system.model.name}: sweep", list(readers), units, watch, judged=False))


def _hear(news: News, i: int, parameters: Sequence[float], result: Any) -> None:
    """One run for the page: outputs of one number each are shown."""
    if news.page is None:
        return
    if isinstance(result, dict):
        values = [float(y) if y.ndim == 0 and y.dtype.kind in "fiub" else np.nan for y in result.values()]
        news.row(values, parameters, n=i)
    else:
        news.fail(f"run {i}: {result}")
    news.tell()


# -- what is run ------------------------------------------------------------------------------------------------------


def _jobs(system: System, x0: Any, parameters: Any, initial: Any, inputs: Any, grid: bool) -> list[_Job]:
    sets = _parameter_sets(system, parameters, grid)
    given = [inputs] if inputs is None or isinstance(inputs, Mapping) else list(inputs)
    states = [x0] if initial is None else list(initial)
    sizes = {len(sets), len(given), len(states)} - {1}
    if len(sizes) > 1:
        raise InputError(
            f"sweep '{system.model.name}': {len(sets)} parameter sets, {len(states)} initial states and {len(given)} sets of inputs "
            "do not match; give the same number of each, or one"
        )
    n = max(sizes, default=1)
    wide = [list(items) * n if len(items) == 1 else list(items) for items in (sets, states, given)]
    return [_Job(p, s, u or {}) for p, s, u in zip(*wide, strict=True)]


def _parameter_sets(system: System, parameters: Any, grid: bool) -> list[dict[str, float]]:
    if parameters is None:
        return [{}]
    if not isinstance(parameters, Mapping):
        wrong = next((p for p in parameters if not isinstance(p, Mapping)), None)
        if wrong is not None:
            raise InputError(
                f"sweep '{system.model.name}': parameters are lists by name, or sets {{name: value}} in a list; {wrong!r} is none"
            )
        sets = [dict(p) for p in parameters]
    else:
        columns = {name: np.atleast_1d(np.asarray(values, dtype=object)).tolist() for name, values in parameters.items()}
        lengths = {len(c) for c in columns.values()} - {1}
        if grid:
            sets = [dict(zip(columns, values, strict=True)) for values in product(*columns.values())]
        elif len(lengths) > 1:
            shown = ", ".join(f"'{n}' {len(c)}" for n, c in columns.items())
            raise InputError(f"sweep '{system.model.name}': parameters have different numbers of values ({shown}); or say grid=True")
        else:
            n = max(lengths, default=1)
            sets = [{name: c[i if len(c) > 1 else 0] for name, c in columns.items()} for i in range(n)]
    if not sets:
        raise InputError(f"sweep '{system.model.name}': there is no parameter set; give at least one")
    known = system.model.parameter_set
    # the parameter set checks names, units and numbers
    return [{n: known.read(n, x) for n, x in one.items()} for one in sets]


def _readers(system: System, outputs: Outputs) -> dict[str, Reader]:
    if outputs is None:
        c = system.configuration
        outputs = [*c.position_names, *c.velocity_names, *system.model.states]
    if isinstance(outputs, str) or not isinstance(outputs, Iterable):
        raise InputError(f"sweep '{system.model.name}': outputs is a list of names or functions; write outputs=[{short(outputs)}]")
    pairs = (
        outputs.items()
        if isinstance(outputs, Mapping)
        else [(o if isinstance(o, str) else getattr(o, "__name__", "output"), o) for o in outputs]
    )
    found: dict[str, Reader] = {}
    for name, reader in pairs:
        if not isinstance(name, str) or not (isinstance(reader, str) or callable(reader)):
            raise InputError(f"sweep '{system.model.name}': outputs hold {short(reader)}; give names of channels, or functions of a run")
        label, k = name, 2
        while label in found or label in ("run", "status", *system.model.parameter_set.names):
            label, k = f"{name}_{k}", k + 1
        found[label] = _final(reader) if isinstance(reader, str) else reader
    return found


def _final(name: str) -> Reader:
    return partial(_last, name)


def _last(name: str, solution: Solution) -> Any:
    """The final value of a channel."""
    return solution[name][-1]


# -- running ----------------------------------------------------------------------------------------------------------


class _Simulations:
    """One simulation for a job; each thread has its own copy of the system (constants, workspaces) on shared machine code."""

    def __init__(
        self, system: System, t: Any, method: str | None, options: dict[str, Any], readers: dict[str, Reader], varied: Sequence[str]
    ) -> None:
        self.system, self.t, self.method, self.options, self.readers, self.varied = system, t, method, options, readers, varied
        self._own = threading.local()

    def __call__(self, job: _Job) -> dict[str, Any]:
        own: System | None = getattr(self._own, "system", None)
        if own is None:
            own = self._own.system = self.system.copy()
        own.set_parameters(**self.system.parameters | job.parameters)
        inputs: dict[str, Any] = {"inputs": job.inputs} if job.inputs else {}
        solution = own.simulate(job.initial, self.t, method=self.method, **inputs, **self.options)
        return {name: np.asarray(read(solution)) for name, read in self.readers.items()}

    @cached_property
    def alone(self) -> str:
        """Why runs are not done in native loops, many at a time; nothing where they are."""
        from .runs.rows import plain_options, why_not_plain

        s = self.system
        states = {*s.coordinate_names, *s.velocity_names, *s.model.states}
        for name, read in self.readers.items():
            if not isinstance(read, partial) or read.args[0] not in states:
                return f"output '{name}' is no final value of a state"
        options = [n for n in self.options if n not in plain_options(self.method)]
        if options:
            return f"option '{options[0]}'"
        return why_not_plain(s, self.method) or ("parameters that change contacts" if self.method == "moreau" and self.varied else "")

    def many(self, jobs: Sequence[_Job]) -> list[Any] | None:
        """The same of many jobs in one native loop; None where these are not for one."""
        from .runs.rows import Finals
        from .workers import attempt_in_turn

        if self.alone or any(job.inputs or isinstance(job.initial, Solution) for job in jobs):
            return None
        if not hasattr(self._own, "finals"):
            mine = self.system.copy()
            self._own.starts = {}
            self._own.finals = Finals.of(mine, mine.state(jobs[0].initial), self.t, self.method, self.options)
        loop: Finals | None = self._own.finals
        if loop is None or not loop.carries({n for job in jobs for n in job.parameters}, len({id(job.initial) for job in jobs})):
            return None
        starts = [self._start(loop.system, job.initial) for job in jobs]
        if any(s.t != loop.span[0] or s.memory for s in starts):
            return None
        x, well = loop.after([job.parameters for job in jobs], np.array([s.x for s in starts]))
        names = [*self.system.coordinate_names, *self.system.velocity_names, *self.system.model.states]
        places = {label: names.index(cast("partial[Any]", read).args[0]) for label, read in self.readers.items()}
        return [
            {label: np.asarray(row[k]) for label, k in places.items()} if ok else attempt_in_turn(self, job)
            for job, row, ok in zip(jobs, x, well.tolist(), strict=True)
        ]

    def packed_results(self, found: list[Any]) -> Any:
        """Outputs that are single numbers in rows, of runs that are all done."""
        if self.alone or not all(isinstance(r, dict) for r in found):
            return found
        return np.array([[float(y) for y in r.values()] for r in found])

    def unpacked_results(self, jobs: Sequence[_Job], found: Any) -> list[Any]:
        """The same as results."""
        if not isinstance(found, np.ndarray):
            return list(found)
        return [{name: np.asarray(y) for name, y in zip(self.readers, row, strict=True)} for row in found]

    def packed_jobs(self, jobs: Sequence[_Job]) -> Any:
        """Parameters in rows, of runs that start alike without inputs."""
        first, names = jobs[0], list(jobs[0].parameters)
        if any(j.inputs or j.initial is not first.initial or list(j.parameters) != names for j in jobs):
            return jobs
        return first.initial, names, np.array([list(j.parameters.values()) for j in jobs], dtype=float)

    @staticmethod
    def unpacked_jobs(sent: Any) -> Sequence[_Job]:
        """The same as jobs."""
        if not isinstance(sent, tuple):
            return cast("Sequence[_Job]", sent)
        initial, names, rows = sent
        return [_Job(dict(zip(names, row, strict=True)), initial, {}) for row in rows.tolist()]

    def _start(self, system: System, given: Any) -> State:
        """The start of a run; the same for all that are given one."""
        kept = self._own.starts.get(id(given))
        if kept is None or kept[0] is not given:
            kept = given, system.state(given)
            self._own.starts = {id(given): kept}
        return cast("State", kept[1])

    def __getstate__(self) -> dict[str, Any]:
        return {n: x for n, x in self.__dict__.items() if n not in ("_own", "alone")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _own=threading.local())


def _table(system: System, jobs: list[_Job], names: list[str], outputs: list[str], results: Mapping[int, Any]) -> np.ndarray:
    example = next((r for r in results.values() if isinstance(r, dict)), {})
    kinds: list[Any] = [("run", np.int64), *((n, np.float64) for n in names)]
    for name in outputs:
        value = np.asarray(example.get(name, np.nan))
        kind = value.dtype if value.dtype.kind in "US" else np.complex128 if value.dtype.kind == "c" else np.float64
        kinds.append((name, kind, value.shape) if value.shape else (name, kind))
    table = np.zeros(len(jobs), dtype=[*kinds, ("status", "U8")])
    own = system.parameters
    for i, job in enumerate(jobs):
        row = table[i]
        row["run"] = i
        for name in names:
            row[name] = job.parameters.get(name, own[name])
        result = results.get(i)
        row["status"] = "pending" if result is None else "done" if isinstance(result, dict) else "failed"
        for name in outputs:
            if isinstance(result, dict):
                row[name] = result[name]
            elif table.dtype[name].base.kind in "fc":
                row[name] = np.nan
    return table


# -- keeping ----------------------------------------------------------------------------------------------------------


class _Kept:
    """Finished runs in a store, found again by model, parameters and settings."""

    def __init__(self, store: Store | None, system: System, jobs: list[_Job], t: Any, method: str, settings: dict[str, Any]) -> None:
        self.store, self.found = store, {}  # type: ignore[var-annotated]
        if store is None:
            return
        values, structures = system.parameters, system.model.parameter_set.digest
        text = f'name = "{system.model.name}"\nfingerprint = "{system.fingerprint}"\n'
        text += f'structures = "{structures}"\n' if structures else ""
        touching = contact_digest(system.model)
        text += f'contacts = "{touching}"\n' if touching else ""
        self.designs = store.add_designs(store.add_model(system.model.name, text), [values | job.parameters for job in jobs])
        self.keys = _keys(system, jobs, {"t": t, "method": method, **settings})
        self.method, self.end = method, float(np.ravel(t)[-1])
        done: dict[tuple[int, str], int] = {}
        for run in store.query("status = 'done'"):
            done[run.design, str(run.metadata.get("sweep", ""))] = run.id
        for i, pair in enumerate(zip(self.designs, self.keys, strict=True)):
            if pair in done:
                solution = store.load(done[pair])
                self.found[i] = {name: np.asarray(solution[name][0]) for name in solution.names}

    def save(self, index: int, result: dict[str, Any] | str) -> None:
        """Writes one finished run."""
        if self.store is None:
            return
        run = self.store.start_run(self.designs[index], self.method, metadata={"sweep": self.keys[index]})
        if isinstance(result, dict):
            run.append(self.end, result)
            run.finish()
        else:
            run.finish("failed", {"error": result})


def _keys(system: System, jobs: list[_Job], settings: dict[str, Any]) -> list[str]:
    """For each run a hash of all that decides its outcome besides equations and parameters.

    A run with something that cannot be identified gets a key of its own: it is kept, and never taken for another.
    """
    model = system.model
    common = {
        **settings, "formulation": (system.formulation, system.options), "defaults": system.input_values(),
        "events": [(e.name, e.direction, e.terminal) for e in model.events.values()],
        "callbacks": {name: c.function for name, c in model.callbacks.items()},
    }  # fmt: skip
    try:
        shared = identity(common)
        return [identity((shared, *_start(system, job), job.inputs)) for job in jobs]
    except UnidentifiedError as error:
        warnings.warn(f"sweep '{model.name}': its runs are kept but not found again ({error})", stacklevel=4)
        return [uuid4().hex for _ in jobs]


def _start(system: System, job: _Job) -> tuple[np.ndarray, float]:
    state = system.state(job.initial) if not isinstance(job.initial, Solution) else job.initial.final_state()
    return state.x, state.t
