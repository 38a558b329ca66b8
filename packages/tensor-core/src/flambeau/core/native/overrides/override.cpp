/* Which calls are shown to a class's or a mode's `__torch_function__`. */
#include "overrides/override.h"
#include "dispatch/python.h"

bool fl_overriding = false;
__thread fl_override_state fl_overrides __attribute__((tls_model("initial-exec"))) = {};
PyObject *fl_no_override = nullptr;
PyObject *fl_show_call = nullptr;
PyObject *fl_show_syntax = nullptr;

/* Types that arguments mostly have, and that have no such method. */
static bool is_ordinary(const PyTypeObject *type) {
    return type == fl_tensor_type || type == &PyLong_Type || type == &PyFloat_Type ||
           type == &PyBool_Type || type == &PyUnicode_Type || type == Py_TYPE(Py_None) ||
           type == &PySlice_Type;
}

PyObject *fl_class_override(PyTypeObject *type) {
    static PyObject *name = PyUnicode_InternFromString("__torch_function__");
    if (is_ordinary(type) || !name)
        return nullptr;
    PyObject *found = _PyType_Lookup(type, name);
    return found == fl_no_override ? nullptr : found;
}

/* An argument, or an element of a list of tensors. */
static bool has_override(PyObject *o) {
    if (FL_LIKELY(Py_TYPE(o) == fl_tensor_type))
        return false;
    if (!PyTuple_Check(o) && !PyList_Check(o))
        return fl_class_override(Py_TYPE(o)) != nullptr;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
        if (fl_class_override(Py_TYPE(PySequence_Fast_GET_ITEM(o, i))))
            return true;
    return fl_class_override(Py_TYPE(o)) != nullptr;
}

static bool any_override(PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (has_override(args[i]))
            return true;
    return false;
}

bool fl_is_shown(PyObject *const *args, Py_ssize_t n) {
    const fl_override_state &state = fl_overrides;
    if (state.all_off)
        return false;
    return (state.modes || (!state.classes_off && any_override(args, n))) && !fl_is_skipped();
}

/* Call `show` with what is shown, and the call's arguments as Python code writes them. */
static PyObject *call_with(PyObject *show, PyObject *what, PyObject *const *args,
                           Py_ssize_t nargs, PyObject *kwnames) {
    Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *given = PyTuple_New(nargs), *keywords = named ? PyDict_New() : Py_NewRef(Py_None);
    PyObject *result = nullptr;
    bool ready = given && keywords;
    for (Py_ssize_t i = 0; ready && i < nargs; i++)
        PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; ready && i < named; i++)
        ready = PyDict_SetItem(keywords, PyTuple_GET_ITEM(kwnames, i), args[nargs + i]) == 0;
    if (ready)
        result = PyObject_CallFunctionObjArgs(show, what, given, keywords, nullptr);
    Py_XDECREF(given);
    Py_XDECREF(keywords);
    return result;
}

PyObject *fl_shown(PyObject *function, PyObject *const *args, Py_ssize_t nargs,
                   PyObject *kwnames) {
    return call_with(fl_show_call, function, args, nargs, kwnames);
}

PyObject *fl_ask_arguments(PyObject *callable, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames) {
    const fl_override_state &state = fl_overrides;
    if (state.all_off || state.classes_off)
        return nullptr;
    PyObject *type, *value, *trace;     /* looking up a name in a class clears the error */
    PyErr_Fetch(&type, &value, &trace);
    if (!any_override(args, fl_count_arguments(nargs, kwnames))) {
        PyErr_Restore(type, value, trace);
        return nullptr;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return fl_shown(callable, args, nargs, kwnames);
}

PyObject *fl_show_operator(const fl_op *op, PyObject *a, PyObject *b, bool inplace) {
    return PyObject_CallFunction(fl_show_syntax, "sOOO", op->name, a, b ? b : Py_None,
                                 inplace ? Py_True : Py_False);
}
