"""Verification end to end: right kernels pass, wrong ones are found and explained."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tcc.api import request_of
from tcc.artifact import Artifact
from tcc.cli import main
from tcc.driver import Compilation, Request, compile_program
from tcc.errors import CompileError, ToolchainError
from tcc.inputs import options_of_data
from tcc.run import verify
from tcc.run.verify_outcome import Outcome
from tcc.source import Source

MATMUL = """\
def matmul(float(M, K) A, float(K, N) B) -> (C) {
    C(m, n) +=! A(m, k) * B(k, n)
}
"""
SUM = "def total(float(N) A) -> (S) { S +=! A(n) }"
SHIFT = """\
def shift(float(N) A) -> (B, C) {
    B(i) = A(i - 2) where i in 2:N
    C(i) = A(i) * 2.0
}
"""


def request(text: str, options: dict | None = None, **sizes: int) -> Request:
    return request_of(
        Source("f.tc", text), None, sizes, options_of_data("<options>", options or {}), None
    )


def run(asked: Request, **settings) -> Outcome:
    settings = {"device": "host", "check": False, "blocks": None, "seed": 0} | settings
    return verify.verify(asked, **settings)


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces text in every optimized kernel before it runs; the reference stays as it is."""

    def mutate(pattern: str, replacement: str) -> None:
        def broken(asked: Request, *, stop_after: str | None = None) -> Compilation:
            found = compile_program(asked, stop_after=stop_after)
            if found.artifact is None:
                return found
            text, count = re.subn(pattern, replacement, found.artifact.cuda_source)
            assert count, f"`{pattern}` is not in the kernel:\n{text}"
            return replace(found, artifact=replace(found.artifact, cuda_source=text))

        monkeypatch.setattr(verify, "compile_program", broken)

    return mutate


def test_fixed_sizes() -> None:
    outcome = run(request(MATMUL, M=40, N=24, K=10), awkward=2)
    assert outcome.ok, outcome.text()
    assert [t.why for t in outcome.trials] == ["given", "awkward", "awkward"]
    assert outcome.trials[0].sizes == {"M": 40, "N": 24, "K": 10}
    assert outcome.trials[1].sizes == {"M": 1, "N": 1, "K": 1}
    assert all(
        c.compared and c.largest <= c.tolerance for t in outcome.trials for c in t.comparisons
    )
    lines = outcome.text().splitlines()
    assert lines[0] == "verify matmul on host, seed 0"
    assert re.fullmatch(r"  M=40 N=24 K=10  1 +C +\S+ +\S+ +ok", lines[3])
    assert lines[-1] == "ok: the kernels agree in 3 assignments of the sizes"


def test_open_sizes_take_one_kernel() -> None:
    outcome = run(request(MATMUL, K=5), awkward=8)
    assert outcome.ok, outcome.text()
    assert len(outcome.trials) == 8
    assert {t.sizes["K"] for t in outcome.trials} == {5}
    assert len({t.sizes["M"] for t in outcome.trials}) > 2


def test_the_same_seed_gives_the_same_outcome() -> None:
    asked = request(SUM)
    first = run(asked, awkward=4, seed=3).json()
    assert first == run(asked, awkward=4, seed=3).json()
    assert first != run(asked, awkward=4, seed=4).json()


def test_json() -> None:
    data = json.loads(run(request(SUM, N=9), awkward=0).json())
    assert (data["ok"], data["program"], data["seed"], data["skips"]) == (True, "total", 0, [])
    (trial,) = data["trials"]
    assert trial["sizes"] == {"N": 9}
    assert trial["comparisons"][0]["tensor"] == "S"


def test_wrong_operand(breaks: Callable[..., None]) -> None:
    breaks(r"fmaf\(([^,]+), [^,]+, ", r"fmaf(\1, \1, ")
    outcome = run(request(MATMUL, M=6, N=5, K=4), awkward=0)
    assert not outcome.ok
    text = outcome.text()
    assert re.search(r"^`C\(0, 0\)` is \S+, the reference has \S+$", text, re.MULTILINE)
    assert "  at M=6 N=5 K=4, seed 0\n" in text
    assert "  threads in ascending order\n" in text
    assert "  written by `C(m, n) +=! A(m, k) * B(k, n)` (f.tc:2)\n" in text
    assert re.search(r"  30 of 30 elements differ, by at most \S+ \(tolerance \S+\)", text)
    assert text.endswith("failed: the kernels disagree in 1 of 1 assignment of the sizes\n")
    assert not json.loads(outcome.json())["ok"]


def test_missing_guard_on_the_output(breaks: Callable[..., None]) -> None:
    """A write past the end of an output is the host device's finding."""
    breaks(r"if \((i < N)\)", "if (true)")
    outcome = run(request("def f(float(N) A) -> (B) { B(i) = A(i) + 1.0 }"), awkward=3)
    assert not outcome.ok
    failed = next(t for t in outcome.trials if not t.ok)
    assert failed.failure is not None
    assert re.search("past the end of `[AB]`", failed.failure.summary)
    assert failed.failure.summary in outcome.text()


def test_elements_left_out(breaks: Callable[..., None]) -> None:
    breaks(r"if \((i < N)\)", "if (i + 1 < N)")
    outcome = run(request("def f(float(N) A) -> (B) { B(i) = A(i) + 1.0 }"), awkward=2)
    summary = outcome.trials[0].failure
    assert summary is not None
    assert re.match(r"`B\(0\)` is never written, the reference has \S+", summary.summary)


def test_skipped_tile(breaks: Callable[..., None]) -> None:
    """The kernel is right where there is one tile only."""
    breaks(r"int (k\w*) = 0; \1 < ", r"int \1 = 0; 1 + \1 < ")
    outcome = run(request(MATMUL, {"preset": "naive"}), awkward=4)
    assert not outcome.ok
    assert "is 0, the reference has" in outcome.text()


def test_the_statement_and_the_logical_index_of_a_mismatch(breaks: Callable[..., None]) -> None:
    breaks(r"A\[(\w+) - 2\]", r"A[\1 - 1]")
    breaks(r"(B\[[^\]]*\]) = ", r"\1 = 1.0f + ")
    outcome = run(request(SHIFT, N=9), awkward=0)
    failure = outcome.trials[0].failure
    assert failure is not None
    assert failure.summary.startswith("`B(2)` is ")
    assert "written by `B(i) = A(i - 2) where i in 2:N` (f.tc:2)" in failure.details
    names = [c.tensor for c in outcome.trials[0].comparisons if not c.ok]
    assert names == ["B"]


def test_order_of_threads(breaks: Callable[..., None]) -> None:
    breaks(r"(B\[)[^\]]*(\] = [^;]*;)", r"\g<1>0\2 B[i] = B[0];")
    outcome = run(request("def f(float(N) A) -> (B) { B(i) = min(A(i), 0.0) }", N=8), awkward=0)
    assert not outcome.ok


def test_a_kernel_that_hangs(breaks: Callable[..., None]) -> None:
    breaks(r"if \(i < N\) \{", "if (i < N) { for (volatile int spin = 1; spin;) {}")
    text = "def f(float(N) A) -> (B) { B(i) = A(i) + 1.0 }"
    outcome = run(request(text, {"verify": {"timeout_s": 1}}), awkward=9)
    assert "does not end within 1 s" in outcome.text()
    assert outcome.stopped
    assert len(outcome.trials) == verify.MOST_FAILURES
    assert "the rest was not tried" in outcome.text()


def test_relative_tolerance_of_the_options(breaks: Callable[..., None]) -> None:
    breaks(r"= A\[(\w+)\] \* 2\.0f", r"= A[\1] * 2.01f")
    text = "def f(float(N) A) -> (C) { C(i) = A(i) * 2.0 }"
    assert not run(request(text, N=7), awkward=0).ok
    for given, ok in ((0.02, True), (0.001, False)):
        options = {"verify": {"relative_tolerance": given}}
        assert run(request(text, options, N=7), awkward=0).ok is ok


def test_logarithms_get_positive_inputs() -> None:
    outcome = run(request("def f(float(N) A) -> (B) { B(i) = log(A(i)) }", N=50), awkward=0)
    assert outcome.ok
    assert outcome.trials[0].comparisons[0].nans == 0


def test_nan_everywhere_is_told() -> None:
    text = "def f(float(N) A) -> (B) { B(i) = sqrt(-1.0 - abs(A(i))) }"
    outcome = run(request(text, N=5), awkward=2)
    assert not outcome.ok
    assert "note: `B` is NaN in the reference: give ranges under `verify: inputs`" in outcome.text()
    assert outcome.text().endswith("failed: nothing is known of `B`: no number to compare with\n")
    data = json.loads(outcome.json())
    assert (data["ok"], data["blind"]) == (False, ["B"])


def test_nan_at_some_sizes_is_no_fault() -> None:
    """A variance of one value is 0 / 0."""
    text = "def f(float(N) A) -> (V) { V +=! A(i) * A(i)\n V = V * 0.0 / (N - 1.0) }"
    outcome = run(request(text, N=5), awkward=2)
    assert outcome.ok, outcome.text()
    assert outcome.blind == ()
    assert "`V` is NaN in the reference" in outcome.text()


SUMS = "def f(float(N, K) A, float(K) W) -> (B) { B(i) +=! A(i, k) * W(k) }"


def test_an_element_times_zero_is_seen(breaks: Callable[..., None]) -> None:
    """It vanishes, unless it is NaN: every third trial has some. Infinite sums would tell nothing,
    as the differences are NaN.
    """
    breaks(r"(B\[i\] = [^;]*);", r"\1 + (i + 1 < N ? A[(i + 1) * K] * 0.0f : 0.0f);")
    differences = SUMS.replace("A(i, k)", "(A(i, k) - A(i, 0))")
    outcome = run(request(differences, {"preset": "naive"}), awkward=3)
    assert [t.ok for t in outcome.trials] == [True, True, False]
    assert "is nan, the reference has" in outcome.text()
    assert "inputs: standard normal, some slices NaN" in outcome.text()


def test_a_weight_times_zero_is_seen(breaks: Callable[..., None]) -> None:
    """Where NaN in it is in every result anyway, it shows when the weight is infinite."""
    breaks(r"(B\[i\] = [^;]*);", r"\1 + W[K / 2] * 0.0f;")
    outcome = run(request(SUMS, {"preset": "naive"}), awkward=1)
    assert not outcome.ok
    assert "is nan, the reference has inf" in outcome.text()
    assert "inputs: uniform in (0.05, 0.95), one tensor infinite" in outcome.text()


@pytest.mark.parametrize("operator", ["min", "max"])
def test_a_lost_part_of_a_minimum_is_seen(operator: str, breaks: Callable[..., None]) -> None:
    """One warp of 16, which one trial alone would show by chance."""
    breaks(r"(\w+ = f\w+\(\w+, warps_O)", r"if (p != 13) \1")
    text = f"def f(float(N) A) -> (O) {{ O {operator}=! A(n) }}"
    outcome = run(request(text, N=3000), awkward=0)
    assert not outcome.ok
    assert "inputs: normal with a deviation of 100" in outcome.text()


def test_a_barrier_between_the_turns_of_a_block_is_missed(breaks: Callable[..., None]) -> None:
    """It keeps copies for the next tiles from what other threads still read of the last ones."""
    breaks(r"__pipeline_wait_prior\(0\);\s+__syncthreads\(\);", "")
    mapping = {"tile": [16, 16, 8], "threads": [4, 4], "pipeline": 3, "use_shared_memory": True}
    outcome = run(request(MATMUL, {"mapping": mapping}), check=True)
    few = [t for t in outcome.trials if t.sizes["M"] in (33, 36) and t.sizes["N"] in (3, 4)]
    assert not all(t.ok for t in few)
    small = [t for t in outcome.trials if t not in few and max(t.sizes.values()) < 1000]
    assert len(small) > 5
    assert all(t.ok for t in small)


def test_an_exponential_without_its_maximum_is_seen(breaks: Callable[..., None]) -> None:
    """Where inputs are large it overflows."""
    text = """def f(float(N, K) A) -> (B) {
        T(i) max=! A(i, k)
        E(i, k) = exp(A(i, k) - T(i))
        S(i) +=! E(i, k)
        B(i, k) = E(i, k) / S(i)
    }"""
    breaks(r"expf\(([^;]*?) - [^;]*?\)", r"expf(\1)")
    outcome = run(request(text, {"preset": "naive"}), awkward=3)
    assert not outcome.trials[1].ok
    assert "inputs: normal with a deviation of 100" in outcome.text()


def test_nan_against_a_number(breaks: Callable[..., None]) -> None:
    breaks(r"(B\[[^\]]*\]) = .*;", r"\1 = sqrtf(-1.0f);")
    outcome = run(request("def f(float(N) A) -> (B) { B(i) = A(i) + 1.0 }", N=5), awkward=0)
    failure = outcome.trials[0].failure
    assert failure is not None
    assert re.match(r"`B\(0\)` is -?nan, the reference has ", failure.summary)


def test_reads_that_a_condition_on_data_does_not_prevent() -> None:
    """At the given sizes the condition keeps them inside; at others it is the program's fault."""
    text = "def f(float(M) A) -> (B) { B(i) = A(i) > -10000 ? A(2 * i - 1) : 0 where i in 1:3 }"
    asked = request(text, M=7)
    for check in (False, True):
        outcome = run(asked, check=check, awkward=4)
        assert outcome.ok, outcome.text()
        assert len(outcome.trials) > 1
        reasons = {s.reason for s in outcome.skips if not s.reason.startswith("rejected")}
        assert reasons == ({"the program itself reads past the end of `A`: element 3 of 3"})
        outcome = run(request(text, M=3), check=check, awkward=0)
        assert not outcome.ok
        assert "the program itself reads past the end of `A`: element 3 of 3" in outcome.text()


@pytest.fixture
def breaks_both(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces text in every kernel, the reference kernels too."""

    def mutate(old: str, new: str) -> None:
        def broken(asked: Request, *, stop_after: str | None = None) -> Compilation:
            found = compile_program(asked, stop_after=stop_after)
            return replace(
                found, artifact=changed(found.artifact), reference=changed(found.reference)
            )

        def changed(kernel: Artifact | None) -> Artifact | None:
            if kernel is None:
                return None
            assert old in kernel.cuda_source
            return replace(kernel, cuda_source=kernel.cuda_source.replace(old, new))

        monkeypatch.setattr(verify, "compile_program", broken)

    return mutate


def test_a_wrong_reference_kernel_is_no_fault_of_the_program(
    breaks_both: Callable[..., None],
) -> None:
    breaks_both("A[i]", "A[i - 99999]")
    asked = request("def f(float(M) A) -> (B) { B(i) = A(i) }", {"preset": "naive"}, M=7)
    (trial,) = run(asked, awkward=0).trials
    assert trial.failure is not None
    assert trial.failure.summary.startswith("the reference kernel fails: ")


def test_what_both_kernels_do_wrong_is_seen(breaks_both: Callable[..., None]) -> None:
    """Where an interpreter of the language takes no time."""
    breaks_both("A[i]", "A[i] + 0.5f")
    text = "def f(float(M) A) -> (B) { B(i) = A(i) }"
    outcome = run(request(text, {"preset": "naive"}, M=7), awkward=0)
    assert not outcome.ok
    assert "the reference kernel itself is wrong: `B(0)` is" in outcome.text()
    assert "7 of 7 elements differ" in outcome.text()
    beyond = run(request(text, {"preset": "naive"}, M=100_000), awkward=0)
    assert beyond.ok


@pytest.mark.parametrize("function", ["exp", "j0", "lgamma", "normcdfinv"])
def test_libraries_differ_in_the_last_digits(function: str) -> None:
    """A relative tolerance of 0 is for the kernels, not for the interpreter."""
    text = f"def f(double(N) A) -> (O) {{ O(i) = {function}(A(i)) }}"
    options = {"preset": "naive", "verify": {"relative_tolerance": 0.0}}
    outcome = run(request(text, options), awkward=4)
    assert outcome.ok, outcome.text()


def test_gathers_stay_in_range() -> None:
    text = "def f(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(I(b) + 1, d) }"
    outcome = run(request(text), awkward=6)
    assert outcome.ok, outcome.text()
    assert len(outcome.trials) + len(outcome.skips) == 6
    assert all(s.sizes["E"] == 1 for s in outcome.skips) or not outcome.skips


def test_sampled_blocks(breaks: Callable[..., None]) -> None:
    text = "def f(float(M, N) A) -> (B) { B(i, j) = A(i, j) + 1.0 }"
    asked = request(text, {"preset": "naive"}, M=100, N=100)
    trial = run(asked, blocks=3, awkward=0).trials[0]
    assert trial.ok
    assert trial.blocks == 3
    assert 0 < trial.comparisons[0].compared < 100 * 100
    breaks(r"(B\[[^\]]*\]) = ", r"\1 = 1.0f + ")
    assert not run(asked, blocks=3, awkward=0).ok


def test_samples_of_an_output_that_an_earlier_launch_writes_too() -> None:
    """What the blocks left out is a value of the earlier launch, not a wrong one."""
    text = """
    def layer(float(B, I) X, float(O, I) W) -> (Y) {
        Y(b, o) +=! X(b, i) * W(o, i)
        Y(b, o) = relu(Y(b, o))
    }
    """
    mapping = {"outer_schedule_fusion_strategy": "min"}
    asked = request(text, {"mapping": mapping}, B=64, I=32, O=64)
    trial = run(asked, blocks=1, awkward=0).trials[0]
    assert trial.kernels == 2
    assert trial.failure is None
    assert trial.blocks == 1


def test_samples_run_in_the_last_launch_only() -> None:
    text = "def f(float(N) A) -> (S, B) { S +=! A(i)\n B(j) = A(j) * S }"
    outcome = run(request(text, {"preset": "naive"}, N=4000), blocks=2, awkward=0)
    assert outcome.ok, outcome.text()
    compared = {c.tensor: c.compared for c in outcome.trials[0].comparisons}
    assert compared["S"] == 1
    assert 0 < compared["B"] <= 4000


def test_sizes_of_the_options() -> None:
    options = {"verify": {"sizes": [{"M": 3}, {"N": 4, "K": 2}]}}
    outcome = run(request(MATMUL, options, M=2, N=2, K=2), awkward=0)
    assert [(t.why, t.sizes) for t in outcome.trials] == [
        ("given", {"M": 2, "N": 2, "K": 2}),
        ("options", {"M": 3, "N": 2, "K": 2}),
        ("options", {"M": 2, "N": 4, "K": 2}),
    ]
    outcome = run(request(MATMUL, options), awkward=0)
    assert [t.sizes["M"] == 3 for t in outcome.trials] == [True, False]
    with pytest.raises(CompileError, match="E0613"):
        run(request(MATMUL, {"verify": {"sizes": [{"Q": 3}]}}, M=2, N=2, K=2), awkward=0)


def test_ranges_for_unknown_inputs() -> None:
    with pytest.raises(CompileError, match="E0615"):
        run(request(MATMUL, {"verify": {"inputs": {"C": [0, 1]}}}))


def test_sizes_that_the_program_rejects_are_left_out() -> None:
    text = "def f(float(L) A, float(M, K) D) -> (B) { B(c, d) = A(c * K + d) + D(c, d) }"
    outcome = run(request(text, L=12, M=3, K=4), awkward=3)
    assert outcome.ok, outcome.text()
    assert outcome.skips
    for skip in outcome.skips:
        assert skip.sizes["M"] * skip.sizes["K"] > skip.sizes["L"]
        place = " ".join(f"{n}={v}" for n, v in skip.sizes.items())
        assert f"note: {place} is left out: rejected with E0307, `A(c" in outcome.text()


def test_preconditions_hold() -> None:
    text = "def f(float(N) A) -> (B) { B(i) = A(i + 3) - A(0) where i in 0:2 }"
    for asked in (request(text, N=9), request(text)):
        outcome = run(asked, awkward=4)
        assert outcome.ok, outcome.text()
        assert outcome.skips == ()
        assert min(t.sizes["N"] for t in outcome.trials) == 5


def test_large_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "FEW_POINTS", 100)
    monkeypatch.setattr(verify, "SAMPLED_BLOCKS", 1)
    asked = request(SHIFT, {"preset": "naive"}, N=2000)
    assert run(asked, awkward=0).trials[0].blocks == 1
    monkeypatch.setattr(verify, "MOST_POINTS", 1000)
    outcome = run(asked, awkward=1)
    assert [t.why for t in outcome.trials] == ["awkward"]
    assert "too large for the reference kernel" in outcome.skips[0].reason


def test_checking_build(breaks: Callable[..., None]) -> None:
    asked = request("def f(float(N) A) -> (B) { B(i) = A(i) + A(0) }", {"preset": "naive"})
    outcome = run(asked, check=True, awkward=3)
    assert outcome.ok, outcome.text()
    assert run(asked, check=True, blocks=1, awkward=0) is not None
    # the same value, but from every thread
    breaks(r"(B\[[^\]]*\] = [^;]*;)", r"\1 if (i == 1) B[0] = A[0] + A[0];")
    assert run(asked, awkward=2).ok
    outcome = run(asked, check=True, awkward=2)
    assert not outcome.ok
    assert "race" in outcome.text()


def test_check_of_sampled_blocks() -> None:
    asked = request("def f(float(N) A) -> (B) { B(i) = A(i) + 1.0 }", {"preset": "naive"}, N=900)
    trial = run(asked, check=True, blocks=2, awkward=0).trials[0]
    assert trial.ok, trial.failure
    assert trial.blocks == 2


def test_only_the_host_device_checks() -> None:
    with pytest.raises(CompileError, match="E0911"):
        run(request(SUM), device="cuda", check=True)


def test_programs_without_sizes() -> None:
    outcome = run(request("def f(float(3) A) -> (B) { B(i) = A(i) }"))
    assert outcome.ok
    assert len(outcome.trials) == 1
    assert "fixed sizes" in outcome.text()


@pytest.mark.gpu
def test_on_a_gpu() -> None:
    try:
        outcome = run(request(MATMUL, M=70, N=33, K=20), device="cuda", awkward=2)
    except ToolchainError as problem:
        pytest.skip(str(problem))
    assert outcome.ok, outcome.text()
    assert len(outcome.trials) == 3


def test_the_command(tmp_path, capfd, breaks) -> None:
    (tmp_path / "f.tc").write_text(SUM)
    command = ["verify", str(tmp_path / "f.tc"), "--size", "N=70"]
    assert main(command) == 0
    out, err = capfd.readouterr()
    assert (out.splitlines()[0], err) == ("verify total on host, seed 0", "")
    assert main([*command, "--json", "--seed", "7"]) == 0
    assert json.loads(capfd.readouterr().out)["seed"] == 7
    breaks(r"(S\[0\]) = ", r"\1 = 1.0f + ")
    assert main(command) == 3
    assert "`S` is " in capfd.readouterr().out
    assert main([*command[:2], "--size", "Q=1"]) == 1
