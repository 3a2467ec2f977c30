"""The one module that writes isl texts, makes identifiers and touches isl's context and options.

isl is a C library with one global context; several uses end the interpreter or give nonsense
without a word. What this module guarantees, once, for everybody:

- no isl callback runs Python code of ours (an exception in one is a segmentation fault): sets are
  taken apart through lists, never through `foreach_*`, and no schedule is mapped by a function;
- names reach isl only through text, so that a parameter `N` is the same `N` everywhere (an `Id`
  made in Python carries a user object and is another parameter of the same name);
- words that isl's parser claims (`mod`, `or`, ...) are respelled, one to one;
- everything lives in `isl.DEFAULT_CONTEXT`, and all schedule options are set before each use;
- schedules cross process boundaries as text (they can't be pickled).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import assert_never

import islpy as isl

from tcc.affine import Affine, Atom, Extremum, Floor, Product, Var, const, maximum, minimum, var
from tcc.errors import InternalError
from tcc.sched.unions import joined

_LOGIC = ("and", "or", "not", "implies", "exists", "true", "false")
_ARITHMETIC = ("min", "max", "mod", "floor", "ceil", "floord", "ceild")
_VALUES = ("infty", "infinity", "nan", "rat")
_RESERVED = frozenset((*_LOGIC, *_ARITHMETIC, *_VALUES))


def spell(name: str) -> str:
    """The name as isl's parser accepts it; different names stay different."""
    return name + "_" if name.rstrip("_").lower() in _RESERVED else name


@dataclass(frozen=True)
class Parameters:
    """The isl parameters of one program: its sizes, and one opaque parameter for each product.

    A product of sizes is no affine form, so isl sees only a parameter that is at least as large
    as each size in the product.
    """

    sizes: tuple[str, ...]
    products: tuple[Product, ...] = ()

    @cached_property
    def values(self) -> Mapping[str, Affine]:
        """What each parameter stands for, by its name in isl, in isl's order."""
        named = {spell(s): var(s) for s in self.sizes}
        for number, product in enumerate(self.products):
            named[_fresh(f"product{number}", named)] = Affine(((product, 1),))
        return named

    @cached_property
    def header(self) -> str:
        """The `[M, N] -> ` in front of an isl text."""
        return f"[{', '.join(self.values)}] -> "

    @cached_property
    def _spellings(self) -> Mapping[Atom, str]:
        return {value.terms[0][0]: name for name, value in self.values.items()}

    def atom(self, atom: Atom) -> str:
        """How isl spells a size, product or index variable."""
        match atom:
            case Var(name):
                return spell(name)
            case Product():
                if atom not in self._spellings:
                    raise InternalError(f"no parameter stands for {atom}")
                return self._spellings[atom]
            case Floor(numerator, denominator):
                return f"floor(({self.text(numerator)})/{denominator})"
            case Extremum(kind, items):
                return f"{kind}({', '.join(self.text(i) for i in items)})"
            case _:
                assert_never(atom)

    def text(self, expression: Affine) -> str:
        """The expression in isl's syntax."""
        parts = [f"{c}*{self.atom(a)}" if c != 1 else self.atom(a) for a, c in expression.terms]
        if expression.constant or not parts:
            parts.append(str(expression.constant))
        return " + ".join(parts).replace("+ -", "- ")

    def set(self, constraints: Iterable[str] = ()) -> isl.Set:
        """A set of parameter values: { : constraints }."""
        return isl.Set(f"{self.header}{{ : {_conjunction(constraints)} }}")

    def context(self) -> isl.Set:
        """{ : } of all sizes at least 1, and each product at least as large as its factors."""
        bounds = [f"{spell(s)} >= 1" for s in self.sizes]
        for product in self.products:
            name = self.atom(product)
            if all(isinstance(f, Var) for f in product.factors):
                bounds += [f"{name} >= {self.atom(f)}" for f in product.factors]
        return self.set(bounds)

    def fixed(self, sizes: Mapping[str, int]) -> isl.Set:
        """{ : } where the given sizes, and products of given sizes only, have their value."""
        known = [
            (name, value.evaluate(sizes))
            for name, value in self.values.items()
            if value.variables <= sizes.keys()
        ]
        return self.set(f"{name} = {value}" for name, value in known)


@dataclass(frozen=True)
class Space:
    """The space of a statement's instances, `[sizes] -> { S[i, j] }`."""

    parameters: Parameters
    name: str
    iterators: tuple[str, ...]

    @cached_property
    def head(self) -> str:
        """`S[i, j]`."""
        return f"{self.name}[{', '.join(spell(i) for i in self.iterators)}]"

    def text(self, expression: Affine) -> str:
        """The expression in isl's syntax."""
        return self.parameters.text(expression)

    def set(self, constraints: Iterable[str] = ()) -> isl.Set:
        """{ S[i, j] : constraints }."""
        body = f"{self.head} : {_conjunction(constraints)}"
        return isl.Set(f"{self.parameters.header}{{ {body} }}")

    def relation(
        self,
        tensor: str,
        subscripts: Sequence[Affine | None],
        box: Sequence[tuple[Affine, Affine]] = (),
    ) -> isl.Map:
        """{ S[i, j] -> A[subscripts] }; a subscript None is anything in its interval of `box`."""
        taken = {*self.parameters.values, *(spell(i) for i in self.iterators)}
        parts, constraints = [], []
        for dim, subscript in enumerate(subscripts):
            if subscript is not None:
                parts.append(self.text(subscript))
                continue
            name = _fresh(f"any{dim}", taken)
            low, high = box[dim]
            parts.append(name)
            constraints.append(f"{self.text(low)} <= {name} < {self.text(high)}")
        image = f"{spell(tensor)}[{', '.join(parts)}]"
        body = f"{self.head} -> {image} : {_conjunction(constraints)}"
        return isl.Map(f"{self.parameters.header}{{ {body} }}")

    def vector(self, expressions: Sequence[Affine]) -> isl.Map:
        """{ S[i, j] -> [expressions] }."""
        image = ", ".join(self.text(e) for e in expressions)
        return isl.Map(f"{self.parameters.header}{{ {self.head} -> [{image}] }}")

    def identity(self) -> isl.Map:
        """{ S[i, j] -> [i, j] }."""
        return self.vector([var(i) for i in self.iterators])

    def affine(self, expression: isl.PwAff) -> Affine:
        """An isl expression { S[i, j] -> [e] } of one piece as data."""
        pieces = expression.get_pieces()
        if len(pieces) != 1:
            raise InternalError(f"{len(pieces)} pieces in {expression}")
        numerator, denominator = _rational(pieces[0][1], self.parameters, self.iterators)
        if denominator != 1:
            raise InternalError(f"no integer: {expression}")
        return numerator


def _rational(
    aff: isl.Aff, parameters: Parameters, iterators: tuple[str, ...]
) -> tuple[Affine, int]:
    """Numerator and denominator of an isl expression over sizes and index variables."""
    denominator = aff.get_denominator_val().to_python()
    scale = isl.Val(denominator)
    total = const(aff.get_constant_val().mul(scale).to_python())
    for kind in (isl.dim_type.param, isl.dim_type.in_, isl.dim_type.div):
        for position in range(aff.dim(kind)):
            factor = aff.get_coefficient_val(kind, position).mul(scale).to_python()
            if not factor:
                continue
            if kind == isl.dim_type.param:
                atom = parameters.values[str(aff.get_dim_name(kind, position))]
            elif kind == isl.dim_type.in_:
                atom = var(iterators[position])
            else:
                numerator, divisor = _rational(aff.get_div(position), parameters, iterators)
                atom = numerator // divisor
            total = total + atom * factor
    return total, denominator


def box(parameters: Parameters, tensor: str, bounds: Sequence[tuple[Affine, Affine]]) -> isl.Set:
    """{ A[a, b] : low <= a < high and ... } of half-open bounds over sizes."""
    names = [f"a{d}" for d in range(len(bounds))]
    names = [_fresh(n, parameters.values) for n in names]
    constraints = [
        f"{parameters.text(low)} <= {name} < {parameters.text(high)}"
        for name, (low, high) in zip(names, bounds, strict=True)
    ]
    body = f"{spell(tensor)}[{', '.join(names)}] : {_conjunction(constraints)}"
    return isl.Set(f"{parameters.header}{{ {body} }}")


def union_set(parameters: Parameters, sets: Iterable[isl.Set]) -> isl.UnionSet:
    """The union of sets of different spaces."""
    return joined(isl.UnionSet(f"{parameters.header}{{ }}"), [s.to_union_set() for s in sets])


def union_map(parameters: Parameters, maps: Iterable[isl.Map]) -> isl.UnionMap:
    """The union of maps of different spaces."""
    return joined(isl.UnionMap(f"{parameters.header}{{ }}"), [m.to_union_map() for m in maps])


# -- points and constraints ----------------------------------------------------------------


def smallest_point(values: isl.Set) -> tuple[dict[str, int], tuple[int, ...]] | None:
    """Parameters (by isl name) and coordinates of the point with the smallest parameters.

    Smallest by the sum of the parameters, then by each of them, then lexicographically.
    None for the empty set.
    """
    count = values.dim(isl.dim_type.param)
    names = _parameter_names(values)
    flat = values.from_params() if values.is_params() else values.flatten()
    flat = flat.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, count)
    dims = flat.dim(isl.dim_type.set)
    flat = flat.insert_dims(isl.dim_type.set, 0, 1)
    variables = ["s", *(f"x{k}" for k in range(dims))]
    total = " + ".join(variables[1 : count + 1]) or "0"
    least = flat.intersect(isl.Set(f"{{ [{', '.join(variables)}] : s = {total} }}")).lexmin()
    if least.is_empty():
        return None
    point = least.sample_point()
    coordinates = [
        point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(1, dims + 1)
    ]
    return dict(zip(names, coordinates, strict=False)), tuple(coordinates[count:])


def inequalities(parameters: Parameters, values: isl.Set) -> tuple[Affine, ...]:
    """Quasi-affine forms over sizes that are all >= 0 exactly on this set of parameter values.

    A union becomes one form: the largest over its pieces of the smallest of their constraints.
    """
    pieces = values.compute_divs().coalesce().get_basic_sets()
    every = [_constraints(parameters, piece) for piece in pieces]
    if len(every) == 1:
        return every[0]
    every = [_needed(parameters, forms, values) for forms in every]
    if not all(every):
        return ()
    return (maximum(*(minimum(*forms) for forms in every)),) if every else (const(-1),)


def _needed(
    parameters: Parameters, forms: tuple[Affine, ...], values: isl.Set
) -> tuple[Affine, ...]:
    """The forms of one piece without those that the other pieces make superfluous."""
    for form in forms:
        rest = tuple(f for f in forms if f is not form)
        if parameters.set(f"{parameters.text(f)} >= 0" for f in rest).is_subset(values):
            return _needed(parameters, rest, values)
    return forms


def _constraints(parameters: Parameters, piece: isl.BasicSet) -> tuple[Affine, ...]:
    found: list[Affine] = []
    for constraint in piece.get_constraints():
        if constraint.is_div_constraint():
            continue
        form, _ = _rational(constraint.get_aff(), parameters, ())
        found += [form, -form] if constraint.is_equality() else [form]
    return tuple(found)


# -- schedules -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ScheduleOptions:
    """All options of isl's scheduler; the names and values are isl's."""

    outer_coincidence: int = 1
    maximize_coincidence: int = 1
    maximize_band_depth: int = 0
    whole_component: int = 1
    serialize_sccs: int = 0
    max_coefficient: int = -1
    max_constant_term: int = -1
    treat_coalescing: int = 1
    separate_components: int = 1
    split_scaled: int = 1
    carry_self_first: int = 1
    algorithm: int = 0

    def install(self) -> None:
        """Set every option on the one context."""
        for field in fields(self):
            setter = getattr(isl.DEFAULT_CONTEXT, f"set_schedule_{field.name}")
            setter(getattr(self, field.name))


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a schedule must respect, as isl values.

    Nothing asks isl to bring uses close to definitions (proximity): with that, the four gates of
    an LSTM cell get loops one after the other instead of one loop, and constants of fixed sizes
    make the search take minutes.
    """

    domain: isl.UnionSet  # { S[i] }
    validity: isl.UnionMap  # { S[i] -> T[j] }
    coincidence: isl.UnionMap  # { S[i] -> T[j] }
    context: isl.Set  # { : }

    def texts(self) -> dict[str, str]:
        """The values as isl texts, by field name."""
        return {f.name: str(getattr(self, f.name)) for f in fields(self)}

    @staticmethod
    def parse(texts: Mapping[str, str]) -> Constraints:
        """The inverse of `texts`."""
        return Constraints(
            isl.UnionSet(texts["domain"]),
            isl.UnionMap(texts["validity"]),
            isl.UnionMap(texts["coincidence"]),
            isl.Set(texts["context"]),
        )

    def restrict(self, statements: Sequence[str]) -> Constraints:
        """The constraints among these statements only."""
        keep = [s for s in _sets(self.domain) if s.get_tuple_name() in statements]
        domain = isl.UnionSet.empty(self.domain.get_space())
        for one in keep:
            domain = domain.union(one.to_union_set())
        inside = [
            m.intersect_domain(domain).intersect_range(domain)
            for m in (self.validity, self.coincidence)
        ]
        return Constraints(domain, inside[0], inside[1], self.context)


def compute_schedule(constraints: Constraints, options: ScheduleOptions) -> isl.Schedule:
    """Schedule by isl; it may take for ever, so run it in a worker process."""
    options.install()
    return (
        isl.ScheduleConstraints.on_domain(constraints.domain)
        .set_context(constraints.context)
        .set_validity(constraints.validity)
        .set_coincidence(constraints.coincidence)
        .compute_schedule()
    )


def parse_schedule(text: str) -> isl.Schedule:
    """A schedule from its text, the form in which it comes from a worker process."""
    return isl.Schedule(text)


def set_names(union: isl.UnionSet) -> tuple[str, ...]:
    """Tuple names of the sets in a union, in isl's order."""
    return tuple(str(s.get_tuple_name()) for s in _sets(union))


def _sets(union: isl.UnionSet) -> list[isl.Set]:
    sets = union.get_set_list()
    return [sets.get_at(k) for k in range(sets.n_set())]


def _parameter_names(value: isl.Set | isl.Aff | isl.Constraint) -> list[str]:
    count = value.dim(isl.dim_type.param)
    return [str(value.get_dim_name(isl.dim_type.param, k)) for k in range(count)]


def _conjunction(constraints: Iterable[str]) -> str:
    return " and ".join(f"({c})" for c in constraints) or "true"


def _fresh(name: str, taken: Iterable[str]) -> str:
    while name in taken:
        name += "_"
    return name
