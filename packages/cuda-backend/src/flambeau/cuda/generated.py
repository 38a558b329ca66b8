"""A backend whose pointwise and reduction operators run generated kernels, wherever these run.

Elementwise calls are launched by ``_launch``, which asks Python once for each kind of call. On a
GPU memory and kernels come from CuPy, in the simulation from a C++ compiler.
"""
from __future__ import annotations

from typing import Any

from flambeau.core import _core
from flambeau.core.backends import Backend
from flambeau.core.opdefs.literal import at_literal
from flambeau.core.opdefs.wide import in_double
from flambeau.core.promotion import (
    compute_kind,
    dtype_name,
    is_unsigned,
    kind_of_dtype,
    promoted,
)
from flambeau.cuda import (
    _launch,
    compiled_rows,
    draws,
    errors,
    memory,
    params,
    pinned,
    regions,
    source,
    special,
    streams,
    tiles,
)
from flambeau.cuda import kernels as programs
from flambeau.cuda.arrays import checked
from flambeau.cuda.kernels import updates

#: The dtype that each kind computes in.
_OWN = {"f32": "float32", "f64": "float64", "i64": "int64", "bool": "bool", "c64": "complex64",
        "c128": "complex128", "u64": "uint64"}
_INEXACT = ("f32", "f64", "c64", "c128")
#: The argument that an operator copies.
COPIED = {"clone": 0, "contiguous_copy": 0, "cast": 0, "copy": 1, "fill": 1, "full_of": 1,
          "filled_like": 1}
_BLOCK, _BLOCKS = 256, 1 << 16


class GeneratedBackend(Backend):
    """Runs generated kernels. Subclasses say where memory and functions come from."""

    #: Whether every storage has memory of its own, of just its size.
    exact = False
    fuses = True
    #: Its number, once it is attached.
    device_type = -1

    def driver(self) -> int:
        """The address of an ``fl_driver`` (native/driver.h)."""
        raise NotImplementedError

    def reserve(self, index: int, nbytes: int) -> tuple[int, Any]:
        """Memory of a device: its address, and what keeps it.

        Raises:
            MemoryError: there is no more.
        """
        raise NotImplementedError

    def function(self, group: str, kind: str, kernel: str) -> int:
        """The driver's handle of a kernel of ``source.module(group, kind)``."""
        raise NotImplementedError

    def launch(self, group: str, kind: str, kernel: str, threads: int, argument: bytes,
               index: int) -> None:
        """Start a kernel with a thread for each element, on device ``index``."""
        blocks = min((threads + _BLOCK - 1) // _BLOCK, _BLOCKS)
        _launch.launch(self.device_type, index, kernel, self.function(group, kind, kernel),
                       (blocks, 1, 1), (_BLOCK, 1, 1), 0, argument)

    def launch_grid(self, group: str, kind: str, kernel: str, grid: tuple[int, int, int],
                    block: tuple[int, int, int], argument: bytes, index: int) -> None:
        """Start a kernel over a grid of its own."""
        _launch.launch(self.device_type, index, kernel, self.function(group, kind, kernel), grid,
                       block, 0, argument)

    def attach(self):
        self.generators = draws.Generators(self.name)
        self.device_type = _launch.attach(self, self.driver(), self.exact)
        return self.device_type

    def run(self, op, args, outs):
        if any(dtype_name(t.dtype) not in params.DTYPE_CODES for t in _tensors(args, outs)):
            return NotImplemented
        if op.key in draws.KERNELS or op.key in draws.ON_HOST:
            return draws.draw(self, op.key, args, outs)
        if tiles.run(self, op, args, outs) is None:
            return None
        if op.key == "linalg_ldl_factor_ex":
            return checked.ldl_factor(args, outs)
        return self.run_composition(op, args, outs)

    def run_composition(self, op, args, outs):
        """Definitions without generated kernels."""
        return NotImplemented

    def fuse(self, program, inputs, outputs, scalars):
        return regions.fuse(program, inputs, outputs, scalars)

    def fuse_rows(self, program):
        return compiled_rows.fuse(program)

    def update(self, op, rows, scalars):
        return updates.update(self, op, rows, scalars)

    def raise_status(self, status: int, what: str, text: str) -> None:
        """Raise what a status of the driver means.

        Args:
            status: its number.
            what: the kernel or copy that failed.
            text: the driver's words.
        """
        raise errors.AcceleratorError(errors.explain(self.name, status, what, text))

    def refuse(self, index: int, nbytes: int, why: str) -> None:
        """Raise that a device has no memory, even with nothing kept for reuse."""
        memory.refuse(self, index, nbytes, why)

    def is_pinned(self, address):
        return pinned.is_pinned(address)

    def use(self, tensor, stream):
        _launch.use(self.device_type, tensor.device.index or 0,
                    _core.address_of(tensor.untyped_storage()._bytes), stream.cuda_stream)

    def hand_over(self, tensor, stream):
        place = f"{self.name}:{tensor.device.index or 0}"
        theirs = streams.ExternalStream(0 if stream in (None, 1, 2) else stream, place)
        ours = streams.current_stream(place)
        if theirs != ours:
            theirs.wait_stream(ours)
            self.use(tensor, theirs)

    def current_stream(self, index):
        return _launch.stream(self.device_type, index) or 1

    def is_capturing(self, index):
        from flambeau.cuda.graphs import is_capturing

        return is_capturing(self.device_type, index)

    def graphed(self, function, samples, parameters):
        from flambeau.cuda.graphed import Graphs

        graphs = Graphs(function, tuple(samples), parameters, unused=True)
        graphs.capture()
        return graphs.run_unless_busy

    def keep_random(self):
        from flambeau.cuda.graphs import keep_numbers

        numbers, captured = self.generators.keep(), keep_numbers()

        def restore() -> None:
            numbers()
            captured()

        return restore

    def later(self, tensor, move):
        """Only copies from pinned memory go on by themselves: what they read is kept for them."""
        if not (tensor.is_cpu and tensor.is_contiguous()
                and pinned.is_pinned(_core.address_of(tensor))):
            return move()
        before = _launch.set_later(True)
        try:
            moved = move()
        finally:
            _launch.set_later(before)
        pinned.keep_until_done(tensor, streams.current_stream(moved.device))
        return moved

    def enter(self, index: int) -> None:
        """Make a device the current one of the libraries that are used."""

    def free_kept(self) -> None:
        """Give back what libraries keep."""

    def memory_info(self, index: int) -> tuple[int, int]:
        """Free and total bytes of a device."""
        raise NotImplementedError

    def properties(self, index: int) -> dict[str, Any]:
        """Name, version and sizes of a device."""
        raise NotImplementedError

    # ---- elementwise -------------------------------------------------------------------------

    def plan(self, op, args, outs):
        """What the launch path runs for calls of an operator over arguments of these kinds.

        Returns:
            What a program packs (``kernels.packed``); or name and functions of the kernels for
            operands that lie alike and for all others, codes of the dtypes of the former's operands
            and results, a bit for each of its masks, the positions of the arguments that are
            packed, and whether numbers decide with how many elements a thread of the former takes
            at once; None where the kernels lack a dtype.
        """
        if op.key.startswith(regions.PREFIX):
            return regions.plan(self, op.key)
        if op.key.startswith(compiled_rows.PREFIX):
            return compiled_rows.plan(self, op.key)
        if any(dtype_name(t.dtype) not in params.DTYPE_CODES for t in _tensors(args, outs)):
            return None
        if op.category == "pointwise":
            return self._pointwise_plan(op, args)
        if op.key in special.FUNCTIONS:
            return self._special_plan(op, outs)
        program = programs.program_of(op.key)
        if program is not None:
            return self._program_plan(program, op.key, args, outs)
        if op.key not in COPIED:
            return None
        return self._copy_plan(args[COPIED[op.key]], outs[0], COPIED[op.key])

    def _pointwise_plan(self, op, args):
        opdef = source.find_opdef(op.key)
        values = dict(zip((p.name for p in opdef.params), args, strict=True))
        kind = _kind_of(opdef, values)
        if kind is None:
            return None
        if kind == "c64" and in_double(opdef):
            kind = "c128"
        chosen = at_literal(opdef, args)[0] if kind in _INEXACT else opdef
        names = [p.name for p in opdef.params]
        packed = tuple(names.index(p.name) for p in chosen.params)
        masks = sum(1 << i for i, p in enumerate(chosen.params) if p.role == "Mask")
        return self._planned(chosen, kind, masks, packed, bool(opdef.literals))

    def _special_plan(self, op, outs):
        function, group = special.FUNCTIONS[op.key], special.group_of(op.key)
        name = special.kernel_name(op.key, dtype_name(outs[0].dtype) == "float64")
        near, far = (self.function(group, function.kind, f"{name}_{w}") for w in ("near", "far"))
        own, packed = params.DTYPE_CODES[_OWN[function.kind]], tuple(range(function.operands))
        return name, near if len(outs) == 1 else 0, far, own, own, 0, packed, (False, 1)

    def _program_plan(self, program, key: str, args, outs):
        """A program of our own kernels, where they do for these arguments."""
        tensor = outs[0] if program.dtype_of < 0 else args[program.dtype_of]
        if not _core.is_tensor(tensor):
            return None         # a number, of which the definition makes a tensor
        dtype = dtype_name(tensor.dtype)
        if dtype not in program.dtypes or (program.accepts and not program.accepts(args, outs)):
            other = program.otherwise
            return other and self._program_plan(other, key, args, outs)
        return programs.packed(program, key, self.function, dtype)

    def _copy_plan(self, value, out, position: int):
        """A cast and broadcast copy of a tensor or number."""
        own = kind_of_dtype(value.dtype if _core.is_tensor(value) else promoted([value]))
        to = kind_of_dtype(out.dtype)
        wide = own == "f64" != to
        kind = own if wide or (to == "i64" and own in ("f32", "f64")) else to
        return self._planned(source.IDENTITY, kind, 0, (position,), False)

    def _planned(self, opdef, kind, masks, packed, by_number):
        group, name = source.group_of(opdef.key), source.kernel_name(opdef, kind)
        near, far = (self.function(group, kind, f"{name}_{where}") for where in ("near", "far"))
        own, result = (params.DTYPE_CODES[_OWN[k]] for k in (kind, source.result_kind(opdef, kind)))
        width = source.pack_width(opdef.key, kind)
        return name, near, far, own, result, masks, packed, (by_number, width)


def _kind_of(opdef, values) -> str | None:
    """The kind of a call; comparisons of uint64 with negative numbers are right in double."""
    operands = [values[p.name] for p in opdef.operands if p.role != "Mask"]
    if opdef.rule == "bool" and any(type(v) is int and v < 0 for v in operands) \
            and dtype_name(promoted(operands)) == "uint64":
        return "f64"
    kind = compute_kind(opdef, values)
    return "u64" if kind is None and is_unsigned(opdef, values) else kind


def _tensors(*lists):
    for values in lists:
        for value in values:
            if _core.is_tensor(value):
                yield value
            elif isinstance(value, (list, tuple)):
                yield from _tensors(value)
