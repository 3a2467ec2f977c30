"""Eleven published kernels for C = alpha A B + beta C, as kernel IR, with their measured speeds.

From S. Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance (2022), and the
repository siboehm/SGEMM_CUDA: structure and parameters from the sources, speeds from its README
(RTX A6000, 4092 x 4092; here 4096, which its tiles divide). Only what a kernel does is written
down: which thread accesses what, in which order, and where it waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tcc.affine import Affine, const, lift, var
from tcc.kernel import ir
from tcc.scalar import ScalarType
from tcc.target import MIB, TARGETS

# The board of the figures, of the data sheet "NVIDIA RTX A6000".
A6000 = replace(
    TARGETS["sm_86"], board="RTX A6000", sms=84, clock_mhz=1800, dram_gb_per_s=768, l2_bytes=6 * MIB
)
GFLOPS = {
    1: 309.0,
    2: 1986.5,
    3: 2980.3,
    4: 8474.7,
    5: 15971.7,
    6: 18237.3,
    7: 16213.4,
    8: 16459.2,
    9: 19721.0,
    10: 21779.3,
    11: 17278.3,
}
N = 4096
F32 = ScalarType.FLOAT32
A, B, C = (ir.Buffer(name, ir.Space.GLOBAL, F32, (const(N), const(N))) for name in "ABC")
t, bx, by, kt = var("t"), var("bx"), var("by"), var("kt")
Body = list[ir.Statement]


def private(name: str, *shape: int) -> ir.Buffer:
    return ir.Buffer(name, ir.Space.PRIVATE, F32, tuple(map(const, shape)))


def shared(name: str, size: int) -> ir.Buffer:
    return ir.Buffer(name, ir.Space.SHARED, F32, (const(size),))


def load(buffer: ir.Buffer, *index: Affine | int) -> ir.Load:
    return ir.Load(buffer, tuple(map(lift, index)))


def store(buffer: ir.Buffer, index: Sequence[Affine | int], value: ir.Expression) -> ir.Store:
    return ir.Store(buffer, tuple(map(lift, index)), value)


def move(
    target: ir.Buffer,
    target_index: Sequence[Affine | int],
    source: ir.Buffer,
    source_index: Sequence[Affine | int],
) -> ir.VectorMove:
    at, origin = tuple(map(lift, target_index)), tuple(map(lift, source_index))
    return ir.VectorMove(target, at, source, origin, 4)


def loop(name: str, count: int, body: Body, *, unroll: bool = True) -> ir.For:
    return ir.For(name, const(0), const(count), 1, unroll, tuple(body))


def fma(a: ir.Expression, b: ir.Expression, c: ir.Expression) -> ir.Call:
    return ir.Call("fma", (a, b, c), F32)


def scaled(value: ir.Expression, old: ir.Expression) -> ir.Call:
    """alpha * value + beta * old."""
    alpha, beta = (ir.Const(Fraction(x), F32) for x in (1, 2))
    return fma(alpha, value, ir.Binary("*", beta, old, F32))


def kernel(name: str, grid: tuple[int, int], threads: int, body: Body) -> ir.Kernel:
    x, y = grid
    return ir.Kernel(
        name,
        (A, B, C),
        (),
        (const(x), const(y), const(1)),
        (threads, 1, 1),
        (("t", "threadIdx.x"), ("bx", "blockIdx.x"), ("by", "blockIdx.y")),
        tuple(body),
    )


def one_point(name: str, row: Affine, column: Affine) -> ir.Kernel:
    """A thread for each element, operands from global memory."""
    acc, k = private("acc"), var("k")
    product = fma(load(A, row, k), load(B, k, column), load(acc))
    body = [
        ir.Declare(acc),
        loop("k", N, [store(acc, (), product)], unroll=False),
        store(C, (row, column), scaled(load(acc), load(C, row, column))),
    ]
    return kernel(name, (N // 32, N // 32), 1024, body)


def naive() -> ir.Kernel:
    return one_point("naive", 32 * bx + t % 32, 32 * by + t // 32)


def coalesced() -> ir.Kernel:
    return one_point("coalesced", 32 * bx + t // 32, 32 * by + t % 32)


def shared_tiles() -> ir.Kernel:
    acc, tile_a, tile_b = private("acc"), shared("As", 1024), shared("Bs", 1024)
    row, column, k = t // 32, t % 32, var("k")
    product = fma(load(tile_a, row * 32 + k), load(tile_b, k * 32 + column), load(acc))
    step: Body = [
        store(tile_a, (row * 32 + column,), load(A, 32 * bx + row, 32 * kt + column)),
        store(tile_b, (row * 32 + column,), load(B, 32 * kt + row, 32 * by + column)),
        ir.Barrier(),
        loop("k", 32, [store(acc, (), product)]),
        ir.Barrier(),
    ]
    at = (32 * bx + row, 32 * by + column)
    body = [
        ir.Declare(acc),
        ir.Declare(tile_a),
        ir.Declare(tile_b),
        loop("kt", N // 32, step, unroll=False),
        store(C, at, scaled(load(acc), load(C, *at))),
    ]
    return kernel("shared tiles", (N // 32, N // 32), 1024, body)


def tiles_1d() -> ir.Kernel:
    acc, tile_a, tile_b = private("acc", 8), shared("As", 512), shared("Bs", 512)
    row, column, k, i = t // 64, t % 64, var("k"), var("i")
    b = private("b")
    product = fma(load(tile_a, (row * 8 + i) * 8 + k), load(b), load(acc, i))
    step: Body = [
        store(tile_a, (t,), load(A, 64 * by + t // 8, 8 * kt + t % 8)),
        store(tile_b, (t,), load(B, 8 * kt + t // 64, 64 * bx + t % 64)),
        ir.Barrier(),
        loop(
            "k",
            8,
            [
                ir.Declare(b),
                store(b, (), load(tile_b, k * 64 + column)),
                loop("i", 8, [store(acc, (i,), product)]),
            ],
        ),
        ir.Barrier(),
    ]
    at = (64 * by + row * 8 + i, 64 * bx + column)
    body = [
        ir.Declare(acc),
        ir.Declare(tile_a),
        ir.Declare(tile_b),
        loop("kt", N // 8, step, unroll=False),
        loop("i", 8, [store(C, at, scaled(load(acc, i), load(C, *at)))]),
    ]
    return kernel("1D tiles", (N // 64, N // 64), 512, body)


@dataclass(frozen=True)
class Part:
    """The rows or columns of one thread: `steps` runs of `length`, `stride` apart."""

    first: Affine
    length: int
    steps: int = 1
    stride: int = 0

    @property
    def count(self) -> int:
        return self.steps * self.length

    def at(self, step: Affine, i: Affine) -> Affine:
        return self.first + step * self.stride + i


@dataclass(frozen=True)
class Tiles:
    """A kernel with tiles in two dimensions, `high` x `wide` x `deep`.

    `a_at` and `b_at` are the places of an element in shared memory, by its k and its row or column
    in the tile. `vectors` copies 128 bits at once, `b_vectors` stores B so; with `halves` one half
    of the threads fills a second buffer while the other half computes from the first.
    """

    name: str
    high: int
    wide: int
    deep: int
    threads: int
    rows: Part
    columns: Part
    a_at: Callable[[Affine, Affine], Affine]
    b_at: Callable[[Affine, Affine], Affine]
    vectors: bool = True
    b_vectors: bool = True
    b_size: int | None = None
    halves: bool = False

    @property
    def acc(self) -> ir.Buffer:
        return private("acc", self.rows.count, self.columns.count)

    @property
    def tile_a(self) -> ir.Buffer:
        return shared("As", self.high * self.deep * (2 if self.halves else 1))

    @property
    def tile_b(self) -> ir.Buffer:
        return shared("Bs", (self.b_size or self.wide * self.deep) * (2 if self.halves else 1))

    @property
    def copying(self) -> tuple[Affine, int]:
        count = self.threads // 2 if self.halves else self.threads
        return (t % count if self.halves else t), count

    def kernel(self) -> ir.Kernel:
        steps = N // self.deep
        tiles = self._in_halves() if self.halves else self._in_turns()
        outer = loop("kt", steps // 2 if self.halves else steps, tiles, unroll=False)
        before: Body = []
        if self.halves:
            before = [ir.If((self.copying[1] - 1 - t,), (*self.copy(const(0), 0),)), ir.Barrier()]
        declared = [ir.Declare(b) for b in (self.acc, self.tile_a, self.tile_b)]
        return kernel(
            self.name,
            (N // self.wide, N // self.high),
            self.threads,
            [*declared, *before, outer, *self.write_back()],
        )

    def _in_turns(self) -> Body:
        return [*self.copy(kt, 0), ir.Barrier(), *self.compute(0), ir.Barrier()]

    def _in_halves(self) -> Body:
        first: Body = [
            *self.compute(0),
            ir.Barrier(),
            *self.compute(1),
            ir.Barrier(),
            *self.copy(2 * kt + 2, 0),
        ]
        second: Body = [
            *self.copy(2 * kt + 1, 1),
            ir.Barrier(),
            *self.compute(0),
            ir.Barrier(),
            *self.compute(1),
        ]
        half = self.copying[1]
        return [ir.If((half - 1 - t,), tuple(first), tuple(second)), ir.Barrier()]

    # -- copies ----------------------------------------------------------------------------

    def copy(self, tile: Affine, half: int) -> Body:
        width = 4 if self.vectors else 1
        return [*self._copy_a(tile, half, width), *self._copy_b(tile, half, width)]

    def _copy_a(self, tile: Affine, half: int, width: int) -> Body:
        thread, count = self.copying
        across = self.deep // width
        stride, column = count // across, thread % across * width
        row = thread // across + var("r") * stride
        source = (self.high * by + row, self.deep * tile + column)
        place = half * self.high * self.deep
        kept = private("next_a", 4)
        if width == 1:
            inner: Body = [store(self.tile_a, (self.a_at(column, row),), load(A, *source))]
        else:
            inner = [
                ir.Declare(kept),
                move(kept, (0,), A, source),
                *(
                    store(self.tile_a, (self.a_at(column + j, row) + place,), load(kept, j))
                    for j in range(4)
                ),
            ]
        return [loop("r", self.high // stride, inner)]

    def _copy_b(self, tile: Affine, half: int, width: int) -> Body:
        thread, count = self.copying
        across = self.wide // width
        stride, column = count // across, thread % across * width
        row = thread // across + var("r") * stride
        source = (self.deep * tile + row, self.wide * bx + column)
        place = half * (self.b_size or self.wide * self.deep)
        kept = private("next_b", 4)
        if width == 1:
            inner: Body = [store(self.tile_b, (self.b_at(row, column),), load(B, *source))]
        else:
            inner = [ir.Declare(kept), move(kept, (0,), B, source), *self._stored(kept, row, place)]
        return [loop("r", self.deep // stride, inner)]

    def _stored(self, kept: ir.Buffer, row: Affine, place: int) -> Body:
        column = self.copying[0] % (self.wide // 4) * 4
        if self.b_vectors:
            return [move(self.tile_b, (self.b_at(row, column) + place,), kept, (0,))]
        return [
            store(self.tile_b, (self.b_at(row, column + j) + place,), load(kept, j))
            for j in range(4)
        ]

    # -- arithmetic ------------------------------------------------------------------------

    def compute(self, half: int) -> Body:
        k, i, j, p, q = map(var, ("k", "i", "j", "p", "q"))
        rows, columns = self.rows, self.columns
        a, b = private("a", rows.count), private("b", columns.count)
        a_place = half * self.high * self.deep
        b_place = half * (self.b_size or self.wide * self.deep)
        m, n = rows.length * p + i, columns.length * q + j
        fetch_a = store(a, (m,), load(self.tile_a, self.a_at(k, rows.at(p, i)) + a_place))
        fetch_b = store(b, (n,), load(self.tile_b, self.b_at(k, columns.at(q, j)) + b_place))
        product = store(self.acc, (m, n), fma(load(a, m), load(b, n), load(self.acc, m, n)))
        inner = loop("q", columns.steps, [loop("j", columns.length, [product])])
        body: Body = [
            ir.Declare(a),
            loop("p", rows.steps, [loop("i", rows.length, [fetch_a])]),
            ir.Declare(b),
            loop("q", columns.steps, [loop("j", columns.length, [fetch_b])]),
            loop("p", rows.steps, [loop("i", rows.length, [inner])]),
        ]
        return [loop("k", self.deep, body)]

    def write_back(self) -> Body:
        i, j, p, q = map(var, ("i", "j", "p", "q"))
        rows, columns = self.rows, self.columns
        old = private("old", 4)
        row = self.high * by + rows.at(p, i)
        results: Body = []
        if self.vectors:
            at = (row, self.wide * bx + columns.at(q, 4 * j))
            m, n = rows.length * p + i, columns.length * q + 4 * j
            results = [
                ir.Declare(old),
                move(old, (0,), C, at),
                *(
                    store(old, (e,), scaled(load(self.acc, m, n + e), load(old, e)))
                    for e in range(4)
                ),
                move(C, at, old, (0,)),
            ]
            inner = loop("j", columns.length // 4, results)
        else:
            at = (row, self.wide * bx + columns.at(q, j))
            m, n = rows.length * p + i, columns.length * q + j
            inner = loop(
                "j", columns.length, [store(C, at, scaled(load(self.acc, m, n), load(C, *at)))]
            )
        nest = loop("i", rows.length, [loop("q", columns.steps, [inner])])
        return [loop("p", rows.steps, [nest])]


ROWS, COLUMNS = Part(t // 16 * 8, 8), Part(t % 16 * 8, 8)
LANE, WARP = t % 32, t // 32


def square(name: str, deep: int = 8, **changes: object) -> ir.Kernel:
    """128 x 128 elements a block, 8 x 8 a thread, A transposed."""
    plain = Tiles(
        name,
        128,
        128,
        deep,
        256,
        ROWS,
        COLUMNS,
        a_at=lambda k, row: k * 128 + row,
        b_at=lambda k, column: k * 128 + column,
    )
    return replace(plain, **changes).kernel()  # type: ignore[arg-type]


def published() -> dict[int, ir.Kernel]:
    """The kernels by their numbers."""
    warps = Tiles(
        "warp tiles",
        128,
        128,
        16,
        128,
        Part(WARP // 2 * 64 + LANE // 4 * 8, 8),
        Part(WARP % 2 * 64 + LANE % 4 * 4, 4, 4, 16),
        a_at=lambda k, row: k * 128 + row,
        b_at=lambda k, column: k * 128 + column,
    )
    halves = replace(
        warps,
        name="double buffering",
        wide=256,
        threads=256,
        rows=Part(LANE // 4 * 8, 8, 2, 64),
        columns=Part(WARP * 32 + LANE % 4 * 8, 8),
        b_at=lambda k, column: k * 256 + column,
        halves=True,
    )
    return {
        1: naive(),
        2: coalesced(),
        3: shared_tiles(),
        4: tiles_1d(),
        5: square("2D tiles", vectors=False, a_at=lambda k, row: row * 8 + k),
        6: square("vectors"),
        7: square(
            "linearized",
            b_vectors=False,
            b_at=lambda k, column: (k * 8 + column % 8) * 16 + column // 8,
        ),
        8: square(
            "extra columns",
            b_vectors=False,
            b_size=8 * 133,
            b_at=lambda k, column: k * 133 + column,
        ),
        9: square("autotuned", deep=16),
        10: warps.kernel(),
        11: halves.kernel(),
    }
