"""One call of a checked program: what the checker has to know, and what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tcc.artifact import Argument, ArgumentKind, Artifact
from tcc.run.arrays import element_type
from tcc.run.device import Array
from tcc.run.emitted import EmittedText
from tcc.run.findings import Finding, FindingKind
from tcc.run.host_call import Call
from tcc.run.host_check import CheckedProgram
from tcc.run.host_findings import Part, Scene, finding_of_fault, findings_of, in_order
from tcc.run.host_job import Checking, Job


@dataclass(frozen=True)
class Checked:
    """What a checked run gave. `more`: how often there was something else, at places
    that did not fit into the table.
    """

    outputs: dict[str, Array]
    findings: tuple[Finding, ...]
    more: int = 0


class CheckedCall:
    """A call of one artifact's checked program."""

    def __init__(self, call: Call, program: CheckedProgram, artifact: Artifact) -> None:
        self._call = call
        self._program = program
        self._artifact = artifact
        self._text = EmittedText(artifact.cuda_source)

    @property
    def checking(self) -> Checking:
        """The shared arrays, for the job."""
        return Checking(self._program.arrays, self._text.shared_granule)

    @property
    def granules(self) -> Mapping[str, int]:
        """Bytes of the smallest element of the workspace."""
        smallest = min(self._text.temporaries.values(), default=1)
        slots = (a for a in self._call.slots if a.kind is ArgumentKind.WORKSPACE)
        return {a.name: smallest for a in slots}

    def result(self, job: Job, timeout_s: float, printed: str) -> Checked:
        """Outputs and findings. RunError for what ended the run and is no finding.

        `printed` is what the kernels printed.
        """
        scene = self._scene()
        records, more = job.records
        found = [*self._uninitialised(), *findings_of(records, scene)]
        fault = job.fault
        if fault is not None:
            message = self._call.fault_text(fault, timeout_s, printed)
            finding = finding_of_fault(fault, message, scene)
            if finding is not None and not _is_known(finding, found):
                found.append(finding)
        found = in_order(found)
        if not found:
            self._call.check(job, timeout_s, printed)
        return Checked(self._call.outputs(job), tuple(found), more)

    def _uninitialised(self) -> list[Finding]:
        """Local variables without a value, as the compiler sees them."""
        return [
            Finding(
                FindingKind.UNINITIALISED,
                f"reads the local variable `{u.name}`, which has no value yet",
                self._text.kernel(u.line),
                u.line,
                self._text.statement(u.line),
                u.name,
            )
            for u in self._program.uninitialised
        ]

    def _scene(self) -> Scene:
        return Scene(
            self._text,
            [self._parts(a) for a in self._call.slots],
            self._program.arrays,
            self._program.lines,
        )

    def _parts(self, argument: Argument) -> list[Part]:
        sizes, bound = self._call.sizes, self._call.bound
        if argument.kind is not ArgumentKind.WORKSPACE:
            origin = tuple(o.evaluate(sizes) for o in argument.origin)
            shape = bound.shapes[argument.name]
            return [Part(argument.name, 0, element_type(argument).bytes, shape, origin)]
        places = self._artifact.interface.temporaries
        parts = [
            Part(name, place.evaluate(sizes), self._text.temporaries.get(name, 1), None, ())
            for name, place in places.items()
        ]
        whole = Part(argument.name, 0, 1, (bound.workspace_bytes,), (0,))
        return sorted(parts, key=lambda p: p.start) or [whole]


def _is_known(fault: Finding, found: list[Finding]) -> bool:
    """Whether a fault is only what a finding led to."""
    known = {f.kind for f in found}
    if fault.kind is FindingKind.OUT_OF_BOUNDS:
        return bool(known & {FindingKind.OUT_OF_BOUNDS, FindingKind.INPUT_WRITE})
    return fault.kind is FindingKind.MISALIGNED and fault.kind in known
