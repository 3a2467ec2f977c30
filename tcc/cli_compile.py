"""The commands that read a program and write text: compile, check, fmt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcc.cli_inputs import (
    Program,
    cannot_write,
    message_format,
    programs,
    read_text,
    request,
)
from tcc.cli_outputs import Compiled, Outputs, check_outputs, contents, naming_of
from tcc.cli_session import Session, put
from tcc.diagnostics import Report
from tcc.errors import CompileError, UsageError
from tcc.target import TARGETS

if TYPE_CHECKING:
    from tcc.driver import Compilation, Request


@click.command("compile")
@programs
@click.option("--prefix", metavar="P", help="What the names of all functions begin with.")
@click.option("--namespace", metavar="A::B", help="C++ namespace of the launcher.")
@click.option("-o", "--output", metavar="CU", help="CUDA text.  [default: standard output]")
@click.option("--header", metavar="H", help="C header of the launcher.")
@click.option("--ptx", metavar="PTX", help="PTX, by NVRTC; needs no GPU.")
@click.option("--cubin", metavar="CUBIN", help="Binary for the architecture, by NVRTC.")
@click.option("--manifest", metavar="JSON", help="How to call and launch it, as JSON.")
@click.option("--depfile", metavar="D", help="Makefile rule with the inputs of the outputs.")
@click.option("--self-test", metavar="CU", help="A program that checks and times the kernel.")
@click.option("--reference", is_flag=True, help="Write the one-thread reference kernel, too.")
@click.option("--tuned", is_flag=True, help="Use the best plan that the tuning database has.")
@click.option(
    "--emit",
    metavar="STAGE",
    help="Print a stage, see `tcc passes`, instead of the CUDA text.",
)
@click.option("--stop-after", metavar="PASS", help="Stop after a pass, see `tcc passes`.")
@click.option("--time-passes", is_flag=True, help="Print the time of each pass.")
@click.pass_obj
def compile_command(
    session: Session,
    /,
    arch: tuple[str, ...],
    prefix: str | None,
    namespace: str | None,
    emit: str | None,
    stop_after: str | None,
    time_passes: bool,
    tuned: bool,
    **given: Any,
) -> None:
    """Compile a def to CUDA C++.

    FILE.tc is a program, `-` reads one from standard input. With several `--arch` the launcher
    chooses among kernels for each.
    """
    from tcc.api import Kernel

    chosen = Outputs(**{name: given.pop(name) for name in Outputs.__dataclass_fields__})
    wanted = Program(**given, arch=arch[0] if arch else None)
    inputs = [f for f in (wanted.file, wanted.options) if f is not None and f != "-"]
    check_outputs(chosen, inputs)
    _check_passes(emit, stop_after)
    asked = replace(request(session, wanted), naming=naming_of(prefix, namespace))
    architectures = tuple(dict.fromkeys(arch))
    if len(architectures) > 1:
        _refuse(architectures, chosen, emit, stop_after, time_passes, tuned)
        _write(session, _library(session, asked, architectures), chosen, inputs, to_stdout=True)
        return
    asked, result = _compiled(asked, stop_after, tuned)
    if time_passes:
        session.say(_times(result))
    _tell(session, [result])
    stage = emit or _stage_of(stop_after)
    if stage is not None:
        _print_stage(result, stage)
    if stop_after is None:
        compiled = Compiled((Kernel(asked, result),), None)
        _write(session, compiled, chosen, inputs, to_stdout=stage is None)


def _compiled(asked: Request, stop_after: str | None, tuned: bool) -> tuple[Request, Compilation]:
    """The compilation, with the request that it is of."""
    from tcc.driver import compile_program

    def compile(request: Request) -> Compilation:
        return compile_program(request, stop_after=stop_after)

    if not tuned:
        return asked, compile(asked)
    from tcc.tune.tuned import compile_tuned

    used, made, notes = compile_tuned(asked, compile)
    return used, replace(made, notes=(*notes, *made.notes))


def _library(session: Session, asked: Request, architectures: Sequence[str]) -> Compiled:
    """The program for every architecture."""
    from tcc.api import Kernel
    from tcc.variants import compile_variants

    found = compile_variants(asked, [TARGETS[name] for name in architectures])
    _tell(session, list(found.compilations.values()))
    kernels = (Kernel(found.requests[name], c) for name, c in found.compilations.items())
    return Compiled(tuple(kernels), found.library)


def _refuse(
    architectures: Sequence[str],
    chosen: Outputs,
    emit: str | None,
    stop_after: str | None,
    time_passes: bool,
    tuned: bool,
) -> None:
    """UsageError for what makes no sense for several architectures."""
    asked = {
        "--ptx": chosen.ptx,
        "--cubin": chosen.cubin,
        "--emit": emit,
        "--stop-after": stop_after,
        "--time-passes": time_passes,
        "--tuned": tuned,
    }
    for option, value in asked.items():
        if value:
            names = " and ".join(architectures)
            raise UsageError(f"`{option}` is for one architecture, not for {names}")


def _tell(session: Session, compilations: Sequence[Compilation]) -> None:
    """Warnings and notes, once where several compilations have them."""
    session.report(tuple(dict.fromkeys(d for c in compilations for d in c.diagnostics)))
    for note in dict.fromkeys(n for c in compilations for n in c.notes):
        session.note(note)


def _check_passes(emit: str | None, stop_after: str | None) -> None:
    from tcc.driver import PASSES

    names = [p.name for p in PASSES]
    stages = [p.stage for p in PASSES if p.stage]
    if emit is not None and emit not in stages:
        raise UsageError(f"there is no stage `{emit}`; stages are {', '.join(stages)}")
    if stop_after is not None and stop_after not in names:
        raise UsageError(f"there is no pass `{stop_after}`; passes are {', '.join(names)}")


def _write(
    session: Session, compiled: Compiled, chosen: Outputs, inputs: list[str], *, to_stdout: bool
) -> None:
    """Write every output; the CUDA text goes to standard output when nothing else is asked for."""
    from tcc.output import write_all

    made = contents(compiled, chosen, inputs)
    if not made and to_stdout:
        made = {"-": compiled.cuda_source.encode()}
    try:
        write_all({Path(name): data for name, data in made.items() if name != "-"})
    except OSError as problem:
        raise cannot_write(session, str(problem.filename), problem) from problem
    if "-" in made:
        put(made["-"].decode())


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
@click.argument("files", metavar="FILE.tc...", nargs=-1, required=True)
@message_format
@click.pass_obj
def check_command(session: Session, /, files: tuple[str, ...]) -> None:
    """Print the types, ranges and shapes of every def.

    Nothing is emitted. FILE.tc may be `-` for standard input.
    """
    from tcc.check import check_source

    checked = [check_source(read_text(session, file)) for file in files]
    found = [diagnostic for _, findings in checked for diagnostic in findings]
    if any(d.is_error for d in found):
        raise CompileError(found)
    session.report(found)
    texts = [text for described, _ in checked for text in described]
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
