"""The newcomer's path: the tutorial's commands from the installation on, in a fresh environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import test_docs
from tests.doc_blocks import ROOT, blocks

TUTORIAL = ROOT / "docs" / "tutorial.md"
SOURCES = ("tcc", "pyproject.toml", "README.md", "LICENSE")


@pytest.mark.slow
def test_the_tutorial_from_its_first_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Install, compile, verify, tune a minute, use in CMake; needs a package index."""
    _checkout(tmp_path / "tcc")
    (install,) = (b for b in blocks(TUTORIAL) if (b.language, b.words) == ("sh", ("install",)))
    plain = {n: v for n, v in os.environ.items() if n not in ("VIRTUAL_ENV", "PYTHONPATH")}
    command = ["bash", "-ec", f"{install.text}command -v tcc"]
    done = subprocess.run(
        command, cwd=tmp_path, env=plain, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    environment = tmp_path / ".venv" / "bin"
    assert done.stdout.splitlines()[-1] == str(environment / "tcc")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "executable", str(environment / "python"))
    monkeypatch.setattr(test_docs, "HURRY", ())
    for name in ("TCC_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    wrong = test_docs.run_blocks(TUTORIAL)
    assert not wrong, "\n".join(wrong)
    assert (project / "layer.yaml").is_file()


def _checkout(folder: Path) -> None:
    """What a checkout needs to be installed; nothing is built in the one that is tested."""
    folder.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
