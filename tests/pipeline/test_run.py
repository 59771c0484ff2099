"""The stages from a request to a release: each has one type, and there is one way to each."""

import numpy as np
import pytest

import shoal
from shoal._core.progress import Clock
from shoal.engines import InMemory
from shoal.hierarchy import Bins, Prefix
from shoal.pipeline.encoded import encode_columns, encode_table
from shoal.pipeline.input import open_data
from shoal.pipeline.prepare import prepare
from shoal.pipeline.run import STEPS, partition_and_recode, verify_and_certify
from shoal.table import Schema
from shoal.verbs.anonymize import anonymize

FRAME = shoal.datasets.census(400, quasi_identifiers=["age", "birth_place", "race"], seed=5)
EACH = np.ones(400, dtype=np.int64)
NAMES = ("age", "birth_place", "race")


def request(**options):
    asked = {"sensitive": "income", "privacy": shoal.LDiversity(3), "algorithm": "hilbert", "seed": 7, **options}
    return shoal.Request(quasi_identifiers=NAMES, **asked)


def test_the_stages_make_the_release_of_anonymize():
    opened, clock = open_data(FRAME), Clock(STEPS)
    prepared = prepare(opened, request(coarsen={"age": Bins(10)}), clock)
    recoded = partition_and_recode(prepared, InMemory(opened=opened), clock)
    release = verify_and_certify(recoded, InMemory(opened=opened), clock)
    whole = anonymize(
        FRAME,
        quasi_identifiers=NAMES,
        sensitive="income",
        privacy=shoal.LDiversity(3),
        algorithm="hilbert",
        seed=7,
        coarsen={"age": Bins(10)},
    )
    assert release.data.equals(whole.data)
    assert set(release.certificate.seconds) == {*STEPS, "total"} - {"read"}
    timed = {"seconds", "input"}
    said, expected = (one.certificate.to_dict() for one in (release, whole))
    assert {key: said[key] for key in said if key not in timed} == {
        key: expected[key] for key in expected if key not in timed
    }
    shown = [repr(prepared), repr(recoded), repr(prepared.request)]
    assert all("400" in one for one in shown[:2])
    assert "hilbert" in shown[2]


def test_columns_exchanged_for_coarser_ones_are_those_of_a_coarser_table():
    asked = request(coarsen={"age": Bins(10)})
    fine = encode_table(FRAME, EACH, request(), Clock(STEPS))
    column = encode_columns(FRAME.select("age"), Schema(quasi_identifiers=("age",)), asked, None, Clock(STEPS))
    exchanged, whole = fine.replace_columns(column), encode_table(FRAME, EACH, asked, Clock(STEPS))
    for one, other in zip(exchanged.table.quasi_identifiers, whole.table.quasi_identifiers, strict=True):
        assert one.name == other.name
        assert np.array_equal(one.codes, other.codes)
        assert one.dictionary.equals(other.dictionary)
    assert exchanged.before.keys() == whole.before.keys() == {"age"}
    assert np.array_equal(exchanged.before["age"].codes, whole.before["age"].codes)
    assert exchanged.coarsened == whole.coarsened


def test_a_release_has_as_many_rows_as_were_prepared():
    opened, clock = open_data(FRAME), Clock(STEPS)
    recoded = partition_and_recode(prepare(opened, request(), clock), InMemory(opened=opened), clock)
    frame, rows = recoded.published()
    assert frame.height == len(rows) == 400
    assert sorted(rows.tolist()) == list(range(400))


def test_a_coarsening_that_fits_no_column_is_refused_before_anything_is_partitioned():
    with pytest.raises(shoal.errors.UsageError):
        prepare(open_data(FRAME), request(coarsen={"incomes": Prefix(1)}), Clock(STEPS))
