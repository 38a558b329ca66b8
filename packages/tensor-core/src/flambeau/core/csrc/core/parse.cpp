/* Arguments of a Python call to the values of a row. */
#include "core/python.h"

static int too_many(const fl_op *op, Py_ssize_t nargs, int allowed) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments, but %zd were given",
                 fl_op_called(op), allowed, nargs);
    return -1;
}

static inline bool is_int(PyObject *o) {
    return PyLong_CheckExact(o) ||
           (!fl_tensor_check(o) && PyIndex_Check(o) && !PyBool_Check(o) && !PyList_Check(o));
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
            PyErr_Format(PyExc_TypeError, "%s(): argument '%s' must be ints, got %.100s at position "
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

static inline bool gathers(const fl_op *op, int i, int positional) {
    int role = op->params[i].role;
    return role == FL_R_SHAPE ||
           (i == positional - 1 && (role == FL_R_DIMS || role == FL_R_INTS));
}

static int count_positional(const fl_op *op) {
    int n = 0;
    while (n < op->nparams && !(op->params[n].flags & FL_P_KEYWORD))
        n++;
    return n;
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
    /* PyTorch also takes NumPy's names for these */
    static const char *const synonyms[][2] = {{"axis", "dim"}, {"keepdims", "keepdim"},
                                              {"input", "self"}, {"x", "self"}, {"A", "self"},
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

static int missing(const fl_op *op, int i) {
    PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s' (%s)", fl_op_called(op),
                 op->params[i].name, fl_role_name(op->params[i].role));
    return -1;
}

int fl_parse(const fl_op *op, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
             fl_value *values, fl_arena *arena, PyObject **out) {
    int positional = count_positional(op);
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
        if (fl_unbox(args[at], op, p, &values[i], arena) < 0)
            return -1;
    }
    if (at < nargs)
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
        if (!(op->params[i].flags & FL_P_DEFAULT))
            return missing(op, i);
        values[i] = op->params[i].fallback;
    }
    return 0;
}

/* ---- calls --------------------------------------------------------------------------------------- */

PyObject *fl_results(const fl_op *op, fl_value *out) {
    if (op->nouts == 1)
        return out[0].o;
    PyTypeObject *named = (PyTypeObject *)op->reserved[0];
    PyObject *tuple = named ? named->tp_alloc(named, op->nouts) : PyTuple_New(op->nouts);
    for (int i = 0; i < op->nouts; i++) {
        if (tuple)
            PyTuple_SET_ITEM(tuple, i, out[i].o);
        else
            Py_DECREF(out[i].o);
    }
    return tuple;
}

static int preset_out(const fl_op *op, PyObject *out, fl_value *results) {
    if (op->nouts == 1 && fl_tensor_check(out)) {
        results[0].tag = FL_TENSOR;
        results[0].t = (fl_tensor *)out;
        return 0;
    }
    if (op->nouts > 1 && PyTuple_Check(out) && PyTuple_GET_SIZE(out) == op->nouts) {
        for (int i = 0; i < op->nouts; i++) {
            PyObject *o = PyTuple_GET_ITEM(out, i);
            if (!fl_tensor_check(o))
                goto wrong;
            results[i].tag = FL_TENSOR;
            results[i].t = (fl_tensor *)o;
        }
        return 0;
    }
wrong:
    PyErr_Format(PyExc_TypeError, "%s(): out must be %s, not %.100s", fl_op_called(op),
                 op->nouts == 1 ? "a Tensor" : "a tuple of Tensors", Py_TYPE(out)->tp_name);
    return -1;
}

/* A parsed call. */
struct Parsed {
    fl_value values[FL_MAX_PARAMS];
    fl_arena arena;
    PyObject *out = nullptr;
};

static PyObject *call_parsed(const fl_op *op, bool inplace, Parsed &call) {
    fl_value results[FL_MAX_OUTS];
    const fl_value *values = call.values;
    for (int i = 0; i < op->nouts; i++)
        results[i].tag = FL_NONE;
    if (inplace)
        results[0] = values[0];
    else if (call.out && preset_out(op, call.out, results) < 0)
        return nullptr;
    if (inplace && values[0].tag != FL_TENSOR) {
        PyErr_Format(PyExc_TypeError, "%s_() writes to its first argument, which must be a Tensor",
                     fl_op_called(op));
        return nullptr;
    }
    if (fl_dispatch(op, values, op->nparams, results) < 0)
        return nullptr;
    return fl_results(op, results);
}

static PyObject *call_one(const fl_op *op, bool inplace, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames) {
    Parsed call;
    if (fl_parse(op, args, nargs, kwnames, call.values, &call.arena, &call.out) < 0)
        return nullptr;
    return call_parsed(op, inplace, call);
}

static PyObject *none_fits(fl_op *const *overloads, int count) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = PyObject_Str(value ? value : Py_None);
    PyObject *all = PyUnicode_FromFormat("%U; its forms:", text ? text : Py_None);
    for (int i = 0; i < count && all; i++) {
        PyObject *more = PyUnicode_FromFormat("%U %s%s%s(", all, overloads[i]->name,
                                              overloads[i]->overload[0] ? "." : "",
                                              overloads[i]->overload);
        Py_DECREF(all);
        all = more;
        for (int p = 0; p < overloads[i]->nparams && all; p++) {
            more = PyUnicode_FromFormat("%U%s%s", all, p ? ", " : "", overloads[i]->params[p].name);
            Py_DECREF(all);
            all = more;
        }
        if (!all)
            break;
        more = PyUnicode_FromFormat("%U%s", all, i + 1 < count ? ")," : ")");
        Py_DECREF(all);
        all = more;
    }
    if (all)
        PyErr_SetObject(PyExc_TypeError, all);
    Py_XDECREF(all);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return nullptr;
}

/* False only where fl_parse would fail: told from counts and from what is no tensor, since the
 * text of an error that nobody reads takes longer than the call. */
static bool may_fit(const fl_op *op, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    int positional = count_positional(op), required = 0;
    Py_ssize_t given = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    for (int i = 0; i < op->nparams; i++)
        required += !(op->params[i].flags & FL_P_DEFAULT);
    for (int i = 0; i < positional; i++) {
        if (gathers(op, i, positional) || (op->params[i].flags & FL_P_VARIADIC))
            return true;
        bool wants_tensor = op->params[i].role == FL_R_TENSOR;
        if (i < nargs && wants_tensor && args[i] != Py_None && !fl_tensor_check(args[i]))
            return false;
    }
    return nargs <= positional && given >= required;
}

PyObject *fl_call_python(fl_op *const *overloads, int count, bool inplace, PyObject *const *args,
                         Py_ssize_t nargs, PyObject *kwnames) {
    if (FL_LIKELY(count == 1))
        return call_one(overloads[0], inplace, args, nargs, kwnames);
    for (int i = 0; i < count; i++) {
        const fl_op *op = overloads[i];
        if (!may_fit(op, args, nargs, kwnames))
            continue;
        Parsed call;
        call.arena.choosing = true;
        if (fl_parse(op, args, nargs, kwnames, call.values, &call.arena, &call.out) == 0)
            return call_parsed(op, inplace, call);
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return nullptr;
        PyErr_Clear();
    }
    Parsed last;
    last.arena.choosing = true;
    fl_parse(overloads[count - 1], args, nargs, kwnames, last.values, &last.arena, &last.out);
    return none_fits(overloads, count);
}

static int operand(PyObject *o, const fl_op *op, int i, fl_value *v, fl_arena *arena) {
    if (FL_LIKELY(fl_tensor_check(o))) {
        v->tag = FL_TENSOR;
        v->t = (fl_tensor *)o;
        return 1;
    }
    if (op->params[i].role != FL_R_OPERAND)
        return 0;
    if (PyFloat_CheckExact(o)) {
        v->tag = FL_FLOAT;
        v->d = PyFloat_AS_DOUBLE(o);
        return 1;
    }
    if (fl_unbox(o, op, &op->params[i], v, arena) == 0)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    PyErr_Clear();
    return 0;
}

PyObject *fl_binary(const fl_op *op, PyObject *a, PyObject *b, bool inplace) {
    fl_value values[FL_MAX_PARAMS], results[1];
    fl_arena arena;
    int status = operand(a, op, 0, &values[0], &arena);
    if (status == 1)
        status = operand(b, op, 1, &values[1], &arena);
    if (status == 0)
        Py_RETURN_NOTIMPLEMENTED;
    if (status < 0)
        return nullptr;
    for (int i = 2; i < op->nparams; i++)
        values[i] = op->params[i].fallback;
    results[0].tag = FL_NONE;
    if (inplace)
        results[0] = values[0];
    if (fl_dispatch(op, values, op->nparams, results) < 0)
        return nullptr;
    return results[0].o;
}

PyObject *fl_unary(const fl_op *op, PyObject *a) {
    fl_value values[FL_MAX_PARAMS], results[1];
    values[0].tag = FL_TENSOR;
    values[0].t = (fl_tensor *)a;
    for (int i = 1; i < op->nparams; i++)
        values[i] = op->params[i].fallback;
    results[0].tag = FL_NONE;
    if (fl_dispatch(op, values, op->nparams, results) < 0)
        return nullptr;
    return results[0].o;
}
