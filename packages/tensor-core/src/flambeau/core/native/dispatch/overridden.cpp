/* Arguments that are no tensors and answer for a call themselves: objects whose type has
 * __torch_function__, such as the proxies of flambeau.fx. They are looked for where a call has
 * failed, so that a call of tensors does nothing for them. */
#include "dispatch/python.h"

static PyObject *answers(PyObject *o) {
    if (fl_tensor_check(o) || PyType_Check(o) || PyUnicode_CheckExact(o) || PyLong_CheckExact(o) ||
        PyFloat_CheckExact(o))
        return nullptr;
    PyObject *found = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__torch_function__");
    if (!found)
        PyErr_Clear();
    return found;
}

/* Add the types of what answers for a call to a list, each once; keep the first one's function. */
static int gather(PyObject *o, int depth, PyObject *types, PyObject **first) {
    if (depth > 0 && (PyTuple_CheckExact(o) || PyList_CheckExact(o))) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
            if (gather(PySequence_Fast_GET_ITEM(o, i), depth - 1, types, first) < 0)
                return -1;
        return 0;
    }
    if (depth > 0 && PySlice_Check(o)) {
        PySliceObject *s = (PySliceObject *)o;
        return gather(s->start, 0, types, first) < 0 || gather(s->stop, 0, types, first) < 0
            ? -1 : gather(s->step, 0, types, first);
    }
    PyObject *function = answers(o);
    if (!function)
        return 0;
    if (!*first)
        *first = Py_NewRef(function);
    Py_DECREF(function);
    int known = PySequence_Contains(types, (PyObject *)Py_TYPE(o));
    return known ? (known < 0 ? -1 : 0) : PyList_Append(types, (PyObject *)Py_TYPE(o));
}

static PyObject *ask(PyObject *function, PyObject *callable, PyObject *types, PyObject *const *args,
                     Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *given = PyTuple_New(nargs), *named = PyDict_New(), *result = nullptr;
    PyObject *kinds = PyList_AsTuple(types);
    int status = given && named && kinds ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < nargs; i++)
        PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
    Py_ssize_t count = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; status == 0 && k < count; k++)
        status = PyDict_SetItem(named, PyTuple_GET_ITEM(kwnames, k), args[nargs + k]);
    if (status == 0)
        result = PyObject_CallFunctionObjArgs(function, callable, kinds, given, named, nullptr);
    Py_XDECREF(given);
    Py_XDECREF(named);
    Py_XDECREF(kinds);
    return result;
}

PyObject *fl_ask_arguments(PyObject *callable, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames) {
    PyObject *type, *value, *trace, *first = nullptr, *result = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *types = PyList_New(0);
    Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    int status = types ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < total; i++)
        status = gather(args[i], 2, types, &first);
    if (status == 0 && first)
        result = ask(first, callable, types, args, nargs, kwnames);
    if (result == Py_NotImplemented)
        Py_CLEAR(result);
    if (!result && !PyErr_Occurred()) {
        PyErr_Restore(type, value, trace);
    } else {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    }
    Py_XDECREF(types);
    Py_XDECREF(first);
    return result;
}
