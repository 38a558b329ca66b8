"""Methods of Tensor by the names behind Python's syntax."""
import flambeau as fl


class Shown(fl.Tensor):
    def __repr__(self):
        return super().__repr__(tensor_contents="two numbers")


def test_contents_of_ones_own():
    x = fl.ones(2)
    assert repr(x.as_subclass(Shown)) == "Shown(two numbers)"
    assert f"{[x.as_subclass(Shown)]}" == "[Shown(two numbers)]"
    assert x.long().__repr__(tensor_contents="a") == "tensor(a)"
    assert x.half().__repr__(tensor_contents="a") == "tensor(a, dtype=flambeau.float16)"
    meta = fl.ones(2, device="meta").__repr__(tensor_contents="a")
    assert meta == "tensor(a, device='meta', size=(2,))"
    assert x.__repr__() == repr(x) == "tensor([1., 1.])"


def test_names_of_python_2():
    x = fl.ones(2)
    assert x.__div__(2).tolist() == [0.5, 0.5] and x.__rdiv__(3).tolist() == [3, 3]
    assert x.__idiv__(4) is x and x.tolist() == [0.25, 0.25]
    assert fl.tensor(3.7).__long__() == 3 and fl.tensor(0.0).__nonzero__() is False


def test_plus_is_the_tensor_itself():
    x = fl.ones(2)
    y = +x
    y += 1
    assert y is x and fl.positive(x) is x and x.tolist() == [2, 2]
