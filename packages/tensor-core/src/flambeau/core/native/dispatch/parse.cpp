/* Arguments of a Python call to the values of an operator. */
#include "dispatch/python.h"

static int too_many(const fl_op *op, Py_ssize_t nargs, int allowed) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments, but %zd were given",
                 fl_op_called(op), allowed, nargs);
    return -1;
}

/* A tensor of one integer is an int, too: x.view(lengths.max(), -1). */
static bool is_integer_tensor(PyObject *o) {
    const fl_tensor *t = (const fl_tensor *)o;
    return t->numel == 1 && fl_is_int(t->dtype);
}

static inline bool is_int(PyObject *o) {
    if (PyLong_CheckExact(o))
        return true;
    if (fl_tensor_check(o))
        return is_integer_tensor(o);
    return PyIndex_Check(o) && !PyBool_Check(o) && !PyList_Check(o);
}

/* Sizes may be given one by one: x.view(2, 3). */
static int collect(const fl_op *op, int param, PyObject *const *args, Py_ssize_t first,
                   Py_ssize_t nargs, fl_value *v, fl_arena *arena) {
    Py_ssize_t n = nargs - first;
    v->tag = FL_INTS;
    v->len = (uint32_t)n;
    v->is = arena->words(n);
    if (!v->is)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = args[first + i];
        if (!is_int(o)) {
            PyErr_Format(PyExc_TypeError,
                         "%s(): argument '%s' must be ints, got %.100s at position "
                         "%zd", fl_op_called(op), op->params[param].name, Py_TYPE(o)->tp_name, i);
            return -1;
        }
        v->is[i] = PyNumber_AsSsize_t(o, PyExc_OverflowError);
        if (v->is[i] == -1 && PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* Tensors given one by one: broadcast_tensors(a, b). */
static int collect_tensors(const fl_op *op, int param, PyObject *const *args, Py_ssize_t first,
                           Py_ssize_t nargs, fl_value *v, fl_arena *arena) {
    Py_ssize_t n = nargs - first;
    v->tag = FL_TENSORS;
    v->len = (uint32_t)n;
    v->ts = (fl_tensor **)arena->words(n);
    if (!v->ts)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = args[first + i];
        if (!fl_tensor_check(o)) {
            PyErr_Format(PyExc_TypeError, "%s(): argument '%s' must be tensors, got %.100s at "
                         "position %zd", fl_op_called(op), op->params[param].name,
                         Py_TYPE(o)->tp_name, i);
            return -1;
        }
        v->ts[i] = (fl_tensor *)o;
    }
    return 0;
}

/* Whether ints may be given one by one: sizes, and dimensions that are all that can be asked for,
 * as in x.permute(1, 0). In x.var(0, 1) the second one is no dimension to a reader of PyTorch's. */
static inline bool gathers(const fl_op *op, int i, int positional) {
    int role = op->params[i].role;
    return role == FL_R_SHAPE || (i == 1 && op->nparams == 2 && positional == 2 &&
                                  (role == FL_R_DIMS || role == FL_R_INTS));
}

/* Whether a keyword is this name. Keywords are ASCII as a rule, and differ in the first letter. */
static inline bool is_named(PyObject *keyword, const char *name) {
    if (!PyUnicode_IS_COMPACT_ASCII(keyword))
        return PyUnicode_CompareWithASCIIString(keyword, name) == 0;
    const char *text = (const char *)PyUnicode_DATA(keyword);
    return text[0] == name[0] && strcmp(text, name) == 0 &&
           (size_t)PyUnicode_GET_LENGTH(keyword) == strlen(name);
}

static int find_param(const fl_op *op, PyObject *name) {
    for (int i = 0; i < op->nparams; i++)
        if (is_named(name, op->params[i].name))
            return i;
    /* PyTorch also takes NumPy's names for these, and others where they are methods */
    static const char *const synonyms[][2] = {{"axis", "dim"}, {"keepdims", "keepdim"},
                                              {"input", "self"}, {"x", "self"}, {"A", "self"},
                                              {"x1", "self"}, {"x2", "other"}, {"a", "self"},
                                              {"b", "other"}, {"b", "B"}, {"tensor", "self"},
                                              {"input", "A"}, {"input2", "L"}, {"other", "src"},
                                              {"axis0", "dim0"}, {"axis1", "dim1"},
                                              {"indices", "indices_or_sections"},
                                              {"sections", "indices_or_sections"},
                                              {"tensor_indices_or_sections", "indices_or_sections"},
                                              {"split_size", "split_size_or_sections"},
                                              {"unbiased", ""}};
    for (auto &s : synonyms)
        if (PyUnicode_CompareWithASCIIString(name, s[0]) == 0)
            for (int i = 0; i < op->nparams; i++)
                if (strcmp(op->params[i].name, s[1]) == 0)
                    return i;
    return -1;
}

static int unknown_keyword(const fl_op *op, PyObject *name) {
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'",
                 fl_op_called(op), name);
    return -1;
}

static inline bool is_copy(const fl_op *op) {
    return strcmp(op->name, "copy") == 0;
}

/* Arguments of PyTorch's that change no result: what reads a copy waits for it, and who asked for
 * a view, a program or a broadcast, does not matter. */
static bool is_ignored(const fl_op *op, PyObject *name) {
    return (is_copy(op) && is_named(name, "non_blocking")) ||
           (strcmp(op->name, "expand") == 0 && is_named(name, "implicit"));
}

static int missing(const fl_op *op, int i) {
    PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s' (%s)", fl_op_called(op),
                 op->params[i].name, fl_role_name(op->params[i].role));
    return -1;
}

/* fl_unbox, with the most frequent case in line. */
static inline int unbox(PyObject *o, const fl_op *op, const fl_param *p, fl_value *v,
                        fl_arena *arena) {
    if (FL_LIKELY(p->role <= FL_R_OPERAND) && fl_tensor_check(o)) {
        v->tag = FL_TENSOR;
        v->t = (fl_tensor *)o;
        return 0;
    }
    return fl_unbox(o, op, p, v, arena);
}

int fl_parse(const fl_op *op, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
             fl_value *values, fl_arena *arena, PyObject **out) {
    int positional = fl_count_positional(op);
    uint32_t given = 0;
    Py_ssize_t at = 0;
    for (int i = 0; i < positional && at < nargs; i++, at++) {
        const fl_param *p = &op->params[i];
        given |= 1u << i;
        if (gathers(op, i, positional) && is_int(args[at]) &&
            (nargs - at > 1 || p->role == FL_R_SHAPE)) {
            if (collect(op, i, args, at, nargs, &values[i], arena) < 0)
                return -1;
            at = nargs;
            break;
        }
        if (FL_UNLIKELY(p->flags & FL_P_VARIADIC) && fl_tensor_check(args[at])) {
            if (collect_tensors(op, i, args, at, nargs, &values[i], arena) < 0)
                return -1;
            at = nargs;
            break;
        }
        if (unbox(args[at], op, p, &values[i], arena) < 0)
            return -1;
    }
    if (at < nargs && !(nargs == 3 && PyBool_Check(args[2]) && is_copy(op)))
        return too_many(op, nargs, positional);
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; k < nkw; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        PyObject *value = args[nargs + k];
        if (is_named(name, "out")) {
            *out = value == Py_None ? nullptr : value;
            continue;
        }
        int i = find_param(op, name);
        if (i < 0 && is_ignored(op, name))
            continue;
        if (i < 0)
            return unknown_keyword(op, name);
        if (given >> i & 1) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%s'",
                         fl_op_called(op), op->params[i].name);
            return -1;
        }
        given |= 1u << i;
        if (fl_unbox(value, op, &op->params[i], &values[i], arena) < 0)
            return -1;
    }
    for (int i = 0; i < op->nparams; i++) {
        if (given >> i & 1)
            continue;
        if (op->params[i].flags & FL_P_VARIADIC) {      /* broadcast_tensors() */
            if (collect_tensors(op, i, args, nargs, nargs, &values[i], arena) < 0)
                return -1;
            continue;
        }
        if (!(op->params[i].flags & FL_P_DEFAULT))
            return missing(op, i);
        values[i] = op->params[i].fallback;
    }
    return 0;
}

/* ---- overloads */

bool fl_may_fit(const fl_op *op, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    int positional = fl_count_positional(op), required = fl_count_required(op);
    Py_ssize_t given = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    for (int i = 0; i < positional; i++) {
        if (gathers(op, i, positional) || (op->params[i].flags & FL_P_VARIADIC))
            return true;
        bool wants_tensor = op->params[i].role == FL_R_TENSOR;
        if (i < nargs && wants_tensor && args[i] != Py_None && !fl_tensor_check(args[i]))
            return false;
    }
    return nargs <= positional && given >= required;
}

/* Whether a form has parameters of all the names that were given. */
static bool knows_keywords(const fl_op *op, PyObject *kwnames) {
    Py_ssize_t n = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        if (!is_named(name, "out") && find_param(op, name) < 0)
            return false;
    }
    return true;
}

/* Of the forms that know the keywords, the first that takes so many arguments. */
const fl_op *fl_nearest_form(fl_op *const *overloads, int count, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *kwnames) {
    const fl_op *knowing = nullptr;
    for (int i = 0; i < count; i++) {
        const fl_op *op = overloads[i];
        if (!knows_keywords(op, kwnames))
            continue;
        if (fl_may_fit(op, args, nargs, kwnames))
            return op;
        knowing = knowing ? knowing : op;
    }
    return knowing ? knowing : overloads[0];
}
