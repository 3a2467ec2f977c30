"""Sizes from shapes: each size binds to one value, every extent must then be what it says."""

from __future__ import annotations

from collections.abc import Mapping

from tcc.affine import Affine, Var
from tcc.artifact import Argument, Interface, Requirement
from tcc.diagnostics import Label, Report, error
from tcc.frontend.suggest import suggestion
from tcc.run.listing import Listing
from tcc.source import Span

LARGEST_SIZE = 2**31 - 1


class Extents:
    """The values of the sizes, and which extent or given value each came from."""

    def __init__(self, interface: Interface, listing: Listing, report: Report) -> None:
        self.values: dict[str, int] = dict(interface.sizes)
        self._interface = interface
        self._listing = listing
        self._report = report
        self._origins: dict[str, Label] = {}
        self._open: list[tuple[Argument, int]] = []

    def take_given(self, sizes: Mapping[str, int]) -> None:
        """Bind the sizes that the caller gives."""
        known = (*self._interface.sizes, *self._interface.symbolic)
        for name, value in sizes.items():
            span = self._listing.size_span(name)
            if name not in known:
                self._unknown(name, known, span)
            elif name in self._interface.sizes:
                self._expect_fixed(name, value, span)
            else:
                self._bind(name, value, Label(span, f"`{name}` is given as {value}"))

    def take_shape(self, tensor: Argument) -> None:
        """Bind the sizes that are a dimension of their own; the other dimensions wait."""
        for dimension, extent in enumerate(tensor.shape):
            name = plain_size(extent)
            if name is None or name in self._interface.sizes:
                self._open.append((tensor, dimension))
                continue
            value = self._listing.arrays[tensor.name].shape[dimension]
            text = f"`{name}` is {value} in `{tensor.name}`"
            self._bind(name, value, Label(self._span(tensor, dimension), text))

    def check(self) -> None:
        """Compare the other dimensions with their extents. ValueError when a size is unknown."""
        missing = [s for s in self._interface.symbolic if s not in self.values]
        if missing:
            raise ValueError(f"no shape and no given size tells {missing}")
        for tensor, dimension in self._open:
            self._compare(tensor, dimension)
        for requirement in self._interface.requirements:
            if requirement.expression.evaluate(self.values) < 0:
                self._broken(requirement)

    def _bind(self, name: str, value: int, origin: Label) -> None:
        old = self._origins.get(name)
        if not 1 <= value <= LARGEST_SIZE:
            self._out_of_range(name, value, origin.span)
        elif old is None:
            self.values[name] = value
            self._origins[name] = origin
        elif self.values[name] != value:
            message = f"size `{name}` is both {self.values[name]} and {value}"
            self._report.add(
                error(
                    "E0605",
                    message,
                    origin.span,
                    origin.text,
                    secondary=(old,),
                    help=(f"pass arrays that agree on `{name}`",),
                )
            )

    def _expect_fixed(self, name: str, value: int, span: Span) -> None:
        fixed = self._interface.sizes[name]
        if value != fixed:
            message = f"size `{name}` is {fixed} in this kernel, not {value}"
            note = f"the kernel was compiled for `{name}` = {fixed}"
            help = (f"compile it for `{name}` = {value}, or without a value",)
            self._report.add(
                error("E0605", message, span, f"must be {fixed}", notes=(note,), help=help)
            )

    def _out_of_range(self, name: str, value: int, span: Span) -> None:
        message = f"size `{name}` is {value}; a size is at least 1 and at most {LARGEST_SIZE}"
        help = (
            ("do not call it: there is nothing to compute",)
            if value < 1
            else ("use several calls",)
        )
        self._report.add(error("E0607", message, span, "out of range", help=help))

    def _unknown(self, name: str, known: tuple[str, ...], span: Span) -> None:
        self._report.add(
            error(
                "E0608",
                f"`{self._interface.function}` has no size `{name}`",
                span,
                f"the sizes are {', '.join(f'`{k}`' for k in known) or 'none'}",
                help=suggestion(name, known) or ("leave it out",),
            )
        )

    def _compare(self, tensor: Argument, dimension: int) -> None:
        extent = tensor.shape[dimension]
        wanted = extent.evaluate(self.values)
        actual = self._listing.arrays[tensor.name].shape[dimension]
        if wanted == actual:
            return
        why = "" if extent.is_constant else f"`{extent}` is {wanted}: "
        used = sorted(extent.variables & self._origins.keys())
        self._report.add(
            error(
                "E0606",
                f"dimension {dimension} of array `{tensor.name}` is {actual}, not {wanted}",
                self._span(tensor, dimension),
                f"{why}must be {wanted}",
                secondary=tuple(self._origins[name] for name in used),
                help=(self._way_to_fit(tensor, wanted, extent),),
            )
        )

    def _way_to_fit(self, tensor: Argument, wanted: int, extent: Affine) -> str:
        fixed = sorted(extent.variables & self._interface.sizes.keys())
        also = f", or compile it with {_quoted(fixed)} open" if fixed else ""
        return f"pass a part of `{tensor.name}`, or pad it to {wanted}{also}"

    def _broken(self, requirement: Requirement) -> None:
        used = sorted(requirement.expression.variables)
        origins = [self._origins[name] for name in used if name in self._origins]
        values = ", ".join(f"`{name}` is {self.values[name]}" for name in used)
        self._report.add(
            error(
                "E0619",
                f"`{self._interface.function}` needs `{requirement.text}`",
                origins[0].span,
                values,
                secondary=tuple(origins[1:]),
                notes=(requirement.reason,),
                help=("pass arrays of other shapes",),
            )
        )

    def _span(self, tensor: Argument, dimension: int) -> Span:
        return self._listing.extent_span(tensor.name, dimension)


def _quoted(names: list[str]) -> str:
    return " and ".join(f"`{n}`" for n in names)


def plain_size(extent: Affine) -> str | None:
    """The name of an extent that is one size and nothing else."""
    if extent.constant == 0 and len(extent.terms) == 1 and extent.terms[0][1] == 1:
        atom = extent.terms[0][0]
        return atom.name if isinstance(atom, Var) else None
    return None
