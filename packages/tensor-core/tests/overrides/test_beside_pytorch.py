"""What `__torch_function__` is shown, beside PyTorch: every function, and Python's syntax."""
import inspect

import pytest

import flambeau

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

# Private names, other kinds of tensors, and what this library has not.
_SAME = {"__rdiv__": "__rtruediv__", "__pow__": "pow", "__ipow__": "pow_"}


def recorder(seen):
    """A class whose objects answer every call and note it."""
    class Records:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func.__name__, [type(a).__name__ for a in args], len(types)))
            return 0
    return Records


def reached(library, path):
    """The object at a dotted name of a library, or None."""
    found = library
    for word in path.split("."):
        try:
            found = getattr(found, word)
        except (AttributeError, ModuleNotFoundError, NotImplementedError):
            return None
    return found


def functions():
    """Dotted names of what PyTorch lists as overridable, and how many arguments each needs."""
    for function, stand_in in torch.overrides.get_testing_overrides().items():
        name = torch.overrides.resolve_name(function)
        if name is None or "._" in name or "quantize" in name or "__get__" in name:
            continue
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        needed = [p for p in inspect.signature(stand_in).parameters.values()
                  if p.kind in kinds and p.default is p.empty]
        yield name.removeprefix("torch.").removeprefix("functional."), max(len(needed), 1)


def outcome(library, path, count):
    """What is recorded when a function is called with such objects."""
    seen = []
    function = reached(library, path)
    record = recorder(seen)
    try:
        function(*[record() for _ in range(count)])
    except Exception as error:
        return type(error).__name__
    return seen[0] if seen else None


def test_every_function_is_shown_as_in_pytorch():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")

    class Plain(flambeau.Tensor):
        """From here on functions of Python's are covered, too."""

    checked, wrong = 0, []
    for path, count in functions():
        if reached(flambeau, path) is None or reached(torch, path) is None:
            continue
        theirs = outcome(torch, path, count)
        if not isinstance(theirs, tuple):
            continue            # arguments that PyTorch does not take
        ours = outcome(flambeau, path, count)
        checked += 1
        if not isinstance(ours, tuple):
            wrong.append((path, theirs, ours))
        elif ours[0] not in (theirs[0], reached(flambeau, path).__name__):
            wrong.append((path, theirs, ours))      # aliases are one object here
    assert checked > 600
    assert not wrong, "\n".join(map(str, wrong))


SYNTAX = """s+1|1+s|s-1|1-s|s*2|2*s|s/2|2/s|s//2|2//s|s%2|2%s|s**2|2**s|t+s|s+t|t-s|t/s|t//s
t**s|t%s|m@m|i&1|1&i|i^1|i<<1|1<<i|i>>1|~i|-s|+s|abs(s)|s<1|s==1|1==s|s!=1|1<s|t<s
s[0]|t[i]|s[0:1]|len(s)|bool(z)|float(z)|int(z)|complex(z)|z.item()|repr(s)|s.shape
s.size()|s.dtype|s.device|s.T|s.ndim|s.dim()|s.numel()|s.data|s.tolist()
lib.cat([t,s])|lib.cat((s,t))|lib.add(t,1,out=s)|lib.sum(s)|s.to('cpu')|s.float()
lib.einsum('i,i->',s,s)|lib.stack([s,s])|s.new_zeros(2)|s.detach()|s.clone()
s.numpy()|1 in s|s.view(3,1)|lib.numel(s)|lib.max(m,0)|s.is_floating_point()
s.type()|reversed(s)|lib.allclose(s,s)|t.type_as(s)|lib.broadcast_tensors(s,t)
lib.meshgrid(s,s)|[q for q in m][0]|s.__iadd__(1)|s.__ifloordiv__(1)
s.__setitem__(0,1)|hash(s)|s.requires_grad|s.is_leaf""".replace(
    "\n", "|").split("|")


def scope(library):
    seen = []

    class S(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            name = func.__name__
            if name in ("__get__", "__set__"):
                name += " " + func.__self__.__name__
            seen.append((name, [type(a).__name__ for a in args]))
            return super().__torch_function__(func, types, args, kwargs)

    names = {"s": library.ones(3).as_subclass(S), "t": library.ones(3), "lib": library,
             "i": library.ones(3, dtype=library.int64).as_subclass(S),
             "z": library.ones(()).as_subclass(S), "m": library.ones(2, 2).as_subclass(S)}
    return seen, names


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", SYNTAX)
def test_syntax_and_methods_are_shown_as_in_pytorch(text):
    if "requires_grad" in text or "is_leaf" in text or "detach" in text:
        pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    results = []
    for library in (torch, flambeau):
        seen, names = scope(library)
        result = eval(text, names)
        first = [(_SAME.get(name, name), kinds) for name, kinds in seen if name != "dim"][:1]
        results.append((first, type(result).__name__))
    assert results[0] == results[1]


IDENTICAL = """t.add(1)|Tensor.add
t+1|Tensor.add
1+t|Tensor.add
torch.add(t,1)|add
torch.add(input=t,other=1)|add
t.add_(1)|Tensor.add_
t.__iadd__(1)|Tensor.add_
1-t|Tensor.__rsub__
t/2|Tensor.div
2/t|Tensor.__rtruediv__
t**2|Tensor.__pow__
t.pow(2)|Tensor.pow
2**t|Tensor.__rpow__
t.__ipow__(2)|Tensor.__ipow__
-t|Tensor.neg
abs(t)|Tensor.abs
t@t|Tensor.matmul
torch.matmul(t,t)|matmul
t==1|Tensor.__eq__
t<1|Tensor.lt
t.int()|Tensor.int
t.conj()|Tensor.conj
torch.conj(t)|conj
t.is_same_size(t)|Tensor.is_same_size
torch.is_same_size(t,t)|is_same_size
t.ndimension()|Tensor.dim
t.nelement()|Tensor.numel
t.sum()|Tensor.sum
torch.sum(t)|sum
t.shape|Tensor.shape.__get__
t.grad|Tensor.grad.__get__
t.requires_grad_(False)|Tensor.requires_grad_
F.relu(t,inplace=False)|nn.functional.relu
torch.relu(t)|relu
F.softmax(t,dim=0)|nn.functional.softmax
torch.softmax(t,dim=0)|softmax
F.dropout(t,p=0.5)|nn.functional.dropout
torch.dropout(t,0.5,True)|dropout
F.layer_norm(t,(3,))|nn.functional.layer_norm
torch.layer_norm(t,(3,))|layer_norm
torch.linalg.norm(t)|linalg.norm
torch.norm(t)|norm""".split("\n")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", IDENTICAL)
def test_what_is_handed_is_the_very_object_that_handlers_are_kept_by(text):
    if "grad" in text:
        pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    if "F." in text:
        pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    expression, _, path = text.partition("|")
    for library in (torch, flambeau):
        seen = []

        class S(library.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None, seen=seen):
                seen.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})

        t = library.ones(3).as_subclass(S)
        eval(expression, {"t": t, "torch": library, "F": library.nn.functional})
        wanted = reached(library, path)
        assert seen[0] == wanted and hash(seen[0]) == hash(wanted), (library.__name__, seen[0])
        table = {reached(library, name): name for name in (
            "Tensor.add", "add", "Tensor.conj", "conj", "Tensor.relu", "relu",
            "nn.functional.relu", "Tensor.sum", "sum", "layer_norm", "nn.functional.layer_norm")}
        assert len(table) == 11, "two names are one key"


def test_names_are_those_that_objects_have():
    resolve = flambeau.overrides.resolve_name
    assert resolve(flambeau.Tensor.numel) == "flambeau.Tensor.numel"
    assert resolve(flambeau.Tensor.add) == "flambeau.Tensor.add"
    assert resolve(flambeau.add) == "flambeau.add"
    assert (flambeau.add.__module__, flambeau.add.__qualname__) == ("flambeau", "add")
    assert flambeau.Tensor.add.__qualname__ == "Tensor.add"
    assert flambeau.overrides.is_tensor_method_or_property(flambeau.Tensor.add)
    assert not flambeau.overrides.is_tensor_method_or_property(flambeau.add)


def keywords_of(library, path, args, kwargs):
    """How many positional arguments and which keywords a class is shown, by their text."""
    seen = []

    class Records:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((len(args), {name: str(value) for name, value in (kwargs or {}).items()}))
            return 0

    function = reached(library, path)
    try:
        function(*[Records() if value == "x" else value for value in args], **kwargs)
    except Exception as error:
        return type(error).__name__
    return [(n, {k: "x" if "Records" in v else v for k, v in given.items()}) for n, given in seen]


CALLS = [
    ("nn.functional.dropout", ("x",), {}),
    ("nn.functional.dropout", ("x", 0.25), {}),
    ("nn.functional.dropout", ("x",), {"p": 0.25, "training": False}),
    ("nn.functional.relu", ("x", True), {}),
    ("nn.functional.gelu", ("x",), {}),
    ("nn.functional.linear", ("x", "x", "x"), {}),
    ("nn.functional.conv2d", ("x", "x", None, 2), {}),
    ("nn.functional.softmax", ("x", 1), {}),
    ("nn.functional.pad", ("x", (1, 1), "reflect"), {}),
    ("nn.functional.cross_entropy", ("x", "x", "x"), {"reduction": "sum"}),
    ("nn.functional.max_pool2d", ("x", 2), {}),
    ("nn.functional.max_pool2d", ("x", 2, 1), {"dilation": 3}),
    ("nn.functional.unfold", ("x", 3), {}),
    ("nn.functional.normalize", ("x",), {}),
    ("nn.functional.multi_head_attention_forward",
     ("x", "x", "x", 2, 1, None, None, None, None, False, 0.5, "x", "x"), {}),
    ("norm", ("x",), {"dim": 1}),
    ("split", ("x", 2), {}),
    ("split", ("x",), {"split_size_or_sections": 2, "dim": 1}),
    ("tensordot", ("x", "x", 1), {}),
    ("meshgrid", ("x", "x"), {}),
    ("meshgrid", ("x", "x"), {"indexing": "ij"}),
    ("stft", ("x", 4), {}),
    ("add", ("x", 1), {"alpha": 2}),
]


@pytest.mark.parametrize(("path", "args", "kwargs"), CALLS)
def test_options_are_shown_by_name_as_in_pytorch(path, args, kwargs):
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")

    class Plain(flambeau.Tensor):
        """From here on functions of Python's are covered, too."""

    theirs = keywords_of(torch, path, args, kwargs)
    assert isinstance(theirs, list) and theirs
    assert keywords_of(flambeau, path, args, kwargs) == theirs
