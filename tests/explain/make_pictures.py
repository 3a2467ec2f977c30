"""The pictures of the documents: `make pictures` opens reports in Chromium and takes them anew."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import tcc
from tcc.explain.facts import explain
from tcc.explain.page import page
from tests.doc_blocks import ROOT
from tests.explain.browser import screenshot
from tests.explain.sizes import SIZES

FOLDER = ROOT / "docs" / "pictures"
PARTS = ("cut", "tensors", "shared", "bound", "staging")


@dataclass(frozen=True)
class Shot:
    """One picture: which parts of the report of which program, in a window of which size."""

    name: str
    program: str
    parts: tuple[str, ...]
    width: int
    height: int


SHOTS = (
    Shot("explain-gemm", "gemm", ("head", "cut"), 1180, 930),
    Shot("explain-gemm-tensors", "gemm", ("tensors",), 1180, 720),
    Shot("explain-gemm-banks", "gemm", ("shared",), 960, 1030),
    Shot("explain-gemm-bound", "gemm", ("bound",), 1180, 790),
    Shot("explain-softmax", "softmax", ("head", "cut", "tensors"), 1180, 1290),
    Shot("explain-conv2d-tensors", "conv2d", ("tensors",), 1180, 1240),
    Shot("explain-conv2d-code", "conv2d", ("listing",), 1180, 850),
)


def main() -> None:
    """Take every picture."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for shot in SHOTS:
            file = Path(folder) / "page.html"
            file.write_text(_only(shot), encoding="utf-8")
            screenshot(file, FOLDER / f"{shot.name}.png", shot.width, shot.height)


def _only(shot: Shot) -> str:
    """The report with everything hidden but the parts that are wanted."""
    program = ROOT / "specs" / f"{shot.program}.tc"
    kernel = tcc.compile(program, sizes=SIZES[shot.program])
    hidden = [f".{part}" for part in (*PARTS, "listing") if part not in shot.parts]
    hidden += ["section:not(.kernel):not(.listing)"]
    closer = ""
    if "head" not in shot.parts:
        hidden += ["header", "section > h2", ".cards"]
        closer = "h3 { margin-top: 0; }"
    if shot.parts == ("listing",):
        hidden += [".kernel"]
    style = f"<style>{', '.join(hidden)} {{ display: none; }} {closer}</style>"
    text = page(explain(kernel.request, kernel.compilation))
    return text.replace("</head>", f"{style}</head>")


if __name__ == "__main__":
    main()
