from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

from shoal.algorithms.hilbert import curve_kernel as hilbert_curve
from shoal.algorithms.hilbert.curve_kernel import WORD_BITS, hilbert_words

FORMS = [hilbert_words, hilbert_words.py_func]


def numbers(words, total):
    """The keys as whole numbers, from words of WORD_BITS bits, the last one shorter."""
    keys = []
    for column in words.T.tolist():
        key = 0
        for place, word in enumerate(column):
            width = min(hilbert_curve.WORD_BITS, total - place * hilbert_curve.WORD_BITS)
            assert 0 <= word < 1 << width
            key = key << width | word
        keys.append(key)
    return keys


@every("form", FORMS)
@every(("d", "bits"), [(1, 1), (1, 5), (2, 1), (2, 4), (3, 1), (3, 3), (4, 2), (5, 2), (7, 1)])
def test_the_curve_visits_every_point_in_steps_of_one(form, d, bits):
    points = np.array(list(product(range(1 << bits), repeat=d)), dtype=np.int32)
    keys = numbers(form(points, bits), bits * d)
    assert sorted(keys) == list(range(len(points)))
    walk = points[np.argsort(keys)]
    assert walk[0].tolist() == [0] * d
    assert (np.abs(np.diff(walk, axis=0)).sum(axis=1) == 1).all()


def test_the_curve_in_two_dimensions_as_hilbert_drew_it():
    points = np.array([(0, 0), (0, 1), (1, 1), (1, 0)], dtype=np.int32)
    keys = hilbert_words(points, 1)[0].tolist()
    assert keys == [0, 1, 2, 3]


def test_one_dimension_is_the_order_of_the_codes():
    points = np.arange(1 << 9, dtype=np.int32).reshape(-1, 1)
    assert hilbert_words(points, 9)[0].tolist() == list(range(1 << 9))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_keys_of_several_words_are_the_keys_of_one(data):
    d = data.draw(st.integers(1, 6))
    bits = data.draw(st.integers(1, 8))
    row = st.lists(st.integers(0, (1 << bits) - 1), min_size=d, max_size=d)
    points = np.array(data.draw(st.lists(row, min_size=1, max_size=5)), dtype=np.int32)
    whole = numbers(hilbert_words(points, bits), bits * d)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hilbert_curve, "WORD_BITS", 7)
        words = hilbert_words.py_func(points, bits)
        assert words.shape == (-(-bits * d // 7), len(points))
        assert numbers(words, bits * d) == whole


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_long_keys_of_near_points_start_alike_and_of_different_points_differ(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 1 << 20, size=(6, 25), dtype=np.int32)
    points[1] = points[0]
    points[1, 24] ^= 1
    words = hilbert_words(points, 20)
    assert words.shape == (-(-500 // WORD_BITS), 6)
    keys = numbers(words, 500)
    assert len(set(keys)) == 6
    assert keys[0] >> 25 == keys[1] >> 25
