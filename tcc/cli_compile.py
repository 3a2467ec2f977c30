"""The commands that read a program and write text: compile, check, fmt."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcc.cli_inputs import (
    Program,
    cannot_write,
    message_format,
    program,
    read_text,
    request,
)
from tcc.cli_session import Session, put
from tcc.diagnostics import Report
from tcc.errors import CompileError, UsageError

if TYPE_CHECKING:
    from tcc.api import Kernel
    from tcc.driver import Compilation


@dataclass(frozen=True)
class Outputs:
    """The files that `compile` writes, by option; None: not asked for."""

    output: str | None
    header: str | None
    ptx: str | None
    cubin: str | None
    manifest: str | None
    depfile: str | None
    reference: bool

    @property
    def reference_path(self) -> str | None:
        """Beside the output: `gemm.cu` gives `gemm.reference.cu`."""
        if not self.reference or self.output is None:
            return None
        return str(Path(self.output).with_suffix(f".reference{Path(self.output).suffix}"))


@click.command("compile")
@program
@click.option("-o", "--output", metavar="CU", help="CUDA text.  [default: standard output]")
@click.option("--header", metavar="H", help="C header of the launcher.")
@click.option("--ptx", metavar="PTX", help="PTX, by NVRTC; needs no GPU.")
@click.option("--cubin", metavar="CUBIN", help="Binary for the architecture, by NVRTC.")
@click.option("--manifest", metavar="JSON", help="How to call and launch it, as JSON.")
@click.option("--depfile", metavar="D", help="Makefile rule with the inputs of the outputs.")
@click.option("--reference", is_flag=True, help="Write the one-thread reference kernel, too.")
@click.option(
    "--emit",
    metavar="STAGE",
    help="Print a stage, see `tcc passes`, instead of the CUDA text.",
)
@click.option("--stop-after", metavar="PASS", help="Stop after a pass, see `tcc passes`.")
@click.option("--time-passes", is_flag=True, help="Print the time of each pass.")
@click.pass_obj
def compile_command(
    session: Session, /, emit: str | None, stop_after: str | None, time_passes: bool, **given: Any
) -> None:
    """Compile a def to CUDA C++.

    FILE.tc is a program, `-` reads one from standard input.
    """
    chosen = Outputs(**{name: given.pop(name) for name in Outputs.__dataclass_fields__})
    _check_outputs(chosen, Program(**given))
    _check_passes(emit, stop_after)
    result = _compile(session, Program(**given), stop_after)
    if time_passes:
        session.say(_times(result.compilation))
    session.report(result.compilation.diagnostics)
    for note in result.compilation.notes:
        session.note(note)
    stage = emit or _stage_of(stop_after)
    if stage is not None:
        _print_stage(result.compilation, stage)
    if stop_after is None:
        _write(session, result, chosen, Program(**given), to_stdout=stage is None)


def _compile(session: Session, given: Program, stop_after: str | None) -> Kernel:
    from tcc.api import Kernel
    from tcc.driver import compile_program

    asked = request(session, given)
    return Kernel(asked, compile_program(asked, stop_after=stop_after))


def _check_passes(emit: str | None, stop_after: str | None) -> None:
    from tcc.driver import PASSES

    names = [p.name for p in PASSES]
    stages = [p.stage for p in PASSES if p.stage]
    if emit is not None and emit not in stages:
        raise UsageError(f"there is no stage `{emit}`; stages are {', '.join(stages)}")
    if stop_after is not None and stop_after not in names:
        raise UsageError(f"there is no pass `{stop_after}`; passes are {', '.join(names)}")


def _check_outputs(chosen: Outputs, given: Program) -> None:
    inputs = {os.path.realpath(f) for f in (given.file, given.options) if f not in (None, "-")}
    taken: set[str] = set()
    for file in (f for f in (*_files(chosen), chosen.depfile) if f is not None):
        path = file if file == "-" else os.path.realpath(file)
        if path in inputs:
            raise UsageError(f"`{file}` is an input and would be overwritten")
        if path in taken:
            raise UsageError(f"two outputs go to `{file}`")
        taken.add(path)
    if chosen.reference and (chosen.output is None or chosen.output == "-"):
        raise UsageError("`--reference` writes beside the CUDA text; give it a name with `-o`")
    if chosen.depfile and all(f == "-" for f in _files(chosen)):
        raise UsageError("`--depfile` needs an output to speak of; name one with `-o`")


def _files(chosen: Outputs) -> list[str]:
    """The outputs that are made from the program."""
    files = (
        chosen.output,
        chosen.reference_path,
        chosen.header,
        chosen.ptx,
        chosen.cubin,
        chosen.manifest,
    )
    return [f for f in files if f is not None]


def _write(
    session: Session, kernel: Kernel, chosen: Outputs, given: Program, *, to_stdout: bool
) -> None:
    """Write every output; the CUDA text goes to standard output when nothing else is asked for."""
    from tcc.output import write_all

    contents = _contents(kernel, chosen, given)
    if not contents and to_stdout:
        contents = {"-": kernel.cuda_source.encode()}
    try:
        write_all({Path(name): data for name, data in contents.items() if name != "-"})
    except OSError as problem:
        raise cannot_write(session, str(problem.filename), problem) from problem
    if "-" in contents:
        put(contents["-"].decode())


def _contents(kernel: Kernel, chosen: Outputs, given: Program) -> dict[str, bytes]:
    from tcc.depfile import depfile
    from tcc.manifest import manifest_text

    contents: dict[str, bytes] = {}
    if chosen.output is not None:
        contents[chosen.output] = kernel.cuda_source.encode()
    if chosen.reference_path is not None:
        contents[chosen.reference_path] = kernel.reference.cuda_source.encode()
    if chosen.header is not None:
        contents[chosen.header] = kernel.header.encode()
    if chosen.ptx is not None:
        contents[chosen.ptx] = kernel.ptx().encode()
    if chosen.cubin is not None:
        contents[chosen.cubin] = kernel.cubin()
    if chosen.manifest is not None:
        asked = kernel.request
        contents[chosen.manifest] = manifest_text(
            kernel.artifact, asked.target, asked.options
        ).encode()
    if chosen.depfile is not None:
        inputs = [f for f in (given.file, given.options) if f not in (None, "-")]
        contents[chosen.depfile] = depfile(_files(chosen), _texts(inputs)).encode()
    return contents


def _texts(names: Sequence[str | None]) -> list[str]:
    return [name for name in names if name is not None]


def _stage_of(stop_after: str | None) -> str | None:
    """What the last pass produced."""
    if stop_after is None:
        return None
    from tcc.driver import PASSES

    position = next(i for i, p in enumerate(PASSES) if p.name == stop_after)
    return next((p.stage for p in reversed(PASSES[: position + 1]) if p.stage), None)


def _print_stage(compilation: Compilation, stage: str) -> None:
    if stage not in compilation.dumps:
        raise UsageError(f"this compilation makes no `{stage}`")
    text = compilation.dumps[stage]
    put(text if text.endswith("\n") else text + "\n")


def _times(compilation: Compilation) -> str:
    total = sum(seconds for _, seconds in compilation.timings)
    rows = [*compilation.timings, ("all passes", total)]
    return "".join(f"{seconds * 1000:9.1f} ms  {name}\n" for name, seconds in rows)


@click.command("check")
@click.argument("file", metavar="FILE.tc")
@message_format
@click.pass_obj
def check_command(session: Session, /, file: str) -> None:
    """Print the types, ranges and shapes of every def.

    Nothing is emitted. FILE.tc may be `-` for standard input.
    """
    from tcc.driver import check_source

    texts, found = check_source(read_text(session, file))
    if any(d.is_error for d in found):
        raise CompileError(found)
    session.report(found)
    put("\n".join(text if text.endswith("\n") else text + "\n" for text in texts))


@click.command("fmt")
@click.argument("files", metavar="FILE.tc...", nargs=-1, required=True)
@click.option(
    "--check", is_flag=True, help="Change nothing; exit with 1 if something would change."
)
@message_format
@click.pass_obj
def fmt_command(session: Session, /, files: tuple[str, ...], check: bool) -> int:
    """Format programs in place, comments included.

    `-` formats standard input to standard output.
    """
    changed = [file for file in files if _format(session, file, check)]
    if check:
        for file in changed:
            session.say(f"{file}: would be reformatted")
    return 1 if check and changed else 0


def _format(session: Session, file: str, check: bool) -> bool:
    """Whether the text of a file changes."""
    from tcc.frontend.unparse import format_source
    from tcc.output import write_all

    source, report = read_text(session, file), Report()
    text = format_source(source, report)
    if text is None or report.errors:
        raise CompileError(report.items)
    if file == "-" and not check:
        put(text)
    elif text != source.text and not check:
        try:
            write_all({Path(file): text.encode()})
        except OSError as problem:
            raise cannot_write(session, file, problem) from problem
    return text != source.text
