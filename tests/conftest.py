"""What holds for every test: one BLAS thread, JAX on the CPU, checked shapes, no network."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

# Before numpy and jax are imported. pytest-xdist already uses every core.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ.update(
    JAX_PLATFORMS="cpu",
    NO_COLOR="1",
)

from jaxtyping import config, install_import_hook  # noqa: E402

install_import_hook("motionkit", "checking.checked")

SHARED = Path(__file__).resolve().parents[2] / "shared"
_LOCAL = ("127.", "::1", "localhost")


def _guard(name):
    connect = getattr(socket.socket, name)

    def guarded(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = str(address[0])
            if not host.startswith(_LOCAL):
                raise PermissionError(f"tests use no network, but something connects to {host}")
        return connect(self, address)

    setattr(socket.socket, name, guarded)


for _name in ("connect", "connect_ex"):
    _guard(_name)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data that tests read in place; the tests that need it are skipped without."""
    if not (SHARED / "data").is_dir():
        pytest.skip("needs the data folder ../shared, which is not here")
    return SHARED


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Annotations go unchecked, as for a user: for tests of what the code itself refuses."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)
