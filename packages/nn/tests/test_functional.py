"""Every public function of nn.functional computes with rows of the operator table."""

from flambeau.core import namespaces, ops
from flambeau.nn import functional as F

#: Functions written in Python for an argument (`inplace`, an implicit `dim`) that the row of the
#: same name does not have.
ADAPTED = {"relu", "leaky_relu", "elu", "silu", "hardtanh", "softmax", "log_softmax"}


def test_every_function_has_a_row():
    rows = namespaces["nn.functional"]
    plain = set(F.__all__) - ADAPTED
    assert plain
    for name in plain:
        assert getattr(F, name) is (rows[name] if name in rows else getattr(ops, name))
    for name in ADAPTED:
        assert callable(getattr(ops, name))
