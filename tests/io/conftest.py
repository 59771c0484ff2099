"""A disk that is really full, as far as this process can tell."""

import resource

import pytest


@pytest.fixture
def full_disk():
    """Let no file grow beyond 64 KB while the test runs: the system refuses, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
