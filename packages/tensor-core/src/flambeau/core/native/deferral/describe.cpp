/* What waits, in the planner's terms. */
#include "deferral/plan.h"
#include "random/taken.h"

namespace {

PyObject *describe_tensor(const fl_value &v, const fl_queue *q) {
    const fl_tensor *t = v.t;
    PyObject *shape = PyTuple_New(t->ndim), *strides = PyTuple_New(t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        PyTuple_SET_ITEM(shape, i, PyLong_FromLongLong(t->shape[i]));
        PyTuple_SET_ITEM(strides, i, PyLong_FromLongLong(t->strides[i]));
    }
    return Py_BuildValue("IsNNLi", v.len, fl_dtype_name(t->dtype), shape, strides,
                         (long long)(t->data - q->slots[v.len].storage->ptr),
                         fl_itemsize(t->dtype));
}

}  // namespace

PyObject *fl_describe_calls(const fl_queue *q) {
    PyObject *list = PyList_New(0);
    for (const fl_queue::Call &c : q->calls) {
        PyObject *parts[2] = {PyList_New(0), PyList_New(0)};
        for (int i = 0; i < c.n + c.nouts; i++) {
            const fl_value &v = q->values[c.first + (size_t)i];
            PyObject *o = v.tag == FL_TENSOR  ? describe_tensor(v, q)
                          : v.tag == FL_TAKEN ? Py_NewRef(Py_None)
                                              : fl_box(&v);
            if (!o || PyList_Append(parts[i >= c.n], o) < 0) {
                Py_XDECREF(o);
                Py_DECREF(parts[0]);
                Py_DECREF(parts[1]);
                Py_DECREF(list);
                return nullptr;
            }
            Py_DECREF(o);
        }
        PyObject *name = c.op->overload[0] ? PyUnicode_FromFormat("%s.%s", c.op->name, c.op->overload)
                                           : PyUnicode_FromString(c.op->name);
        PyObject *entry = Py_BuildValue("NNN", name, parts[0], parts[1]);
        PyList_Append(list, entry);
        Py_XDECREF(entry);
    }
    return list;
}
