"""Sample inputs for definitions: NumPy arrays and numbers, in every layout that kernels must
handle.

Pointwise definitions and reductions follow from the roles of their parameters; other definitions
are in the table of ``by_key.py``.
"""
from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from flambeau.core.opdefs.opdef import FORMULA_OF_KIND, OpDef

#: The dtypes that definitions are tried with.
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
          "bfloat16", "float16", "float32", "float64", "complex64", "complex128")

Sample = tuple[list, dict]


class Maker:
    """Random arrays of a dtype; bfloat16 ones are float32 arrays, for NumPy has no such type."""

    def __init__(self, dtype: str, seed: str, domain: tuple[float, float] = (-3.0, 3.0)) -> None:
        self.dtype = dtype
        self.domain = domain
        self.rng = np.random.default_rng(zlib.crc32(f"{seed} {dtype}".encode()))

    @property
    def numpy_dtype(self) -> str:
        return "float32" if self.dtype == "bfloat16" else self.dtype

    def array(self, *shape: int) -> np.ndarray:
        """C-contiguous values inside the domain."""
        if self.dtype == "bool":
            return self.mask(*shape)
        if self.dtype.startswith("uint"):
            return np.asarray(self.rng.integers(0, 12, shape)).astype(self.dtype)
        if self.dtype.startswith("int"):
            return np.asarray(self.rng.integers(-6, 7, shape)).astype(self.dtype)
        values = self.rng.uniform(*self.domain, shape)
        if self.dtype.startswith("complex"):
            values = values + 1j * self.rng.uniform(*self.domain, shape)
        if self.dtype in ("bfloat16", "float16"):
            values = np.round(np.asarray(values) * 32) / 32
        return np.asarray(values).astype(self.numpy_dtype)

    def distinct(self, *shape: int) -> np.ndarray:
        """Different values in a random order."""
        count = int(np.prod(shape))
        return self.rng.permutation(count).reshape(shape).astype(self.numpy_dtype)

    def mask(self, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.random(shape) < 0.5)

    def index(self, below: int, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.integers(0, below, shape))


def samples(opdef: OpDef, dtype: str) -> Iterator[Sample]:
    """Arguments to call a definition with.

    Args:
        definition: A definition of the table.
        dtype: Name of the dtype of the tensors, one of ``DTYPES``.

    Yields:
        Positional arguments in the definition's order, tensors as arrays; and keyword arguments.
    """
    from flambeau.testing.samples.by_key import BY_KEY, FLOATING
    from flambeau.testing.samples.linalg import BY_KEY as LINALG

    make = Maker(dtype, opdef.key, opdef.domain)
    if opdef.key in LINALG:
        for args in LINALG[opdef.key](make):
            yield list(args), {}
        return
    if opdef.key in FLOATING and "float" not in dtype:
        return
    if opdef.key in BY_KEY:
        for args in BY_KEY[opdef.key](make):
            yield list(args), {}
    elif opdef.category == "pointwise":
        yield from _pointwise(opdef, make)
    elif opdef.category == "reduction":
        yield from _reduction(opdef, make)
    elif [p.role for p in opdef.params if not p.has_default] == ["Tensor"]:
        for array in layouts(make):
            yield [array], {}


def formula_of(dtype: str) -> str:
    """The kind of formula that a dtype is computed with."""
    if dtype == "bool":
        return "bool"
    family = dtype.rstrip("0123456789")
    return {"uint": "int", "int": "int", "complex": "complex"}.get(family, "float")


def has_formula(opdef: OpDef, dtype: str) -> bool:
    """Whether a pointwise definition takes operands of a dtype."""
    kind = formula_of(dtype)
    floats = opdef.rule == "float" and kind in ("int", "bool")
    if opdef.rule == "integer" and kind == "bool":
        kind = "int"
    assert kind in FORMULA_OF_KIND.values()
    if opdef.refuses_integers and kind in ("int", "bool"):
        return False
    if opdef.refuses_bools and kind == "bool":
        return False
    return kind in opdef.formulas or (floats and "float" in opdef.formulas)


def layouts(make: Maker) -> list[np.ndarray]:
    """One matrix in the layouts a kernel meets, an empty one and a single number."""
    return [make.array(3, 5), make.array(5, 3).T, make.array(6, 10)[::2, ::2],
            np.broadcast_to(make.array(5), (3, 5)), make.array(0, 5), make.array()]


def _pointwise(opdef: OpDef, make: Maker) -> Iterator[Sample]:
    if not has_formula(opdef, make.dtype):
        return
    shapes = [lambda k: make.array(3, 5), lambda k: make.array(5, 3).T if k else make.array(3, 5),
              lambda k: make.array(6, 10)[::2, ::2], lambda k: make.array(5) if k else
              make.array(3, 5), lambda k: make.array(*(1, 3)[:1 + k % 2]) if k else
              make.array(2, 2, 1), lambda k: make.array(0, 5), lambda k: make.array(),
              lambda k: make.array(2, 1500)]
    for shape in shapes:
        args: list = []
        k = 0
        for p in opdef.params:
            if p.role == "Mask":
                args.append(np.asarray(np.asarray(shape(k)) != 0))
            elif p.is_operand:
                args.append(shape(k))
            else:
                args.append(_scalar(p, make.dtype))
            k += p.is_operand
        if opdef.refuses_integer_zeros and args[1].dtype.kind in "iu":
            args[1][args[1] == 0] = 3  # the core raises there, devices need not
        yield args, {}
    yield from _with_numbers(opdef, make)


def _with_numbers(opdef: OpDef, make: Maker) -> Iterator[Sample]:
    """Python numbers instead of all operands but the first."""
    if sum(p.role == "Operand" for p in opdef.params) < 2 or any(p.writes for p in opdef.params):
        return
    args: list = []
    first = True
    for p in opdef.params:
        if p.role == "Operand" and not first:
            args.append(True if make.dtype == "bool" else 2)
        elif p.role == "Mask":
            args.append(make.mask(3, 5))
        else:
            args.append(make.array(3, 5) if p.is_operand else _scalar(p, make.dtype))
        first = first and not (p.is_operand and p.role != "Mask")
    yield args, {}


def _scalar(p, dtype: str):
    if p.name == "max_val":
        return 1
    if formula_of(dtype) in ("bool", "int"):
        return int(p.default) if p.has_default else 1
    return 0.5 if p.name in ("alpha", "value") else p.default if p.has_default else 0.5


def _reduction(opdef: OpDef, make: Maker) -> Iterator[Sample]:
    names = [p.name for p in opdef.params]
    optional = opdef.params[1].role == "Dims" or opdef.params[1].optional
    every = [None, 0, -1, (0, 2), (0, 1, 2)]
    dims: list = every if opdef.params[1].role == "Dims" else [None, 0, 1, -1]
    dims = dims if optional and opdef.key != "logsumexp" else [d for d in dims if d is not None]
    for x in (make.array(3, 4, 5), make.array(5, 4, 3).T, make.array(3, 8, 5)[:, ::2]):
        for dim in dims:
            for keepdim in (False, True):
                yield [{"self": x, "dim": dim, "keepdim": keepdim, "dtype": None,
                        "correction": 1}[name] for name in names], {}
    edge = 0 if not (optional and opdef.key != "logsumexp") else None
    for x in (make.array(), make.array(2, 0, 3), make.array(1, 4097)):
        yield [{"self": x, "dim": -1 if x.shape == (2, 0, 3) else edge, "keepdim": False,
                "dtype": None, "correction": 0}[name] for name in names], {}
