"""Hypothesis strategies for what a stranger may hand to tcc: text from a grammar, damaged bytes."""

from __future__ import annotations

import io
import json
import random
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from hypothesis import strategies as st

from tcc.options import Options
from tcc.schema import entries
from tcc.tune.database import _KEY_FIELDS, _VALUE_FIELDS
from tests.random_tc import numbered

SPECS = Path(__file__).parents[2] / "specs"
CASES = Path(__file__).parents[1] / "cases"
PIECE = re.compile(r"\w+|\s+|[^\w\s]")
ODD = (
    *"@$;[]{}().,:?#\"'\\|&^~`%!<>=*/+-",
    "\0", "\r", "\n", "\t", "\x1b[31m", "\ufeff", "\u202e", "\ud800", "\N{MINUS SIGN}", "é", "٣",
    "$(touch x)", "`touch x`", "\\\n", "*/", "//", "..", "/dev/null", "-o", "%s", "{0}", "&a", "*a",
    "!!python/object/apply:os.system [true]", "<<: *a", "0x10", "1e999", "-0", "nan", "inf", "null",
    "9" * 400, "2147483648", "-1", "1" * 19, "1:2", "~", "|", ">-", "---", "...", "? a", "!tag",
)  # fmt: skip
WORDS = (
    "def", "where", "in", "exists", "float", "double", "half", "int8", "uint64", "bool", "bfloat16",
    "+=!", "max=!", "min=", "*=", "->", "&&", "||", "<=>", "N", "A", "B", "i", "r_k", "exp", "0", "1",
    "0.5", "1e-30", "(", ")", "{", "}", ",", ":", "?", "%", "/", "=",
)  # fmt: skip


Edit = Callable[[list[str], random.Random], None]


def _edits(pieces: Sequence[str]) -> Edit:
    def edit(parts: list[str], chance: random.Random) -> None:
        at, other = chance.randrange(len(parts) + 1), chance.randrange(len(parts) + 1)
        low, high = sorted((at, other))
        match chance.randrange(6):
            case 0:
                del parts[low : min(high, low + 8)]
            case 1:
                parts.insert(at, chance.choice(pieces))
            case 2 if at < len(parts):
                parts[at] = chance.choice(pieces)
            case 3:
                parts[at:at] = parts[low : min(high, low + 12)] * chance.choice((1, 2, 20))
            case 4 if max(at, other) < len(parts):
                parts[at], parts[other] = parts[other], parts[at]
            case _:
                parts.insert(at, chance.choice(ODD))

    return edit


def damaged(text: str, seed: int, edits: int, pieces: Sequence[str]) -> str:
    """A text after some edits of its words, from a seed."""
    chance, parts = random.Random(seed), PIECE.findall(text)
    edit = _edits(pieces)
    for _ in range(edits):
        edit(parts, chance)
    return "".join(parts)[:20_000]


def _programs() -> list[str]:
    paths = (*sorted(SPECS.glob("*.tc")), *sorted(CASES.rglob("*.tc")))
    return [text for text in (p.read_text("utf-8") for p in paths) if len(text) < 2000]


SEEDS = st.integers(0, 2**32 - 1)
FEW = st.integers(0, 6)
RANDOM_PROGRAMS = st.builds(lambda seed: numbered(seed % 5000).text, SEEDS)
PROGRAMS = st.one_of(st.sampled_from(_programs()), RANDOM_PROGRAMS)
TC = st.builds(lambda text, seed, n: damaged(text, seed, n, WORDS), PROGRAMS, SEEDS, FEW)


def spliced(data: bytes, noise: bytes, at: int, length: int) -> bytes:
    """Bytes in which some others replace `length` of them."""
    at %= len(data) + 1
    return data[:at] + noise + data[at + length :]


def as_bytes(text: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    """The bytes of a text, some of them replaced by any others."""
    encoded = text.map(lambda t: t.encode("utf-8", "surrogatepass"))
    noise = st.one_of(st.just(b""), st.binary(max_size=8))
    return st.builds(spliced, encoded, noise, st.integers(0, 5000), st.integers(0, 8))


# -- options -------------------------------------------------------------------------------

SCALARS = st.one_of(
    st.sampled_from(ODD),
    st.sampled_from(("true", "no", "on", "shared", "register", "global", "max", "min", "genetic")),
    st.integers(-3, 70).map(str),
    st.floats().map(str),
    st.text(max_size=6),
)
OPTION_NAMES = sorted({part for e in entries(Options) for part in e.path.split(".")})
KEYS = st.one_of(
    st.sampled_from(OPTION_NAMES),
    st.sampled_from(("A", "B", "m", "n", "k", "f_kernel", "parallel", "loops", "row", "NAME")),
    st.sampled_from(ODD),
    st.text(max_size=6),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(st.tuples(KEYS, inner), max_size=4).map(
            lambda pairs: f"{{{', '.join(f'{k}: {v}' for k, v in pairs)}}}"
        ),
    ),
    max_leaves=12,
)
_FILES = [p.read_text() for p in sorted(SPECS.glob("*.yaml"))]
YAML = st.one_of(
    st.lists(st.tuples(KEYS, TREES), max_size=6).map(
        lambda pairs: "".join(f"{k}: {v}\n" for k, v in pairs)
    ),
    st.lists(st.tuples(st.sampled_from(OPTION_NAMES), TREES), max_size=6).map(
        lambda pairs: "mapping:\n" + "".join(f"  {k}: {v}\n" for k, v in pairs)
    ),
    st.builds(
        lambda text, seed, n: damaged(text, seed, n, [*OPTION_NAMES, "1", "[", "]", ":", "\n  "]),
        st.sampled_from(_FILES), SEEDS, FEW,
    ),
)  # fmt: skip

# -- results of a search -------------------------------------------------------------------

JSON_VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
        st.sampled_from(ODD), st.sampled_from(_FILES),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=8,
)  # fmt: skip


def replaced(line: str, path: Sequence[int], value: object) -> str:
    """A JSON object in which one value, at any depth, is another; numbers choose the way."""
    data = json.loads(line)
    node, owner, key = data, None, None
    for choice in path:
        if isinstance(node, dict) and node:
            owner, key = node, sorted(node)[choice % len(node)]
        elif isinstance(node, list) and node:
            owner, key = node, choice % len(node)
        else:
            break
        node = owner[key]
    if owner is not None:
        owner[key] = value
    return json.dumps(data)


def json_lines(examples: Sequence[str]) -> st.SearchStrategy[str]:
    """Lines of an export with other values in some places, and other lines among them."""
    line = st.one_of(
        st.sampled_from(examples),
        st.builds(replaced, st.sampled_from(examples), st.lists(SEEDS, max_size=4), JSON_VALUES),
        JSON_VALUES.map(json.dumps),
        st.text(max_size=20),
    )
    return st.lists(line, max_size=4).map(lambda lines: "\n".join(lines) + "\n")


# -- databases and arrays --------------------------------------------------------------------

SQL_VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.binary(max_size=8),
    st.sampled_from(ODD).map(lambda t: t.encode("utf-8", "replace").decode()),
    st.text(st.characters(codec="utf-8"), max_size=8),
    JSON_VALUES.map(json.dumps),
)
COLUMNS = [("keys", name) for name in _KEY_FIELDS] + [("measurements", n) for n in _VALUE_FIELDS]
ROWS = st.lists(st.tuples(st.sampled_from(COLUMNS), SQL_VALUES), min_size=1, max_size=3)


def anywhere(data: bytes) -> st.SearchStrategy[bytes]:
    """The bytes of a file, some of them replaced by any others, wherever they are."""
    at, length = st.integers(0, len(data)), st.integers(0, 40)
    return st.builds(spliced, st.just(data), st.binary(max_size=40), at, length)


def npy(header: str, data: bytes) -> bytes:
    """An array file with this header."""
    text = header.encode("latin-1", "replace")[:60_000]
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def npz(members: Sequence[tuple[str, bytes]]) -> bytes:
    """An archive of them."""
    file = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), ZipFile(file, "w") as archive:
        for name, data in members:
            archive.writestr(ZipInfo(name), data, ZIP_DEFLATED)
    return file.getvalue()


_HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"
_HEADERS = st.builds(
    lambda seed, edits: damaged(_HEADER, seed, edits, ["1099511627776", "-1", "|O", "<M8[s]", "True"]),
    SEEDS, FEW,
)  # fmt: skip
_MEMBERS = st.tuples(
    st.sampled_from(("A.npy", "A.npy", "B.npy", "A", "../A.npy", "\x1b[31m.npy", ".npy")),
    st.builds(npy, _HEADERS, st.sampled_from((bytes(24), b"", bytes(7), bytes(400)))),
)
ARCHIVES = st.lists(_MEMBERS, max_size=3).map(npz)
ARRAYS = st.one_of(
    ARCHIVES,
    anywhere(npz([("A.npy", npy(_HEADER, bytes(24)))])),
    st.builds(spliced, ARCHIVES, st.binary(max_size=8), st.integers(0, 500), st.integers(0, 8)),
)
