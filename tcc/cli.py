"""The command `tcc`: parse the words, call one command, turn what went wrong into an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from tcc import __version__
from tcc.cli_cache import cache_command
from tcc.cli_compile import check_command, compile_command, fmt_command
from tcc.cli_completion import VARIABLE, complete
from tcc.cli_info import explain_command, options_command, passes_command, targets_command
from tcc.cli_lsp import lsp_command
from tcc.cli_run import run_command, verify_command
from tcc.cli_session import Session, put
from tcc.cli_tune import tune_command
from tcc.errors import CompileError, InternalError, TccError, UsageError
from tcc.snippet import shown

F = TypeVar("F", bound=Callable[..., Any])
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


COMMANDS = (
    compile_command,
    check_command,
    run_command,
    verify_command,
    explain_command,
    tune_command,
    cache_command,
    fmt_command,
    lsp_command,
    targets_command,
    options_command,
    passes_command,
)


class _InOrder(click.Group):
    """A group that lists its commands in the order in which they are added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)


def _path_option(name: str, path: str, help: str) -> Callable[[F], F]:
    """An option that prints where a file of the package is, and ends the command."""

    def tell(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
        if is_asked:
            put(f"{Path(__file__).resolve().parent / path}\n")
            context.exit()

    return click.option(
        name, is_flag=True, is_eager=True, expose_value=False, callback=tell, help=help
    )


@click.group(
    cls=_InOrder, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="tcc %(version)s")
@_path_option("--make-include", "make/tcc.mk", "Print the path of the rules for GNU make.")
@_path_option("--cmake-dir", "cmake", "Print the folder of the CMake package, for tcc_DIR.")
def tcc() -> None:
    """Compile tensor comprehensions to standalone CUDA C++.

    Exit codes: 0 done, 1 program rejected, 2 usage, 3 wrong result, 4 toolchain or GPU missing,
    70 internal error, 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    session = Session(tuple(sys.argv[1:] if arguments is None else arguments))
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - None where it is closed
    if VARIABLE in os.environ:
        return complete(tcc, os.environ[VARIABLE])
    try:
        code = _run(session)
        sys.stdout.flush()
        return code
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader had enough
        _discard_stdout()
        return 0
    except Exception as problem:  # noqa: BLE001 - the one place that answers for all of tcc
        return _answer(session, problem)


def _run(session: Session) -> int:
    # Not `main` of click, which has an exit code of its own for a closed pipe.
    with tcc.make_context("tcc", list(session.words), obj=session) as context:
        code = tcc.invoke(context)
    return code if isinstance(code, int) else 0


def _answer(session: Session, problem: Exception) -> int:
    """Say what went wrong; the exit code."""
    match problem:
        case click.exceptions.Exit():
            return problem.exit_code
        case click.ClickException():
            _show(problem)
            return problem.exit_code
        case CompileError() | UsageError():
            session.fail(problem, problem.diagnostics)
            return problem.exit_code
        case TccError() if not isinstance(problem, InternalError):
            session.fail(problem, ())
            return problem.exit_code
        case OSError(errno=errno.ENOSPC):
            _discard_stdout()
            session.say("error: no space left on the device")
            return UsageError.exit_code
        case MemoryError() | OSError(errno=errno.ENOMEM):
            session.say("error: not enough memory")
            return UsageError.exit_code
        case _:
            return _crash(session, problem)


def _show(problem: click.ClickException) -> None:
    """What click says of the words; words may hold what moves the cursor."""
    said = io.StringIO()
    problem.show(said)
    click.echo("\n".join(map(shown, said.getvalue().splitlines())), err=True)


def _discard_stdout() -> None:
    """What Python still flushes at its end must go somewhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _crash(session: Session, fault: Exception) -> int:
    from tcc.cli_crash import report_crash

    report_crash(session, fault)
    return EXIT_INTERNAL
