"""Tests that `WeightOrder` compares keys with numbers as Python compares the weights."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mstflow.errors import OptionError
from mstflow.primitives.numpy_arrays import NumpyArrays
from mstflow.primitives.weight_order import WeightOrder

INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
DTYPES = list(map(np.dtype, ["bool", *INTEGERS, "float16", "float32", "float64"]))


def some_weights(dtype, signed):
    """Return a strategy for weights, except NaN, often next to zero or to an extreme."""
    word = np.dtype(f"u{dtype.itemsize}")
    top = 1 << (8 * dtype.itemsize - 1)
    most = np.inf if dtype.kind == "f" else None if dtype.kind == "b" else np.iinfo(dtype).max
    last = 1 if most is None else int(np.array(most, dtype).view(word))
    near = [bits for end in (0, last) for bits in (end - 1, end, end + 1) if 0 <= bits <= last]
    bits = st.one_of(st.sampled_from(near), st.integers(0, last))
    if signed and dtype.kind == "f":
        bits = st.tuples(bits, st.sampled_from([0, top])).map(sum)
    elif signed and dtype.kind == "i":
        bits = st.one_of(bits, st.integers(top, 2 * top - 1))
    return bits.map(lambda drawn: np.array(drawn, word).view(dtype)[()])


@st.composite
def orders(draw):
    return WeightOrder(draw(st.sampled_from(DTYPES)), draw(st.booleans()), draw(st.booleans()))


def values(weights):
    """Return a strategy for weights, numbers next to or between them, and any other numbers."""
    numbers = st.one_of(st.integers(), st.floats(allow_nan=False), st.fractions())
    beside = st.sampled_from([Fraction(1, 3), Fraction(-1, 10**30), 1, -1])
    finite = weights.map(lambda weight: weight.item()).filter(math.isfinite).map(Fraction)
    return st.one_of(numbers, weights, finite, st.tuples(finite, beside).map(sum))


@given(data=st.data(), order=orders())
def test_keys_compare_as_weights_do(data, order):
    weights = some_weights(order.dtype, order.signed)
    drawn = data.draw(st.lists(weights, max_size=10))
    value = data.draw(values(weights))
    key = NumpyArrays().order_key(
        np.array(drawn, order.dtype), signed=order.signed, descending=order.descending
    )
    number = value.item() if isinstance(value, np.generic) else value
    expected = [w.item() >= number if order.descending else w.item() <= number for w in drawn]
    limit = order.key_of(value)
    assert [each <= limit for each in key.tolist()] == expected
    assert order.within(key, value).tolist() == expected
    assert [order.key_of(weight) for weight in drawn] == key.tolist()
    weights_back = order.weights_of(NumpyArrays(), key)
    assert weights_back.dtype == order.dtype
    assert weights_back.tolist() == [weight.item() for weight in drawn]
    assert not np.signbit(weights_back[weights_back == 0]).any()


@pytest.mark.parametrize(
    ("dtype", "descending", "value", "key"),
    [
        ("bool", False, 7, 1),
        ("bool", False, Fraction(1, 3), 0),
        ("bool", True, 2, -1),
        ("uint8", False, 3.5, 3),
        ("uint8", True, 3.5, 255 - 4),
        ("uint64", False, 1e300, 2**64 - 1),
        ("int64", False, -(2**63) - 1, -1),
        ("int64", True, -math.inf, 2**64 - 1),
        ("int64", False, 2.0**63, 2**64 - 1),
        ("float32", False, 10**400, 0xFF7FFFFF),  # between the largest finite weight and infinity
        ("float32", False, math.inf, 0xFF800000),
        ("float64", True, math.inf, 0x000FFFFFFFFFFFFF),
    ],
)
def test_values_that_are_not_weights(dtype, descending, value, key):
    assert WeightOrder(dtype, descending=descending).key_of(value) == key


def test_nan_is_refused():
    with pytest.raises(OptionError, match="got NaN"):
        WeightOrder("float32").key_of(np.float32("nan"))
