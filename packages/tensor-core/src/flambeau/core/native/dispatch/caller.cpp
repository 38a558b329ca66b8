/* Errors that leave a composite name it: who calls addmm has not heard of the product inside. */
#include "dispatch/caller.h"
#include "dispatch/python.h"

/* What users call the operator, without its namespace. */
static const char *bare_name(const char *called) {
    const char *dot = strrchr(called, '.');
    return dot ? dot + 1 : called;
}

/* The first word of a text: "matmul():" of "matmul(): self is [2, 3]". */
static void first_word(const char *text, char *word, size_t room) {
    size_t n = strcspn(text, " ");
    snprintf(word, room, "%.*s", (int)(n < room ? n : room - 1), text);
}

/* The error's text where its class takes just that, as the classes do that operators raise. */
static const char *text_of(PyObject *error) {
    PyObject *kinds[] = {PyExc_TypeError, PyExc_ValueError, PyExc_RuntimeError, PyExc_IndexError};
    bool known = false;
    for (PyObject *kind : kinds)
        known |= PyErr_GivenExceptionMatches(error, kind) != 0;
    static PyObject *name = PyUnicode_InternFromString("args");  /* Python's caches keep names */
    PyObject *args = known && name ? PyObject_GetAttr(error, name) : nullptr;
    const char *text = nullptr;
    if (args && PyTuple_Check(args) && PyTuple_GET_SIZE(args) == 1 &&
        PyUnicode_Check(PyTuple_GET_ITEM(args, 0)))
        text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(args, 0));    /* the error keeps it */
    Py_XDECREF(args);
    PyErr_Clear();
    return text;
}

static void set_text(PyObject *error, const char *called, const char *text) {
    char word[80];
    first_word(text, word, sizeof word);
    bool of_operator = strchr(word, ':') != nullptr;
    PyObject *args = Py_BuildValue("(N)", PyUnicode_FromFormat("%s(): %s%s", called,
                                                               of_operator ? "in " : "", text));
    if (!args || PyObject_SetAttrString(error, "args", args) < 0)
        PyErr_Clear();      /* the text stays as it was */
    Py_XDECREF(args);
}

void fl_name_in_error(const fl_op *op) {
    if (!PyErr_Occurred())
        fl_raise();
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    const char *called = fl_op_called(op), *text = error ? text_of(error) : nullptr;
    if (text) {
        char word[80];
        first_word(text, word, sizeof word);
        if (!strstr(word, bare_name(called)))
            set_text(error, called, text);
    }
    PyErr_Restore(type, error, trace);
}
