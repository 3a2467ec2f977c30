"""Everything that a user may ask of the compiler, as values; `None` leaves the choice to it.

The fields are the schema of the options file (`schema.entries(Options)`): name, kind, bounds,
default and a sentence each. Names and meaning of the mapping options up to `use_readonly_cache`
follow Tensor Comprehensions (2018), in snake case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from typing import Any

from tcc.schema import (
    Choice,
    Flag,
    Integer,
    Items,
    Number,
    Section,
    Table,
    Text,
    option,
    options_of,
)
from tcc.source import Source, Span
from tcc.target import TARGETS

STRATEGIES = ("max", "preserve3coincident", "min")
_FUSION = Choice(STRATEGIES)
_SIZE = Integer(1, 2**31 - 1)
_THREADS = Items(Integer(1, 1024), 1, 3, each=(Integer(1, 1024), Integer(1, 1024), Integer(1, 64)))
_BLOCKS = Items(_SIZE, 1, 3, each=(_SIZE, Integer(1, 65535), Integer(1, 65535)))
_DIGITS = Items(Text("a digit"), 1)
_VECTOR = Choice((1, 2, 4, 8, 16))
_STAGING = Table("tensor names", Choice(("shared", "register", "global")))


@dataclass(frozen=True)
class KernelOptions:
    """The plan of one kernel, in the form that `--emit plan` prints."""

    parallel: Mapping[str, tuple[str, ...]] = option(
        Table("index names", _DIGITS), "digits of each parallel loop, outermost first"
    )
    loops: Mapping[str, tuple[str, ...]] = option(
        Table("index names", _DIGITS), "`tile N` for each reduction loop that is cut into tiles"
    )
    row: tuple[str, ...] | None = option(_DIGITS, "threads that share a row, and what each takes")
    staging: Mapping[str, str] = option(_STAGING, "where the kernel reads a tensor from")
    pipeline: int | None = option(Integer(1, 4), "tiles in flight")
    vector: int | None = option(_VECTOR, "elements of the widest access")
    unroll: int | None = option(
        Integer(1, 4096), "statement instances in the body of an unrolled loop"
    )
    private_depth: int | None = option(
        Integer(0, 64), "loops outside the copies of results to registers"
    )
    rolled_copies: bool | None = option(Flag(), "keep the loops of copies to shared memory")
    readonly_cache: bool | None = option(Flag(), "read inputs through the read-only data cache")


@dataclass(frozen=True)
class MappingOptions:
    """How a program is mapped to the GPU. Lists of tile sizes follow the outer band's members."""

    outer_schedule_fusion_strategy: str | None = option(
        _FUSION,
        "which statements share outer loops: all that can, those that keep 3 parallel loops, none",
    )
    outer_schedule_allow_skewing: bool | None = option(
        Flag(), "allow outer loops over sums of index variables"
    )
    outer_schedule_positive_orthant: bool | None = option(
        Flag(), "allow only non-negative coefficients in outer loops"
    )
    intra_tile_schedule_fusion_strategy: str | None = option(
        _FUSION, "the same choice for the loops inside a tile; as outside when not given"
    )
    intra_tile_schedule_allow_skewing: bool | None = option(
        Flag(), "allow loops over sums of index variables inside a tile"
    )
    intra_tile_schedule_positive_orthant: bool | None = option(
        Flag(), "allow only non-negative coefficients inside a tile"
    )
    fix_parameters_before_scheduling: bool | None = option(
        Flag(), "schedule for the given sizes instead of for all sizes"
    )
    tile: tuple[int, ...] | None = option(
        Items(Integer(0, 2**31 - 1), 1, 64),
        "tile sizes, outermost first; 0 does not tile that loop",
    )
    unroll: int | None = option(
        Integer(1, 4096), "unroll inner loops up to this many statement instances"
    )
    tile_imperfectly_nested: bool | None = option(
        Flag(), "tile loops that do not enclose the same statements"
    )
    match_library_calls: bool | None = option(Flag(), "reduce sums with all threads of a block")
    threads: tuple[int, ...] | None = option(_THREADS, "threads of a block, x first")
    blocks: tuple[int, ...] | None = option(
        _BLOCKS, "blocks of the grid, x first; more than the program can use are not launched"
    )
    use_shared_memory: bool | None = option(Flag(), "copy reused data to shared memory")
    max_shared_memory: int | None = option(
        Integer(0, 2**20), "shared memory of a block, in bytes; the target's limit when not given"
    )
    shared_depth: int | None = option(
        Integer(0, 64), "number of loops outside the copies to shared memory"
    )
    use_private_memory: bool | None = option(Flag(), "keep data of one thread in registers")
    private_depth: int | None = option(
        Integer(0, 64), "number of loops outside the copies to registers"
    )
    unroll_copy_shared: bool | None = option(Flag(), "unroll the copies to shared memory")
    use_readonly_cache: bool | None = option(Flag(), "read inputs through the read-only data cache")
    check_bounds: bool | None = option(
        Flag(), "stop a kernel that reads outside of a tensor because of a subscript from data"
    )
    registers: tuple[int, ...] | None = option(
        Items(Integer(1, 64), 1, 64),
        "values per thread along each parallel loop, kept in registers",
    )
    vector: int | None = option(_VECTOR, "elements of the widest load and store")
    staging: Mapping[str, str] = option(_STAGING, "where the threads of a block read a tensor from")
    pipeline: int | None = option(
        Integer(1, 4), "tiles in flight: 1 loads and then computes, 2 and more overlap both"
    )
    reduction: str | None = option(
        Choice(("thread", "warp", "block")), "who computes one reduction together"
    )
    split: int | None = option(
        Integer(1, 65535),
        "blocks that share one reduction, joined in a second step; 1 when not given and `tile`, "
        "`threads`, `blocks`, `registers` or a preset says how the loops are cut",
    )
    deterministic: bool | None = option(
        Flag(),
        "add the blocks' shares of a reduction in a fixed order; `false` allows atomic operations",
    )
    tensor_cores: bool | None = option(Flag(), "multiply on tensor cores where the types allow it")
    kernels: tuple[tuple[str, ...], ...] | None = option(
        Items(Items(Text("a tensor name"), 1), 1), "tensors that each kernel computes, in order"
    )
    plan: Mapping[str, KernelOptions] = option(
        Table("kernel names", Section(KernelOptions)),
        "the plan of each kernel, digit by digit, as `--emit plan` prints it",
    )


@dataclass(frozen=True)
class VerifyOptions:
    """How `tcc verify` checks the optimized against the reference kernel."""

    seed: int = option(Integer(0, 2**63 - 1), "start of the random inputs", 0)
    blocks: int | None = option(
        Integer(1), "check a random sample of this many blocks instead of all"
    )
    sizes: tuple[Mapping[str, int], ...] = option(
        Items(Table("size names", _SIZE)), "further sizes to check at", ()
    )
    inputs: Mapping[str, tuple[float, ...]] = option(
        Table("input names", Items(Number(), 2, 2)),
        "lowest and highest random value of an input",
    )
    relative_tolerance: float | None = option(
        Number(0), "accepted relative error; from type and reduction length when not given"
    )
    timeout_s: int = option(Integer(1, 86400), "seconds after which a kernel counts as hanging", 60)


PRESET_NAMES = (
    "unmapped",
    "naive",
    "single_thread",
    "pointwise",
    "mlp",
    "convolution",
    "group_convolution",
)


@dataclass(frozen=True)
class Options:
    """One options file, or the same given through the Python API."""

    entry: str | None = option(Text("a def name"), "def to compile, where a file has several")
    target: str | None = option(Choice(tuple(TARGETS)), "GPU architecture; sm_90 when not given")
    sizes: Mapping[str, int] = option(
        Table("size names", _SIZE), "values of sizes; what is not given stays open"
    )
    preset: str | None = option(Choice(PRESET_NAMES), "mapping options to start from")
    mapping: MappingOptions = option(Section(MappingOptions), "how the program is mapped")
    verify: VerifyOptions = option(Section(VerifyOptions), "how `tcc verify` checks")
    spans: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)
    """Where the value of each given option stands, by path (`mapping.tile`, `sizes.M`)."""
    names: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)
    """Where the names of the user's choice stand, by path (`sizes.M`)."""

    def place(self, path: str) -> Span:
        """Where the value of an option stands; the option itself when it came from no text."""
        found = self.spans.get(path)
        if found is not None:
            return found
        text = f"{path}: {spell(_value(self, path))}"
        return Span(Source("<options>", text), 0, len(text))

    def place_of_name(self, path: str) -> Span:
        """Where the name at the end of a path stands."""
        return self.names[path] if path in self.names else self.place(path)


_UNMAPPED = MappingOptions(
    outer_schedule_fusion_strategy="preserve3coincident",
    outer_schedule_allow_skewing=False,
    outer_schedule_positive_orthant=True,
    intra_tile_schedule_fusion_strategy="preserve3coincident",
    intra_tile_schedule_allow_skewing=False,
    intra_tile_schedule_positive_orthant=True,
    fix_parameters_before_scheduling=False,
    tile_imperfectly_nested=False,
    match_library_calls=False,
    use_shared_memory=False,
    use_private_memory=False,
    unroll_copy_shared=False,
    use_readonly_cache=False,
)
PRESETS: dict[str, MappingOptions] = {
    "unmapped": _UNMAPPED,
    "naive": replace(_UNMAPPED, tile=(32, 32, 32), threads=(32, 8), blocks=(256, 256), unroll=1),
    "single_thread": replace(_UNMAPPED, tile=(1,), threads=(1,), blocks=(1,), unroll=1),
    "pointwise": replace(
        _UNMAPPED, tile=(32, 32, 32), threads=(32, 4, 4), blocks=(100, 100, 100), unroll=128
    ),
    "mlp": replace(
        _UNMAPPED,
        outer_schedule_fusion_strategy="max",
        tile=(1,),
        threads=(128,),
        blocks=(128,),
        unroll=1,
    ),
    "convolution": replace(
        _UNMAPPED, tile=(4, 8, 8, 8), threads=(4, 16, 4), blocks=(256, 256, 256), unroll=1
    ),
    "group_convolution": replace(
        _UNMAPPED, tile=(1, 1), threads=(4, 16, 4), blocks=(256, 256), unroll=1
    ),
}


def resolved(options: Options) -> MappingOptions:
    """The mapping options, with the preset's values where the user gave none."""
    if options.preset is None:
        return options.mapping
    given = {f.name: getattr(options.mapping, f.name) for f in fields(MappingOptions)}
    return replace(
        PRESETS[options.preset], **{n: v for n, v in given.items() if v not in (None, {})}
    )


def given(section: Any) -> dict[str, Any]:  # noqa: ANN401 - any options dataclass
    """The options that differ from their defaults, as plain data that an options file may hold."""
    data: dict[str, Any] = {}
    for name in options_of(type(section)):
        plain = _plain(getattr(section, name))
        if plain not in (None, {}, []) and plain != _plain(_default(type(section), name)):
            data[name] = plain
    return data


def spell(value: object) -> str:
    """A value as an options file spells it, on one line."""
    match value:
        case bool():
            return str(value).lower()
        case Mapping():
            return f"{{{', '.join(f'{k}: {spell(v)}' for k, v in value.items())}}}"
        case tuple() | list():
            return f"[{', '.join(spell(v) for v in value)}]"
        case _:
            return spell(given(value)) if is_dataclass(value) else str(value)


def _plain(value: object) -> object:
    match value:
        case Mapping():
            return {k: _plain(v) for k, v in value.items()}
        case tuple():
            return [_plain(v) for v in value]
        case _:
            return given(value) if is_dataclass(value) else value


def _default(section: type, name: str) -> object:
    default = options_of(section)[name].default
    return None if default is MISSING else default


def _value(options: Options, path: str) -> object:
    value: Any = options
    for part in re.findall(r"[^.\[\]]+", path):
        match value:
            case Mapping():
                value = value[part]
            case tuple():
                value = value[int(part)]
            case _:
                value = getattr(value, part)
    return value
