"""Random numbers drawn on the device: the same bits as on the CPU, from the same seed.

Kernels compute elements from a seed and the number of the first Philox block
(``kernels/random.cuh``); the host only counts blocks. Where a generator is a Mersenne Twister,
whose numbers depend on all those before them, the CPU draws and the numbers are copied.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import resources
from typing import Any

import flambeau
from flambeau.core import _core
from flambeau.core.promotion import dtype_name, kind_of_dtype
from flambeau.cuda import _launch, graphs, params, source

_DIMS = 12          # FL_DIMS of native/arguments.h
#: Operators with kernels.
KERNELS = ("random_uniform", "random_normal", "random_integers", "random_bernoulli", "bernoulli",
           "poisson", "binomial", "standard_gamma", "sample_dirichlet", "multinomial",
           "native_dropout")
#: Those that only the CPU draws: a twister's, one after the other.
ON_HOST = ("random_distribution", "random_permutation")

_KERNELS_OF = {
    "f32": "uniform normal integers bernoulli chances poisson binomial",
    "f64": "uniform normal integers bernoulli chances poisson binomial gamma log_gamma dirichlet "
           "running waiting",
    "i64": "integers bernoulli choices"}
#: The head of a call, and an operand, of elements that lie side by side.
_LINE = struct.Struct(f"<q2iq{8 * (_DIMS - 1)}x")
_LINE_OPERAND = struct.Struct(f"<Q2i2d2q{8 * (_DIMS - 1)}x")
_DRAWN = struct.Struct("<2QqQ2d2iQ")
_LEAST = {"float16": 2.0 ** -14, "float64": 2.0 ** -1022}
_EPSILON = {"float16": 2.0 ** -11, "bfloat16": 2.0 ** -8, "float32": 2.0 ** -24}


def _module(kernels: list[str], names: list[str], *before: str) -> source.Module:
    folder = resources.files("flambeau.core.formula").joinpath("include")
    shared = [folder.joinpath(name).read_text() for name in ("box_muller.h", "rates.h")]
    own = source.file("kernels/random.cuh")
    return source.Module("\n".join([source.prelude(), *before, *shared, own, *kernels]),
                         dict.fromkeys(names, "fl_drawing"))


@cache
def module(kind: str) -> source.Module:
    """The kernels of one compute kind: ``f32``, ``f64`` or ``i64``."""
    names, type_ = _KERNELS_OF[kind].split(), source.C_TYPES[kind]
    kernels = [f'extern "C" __global__ void d_{name}_{kind}(const fl_drawing c) '
               f"{{ fl_draw_{name}(c, {type_}()); }}" for name in names]
    return _module(kernels, [f"d_{name}_{kind}" for name in names])


@cache
def dropout_module(dtype: str) -> source.Module:
    """The kernel of dropout in one dtype."""
    name = f"d_dropout_{dtype}"
    kernel = (f'extern "C" __global__ void {name}(const fl_drawing c) '
              f"{{ fl_dropout<{params.DTYPE_CODES[dtype]}>(c); }}")
    texts = [source.file(f"kernels/{file}.cuh") for file in ("packet", "dropout")]
    return _module([*texts, kernel], [name], source.file("native/packet.h"))


def draw(backend: Any, key: str, args: list[Any], outs: list[Any]) -> None:
    """Run an operator of random numbers."""
    if outs[0].numel() == 0:
        return
    values = [a.detach() if _core.is_tensor(a) else a for a in args]
    _Drawing(backend, args[-1], [out.detach() for out in outs]).run(key, values)


class _Drawing:
    """One call: where its numbers come from and go to."""

    def __init__(self, backend: Any, generator: Any, outs: list[Any]) -> None:
        self.backend, self.generator, self.outs, self.out = backend, generator, outs, outs[0]
        self.index = self.out.device.index or 0
        self.kind = {"f64": "f64", "f32": "f32"}.get(kind_of_dtype(self.out.dtype), "i64")

    def run(self, key: str, args: list[Any]) -> None:
        if key in ON_HOST or self._blocks(0) is None:
            self._on_host(key, args)
        else:
            _METHODS[key](self, *args[:-1])

    def _blocks(self, count: int) -> tuple[int, int] | None:
        return _core.take_blocks(self.generator, self.backend.generators.of(self.index), count)

    def _place(self, count: int) -> tuple[int, int, int]:
        """Seed and first block, or of a graph the blocks before and where it finds the rest."""
        graph = graphs.capturing_on(self.backend.device_type, self.index)
        if graph is None:
            return (*(self._blocks(count) or (0, 0)), 0)
        own = partial(self.backend.generators.of, self.index)
        return (0, *graph.numbers_of(self.generator, own, self.out.device).take(count))

    def _on_host(self, key: str, args: Sequence[Any]) -> None:
        """What the CPU draws, and refuses, copied."""
        host = [a.cpu() if _core.is_tensor(a) else a for a in args]
        drawn = _core.call(key, host)
        for out, each in zip(self.outs, drawn if isinstance(drawn, tuple) else (drawn,),
                             strict=True):
            _launch.copy_into(self.backend.device_type, out, each.to(out.device))

    def _launch(self, name: str, out: Any = None, operands: Sequence[Any] = (), *, blocks: int = 0,
                group: str = "random", kind: str = "", low: int = 0, span: int = 0, a: float = 0.0,
                b: float = 0.0, bits: int = 0, threads: int = 0) -> None:
        """Start a kernel that writes `out` and draws from `blocks` blocks."""
        out, kind = self.out if out is None else out, kind or self.kind
        seed, first, anew = self._place(blocks)
        argument = _call(out, operands) + _DRAWN.pack(seed, first, low, span, a, b, bits, 0, anew)
        self.backend.launch(group, kind, f"d_{name}_{kind}", threads or blocks, argument,
                            self.index)

    def _room(self, dtype: str, shape: Sequence[int]) -> Any:
        return flambeau.empty(tuple(shape), dtype=getattr(flambeau, dtype), device=self.out.device)

    def _parts(self) -> bool:
        """Whether numbers are complex; their parts replace them then."""
        if not self.out.is_complex():
            return False
        self.out = _core.call("view_as_real", [self.out])
        self.kind = "f64" if dtype_name(self.out.dtype) == "float64" else "f32"
        return True

    def _count(self, per_block: int | None = None) -> int:
        """How many blocks the result's elements take."""
        each = per_block or (2 if self.kind == "f64" else 4)
        return (self.out.numel() + each - 1) // each

    # ---- numbers instead of operands -------------------------------------------------------------

    def _random_uniform(self, _self: Any, low: float, high: float) -> None:
        self._parts()
        bits = {"bfloat16": 8, "float16": 11}.get(dtype_name(self.out.dtype), 24)
        self._launch("uniform", blocks=self._count(), a=low, b=high, bits=bits)

    def _random_normal(self, _self: Any, mean: float, std: float) -> None:
        if self._parts():
            std = std / 1.41421356237309504880
        self._launch("normal", blocks=self._count(), a=mean, b=std)

    def _random_integers(self, _self: Any, low: int, high: int | None) -> None:
        if high is None:
            high = _first_gap(self.out.dtype)
        self._launch("integers", blocks=self._count(2), low=low, span=(high - low) % (1 << 64))

    def _random_bernoulli(self, _self: Any, p: float) -> None:
        self._launch("bernoulli", blocks=self._count(4), span=int(p * 2.0 ** 32))

    # ---- operands -------------------------------------------------------------------------------

    def _native_dropout(self, x: Any, p: float, scale: float) -> None:
        name = dtype_name(self.out.dtype)
        each = 4 if self.out.dtype.itemsize > 2 else 8          # elements of a thread
        self._launch("dropout", operands=[x, self.outs[1]], blocks=self._count(4),
                     threads=(self.out.numel() + each - 1) // each, group="dropout", kind=name,
                     span=int((1.0 - p) * 2.0 ** 32), a=scale)

    def _bernoulli(self, p: Any) -> None:
        if self._refused("bernoulli", [p], (p >= 0) & (p <= 1)):
            return
        self._launch("chances", operands=[p], blocks=self._count())

    def _poisson(self, rate: Any) -> None:
        if self._refused("poisson", [rate], (rate >= 0) & (rate.double() <= 1e300)):
            return
        self._launch("poisson", operands=[rate], blocks=self.out.numel())

    def _binomial(self, count: Any, prob: Any) -> None:
        right = (count >= 0) & (count.double() <= 1e300) & (prob >= 0) & (prob <= 1)
        if self._refused("binomial", [count, prob], right):
            return
        self._launch("binomial", operands=[count, prob], blocks=self.out.numel())

    def _standard_gamma(self, concentration: Any) -> None:
        least = _LEAST.get(dtype_name(self.out.dtype), 2.0 ** -126)
        self._launch("gamma", kind="f64", operands=[concentration], blocks=self.out.numel(),
                     a=least)

    def _sample_dirichlet(self, concentration: Any) -> None:
        name, columns = dtype_name(self.out.dtype), (*self.out.shape, 1)[self.out.ndim - 1]
        logs = self._room("float64", self.out.shape)
        self._launch("log_gamma", logs, [concentration], kind="f64", blocks=self.out.numel())
        self._launch("dirichlet", operands=[logs], kind="f64", low=columns,
                     threads=self.out.numel() // columns, a=_LEAST.get(name, 2.0 ** -126),
                     b=1 - _EPSILON.get(name, 2.0 ** -53))

    def _multinomial(self, weights: Any, count: int, again: bool) -> None:
        columns = weights.shape[-1]
        rows = weights.numel() // columns
        positive = (weights > 0).sum(-1, keepdim=True) >= (1 if again else count)
        if self._refused("multinomial", [weights, count, again],
                         (weights >= 0) & (weights < float("inf")) & positive):
            return
        if again:
            running = self._room("float64", weights.shape)
            self._launch("running", running, [weights], kind="f64", low=columns, threads=rows)
            self._launch("choices", operands=[running.flatten()[:1].expand(self.out.shape)],
                         low=columns, span=count, blocks=(self.out.numel() + 1) // 2,
                         threads=self.out.numel())
            return
        times = self._room("float64", weights.shape)
        self._launch("waiting", times, [weights], kind="f64", blocks=(times.numel() + 1) // 2,
                     threads=times.numel())
        order = times.sort(dim=-1, stable=True).indices.narrow(-1, 0, count)
        _launch.copy_into(self.backend.device_type, self.out, order)

    def _refused(self, key: str, args: list[Any], right: Any) -> bool:
        """Whether values are not `right`: the CPU's kernel says what is wrong with them then.

        The device is waited for, as its values decide.
        """
        if bool(right.all().item()):
            return False
        self._on_host(key, [*args, self.generator])
        return True


_METHODS: dict[str, Callable[..., None]] = {
    "random_uniform": _Drawing._random_uniform, "random_normal": _Drawing._random_normal,
    "random_integers": _Drawing._random_integers, "random_bernoulli": _Drawing._random_bernoulli,
    "native_dropout": _Drawing._native_dropout,
    "bernoulli": _Drawing._bernoulli, "poisson": _Drawing._poisson,
    "binomial": _Drawing._binomial, "standard_gamma": _Drawing._standard_gamma,
    "sample_dirichlet": _Drawing._sample_dirichlet, "multinomial": _Drawing._multinomial}


def _first_gap(dtype: Any) -> int:
    from flambeau.core.composites.random.integers import EXACT_INTEGERS_BELOW

    return EXACT_INTEGERS_BELOW.get(dtype_name(dtype), (1 << 63) - 1)


def _call(out: Any, operands: Sequence[Any]) -> bytes:
    """``fl_call<3>``: the result and two operands over its shape."""
    if out.is_contiguous() and all(t.shape == out.shape and t.is_contiguous() for t in operands):
        shown, count = [out, *operands], out.numel()
        packed = _LINE.pack(count, 1, 0, count) + b"".join([
            _LINE_OPERAND.pack(_core.address_of(t), params.DTYPE_CODES[dtype_name(t.dtype)], 0, 0.0,
                               0.0, 0, 1) for t in shown])
        return packed + bytes(_LINE_OPERAND.size * (3 - len(shown)))
    shown = [out, *(t.expand(out.shape) for t in operands)]
    shape, strides = _merged(list(out.shape), [list(t.stride()) for t in shown])
    pad = [0] * (_DIMS - len(shape))
    packed = struct.pack(f"<q2i{_DIMS}q", out.numel(), len(shape), 0, *shape, *pad)
    for t, steps in zip(shown, strides, strict=True):
        code = params.DTYPE_CODES[dtype_name(t.dtype)]
        packed += struct.pack(f"<Q2i2dq{_DIMS}q", _core.address_of(t), code, 0, 0.0, 0.0, 0, *steps,
                              *pad)
    argument = 40 + 8 * _DIMS
    return packed + bytes(argument * (3 - len(shown)))


def _merged(shape: list[int], strides: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """A geometry whose neighbouring dimensions are one where all operands walk them as one."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for d, n in enumerate(shape):
        own = [s[d] for s in strides]
        if n == 1:
            continue
        if sizes and all(s[-1] == step * n for s, step in zip(steps, own, strict=True)):
            sizes[-1] *= n
            for s, step in zip(steps, own, strict=True):
                s[-1] = step
            continue
        sizes.append(n)
        for s, step in zip(steps, own, strict=True):
            s.append(step)
    if len(sizes) > _DIMS:
        raise NotImplementedError(f"random numbers into {len(sizes)} dimensions that cannot be "
                                  f"merged; kernels take {_DIMS}: draw into a contiguous tensor")
    return sizes, steps


class Generators:
    """The default generator of each device, seeded whenever that of the process is.

    Args:
        name: the device type.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._of: dict[int, Any] = {}
        self._followed: dict[int, int] = {}

    def keep(self) -> Callable[[], None]:
        """What puts all of them back to where they are now; those not used yet begin then."""
        states = {index: self.of(index).get_state() for index in list(self._of)}
        seed = _core.seedings()[1]

        def restore() -> None:
            for index, generator in self._of.items():
                if index in states:
                    generator.set_state(states[index])
                else:
                    generator.manual_seed(seed)
                self._followed[index] = _core.seedings()[0]

        return restore

    def of(self, index: int) -> Any:
        """The generator of one device."""
        seedings, seed = _core.seedings()
        if index not in self._of:
            self._of[index] = flambeau.Generator(f"{self.name}:{index}", algorithm="philox")
            self._followed[index] = -1
        if self._followed[index] != seedings:
            self._of[index].manual_seed(seed)
            self._followed[index] = seedings
        return self._of[index]
