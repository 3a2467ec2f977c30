"""The option dataclasses: schema, presets, spelling, places."""

import pickle
from dataclasses import fields

import pytest

from tcc.diagnostics import Report
from tcc.limits import check_limits
from tcc.options import (
    PRESET_NAMES,
    PRESETS,
    MappingOptions,
    Options,
    VerifyOptions,
    given,
    resolved,
    spell,
)
from tcc.schema import Entry, describe, entries
from tcc.target import DEFAULT_TARGET, TARGETS

# Reference: the options of the 2018 system, and those that this one adds.
ORIGINAL = [
    "outer_schedule_fusion_strategy",
    "outer_schedule_allow_skewing",
    "outer_schedule_positive_orthant",
    "intra_tile_schedule_fusion_strategy",
    "intra_tile_schedule_allow_skewing",
    "intra_tile_schedule_positive_orthant",
    "fix_parameters_before_scheduling",
    "tile",
    "unroll",
    "tile_imperfectly_nested",
    "match_library_calls",
    "threads",
    "blocks",
    "use_shared_memory",
    "max_shared_memory",
    "shared_depth",
    "use_private_memory",
    "private_depth",
    "unroll_copy_shared",
    "use_readonly_cache",
]
NEW = [
    "check_bounds",
    "registers",
    "vector",
    "staging",
    "pipeline",
    "reduction",
    "split",
    "deterministic",
    "tensor_cores",
    "kernels",
    "plan",
]


def test_every_option_of_the_original_and_the_new_ones_exist():
    assert [f.name for f in fields(MappingOptions)] == [*ORIGINAL, *NEW]


def test_the_schema_lists_every_option_with_kind_and_sentence():
    listed = list(entries(Options))
    paths = [e.path for e in listed]
    assert [p for p in paths if p.rpartition(".")[0] == "mapping"] == [
        f"mapping.{name}" for name in [*ORIGINAL, *NEW]
    ]
    assert "mapping.plan.NAME.parallel" in paths
    assert all(describe(e.kind) and e.doc for e in listed)
    assert next(e for e in listed if e.path == "verify.timeout_s").default == "60"
    assert isinstance(listed[0], Entry)


def test_nothing_is_given_by_default():
    assert given(Options()) == {}
    assert resolved(Options()) == MappingOptions()


def test_the_presets_are_those_of_the_original():
    assert tuple(PRESETS) == PRESET_NAMES
    naive = PRESETS["naive"]
    assert (naive.tile, naive.threads, naive.blocks, naive.unroll) == (
        (32, 32, 32),
        (32, 8),
        (256, 256),
        1,
    )
    assert PRESETS["mlp"].outer_schedule_fusion_strategy == "max"
    assert PRESETS["mlp"].intra_tile_schedule_fusion_strategy == "preserve3coincident"
    assert PRESETS["convolution"].threads == (4, 16, 4)
    assert not any(p.use_shared_memory for p in PRESETS.values())


def test_given_options_win_over_the_preset():
    options = Options(preset="naive", mapping=MappingOptions(tile=(8,), use_shared_memory=True))
    mapping = resolved(options)
    assert (mapping.tile, mapping.threads, mapping.use_shared_memory) == ((8,), (32, 8), True)


def test_given_is_what_a_file_would_say():
    options = Options(
        sizes={"M": 4},
        mapping=MappingOptions(tile=(4, 8), use_shared_memory=False, staging={"A": "shared"}),
        verify=VerifyOptions(seed=3),
    )
    assert spell(given(options)) == (
        "{sizes: {M: 4}, mapping: {tile: [4, 8], use_shared_memory: false, "
        "staging: {A: shared}}, verify: {seed: 3}}"
    )


def test_a_place_for_options_that_came_from_no_text():
    options = Options(sizes={"M": 4}, mapping=MappingOptions(tile=(4, 8)))
    assert options.place("mapping.tile").text == "mapping.tile: [4, 8]"
    assert options.place("sizes.M").text == "sizes.M: 4"


def test_options_survive_a_worker_process():
    options = Options(preset="mlp", sizes={"N": 3}, mapping=MappingOptions(threads=(32, 4)))
    assert pickle.loads(pickle.dumps(options)) == options


@pytest.mark.parametrize("name", TARGETS)
def test_targets_are_consistent(name):
    target = TARGETS[name]
    assert target.name == name
    assert f"sm_{target.capability[0]}{target.capability[1]}" == name
    assert target.max_shared_bytes <= target.max_shared_bytes_opt_in
    assert (
        target.max_shared_bytes_opt_in + target.reserved_shared_bytes <= target.shared_bytes_per_sm
    )
    assert target.max_threads_per_sm % target.warp_size == 0
    assert target.has_async_copy == (target.capability[0] >= 8)


@pytest.mark.parametrize(
    ("name", "tflops"), [("sm_70", 15.7), ("sm_80", 19.5), ("sm_90", 66.9), ("sm_120", 104.8)]
)
def test_peak_agrees_with_the_data_sheet(name, tflops):
    assert TARGETS[name].peak_gflops / 1000 == pytest.approx(tflops, rel=0.005)


def test_the_default_target_exists():
    assert DEFAULT_TARGET in TARGETS


@pytest.mark.parametrize(
    ("mapping", "codes"),
    [
        (MappingOptions(threads=(32, 32)), []),
        (MappingOptions(threads=(64, 32)), ["E0511"]),
        (MappingOptions(max_shared_memory=65536), []),
        (MappingOptions(max_shared_memory=65537), ["E0512"]),
        (MappingOptions(threads=(1024, 2), max_shared_memory=2**20), ["E0511", "E0512"]),
    ],
)
def test_limits_of_the_target(mapping, codes):
    report = Report()
    check_limits(Options(mapping=mapping), TARGETS["sm_75"], report)
    assert [d.code for d in report.items] == codes
