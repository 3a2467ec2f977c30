"""What MkDocs has to know of this repository: pages that live elsewhere, links, code blocks.

The documents are read in two places. On the file system links lead to sources and to pages outside
of `docs/`; on the site the pages among them are pages of the site, and links to sources are text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "specs/README.md": "specs.md"}
"""Files outside of `docs/` that are pages, besides those of the error codes."""
CODES = "tcc/codes"
MORE = "More"
_FENCE = re.compile(r"^```(\w+)[^\n]*$", re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation: without pages that do not exist, and with those that it does not name."""
    known = {p.name for p in Path(config.docs_dir).glob("*.md")} | set(PAGES.values())
    nav = [e for e in (_existing(entry, known) for entry in config.nav or []) if e]
    named = {page for entry in nav for page in _pages(entry)}
    rest = sorted(known - named)
    config.nav = [*nav, {MORE: rest}] if rest else nav
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that live outside of `docs/`."""
    codes = {p.relative_to(ROOT).as_posix(): f"codes/{p.name}" for p in _codes()}
    for source, target in (PAGES | codes).items():
        content = (ROOT / source).read_text("utf-8")
        file = File.generated(config, target, content=content)
        if source in codes:
            file.inclusion = file.inclusion.NOT_IN_NAV
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Code blocks without what they promise to tests, and links that lead to pages of the site."""
    text = _FENCE.sub(lambda found: f"```{found[1]}", markdown)
    outside = {target: source for source, target in PAGES.items()}
    here = page.file.src_uri
    if here.startswith("codes/"):
        source = f"{CODES}/{posixpath.basename(here)}"
    else:
        source = outside.get(here, f"docs/{here}")
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(p if p.startswith("```") else _linked(p, source, here) for p in parts)


def _linked(text: str, source: str, here: str) -> str:
    """The text with its links as they are on the site; `source` is the file that it comes from."""

    def link(found: re.Match[str]) -> str:
        image, words, target, anchor = found[1], found[2], found[3], found[4] or ""
        if not target or ":" in target:
            return found[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        page = _page_of(place)
        if page is None:
            return words
        relative = posixpath.relpath(page, posixpath.dirname(here) or ".")
        return f"{image}[{words}]({relative}{anchor})"

    return _LINK.sub(link, text)


def _page_of(place: str) -> str | None:
    """The page or picture of the site for a file of the repository; None for a source."""
    if place in PAGES:
        return PAGES[place]
    if place in ("specs", "specs/"):
        return PAGES["specs/README.md"]
    if posixpath.dirname(place) == CODES and place.endswith(".md"):
        return f"codes/{posixpath.basename(place)}"
    return place.removeprefix("docs/") if place.startswith("docs/") else None


def _codes() -> list[Path]:
    return sorted((ROOT / CODES).glob("*.md"))


def _existing(entry: object, known: set[str]) -> object:
    """An entry of the navigation without pages that are not there."""
    match entry:
        case str():
            return entry if entry in known else None
        case dict():
            kept = {title: _existing(below, known) for title, below in entry.items()}
            return {title: below for title, below in kept.items() if below}
        case list():
            return [e for e in (_existing(below, known) for below in entry) if e]
        case _:
            return entry


def _pages(entry: object) -> list[str]:
    """The pages below an entry."""
    match entry:
        case str():
            return [entry]
        case dict():
            return [page for below in entry.values() for page in _pages(below)]
        case list():
            return [page for below in entry for page in _pages(below)]
        case _:
            return []
