"""Every module that reads files or parses data, and what covers it.

A manifest is written and never read. A module that begins to read one, or anything else, fails
here until somebody says whose data that is.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2] / "tcc"
CALLS = ("read_text", "read_bytes", "Unpickler")
PARSERS = ("json", "yaml", "pickle", "marshal", "np", "sqlite3", "tomllib", "csv", "mmap")
PARSING = (
    "load",
    "loads",
    "parse",
    "connect",
    "fromfile",
    "frombuffer",
    "memmap",
    "reader",
    "mmap",
)
STRANGERS = {
    "cli_inputs.py": "test_programs_*, test_options",
    "inputs.py": "test_programs_*, test_options",
    "options_file.py": "test_options",
    "run/npz.py": "test_arrays",
    "tune/exchange.py": "test_imported_results",
    "tune/database.py": "test_damaged_databases, test_databases_of_strangers",
    "tune/database_schema.py": "test_damaged_databases",
    "tune/key.py": "test_databases_of_strangers",
}
"""What comes from outside, and the campaigns of `test_fuzz.py` on it."""
OWN = {
    "codes/__init__.py": "pages of the package",
    "explain/page.py": "templates",
    "explain/tuning_page.py": "templates",
    "kernel/names.py": "templates",
    "run/host_build.py": "templates",
    "kept.py": "the cache of the user, by a reader that makes nothing but what tcc keeps",
    "run/cache.py": "the cache of the user",
    "run/disassemble.py": "the cache of the user",
    "run/linking.py": "the cache of the user",
    "run/host_check.py": "programs that it has built",
    "run/host_job.py": "memory of a program that it has started",
    "run/process.py": "/proc",
    "run/toolchain.py": "/proc",
    "sched/worker.py": "what a process of tcc answers",
    "tune/child.py": "what a process of tcc answers",
    "tune/pool.py": "what a process of tcc answers",
}


def test_who_reads() -> None:
    found = {p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.py") if _reads(p)}
    assert found == {*STRANGERS, *OWN}


def test_campaigns_exist() -> None:
    text = (Path(__file__).parent / "test_fuzz.py").read_text()
    for names in STRANGERS.values():
        for name in names.split(", "):
            assert f"def {name.removesuffix('*')}" in text


def _reads(path: Path) -> bool:
    calls = (n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call))
    return any(_is_reader(c) for c in calls if isinstance(c, ast.Attribute))


def _is_reader(call: ast.Attribute) -> bool:
    if call.attr in CALLS:
        return True
    module = call.value.id if isinstance(call.value, ast.Name) else ""
    return module in PARSERS and call.attr in PARSING
