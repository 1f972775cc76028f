"""One cluster on loopback for the tests of this folder."""

import pytest
from distributed import Client

from tests.cluster import cluster


@pytest.fixture(scope="package")
def client(tmp_path_factory: pytest.TempPathFactory):
    with (
        cluster(tmp_path_factory.mktemp("cluster"), 2) as there,
        Client(there.address) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        yield client
