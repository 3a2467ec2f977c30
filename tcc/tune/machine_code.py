"""What the assembler makes of kernels, for predictions that need not estimate it.

Needs NVRTC (extra `nvrtc`) or nvcc, and `cuobjdump`; no GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tcc.artifact import Artifact
from tcc.errors import ToolchainError
from tcc.kernel import ir
from tcc.run.disassemble import Code, disassemble
from tcc.run.mixes import Mix as Counts
from tcc.run.mixes import loops_of, main_loop, mix_of
from tcc.target import Target
from tcc.tune.census import census
from tcc.tune.work import Mix

ARITHMETIC = ("FFMA", "FADD", "FMUL", "FMNMX", "DFMA", "DADD", "DMUL")


def machine_mixes(
    artifact: Artifact, kernels: Sequence[ir.Kernel], sizes: Mapping[str, int], target: Target
) -> dict[str, Mix]:
    """The mixes of the kernels of an emitted text by name; nothing where a tool is missing."""
    try:
        codes = disassemble(artifact.cuda_source, target.name)
    except ToolchainError:
        return {}
    return {k.name: kernel_mix(k, codes[k.name], sizes) for k in kernels if k.name in codes}


def kernel_mix(kernel: ir.Kernel, code: Code, sizes: Mapping[str, int]) -> Mix:
    """One kernel: how many instructions there are for each one that the census counts.

    In a loop, instructions for each arithmetic one are compared, because the assembler may have
    unrolled it; without loops all instructions are. Where neither says anything the factor is 1.
    """
    work = census(kernel, sizes).work
    loop = main_loop(code)
    factor = 1.0
    if loop is not None:
        here, counted = _arithmetic(loop.mix), work.fp32 + work.fp64
        if here and counted:
            factor = loop.mix.total / here * counted / work.issue
    elif not loops_of(code):
        factor = mix_of(code.instructions).total / work.issue
    return Mix(code.registers, code.local_bytes, factor)


def _arithmetic(counts: Counts) -> int:
    return counts.count(*ARITHMETIC)
