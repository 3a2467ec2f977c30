"""The host device: emitted text compiled for the CPU and run in a process of its own.

The program runs the threads of a block as fibers, in ascending or in descending order; outputs,
workspace and shared memory start as poison (all bits set: NaN, -1), and inaccessible memory lies
around every buffer. So missing barriers, missing initialisation and accesses out of bounds show as
wrong values, as a difference between the two orders, or as a RunError.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from tcc.artifact import Artifact
from tcc.errors import HangError, RunError
from tcc.run.arrays import bind
from tcc.run.cache import ObjectCache
from tcc.run.device import Array
from tcc.run.findings import FindingsError
from tcc.run.host_build import FAST, Flavour, build
from tcc.run.host_call import Call
from tcc.run.host_check import build_checked
from tcc.run.host_checked import Checked, CheckedCall
from tcc.run.host_job import Job, Settings
from tcc.run.process import uninterrupted
from tcc.run.toolchain import Compiler, find_cxx

GRACE_S = 5.0  # the program has its own timer; this is for one that cannot even handle a signal
_DONE, _FAULT = 0, 3


class Order(Enum):
    """The order in which blocks, and the threads of a block, run."""

    FORWARD = "forward"
    REVERSE = "reverse"


class HostDevice:
    """Runs artifacts on the CPU.

    `blocks` has, by index of the launch, the linear indices of the only blocks to run; what the
    others would have written stays poison. `workers`: processes at most, all CPUs when not given.
    `check`: use the checking build, and raise FindingsError for what it finds. `flavour`: how the
    text is compiled; of that the checking build, which needs warnings, takes all but `-w`.
    """

    name = "host"

    def __init__(
        self,
        *,
        order: Order = Order.FORWARD,
        timeout_s: float = 120.0,
        blocks: Mapping[int, Sequence[int]] | None = None,
        workers: int | None = None,
        check: bool = False,
        compiler: Compiler | None = None,
        cache: ObjectCache | None = None,
        flavour: Flavour = FAST,
    ) -> None:
        self._settings = Settings(
            reverse=order is Order.REVERSE,
            workers=workers or len(os.sched_getaffinity(0)),
            timeout_s=timeout_s,
            blocks=blocks or {},
        )
        self._checks = check
        self._compiler = compiler
        self._cache = cache or ObjectCache()
        self._flavour = flavour

    def run(
        self, artifact: Artifact, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> dict[str, Array]:
        """The outputs, in fresh arrays; see `tcc.run.device.Device.run`."""
        if self._checks:
            checked = self.check(artifact, arrays, sizes)
            if checked.findings:
                raise FindingsError(checked.findings, checked.more)
            return checked.outputs
        call = Call(artifact.interface, bind(artifact.interface, arrays, sizes))
        program = self.prepare(artifact)
        with call.job(self._settings) as job:
            printed = _execute(program, job, self._settings.timeout_s)
            call.check(job, self._settings.timeout_s, printed)
            return call.outputs(job)

    def check(
        self, artifact: Artifact, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> Checked:
        """Run the checking build; what it finds comes with the outputs instead of being raised."""
        call = Call(artifact.interface, bind(artifact.interface, arrays, sizes))
        flags = tuple(f for f in self._flavour.text_flags if f != "-w")
        program = build_checked(artifact, self._chosen_compiler(), self._cache, flags)
        checked = CheckedCall(call, program, artifact)
        with call.job(self._settings, checked.checking, checked.granules) as job:
            printed = _execute(program.path, job, self._settings.timeout_s)
            return checked.result(job, self._settings.timeout_s, printed)

    def prepare(self, artifact: Artifact) -> Path:
        """Compile the artifact, or find it in the cache; the program's path."""
        return build(artifact, self._chosen_compiler(), self._cache, self._flavour)

    def _chosen_compiler(self) -> Compiler:
        self._compiler = self._compiler or find_cxx()
        return self._compiler


def _execute(program: Path, job: Job, timeout_s: float) -> str:
    """Run the program to its end; what its kernels printed.

    RunError when it ends in a way it has no words for.
    """
    process = None
    try:
        with uninterrupted():
            process = subprocess.Popen(
                [str(program), str(job.descriptor)],
                pass_fds=(job.descriptor,),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        output, _ = process.communicate(timeout=timeout_s + GRACE_S)
    except BaseException as problem:
        if process is not None:
            _end_group(process.pid)
            with process:  # closes the pipe, waits for the end
                pass
        if isinstance(problem, subprocess.TimeoutExpired):
            raise HangError(f"the program does not end within {timeout_s:g} s") from problem
        raise
    text = output.decode(errors="replace").strip()
    if process.returncode not in (_DONE, _FAULT):
        raise RunError(f"the program ends with status {process.returncode}: {text}")
    return text


def _end_group(leader: int) -> None:
    """End a program that still runs, with its workers."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
