"""The command that searches for faster plans: tune."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcc.cli_inputs import Program, cannot_write, compiling, request
from tcc.cli_session import Session, is_terminal, put
from tcc.errors import CompileError, UsageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tcc.tune.database import Database
    from tcc.tune.progress import Progress
    from tcc.tune.tuner import Tuning, Watcher

INTERRUPTED, REJECTED, WRONG = 130, 1, 3
_TIME = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?")
_DEVICE = re.compile(r"host|cuda(?::\d+(?:,\d+)*)?")
STRATEGIES = ("genetic", "random", "model", "tpe")


def _seconds(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """The seconds of a text like `10m`."""
    if text is None:
        return None
    match = _TIME.fullmatch(text)
    found = [float(part or 0) for part in match.groups()] if match else []
    seconds = sum(n * unit for n, unit in zip(found, (3600, 60, 1), strict=False))
    if seconds <= 0:
        message = f"`{text}` is no time; write `10m`, `90s` or `1h30m`"
        raise click.BadParameter(message, context, parameter)
    return seconds


def _device(context: click.Context, parameter: click.Parameter, text: str) -> str:
    """The text, when it names a device or some GPUs."""
    if not _DEVICE.fullmatch(text):
        message = f"`{text}` is no device; write `host`, `cuda` or `cuda:0,1`"
        raise click.BadParameter(message, context, parameter)
    return text


@dataclass(frozen=True)
class Search:
    """What `tcc tune` is asked for besides programs."""

    seconds: float | None
    candidates: int | None
    device: str
    objective: str | None
    strategy: str
    workers: int | None
    cluster: str | None
    seed: int
    resume: bool
    output: str | None
    report: str | None


@click.command("tune")
@click.argument("files", metavar="[FILE.tc]...", nargs=-1)
@click.option(
    "--time", "seconds", callback=_seconds, metavar="TIME", help="How long: `10m`, `90s`, `1h30m`."
)
@click.option("--candidates", type=click.IntRange(1), metavar="N", help="Most candidates.")
@click.option(
    "--device",
    callback=_device,
    default="host",
    show_default=True,
    metavar="DEVICE",
    help="What verifies and measures: `host`, `cuda`, or some GPUs: `cuda:0,1`.",
)
@click.option(
    "--objective",
    type=click.Choice(["model", "time"]),
    help="Predicted or measured time.  [default: model on host, time on cuda]",
)
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    default="genetic",
    show_default=True,
    help="How candidates are found.",
)
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Processes.  [default: one for each CPU]"
)
@click.option("--cluster", metavar="ADDRESS", help="Dask scheduler: `tcp://HOST:PORT`.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Start of the random choices.",
)
@click.option("--resume", is_flag=True, help="Go on where earlier searches ended.")
@click.option("-o", "--output", metavar="YAML", help="Best options.  [default: standard output]")
@click.option("--report", metavar="HTML", help="Page with the course and the result.")
@compiling
@click.pass_obj
def tune_command(session: Session, /, files: tuple[str, ...], **given: Any) -> int:
    """Search for a faster plan than the default.

    Without FILE.tc, every program of the directory with its options file shares the time. Results
    go to the database.
    """
    asked = Search(**{name: given.pop(name) for name in Search.__dataclass_fields__})
    programs = [Program(file=f, **given) for f in _files(files)]
    _check(session, asked, programs)
    with _term_is_interrupt():
        return _Session(session, asked).run(programs)


def _files(given: tuple[str, ...]) -> list[str]:
    """The given programs, else those of the directory."""
    found = list(given) or sorted(str(p) for p in Path().glob("*.tc"))
    if not found:
        raise UsageError("there is no program here: no file ends in `.tc`")
    return found


def _check(session: Session, asked: Search, programs: list[Program]) -> None:
    """UsageError for what makes no sense together, and for outputs that cannot be written."""
    from tcc.output import check_writable

    if asked.seconds is None and asked.candidates is None:
        raise UsageError("say how long to search: `--time 10m`, or `--candidates 500`")
    if asked.objective == "time" and asked.device == "host":
        raise UsageError("times are measured on a GPU: `--device cuda`")
    for path in filter(None, (asked.output, asked.report)):
        try:
            check_writable(Path(path))
        except OSError as problem:
            raise cannot_write(session, path, problem) from problem
    if len(programs) > 1:
        for name, value in (("--output", asked.output), ("--options", programs[0].options)):
            if value is not None:
                raise UsageError(f"`{name}` is for one program; here are {len(programs)}")


class _Session:
    """All searches of one call."""

    def __init__(self, session: Session, asked: Search) -> None:
        self._session = session
        self._asked = asked
        seconds = float("inf") if asked.seconds is None else asked.seconds
        self._end = time.monotonic() + seconds
        self._tunings: list[tuple[str, Tuning]] = []

    def run(self, programs: list[Program]) -> int:
        """Tune one program after the other; each gets an equal share of what time is left."""
        from tcc.tune.database import Database

        code = 0
        with Database() as database:
            for position, program in enumerate(programs):
                left = self._end - time.monotonic()
                end = time.monotonic() + left / (len(programs) - position)
                try:
                    tuning = self._tune(_with_options(program), end, database)
                except (CompileError, UsageError) as problem:
                    if len(programs) == 1:
                        raise
                    self._session.fail(problem, problem.diagnostics)
                    code = REJECTED
                    continue
                self._tunings.append((program.file, tuning))
                code = max(code, 0 if tuning.best else WRONG)
                if tuning.interrupted:
                    code = INTERRUPTED
                    break
        self._write(single=len(programs) == 1)
        return code

    def _tune(self, program: Program, end: float, database: Database) -> Tuning:
        from tcc.tune.devices import Where, placed
        from tcc.tune.progress import Progress
        from tcc.tune.session import Asked, tune
        from tcc.tune.summary import summary

        wanted, asked = request(self._session, program), self._asked
        place = placed(
            wanted,
            Where(
                asked.device,
                asked.objective,
                asked.workers or len(os.sched_getaffinity(0)),
                asked.cluster,
                own_target=program.arch is None and wanted.options.target is None,
            ),
        )
        most, predicted = asked.candidates, place.means.predicted
        progress = Progress(program.file, end, most, predicted=predicted)
        search = Asked(end, most, asked.strategy, asked.seed, asked.resume)
        with self._watcher(progress) as watcher:
            tuning = tune(place, search, watcher, database)
        for line in summary(program.file, tuning):
            self._say(line)
        return tuning

    def _say(self, line: str) -> None:
        """A line for people, or for programs that asked for JSON."""
        as_json = self._session.message_format == "json"
        (self._session.note if as_json else self._session.say)(line)

    def _watcher(self, progress: Progress) -> AbstractContextManager[Watcher]:
        from tcc.tune.progress import Plain, live

        if is_terminal() and self._session.message_format == "text":
            return live(progress)
        return nullcontext(Plain(progress, self._say))

    def _write(self, *, single: bool) -> None:
        """The best options, and the report."""
        from tcc.explain.tuning_page import tuning_page
        from tcc.output import write_all
        from tcc.tune.best import best_text

        texts: dict[str, str] = {}
        if single:
            for _, tuning in self._tunings:
                if tuning.best is not None:
                    texts[self._asked.output or "-"] = best_text(tuning, tuning.best)
        if self._asked.report is not None and self._tunings:
            texts[self._asked.report] = tuning_page(self._tunings)
        try:
            write_all({Path(n): t.encode() for n, t in texts.items() if n != "-"})
        except OSError as problem:
            raise cannot_write(self._session, str(problem.filename), problem) from problem
        if "-" in texts:
            put(texts["-"])


def _with_options(program: Program) -> Program:
    """The program with the options file beside it, where no other one is given."""
    beside = str(Path(program.file).with_suffix(".yaml"))
    if program.options is None and program.file != "-" and Path(beside).is_file():
        return replace(program, options=beside)
    return program


@contextmanager
def _term_is_interrupt() -> Iterator[None]:
    """A request to terminate keeps the best, like Ctrl-C."""

    def interrupt(signum: int, frame: object) -> None:  # noqa: ARG001 - the system's signature
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
