"""Makes an experiment smaller as long as the same goes wrong in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tests.fuzz.experiment import Experiment

HEAD = re.compile(r"def f\((?P<inputs>.*)\) -> \((?P<outputs>.*)\) \{")
INPUT = re.compile(r"\w+(?:\([^)]*\))? \w+")


def reduced(made: Experiment, is_faulty: Callable[[Experiment], bool]) -> Experiment:
    """The first of the smaller ones that is faulty, of that again, until none is."""
    while True:
        smaller = next((c for c in _smaller(made) if is_faulty(c)), None)
        if smaller is None:
            return made
        made = smaller


def _smaller(made: Experiment) -> Iterator[Experiment]:
    if made.plan:
        yield replace(made, plan="")
    for text in _programs(made.text):
        yield replace(made, text=text)
    for plan in _without_a_line(made.plan):
        yield replace(made, plan=plan)
    for sizes in _sizes(made.sizes):
        yield replace(made, sizes=sizes)


def _programs(text: str) -> Iterator[str]:
    """Without a statement, or with an operand in the place of an expression in parentheses."""
    head, *body, tail = text.splitlines()
    for at in range(len(body)):
        yield _joined(head, [*body[:at], *body[at + 1 :]], tail)
    for at, line in enumerate(body):
        for shorter in _expressions(line):
            yield _joined(head, [*body[:at], shorter, *body[at + 1 :]], tail)


def _joined(head: str, body: list[str], tail: str) -> str:
    """The program with the inputs that are read and the outputs that are still written."""
    parts = HEAD.fullmatch(head)
    assert parts is not None
    written = {line.split("=")[0].split("(")[0].split()[0] for line in body}
    words = set(re.findall(r"\w+", " ".join(body)))
    inputs = [i for i in INPUT.findall(parts["inputs"]) if i.split()[-1] in words]
    outputs = [o for o in parts["outputs"].split(", ") if o in written]
    first = f"def f({', '.join(inputs)}) -> ({', '.join(outputs)}) {{"
    return "\n".join([first, *body, tail]) + "\n"


def _expressions(line: str) -> Iterator[str]:
    """The line with 1 for each call or expression in parentheses, widest first, and its parts."""
    pairs: list[tuple[int, int]] = []
    opened: list[int] = []
    for at, sign in enumerate(line):
        if sign == "(":
            opened.append(at)
        elif sign == ")":
            pairs.append((opened.pop(), at + 1))
    start = line.index("=")
    for low, high in sorted(pairs, key=lambda p: p[0] - p[1]):
        if low > start:
            called = len(line[:low]) - len(re.sub(r"[\w.]+$", "", line[:low]))
            parts = re.split(r" (?:[-+*/%?:]|&&|\|\||[<>=!]=?) ", line[low + 1 : high - 1])
            for part in ("1", *parts) if len(parts) > 1 else ("1",):
                yield line[: low - called] + part + line[high:]


def _without_a_line(plan: str) -> Iterator[str]:
    """The plan without a kernel, without a line, without a part of a line."""
    lines = plan.splitlines(keepends=True)
    for at, line in enumerate(lines):
        end = at + 1
        while end < len(lines) and _depth(lines[end]) > _depth(line):
            end += 1
        yield "".join(lines[:at] + lines[end:])
        for part in re.finditer(r", [^,\]}]+|(?<=[\[{])[^,\]}]+, ", line):
            less = line[: part.start()] + line[part.end() :]
            yield "".join([*lines[:at], less, *lines[at + 1 :]])


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _sizes(sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    for name, value in sizes.items():
        for less in sorted({1, value // 2, value - 1} - {0, value}):
            yield {**sizes, name: less}
