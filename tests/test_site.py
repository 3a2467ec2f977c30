"""The documents as a site: a strict build, complete, and nothing loaded from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tcc.codes import codes
from tcc.options import Options
from tcc.schema import entries
from tests.doc_blocks import ROOT

_LOADED = re.compile(r"<(?:link|script|img|iframe)[^>]*?(?:href|src)=\"?(https?:[^\" >]*)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; broken links, unknown anchors and pages without a place are errors."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_document_is_a_page(site):
    for path in (ROOT / "docs").glob("*.md"):
        assert (site / f"{path.stem}.html").is_file(), path
    for name in ("index", "specs", "changelog"):
        assert (site / f"{name}.html").is_file(), name


def test_every_code_has_a_page(site):
    index = (site / "errors.html").read_text("utf-8")
    for code in codes():
        assert (site / "codes" / f"{code}.html").is_file(), code
        assert f"codes/{code}.html" in index, code


def test_every_option_is_on_the_site(site):
    text = (site / "options.html").read_text("utf-8")
    for entry in entries(Options):
        assert f"<code>{entry.path.rpartition('.')[2]}</code>" in text, entry.path


def test_code_has_colours_and_no_promises(site):
    text = (site / "language.html").read_text("utf-8")
    assert 'class="highlight"' in text
    assert "reject E0" not in text


def test_nothing_is_loaded_from_elsewhere(site):
    for path in site.rglob("*.html"):
        assert not _LOADED.findall(path.read_text("utf-8")), path
