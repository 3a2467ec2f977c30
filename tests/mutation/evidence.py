"""Why a mutant survives: what runs of probes show about the change, not what it looks like."""

from __future__ import annotations

import re
from dataclasses import replace

from tcc.errors import RunError, ToolchainError
from tcc.run.cache import ObjectCache
from tcc.run.host_build import QUICK, Flavour
from tests.mutation.judge import Subject, device_of, is_reached, is_same, machine_code
from tests.mutation.mutants import SYNCHRONISATION, Mutant
from tests.mutation.probes import LARGE, NAN, enclosing_loops, is_independent, probe, second_turn
from tests.mutation.reasons import Reason

ALIGNMENT = 16
PROBED = Flavour((*QUICK.text_flags, "-ftrivial-auto-var-init=pattern"))
"""No register has the right value by chance."""
_ARRAY = re.compile(r"^__shared__ __align__\(16\) (\w+) \w+((?:\[\d+\])+);$")
_BUTTERFLY = re.compile(r"^(\w+) = (.*?)__shfl_xor_sync\((\w+), \1, \d+, (\d+)\)(\)?);$")
_BYTES = {"double": 8, "float": 4, "int": 4, "__half": 2, "__nv_bfloat16": 2, "char": 1}


def evidence(subject: Subject, mutant: Mutant, cache: ObjectCache) -> Reason | None:
    """Why a mutant that was not found could not be; None when nothing shows it."""
    reason = _by_its_text(subject, mutant)
    if reason is not None or mutant.operator == "shrink_array":
        return reason
    if mutant.operator in SYNCHRONISATION:
        return Reason.ORDERED if _loops_turn(subject, mutant, cache) else None
    if mutant.operator != "change_grid" and not is_reached(subject, mutant, cache):
        return Reason.UNREACHED
    for poison, reason in ((NAN, Reason.UNUSED), (LARGE, Reason.TIMES_ZERO)):
        text = probe(subject.artifact.cuda_source, mutant, poison)
        if text is not None and _agrees(subject, text, cache):
            return reason
    same = subject.machine_code == machine_code(subject.artifact, mutant.text)
    return Reason.SAME if same else None


def _by_its_text(subject: Subject, mutant: Mutant) -> Reason | None:
    """What needs no run."""
    if mutant.operator == "shrink_array":
        return Reason.PADDED if _keeps_its_bytes(mutant) else None
    if mutant.operator != "swap_statements":
        return None
    if _joins_the_same(mutant):
        return Reason.REORDERED
    return Reason.INDEPENDENT if is_independent(subject.artifact.cuda_source, mutant) else None


def _agrees(subject: Subject, text: str, cache: ObjectCache) -> bool:
    """Whether a text ends without a trap, with the results of the unmutated kernel."""
    artifact = replace(subject.artifact, cuda_source=text)
    try:
        for run in subject.runs:
            device = device_of(run, cache, flavour=PROBED)
            got = device.run(run.artifact(artifact), run.inputs, run.sizes)
            if not all(is_same(got[name], want) for name, want in run.want.items()):
                return False
    except (RunError, ToolchainError):
        return False
    return True


def _keeps_its_bytes(mutant: Mutant) -> bool:
    """One length, so that no row moves, and nothing comes closer."""
    one, other = _ARRAY.match(mutant.before), _ARRAY.match(mutant.after)
    if one is None or other is None or one[2].count("[") > 1:
        return False
    size = _BYTES.get(one[1], 0)
    lengths = (int(m[2].strip("[]")) * size for m in (one, other))
    rounded = {-(-length // ALIGNMENT) for length in lengths}
    return size > 0 and len(rounded) == 1


def _loops_turn(subject: Subject, mutant: Mutant, cache: ObjectCache) -> bool:
    """Whether every loop around a barrier comes to its second iteration in some block.

    At fixed sizes the runs have everything that threads ever do.
    """
    if not subject.artifact.interface.symbolic:
        return True
    lines = subject.artifact.cuda_source.split("\n")
    for loop in enclosing_loops(lines, mutant.line - 1):
        text = second_turn(lines, loop)
        if text is None or _agrees(subject, text, cache):
            return False
    return True


def _joins_the_same(mutant: Mutant) -> bool:
    """Two steps of one butterfly: each lane has the same terms in the end."""
    one, other = _BUTTERFLY.match(mutant.before), _BUTTERFLY.match(mutant.after)
    if one is None or other is None:
        return False
    return one.groups() == other.groups()
