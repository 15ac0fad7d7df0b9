"""Facts about many columns, which are read from memory."""

import pickle

import numpy as np
import pytest

from mstflow.runtime import native
from mstflow.runtime.native import columns_of


@pytest.fixture(autouse=True, params=["read", "asked"])
def way(request, monkeypatch):
    """Facts are read from memory, or arrays are asked, as on a system with other places."""
    if request.param == "asked":
        monkeypatch.setattr(native, "_IS_KNOWN", False)


def test_facts_are_those_that_numpy_states():
    base = np.arange(12, dtype=np.uint16)
    read_only = base[3:7].view()
    read_only.flags.writeable = False
    named = np.zeros(2, np.dtype(np.int8, metadata={"unit": "m"}))
    arrays = [base, read_only, base[:0], base.reshape(3, 4)[1], np.ones(1, bool), named]
    found = columns_of(iter(arrays), len(arrays))
    assert found.address.tolist() == [array.ctypes.data for array in arrays]
    assert found.length.tolist() == [len(array) for array in arrays]
    assert found.dtype.tolist() == [id(array.dtype) for array in arrays]
    assert found.are_contiguous
    assert all(kept is array for kept, array in zip(found.arrays, arrays, strict=True))
    assert not columns_of([base, base[::2]], 2).are_contiguous
    assert columns_of([base[::-1]], 1).address.tolist() == [base.ctypes.data + 22]


def test_dtypes_are_found_by_their_places():
    copies = [pickle.loads(pickle.dumps(np.ones(2, np.float32))) for _ in range(2)]
    found = columns_of([np.ones(2), copies[0], np.ones(3), copies[1]], 4)
    assert {*found.dtypes(0, 2).values()} == {np.dtype(np.float64)}
    assert found.dtypes(1, 2) == {id(copy.dtype): np.dtype(np.float32) for copy in copies}


@pytest.mark.parametrize("other", [None, 5, [1], np.float64(1), np.array(1), np.ones((2, 2)), "ab"])
def test_other_objects_are_no_columns(other):
    assert columns_of([np.ones(2), other], 2) is None


def test_subclasses_of_arrays_are_no_columns(tmp_path):
    assert columns_of([np.memmap(tmp_path / "words", np.int64, "w+", shape=3)], 1) is None
