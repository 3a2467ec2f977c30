"""Hypothesis strategies for what a stranger may hand to tcc: text from a grammar, damaged bytes."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from hypothesis import strategies as st

from tcc.options import Options
from tcc.schema import entries
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
