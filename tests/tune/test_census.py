"""The walk over kernel IR: instructions, waits, merged loads, registers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tcc.affine import const, lift, var
from tcc.driver import compile_program
from tcc.errors import ToolchainError
from tcc.kernel import ir
from tcc.run.disassemble import compiler_name, find_tools
from tcc.scalar import ScalarType
from tcc.target import TARGETS
from tcc.tune.census import Census, census
from tcc.tune.machine_code import machine_mixes
from tcc.tune.model import predict_kernel, predict_time
from tcc.tune.registers import BASE_REGISTERS, registers
from tcc.tune.work import Latency, Mix
from tests.tune.records import SPECS, request

F32 = ScalarType.FLOAT32
A = ir.Buffer("A", ir.Space.GLOBAL, F32, (const(4096), const(64)))
S = ir.Buffer("S", ir.Space.SHARED, F32, (const(1024),))
t, b, i, k = map(var, ("t", "b", "i", "k"))
ONE = ir.Const(Fraction(1), F32)


def private(name, *shape):
    return ir.Buffer(name, ir.Space.PRIVATE, F32, tuple(map(const, shape)))


X, ROW, ACC = private("x"), private("row", 4), private("acc", 8)


def kernel(*body, block=(64, 1, 1), grid=132):
    aliases = (("t", "threadIdx.x"), ("b", "blockIdx.x"))
    return ir.Kernel("f", (A,), (), (const(grid), const(1), const(1)), block, aliases, body)


def loop(name, count, *body, unroll=True, step=1):
    return ir.For(name, const(0), const(count), step, unroll, body)


def load(buffer, *index):
    return ir.Load(buffer, tuple(map(lift, index)))


def store(buffer, index, value):
    return ir.Store(buffer, tuple(map(lift, index)), value)


def add(left, right=ONE):
    return ir.Binary("+", left, right, F32)


def waits(found: Census, latency: Latency) -> float:
    return sum(s.times for s in found.stalls if s.latency is latency)


def test_unrolled_and_rolled_loops():
    body = store(X, (), add(load(X)))
    assert census(kernel(loop("i", 10, body)), {}).work.fp32 == 10
    rolled = census(kernel(loop("i", 10, body, unroll=False)), {}).work
    assert rolled.fp32 == 10
    assert rolled.issue == 10 + 10 * 3 / 4, "four iterations of a short loop share its overhead"
    assert census(kernel(loop("i", 0, body, unroll=False)), {}).work.issue == 0


def test_what_does_not_change_is_computed_once():
    constant = store(ROW, (i,), add(load(X)))
    assert census(kernel(loop("i", 4, constant)), {}).work.fp32 == 1
    changing = store(ROW, (i,), add(load(ROW, i)))
    assert census(kernel(loop("i", 4, changing)), {}).work.fp32 == 4


def test_branches_count_for_the_warps_that_take_them():
    body = store(X, (), add(load(X)))
    first = ir.If((31 - t,), (body,), (body, body))
    assert census(kernel(first), {}).work.fp32 == 1.5
    some = ir.If((t - 40,), (body,))
    assert census(kernel(some), {}).work.fp32 == 0.5


def test_neighbours_in_shared_memory_become_vectors():
    def accesses(index, count=8):
        return census(kernel(loop("i", count, store(ACC, (i,), load(S, index)))), {}).work.accesses

    assert accesses(i + 8 * t) == 2
    assert accesses(i + 2 * t) == 4
    assert accesses(i + 2 + 8 * t) == 3, "two pairs around a vector"
    assert accesses(i + 3 * t) == 8
    assert accesses(8 * t) == 1
    assert accesses(2 * i + 16 * t) == 8
    assert accesses(i + 8 * t, 6) == 2


def test_windows_load_every_element_once():
    window = store(ACC, (i,), load(S, i + k + 8 * t))
    assert census(kernel(loop("k", 3, loop("i", 6, window))), {}).work.accesses == 2


def test_global_loads_that_follow_each_other_wait_together():
    both = [store(X, (), load(A, 64 * b + t, 0)), store(ROW, (0,), load(A, 64 * b + t, 1))]
    assert waits(census(kernel(*both), {}), Latency.GLOBAL) == 1
    barred = census(kernel(both[0], ir.Barrier(), both[1]), {})
    assert waits(barred, Latency.GLOBAL) == 2
    assert waits(barred, Latency.BARRIER) == 1
    rolled = census(kernel(loop("k", 40, *both, unroll=False)), {})
    assert waits(rolled, Latency.GLOBAL) == 10


def test_a_gather_waits_for_its_subscript():
    gathered = ir.Load(A, (ir.Cast(load(A, t, 0), ScalarType.INT32), t))
    found = census(kernel(store(X, (), gathered)), {})
    assert waits(found, Latency.GLOBAL) == 2


def test_what_is_fetched_ahead_hides_its_latency():
    fetch = ir.VectorMove(ROW, (const(0),), A, (64 * b + t, const(0)), 4)
    work = [store(X, (), add(load(X))) for _ in range(100)]
    use = store(S, (t,), load(ROW, 0))
    (ahead,) = [
        s for s in census(kernel(fetch, *work, use), {}).stalls if s.latency is Latency.GLOBAL
    ]
    (late,) = [
        s for s in census(kernel(*work, fetch, use), {}).stalls if s.latency is Latency.GLOBAL
    ]
    assert (ahead.hidden, late.hidden) == (100, 0)


def test_asynchronous_copies_are_waited_for_one_iteration_later():
    copy = ir.AsyncCopy(S, (t,), A, (64 * b + t, k), 1)
    work = [store(X, (), add(load(X))) for _ in range(50)]
    body = (ir.AsyncWait(1), ir.Barrier(), copy, ir.AsyncCommit(), *work)
    found = census(kernel(loop("k", 16, *body, unroll=False)), {})
    (wait,) = [s for s in found.stalls if s.latency is Latency.GLOBAL]
    assert wait.times == 16
    assert wait.together
    assert wait.hidden >= 50


def test_chains_of_updates():
    many = census(kernel(loop("k", 10, loop("i", 8, store(ACC, (i,), add(load(ACC, i)))))), {})
    (stall,) = [s for s in many.stalls if s.latency is Latency.RESULT]
    assert (stall.times, stall.hidden) == (10, 7)


def test_registers_are_those_that_live_at_once():
    first, second = private("p", 16), private("q", 16)

    def filled(buffer):
        return loop("i", 16, store(buffer, (i,), ONE))

    def emptied(buffer):
        return loop("i", 16, store(S, (i,), load(buffer, i)))

    apart = [filled(first), emptied(first), filled(second), emptied(second)]
    together = [filled(first), filled(second), emptied(first), emptied(second)]
    brief = [loop("i", 16, store(first, (i,), ONE), store(S, (i,), load(first, i)))]
    found = [registers(kernel(*body)) - BASE_REGISTERS for body in (apart, together, brief)]
    assert found == [16, 32, 1]


def test_values_without_a_register_cost_time():
    acc = private("acc", 400)
    update = store(acc, (i,), add(load(acc, i)))
    used = store(A, (b, 0), load(acc, 0))
    fill = loop("i", 400, store(acc, (i,), ONE))
    spilled = kernel(fill, loop("k", 100, loop("i", 400, update), unroll=False), used)
    kept = replace(spilled, body=tuple(spilled.body))
    plenty = replace(TARGETS["sm_90"], max_registers_per_thread=1000)
    slow, fast = (
        predict_kernel(x, y, {}) for x, y in ((spilled, TARGETS["sm_90"]), (kept, plenty))
    )
    assert slow.registers == 255
    assert slow.time_us > 1.3 * fast.time_us


def test_more_blocks_than_there_are_sms_take_turns():
    body = loop("k", 1000, store(X, (), add(load(X))), unroll=False)
    times = [predict_kernel(kernel(body, grid=g), TARGETS["sm_90"], {}).time_us for g in (1, 132)]
    assert times[0] == pytest.approx(times[1])
    busy = predict_kernel(kernel(body, grid=132 * 64), TARGETS["sm_90"], {})
    assert busy.time_us > times[0]
    assert busy.waves > 1


def test_machine_code_replaces_estimates():
    try:
        find_tools()
        compiler_name()
    except ToolchainError as problem:
        pytest.skip(str(problem))
    target = TARGETS["sm_90"]
    made = compile_program(request((SPECS / "gemm.tc").read_text(), M=1024, N=1024, K=1024))
    kernels = made.lowering.mapped.kernels
    mixes = machine_mixes(made.artifact, kernels, {}, target)
    (mix,) = mixes.values()
    assert 0.9 < mix.instructions < 1.1, "the census counts what the assembler makes"
    assert abs(mix.registers - registers(kernels[0])) < 30
    twice = {n: replace(m, instructions=2.0) for n, m in mixes.items()}
    assert predict_time(made, target, mixes=twice).time_us > predict_time(made, target).time_us


def test_machine_code_with_spills():
    made = compile_program(request((SPECS / "gemm.tc").read_text(), M=1024, N=1024, K=1024))
    (name,) = [k.name for k in made.lowering.mapped.kernels]
    times = [
        predict_time(made, TARGETS["sm_90"], mixes={name: Mix(128, local, 1.0)}).time_us
        for local in (0, 256)
    ]
    assert times[0] < times[1]


@pytest.mark.parametrize("unroll", [True, False])
def test_iterations_in_which_nothing_happens_do_not_stand_for_the_others(unroll):
    """Tiles of 13 points of which 3 are there; the middle one of a walk would be outside."""
    body = store(ROW, (0,), load(A, i, t))
    guarded = ir.If((const(2) - i,), (body,))
    found = census(kernel(loop("i", 13, guarded, unroll=unroll)), {})
    whole = census(kernel(loop("i", 3, body, unroll=unroll)), {})
    assert found.work.accesses == whole.work.accesses == 3
    assert sum(a.sectors for a in found.accesses) == sum(a.sectors for a in whole.accesses)
    ((low, high),) = {(x.first, x.last) for a in found.accesses for x in a.loops}
    assert (low, high) == (0, 2)


def test_a_loop_is_cut_for_guards_on_what_is_defined_inside():
    at = ir.Let("at", i * 8 + t)
    between = const(79) - var("at"), var("at") - 16

    def guarded(row):
        return ir.If(between, (store(ROW, (0,), load(A, row, t)),))

    for inner, times in ((guarded(8 * i), 8), (loop("k", 4, guarded(8 * i + k)), 32)):
        found = census(kernel(loop("i", 16, at, inner), block=(8, 1, 1)), {})
        assert found.work.accesses == times, "eight of 16 iterations reach 16 to 79"


@pytest.mark.parametrize(("grid", "tiles"), [(100, 2), (64, 2), (128, 1), (127, 2)])
def test_the_block_looked_at_is_one_of_those_with_the_most_tiles(grid, tiles):
    walk = ir.For("w", b, const(128), grid, False, (store(ROW, (0,), load(A, var("w"), t)),))
    assert census(kernel(walk, grid=grid), {}).work.accesses == tiles
