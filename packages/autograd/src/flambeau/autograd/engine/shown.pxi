# What Python sees of a node: `type(y.grad_fn).__name__` is "AddBackward0", as in PyTorch.
#
# Recording makes plain Nodes and knows nothing of this. When a node is first handed to Python,
# its type is changed to a subclass of the same layout that bears its name.
cdef dict _shown_types = {}  # name -> subclass of Node


cdef object shown(PyObject *o):
    """A node or leaf record as Python gets it."""
    cdef type kind
    if Py_TYPE(o) == <PyTypeObject *>Node:
        kind = _shown_type(node_name(<Node>o))
        Py_INCREF(<PyObject *>kind)     # an instance owns its type, unless that is static
        Py_SET_TYPE(o, <PyTypeObject *>kind)
    return <object>o


def node_type(name):
    """The type that nodes of a name have in Python."""
    return _shown_type(name)


cdef type _shown_type(str name):
    kind = _shown_types.get(name)
    if kind is None:
        module = "flambeau.autograd.graph"
        if _core.shown_package[0] == "torch":   # a program's own Function has no number there
            module = "torch.autograd.function" if name.endswith("Backward") else "builtins"
        kind = type(name, (Node,), {"__slots__": (), "__module__": module,
                                    "__doc__": f"A node of the graph: {name}."})
        _shown_types[name] = kind
    return kind
