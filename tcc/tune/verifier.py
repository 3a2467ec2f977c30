"""Verifies many candidates of one program on the host device, quickly.

At the given sizes where all are known: a sample of blocks that is bounded in work, in both orders
of the threads. At small awkward sizes where sizes are open, and where the problem is too large
for the reference kernel. What candidates share, inputs and expected outputs, is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import gcd, prod
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeAlias, TypeVar

from tcc.artifact import Artifact, Launch
from tcc.driver import Compilation, Request, compile_program
from tcc.errors import CompileError, InternalError
from tcc.frontend import tir
from tcc.run.cache import ObjectCache
from tcc.run.host import HostDevice
from tcc.run.host_build import QUICK
from tcc.run.verify_inputs import Domain, find_domain
from tcc.run.verify_outcome import Failure
from tcc.run.verify_sizes import awkward_sizes, points, second_turns, tensor_bytes
from tcc.run.verify_trial import Expected, Pair, Settings, expect, try_pair

T = TypeVar("T")
Sizes: TypeAlias = Mapping[str, int]

RUN_POINTS = 1 << 20
"""Statement instances that one run of a candidate should have: beyond, blocks are sampled."""
REFERENCE_POINTS = 1 << 31
"""Statement instances up to which the reference kernel is run, once for all candidates."""
REFERENCE_BYTES = 1 << 29
SMALLER_POINTS = 1 << 28
SMALLER_BYTES = 1 << 26
"""What is left of problems that are larger: much less, so that a busy machine does it in time."""
KINDS = (1, 4)
"""Which awkward assignments are taken: extents of a tile and 1, of two tiles and 1."""
MOST_BLOCKS = 1 << 12
"""Blocks of a run at awkward sizes; the y axis of a grid needs more to have too few of them."""
EVEN = 16
"""Powers of two that smaller sizes keep: elements of the widest access."""
KEPT = 16
"""Assignments of sizes whose expected outputs are kept."""

UNTRIED = Failure("there are no sizes at which it could be verified")


class Verifier:
    """Verifies candidates; compiled programs go to a folder in `folder`, removed after use."""

    def __init__(self, request: Request, folder: Path, seed: int, timeout_s: int) -> None:
        self._request = request
        self._folder = Path(mkdtemp(dir=folder))
        self._seed = seed
        self._domains: dict[tuple[tuple[str, int], ...], Domain] = {}
        self._expected: dict[tuple[tuple[str, int], ...], Expected] = {}
        make = partial(HostDevice, workers=1, cache=ObjectCache(self._folder), flavour=QUICK)
        self._patient = Settings("host", request.options.verify, None, seed, make=make)
        hurried = replace(request.options.verify, timeout_s=timeout_s)
        self._settings = replace(self._patient, options=hurried)

    def failure(
        self, found: Compilation, compiled: Callable[[Sizes], Compilation]
    ) -> Failure | None:
        """What is wrong with a candidate; None when it does what the reference kernel does.

        `compiled` makes the candidate at other sizes. CompileError when that is rejected.
        """
        tried = False
        for pair in self.pairs(found, compiled):
            tried = True
            blocks = _sampled(pair.optimized, pair.domain)
            settings = replace(self._settings, blocks=blocks)
            failure = try_pair(pair, settings, self.expected(pair)).failure
            for program in self._folder.rglob("*.exe"):
                program.unlink(missing_ok=True)
            if failure is not None:
                return failure
        return None if tried else UNTRIED

    def expected(self, pair: Pair) -> Expected:
        """What the reference kernel makes of some inputs. RunError when it fails."""
        key = tuple(pair.domain.sizes.items())
        if key not in self._expected:
            if len(self._expected) == KEPT:
                del self._expected[next(iter(self._expected))]
            self._expected[key] = expect(pair, self._patient)
        return self._expected[key]

    def pairs(self, found: Compilation, compiled: Callable[[Sizes], Compilation]) -> Iterator[Pair]:
        """The candidate beside the reference kernel, at each of the sizes to verify at."""
        program, sizes = present(found.program), self._request.sizes
        if program.sizes:
            for chosen in self._awkward(found, found, sizes):
                if _blocks(found, chosen) <= MOST_BLOCKS:
                    at = compile_program(replace(self._request, sizes=chosen), stop_after="check")
                    yield from self._pair(present(at.program), chosen, found)
        elif _is_small(program, sizes):
            yield from self._pair(program, sizes, found)
        else:
            yield from self._smaller(found, compiled)

    def _smaller(
        self, found: Compilation, compiled: Callable[[Sizes], Compilation]
    ) -> Iterator[Pair]:
        """The candidate at small sizes, in place of those that the reference kernel cannot have.

        Where its plan does not fit small sizes (reductions there have no parts, and vectors may not
        divide them), it is compiled at larger ones that are like the given ones.
        """
        # The plan may be one that open sizes do not allow: only the program is opened.
        opened = compile_program(replace(self._request, sizes={}), stop_after="check")
        fits = True
        for chosen in self._awkward(opened, found, {}):
            try:
                at = compiled(chosen)
            except CompileError:
                fits = False
                continue
            if _blocks(at, chosen) <= MOST_BLOCKS:
                yield from self._pair(present(at.program), chosen, at)
        if not fits:
            chosen = _scaled(present(opened.program), self._request.sizes)
            at = compiled(chosen)
            yield from self._pair(present(at.program), chosen, at)

    def _awkward(
        self, opened: Compilation, found: Compilation, fixed: Sizes
    ) -> list[dict[str, int]]:
        """Small values of open sizes around the tiles of a candidate, in the order of the sizes.

        And those at which a sum has two parts, or blocks take turns.
        """
        program, divided = present(opened.program), present(found.lowering).program
        about = (program, opened.preconditions, present(found.plan), fixed)
        chosen = awkward_sizes(*about, max(KINDS) + 1, self._seed, divided)
        order = dict.fromkeys((*self._request.sizes, *program.sizes))
        kinds = [chosen[k] for k in KINDS if k < len(chosen)] or list(chosen[:1])
        turned = [s for s in second_turns(*about, divided) if s not in kinds]
        return [{n: sizes[n] for n in order} for sizes in (*kinds, *turned)]

    def _pair(self, program: tir.Program, sizes: Sizes, found: Compilation) -> Iterator[Pair]:
        """The pair for some sizes, unless data-dependent subscripts could leave their tensors."""
        key = tuple(sizes.items())
        if key not in self._domains:
            self._domains[key] = find_domain(program, sizes, self._request.options.verify.inputs)
        domain = self._domains[key]
        if domain.harmless or sizes == self._request.sizes:
            yield Pair(domain, present(found.artifact), present(found.reference), "given")


def _is_small(program: tir.Program, sizes: Sizes) -> bool:
    """Whether the reference kernel can run at these sizes."""
    work, memory = points(program, sizes), tensor_bytes(program, sizes)
    return work <= REFERENCE_POINTS and memory <= REFERENCE_BYTES


def _scaled(program: tir.Program, sizes: Sizes) -> dict[str, int]:
    """The sizes, the largest ones halved until a run takes little.

    What they have in powers of two up to EVEN stays, so that vectors fit as before.
    """
    found = dict(sizes)
    while not (
        points(program, found) <= SMALLER_POINTS and tensor_bytes(program, found) <= SMALLER_BYTES
    ):
        name = max(found, key=lambda n: found[n])
        even = gcd(found[name], EVEN) if found[name] > EVEN else 1
        found[name] = max(found[name] // 2 // even, 1) * even
    return found


def _sampled(artifact: Artifact, domain: Domain) -> int | None:
    """How many blocks of the last launch to run; None: all."""
    work = points(domain.program, domain.sizes)
    if work <= RUN_POINTS:
        return None
    blocks = _blocks_of(artifact.interface.launches[-1], domain.sizes)
    return max(1, blocks * RUN_POINTS // work)


def _blocks(found: Compilation, sizes: Sizes) -> int:
    """Blocks of the largest launch."""
    launches = present(found.artifact).interface.launches
    return max(_blocks_of(launch, sizes) for launch in launches)


def _blocks_of(launch: Launch, sizes: Sizes) -> int:
    return prod(extent.evaluate(sizes) for extent in launch.grid)


def present(value: T | None) -> T:
    """The value, which a complete compilation has."""
    if value is None:
        raise InternalError("the compilation stopped before it was complete")
    return value
