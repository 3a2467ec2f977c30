"""The parts of the documents that are made from the compiler: `make docs` writes them anew.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from tcc.cli_inputs import LARGEST_SIZE
from tcc.codes import codes, page
from tcc.driver import PASSES
from tcc.frontend.assign import MAX_NODES
from tcc.frontend.builtins import BUILTINS
from tcc.frontend.depth import MAX_DEPTH, MAX_NESTING
from tcc.frontend.elaborate import MAX_CALLS
from tcc.frontend.inline import MAX_STATEMENTS
from tcc.frontend.lexer import MAX_NUMBER_LENGTH
from tcc.frontend.promote import match
from tcc.kernel.text import C_TYPES
from tcc.options import PRESETS, MappingOptions, Options, given, spell
from tcc.run.arrays import numpy_type
from tcc.scalar import ALIASES, ScalarType
from tcc.schema import Entry, describe, entries, options_of
from tcc.target import TARGETS
from tests.doc_blocks import DOCUMENTS, ROOT
from tests.figures import FIGURES, FOLDER
from tests.mutation import report

_PART = re.compile(r"(<!-- generated: (.+?) -->\n).*?(?=<!-- end -->)", re.DOTALL)
STAGES = {
    "E01": "Syntax",
    "E02": "Names and types",
    "E03": "Ranges and shapes",
    "E04": "Dependences",
    "E05": "Options and limits of the target",
    "E06": "Sizes, files and data",
    "E07": "Compilers, libraries and the GPU",
    "E09": "Not supported",
    "W": "Warnings",
}


def refreshed(text: str) -> str:
    """The text of a document with its generated parts as they should be."""
    return _PART.sub(lambda found: found[1] + PARTS[found[2]](), text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(c) for c in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


# -- the language --------------------------------------------------------------------------


def types() -> str:
    """The scalar types."""
    aliases = {t: [a for a, of in ALIASES.items() if of is t] for t in ScalarType}
    rows = (
        (
            f"`{t.value}`",
            ", ".join(f"`{a}`" for a in aliases[t]),
            str(t.bytes),
            f"`{C_TYPES[t]}`",
            f"`{numpy_type(t).name}`",
        )
        for t in ScalarType
    )
    return table(("type", "also written", "bytes", "in CUDA C++", "in NumPy"), rows)


_SHORT = {"uint": "u", "int": "i", "float": "f"}


def _short(kind: ScalarType) -> str:
    if kind in (ScalarType.BOOL, ScalarType.BFLOAT16):
        return {ScalarType.BOOL: "bool", ScalarType.BFLOAT16: "bf16"}[kind]
    return f"{_SHORT[kind.kind]}{kind.bits}"


def promotion() -> str:
    """The type that two operands meet in."""
    numbers = [t for t in ScalarType if t is not ScalarType.BOOL]
    head = ["", *(_short(t) for t in numbers)]
    rows = (
        [f"**{_short(a)}**", *(_short(m) if (m := match(a, b)) else "" for b in numbers)]
        for a in numbers
    )
    return table(head, rows)


def builtins() -> str:
    """The builtin functions by number of arguments."""
    arities = sorted({b.arity for b in BUILTINS.values()})
    rows = (
        (str(n), ", ".join(f"`{b.name}`" for b in BUILTINS.values() if b.arity == n))
        for n in arities
    )
    return table(("arguments", "functions"), rows)


def code_index() -> str:
    """All codes, with their pages."""
    parts = []
    for prefix, title in STAGES.items():
        rows = [
            (f"[{code}](../tcc/codes/{code}.md)", _title(code))
            for code in codes()
            if code.startswith(prefix)
        ]
        parts.append(f"**{title}**\n\n{table(('code', 'what it says'), rows)}")
    return "\n" + "\n".join(parts) + "\n"


def _title(code: str) -> str:
    found = page(code)
    if found is None:
        raise ValueError(f"{code} has no page")
    return found.title


def limits() -> str:
    """The limits of the front end."""
    rows = (
        ("levels of parentheses, calls, unary operators", MAX_NESTING),
        ("levels of an expression, the terms of a sum included", MAX_DEPTH),
        ("operators and operands of a right side with `where` names replaced", MAX_NODES),
        ("characters of a number", MAX_NUMBER_LENGTH),
        ("the value of a size", LARGEST_SIZE),
        ("calls inside calls", MAX_CALLS),
        ("statements of a def with its calls put in", MAX_STATEMENTS),
    )
    return table(("what", "at most"), ((what, str(most)) for what, most in rows))


# -- options -------------------------------------------------------------------------------


def option_table(section: str) -> str:
    """The options of a section; the top level is the empty one."""
    found = (e for e in entries(Options) if e.path.rpartition(".")[0] == section)
    return table(("option", "value", "meaning"), (_option_row(e) for e in found))


def _option_row(entry: Entry) -> tuple[str, str, str]:
    default = f"; {entry.default} when not given" if entry.default else ""
    name = entry.path.rpartition(".")[2]
    return f"`{name}`", describe(entry.kind), f"{entry.doc}{default}"


def presets() -> str:
    """The options in which the presets differ, and those that all share."""
    plain = {name: given(options) for name, options in PRESETS.items()}
    names = [n for n in options_of(MappingOptions) if any(n in p for p in plain.values())]
    shared = [n for n in names if len({str(p.get(n)) for p in plain.values()}) == 1]
    differing = [n for n in names if n not in shared]
    rows = (
        (f"`{name}`", *(spell(p[n]) if n in p else "" for n in differing))
        for name, p in plain.items()
    )
    first = next(iter(plain.values()))
    common = "".join(f"{n}: {spell(first[n])}\n" for n in shared)
    return (
        f"{table(('preset', *(f'`{n}`' for n in differing)), rows)}\n"
        f"All of them say, besides:\n\n```text\n{common}```\n"
    )


# -- the compiler --------------------------------------------------------------------------


def passes() -> str:
    """The passes, with what `--emit` calls their result."""
    rows = ((f"`{p.name}`", f"`{p.stage}`" if p.stage else "", p.sentence) for p in PASSES)
    return table(("pass", "`--emit`", "what it does"), rows)


def files(folder: str) -> str:
    """Every file of a folder with the first sentence it says about itself."""
    found = sorted((ROOT / "tcc" / folder).glob("*.py"))
    rows = (
        (
            f"[`{path.name}`](../{path.relative_to(ROOT).as_posix()})",
            _sentence(path.read_text("utf-8")),
        )
        for path in found
        if path.name != "__init__.py"
    )
    return table(("file", "what it is"), rows)


_CONTRACT = re.compile(r"Requires: (?P<requires>.*?)(?= Establishes:|$)")
_PROMISE = re.compile(r"Establishes: (?P<establishes>.*)$")


def contracts() -> str:
    """What public functions require and establish, from their docstrings, in passing order."""
    paths = [
        p for f in ("frontend", "sched", "kernel") for p in sorted((ROOT / "tcc" / f).glob("*.py"))
    ]
    rows = [row for path in paths for row in _contracts(path)]
    return table(("function", "requires", "establishes"), rows)


def _contracts(path: Path) -> Iterator[tuple[str, str, str]]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        paragraphs = (ast.get_docstring(node) or "").split("\n\n")
        text = " ".join(" ".join(p.split()) for p in paragraphs)
        requires, establishes = _CONTRACT.search(text), _PROMISE.search(text)
        if requires or establishes:
            place = path.relative_to(ROOT).as_posix()
            yield (
                f"[`{path.stem}.{node.name}`](../{place})",
                requires[1].rstrip(".") if requires else "",
                establishes[1].rstrip(".") if establishes else "",
            )


def _sentence(source: str) -> str:
    paragraph = " ".join((ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].split())
    return re.split(r"\. (?=[A-Z`])|\.$", paragraph)[0]


def _file_parts() -> Iterator[tuple[str, Callable[[], str]]]:
    for folder in ("", "frontend", "sched", "kernel", "run", "tune", "explain"):
        yield f"files {folder}".strip(), lambda f=folder: files(f)


def memory_paths() -> str:
    """What predictions take from the table of targets."""
    head = ("", "board", "addresses a cycle", "L2 bytes a clock", "clocks to shared memory")
    rows = (
        (
            f"`{t.name}`",
            t.board,
            str(t.load_store_lanes),
            str(t.l2_bytes_per_clock),
            str(t.shared_latency),
            str(t.l1_latency),
            str(t.l2_latency),
            str(t.dram_latency),
        )
        for t in TARGETS.values()
    )
    return table((*head, "L1", "L2", "memory"), rows)


def mutants() -> str:
    """What became of mutants of emitted kernels, by kind."""
    head = ("change", "mutants", "check", "values", "rejected", "equal", "left")
    return f"{report.in_words()}\n{table(head, report.rows_by_operator())}"


PARTS: dict[str, Callable[[], str]] = {
    "memory paths": memory_paths,
    "types": types,
    "promotion": promotion,
    "builtins": builtins,
    "codes": code_index,
    "limits": limits,
    "top options": lambda: option_table(""),
    "mapping options": lambda: option_table("mapping"),
    "plan options": lambda: option_table("mapping.plan.NAME"),
    "verify options": lambda: option_table("verify"),
    "presets": presets,
    "passes": passes,
    "contracts": contracts,
    "mutants": mutants,
    "equal mutants": lambda: table(("mutants", "why"), report.rows_by_reason()),
    "survivors": lambda: table(("program", "before", "after", "why"), report.rows_of_survivors()),
    **dict(_file_parts()),
}


def main() -> None:
    """Write every document anew whose generated parts are out of date, and the drawings."""
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        if refreshed(text) != text:
            path.write_text(refreshed(text), encoding="utf-8")
    for name, draw in FIGURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
