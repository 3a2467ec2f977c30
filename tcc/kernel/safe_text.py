"""Text from outside made safe for the inside of a C++ comment."""

from __future__ import annotations


def comment_text(text: str) -> str:
    """One line of printable ASCII without backslashes, which would continue a `//` comment."""
    return "".join(c if " " <= c <= "~" and c != "\\" else "?" for c in text)
