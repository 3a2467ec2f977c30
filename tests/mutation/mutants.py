"""Wrong kernels: an emitted text with one change, of the kinds that a compiler's fault would make."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

KERNEL = re.compile(r'^extern "C" __global__ ')
_NESTED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
LAUNCH = re.compile(rf"^(\s+\w+, dim3\()((?:[^,()]|{_NESTED})+)(,.*)$")
DECLARATION = re.compile(
    r"^(?:__shared__ |extern )?(?:__align__\(\d+\) )?(?:const )?(?:unsigned |long )*"
    r"(?:int|float|double|bool|char|short|long|__half|__nv_bfloat16)\b[ *]"
)
LOOP = re.compile(r"^for \(int (\w+) = (.*); \1 < (.*); (.*)\) \{$")
GUARD = re.compile(r"^(\} else )?if \((.*)\) \{$")
_NUMBER = re.compile(r"\d+")
STORE = re.compile(r"^(?!const |for |if |\}|#|//|return)(.+?) = (.*);$")


@dataclass(frozen=True)
class Mutant:
    """A text that differs from the emitted one in `line` (1-based): `before` became `after`.

    `kernel` is the head of the function that the line is in, empty for the launcher.
    """

    operator: str
    kernel: str
    line: int
    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return f"{self.operator}, line {self.line}: {self.before} -> {self.after}"


def mutants(source: str) -> list[Mutant]:
    """All mutants, in the order of their lines; none is the text itself."""
    lines = source.split("\n")
    kernels = _kernels(lines)
    found: list[Mutant] = []
    for operator in OPERATORS:
        for at, fresh in operator(lines):
            text = "\n".join(fresh)
            if text != source:
                before, after = _difference(lines, fresh)
                name = operator.__name__.removeprefix("_")
                found.append(Mutant(name, kernels[at], at + 1, before, after, text))
    return sorted(found, key=lambda m: (m.line, m.operator, m.after))


def some_mutants(source: str, each: int, chance: random.Random) -> list[Mutant]:
    """All mutants of barriers and waits; of every other kind at most `each` in each kernel.

    Those are chosen among changes that differ in more than their numbers: unrolled code repeats
    itself.
    """
    kinds: dict[tuple[str, str], dict[tuple[str, str], list[Mutant]]] = {}
    for mutant in mutants(source):
        shape = (_NUMBER.sub("0", mutant.before), _NUMBER.sub("0", mutant.after))
        kinds.setdefault((mutant.kernel, mutant.operator), {}).setdefault(shape, []).append(mutant)
    chosen: list[Mutant] = []
    for (_, operator), shapes in kinds.items():
        if operator in SYNCHRONISATION:
            chosen += [m for found in shapes.values() for m in found]
        else:
            # Those for a smaller `each` are among those for a larger one.
            order = chance.sample(sorted(shapes), len(shapes))
            chosen += [chance.choice(shapes[shape]) for shape in order][:each]
    return sorted(chosen, key=lambda m: (m.line, m.operator, m.after))


def _kernels(lines: list[str]) -> list[str]:
    """For each line the kernel that it is in."""
    found, current = [], ""
    for line in lines:
        if KERNEL.match(line):
            current = line
        found.append(current)
        if line == "}":
            current = ""
    return found


Change = tuple[int, list[str]]


def _difference(lines: list[str], fresh: list[str]) -> tuple[str, str]:
    before, after = next((a, b) for a, b in zip(lines, fresh, strict=True) if a != b)
    return before.strip(), after.strip() or "nothing"


def _body(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The lines of the kernels that are no comments, without indentation."""
    inside = False
    for at, line in enumerate(lines):
        if KERNEL.match(line):
            inside = True
        elif line == "}":
            inside = False
        elif inside and not line.lstrip().startswith("//"):
            yield at, line.strip()


def _with(lines: list[str], at: int, text: str) -> Change:
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return at, [*lines[:at], indent + text, *lines[at + 1 :]]


def _without(lines: list[str], at: int) -> Change:
    """An empty line instead, so that all others keep their numbers."""
    return at, [*lines[:at], "", *lines[at + 1 :]]


def _drop_barrier(lines: list[str]) -> Iterator[Change]:
    for at, line in _body(lines):
        if re.match(r"__sync(threads|warp)\(", line):
            yield _without(lines, at)


def _drop_or_weaken_wait(lines: list[str]) -> Iterator[Change]:
    for at, line in _body(lines):
        wait = re.match(r"__pipeline_wait_prior\((\d+)\);", line)
        if wait:
            yield _without(lines, at)
            yield _with(lines, at, f"__pipeline_wait_prior({int(wait[1]) + 1});")


def _conjuncts(condition: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(condition):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and condition.startswith(" && ", at):
            parts.append(condition[start:at])
            start = at + 4
    return [*parts, condition[start:]]


def _drop_guard(lines: list[str]) -> Iterator[Change]:
    for at, line in _body(lines):
        guard = GUARD.match(line)
        if not guard:
            continue
        parts = _conjuncts(guard[2])
        for k in range(len(parts)):
            rest = " && ".join(parts[:k] + parts[k + 1 :]) or "true"
            yield _with(lines, at, f"{guard[1] or ''}if ({rest}) {{")


def _shift_guard(lines: list[str]) -> Iterator[Change]:
    for at, line in _body(lines):
        guard = GUARD.match(line)
        if not guard:
            continue
        parts = _conjuncts(guard[2])
        for k, part in enumerate(parts):
            if " < " not in part or part.count(" < ") > 1:
                continue
            low, high = part.split(" < ")
            for changed in (f"{low} <= {high}", f"{low} + 1 < {high}"):
                rest = " && ".join([*parts[:k], changed, *parts[k + 1 :]])
                yield _with(lines, at, f"{guard[1] or ''}if ({rest}) {{")


def _drop_choice(lines: list[str]) -> Iterator[Change]:
    """`(c ? a : 0)` becomes `(true ? a : 0)`: the guard of a single value."""
    for at, line in _body(lines):
        for match in re.finditer(r"\(([^()?]*(?:\([^()]*\)[^()?]*)*) \? ", line):
            start, end = match.span(1)
            yield _with(lines, at, line[:start] + "true" + line[end:])


def _shift_bound(lines: list[str]) -> Iterator[Change]:
    for at, line in _body(lines):
        loop = LOOP.match(line)
        if loop:
            var, low, high, step = loop.groups()
            yield _with(lines, at, f"for (int {var} = {low}; {var} <= {high}; {step}) {{")
            yield _with(lines, at, f"for (int {var} = {low}; {var} < {high} - 1; {step}) {{")
            yield _with(lines, at, f"for (int {var} = {low} + 1; {var} < {high}; {step}) {{")


def _subscripts(line: str) -> Iterator[tuple[int, int]]:
    """The ends of what is between brackets, inner ones too."""
    opened: list[int] = []
    for at, letter in enumerate(line):
        if letter == "[":
            opened.append(at + 1)
        elif letter == "]":
            yield opened.pop(), at


def _shift_index(lines: list[str]) -> Iterator[Change]:
    for at, line in _body(lines):
        if DECLARATION.match(line):
            continue
        for _, end in _subscripts(line):
            for shift in (" + 1", " - 1"):
                yield _with(lines, at, f"{line[:end]}{shift}{line[end:]}")


def _change_stride(lines: list[str]) -> Iterator[Change]:
    """A factor, divisor or size inside a subscript is one more."""
    for at, line in _body(lines):
        if DECLARATION.match(line):
            continue
        for start, end in _subscripts(line):
            for number in re.finditer(r"(?<![\w.])\d+(?![\w.])", line[start:end]):
                low, high = start + number.start(), start + number.end()
                if int(number[0]) > 1:
                    yield _with(lines, at, f"{line[:low]}{int(number[0]) + 1}{line[high:]}")


def _shrink_array(lines: list[str]) -> Iterator[Change]:
    """Wrong padding: each extent of a shared array is one less."""
    for at, line in _body(lines):
        if not line.startswith("__shared__"):
            continue
        for extent in re.finditer(r"\[(\d+)\]", line):
            if int(extent[1]) > 1:
                start, end = extent.span(1)
                yield _with(lines, at, f"{line[:start]}{int(extent[1]) - 1}{line[end:]}")


def _drop_statement(lines: list[str]) -> Iterator[Change]:
    """A store, a copy, an initialisation is missing."""
    for at, line in _body(lines):
        is_store = STORE.match(line) and not DECLARATION.match(line)
        is_store = is_store and "assume_aligned" not in line
        if is_store or line.startswith(("__pipeline_memcpy_async", "atomic")):
            yield _without(lines, at)


def _drop_accumulator(lines: list[str]) -> Iterator[Change]:
    for at, line in _body(lines):
        store = STORE.match(line)
        if not store or DECLARATION.match(line):
            continue
        target, value = store.groups()
        called = re.match(r"(?:f?m(?:in|ax)(?:imum)?f?|minimum|maximum)\((.*)\)$", value)
        product = re.match(r"fmaf?\((.*), (.*)\)$", value)
        if value.startswith((f"{target} + ", f"{target} * ")):
            yield _with(lines, at, f"{target} = {value[len(target) + 3 :]};")
        elif called and called[1].startswith(f"{target}, "):
            yield _with(lines, at, f"{target} = {called[1][len(target) + 2 :]};")
        elif product and product[2] == target:
            yield _with(lines, at, f"{target} = fmaf({product[1]}, 0.0f);")


def _change_shuffle(lines: list[str]) -> Iterator[Change]:
    for at, line in _body(lines):
        shuffle = re.search(r"__shfl_xor_sync\(([^,]*), (.*), (\d+), (\d+)\)", line)
        if not shuffle:
            continue
        start, end = shuffle.span(3)
        yield _with(lines, at, f"{line[:start]}{int(shuffle[3]) // 2 or 2}{line[end:]}")
        start, end = shuffle.span(1)
        yield _with(lines, at, f"{line[:start]}0x0000ffffu{line[end:]}")


def _chunks(lines: list[str], start: int, end: int) -> list[tuple[int, int]]:
    """The statements between two lines, each with its block, its comment and its pragma."""
    found: list[tuple[int, int]] = []
    at = begin = start
    while at < end:
        line = lines[at]
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith(("//", "#")):
            at += 1
            continue
        if line.endswith("{"):
            at += 1
            while lines[at][: indent + 1].strip() == "" or lines[at].strip() == "} else {":
                at += 1
        at += 1
        found.append((begin, at))
        begin = at
    return found


def _blocks(lines: list[str]) -> Iterator[list[tuple[int, int]]]:
    """The chunks of every block of every kernel."""
    inside = {at for at, _ in _body(lines)}
    for at, line in enumerate(lines):
        if not KERNEL.match(line) and not (at in inside and line.endswith("{")):
            continue
        indent = len(line) - len(line.lstrip())
        end = at + 1
        while end < len(lines) and (
            not lines[end].strip() or lines[end].startswith(" " * (indent + 1))
        ):
            end += 1
        yield _chunks(lines, at + 1, end)


def _pairs(lines: list[str]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Neighbouring statements that are no declarations."""
    for chunks in _blocks(lines):
        plain = [c for c in chunks if not _is_declaration(lines[c[1] - 1].strip())]
        for one, other in pairwise(plain):
            if one[1] == other[0]:
                yield one, other


def _is_declaration(line: str) -> bool:
    return DECLARATION.match(line) is not None or "assume_aligned" in line


def _swapped(lines: list[str], one: tuple[int, int], other: tuple[int, int]) -> Change:
    parts = [lines[: one[0]], lines[slice(*other)], lines[slice(*one)], lines[other[1] :]]
    return one[0], [line for part in parts for line in part]


def _move_barrier(lines: list[str]) -> Iterator[Change]:
    for one, other in _pairs(lines):
        if "__sync" in lines[one[1] - 1] or "__sync" in lines[other[1] - 1]:
            yield _swapped(lines, one, other)


def _swap_statements(lines: list[str]) -> Iterator[Change]:
    for one, other in _pairs(lines):
        if "__sync" not in lines[one[1] - 1] and "__sync" not in lines[other[1] - 1]:
            yield _swapped(lines, one, other)


def _change_grid(lines: list[str]) -> Iterator[Change]:
    for at, line in enumerate(lines):
        launch = LAUNCH.match(line)
        if launch:
            for shift in (" - 1", " + 1"):
                yield (
                    at,
                    [*lines[:at], f"{launch[1]}{launch[2]}{shift}{launch[3]}", *lines[at + 1 :]],
                )


OPERATORS: tuple[Callable[[list[str]], Iterator[Change]], ...] = (
    _drop_barrier,
    _move_barrier,
    _drop_or_weaken_wait,
    _drop_guard,
    _shift_guard,
    _drop_choice,
    _shift_bound,
    _shift_index,
    _change_stride,
    _shrink_array,
    _drop_statement,
    _drop_accumulator,
    _change_shuffle,
    _swap_statements,
    _change_grid,
)
SYNCHRONISATION = ("drop_barrier", "move_barrier", "drop_or_weaken_wait")
