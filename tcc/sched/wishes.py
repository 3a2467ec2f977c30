"""What the options ask of every plan, in the planner's own terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from tcc.options import MappingOptions
from tcc.sched.plan import Staging
from tcc.target import Target


class Sharing(Enum):
    """Who computes one reduction together; the values are the option file's."""

    THREAD = "thread"
    WARP = "warp"
    BLOCK = "block"


@dataclass(frozen=True)
class Wishes:
    """Constraints on plans; None leaves the choice to the planner.

    `tile` and `registers` follow the parallel loops from the outside, then (tile only) the
    reduction loops; `threads` follow the parallel loops from the inside. `shared_bytes` bounds
    the staged operands of a block. `cut_all` also cuts the loops of a kernel with several
    reductions, which enclose a part of its statements only. `library` is true where a block
    reduction is a wish of the original's kind: only where the tile of the reduction has enough
    points.
    """

    shared_bytes: int
    tile: tuple[int, ...] | None = None
    threads: tuple[int, ...] | None = None
    blocks: tuple[int, ...] | None = None
    registers: tuple[int, ...] | None = None
    vector: int | None = None
    pipeline: int | None = None
    unroll: int | None = None
    staging: Mapping[str, Staging] = field(default_factory=dict)
    shared: bool | None = None
    private: bool | None = None
    shared_depth: int | None = None
    private_depth: int | None = None
    cut_all: bool = True
    sharing: Sharing | None = None
    library: bool = False
    rolled_copies: bool = False
    readonly_cache: bool = False

    @property
    def widest(self) -> int:
        """Elements of the widest access that register digits are made for."""
        return min(self.vector or WIDEST, WIDEST)

    def stage(self, tensor: str, plain: Staging, *, boxed: bool) -> Staging:
        """Where to read a tensor from; `boxed` tells whether it could go to shared memory."""
        asked = self.staging.get(tensor, plain)
        return asked if boxed or asked is not Staging.SHARED else plain

    def shared_only(self, tensor: str) -> bool:
        """Whether the user asked for a tensor in shared memory."""
        return self.staging.get(tensor) is Staging.SHARED

    def digits(self, position: int) -> tuple[int, int] | None:
        """The wished (outer, inner) register digits of the parallel loop at a position."""
        if self.registers is None:
            return None
        wanted = self.registers[position] if position < len(self.registers) else 1
        inner = next(w for w in (4, 2, 1) if w <= self.widest and wanted % w == 0)
        return wanted // inner, inner

    def threads_at(self, place: int) -> int | None:
        """The wished threads of a parallel loop, counted from the innermost one."""
        if self.threads is None:
            return None
        return self.threads[place] if place < len(self.threads) else 1


WIDEST = 4


def wishes(options: MappingOptions, target: Target) -> Wishes:
    """The constraints in the given mapping options, presets put in."""
    sharing = Sharing(options.reduction) if options.reduction else None
    library = sharing is None and bool(options.match_library_calls)
    if sharing is None and options.match_library_calls is not None:
        sharing = Sharing.BLOCK if library else Sharing.THREAD
    limit = options.max_shared_memory
    return Wishes(
        shared_bytes=target.max_shared_bytes
        if limit is None
        else min(limit, target.max_shared_bytes),
        tile=options.tile,
        threads=options.threads,
        blocks=options.blocks,
        registers=options.registers,
        vector=options.vector,
        pipeline=options.pipeline,
        unroll=options.unroll,
        staging={t: Staging(s) for t, s in options.staging.items()},
        shared=options.use_shared_memory,
        private=options.use_private_memory,
        shared_depth=options.shared_depth,
        private_depth=options.private_depth,
        cut_all=options.tile_imperfectly_nested is not False,
        sharing=sharing,
        library=library,
        rolled_copies=options.unroll_copy_shared is False,
        readonly_cache=bool(options.use_readonly_cache),
    )


def wanted_parts(options: MappingOptions) -> int | None:
    """Into how many parts to cut reductions; None leaves that to the planner.

    Sizes that follow the loops of the program are meant for the loops as they are written: then
    only a given number of parts cuts them.
    """
    by_loop = (options.tile, options.threads, options.blocks, options.registers)
    if options.split is None and any(by_loop):
        return 1
    return options.split


def none(target: Target) -> Wishes:
    """Nothing asked for."""
    return wishes(MappingOptions(), target)
