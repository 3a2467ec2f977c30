"""The page stands alone, is the same each time, shows what is asked, and trusts no text."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tcc
from tcc.explain.facts import explain
from tcc.explain.markup import element
from tcc.explain.page import page
from tests.doc_blocks import ROOT
from tests.explain.browser import CHROMIUM, MISSING, open_page
from tests.explain.sizes import SIZES

EMPTY = ("meta", "br")


def page_of(program: str | Path, sizes: dict[str, int] | None = None) -> str:
    kernel = tcc.compile(program, sizes=sizes)
    return page(explain(kernel.request, kernel.compilation))


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: page_of(ROOT / "specs" / f"{name}.tc", s) for name, s in SIZES.items()}


class Tags(HTMLParser):
    """Counts elements, keeps attributes and text, and complains of what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.values: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.values += [(k, v or "") for k, v in attrs]
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("name", SIZES)
def test_a_page_is_well_formed_and_needs_nothing_else(pages, name):
    found = Tags(pages[name])
    assert found.tags.count("script") == 1
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(found.tags)
    assert not [k for k, _ in found.values if k in ("src", "href", "srcset") or k.startswith("on")]
    assert not re.search(r"https?:|url\(|@import", pages[name])


@pytest.mark.parametrize("name", SIZES)
def test_a_page_has_its_pictures(pages, name):
    labels = [v for k, v in Tags(pages[name]).values if k == "aria-label"]
    for wanted in ("the iteration space cut", "the roofline", "what the resident blocks use"):
        assert any(label.startswith(wanted) for label in labels), wanted
    assert sum(label.startswith("which thread touches") for label in labels) >= 2
    assert any("the banks of" in label for label in labels) == (name != "softmax")


def test_predictions_are_called_predicted(pages):
    assert pages["gemm"].count("predicted") > 8
    cards = re.findall(r"<div><small>(.*?)</small>.*?</div>", pages["gemm"])
    marked = re.findall(r"<div><small>([^<]*)</small>(?:(?!</div>).)*predicted", pages["gemm"])
    assert set(cards) - set(marked) == {"grid", "block", "shared memory"}


def test_text_of_the_program_is_text():
    program = """
    def f(float(N) A, float(N) B) -> (C) {
        C(i) = A(i) < B(i) && B(i) > 0.0 ? A(i) : B(i)
    }
    """
    found = Tags(page_of(program, {"N": 64}))
    assert any("A(i) < B(i) && B(i) > 0.0 ? A(i) : B(i)" in text for text in found.texts)


def test_markup_escapes_texts_and_attributes():
    evil = "\"'><script>alert(1)</script>&"
    made = element("p", evil, title=evil)
    assert "<script" not in made
    assert Tags(str(made)).texts == [evil]
    assert Tags(str(made)).values == [("title", evil)]


def test_the_policy_allows_only_the_script_of_the_page(pages):
    assert "default-src &#39;none&#39;" in pages["gemm"]
    assert "script-src &#39;sha256-" in pages["gemm"]


def test_the_same_program_gives_the_same_page(pages, tmp_path):
    out = tmp_path / "page.html"
    sizes = [w for n, v in SIZES["softmax"].items() for w in ("--size", f"{n}={v}")]
    program = str(ROOT / "specs" / "softmax.tc")
    command = [sys.executable, "-m", "tcc", "explain", program, *sizes, "--html", str(out)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": "7"}, timeout=120)
    assert out.read_text("utf-8") == pages["softmax"]


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "specs").glob("*.tc")), ids=lambda p: p.stem)
def test_every_spec_has_a_page(path):
    kernel = tcc.compile(path, options=path.with_suffix(".yaml"))
    found = Tags(page(explain(kernel.request, kernel.compilation)))
    assert found.tags.count("svg") >= 4


@pytest.mark.skipif(CHROMIUM is None, reason=MISSING)
@pytest.mark.parametrize("name", SIZES)
def test_a_browser_shows_the_page_without_complaint(pages, name, tmp_path):
    file = tmp_path / f"{name}.html"
    file.write_text(pages[name], encoding="utf-8")
    opened = open_page(file)
    assert opened.console == ()
    assert 'data-ready="yes"' in opened.document, "the script ran to its end"
    assert re.search(r"thread 42 at \(\d+, \d+, 0\), warp 1, lane 10", opened.document)
    assert opened.document.count("<svg") == pages[name].count("<svg")
    assert re.search(r'class="t on" data-t="42"', opened.document) or re.search(
        r'data-t="42"[^>]*class="t on"|class="t on"[^>]*data-t="42"', opened.document
    )
    assert re.search(r'class="line s on"', opened.document), "a statement is marked"


VISIT = """
const picture = document.querySelector(".beside"), svg = picture.querySelector("svg");
const box = svg.getBoundingClientRect();
const at = {bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2};
svg.dispatchEvent(new PointerEvent("pointermove", at));
const sites = picture.querySelectorAll("button");
sites[sites.length - 1].click();
document.querySelector('.tensor .t[data-t="7"]').dispatchEvent(
  new PointerEvent("pointerover", {bubbles: true}));
document.querySelector('.source .s[data-s="0"]').dispatchEvent(
  new PointerEvent("pointerover", {bubbles: true}));
"""


@pytest.mark.skipif(CHROMIUM is None, reason=MISSING)
def test_pointing_and_clicking_show_more(pages, tmp_path):
    """The page without its policy, so that the test's own script may stand in for a hand."""
    file = tmp_path / "visited.html"
    open_to_all = re.sub(r"<meta http-equiv[^>]*>", "", pages["gemm"])
    file.write_text(open_to_all.replace("</body>", f"<script>{VISIT}</script></body>"))
    opened = open_page(file)
    assert opened.console == ()
    assert re.search(r">A\(\d+, \d+\): bank \d+, word \d+<", opened.document)
    assert re.search(r"thread 7 at \(7, 0, 0\), warp 0, lane 7", opened.document)
    shown = re.findall(r'<g class="site( on)?" data-site="(\d)"', opened.document)
    assert ("", "0") in shown
    assert (" on", "1") in shown


@pytest.mark.skipif(CHROMIUM is None, reason=MISSING)
def test_the_browser_refuses_other_scripts(pages, tmp_path):
    """The policy of the page is what would stop a text that got through."""
    file = tmp_path / "evil.html"
    file.write_text(pages["softmax"].replace("</body>", "<script>boom()</script></body>"))
    opened = open_page(file)
    assert any("Content Security Policy" in line for line in opened.console)
