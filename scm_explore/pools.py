"""Where points are worked on: the cores of this machine, by joblib, or a Dask cluster."""

from __future__ import annotations

import contextlib
import importlib
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import joblib

from scm_hw.errors import OptionError, ToolError

# A function of the shared value and of a job's own arguments.
Work = Callable[..., Any]
Jobs = Mapping[int, tuple[Any, ...]]

CONNECT_SECONDS = 10
# Workers may go away with data that only they held; then what is missing is sent once more.
ATTEMPTS = 4


def travel_by_value(module: str) -> None:
    """Let functions of a user's module be sent whole to workers, which need not have it."""
    # The one of the process pool, and the one of Dask, which is optional.
    for pickler in ("joblib.externals.cloudpickle", "cloudpickle"):
        with contextlib.suppress(ImportError):
            importlib.import_module(pickler).register_pickle_by_value(sys.modules[module])


class Pool(Protocol):
    """Runs jobs and yields their results as they come, each once.

    After `until` (of `time.monotonic`), no more jobs are begun; those under way are finished.
    """

    def run(
        self, work: Work, shared: Any, jobs: Jobs, until: float | None = None
    ) -> Iterator[tuple[int, Any]]: ...


class LocalPool:
    """Processes on this machine; with one job, this process."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def run(
        self, work: Work, shared: Any, jobs: Jobs, until: float | None = None
    ) -> Iterator[tuple[int, Any]]:
        calls = (
            joblib.delayed(_numbered)(number, work, shared, arguments)
            for number, arguments in list(jobs.items())
            if not _late(until)
        )
        with (
            warnings.catch_warnings(),
            joblib.parallel_config("loky", n_jobs=self.jobs, initializer=_ignore_interrupts),
        ):
            # Said of jobs that an interrupt cuts short, which the user has asked for.
            warnings.filterwarnings("ignore", message=".*have been cancelled", module="joblib")
            # Jobs are taken from the generator only as processes become free, and that is when it
            # is asked whether the time is over.
            pool = joblib.Parallel(
                return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
            )
            yield from pool(calls)


def _numbered(number: int, work: Work, shared: Any, arguments: tuple[Any, ...]) -> tuple[int, Any]:
    return number, work(shared, *arguments)


def _ignore_interrupts() -> None:
    """Ctrl-C is for the process that the user started, which stops the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _late(until: float | None) -> bool:
    return until is not None and time.monotonic() >= until


class ClusterPool:
    """The workers of a Dask scheduler. A worker that dies has its jobs done by others."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def run(
        self, work: Work, shared: Any, jobs: Jobs, until: float | None = None
    ) -> Iterator[tuple[int, Any]]:
        left = dict(jobs)
        for _ in range(ATTEMPTS):
            for number, result in self._attempt(work, shared, left, until):
                del left[number]
                yield number, result
            if not left or _late(until):
                return
        raise ToolError(
            f"can't finish the search: the cluster lost {len(left)} jobs {ATTEMPTS} times; check "
            "its workers, then continue with --resume"
        )

    def _attempt(
        self, work: Work, shared: Any, jobs: Mapping[int, tuple[Any, ...]], until: float | None
    ) -> Iterator[tuple[int, Any]]:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker, as_completed

        everywhere = self.client.scatter(shared, broadcast=True, hash=False)
        waiting = iter(list(jobs.items()))
        # Twice as many as there are cores, so that none waits for the client.
        first = 2 * max(1, sum(self.client.ncores().values()))
        queue = as_completed(loop=self.client.loop)
        numbers: dict[Any, int] = {}

        def submit(count: int) -> None:
            for number, arguments in _some(waiting, count, until):
                future = self.client.submit(work, everywhere, *arguments, pure=False)
                numbers[future] = number
                queue.add(future)

        try:
            submit(first)
            for future in queue:
                number = numbers.pop(future)
                try:
                    result = future.result()
                except (CancelledError, KilledWorker):
                    continue
                yield number, result
                submit(1)
        finally:
            self.client.cancel(list(numbers))


def _some(
    waiting: Iterator[tuple[int, Any]], count: int, until: float | None
) -> Iterator[tuple[int, Any]]:
    for _ in range(count):
        if _late(until):
            return
        job = next(waiting, None)
        if job is None:
            return
        yield job


@contextmanager
def local_or_cluster(jobs: int, scheduler: str | None) -> Iterator[Pool]:
    """The pool that the command line asks for."""
    if scheduler is None:
        yield LocalPool(jobs)
        return
    try:
        from distributed import Client
    except ImportError:
        raise OptionError(
            "can't use --scheduler: Dask is not installed; run `pip install 'scm-hw[cluster]'`"
        ) from None
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise OptionError(
            f"can't reach the Dask scheduler {scheduler!r}: "
            f"{str(error).splitlines()[0] if str(error) else 'no answer'}; "
            "check its address, such as tcp://host:8786"
        ) from None
    try:
        _check_workers(client, scheduler)
        yield ClusterPool(client)
    finally:
        client.close()


def _check_workers(client: Any, scheduler: str) -> None:
    """Workers there are, with this package in this version: another one would find other points."""
    if not client.scheduler_info()["workers"]:
        raise OptionError(
            f"can't use scheduler {scheduler}: it has no workers; start some with dask worker"
        )
    try:
        versions = client.run(_version)
    except ImportError as error:
        raise OptionError(f"can't use the workers: {error}; install scm-hw on them") from None
    for worker, version in versions.items():
        if version != _version():
            raise OptionError(
                f"version of scm-hw on {worker} must be {_version()} as here, not {version}"
            )


def _version() -> str:
    from importlib.metadata import version

    return version("scm-hw")
