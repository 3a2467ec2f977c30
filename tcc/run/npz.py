"""Reads arrays from an .npz file that anybody may have written; nothing in it is executed."""

from __future__ import annotations

import io
import lzma
import struct
import tokenize
import zipfile
import zlib

import numpy as np

from tcc.run.device import Array

_DAMAGE = (
    ValueError,  # a header that makes no sense, Python objects
    TypeError,
    SyntaxError,
    ArithmeticError,
    RecursionError,
    tokenize.TokenError,  # of a header as Python 2 wrote it
    EOFError,
    OSError,
    struct.error,
    zipfile.BadZipFile,
    RuntimeError,  # with a password, or packed in a way that zipfile does not know
    zlib.error,
    lzma.LZMAError,
    KeyError,
    MemoryError,  # a header may promise any size
)
"""What NumPy and zipfile raise for bytes that are no .npz file."""


def read_npz(data: bytes) -> dict[str, Array]:
    """The arrays by name. ValueError, which says why, when it is no .npz file."""
    if not data.startswith((b"PK", np.lib.format.MAGIC_PREFIX)):
        raise ValueError("it is no ZIP archive")  # NumPy would advise to load it unsafely
    try:
        with np.errstate(all="ignore"):
            archive = np.load(io.BytesIO(data), allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it holds one array without a name")
            with archive:
                return {name: archive[name] for name in archive.files}
    except _DAMAGE as problem:
        raise ValueError(str(problem)) from problem
