"""Checkpoints that are built to harm: right in their grammar, wrong in one or several facts.

Bytes changed by chance seldom get past the first check of a format. These files have whole
instructions, directories and headers, with sizes, strides, offsets, keys, names and identities
that do not fit, containers in themselves, and programs that use what they remember again and again.
"""

from __future__ import annotations

import io
import random
import struct
import tarfile
import zipfile

from checkpoint_files import Call, Name, code

NUMBERS = (0, 1, 2, 3, 4, 6, 16, -1, 31, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**64,
           -2**63, 2**200)
KINDS = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool",
         "ComplexFloat", "ComplexDouble", "QInt8", "Odd")
BUILDERS = (
    "torch._utils _rebuild_tensor", "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_tensor_v3", "torch._utils _rebuild_parameter",
    "torch._utils _rebuild_sparse_tensor", "torch._utils _rebuild_qtensor",
    "torch._tensor _rebuild_from_type_v2", "torch.serialization _get_layout", "torch Size",
    "torch device", "collections OrderedDict", "collections Counter", "collections defaultdict",
    "collections deque", "__builtin__ set", "builtins frozenset", "__builtin__ bytearray",
    "__builtin__ complex", "__builtin__ bytes", "__builtin__ range", "_codecs encode",
    "numpy.core.multiarray _reconstruct", "numpy._core.multiarray scalar",
    "numpy._core.numeric _frombuffer", "numpy dtype", "numpy ndarray")
FORBIDDEN = ("os system", "posix system", "builtins eval", "builtins exec", "builtins getattr",
             "subprocess Popen", "torch load", "torch.hub load", "pickle loads", "sys exit",
             "operator attrgetter", "flambeau load", "torch.utils.cpp_extension load_inline",
             "torch.nn Linear", "torch.nn.modules.linear Linear", "__main__ Odd", "a.b c",
             "functools partial", "builtins __import__", "importlib import_module", "\n \n")


def name(rng: random.Random, names: tuple[str, ...]) -> Name:
    return Name(*rng.choice(names).split(" ")[:2])


class Raw:
    """Instructions as they are; `checkpoint_files.code` takes the first attribute that fits."""

    def __init__(self, program: bytes) -> None:
        self.program = program


def assembled(value) -> bytes:
    """The instructions of a value that may have `Raw` ones in it."""
    if isinstance(value, Raw):
        return value.program
    if isinstance(value, tuple):
        return b"(" + b"".join(map(assembled, value)) + b"t"
    if isinstance(value, list):
        return b"](" + b"".join(map(assembled, value)) + b"e"
    if isinstance(value, dict):
        return b"}(" + b"".join(assembled(k) + assembled(v) for k, v in value.items()) + b"u"
    if isinstance(value, Call):
        built = b"" if value.state is None else assembled(value.state) + b"b"
        return code(value.name) + assembled(value.args) + b"R" + built
    return code(value)


def number(rng: random.Random) -> int:
    return rng.choice(NUMBERS) if rng.random() < 0.25 else rng.randrange(5)


def sizes(rng: random.Random):
    made = tuple(number(rng) for _ in range(rng.choice([0, 1, 2, 2, 3, 40 if rng.random() < 0.1
                                                        else 1])))
    return made if rng.random() < 0.95 else list(made)


def storage(rng: random.Random) -> Raw:
    parts = ["storage", Name("torch", f"{rng.choice(KINDS)}Storage"),
             str(rng.randrange(3)), "cpu", rng.choice([16, 4, 2, number(rng)])]
    if rng.random() < 0.3:
        parts.append(rng.choice([None, ("1", number(rng), number(rng))]))
    if rng.random() < 0.15:
        parts[rng.randrange(len(parts))] = value(rng, 3)
    if rng.random() < 0.05:
        del parts[rng.randrange(len(parts))]
    return Raw(assembled(tuple(parts)) + b"Q")


def tensor(rng: random.Random) -> Call:
    size = sizes(rng)
    stride = tuple(number(rng) for _ in size) if rng.random() < 0.9 else sizes(rng)
    if rng.random() < 0.6:
        size, stride = rng.choice([((2, 3), (3, 1)), ((4,), (1,)), ((), ()), ((0, 2), (2, 1)),
                                   ((2, 2), (0, 1))])
    hooks = Call(Name("collections", "OrderedDict"))
    args = [storage(rng), number(rng), size, stride, rng.random() < 0.3, hooks]
    builder = rng.choice(BUILDERS[:3])
    if builder.endswith("v3"):
        args.append(Name("torch", rng.choice(["float32", "int8", "uint16", "complex32", "odd"])))
    if rng.random() < 0.2:
        args.append({"conj": True, "neg": rng.random() < 0.5})
    if rng.random() < 0.1:
        args[rng.randrange(len(args))] = value(rng, 3)
    return Call(Name(*builder.split(" ")), *args)


def sparse(rng: random.Random) -> Call:
    kind = rng.choice(["sparse_coo", "sparse_csr", "sparse_bsr", "sparse_odd"])
    layout = Call(Name("torch.serialization", "_get_layout"), f"torch.{kind}")
    parts = [tensor(rng) for _ in range(2 if kind == "sparse_coo" else 3)]
    return Call(Name("torch._utils", "_rebuild_sparse_tensor"), layout,
                (*parts, Call(Name("torch", "Size"), sizes(rng)), rng.random() < 0.5))


def value(rng: random.Random, depth: int = 0):
    form = rng.randrange(14 if depth < 4 else 6)
    if form < 6:
        return rng.choice([None, True, 0.5, "x", "é", b"raw", number(rng), (), [], {}])
    if form < 8:
        return tensor(rng)
    if form == 8:
        return sparse(rng)
    if form == 9:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if form == 10:
        return tuple(value(rng, depth + 1) for _ in range(rng.randrange(4)))
    if form == 11:
        return Raw(b"}(" + b"".join(assembled(value(rng, depth + 1))
                                    for _ in range(rng.choice([0, 2, 4, 3]))) + b"u")
    args = tuple(value(rng, depth + 1) for _ in range(rng.randrange(4)))
    called = name(rng, BUILDERS if rng.random() < 0.8 else FORBIDDEN)
    return Call(called, *args, state=value(rng, depth + 1) if rng.random() < 0.3 else None)


def bomb(rng: random.Random) -> bytes:
    """Few instructions that ask for much: by depth, by what is remembered, by sizes."""
    many = rng.choice([50, 2000, 30_000])
    start = assembled(value(rng, 3)) + b"q\0"
    makers = [
        lambda: b"]" * many, lambda: b"(" * many, lambda: b")" + b"\x85" * many,
        lambda: b"N" + b"\x85" * many + b"N}(", lambda: start + b"2" * many,
        lambda: start + b"0h\0" * many + b"0" * many, lambda: b"]q\0h\0a",
        lambda: b"}q\0X\1\0\0\0ah\0s", lambda: b"]q\0" + b"h\0\x85" * many,
        lambda: start + b"](" + b"c__builtin__\nset\nh\0\x85R" * many + b"e",
        lambda: b")q\0" + doubled() + b"}h\x3cNs", lambda: b")q\0" + doubled() + b")R",
        lambda: b"](" + assembled(tensor(rng)) * min(many, 500) + b"e",
        lambda: b"X" + struct.pack("<I", rng.choice([2**32 - 1, 2**31, 500])) + b"x" * 400,
        lambda: b"\x8b" + struct.pack("<i", rng.choice([-1, 2**31 - 1, 5000])) + b"\1" * 6000,
        lambda: b"\x8e" + struct.pack("<Q", rng.choice([2**63, 2**40, 3])) + b"abc",
        lambda: b"\x96" + struct.pack("<Q", 2**62), lambda: b"r\xff\xff\xff\xff",
        lambda: b"j\xff\xff\xff\xff", lambda: assembled([sparse(rng)] * 40)]
    return rng.choice(makers)()


def doubled() -> bytes:
    """A tuple of a tuple twice, of a tuple twice, ...: remembered under 60, of 2**60 items."""
    return b"".join(b"h%ch%c\x86q%c" % (i, i, i + 1) for i in range(60))


def program(rng: random.Random) -> bytes:
    body = bomb(rng) if rng.random() < 0.25 else assembled(value(rng, rng.randrange(2)))
    made = b"\x80" + bytes([rng.choice(b"\2\2\2\2\2\2\2\2\4\5\0\x09")]) + body + b"."
    if rng.random() < 0.2:
        at = rng.randrange(len(made))
        made = made[:at] + rng.choice([b"", bytes([rng.randrange(256)]),
                                       rng.choice([b"q\0", b"h\0", b"R", b"b", b"Q", b"\x81"])
                                       ]) + made[at + rng.randrange(2):]
    return made


def zipped(rng: random.Random) -> bytes:
    out = io.BytesIO()
    squeezed = zipfile.ZIP_DEFLATED if rng.random() < 0.05 else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w", squeezed) as archive:
        archive.writestr("x/data.pkl", program(rng))
        for key in range(3):
            archive.writestr(f"x/data/{key}", bytes(rng.choice([64, 64, 0, 3])))
        if rng.random() < 0.5:
            order = b"odd" if rng.random() < 0.1 else rng.choice([b"little", b"big"])
            archive.writestr("x/byteorder", order)
    return directory_changed(rng, out.getvalue())


def directory_changed(rng: random.Random, raw: bytes) -> bytes:
    """An archive whose directory, or the end of it, says something else, in one or two fields."""
    made = bytearray(raw)
    marks = [i for mark in (b"PK\1\2", b"PK\5\6", b"PK\3\4")
             for i in range(len(raw)) if raw.startswith(mark, i)]
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        at = rng.choice(marks) + 4 + rng.randrange(42)
        form = rng.choice(["<H", "<I"])
        size = struct.calcsize(form)
        if at + size <= len(made):
            new = rng.choice([0, 1, 0xffff, rng.randrange(len(raw))]) % (1 << 8 * size)
            made[at:at + size] = struct.pack(form, new)
    return bytes(made)


def old(rng: random.Random) -> bytes:
    """The format of PyTorch before version 1.6."""
    parts = [b"\x80\2\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", b"\x80\2M\xe9\3.",
             b"\x80\2" + assembled({"little_endian": rng.random() < 0.8}) + b".", program(rng),
             b"\x80\2" + assembled([str(k) for k in range(rng.randrange(3))]) + b"."]
    parts += [struct.pack("<q", rng.choice([16, 4, number(rng) % 2**62]))
              + bytes(rng.choice([64, 16, 0])) for _ in range(rng.randrange(3))]
    return b"".join(parts)


def tarred(rng: random.Random) -> bytes:
    """The format of PyTorch before version 0.1.10."""
    count = rng.choice([1, 1, 2, number(rng)])
    memory = b"\x80\2" + assembled(count) + b"."
    facts = (1, "cpu", Name("torch", f"{rng.choice(KINDS)}Storage"))
    memory += b"\x80\2" + assembled(facts) + b"." + struct.pack("<Q", number(rng) % 2**64)
    memory += bytes(rng.choice([64, 8])) + b"\x80\2" + assembled(
        [(2, number(rng), number(rng), number(rng))] * rng.randrange(2)) + b"."
    ndim = rng.choice([1, 2, number(rng) % 2**31])
    views = b"\x80\2" + assembled(count) + b"."
    views += b"\x80\2" + assembled((3, rng.randrange(3), Name("torch", "FloatTensor"))) + b"."
    views += struct.pack("<iI", ndim, 0) + b"".join(
        struct.pack("<Q", number(rng) % 2**64) for _ in range(2 * min(ndim, 40) + 1))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:", format=tarfile.USTAR_FORMAT) as file:
        for member, raw in (("storages", memory), ("tensors", views), ("pickle", program(rng))):
            info = tarfile.TarInfo(member)
            info.size = len(raw)
            file.addfile(info, io.BytesIO(raw))
    return out.getvalue()


def made(data: bytes) -> bytes:
    """A file that bytes choose."""
    rng = random.Random(data)
    return rng.choice([zipped, zipped, zipped, old, tarred])(rng)
