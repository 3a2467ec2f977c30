"""The kernel intermediate representation: one CUDA kernel as loops over affine accesses.

unit       := kernel*
kernel     := buffers, launch geometry, statement*
statement  := For | If | Let | Declare | Store | Atomic | VectorMove | AsyncCopy | AsyncWait
            | Barrier | Comment
expression := Const | Int | Load | Unary | Binary | Select | Call | Cast | Checked | Shuffle

Affine expressions range over kernel variables (`blockIdx` and `threadIdx` aliases, loop and let
variables) and symbolic sizes. Everything a printer needs is here; nothing below decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from tcc.affine import Affine
from tcc.scalar import ScalarType

ALIGNED_BYTES = 16


class Space(Enum):
    """Where a buffer lives."""

    GLOBAL = "global"
    SHARED = "shared"
    PRIVATE = "private"


@dataclass(frozen=True)
class Buffer:
    """An array: dense row-major, `shape` in elements. Shared and private shapes are constant.

    `wide` asks for 64-bit offsets. `readonly` buffers are never written by the kernel; `cached`
    ones are read through the read-only data cache.
    """

    name: str
    space: Space
    type: ScalarType
    shape: tuple[Affine, ...]
    readonly: bool = False
    wide: bool = False
    cached: bool = False


@dataclass(frozen=True)
class Const:
    """A literal."""

    value: bool | int | Fraction | float
    type: ScalarType


@dataclass(frozen=True)
class Int:
    """The value of an affine expression, int32."""

    value: Affine

    @property
    def type(self) -> ScalarType:
        """Affine values are int32."""
        return ScalarType.INT32


@dataclass(frozen=True)
class Load:
    """One element; an index is affine, or any integer expression (a gather)."""

    buffer: Buffer
    index: tuple[Affine | Expression, ...]

    @property
    def type(self) -> ScalarType:
        """The element type."""
        return self.buffer.type


@dataclass(frozen=True)
class Unary:
    """`-` or `!`."""

    operator: str
    operand: Expression
    type: ScalarType


@dataclass(frozen=True)
class Binary:
    """As in the typed IR: floor division, `min`, `max`, comparisons, lazy `&&` and `||`."""

    operator: str
    left: Expression
    right: Expression
    type: ScalarType


@dataclass(frozen=True)
class Select:
    """`c ? a : b`, lazy."""

    condition: Expression
    then: Expression
    otherwise: Expression
    type: ScalarType


@dataclass(frozen=True)
class Call:
    """A builtin function, or `fma`."""

    function: str
    arguments: tuple[Expression, ...]
    type: ScalarType


@dataclass(frozen=True)
class Cast:
    """Conversion to `type`."""

    operand: Expression
    type: ScalarType


@dataclass(frozen=True)
class Checked:
    """A subscript, which stops the kernel where it is outside of `0:extent`; `what` says whose."""

    operand: Expression
    extent: Affine
    what: str

    @property
    def type(self) -> ScalarType:
        """That of the subscript."""
        return self.operand.type


@dataclass(frozen=True)
class Shuffle:
    """The value of `operand` in the lane `lane XOR mask`, within groups of `width` lanes."""

    operand: Expression
    mask: int
    width: int

    @property
    def type(self) -> ScalarType:
        """The operand's type."""
        return self.operand.type


Expression: TypeAlias = (
    Const | Int | Load | Unary | Binary | Select | Call | Cast | Checked | Shuffle
)


@dataclass(frozen=True)
class For:
    """`for (var = low; var < high; var += step)`; `unroll`: all iterations, by pragma."""

    var: str
    low: Affine
    high: Affine
    step: int
    unroll: bool
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class If:
    """Runs `body` when every condition holds: `affine >= 0`, or a bool expression."""

    conditions: tuple[Affine | Expression, ...]
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Let:
    """`const int var = value`, visible to the end of the enclosing block."""

    var: str
    value: Affine | Expression


@dataclass(frozen=True)
class Declare:
    """A shared or private array; rank 0 is a scalar variable."""

    buffer: Buffer


@dataclass(frozen=True)
class Store:
    """`buffer[index] = value`."""

    buffer: Buffer
    index: tuple[Affine | Expression, ...]
    value: Expression


@dataclass(frozen=True)
class Atomic:
    """`buffer[index] = buffer[index] operator value` in one step, in global memory."""

    buffer: Buffer
    index: tuple[Affine | Expression, ...]
    operator: str
    value: Expression


@dataclass(frozen=True)
class VectorMove:
    """`width` consecutive elements from one place to another, as one access of each side.

    Both sides are aligned to `width` elements unless they are private.
    """

    target: Buffer
    target_index: tuple[Affine | Expression, ...]
    source: Buffer
    source_index: tuple[Affine | Expression, ...]
    width: int


@dataclass(frozen=True)
class AsyncCopy:
    """`cp.async` of `width` consecutive elements from global to shared memory."""

    target: Buffer
    target_index: tuple[Affine | Expression, ...]
    source: Buffer
    source_index: tuple[Affine | Expression, ...]
    width: int


@dataclass(frozen=True)
class AsyncCommit:
    """Closes a group of asynchronous copies."""


@dataclass(frozen=True)
class AsyncWait:
    """Waits until at most `pending` groups are in flight."""

    pending: int


@dataclass(frozen=True)
class Barrier:
    """`__syncthreads()`; `__syncwarp()` where only the threads of a `warp` wait for each other."""

    warp: bool = False


@dataclass(frozen=True)
class Comment:
    """A line of comment."""

    text: str


Statement: TypeAlias = (
    For
    | If
    | Let
    | Declare
    | Store
    | Atomic
    | VectorMove
    | AsyncCopy
    | AsyncCommit
    | AsyncWait
    | Barrier
    | Comment
)


@dataclass(frozen=True)
class Kernel:
    """One kernel. Its parameters are `buffers`, then `sizes` as `int`.

    `grid` is over symbolic sizes, `block` in threads; `aliases` names the used components of
    blockIdx and threadIdx. `aligned` buffers start at a multiple of ALIGNED_BYTES, which the
    compiler may use and the launcher checks.
    """

    name: str
    buffers: tuple[Buffer, ...]
    sizes: tuple[str, ...]
    grid: tuple[Affine, Affine, Affine]
    block: tuple[int, int, int]
    aliases: tuple[tuple[str, str], ...]
    body: tuple[Statement, ...]
    notes: tuple[str, ...] = ()
    min_blocks: int | None = None
    aligned: tuple[str, ...] = ()

    @property
    def shared(self) -> tuple[Buffer, ...]:
        """The shared arrays, in order of declaration."""
        found = [s.buffer for s in walk(self.body) if isinstance(s, Declare)]
        return tuple(b for b in found if b.space is Space.SHARED)

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block, each array aligned to 16 bytes."""
        return sum(-(-elements(b) * b.type.bytes // 16) * 16 for b in self.shared)


def elements(buffer: Buffer) -> int:
    """Number of elements of a buffer with a constant shape."""
    total = 1
    for extent in buffer.shape:
        total *= extent.value
    return total


def walk(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, outside in, in order."""
    for statement in statements:
        yield statement
        match statement:
            case For():
                yield from walk(statement.body)
            case If():
                yield from walk(statement.body)
                yield from walk(statement.otherwise)
            case _:
                pass


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Rebuild bottom-up, `change` applied to every node after its children."""
    match expression:
        case Load(buffer, index):
            new = tuple(i if isinstance(i, Affine) else rewrite(i, change) for i in index)
            expression = Load(buffer, new)
        case Unary(operator, operand, type):
            expression = Unary(operator, rewrite(operand, change), type)
        case Binary(operator, left, right, type):
            expression = Binary(operator, rewrite(left, change), rewrite(right, change), type)
        case Select(condition, then, otherwise, type):
            expression = Select(
                rewrite(condition, change), rewrite(then, change), rewrite(otherwise, change), type
            )
        case Call(function, arguments, type):
            expression = Call(function, tuple(rewrite(a, change) for a in arguments), type)
        case Cast(operand, type):
            expression = Cast(rewrite(operand, change), type)
        case Checked(operand, extent, what):
            expression = Checked(rewrite(operand, change), extent, what)
        case Shuffle(operand, mask, width):
            expression = Shuffle(rewrite(operand, change), mask, width)
        case _:
            pass
    return change(expression)
