"""The search on a real scheduler and workers, one of which dies in the middle of it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from distributed import Client

from scm_explore.journal import FILE
from scm_hw.__main__ import main
from tests.cluster import Cluster, cluster
from tests.explore.searches import QUICK, plant_csv, points_of
from tests.hw.commands import contents

POINTS = "19"


def wait_for_workers(address: str, count: int) -> None:
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)


class Killer(threading.Thread):
    """Kills a worker that has a point in hand, once a few points are finished."""

    def __init__(self, there: Cluster, folder: Path) -> None:
        super().__init__()
        self.there = there
        self.journal = folder / FILE
        self.finished_then: int | None = None

    def run(self) -> None:
        with Client(self.there.address, set_as_default=False) as client:
            named = {w: about["id"] for w, about in client.scheduler_info()["workers"].items()}
            while True:
                time.sleep(0.02)
                done = self.journal.read_bytes().count(b"\n") - 1 if self.journal.exists() else 0
                busy = [worker for worker, held in client.processing().items() if held]
                if done >= 3 and busy:
                    break
            self.there.workers[int(named[busy[0]].removeprefix("worker"))].kill()
            self.finished_then = done


def test_a_killed_worker_loses_no_point_and_repeats_none(tmp_path: Path) -> None:
    data = plant_csv(tmp_path / "plant.csv")
    words = ["explore", str(data), "--target", "force", "--points", POINTS, *QUICK]
    assert main([*words, "--jobs", "1", "--out", str(tmp_path / "here")]) == 0
    with cluster(tmp_path, 2) as there:
        wait_for_workers(there.address, 2)
        killer = Killer(there, tmp_path / "there")
        killer.start()
        code = main([*words, "--scheduler", there.address, "--out", str(tmp_path / "there")])
        killer.join(timeout=30)
        assert [worker.poll() is None for worker in there.workers].count(False) == 1
    assert code == 0
    assert killer.finished_then is not None and 3 <= killer.finished_then < int(POINTS)
    assert points_of(tmp_path / "there") == points_of(tmp_path / "here")
    assert sorted(points_of(tmp_path / "there")) == list(range(int(POINTS)))
    assert contents(tmp_path / "there" / "front") == contents(tmp_path / "here" / "front")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:9", "can't reach the Dask scheduler "),
        ("nonsense://x", "can't reach the Dask scheduler "),
    ],
)
def test_no_scheduler_is_one_line(
    address: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture, monkeypatch
) -> None:
    monkeypatch.setattr("scm_explore.pools.CONNECT_SECONDS", 1)
    data = plant_csv(tmp_path / "plant.csv")
    words = ["explore", str(data), "--target", "force", *QUICK, "--out", str(tmp_path / "out")]
    assert main([*words, "--scheduler", address]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"error: {message}") and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_scheduler_without_workers_is_one_line(tmp_path: Path, capfd) -> None:
    data = plant_csv(tmp_path / "plant.csv")
    words = ["explore", str(data), "--target", "force", *QUICK, "--out", str(tmp_path / "out")]
    with cluster(tmp_path, 0) as there:
        assert main([*words, "--scheduler", there.address]) == 2
    error = capfd.readouterr().err
    assert "it has no workers; start some with dask worker" in error
