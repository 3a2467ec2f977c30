"""Compilations are kept, in the process and on disk, and damage to the disk does no harm."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import tcc
from tcc import kept
from tcc.api import request_of
from tcc.driver import Request
from tcc.frontend.tir import Role
from tcc.inputs import options_of_data
from tcc.kept import Kept, Recent, compile_or_find, request_key
from tcc.kept_form import from_bytes
from tcc.options import Options
from tcc.run.cache import ObjectCache
from tcc.source import Source

TEXT = "def twice(float(N) A) -> (B) { B(i) += 2 * A(i) }"


def request(text: str = TEXT, options: Options | None = None, **sizes: int):
    return request_of(Source("<text>", text), None, sizes, options or Options(), None)


@pytest.fixture
def store(tmp_path):
    return ObjectCache(tmp_path)


@pytest.fixture
def compiled(monkeypatch):
    """What is compiled, and not found."""
    made = []
    plain = kept._compile

    def compile_and_tell(asked):
        made.append(asked)
        return plain(asked)

    monkeypatch.setattr(kept, "_compile", compile_and_tell)
    return made


def entry(store: ObjectCache) -> Path:
    (found,) = store.directory.rglob("*.kernel")
    return found


def test_what_is_on_disk_is_not_compiled(store, compiled):
    first, second = compile_or_find(request(), store), compile_or_find(request(), store)
    assert len(compiled) == 1
    assert first == second
    assert second.diagnostics, "warnings are kept"
    assert second.plan is not None
    assert second.plan.text() == first.plan.text()


def test_a_process_remembers(monkeypatch, tmp_path, compiled):
    monkeypatch.setenv("TCC_CACHE_DIR", str(tmp_path))
    text = TEXT.replace("twice", "remembered")
    assert tcc.compile(text) is tcc.compile(text)
    assert tcc.compile(text) is not tcc.compile(text, sizes={"N": 4})
    assert len(compiled) == 2
    fresh = tcc.compile(text, cache=False)
    assert fresh is not tcc.compile(text)
    assert fresh.cuda_source == tcc.compile(text).cuda_source
    assert tcc.compile(text).compilation.program is not None, "compiled anew when it is asked for"


def test_other_content_is_another_entry(monkeypatch):
    options = options_of_data("<options>", {"mapping": {"threads": [32]}})
    asked = request()
    others = [
        request(TEXT + "\n"),
        request(N=4),
        request(options=options),
        request(options=options_of_data("<options>", {"mapping": {"threads": [64]}})),
        replace(asked, entry="twice"),
        replace(asked, source=Source("twice.tc", TEXT)),
        replace(asked, target=tcc.compile(TEXT, target="sm_80").request.target),
    ]
    keys = {request_key(r) for r in (asked, *others)}
    assert len(keys) == 1 + len(others)
    assert request_key(request(options=options)) in keys
    monkeypatch.setattr(kept, "_fingerprint", lambda: "another version")
    assert request_key(asked) not in keys


@pytest.mark.parametrize("damage", [b"", b"\x80\x05garbage", None])
def test_damage_is_compiled_anew(store, compiled, damage):
    first = compile_or_find(request(), store)
    path = entry(store)
    path.write_bytes(path.read_bytes()[:-9] + b"123456789" if damage is None else damage)
    assert compile_or_find(request(), store) == first
    assert len(compiled) == 2
    assert compile_or_find(request(), store) == first
    assert len(compiled) == 2


class Hostile:
    def __reduce__(self):
        return (sys.exit, (7,))


class Attribute:
    """As Python 3.11 before 3.11.4 keeps a member of an enumeration."""

    def __init__(self, owner, name):
        self.asked = owner, name

    def __reduce__(self):
        return (getattr, self.asked)


def test_members_of_enumerations_are_read_however_they_are_kept():
    assert from_bytes(pickle.dumps(Attribute(Role, "INPUT")), Role) is Role.INPUT


@pytest.mark.parametrize(
    "content",
    [
        Hostile(),
        subprocess.Popen,
        kept.compile_or_find,
        Attribute(Request, "__init__"),
        Attribute(Role, "__class__"),
        Attribute("text", "upper"),
        "a kernel",
        Kept("a", "b", "c", (), ()),
        Kept(None, None, None, (), (7,)),
    ],
)
def test_an_entry_runs_nothing(store, compiled, content):
    """An entry with a digest that is right, and a content that is not ours."""
    key = request_key(request())
    store.get(key, ".kernel", lambda target: target.write_bytes(pickle.dumps(content)) and None)
    assert compile_or_find(request(), store).artifact is not None
    assert len(compiled) == 1


def test_without_a_cache_directory(tmp_path, compiled):
    blocked = tmp_path / "file"
    blocked.write_text("no directory")
    assert compile_or_find(request(), ObjectCache(blocked)).artifact is not None
    assert len(compiled) == 1


def test_rejected_programs_are_not_kept(store):
    for _ in range(2):
        with pytest.raises(tcc.CompileError):
            compile_or_find(request("def f(float(N) A) -> (B) { B(i) = C(i) }"), store)
    assert not [*store.directory.rglob("*.kernel")]


def test_processes_write_at_once(tmp_path):
    """Six processes without an entry, under different hash seeds: all have the same kernel."""
    script = "import tcc, sys; sys.stdout.write(tcc.compile(sys.argv[1]).cuda_source)"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, TEXT],
            stdout=subprocess.PIPE,
            env={"TCC_CACHE_DIR": str(tmp_path), "PYTHONHASHSEED": str(seed)},
        )
        for seed in range(6)
    ]
    texts = {process.communicate(timeout=120)[0] for process in running}
    assert [p.returncode for p in running] == [0] * 6
    assert texts == {tcc.compile(TEXT, cache=False).cuda_source.encode()}
    assert {p.suffix for p in tmp_path.rglob("*") if p.is_file()} == {".kernel"}, "no remains"


def test_the_least_recent_goes_first():
    recent = Recent[str](2)
    for key in ("a", "b", "a", "c"):
        recent.get(key, lambda key=key: key)
    assert recent.get("a", lambda: "made") == "a"
    assert recent.get("b", lambda: "made") == "made"
