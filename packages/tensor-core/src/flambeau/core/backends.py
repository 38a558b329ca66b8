"""Devices are plugins: the contract of a backend, and how backends are found.

A backend is a package with an entry point in the group ``flambeau.backends``: the name is the
device type, the value a ``Backend`` instance, a function that returns one, or a module whose
import registers the device, as an extension module does that calls the interface's
``add_backend``. Entry points are read when a device type is asked for that nobody knows yet.
``FLAMBEAU_BACKENDS`` limits which are loaded: a comma-separated list of names, empty for none.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from flambeau.core import _core
from flambeau.core.once import first_use

GROUP = "flambeau.backends"
_adapters: dict[str, Backend] = {}


class Backend:
    """What a device must do. Subclass it, set ``name`` and implement the methods.

    Memory is named by integer addresses. Tensors that ``run`` gets are already allocated, with
    shapes, dtypes and strides that the core decided; a backend only computes.
    """

    name = ""
    #: Whether kernels wait in compiled calls, to run as one kernel that ``fuse`` makes.
    fuses = False

    def attach(self) -> int:
        """Make the device type known to the core; returns its number.

        A backend with a launch path of its own gives the core that instead of these methods.
        """
        return _core.register_backend(self)

    def device_count(self) -> int:
        """How many devices of this type there are."""
        return 1

    def allocate(self, index: int, nbytes: int) -> tuple[int, Any]:
        """Memory for ``nbytes`` bytes.

        Args:
            index: Number of the device.
            nbytes: Bytes wanted, possibly 0.

        Returns:
            The address, and an object that owns the memory and frees it when dropped.
        """
        raise NotImplementedError

    def copy(self, index: int, dst: int, src: int, nbytes: int, kind: str) -> None:
        """Copy contiguous bytes.

        Args:
            index: Number of the device.
            dst: Address to write to.
            src: Address to read from.
            nbytes: Bytes to copy, at least 1.
            kind: ``"to_device"``, ``"to_host"`` or ``"within"``.
        """
        raise NotImplementedError

    def run(self, op, args: list, outs: list):
        """Compute one operator.

        Args:
            op: The definition: ``op.key``, ``op.params``, ``op.category``.
            args: Values in the definition's order, defaults filled in; tensors as Tensor objects.
            outs: Allocated output tensors. For in-place operators the first may be ``args[0]``
                itself.

        Returns:
            NotImplemented when the backend has no such kernel, anything else after success.
        """
        raise NotImplementedError

    def fuse(self, program, inputs: Sequence[str], outputs: Sequence[str],
             scalars: Sequence[str]) -> int | None:
        """A kernel of several formulas, each of whose elements depends on elements of one index.

        Args:
            program: A ``flambeau.core.formula.Program``: its ``param`` instructions are called
                ``p0`` (``p0.re``, ``p0.im``) for inputs, its ``scalar`` instructions ``s0``
                likewise. Integers of memory are ``i64``, half precisions ``f32``; outputs are
                what memory of their dtypes can hold.
            inputs: Dtypes of the inputs, which broadcast against each other.
            outputs: Dtypes of the outputs, which lie anywhere, also where an input does.
            scalars: For each number the kind that it is computed with.

        Returns:
            What ``_core.make_kernel`` gave for its inputs, scalars and outputs, in this order; None
            where the backend would rather run the formulas one by one.
        """
        return None

    def fuse_rows(self, program) -> int | None:
        """A kernel of formulas around reductions of rows.

        Args:
            program: A ``flambeau.core.formula.rows.RowProgram``.

        Returns:
            What ``_core.make_kernel`` gave for its inputs, its scalars and one value more, and its
            outputs. That value is the geometry, a list of integers: how many rows there are, the
            elements of a row, which lie side by side, and for each input and each output the bytes
            from row to row, after how many rows these start anew (0: never), and the bytes from one
            such run of rows to the next. None where the backend would rather run the calls one by
            one.
        """
        return None

    def update(self, op: Any, rows: Sequence[Sequence[Any]], scalars: Sequence[Any]) -> bool:
        """Apply a definition that writes to its operands to many rows of tensors at once.

        Args:
            op: The definition.
            rows: For every operand its tensors on one device, one for each row. Those of a row lie
                alike, side by side in memory; no row touches what another one writes.
            scalars: The run-time scalars: numbers, or float64 tensors on that device, of one
                element or of one for each row.

        Returns:
            Whether it was done; False where the rows have to be computed one by one.
        """
        return False

    def device_of(self, address: int) -> int:
        """The number of the device that memory of another library lies on."""
        return 0

    def synchronize(self, index: int) -> None:
        """Wait until everything asked of the device is done."""

    def pinned(self, nbytes: int) -> Any:
        """Page-locked memory of the host, from which copies to the device are fast.

        Args:
            nbytes: Bytes wanted, at least 1.

        Returns:
            An object with the buffer protocol, maybe larger; ``None`` where any memory will do.
        """
        return None


    def is_pinned(self, address: int) -> bool:
        """Whether memory of the host at an address is page-locked."""
        return False

    def use(self, tensor: Any, stream: Any) -> None:
        """Keep a tensor's memory, once it is let go of, until a stream is done with it."""

    def hand_over(self, tensor: Any, stream: int | None) -> None:
        """Let another library's stream wait for what a tensor's elements are computed by.

        Args:
            tensor: What that library gets.
            stream: As ``__dlpack__`` takes it: an address, 1 or None for the default stream.
        """

    def current_stream(self, index: int) -> int | None:
        """The address of the stream that this thread works on, as ``__dlpack__`` takes it."""
        return None

    def is_capturing(self, index: int) -> bool:
        """Whether what this thread asks of a device now will be done again, by a graph."""
        return False

    def graphed(self, function: Any, samples: Sequence[Any], parameters: Sequence[Any]) -> Any:
        """Capture what a function of tensors asks of the device, and its backward pass.

        Args:
            function: Takes tensors such as the samples and returns a list of tensors. It is called
                once, for the capture.
            samples: Its arguments.
            parameters: Other tensors that it reads and that require grad.

        Returns:
            A function of the same arguments, which replays; None where a backward pass of the call
            before is still to come. Or None where the backend keeps no graphs.

        Raises:
            RuntimeError: what the function asks cannot be captured.
        """
        return None

    def later(self, tensor: Any, move: Any) -> Any:
        """Call ``move()``, which copies a tensor; the copy may go on while the program does."""
        return move()

    def keep_random(self) -> Callable[[], None]:
        """What puts the devices' default generators back to where they are now."""
        return lambda: None


def register(backend: Backend) -> int:
    """Make a backend known to this process; returns the number of its device type."""
    if not backend.name.isidentifier():
        raise ValueError(f"a backend's name must be an identifier such as 'cuda', got "
                         f"{backend.name!r}")
    number = backend.attach()
    _adapters[backend.name] = backend
    if backend.fuses:
        _core.let_wait(number)
    return number


def adapter(name: str) -> Backend:
    """The backend of a device type, loaded if need be.

    Raises:
        RuntimeError: no backend written in Python has this name.
    """
    if name not in _adapters:
        load(name)
    return _adapters[name]


def is_capturing(device: Any) -> bool:
    """Whether what this thread asks of a device now will be done again, by a graph."""
    backend = _adapters.get(device.type)
    return backend is not None and backend.is_capturing(device.index or 0)


def keep_random() -> Callable[[], None]:
    """What puts the default generators, of the CPU and of devices, back to where they are now."""
    state, devices = _core.get_rng_state(), [each.keep_random() for each in _adapters.values()]

    def restore() -> None:
        _core.set_rng_state(state)
        for put_back in devices:
            put_back()

    return restore


def updating(device: Any) -> Backend | None:
    """The backend of a device, if it is one written in Python."""
    return _adapters.get(device.type)


def is_pinned(address: int) -> bool:
    """Whether memory of the host is page-locked for one of the backends."""
    return any(backend.is_pinned(address) for backend in list(_adapters.values()))


def _allowed(name: str) -> bool:
    chosen = os.environ.get("FLAMBEAU_BACKENDS")
    return chosen is None or name in chosen.split(",")


def available() -> list[str]:
    """Device types that are known or could be loaded."""
    from importlib.metadata import entry_points

    found = {e.name for e in entry_points(group=GROUP) if _allowed(e.name)}
    return sorted(found | set(_core.known_devices()) | {"ref"})


def load(name: str) -> None:
    """Load the backend of a device type.

    Raises:
        RuntimeError: no installed package provides it, or it failed to load.
    """
    if name == "ref":
        from flambeau.testing.reference import ReferenceBackend

        _register_once(name, ReferenceBackend)
        return
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=name):
        if _allowed(name):
            _load_entry(entry)
            return
    hint = "; flambeau-cuda-backend provides it: pip install flambeau-cuda-backend[cuda12]" \
        if name == "cuda" else ""
    raise RuntimeError(f"Expected one of {', '.join(available())} as device type, got {name!r}"
                       f"{hint}")


def _load_entry(entry) -> None:
    try:
        found = entry.load()
        if not isinstance(found, ModuleType):
            _register_once(entry.name, found)
        elif entry.name not in _core.known_devices():
            raise RuntimeError("its import did not register a device of this name")
    except Exception as error:
        raise RuntimeError(f"the backend of device type {entry.name!r} ({entry.value}) did not "
                           f"load: {error}") from error


def _register_once(name: str, found) -> None:
    """Register a backend, or what a function returns, unless another thread was faster."""
    with first_use:     # not around the import, whose module may register operators
        if name not in _core.known_devices():
            register(found() if callable(found) else found)
