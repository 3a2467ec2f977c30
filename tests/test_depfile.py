"""Dependency files, read back by make itself."""

import os
import shutil
import subprocess

import pytest

from tcc.depfile import depfile
from tcc.errors import UsageError

NAMES = [
    "plain.tc",
    "two words.tc",
    "dollar$HOME.tc",
    "hash#tag.tc",
    "back\\slash.tc",
    "back\\ space.tc",
    "colon:b.tc",
    "star*.tc",
    "query?.tc",
    "bracket[a].tc",
    "percent%.tc",
    "equals=sign.tc",
    "quote'\".tc",
    "paren(a).tc",
    "tilde~.tc",
    "~root.tc",
    "pipe|.tc",
    "ampersand&.tc",
    "größe 数.tc",
]


def test_the_form():
    assert depfile(["a.cu", "a.h"], ["a.tc", "b c.yaml"]) == (
        "a.cu a.h: a.tc b\\ c.yaml\na.tc:\nb\\ c.yaml:\n"
    )


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\tb", "a;b", "a\\"])
def test_names_that_no_rule_can_hold(name):
    with pytest.raises(UsageError, match="cannot hold the name"):
        depfile(["a.cu"], [name])


def test_make_cannot_name_a_target_with_an_equals_sign():
    with pytest.raises(UsageError, match="a=b"):
        depfile(["a=b.cu"], ["a.tc"])


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("position", ["first", "last", "target"])
def test_make_sees_the_names(name, position, tmp_path):
    """make rebuilds exactly when the file of that name is newer."""
    if position == "target" and "=" in name:
        pytest.skip("no rule can hold it")
    output = name.removesuffix(".tc") + ".out" if position == "target" else "kernel.out"
    inputs = {"first": [name, "other.tc"], "last": ["other.tc", name], "target": ["other.tc"]}
    rule = depfile([output], inputs[position])
    made, _, empty = rule.partition("\n")
    (tmp_path / "Makefile").write_text(f"{made}\n\t@echo rebuilt\n{empty}", "utf-8")
    for needed in inputs[position]:
        (tmp_path / needed).write_text("")
    (tmp_path / output).write_text("")

    def rebuilds():
        done = subprocess.run(
            ["make", "-q", output], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        return done.returncode

    changed = tmp_path / inputs[position][-1 if position == "last" else 0]
    os.utime(tmp_path / "other.tc", (1, 1))
    os.utime(changed, (1, 1))
    os.utime(tmp_path / output, (2, 2))
    assert rebuilds() == 0
    os.utime(changed, (3, 3))
    assert rebuilds() == 1
    if "=" not in changed.name:
        changed.unlink()
        assert rebuilds() == 1, "a file that is gone"
