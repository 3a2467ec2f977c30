"""Emitted texts that find out whether a change can be seen.

Where a change makes a statement store something else, the probe stores poison there instead: if
the results stay as they are, nothing depends on what the statement stores, whatever the inputs.
Where the change stores what the memory has anyhow, the probe leaves it alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.mutation.mutants import DECLARATION, GUARD, KERNEL, LAUNCH, LOOP, STORE, Mutant

ASYNC = re.compile(r"^__pipeline_memcpy_async\((&.*\]), (&.*\]), (\d+)\);$")
"""A copy: where to, where from, bytes."""
_BARRIERS = ("__sync", "__pipeline_commit", "__pipeline_wait", "__shfl", "atomic", "return")
_PRELUDE = """\
static const unsigned char tcc_poison_bytes[16] = {%s};
template <class T> struct TccKind { typedef T type; };
static inline bool tcc_same(bool a, bool b) { if (a != b) __builtin_trap(); return a; }
template <class T> inline bool tcc_equal(const T& a, const T& b) {
  return __builtin_memcmp(&a, &b, sizeof(T)) == 0;
}
inline bool tcc_equal(const float& a, const float& b) {
  return a == b || __builtin_memcmp(&a, &b, sizeof a) == 0;
}
template <class T> inline void tcc_spoil(T& x) { __builtin_memcpy(&x, tcc_poison_bytes, sizeof x); }
template <class T> inline void tcc_put(T& to, typename TccKind<T>::type value, bool changed) {
  if (changed && !tcc_equal(to, value)) tcc_spoil(to); else to = value;
}
template <class T> inline void tcc_set(
    T& to, T& other, typename TccKind<T>::type value, typename TccKind<T>::type changed) {
  if (&to == &other) { if (tcc_equal(value, changed)) to = value; else tcc_spoil(to); return; }
  if (tcc_equal(to, value)) to = value; else tcc_spoil(to);
  if (!tcc_equal(other, changed)) tcc_spoil(other);
}
static inline void tcc_copy(void* to, void* other, const void* from, const void* changed, int n) {
  const void* p = tcc_poison_bytes;
  const bool same = to == other && __builtin_memcmp(from, changed, n) == 0;
  __pipeline_memcpy_async(to, same ? from : p, n);
  if (to != other) __pipeline_memcpy_async(other, p, n);
}
"""
_HEADERS = "#include <cuda_runtime.h>"
_LONGEST = 40
"""Lines that both statements may end with."""
NAN, LARGE = "0xff", "0x7e"
"""Bytes of poison: every float a NaN, -1; every float 8.4e37, large integers."""


@dataclass(frozen=True)
class _Region:
    """Lines of a block: its head, and where it ends; `other` is the line of its `else`."""

    head: int
    end: int
    other: int | None


def probe(source: str, mutant: Mutant, poison: str) -> str | None:
    """The text that shows poison where the mutant changes something; None: there is no such text.

    It stops with a trap where a change has more effect than to store something else.
    """
    lines = source.split("\n")
    changed = _changed(lines, mutant)
    if changed is None:
        return None
    at = next(k for k, line in enumerate(changed) if line.strip() == _HEADERS)
    while changed[at + 1].startswith(("#include", "#endif")):
        at += 1
    prelude = _PRELUDE % ", ".join([poison] * 16)
    copies = "cuda_pipeline.h" in source
    parts = prelude.split("static inline void tcc_copy")
    prelude = prelude if copies else parts[0]
    return "\n".join([*changed[: at + 1], prelude, *changed[at + 1 :]])


def _changed(lines: list[str], mutant: Mutant) -> list[str] | None:
    at = mutant.line - 1
    match mutant.operator:
        case "shift_bound":
            return _other_iterations(lines, at, mutant)
        case "drop_statement":
            return _replaced(lines, at, _poisoned(lines[at], "true"))
        case "change_grid":
            return _extra_blocks(lines, mutant)
        case "swap_statements":
            return _swapped(lines, mutant)
        case _ if GUARD.match(mutant.before):
            return _other_decision(lines, at, mutant)
        case _:
            return _replaced(lines, at, _both(mutant.before, mutant.after))


def _replaced(lines: list[str], at: int, text: str | None) -> list[str] | None:
    return None if text is None else [*lines[:at], text, *lines[at + 1 :]]


def _poisoned(line: str, when: str) -> str | None:
    """The statement, that stores poison `when` something holds; None for other statements."""
    line = line.strip()
    copy, store = ASYNC.match(line), STORE.match(line)
    if copy:
        to, source, count = copy.groups()
        return f"tcc_copy({to}, {to}, {source}, ({when}) ? tcc_poison_bytes : (const void*){source}, {count});"
    if store and not DECLARATION.match(line) and not any(b in line for b in _BARRIERS):
        return f"tcc_put({store[1]}, {store[2]}, {when});"
    return None


def _both(before: str, after: str) -> str | None:
    """A statement that poisons what the changed one would store otherwise."""
    copies = ASYNC.match(before), ASYNC.match(after)
    stores = STORE.match(before), STORE.match(after)
    if copies[0] and copies[1]:
        (to, source, count), (other, changed, _) = copies[0].groups(), copies[1].groups()
        return f"tcc_copy({to}, {other}, {source}, {changed}, {count});"
    if stores[0] and stores[1] and not DECLARATION.match(before):
        (to, value), (other, changed) = stores[0].groups(), stores[1].groups()
        return f"tcc_set({to}, {other}, {value}, {changed});"
    return None


def _region(lines: list[str], head: int) -> _Region:
    """The block that a line opens, by indentation."""
    indent = lines[head][: len(lines[head]) - len(lines[head].lstrip())]
    at, other = head + 1, None
    while True:
        if lines[at] == f"{indent}}}":
            return _Region(head, at, other)
        if lines[at] == f"{indent}}} else {{":
            other = at
        elif lines[at].startswith(f"{indent}}}"):
            return _Region(head, at, other)
        at += 1


def _spoiled(lines: list[str], start: int, end: int, when: str) -> list[str] | None:
    """The lines of a block, all of whose stores store poison `when` something holds.

    But for those in variables of the block, which nothing else sees.
    """
    found: list[str] = []
    own = {_declared(x.strip()) for x in lines[start:end] if DECLARATION.match(x.strip())}
    for line in lines[start:end]:
        text = line.strip()
        if any(b in text for b in _BARRIERS):
            return None
        fresh = _poisoned(line, when)
        inside = _is_store(text) and _base(text) in own
        found.append(line if fresh is None or inside else fresh)
    return found


def _declared(line: str) -> str:
    """The variable that a line declares."""
    return re.findall(r"[A-Za-z_]\w*", re.split(r" = |\[|;", line, maxsplit=1)[0])[-1]


def _other_decision(lines: list[str], at: int, mutant: Mutant) -> list[str] | None:
    """Where two conditions differ, both branches run and store poison."""
    before, after = GUARD.match(mutant.before), GUARD.match(mutant.after)
    if before is None or after is None or before[1]:
        return None
    region = _region(lines, at)
    if lines[region.end].strip() != "}":
        return None
    middle = region.other if region.other is not None else region.end
    then = _spoiled(lines, at + 1, middle, "tcc_a != tcc_b")
    other = _spoiled(lines, middle + 1, region.end, "tcc_a != tcc_b")
    if then is None or other is None:
        return None
    head = f"{{ const bool tcc_a = {before[2]}, tcc_b = {after[2]}; if (tcc_a || tcc_b) {{"
    body = [head, *then, "}", "if (!(tcc_a && tcc_b)) {", *other, "} }"]
    return [*lines[:at], *body, *lines[region.end + 1 :]]


def _other_iterations(lines: list[str], at: int, mutant: Mutant) -> list[str] | None:
    """Iterations that one of the loops has and the other has not store poison."""
    before, after = LOOP.match(mutant.before), LOOP.match(mutant.after)
    if before is None or after is None:
        # `v <= high` has no form of its own.
        before = LOOP.match(mutant.before)
        high = f"<= {before[3]};" if before else ""
        if before is None or high not in mutant.after:
            return None
        name, low, end, step = before.groups()
        head, when = f"for (int {name} = {low}; {name} <= {end}; {step}) {{", f"!({name} < {end})"
    else:
        name, low, end, step = before.groups()
        head = mutant.before
        when = f"!({name} < {after[3]})" if after[3] != end else f"{name} < {after[2]}"
    region = _region(lines, at)
    body = _spoiled(lines, at + 1, region.end, f"({when})")
    if body is None or lines[region.end].strip() != "}":
        return None
    return [*lines[:at], head, *body, *lines[region.end :]]


def _extra_blocks(lines: list[str], mutant: Mutant) -> list[str] | None:
    """Blocks that are too many must store nothing in global memory."""
    before, after = LAUNCH.match(f"  {mutant.before}"), LAUNCH.match(f"  {mutant.after}")
    at = mutant.line - 1
    if before is None or after is None or after[2] != f"{before[2]} + 1":
        return None
    name = mutant.before.split(",")[0]
    head = next(k for k, x in enumerate(lines) if KERNEL.match(x) and f" {name}(" in x)
    end = lines.index("}", head)
    found = _without_stores(
        lines[head:end], re.findall(r"[*] (?:__restrict__ )?(\w+)", lines[head])
    )
    launch = lines[at].replace(mutant.before, mutant.after)
    changed = [*lines[:head], *found, *lines[end:]]
    shifted = at + len(changed) - len(lines)
    return [*changed[:shifted], launch, *changed[shifted + 1 :]]


def _without_stores(kernel: list[str], tensors: list[str]) -> list[str]:
    """A kernel whose blocks at the end of the x axis stop where they would store in a tensor."""
    found: list[str] = []
    for line in kernel:
        text = line.strip()
        store = STORE.match(text)
        stored = set(re.findall(r"\w+", store[1])) if store else set()
        if text.startswith("atomic") or ("assume_aligned" not in line and stored & set(tensors)):
            found.append("if (blockIdx.x >= gridDim.x - 1) __builtin_trap();")
        found.append(line)
    return found


def _swapped(lines: list[str], mutant: Mutant) -> list[str] | None:
    """Two stores, which must not be to the same element."""
    at = mutant.line - 1
    fresh = mutant.text.split("\n")
    one, other = lines[at].strip(), fresh[at].strip()
    if lines[at + 1].strip() != other or fresh[at + 1].strip() != one:
        return None
    targets = [_target(one), _target(other)]
    if None in targets:
        return None
    for mine, yours in ((one, other), (other, one)):
        if _base(mine) in re.findall(r"[A-Za-z_]\w*", _value(yours)):
            return None
    trap = f"if ((const void*){targets[0]} == (const void*){targets[1]}) __builtin_trap();"
    return [*lines[:at], trap, *lines[at:]]


def _target(statement: str) -> str | None:
    copy, store = ASYNC.match(statement), STORE.match(statement)
    if copy:
        return copy[1]
    return f"&({store[1]})" if store else None


def _value(statement: str) -> str:
    copy, store = ASYNC.match(statement), STORE.match(statement)
    return copy[2] if copy else store[2] if store else ""


def _base(statement: str) -> str:
    """The array or variable that a statement stores in."""
    text = re.sub(r"reinterpret_cast<[^>]*>", "", str(_target(statement)))
    return re.findall(r"[A-Za-z_]\w*", text)[0]


def is_independent(source: str, mutant: Mutant) -> bool:
    """Whether neither of two swapped statements stores in what the other one names."""
    chunks = _swapped_chunks(source.split("\n"), mutant)
    if chunks is None or any(b in line for c in chunks for line in c for b in _BARRIERS):
        return False
    stored = [{_base(x.strip()) for x in chunk if _is_store(x.strip())} for chunk in chunks]
    named = [
        set(re.findall(r"[A-Za-z_]\w*", " ".join(x for x in chunk if "//" not in x)))
        for chunk in chunks
    ]
    if not (stored[0] & named[1] or stored[1] & named[0]):
        return True
    return all(len(c) == 1 for c in chunks) and _other_element(chunks[0][0], chunks[1][0])


def _other_element(one: str, other: str) -> bool:
    """Whether two stores are in elements of an array that are a constant apart."""
    statements = one.strip(), other.strip()
    targets = [_target(s) for s in statements]
    if not all(targets) or any(_base(s) in _value(s) for s in statements):
        return False
    constant = re.compile(r" \+ (\d+)(?! \*)|(?<=\[)(\d+)(?=\]\)?$)")
    apart = [sum(int(a or b) for a, b in constant.findall(str(t))) for t in targets]
    rest = {constant.sub("", str(t)) for t in targets}
    return len(rest) == 1 and apart[0] != apart[1]


def _swapped_chunks(lines: list[str], mutant: Mutant) -> tuple[list[str], list[str]] | None:
    """The lines of both statements."""
    fresh, start = mutant.text.split("\n"), mutant.line - 1
    last = max(k for k, pair in enumerate(zip(lines, fresh, strict=True)) if pair[0] != pair[1])
    for end in range(last + 1, min(last + _LONGEST, len(lines))):
        for middle in range(start + 1, end):
            if fresh[start:end] == lines[middle:end] + lines[start:middle]:
                return lines[start:middle], lines[middle:end]
    return None


def _is_store(statement: str) -> bool:
    if ASYNC.match(statement):
        return True
    return STORE.match(statement) is not None and not DECLARATION.match(statement)


def enclosing_loops(lines: list[str], at: int) -> Iterator[int]:
    """The loops that a line is in, innermost first."""
    indent = len(lines[at]) - len(lines[at].lstrip()) if lines[at].strip() else None
    for k in range(at - 1, -1, -1):
        text = lines[k]
        if KERNEL.match(text):
            return
        depth = len(text) - len(text.lstrip())
        if indent is None:
            indent = depth + 2 * text.rstrip().endswith("{") if text.strip() else None
            if indent is None:
                continue
        if text.strip() and depth < indent and text.rstrip().endswith("{"):
            indent = depth
            if text.lstrip().startswith("for ("):
                yield k


def second_turn(lines: list[str], loop: int) -> str | None:
    """The text that stops in the second iteration of a loop."""
    head = LOOP.match(lines[loop].strip())
    if head is None:
        return None
    trap = f"if ({head[1]} != {head[2]}) __builtin_trap();"
    return "\n".join([*lines[: loop + 1], trap, *lines[loop + 1 :]])
