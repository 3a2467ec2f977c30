"""The object cache: content addresses, damage, concurrent writers."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from tcc.errors import ToolchainError
from tcc.run.cache import ObjectCache, default_directory, key_of


class Builder:
    def __init__(self, content: bytes) -> None:
        self.content, self.calls = content, 0

    def __call__(self, path: Path) -> None:
        self.calls += 1
        path.write_bytes(self.content)


def test_built_once(tmp_path):
    cache, builder = ObjectCache(tmp_path), Builder(b"one")
    key = key_of(["text"])
    first = cache.get(key, ".o", builder)
    assert first.read_bytes() == b"one"
    assert cache.get(key, ".o", builder) == first
    assert cache.get(key_of(["other"]), ".o", builder) != first
    assert builder.calls == 2


@pytest.mark.parametrize("damage", [b"", b"onf", b"one and more"])
def test_damage_is_built_anew(tmp_path, damage):
    cache, builder = ObjectCache(tmp_path), Builder(b"one")
    entry = cache.get("k" * 8, ".o", builder)
    entry.write_bytes(damage)
    assert cache.get("k" * 8, ".o", builder).read_bytes() == b"one"
    assert builder.calls == 2
    assert len(list(entry.parent.iterdir())) == 1


def test_failed_build_leaves_nothing(tmp_path):
    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise ToolchainError("no")

    with pytest.raises(ToolchainError):
        ObjectCache(tmp_path).get("key", ".o", fail)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_keys_depend_on_the_division_into_parts():
    assert len({key_of(p) for p in (["ab", "c"], ["a", "bc"], ["abc"], [b"abc", ""])}) == 4
    assert key_of(["ab"]) == key_of([b"ab"])


def write(job: tuple[str, int]) -> bytes:
    directory, number = job
    content = b"%d" % number * 100_000
    return ObjectCache(Path(directory)).get("key", ".o", Builder(content)).read_bytes()


def test_concurrent_writers(tmp_path):
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        results = pool.map(write, [(str(tmp_path), n) for n in range(8)], chunksize=1)
    for content in results:
        assert len(set(content)) == 1
        assert len(content) == 100_000


def test_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ToolchainError, match=r"E0705.*cannot be written"):
        ObjectCache(tmp_path / "file").get("key", ".o", Builder(b""))


def test_default_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("TCC_CACHE_DIR", str(tmp_path))
    assert default_directory() == tmp_path
    monkeypatch.delenv("TCC_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert default_directory() == Path("/x/tcc")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert default_directory() == Path("/h/.cache/tcc")


def test_a_folder_in_the_place_of_an_entry(tmp_path):
    cache, builder = ObjectCache(tmp_path), Builder(b"one")
    entry = cache.get("k" * 8, ".o", builder)
    entry.unlink()
    entry.mkdir()
    with pytest.raises(ToolchainError, match="E0705"):
        cache.get("k" * 8, ".o", builder)
    assert [*entry.parent.iterdir()] == [entry]
