"""Elaborates one assignment: names, types, ranges, and what it adds to the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tcc.affine import Affine, const
from tcc.diagnostics import error
from tcc.frontend import ast, tir
from tcc.frontend.depth import MAX_DEPTH
from tcc.frontend.domain import Accesses, Domain
from tcc.frontend.draft import Draft
from tcc.frontend.promote import Value, adapted, convert, match
from tcc.frontend.requirements import settle
from tcc.frontend.resolve import StatementNames, expanded, resolve
from tcc.frontend.rewrite import substitute_sizes
from tcc.frontend.scope import Scope, Symbol
from tcc.frontend.spelling import expression_text, statement_text
from tcc.frontend.subscripts import affine_form
from tcc.frontend.suggest import closest
from tcc.frontend.targets import check_rank, check_reads_old, check_target, declared_shape
from tcc.frontend.typecheck import Typer
from tcc.frontend.where import explicit_ranges, loop_order
from tcc.scalar import ScalarType

MAX_NODES = 20_000
"""Nodes of a right side once `where` names are replaced; later passes walk every one."""


def assign(statement: ast.Assign, scope: Scope, draft: Draft) -> None:
    """Add a statement to the draft and its target to the scope, as far as it makes sense."""
    _Assignment(statement, scope, draft).run()


class _Assignment:
    """One statement on its way. `_sound` turns False with the first error in it."""

    def __init__(self, statement: ast.Assign, scope: Scope, draft: Draft) -> None:
        self._statement = statement
        self._scope = scope
        self._draft = draft
        self._name = statement.target.text
        self._rank = len(statement.indices or ())
        self._operator = statement.operator.rstrip("!").removesuffix("=") or "="
        self._initialise = statement.operator.endswith("!")
        self._old = scope.tensors.get(self._name)
        self._role = tir.Role.OUTPUT if self._old is None else self._old.role
        self._type: ScalarType | None = None
        self._sound = True

    def run(self) -> None:
        is_tensor = check_target(self._statement.target, self._scope)
        self._scope.writing = self._name if is_tensor else None
        self._require(is_tensor)
        if is_tensor:
            self._require(check_rank(self._statement.target, self._rank, self._scope))
            self._find_role()
        names = resolve(self._statement, self._scope)
        self._require(names.ok)
        if self._is_small():
            self._elaborate(names)
        if not self._sound:
            self._draft.is_sound = False
            if is_tensor:
                self._define(None)

    def _require(self, sound: bool) -> None:
        self._sound = self._sound and sound

    # -- target ----------------------------------------------------------------------------

    def _find_role(self) -> None:
        if self._old is not None:
            return
        if self._name not in self._scope.signature.outputs:
            self._role = tir.Role.TEMPORARY
        if self._operator != "=" and not self._initialise:
            place = ast.Name(self._statement.operator, self._statement.operator_span)
            role = check_reads_old(self._statement.target, place, self._scope)
            self._require(role is not None)
            self._role = role or self._role

    def _define(self, box: tuple[tir.Range, ...] | None) -> None:
        """Record the target; without a box its shape stays unknown, which silences its readers."""
        if self._old is not None:
            return
        origin: tuple[Affine, ...] = tuple(const(0) for _ in range(self._rank))
        shape: tuple[Affine, ...] | None = None
        if box is not None:
            origin, shape = tuple(r.low for r in box), tuple(r.extent for r in box)
        self._scope.tensors[self._name] = Symbol(
            self._name,
            self._rank,
            self._type,
            shape,
            origin,
            self._role,
            self._statement.target.span,
        )
        if self._role is tir.Role.TEMPORARY:
            self._draft.temporaries.append(self._name)

    # -- right side ------------------------------------------------------------------------

    def _is_small(self) -> bool:
        nodes, depth = expanded(self._statement)
        if nodes <= MAX_NODES and depth <= MAX_DEPTH:
            return True
        message = "the right side is too large with its `where` names replaced"
        notes = (f"{nodes} nodes, {depth} levels; at most {MAX_NODES} and {MAX_DEPTH}",)
        help = ("keep a part of it in a temporary tensor",)
        span = self._statement.value.span
        self._scope.report.add(error("E0901", message, span, "too large", notes=notes, help=help))
        self._require(False)
        return False

    def _elaborate(self, names: StatementNames) -> None:
        typer = Typer(self._scope, names)
        value = self._typed_value(typer)
        exists = self._typed_exists(typer)
        explicit = explicit_ranges(names, typer, self._scope)
        self._check_equivalent(typer)
        self._check_reduction(names)
        self._require(value is not None and exists is not None and explicit is not None)
        if self._sound and value is not None and exists is not None and explicit is not None:
            value, *others = self._with_known_sizes((value, *exists))
            accesses = Accesses(value, tuple(others), self._self_read(names))
            self._finish(names, Domain(self._statement, names, explicit, accesses, self._scope))

    def _typed_value(self, typer: Typer) -> tir.Expression | None:
        value = typer.value(self._statement.value)
        fixed = self._fixed_type()
        if value is None:
            self._type = fixed
            return None
        self._type = fixed or value.type
        tree = self._statement.value
        if not self._fits(value, tree):
            return None
        if self._type is ScalarType.BOOL and self._operator in ("+", "*"):
            self._refuse_bool(tree)
            return None
        return convert(value, self._type, self._scope.report)

    def _fixed_type(self) -> ScalarType | None:
        if self._old is not None:
            return self._old.type
        output = self._scope.signature.outputs.get(self._name)
        return output.type.scalar if output is not None and output.type is not None else None

    def _fits(self, value: Value, tree: ast.Expression) -> bool:
        """Whether the target holds every value of the right side's type."""
        wanted = self._type
        if wanted is None or wanted is value.type:
            return True
        if value.is_free and wanted.is_float:
            fits = adapted(value.commitment, wanted) is wanted
        else:
            fits = match(wanted, value.type) is wanted
        if fits:
            return True
        text = expression_text(tree)
        is_bool = ScalarType.BOOL in (wanted, value.type)
        code, verb = ("E0212", "assigned") if is_bool else ("E0214", "narrowed")
        message = f"`{self._name}` is {wanted.value}, and {value.type.value} is not {verb} to it"
        if not is_bool:
            message = f"`{self._name}` is {wanted.value}, which is narrower than {value.type.value}"
        help = (f"cast it: `{wanted.value}({text})`",)
        self._scope.report.add(error(code, message, tree.span, value.type.value, help=help))
        return False

    def _refuse_bool(self, tree: ast.Expression) -> None:
        text = expression_text(tree)
        message = f"`{self._statement.operator}` needs numbers, and `{text}` is bool"
        help = (f"cast it: `int32({text})`", "or use `max=!` for any, `min=!` for all")
        self._scope.report.add(error("E0212", message, tree.span, "bool", help=help))

    def _typed_exists(self, typer: Typer) -> tuple[tir.Expression, ...] | None:
        clauses = [c for c in self._statement.clauses if isinstance(c, ast.ExistsClause)]
        values = [typer.value(c.value) for c in clauses]
        found = tuple(v.expression for v in values if v is not None)
        return found if len(found) == len(values) else None

    def _check_equivalent(self, typer: Typer) -> None:
        """The arguments of `<=>` are expressions or whole tensors; nothing else is made of them."""
        equivalent = self._statement.equivalent
        for argument in equivalent.arguments if equivalent is not None else ():
            whole = isinstance(argument, ast.Variable) and self._scope.is_tensor(argument.name.text)
            self._require(whole or typer.value(argument) is not None)

    def _check_reduction(self, names: StatementNames) -> None:
        if self._operator != "=" or not names.loops or not names.ok:
            return
        self._require(False)
        sure = set(self._sure_names(self._statement.value))
        if not self._statement.clauses and not sure & set(names.loops):
            return  # they come from a read of a wrong rank or a call, which are reported
        loops = " and ".join(f"`{n}`" for n in names.loops)
        are = "is a reduction index" if len(names.loops) == 1 else "are reduction indices"
        message = f"{loops} {are}, and `=` does not reduce"
        known = (*names.indices, *self._scope.signature.sizes, *self._scope.tensors)
        near = closest(names.loops[0], (n for n in known if n.lower() != names.loops[0].lower()))
        help: tuple[str, ...] = (f"sum over {loops} with `+=!`, or use `max=!`, `min=!`, `*=!`",)
        if near is not None:
            help = (f"did you mean `{near}` where it says `{names.loops[0]}`?", *help)
        label = f"no {loops} on the left"
        target = self._statement.target.span
        self._scope.report.add(error("E0215", message, target, label, help=help))

    def _sure_names(self, tree: ast.Expression) -> Iterator[str]:
        """The variables outside of calls of defs and of reads of a wrong rank."""
        if isinstance(tree, ast.Variable):
            yield tree.name.text
        if isinstance(tree, ast.Apply):
            symbol = self._scope.tensors.get(tree.name.text)
            wrong = symbol is not None and symbol.rank not in (None, len(tree.arguments))
            if wrong or tree.name.text in self._scope.defs:
                return
        for child in ast.children(tree):
            yield from self._sure_names(child)

    # -- domain ----------------------------------------------------------------------------

    def _with_known_sizes(
        self, expressions: tuple[tir.Expression, ...]
    ) -> tuple[tir.Expression, ...]:
        """Known sizes put in where that makes some subscript affine, such as `c * W + d`."""
        known = {name: const(value) for name, value in self._scope.known.items()}
        subscripts = [
            s
            for e in expressions
            for r in tir.walk(e)
            if isinstance(r, tir.Read)
            for s in r.subscripts
        ]
        for subscript in subscripts if known else ():
            if affine_form(subscript) is None:
                fixed = substitute_sizes(subscript, known)
                if affine_form(fixed) is not None:
                    return tuple(substitute_sizes(e, known) for e in expressions)
        return expressions

    def _self_read(self, names: StatementNames) -> tir.Read | None:
        """A reduction into a tensor that is defined reads it, and stays inside it."""
        if self._operator == "=" or self._old is None or self._old.type is None:
            return None
        subscripts = tuple(tir.Index(n) for n in names.indices)
        return tir.Read(self._name, subscripts, self._old.type, self._statement.target.span)

    def _finish(self, names: StatementNames, domain: Domain) -> None:
        ranges = domain.ranges() if domain.is_known else None
        if ranges is None:
            self._require(False)
            return
        box = tuple(ranges[n] for n in names.indices)
        requirements = list(domain.requirements())
        if self._old is None:
            shape = tuple(r.extent for r in box)
            requirements += declared_shape(self._name, shape, self._scope)
        opened = settle(
            requirements, self._scope.given, self._draft.preconditions, self._scope.report
        )
        if opened is None:
            self._require(False)
            return
        self._draft.preconditions += opened
        self._define(box)
        self._draft.statements.append(self._node(names, domain.value, ranges))

    def _node(
        self, names: StatementNames, value: tir.Expression, ranges: Mapping[str, tir.Range]
    ) -> tir.Statement:
        loops = loop_order(names.loops, ranges)
        return tir.Statement(
            "",
            self._name,
            names.indices,
            loops,
            {n: ranges[n] for n in (*names.indices, *loops)},
            self._operator,
            self._initialise,
            value,
            statement_text(self._statement),
            self._statement.span,
            self._statement.target.span,
        )
