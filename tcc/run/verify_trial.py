"""Runs an optimized and a reference kernel on the same random inputs, and compares."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tcc.artifact import Artifact
from tcc.errors import RunError
from tcc.options import VerifyOptions
from tcc.run.device import Array, Device
from tcc.run.findings import Finding, FindingKind
from tcc.run.host import HostDevice, Order
from tcc.run.verify_bound import Response, has_meaning, noise_response, relative_bounds
from tcc.run.verify_compare import Comparison, compare, differing, poisoned
from tcc.run.verify_explain import (
    crash,
    doubts,
    order_matters,
    unwritten_reference,
    wrong_value,
)
from tcc.run.verify_inputs import Domain, Style, draw, free_floats
from tcc.run.verify_oracle import reference_fault
from tcc.run.verify_outcome import Failure, Kind, Trial
from tcc.run.verify_sizes import points

RESPONSE_POINTS = 1 << 26
"""Statement instances up to which the oracle measures the response to noise."""
ORACLE_POINTS = 1 << 22
"""Statement instances up to which the oracle says whose fault a read outside of a tensor is."""
CHECKING_COST = 12.0
"""How much slower the checking build may be."""
PLAIN_STYLES = (Style.NORMAL, Style.UNIT, Style.ABOVE_ONE)
"""From the first of these without NaN in the outputs most can be learned."""
_ORDERS = {Order.FORWARD: "ascending", Order.REVERSE: "descending"}


@dataclass(frozen=True)
class Pair:
    """What is compared, at the sizes of the domain; `why` is `given`, `options` or `awkward`.

    `notes` say what else is special.
    """

    domain: Domain
    optimized: Artifact
    reference: Artifact
    why: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """How pairs are compared.

    `blocks`: run only that many blocks of the last launch, its last and first among them (host).
    `check`: run the optimized kernel in the checking build (host). `make`: what makes a device
    from its keywords, instead of `HostDevice` or `CudaDevice`. `style`: how inputs are drawn,
    where the reference makes something of them. `further`: once the kernels agree, the styles and
    turns of more draws, in the order of the threads that comes first.
    """

    device: str
    options: VerifyOptions
    blocks: int | None
    seed: int
    check: bool = False
    make: Callable[..., Device] | None = None
    style: Style = Style.NORMAL
    further: tuple[tuple[Style, int], ...] = ()


@dataclass(frozen=True)
class Expected:
    """What a reference kernel makes of some inputs, which are drawn in a style.

    `fault`: how that differs from what the oracle makes of them.
    """

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    style: Style = Style.NORMAL
    fault: Failure | None = None


def expect(pair: Pair, settings: Settings) -> Expected:
    """Run the reference kernel of a pair, for several trials of the same program and sizes.

    RunError when it fails, ToolchainError when the device is not there.
    """
    return _Run(pair, settings).expected


def try_pair(pair: Pair, settings: Settings, expected: Expected | None = None) -> Trial:
    """One trial; `expected` saves the run of the reference kernel.

    ToolchainError when the device is not there.
    """
    run = _Run(pair, settings)
    if expected is not None:
        run.expected = expected
    failure = run.failure()
    return Trial(
        dict(pair.domain.sizes),
        pair.why,
        len(pair.optimized.interface.launches),
        run.comparisons,
        failure,
        () if failure else (*pair.notes, *doubts(pair.domain), *_nan_notes(run.comparisons)),
        len(next(iter(run.sample.values()))) if run.sample else None,
    )


class _Run:
    def __init__(self, pair: Pair, settings: Settings) -> None:
        self._pair = pair
        self._settings = settings
        self._domain = pair.domain
        self._program = pair.domain.program
        self._bounds = relative_bounds(self._program, pair.domain.sizes)
        self.sample = self._chosen_blocks()
        self.comparisons: tuple[Comparison, ...] = ()
        self._drawn: Mapping[str, Array] = {}
        self._earlier: Mapping[str, Array] | None = None

    def failure(self) -> Failure | None:
        """Run both kernels, the optimized one in both orders of the threads; what is wrong."""
        try:
            expected = self.expected
        except RunError as problem:
            fault = self._program_fault(self._drawn)
            return fault or crash(self._domain, problem, "", of="the reference kernel fails: ")
        found = expected.fault or self._disagreement(expected.inputs, expected.outputs)
        if found is None:
            return self._later_failure()
        return self._explained(found, expected.inputs, expected.style)

    def _explained(self, found: Failure, inputs: Mapping[str, Array], style: Style) -> Failure:
        found = self._program_fault(inputs) or found
        if style is Style.NORMAL:
            return found
        return replace(found, details=(*found.details, f"inputs: {style.value}"))

    def _later_failure(self) -> Failure | None:
        """Run both kernels on all further draws."""
        order, device = self._devices()[0]
        plain, kept = self._plain_device(), self.comparisons
        for style, turn in self._settings.further:
            inputs = draw(self._domain, style, self._settings.seed, turn)
            want = self._call(plain, self._pair.reference, inputs)
            try:
                got = self._call(device, self._pair.optimized, inputs)
            except RunError as problem:
                return self._explained(crash(self._domain, problem, order), inputs, style)
            self.comparisons = self._compare_all(inputs, got, want)
            wrong = next((c for c in self.comparisons if not c.ok), None)
            if wrong is not None:
                return self._explained(wrong_value(self._domain, wrong, order), inputs, style)
        self.comparisons = kept
        return None

    def _disagreement(
        self, inputs: Mapping[str, Array], want: Mapping[str, Array]
    ) -> Failure | None:
        hole = self._unwritten(want)
        if hole is not None:
            return hole
        results: list[dict[str, Array]] = []
        for order, device in self._devices():
            try:
                results.append(self._call(device, self._pair.optimized, inputs))
            except RunError as problem:
                return crash(self._domain, problem, order)
            self.comparisons = self._compare_all(inputs, results[-1], want)
            wrong = next((c for c in self.comparisons if not c.ok), None)
            if wrong is not None:
                return wrong_value(self._domain, wrong, order)
        if not any(c.compared for c in self.comparisons):
            return Failure("the blocks that ran wrote no element of any output")
        if self._pair.optimized.interface.unordered:
            return None
        return order_matters(self._domain, results[0], results[-1])

    def _program_fault(self, inputs: Mapping[str, Array]) -> Failure | None:
        """A read outside of a tensor that the reference kernel has, too.

        A condition on data may keep it from happening, or not. It is a fault of the kernels where
        the oracle reads no such thing.
        """
        if self._settings.device != "host":
            return None
        timeout_s = self._settings.options.timeout_s * CHECKING_COST
        sizes = {n: self._domain.sizes[n] for n in self._pair.reference.interface.symbolic}
        device = HostDevice(check=True, timeout_s=timeout_s)
        try:
            found = device.check(self._pair.reference, inputs, sizes).findings
        except RunError:
            return None
        read = next((f for f in found if self._is_outside(f)), None)
        few = points(self._program, self._domain.sizes) <= ORACLE_POINTS
        if read is None or (few and has_meaning(self._program, inputs, self._domain.sizes)):
            return None
        statement = () if read.statement is None else (f"in `{read.statement}`",)
        return Failure(f"the program itself {read.message}", statement, Kind.PROGRAM)

    def _is_outside(self, found: Finding) -> bool:
        """Whether it is outside of its tensor; behind one of the workspace nothing is written."""
        if found.kind is not FindingKind.UNINITIALISED or found.index is None:
            return found.kind is FindingKind.OUT_OF_BOUNDS
        if found.tensor not in self._program.temporaries:
            return False
        shape = self._program.tensors[found.tensor].shape
        return found.index[0] >= math.prod(e.evaluate(self._domain.sizes) for e in shape)

    @cached_property
    def expected(self) -> Expected:
        """Inputs, and what the reference makes of them, compared with the oracle."""
        found = self._telling_draw()
        given, seed = self._settings.options.relative_tolerance, self._settings.seed
        fault = reference_fault(self._domain, found.inputs, found.outputs, given, seed)
        return replace(found, fault=fault)

    def _telling_draw(self) -> Expected:
        """The first draw of which the reference makes something."""
        tried: list[tuple[int, Expected]] = []
        for style in self._styles():
            inputs = draw(self._domain, style, self._settings.seed)
            self._drawn = inputs
            want = self._call(self._plain_device(), self._pair.reference, inputs)
            found = Expected(inputs, want, style)
            missing = sum(map(_not_finite, want.values()))
            if style is Style.SPOTTED:
                if all(map(_has_finite, want.values())):
                    return found
                continue
            if missing == 0:
                return found
            tried.append((missing, found))
        return min(tried, key=lambda t: t[0])[1]

    def _styles(self) -> tuple[Style, ...]:
        """How to draw inputs, in the order in which that is tried."""
        if not free_floats(self._domain):
            is_wide = self._settings.style is Style.WIDE
            return (Style.WIDE if is_wide else Style.NORMAL,)
        return (self._settings.style, *(s for s in PLAIN_STYLES if s is not self._settings.style))

    def _unwritten(self, want: Mapping[str, Array]) -> Failure | None:
        """A float that the reference never writes: on a CPU no operation sets all bits of a NaN."""
        if self._settings.device != "host":
            return None
        for name, values in want.items():
            if self._program.tensors[name].type.is_float and poisoned(values).any():
                return unwritten_reference(self._domain, name, poisoned(values))
        return None

    def _call(
        self, device: Device, artifact: Artifact, inputs: Mapping[str, Array]
    ) -> dict[str, Array]:
        sizes = {n: self._domain.sizes[n] for n in artifact.interface.symbolic}
        return device.run(artifact, inputs, sizes)

    def _devices(self) -> list[tuple[str, Device]]:
        """The device in both orders of the threads, where it has them."""
        if self._settings.device == "cuda":
            return [("", self._plain_device())]
        check = self._settings.check
        timeout_s = self._settings.options.timeout_s * (CHECKING_COST if check else 1.0)
        make = self._settings.make or HostDevice
        return [
            (text, make(order=o, timeout_s=timeout_s, blocks=self.sample, check=check))
            for o, text in _ORDERS.items()
        ]

    def _plain_device(self) -> Device:
        make = self._settings.make
        if self._settings.device == "cuda":
            from tcc.run.cuda import CudaDevice  # noqa: PLC0415  (CuPy loads slowly)

            return (make or CudaDevice)()
        return (make or HostDevice)(timeout_s=float(self._settings.options.timeout_s))

    def _chosen_blocks(self) -> dict[int, Sequence[int]]:
        """Blocks of the last launch; it needs all that the launches before it compute.

        All where it adds up shares of several blocks.
        """
        if self._settings.blocks is None or self._settings.device != "host":
            return {}
        interface = self._pair.optimized.interface
        launches = interface.launches
        if set(interface.unordered) & set(launches[-1].arguments):
            return {}
        x, y, z = (g.evaluate(self._domain.sizes) for g in launches[-1].grid)
        if x * y * z <= self._settings.blocks:
            return {}
        # The last is in the corner where tiles may reach beyond the problem; the first has a
        # second turn where the grid has too few blocks, and the next one must not have it.
        last = x * y * z - 1
        always = tuple(dict.fromkeys((last, 0, min(1, last))))[: self._settings.blocks]
        chance = random.Random(self._settings.seed)
        chosen = chance.sample(range(2, last), self._settings.blocks - len(always))
        return {len(launches) - 1: tuple(sorted((*chosen, *always)))}

    @cached_property
    def _rewritten(self) -> frozenset[str]:
        """The outputs that an earlier launch and the last one take, so that both may write them."""
        *earlier, last = self._pair.optimized.interface.launches
        shared = {name for launch in earlier for name in launch.arguments}
        return frozenset(shared & set(last.arguments) & set(self._program.outputs))

    def _before_the_last(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """The outputs when the last launch has not run."""
        if self._earlier is None:
            make = self._settings.make or HostDevice
            timeout_s = float(self._settings.options.timeout_s)
            device = make(timeout_s=timeout_s, blocks=dict.fromkeys(self.sample, ()))
            self._earlier = self._call(device, self._pair.optimized, inputs)
        return self._earlier

    def _compare_all(
        self, inputs: Mapping[str, Array], got: Mapping[str, Array], want: Mapping[str, Array]
    ) -> tuple[Comparison, ...]:
        """Every output; where one differs too much, once more with the response to noise."""
        found = self._compare(inputs, got, want, {})
        given = self._settings.options.relative_tolerance
        rounds = given is None and any(self._bounds.values())
        if all(c.ok for c in found) or not rounds:
            return found
        if points(self._program, self._domain.sizes) > RESPONSE_POINTS:
            return found
        seed = self._settings.seed
        response = noise_response(self._program, inputs, self._domain.sizes, self._bounds, seed)
        return self._compare(inputs, got, want, response)

    def _compare(
        self,
        inputs: Mapping[str, Array],
        got: Mapping[str, Array],
        want: Mapping[str, Array],
        response: Mapping[str, Response],
    ) -> tuple[Comparison, ...]:
        given = self._settings.options.relative_tolerance
        return tuple(
            compare(
                name,
                self._program.tensors[name].type,
                got[name],
                want[name],
                relative=self._bounds[name] if given is None else given,
                response=response.get(name),
                chosen=self._written(name, got[name], inputs),
            )
            for name in self._program.outputs
        )

    def _written(self, name: str, got: Array, inputs: Mapping[str, Array]) -> Array | None:
        """The elements that sampled blocks wrote; None: all.

        Where an earlier launch writes the output as well, those that they changed.
        """
        if not self.sample:
            return None
        if name in self._rewritten:
            changed = differing(got, self._before_the_last(inputs)[name])
            if changed.any():
                return changed
        return differing(got, inputs[name]) if name in inputs else ~poisoned(got)


def _not_finite(values: Array) -> int:
    if values.dtype.kind in "iub":
        return 0
    return int(np.count_nonzero(~np.isfinite(values.astype(np.float64))))


def _has_finite(values: Array) -> bool:
    return _not_finite(values) < values.size


def _nan_notes(found: tuple[Comparison, ...]) -> tuple[str, ...]:
    """Outputs of which nothing can be learned."""
    return tuple(
        f"`{c.tensor}` is NaN in the reference: give ranges under `verify: inputs`"
        for c in found
        if c.compared and c.nans >= c.compared
    )
