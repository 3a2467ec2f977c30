"""The commands that tell something: explain, targets, options, passes."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcc.cli_inputs import Program, cannot_write, program, request
from tcc.cli_outputs import check_not_read
from tcc.cli_session import Session, put, put_sections
from tcc.codes import CODE, codes, page
from tcc.errors import UsageError
from tcc.target import DEFAULT_TARGET, KIB, MIB, TARGETS, Target

if TYPE_CHECKING:
    from tcc.explain.facts import Explanation
    from tcc.schema import Entry


@click.command("explain")
@program
@click.option("--html", metavar="FILE", help="Write a page with pictures instead of the text.")
@click.pass_obj
def explain_command(session: Session, /, file: str, html: str | None, **given: Any) -> None:
    """Explain how a program is mapped, or an error code.

    Schedule, plan, reuse, staging, occupancy and bound of every kernel. Give a code such as E0401
    in place of FILE.tc for its page.
    """
    if CODE.fullmatch(file.upper()):
        put(_page(file.upper()))
        return
    from tcc.driver import compile_program
    from tcc.explain.facts import explain
    from tcc.explain.text import text

    wanted = Program(file, **given)
    if html is not None:
        check_not_read(html, [f for f in (file, wanted.options) if f is not None])
    asked = request(session, wanted)
    compilation = compile_program(asked)
    session.report(compilation.diagnostics)
    for note in compilation.notes:
        session.note(note)
    found = explain(asked, compilation)
    if html is None:
        put_sections(text(found))
    else:
        _write_page(session, html, found)


def _write_page(session: Session, path: str, found: Explanation) -> None:
    from tcc.explain.page import page
    from tcc.output import write_all

    text = page(found)
    if path == "-":
        put(text)
        return
    try:
        write_all({Path(path): text.encode()})
    except OSError as problem:
        raise cannot_write(session, path, problem) from problem


def _page(code: str) -> str:
    found = page(code)
    if found is None:
        near = difflib.get_close_matches(code, codes(), n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise UsageError(f"there is no code `{code}`{hint}")
    return found.text


@click.command("targets")
def targets_command() -> None:
    """List the GPUs that programs can be compiled for."""
    head = ("arch", "board", "SMs", "shared/block", "shared/SM", "threads/SM", "L2", "DRAM")
    rows = [head, *(_target_row(target) for target in TARGETS.values())]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    put("".join(f"{line.rstrip()}\n" for line in lines))
    put(f"\nshared/block: without and with opt-in. The default is {DEFAULT_TARGET}.\n")


def _target_row(target: Target) -> tuple[str, ...]:
    static, opt_in = target.max_shared_bytes // KIB, target.max_shared_bytes_opt_in // KIB
    return (
        target.name,
        target.board,
        str(target.sms),
        f"{static}/{opt_in} KiB",
        f"{target.shared_bytes_per_sm // KIB} KiB",
        str(target.max_threads_per_sm),
        f"{target.l2_bytes // MIB} MiB",
        f"{target.dram_gb_per_s} GB/s",
    )


@click.command("options")
@click.option(
    "--json-schema", is_flag=True, help="Print the schema of options files, for YAML editors."
)
def options_command(json_schema: bool) -> None:
    """List everything that an options file may say."""
    if json_schema:
        from tcc.json_schema import json_schema_text

        put(json_schema_text())
        return
    _list_options()


def _list_options() -> None:
    from tcc.options import PRESETS, Options, given, spell
    from tcc.schema import entries

    section = ""
    for entry in entries(Options):
        prefix, _, name = entry.path.rpartition(".")
        if prefix != section:
            put(f"{prefix}:\n")
            section = prefix
        put(_entry(entry, name, "  " if prefix else ""))
    put("\npresets:\n")
    for preset, mapping in PRESETS.items():
        put(f"  {preset}: {spell(given(mapping))}\n")


def _entry(entry: Entry, name: str, indent: str) -> str:
    from tcc.schema import describe

    default = f" (default: {entry.default})" if entry.default else ""
    return f"{indent}{name}: {describe(entry.kind)}{default}\n{indent}    {entry.doc}\n"


@click.command("passes")
def passes_command() -> None:
    """List the passes of the compiler, in order."""
    from tcc.driver import PASSES

    width = max(len(p.name) for p in PASSES)
    stage = max(len(p.stage) for p in PASSES)
    for step in PASSES:
        put(f"{step.name:{width}}  {step.stage:{stage}}  {step.sentence}\n")
