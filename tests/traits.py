"""What kernels of random pairs do, so that one can see how often the hard work is drawn."""

from __future__ import annotations

import re
from collections import Counter

from tcc.frontend import tir
from tcc.sched.nest import KernelNest, Nest
from tcc.sched.plan import KernelPlan, Plan, Staging
from tcc.sched.reuse import chains

_KERNEL = re.compile(r'extern "C" __global__ void [^{]*? (\w+)\(.*?\n}\n', re.DOTALL)
_VECTOR = r"reinterpret_cast<(?:const )?(?:float4|double2|u?int4|u?longlong2)\*>"
_PATTERNS = {
    "shared": r"__shared__ .* shared_\w+\[",
    "pipeline": r"__shared__ .* shared_\w+\[\d+\]\[",
    "async": r"__pipeline_memcpy_async",
    "vector": _VECTOR,
    "split": r"\w+_parts\b",
    "atomic": r"\batomic\w+\(",
    "shuffle": r"__shfl_",
    "half": r"__half\b|__nv_bfloat16\b",
}


def traits(nest: Nest, program: tir.Program, plan: Plan, text: str) -> Counter[str]:
    """For each trait, how many kernels of the emitted text have it; `kernels` counts them all.

    `tiled`: a reduction in k-tiles; `row`: threads that share rows; `shared`: a copy in shared
    memory; `pipeline`: several k-tiles of it; `async`: copied by cp.async; `vector`: accesses of
    128 bits; `gather`: rows that data picks in shared memory, of a tiled reduction; `split`: a part
    of a sum, or their sum; `atomic`: parts joined so; `shuffle`: threads of a warp exchange values;
    `half`: types of 16 bits.
    """
    found = Counter[str]()
    bodies = {m[1]: m[0] for m in _KERNEL.finditer(text)}
    for kernel, made in zip(nest.kernels, plan.kernels, strict=True):
        body = bodies[kernel.name]
        found["kernels"] += 1
        found["tiled"] += bool(made.loops)
        found["row"] += made.row is not None
        found["gather"] += _stages_gather(kernel, program, made)
        found.update(name for name, pattern in _PATTERNS.items() if re.search(pattern, body))
    return found


def _stages_gather(kernel: KernelNest, program: tir.Program, plan: KernelPlan) -> bool:
    tiled = {p.dim for p in plan.loops}
    cut = (c for c in chains(kernel, program) if all(d.name in tiled for d in c.loops))
    picked = (o.tensor for c in cut for o in c.operands if o.gather is not None)
    return any(plan.stage(tensor) is Staging.SHARED for tensor in picked)
