/* What flambeau.Size is made of: a tuple whose slices, sums and repetitions are of its own type. In C, because
 * x.shape[0] is read everywhere. */
#include "dispatch/python.h"

static PyTypeObject *base_type = nullptr;

/* A tuple of this type with the items of one or two arrays. */
static PyObject *joined(PyTypeObject *type, PyObject *const *first, Py_ssize_t n,
                        PyObject *const *second, Py_ssize_t m) {
    PyObject *size = type->tp_alloc(type, n + m);
    for (Py_ssize_t i = 0; size && i < n + m; i++)
        PyTuple_SET_ITEM(size, i, Py_NewRef(i < n ? first[i] : second[i - n]));
    return size;
}

static PyObject *subscript(PyObject *self, PyObject *index) {
    if (PyLong_CheckExact(index)) {
        int overflow;
        long i = PyLong_AsLongAndOverflow(index, &overflow);
        i += i < 0 ? PyTuple_GET_SIZE(self) : 0;
        if (!overflow && i >= 0 && i < PyTuple_GET_SIZE(self))
            return Py_NewRef(PyTuple_GET_ITEM(self, i));
    }
    PyObject *item = PyTuple_Type.tp_as_mapping->mp_subscript(self, index);
    if (!item || !PySlice_Check(index))
        return item;
    PyObject *size = joined(Py_TYPE(self), ((PyTupleObject *)item)->ob_item,
                            PyTuple_GET_SIZE(item), nullptr, 0);
    Py_DECREF(item);
    return size;
}

static PyObject *add(PyObject *left, PyObject *right) {
    bool sequences = (PyTuple_Check(left) || PyList_Check(left)) &&
                     (PyTuple_Check(right) || PyList_Check(right));
    if (!sequences)
        Py_RETURN_NOTIMPLEMENTED;
    PyTypeObject *type = Py_TYPE(PyObject_TypeCheck(left, base_type) ? left : right);
    return joined(type, PySequence_Fast_ITEMS(left), PySequence_Fast_GET_SIZE(left),
                  PySequence_Fast_ITEMS(right), PySequence_Fast_GET_SIZE(right));
}

static PyObject *repeat(PyObject *self, Py_ssize_t count) {
    PyObject *items = PyTuple_Type.tp_as_sequence->sq_repeat(self, count);
    PyObject *size = items ? joined(Py_TYPE(self), ((PyTupleObject *)items)->ob_item,
                                    PyTuple_GET_SIZE(items), nullptr, 0) : nullptr;
    Py_XDECREF(items);
    return size;
}

PyObject *fl_size_base(void) {
    static PyType_Slot slots[] = {{Py_mp_subscript, (void *)subscript}, {Py_nb_add, (void *)add},
                                  {Py_sq_repeat, (void *)repeat}, {0, nullptr}};
    static PyType_Spec spec = {"flambeau.core._core.Sizes", 0, 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    PyObject *type = PyType_FromSpecWithBases(&spec, (PyObject *)&PyTuple_Type);
    base_type = (PyTypeObject *)type;
    return type;
}
