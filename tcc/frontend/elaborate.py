"""From the syntax tree to the typed program: names, types, ranges, calls put in."""

from __future__ import annotations

from collections.abc import Mapping

from tcc.diagnostics import Diagnostic, Label, Report, error
from tcc.frontend import ast, calls, tir
from tcc.frontend.assign import assign
from tcc.frontend.depth import make_room
from tcc.frontend.draft import Draft
from tcc.frontend.inline import call
from tcc.frontend.names import open_scope
from tcc.frontend.suggest import suggestion
from tcc.frontend.targets import check_outputs
from tcc.source import Span

MAX_CALLS = 64
"""Calls inside calls."""


def elaborate(
    module: ast.Module,
    entry: str | None,
    sizes: Mapping[str, int],
    report: Report,
    places: Mapping[str, Span] | None = None,
) -> tir.Program | None:
    """The typed program of one def and of the defs it calls; None after an error.

    Without an entry it is the only def, or the only one that no other def calls. `sizes` are the
    sizes with a value, from 1 to 2^31 - 1; they stay in the program (`specialise` puts them in),
    but decide what the program demands of its sizes, and make forms affine that are not so without.
    `places` say where they were given: `entry`, and `sizes.M` for a size M.
    """
    make_room()
    session = _Session(module, report)
    where = places or {}
    definition = choose(module, entry, report, where)
    if definition is None or not _check_sizes(definition, sizes, report, where):
        return None
    program = session.program(definition, sizes, sizes)
    return None if report.errors else program


def elaborate_all(module: ast.Module, report: Report) -> tuple[tir.Program, ...]:
    """The typed programs of all defs without errors, in the order of the file; no size is known."""
    make_room()
    session = _Session(module, report)
    programs = [session.program(d, {}, {}) for d in session.defs.values()]
    return tuple(p for p in programs if p is not None)


class _Session:
    """The defs of a module, each elaborated once for each choice of known sizes."""

    def __init__(self, module: ast.Module, report: Report) -> None:
        self.defs: dict[str, ast.Definition] = {}
        self._report = report
        self._done: dict[tuple[str, tuple[tuple[str, int], ...]], tir.Program | None] = {}
        self._active: list[str] = []
        for definition in module.definitions:
            self._add(definition)

    def _add(self, definition: ast.Definition) -> None:
        name = definition.name
        first = self.defs.setdefault(name.text, definition)
        if first is not definition:
            message = f"def `{name.text}` is defined twice"
            label = Label(first.name.span, "first definition")
            help = ("give one of them another name",)
            self._report.add(
                error("E0202", message, name.span, "again", secondary=(label,), help=help)
            )

    def program(
        self, definition: ast.Definition, known: Mapping[str, int], given: Mapping[str, int]
    ) -> tir.Program | None:
        """Elaborate one def; see `Scope` for `known` and `given`."""
        found = Report()
        scope = open_scope(definition, self.defs, known, given, found)
        draft = Draft()
        self._active.append(definition.name.text)
        for statement in definition.statements:
            called = calls.as_call(statement, scope)
            if called is not None:
                call(called, scope, draft, self._callee)
            elif isinstance(statement, ast.Assign):
                assign(statement, scope, draft)
        self._active.pop()
        check_outputs(scope)
        self._report.add(*found.items)
        return draft.finish(scope) if draft.is_sound and not found.errors else None

    def _callee(self, name: ast.Name, known: Mapping[str, int]) -> tir.Program | None:
        if not self._may_call(name):
            return None
        key = name.text, tuple(sorted(known.items()))
        if key not in self._done:
            self._done[key] = self.program(self.defs[name.text], known, {})
        return self._done[key]

    def _may_call(self, name: ast.Name) -> bool:
        if name.text in self._active:
            circle = " calls ".join(f"`{n}`" for n in self._circle(name.text))
            notes = (f"{circle}",)
            message = f"`{name.text}` calls itself, and recursion is not possible"
            help = ("write the statements that are meant in place of this call",)
            self._report.add(
                error("E0224", message, name.span, "closes the circle", notes=notes, help=help)
            )
            return False
        if len(self._active) >= MAX_CALLS:
            message = f"calls are nested more than {MAX_CALLS} deep"
            help = (f"write the statements of `{name.text}` in place of this call",)
            self._report.add(error("E0902", message, name.span, "one call too many", help=help))
            return False
        return True

    def _circle(self, name: str) -> list[str]:
        return [*self._active[self._active.index(name) :], name]


def choose(
    module: ast.Module,
    entry: str | None,
    report: Report,
    places: Mapping[str, Span] | None = None,
) -> ast.Definition | None:
    """The def that is meant; without an entry the only one, or the only one that none calls.

    Reports why there is none (E0611, E0612).
    """
    names = [d.name.text for d in module.definitions]
    if entry is not None:
        for definition in module.definitions:
            if definition.name.text == entry:
                return definition
        report.add(_no_def(module, entry, names, (places or {}).get("entry")))
        return None
    called = {name for d in module.definitions for name in _called(d)}
    first = {d.name.text: d for d in reversed(module.definitions)}  # a def may be there twice
    roots = [d for name, d in first.items() if name not in called]
    if len(module.definitions) == 1 or len(roots) == 1:
        return roots[0] if roots else module.definitions[0]
    if not names:
        help = ("write one: `def f(float(N) A) -> (B) { B(i) = 2 * A(i) }`",)
        report.add(error("E0612", "the file has no def", _place(module), "nothing here", help=help))
        return None
    message = f"the file defines {_listed(names)}: choose one"
    help = (f"add `--entry {names[-1]}`",)
    report.add(error("E0611", message, _place(module), "several defs", help=help))
    return None


def _no_def(module: ast.Module, entry: str, names: list[str], given: Span | None) -> Diagnostic:
    message = f"the file has no def `{entry}`"
    help = suggestion(entry, names) or (f"the file defines {_listed(names)}",)
    if not names:
        help = ("write it: a file needs a def",)
    if given is None:
        return error("E0612", message, _place(module), "another def", help=help)
    there = tuple(Label(d.name.span, "a def of the file") for d in module.definitions[:1])
    return error("E0612", message, given, "no def of the file", secondary=there, help=help)


def _called(definition: ast.Definition) -> set[str]:
    """The names of other defs that a def may call."""
    found: set[str] = set()
    for statement in definition.statements:
        if isinstance(statement, ast.CallStatement):
            found.add(statement.callee.text)
        elif statement.indices is None and isinstance(statement.value, ast.Apply):
            arguments = statement.value.arguments
            if all(isinstance(a, ast.Variable) for a in arguments):
                found.add(statement.value.name.text)
    return found - {definition.name.text}


def _check_sizes(
    definition: ast.Definition,
    sizes: Mapping[str, int],
    report: Report,
    places: Mapping[str, Span],
) -> bool:
    """Report given sizes that the def does not have."""
    dimensions = [
        d.text for p in definition.parameters for d in p.type.dimensions if isinstance(d, ast.Name)
    ]
    sound = True
    for name in sizes:
        if name not in dimensions:
            report.add(_no_size(definition, name, dimensions, places.get(f"sizes.{name}")))
            sound = False
    return sound


def _no_size(
    definition: ast.Definition, name: str, dimensions: list[str], given: Span | None
) -> Diagnostic:
    message = f"`{definition.name.text}` has no size `{name}`"
    help = suggestion(name, dimensions) or (f"remove the size `{name}`",)
    known = tuple(dict.fromkeys(dimensions))
    has = f"its sizes are {_listed(known)}" if known else "it has no sizes"
    if given is None:
        return error("E0613", message, definition.name.span, has, help=help)
    there = (Label(definition.name.span, has),)
    return error("E0613", message, given, "not a size of the def", secondary=there, help=help)


def _place(module: ast.Module) -> Span:
    if module.definitions:
        return module.definitions[0].name.span
    return Span(module.source, 0, 0)


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)
