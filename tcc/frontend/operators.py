"""Types the operators: promotes the operands, checks what bool, integers and floats allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction

from tcc.diagnostics import Report, error, warning
from tcc.frontend import ast, tir
from tcc.frontend.promote import Commitment, Value, convert, join, meet, write_in
from tcc.frontend.spelling import expression_text
from tcc.frontend.subscripts import affine_form
from tcc.scalar import ScalarType
from tcc.source import Span

LOGIC = frozenset({"&&", "||"})
EQUALITY = frozenset({"==", "!="})
ORDER = frozenset({"<", "<=", ">", ">="})
_BOOL, _INT32, _FLOAT32 = ScalarType.BOOL, ScalarType.INT32, ScalarType.FLOAT32


class Operators:
    """Builds typed nodes from typed operands; None after an error."""

    def __init__(self, report: Report, known: Mapping[str, int]) -> None:
        self._report = report
        self._known = known
        self._conditional = 0
        """How many conditions decide whether what is typed now is computed at all."""

    @contextmanager
    def under_condition(self) -> Iterator[None]:
        """What is typed inside is computed lazily: only where a condition holds."""
        self._conditional += 1
        yield
        self._conditional -= 1

    # -- one operand -----------------------------------------------------------------------

    def negate(self, operand: Value, node: ast.Unary) -> Value | None:
        """`-e`; a literal takes the sign."""
        if not self._is_number(operand, node.operand):
            return None
        inner = operand.expression
        negated: tir.Expression = tir.Unary("-", inner, inner.type)
        if isinstance(inner, tir.Literal) and (isinstance(inner.value, int) or inner.value != 0):
            negated = tir.Literal(-inner.value, inner.type)
        return Value(negated, operand.type, node.span, operand.commitment, operand.literals)

    def invert(self, operand: Value, node: ast.Unary) -> Value | None:
        """`!e`."""
        if not self.is_condition(operand, node.operand, below_not=True):
            return None
        return Value(tir.Unary("!", operand.expression, _BOOL), _BOOL, node.span)

    # -- two operands ----------------------------------------------------------------------

    def binary(self, left: Value, right: Value, node: ast.Binary) -> Value | None:
        """Any binary operator of the syntax."""
        if node.operator in EQUALITY and left.type is right.type is _BOOL:
            return self._logic(left, right, node)
        if node.operator in EQUALITY:
            sound = self._is_number(left, node.left)
            sound = self._is_number(right, node.right) and sound
        else:
            sound = self.is_operand(left, node.left, node.operator)
            sound = self.is_operand(right, node.right, node.operator) and sound
        if not sound:
            return None
        if node.operator in LOGIC:
            return self._logic(left, right, node)
        if node.operator in EQUALITY or node.operator in ORDER:
            return self._compare(left, right, node)
        if node.operator in ("/", "%") and not self._divides(left, right, node):
            return None
        return self.arithmetic(node.operator, left, right, node.span)

    def arithmetic(self, operator: str, left: Value, right: Value, span: Span) -> Value | None:
        """`+ - * / % min max` of two numbers."""
        met = meet((left, right))
        if met is None:
            return None
        kind, commitment = met
        a = write_in(left, kind, commitment, self._report)
        b = write_in(right, kind, commitment, self._report)
        expression = tir.Binary(operator, a, b, kind.compute)
        literals = join((left, right)) if commitment is not Commitment.FIXED else ()
        return Value(expression, kind, span, commitment, literals)

    def extremum(self, operands: Sequence[Value], node: ast.Apply) -> Value | None:
        """`min(a, b)` or `max(a, b)`."""
        checks = [self._is_number(v, a) for v, a in zip(operands, node.arguments, strict=True)]
        if not all(checks):
            return None
        return self.arithmetic(node.name.text, operands[0], operands[1], node.span)

    def _logic(self, left: Value, right: Value, node: ast.Binary) -> Value:
        expression = tir.Binary(node.operator, left.expression, right.expression, _BOOL)
        return Value(expression, _BOOL, node.span)

    def _compare(self, left: Value, right: Value, node: ast.Binary) -> Value | None:
        met = meet((left, right))
        if met is None:
            return None
        a, b = (convert(v, met[0], self._report) for v in (left, right))
        return Value(tir.Binary(node.operator, a, b, _BOOL), _BOOL, node.span)

    def _divides(self, left: Value, right: Value, node: ast.Binary) -> bool:
        met = meet((left, right))
        if node.operator == "%" and met is not None and met[0].is_float:
            a, b = expression_text(node.left), expression_text(node.right)
            message = f"`%` needs integers, and these are {met[0].value}"
            help = (f"use `fmod({a}, {b})`",)
            self._report.add(error("E0213", message, node.span, met[0].value, help=help))
            return False
        sizes = self._sizes_of_zero(right) if right.type.is_integer else None
        if sizes is not None and (not sizes or left.type.is_integer):
            message = f"`{expression_text(node)}` divides by zero"
            given = ", ".join(f"{s} = {self._known[s]}" for s in sizes)
            notes = (f"with {given}",) if given else ()
            help = ("divide by a number that is not 0",)
            if sizes:
                text = expression_text(node)
                guarded = f"{expression_text(node.right, 4)} != 0 ? {text} : 0"
                help = (f"choose another value there: `({guarded})`",)
            self._report.add(
                error("E0218", message, node.right.span, "this is 0", notes=notes, help=help)
            )
            return False
        if node.operator == "/" and left.type.is_integer and right.type.is_integer:
            self._warn_always_zero(left, right, node)
        return True

    def _sizes_of_zero(self, divisor: Value) -> tuple[str, ...] | None:
        """The given sizes at which a divisor is zero and surely used; None when it is not."""
        form = affine_form(divisor.expression)
        if form is None or form == _ZERO:
            return None if form is None else ()
        sizes = form.variables
        if self._conditional or not sizes <= self._known.keys() or form.evaluate(self._known):
            return None
        return tuple(s for s in self._known if s in sizes)

    def _warn_always_zero(self, left: Value, right: Value, node: ast.Binary) -> None:
        numerator, denominator = affine_form(left.expression), affine_form(right.expression)
        if numerator is None or denominator is None or numerator == _ZERO:
            return
        sizes = numerator.variables | denominator.variables
        ranges = {s: (self._known.get(s, 2), self._known.get(s)) for s in sorted(sizes)}
        low, high = numerator.bounds(ranges)
        least, _ = denominator.bounds(ranges)
        if low is None or high is None or least is None or low < 0 or high >= least:
            return
        message = f"the integer division `{expression_text(node)}` gives 0"
        a, b = expression_text(node.left), expression_text(node.right)
        floating = f"{a}.0" if isinstance(node.left, ast.Number) else f"float({a})"
        help = (f"divide floats: `{floating} / {b}`",)
        self._report.add(warning("W0211", message, node.span, "rounds down to 0", help=help))

    # -- conditionals and functions --------------------------------------------------------

    def select(
        self, condition: Value, then: Value, otherwise: Value, node: ast.Conditional
    ) -> Value | None:
        """`c ? a : b`."""
        sound = self.is_condition(condition, node.condition)
        met = meet((then, otherwise))
        if met is None:
            odd, tree = (then, node.then) if then.type is _BOOL else (otherwise, node.otherwise)
            self._is_number(odd, tree)
        if met is None or not sound:
            return None
        kind, commitment = met
        a = write_in(then, kind, commitment, self._report)
        b = write_in(otherwise, kind, commitment, self._report)
        expression = tir.Select(condition.expression, a, b, kind.compute)
        literals = join((then, otherwise)) if commitment is not Commitment.FIXED else ()
        return Value(expression, kind, node.span, commitment, literals)

    def builtin(self, operands: Sequence[Value], node: ast.Apply) -> Value | None:
        """A builtin function: computes in float64 if an argument is, else in float32."""
        checks = [self._is_number(v, a) for v, a in zip(operands, node.arguments, strict=True)]
        float32 = Value(
            tir.Literal(Fraction(), _FLOAT32), _FLOAT32, node.span, Commitment.AT_LEAST_FLOAT32
        )
        met = meet((float32, *operands))
        if not all(checks) or met is None:
            return None
        kind, commitment = met
        arguments = tuple(write_in(v, kind, commitment, self._report) for v in operands)
        expression = tir.Call(node.name.text, arguments, kind)
        literals = join(operands) if commitment is not Commitment.FIXED else ()
        return Value(expression, kind, node.span, commitment, literals)

    # -- demands ---------------------------------------------------------------------------

    def is_operand(self, value: Value, tree: ast.Expression, operator: str) -> bool:
        """Report an operand that does not suit the operator, whatever the other one is."""
        if operator in LOGIC:
            return self.is_condition(value, tree)
        return operator in EQUALITY or self._is_number(value, tree)

    def is_condition(self, value: Value, tree: ast.Expression, *, below_not: bool = False) -> bool:
        """Report a value that should be bool and is not; `!` binds tighter than a comparison."""
        if value.type is _BOOL:
            return True
        zero = "0.0" if value.type.is_float else "0"
        message = f"a condition must be bool, and `{expression_text(tree)}` is {value.type.value}"
        compared = f"{expression_text(tree, 4)} != {zero}"
        help = (f"compare it: `({compared})`" if below_not else f"compare it: `{compared}`",)
        self._report.add(error("E0211", message, tree.span, value.type.value, help=help))
        return False

    def is_subscript(self, value: Value, tree: ast.Expression, what: str) -> bool:
        """Report a subscript that is no integer."""
        return self._is_integer(value, tree, what, f"cast it: `int32({expression_text(tree)})`")

    def is_bound(self, value: Value, tree: ast.Expression, what: str) -> bool:
        """Report a bound that is no integer; a cast would not make it affine."""
        help = "make it of sizes, index variables and integers"
        if isinstance(value.expression, tir.Literal):
            help = f"write `{round(value.expression.value)}`"
        return self._is_integer(value, tree, what, help)

    def _is_integer(self, value: Value, tree: ast.Expression, what: str, help: str) -> bool:
        if value.type.is_integer:
            return True
        message = f"{what} must be an integer, and `{expression_text(tree)}` is {value.type.value}"
        self._report.add(error("E0210", message, tree.span, value.type.value, help=(help,)))
        return False

    def _is_number(self, value: Value, tree: ast.Expression) -> bool:
        if value.type is not _BOOL:
            return True
        text = expression_text(tree)
        message = f"`{text}` is bool where a number is needed"
        help = (f"cast it: `int32({text})`",)
        self._report.add(error("E0212", message, tree.span, "bool", help=help))
        return False


_ZERO = affine_form(tir.Literal(0, _INT32))
