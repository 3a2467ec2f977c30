"""The commands that execute what was compiled: run, verify."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcc.cli_inputs import Program, cannot_write, program, read_bytes, request
from tcc.cli_outputs import check_not_read
from tcc.cli_session import Session, put
from tcc.diagnostics import error
from tcc.errors import UsageError

if TYPE_CHECKING:
    from tcc.run.device import Array

_DEVICE = click.option(
    "--device",
    type=click.Choice(["host", "cuda"]),
    default="host",
    show_default=True,
    help="What executes it: this machine's CPU, or a GPU.",
)
_CHECK = click.option(
    "--check",
    is_flag=True,
    help="Watch every access: races, bounds, undefined reads (host).",
)


@click.command("run")
@program
@click.option("--inputs", metavar="NPZ", required=True, help="Arrays by name, in/out tensors too.")
@click.option("--outputs", metavar="NPZ", required=True, help="Where the results go.")
@_DEVICE
@_CHECK
@click.pass_obj
def run_command(
    session: Session, /, inputs: str, outputs: str, device: str, check: bool, **given: Any
) -> None:
    """Compile a def and run it on arrays.

    Arrays come from an .npz file of NumPy and go to one. Sizes come from their shapes.
    """
    from tcc.api import Kernel
    from tcc.driver import compile_program

    wanted = Program(**given)
    check_not_read(outputs, [f for f in (wanted.file, wanted.options, inputs) if f is not None])
    arrays = _load(session, inputs)
    asked = request(session, wanted)
    kernel = Kernel(asked, compile_program(asked))
    session.report(kernel.warnings)
    _save(session, outputs, kernel.run(arrays, device=device, check=check))


@click.command("verify")
@program
@_DEVICE
@_CHECK
@click.option(
    "--blocks", type=click.IntRange(1), metavar="N", help="Check a random sample of blocks."
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Start of the random inputs.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@click.pass_obj
def verify_command(
    session: Session,
    /,
    device: str,
    check: bool,
    blocks: int | None,
    seed: int | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Compare the optimized with the reference kernel.

    On random inputs, at the given sizes and at awkward ones; exits with 3 when they disagree.
    """
    from tcc.run import verify

    asked = request(session, Program(**given))
    chosen = asked.options.verify
    outcome = verify.verify(
        asked,
        device=device,
        check=check,
        blocks=blocks or chosen.blocks,
        seed=chosen.seed if seed is None else seed,
    )
    put(outcome.json() if as_json else outcome.text())
    return 0 if outcome.ok else 3


def _load(session: Session, path: str) -> dict[str, Array]:
    """The arrays of an .npz file. UsageError when it is none; nothing in it is executed."""
    from tcc.run.npz import read_npz

    data = read_bytes(session, path)
    try:
        return read_npz(data)
    except ValueError as problem:
        message = f"`{path}` is no .npz file of arrays"
        label = str(problem).split("\n", 1)[0][:100]
        help = ("write one by `numpy.savez(path, A=a)`, with the names of the inputs",)
        found = error("E0626", message, session.word(path), label, help=help)
        raise UsageError(message, (found,)) from problem


def _save(session: Session, path: str, arrays: Mapping[str, Array]) -> None:
    import numpy as np

    from tcc.output import write_all

    data = io.BytesIO()
    np.savez(data, allow_pickle=False, **arrays)
    try:
        write_all({Path(path): data.getvalue()})
    except OSError as problem:
        raise cannot_write(session, path, problem) from problem
