"""What holds for every test: a busy machine does not fail one that hypothesis draws examples for; one Spark for all."""

from __future__ import annotations

import gc
import importlib.util
import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("shoal", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shoal")


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of later searches for garbage, which took a second each with it."""
    gc.collect()
    gc.freeze()


def without_spark() -> str | None:
    """Why Spark cannot be tested here; None where it can."""
    from shoal.errors import MissingExtraError
    from shoal.io.spark_session import check_java

    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed"
    try:
        check_java()
    except MissingExtraError as error:
        return str(error)
    return None


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of Spark on this machine; tests that use it are in the group "spark", so that one process starts it."""
    missing = without_spark()
    if missing is not None and os.environ.get("SHOAL_NEEDS_SPARK") == "1":
        pytest.fail(f"{missing} SHOAL_NEEDS_SPARK=1 says that Spark must be tested.", pytrace=False)
    if missing is not None:
        pytest.skip(f"SPARK WAS NOT TESTED: {missing}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of versions of pandas
        from pyspark.sql import SparkSession
    folder = tmp_path_factory.mktemp("spark")
    given = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.defaultJavaOptions": f"-Djava.io.tmpdir={folder} -XX:TieredStopAtLevel=1",
        "spark.local.dir": str(folder),
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2]").config(map=given).getOrCreate()
    yield session
    session.stop()
