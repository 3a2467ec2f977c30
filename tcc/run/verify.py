"""Verification: the optimized against the reference kernel, on the same random inputs.

At the given sizes and at awkward ones. Sizes that the user fixed are in the text of the kernel, so
for other sizes the program is compiled again; sizes that are open take many values in one kernel.
Large problems run a sample of their blocks, and problems that are too large for the reference
kernel run at awkward sizes only; the outcome says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from tcc.diagnostics import Report, error
from tcc.driver import Compilation, Request, compile_program
from tcc.errors import CompileError, InternalError
from tcc.frontend import tir
from tcc.frontend.suggest import suggestion
from tcc.run.checking import refuse_check
from tcc.run.verify_extremes import draws, longest
from tcc.run.verify_inputs import Domain, Style, find_domain, free_floats
from tcc.run.verify_outcome import Outcome, Skip, Trial
from tcc.run.verify_sizes import (
    awkward_sizes,
    neighbouring_sizes,
    points,
    tensor_bytes,
    tile_points,
    turns_in_flight,
)
from tcc.run.verify_trial import Pair, Settings, try_pair
from tcc.run.verify_turns import FEW_NOTE, with_few_blocks

T = TypeVar("T")

RECOMPILED = 7
"""Awkward assignments at which a program with fixed sizes is compiled again."""
REPEATED = 14
"""Awkward assignments at which one kernel with open sizes runs."""
FEW_POINTS = 1 << 30
"""Statement instances up to which all blocks run."""
MOST_POINTS = 1 << 33
"""Statement instances up to which the reference kernel, one thread, is run."""
MOST_PADDED = 1 << 26
"""Points of all tiles, the padding of tiles included, up to which all blocks run at awkward sizes;
fewer in the checking build."""
SWEPT_POINTS = 1 << 21
"""Statement instances up to which kernels are tried at the given sizes with further inputs."""
FEW_BLOCKS = 8
MOST_BYTES = 1 << 30
SAMPLED_BLOCKS = 64
MOST_FAILURES = 3
STYLES = (Style.NORMAL, Style.WIDE, Style.SPOTTED)
"""How inputs are drawn, in turn."""


def verify(
    request: Request,
    *,
    device: str,
    check: bool,
    blocks: int | None,
    seed: int,
    awkward: int | None = None,
) -> Outcome:
    """Compare the kernels of a request; `device` is `host` or `cuda`.

    `check`: run the optimized kernel in the checking build (host). `blocks`: at the given sizes,
    run a random sample of so many blocks of the last launch (host). `awkward`: at most so many
    assignments besides the given ones; when not given, RECOMPILED, or REPEATED and those at which
    blocks of a small grid take turns. CompileError when the program is rejected at sizes that were
    asked for, and for what cannot be asked (E0615, E0911). ToolchainError when a compiler or a GPU
    is missing. What a kernel does wrong is in the outcome.
    """
    if check and device != "host":
        raise refuse_check(device)
    settings = Settings(device, request.options.verify, blocks, seed, check)
    return _Verification(request, settings, awkward).outcome()


class _Verification:
    def __init__(self, request: Request, settings: Settings, awkward: int | None) -> None:
        self._request = request
        self._settings = settings
        self._given = compile_program(request)
        self._program = _present(self._given.program)
        self._is_fixed = not self._program.sizes
        self._count = awkward
        self._skips: list[Skip] = []
        _check_names(request, self._program)

    def outcome(self) -> Outcome:
        """Run everything."""
        trials: list[Trial] = []
        failures = 0
        for pair in self._pairs():
            if failures == MOST_FAILURES:
                break
            if not self._is_too_large(pair):
                trial = self._trial(pair, len(trials))
                if pair.why == "awkward" and trial.is_undefined:
                    self._skip(pair.domain.sizes, pair.why, _present(trial.failure).summary)
                    continue
                trials.append(trial)
                failures += not trial.ok
        return Outcome(
            self._program.name,
            self._settings.device,
            self._settings.seed,
            tuple(trials),
            tuple(self._skips),
            failures == MOST_FAILURES,
        )

    def _trial(self, pair: Pair, index: int) -> Trial:
        """One trial; at one of the sizes minima and maxima are tried at length."""
        program, sizes = pair.domain.program, pair.domain.sizes
        turns = draws(program, sizes) if sizes == self._longest else 0
        few = points(program, sizes) <= SWEPT_POINTS
        infinite = len(free_floats(pair.domain)) if few else 0
        further = (
            *((Style.WIDE, turn) for turn in range(turns)),
            *((Style.INFINITE, turn) for turn in range(infinite)),
        )
        style = STYLES[index % len(STYLES)]
        return try_pair(pair, replace(self._settings_for(pair), style=style, further=further))

    @cached_property
    def _longest(self) -> Mapping[str, int]:
        """The sizes at which minima and maxima are tried at length: given ones if they are small,
        else those at which they have most terms.
        """
        given = self._request.sizes
        if self._is_fixed and points(self._program, given) <= SWEPT_POINTS:
            return given
        program = self._program if self._general is None else _present(self._general.program)
        return max(self._awkward, key=lambda s: longest(program, s), default={})

    @cached_property
    def _general(self) -> Compilation | None:
        """The program with no size fixed, for its reference kernel; None when it needs sizes."""
        if not self._is_fixed:
            return self._given
        try:
            found = compile_program(replace(self._request, sizes={}))
        except CompileError:
            return None
        return found if _present(found.program).sizes else None

    def _pairs(self) -> Iterator[Pair]:
        """All pairs to compare, compiled one by one."""
        if self._is_fixed:
            sizes = self._request.sizes
            yield self._pair(self._given, self._given, self._domain(self._program, sizes), "given")
        for chosen in self._request.options.verify.sizes:
            yield self._compiled(self._completed(chosen), "options")
        for sizes in self._awkward:
            if sizes == self._request.sizes:
                continue
            try:
                pair = self._compiled(sizes, "awkward")
            except CompileError as rejection:
                self._reject(sizes, rejection)
                continue
            if pair.domain.harmless:
                yield pair
            else:
                reason = "no inputs keep every data-dependent subscript in its range"
                self._skip(sizes, "awkward", reason)
        if self._count is None and not self._is_fixed:
            yield from self._in_turns()

    def _in_turns(self) -> Iterator[Pair]:
        """The kernels of open sizes in a grid so small that blocks take turns."""
        request = with_few_blocks(self._request, _present(self._given.plan))
        if request is None:
            return
        try:
            found = compile_program(request)
        except CompileError as rejection:
            self._reject(request.sizes, rejection)
            return
        about = (self._program, self._given.preconditions, _present(found.plan))
        for sizes in turns_in_flight(*about, self._request.sizes):
            at = compile_program(replace(request, sizes=sizes), stop_after="check")
            domain = self._domain(_present(at.program), sizes)
            if domain.harmless:
                yield replace(self._pair(found, self._given, domain, "awkward"), notes=(FEW_NOTE,))

    def _compiled(self, sizes: Mapping[str, int], why: str) -> Pair:
        """The kernels for these sizes. CompileError when the program rejects them."""
        stop_after = None if self._is_fixed else "check"
        found = compile_program(replace(self._request, sizes=sizes), stop_after=stop_after)
        optimized = found if self._is_fixed else self._given
        domain = self._domain(_present(found.program), sizes)
        return self._pair(optimized, self._general or found, domain, why)

    def _pair(
        self, optimized: Compilation, reference: Compilation, domain: Domain, why: str
    ) -> Pair:
        return Pair(domain, _present(optimized.artifact), _present(reference.reference), why)

    def _domain(self, program: tir.Program, sizes: Mapping[str, int]) -> Domain:
        return find_domain(program, sizes, self._request.options.verify.inputs)

    @cached_property
    def _awkward(self) -> tuple[dict[str, int], ...]:
        default = RECOMPILED if self._is_fixed else REPEATED
        count = default if self._count is None else self._count
        if count == 0:
            return ()
        if self._general is None:
            return neighbouring_sizes(self._request.sizes, count)
        fixed = {} if self._is_fixed else self._request.sizes
        return self._near_tiles(fixed, count)

    def _near_tiles(self, fixed: Mapping[str, int], count: int) -> tuple[dict[str, int], ...]:
        general = _present(self._general)
        program, plan = _present(general.program), _present(self._given.plan)
        seed = self._settings.seed
        divided = _present(self._given.lowering).program
        found = awkward_sizes(program, general.preconditions, plan, fixed, count, seed, divided)
        order = dict.fromkeys((*self._request.sizes, *program.sizes))
        return tuple({n: sizes[n] for n in order} for sizes in found)

    def _completed(self, chosen: Mapping[str, int]) -> dict[str, int]:
        """Sizes of the options, with the given ones, and awkward ones where none is given."""
        sizes = {**self._request.sizes, **chosen}
        if self._is_fixed or set(self._program.sizes) <= sizes.keys():
            return sizes
        return {**self._near_tiles(sizes, 2)[-1], **sizes}

    def _is_too_large(self, pair: Pair) -> bool:
        program, sizes = pair.domain.program, pair.domain.sizes
        work, memory = points(program, sizes), tensor_bytes(program, sizes)
        if work <= MOST_POINTS and memory <= MOST_BYTES:
            return False
        size = f"{work:.1e} statement instances, {memory >> 20} MiB"
        self._skip(sizes, pair.why, f"too large for the reference kernel ({size})")
        return True

    def _settings_for(self, pair: Pair) -> Settings:
        """Blocks are sampled where the user asks for it, and where all are too many."""
        blocks = self._settings.blocks
        if pair.why == "awkward":
            blocks = FEW_BLOCKS if self._is_padded(pair) else None
        elif blocks is None and points(pair.domain.program, pair.domain.sizes) > FEW_POINTS:
            blocks = SAMPLED_BLOCKS
        return replace(self._settings, blocks=blocks)

    def _is_padded(self, pair: Pair) -> bool:
        """Whether sizes that overflow the grid make too many blocks with little to do."""
        if self._is_fixed:
            return False
        launches, sizes = pair.optimized.interface.launches, pair.domain.sizes
        blocks = max(math.prod(g.evaluate(sizes) for g in launch.grid) for launch in launches)
        padded = blocks * tile_points(_present(self._given.plan))
        return padded > (MOST_PADDED // 16 if self._settings.check else MOST_PADDED)

    def _reject(self, sizes: Mapping[str, int], rejection: CompileError) -> None:
        first = rejection.diagnostics[0]
        self._skip(sizes, "awkward", f"rejected with {first.code}, {first.message}")

    def _skip(self, sizes: Mapping[str, int], why: str, reason: str) -> None:
        self._skips.append(Skip(dict(sizes), why, reason))


def _present(value: T | None) -> T:
    if value is None:
        raise InternalError("the compilation stopped before it was complete")
    return value


def _check_names(request: Request, program: tir.Program) -> None:
    """CompileError (E0615) for ranges of inputs that are not there."""
    report = Report()
    taken = (*program.inputs, *program.inouts)
    for name in request.options.verify.inputs:
        if name not in taken:
            span = request.options.place(f"verify.inputs.{name}")
            known = ", ".join(f"`{t}`" for t in taken) or "none"
            message = f"`{program.name}` has no input `{name}` to give a range to"
            help = suggestion(name, taken)
            report.add(error("E0615", message, span, f"its inputs are {known}", help=help))
    if report.errors:
        raise CompileError(report.items)
