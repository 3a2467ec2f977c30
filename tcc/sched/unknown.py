"""Names in an options file that the program does not have, or not in the role asked for."""

from __future__ import annotations

from collections.abc import Iterable

from tcc.diagnostics import Diagnostic, error
from tcc.frontend.suggest import suggestion
from tcc.source import Span


def unknown(kind: str, name: str, known: Iterable[str], place: Span) -> Diagnostic:
    """The diagnostic for a name of some kind, with those that there are."""
    names = list(known)
    message = f"there is no {kind} `{name}`"
    help = suggestion(name, names)
    listed = ", ".join(f"`{n}`" for n in names)
    notes = () if help or not names else (f"there {_are(names)} {listed}",)
    help = help or (f"remove `{name}`",)
    return error("E0522", message, place, f"no {kind}", notes=notes, help=help)


def not_stageable(tensor: str, place: Span) -> Diagnostic:
    """The diagnostic for a tensor that no block can copy to shared memory."""
    message = f"`{tensor}` cannot be copied to shared memory"
    note = (
        "a block copies boxes of tensors that its kernel reads at sums of indices and does not "
        "write, and not where threads share rows"
    )
    help = (f"remove `{tensor}` here",)
    return error("E0525", message, place, "cannot be staged", notes=(note,), help=help)


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
