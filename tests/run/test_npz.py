"""Files of arrays from strangers: whatever is wrong with them is said, and nothing is executed."""

from __future__ import annotations

import numpy as np
import pytest

from tcc.run.npz import read_npz
from tests.fuzz.inputs import npy, npz

HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"


def archive(header: str) -> bytes:
    return npz([("A.npy", npy(header, bytes(24)))])


def flagged(data: bytes, offset: int, value: int) -> bytes:
    """A byte of the entry in the archive's directory is another."""
    at = data.index(b"PK\x01\x02") + offset
    return data[:at] + bytes((value,)) + data[at + 1 :]


BAD = {
    "no archive": b"PK but not",
    "a password": flagged(archive(HEADER), 8, 1),
    "an unknown compression": flagged(archive(HEADER), 10, 99),
    "terabytes": archive(HEADER.replace("2, 3", "1099511627776,")),
    "more than 64 bits": archive(HEADER.replace("2, 3", "10995116277760000000, 9999999999")),
    "negative": archive(HEADER.replace("2, 3", "-5,")),
    "100 dimensions": archive(HEADER.replace("2, 3", "1," * 100)),
    "truth for a length": archive(HEADER.replace("2, 3", "True, 3")),
    "deep": archive(HEADER.replace("2, 3", "(" * 3000 + ")" * 3000)),
    "no Python": archive(HEADER.replace("), }", ") )")),
    "objects": archive(HEADER.replace("<f4", "|O")),
    "too few elements": archive(HEADER.replace("2, 3", "2, 4")),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_file_of_arrays(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_npz(BAD[name])


def test_arrays_by_name() -> None:
    (array,) = read_npz(archive(HEADER)).values()
    np.testing.assert_array_equal(array, np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("data", [b"", b"x\n", b"\x80\x04K\x01.", b"\x1f\x8b\x08"])
def test_nobody_is_told_to_load_a_file_unsafely(data):
    with pytest.raises(ValueError, match="it is no ZIP archive"):
        read_npz(data)
