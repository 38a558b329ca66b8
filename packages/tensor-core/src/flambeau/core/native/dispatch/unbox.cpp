/* Python objects to values, and the errors about those that do not fit. */
#include "dispatch/python.h"
#include "overrides/override.h"

const char *fl_role_name(int role) {
    static const char *const names[] = {
        "Tensor", "Tensor or number", "list of Tensors", "number", "int", "float", "bool",
        "int (dimension)", "int or list of ints (dimensions)", "ints (shape)", "int or list of ints",
        "flambeau.dtype", "device", "str", "Generator", "object", "list of floats", "index",
        "list of bools"};
    return role >= 0 && role < 19 ? names[role] : "?";
}

static bool takes_ints(int role) {
    return role == FL_R_DIMS || role == FL_R_SHAPE || role == FL_R_INTS;
}

/* " with str at position 1" for a sequence of something else than ints. */
static void name_odd_element(PyObject *o, char *text, size_t room) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(o, i);
        if (PyIndex_Check(item) && !fl_any_tensor_check(item))
            continue;
        snprintf(text, room, " with %.80s at position %zd", Py_TYPE(item)->tp_name, i);
        return;
    }
}

static bool loses_gradient(int role, PyObject *o) {
    return (role == FL_R_SCALAR || role == FL_R_FLOAT) && fl_any_tensor_check(o) &&
           ((fl_tensor *)o)->flags & FL_REQUIRES_GRAD;
}

static int refuse(const fl_op *op, const fl_param *p, PyObject *o) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    char odd[120] = "";
    if (takes_ints(p->role) && (PyTuple_Check(o) || PyList_Check(o)))
        name_odd_element(o, odd, sizeof odd);
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' must be %s%s, not %.100s%s%s",
                 fl_op_called(op), p->name, fl_role_name(p->role),
                 p->flags & FL_P_OPTIONAL ? " or None" : "", Py_TYPE(o)->tp_name, odd,
                 loses_gradient(p->role, o) ? " that requires grad, whose gradient would be lost; "
                 "write x.item(), or compute with the tensor itself" : "");
    return -1;
}

/* Python numbers, and NumPy's scalars, which are number-like without a length. */
static int unbox_number(PyObject *o, fl_value *v) {
    if (PyFloat_Check(o)) {
        v->tag = FL_FLOAT;
        v->d = PyFloat_AS_DOUBLE(o);
        return 1;
    }
    if (PyBool_Check(o)) {
        v->tag = FL_BOOLEAN;
        v->i = o == Py_True;
        return 1;
    }
    if (PyLong_Check(o)) {
        int overflow;
        v->tag = FL_INT;
        v->i = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow) {
            v->tag = FL_FLOAT;
            v->d = PyLong_AsDouble(o);
        }
        return PyErr_Occurred() ? -1 : 1;
    }
    if (PyComplex_Check(o)) {
        v->tag = FL_COMPLEX;
        v->c[0] = PyComplex_RealAsDouble(o);
        v->c[1] = PyComplex_ImagAsDouble(o);
        return 1;
    }
    if (fl_any_tensor_check(o) || PyList_Check(o) || PyTuple_Check(o) || o == Py_None)
        return 0;
    PyNumberMethods *m = Py_TYPE(o)->tp_as_number;
    if (!m || PyObject_HasAttrString(o, "__len__") || fl_class_override(Py_TYPE(o)))
        return 0;
    if (m->nb_index) {
        PyObject *i = PyNumber_Index(o);
        if (!i)
            return PyErr_Clear(), 0;
        int status = unbox_number(i, v);
        Py_DECREF(i);
        return status;
    }
    if (m->nb_float) {
        double d = PyFloat_AsDouble(o);
        if (d == -1.0 && PyErr_Occurred())
            return PyErr_Clear(), 0;
        v->tag = FL_FLOAT;
        v->d = d;
        return 1;
    }
    return 0;
}

/* True is not a size, nor a dimension: who writes it means another parameter. */
static bool is_truth(PyObject *o) {
    return PyBool_Check(o) || (fl_any_tensor_check(o) && ((fl_tensor *)o)->dtype == FL_BOOL);
}

static int unbox_int(PyObject *o, int64_t *out) {
    if (PyLong_CheckExact(o)) {
        *out = PyLong_AsLongLong(o);
        return *out == -1 && PyErr_Occurred() ? -1 : 1;
    }
    if (PyFloat_Check(o) || PyUnicode_Check(o) || !PyIndex_Check(o) || is_truth(o))
        return 0;
    PyObject *i = PyNumber_Index(o);
    if (!i) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))   /* such as a trace that refuses to read */
            return -1;
        PyErr_Clear();
        return 0;
    }
    *out = PyLong_AsLongLong(i);
    Py_DECREF(i);
    return *out == -1 && PyErr_Occurred() ? -1 : 1;
}

static int unbox_ints(PyObject *o, fl_value *v, fl_arena *arena) {
    int64_t one;
    v->tag = FL_INTS;
    if (!PyList_Check(o) && !PyTuple_Check(o)) {
        int status = unbox_int(o, &one);
        if (status == 1) {
            v->len = 1;
            v->is = arena->words(1);
            v->is[0] = one;
            return 1;
        }
        if (status < 0 || !PySequence_Check(o) || PyUnicode_Check(o) || fl_any_tensor_check(o))
            return status;
    }
    PyObject *fast = o;         /* a Size is a tuple, though PySequence_Fast would copy it */
    if (FL_UNLIKELY(!PyTuple_Check(o) && !PyList_Check(o))) {
        fast = PySequence_Fast(o, "a sequence of ints");
        if (!fast)
            return -1;
        arena->keep(fast);
    }
    Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    v->len = (uint32_t)n;
    v->is = arena->words(n);
    if (!v->is)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(fast, i);
        if (i > 0 && PyBool_Check(item)) {      /* PyTorch looks at the first one alone */
            v->is[i] = item == Py_True;
            continue;
        }
        int status = unbox_int(item, &v->is[i]);
        if (status != 1)
            return status;
    }
    return 1;
}

/* True and False, Python's or NumPy's: an int in their place is one meant for a neighbour. */
static int unbox_bool(PyObject *o, int64_t *out) {
    *out = o == Py_True;
    if (PyBool_Check(o))
        return 1;
    const char *type = Py_TYPE(o)->tp_name;
    if (strcmp(type, "numpy.bool") != 0 && strcmp(type, "numpy.bool_") != 0)
        return 0;
    int truth = PyObject_IsTrue(o);
    *out = truth > 0;
    return truth < 0 ? -1 : 1;
}

static int unbox_bools(PyObject *o, fl_value *v, fl_arena *arena) {
    if (!PyList_Check(o) && !PyTuple_Check(o))
        return 0;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    v->tag = FL_BOOLS;
    v->len = (uint32_t)n;
    v->is = arena->words(n);
    if (!v->is)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        int status = unbox_bool(PySequence_Fast_GET_ITEM(o, i), &v->is[i]);
        if (status != 1)
            return status;
    }
    return 1;
}

static int unbox_floats(PyObject *o, fl_value *v, fl_arena *arena) {
    PyObject *fast = PySequence_Fast(o, "a sequence of floats");
    if (!fast)
        return PyErr_Clear(), 0;
    arena->keep(fast);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    v->tag = FL_FLOATS;
    v->len = (uint32_t)n;
    v->ds = (double *)arena->words(n);
    if (!v->ds)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        v->ds[i] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast, i));
        if (v->ds[i] == -1.0 && PyErr_Occurred())
            return -1;
    }
    return 1;
}

static int unbox_tensors(PyObject *o, fl_value *v, fl_arena *arena) {
    if (fl_any_tensor_check(o) || PyUnicode_Check(o))
        return 0;
    PyObject *fast = PySequence_Fast(o, "a sequence of tensors");
    if (!fast)
        return PyErr_Clear(), 0;
    arena->keep(fast);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    v->tag = FL_TENSORS;
    v->len = (uint32_t)n;
    v->ts = (fl_tensor **)arena->words(n);
    if (!v->ts)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(fast, i);
        if (item != Py_None && !fl_tensor_check(item))
            return 0;
        v->ts[i] = item == Py_None ? nullptr : (fl_tensor *)item;
    }
    return 1;
}

/* A number, or a 0-d tensor read as one, which is then no part of a gradient. */
static int unbox_scalar(PyObject *o, fl_value *v, fl_arena *arena) {
    if (!fl_any_tensor_check(o))
        return unbox_number(o, v);
    if (((fl_tensor *)o)->ndim != 0 || ((fl_tensor *)o)->flags & FL_REQUIRES_GRAD)
        return 0;
    PyObject *item = PyObject_CallMethod(o, "item", nullptr);
    if (!item)
        return -1;
    arena->keep(item);
    return unbox_number(item, v);
}

static int unbox_role(PyObject *o, int role, fl_value *v, fl_arena *arena) {
    int64_t i;
    int status;
    switch (role) {
    case FL_R_OPERAND:
        if (!fl_tensor_check(o))
            return unbox_number(o, v);
        /* fall through */
    case FL_R_TENSOR:
        v->tag = FL_TENSOR;
        v->t = (fl_tensor *)o;
        return fl_tensor_check(o);
    case FL_R_TENSORS: return unbox_tensors(o, v, arena);
    case FL_R_SCALAR: return unbox_scalar(o, v, arena);
    case FL_R_FLOAT:
        status = unbox_scalar(o, v, arena);
        if (status != 1 || v->tag == FL_COMPLEX)
            return status == 1 ? 0 : status;
        v->d = fl_as_double(*v);
        v->tag = FL_FLOAT;
        return 1;
    case FL_R_INT:
    case FL_R_DIM:
        if (arena->choosing && fl_any_tensor_check(o))
            return 0;       /* max(x, y) is the overload for tensors, whatever y holds */
        status = unbox_int(o, &i);
        v->tag = FL_INT;
        v->i = i;
        return status;
    case FL_R_BOOL:
        v->tag = FL_BOOLEAN;
        return unbox_bool(o, &v->i);
    case FL_R_DIMS:
    case FL_R_SHAPE:
    case FL_R_INTS: return unbox_ints(o, v, arena);
    case FL_R_BOOLS: return unbox_bools(o, v, arena);
    case FL_R_FLOATS: return unbox_floats(o, v, arena);
    case FL_R_DTYPE:
        v->tag = FL_DTYPE;
        v->i = fl_python.unbox_dtype(o);
        return v->i < 0 ? -1 : 1;
    case FL_R_DEVICE:
        v->tag = FL_DEVICE;
        v->i = fl_python.unbox_device(o);
        return v->i < 0 ? -1 : 1;
    case FL_R_STRING: {
        if (!PyUnicode_Check(o))
            return 0;
        Py_ssize_t n;
        v->tag = FL_STRING;
        v->s = PyUnicode_AsUTF8AndSize(o, &n);
        v->len = (uint32_t)n;
        return v->s ? 1 : -1;
    }
    case FL_R_GENERATOR:
        v->tag = FL_GENERATOR;
        v->o = o;
        return fl_python.generator_type && PyObject_TypeCheck(o, fl_python.generator_type);
    default:
        v->tag = FL_OBJECT;
        v->o = o;
        return 1;
    }
}

/* A 0-d tensor for an int that is given by name, where it chooses between no overloads. */
static int unbox_named(PyObject *o, const fl_param *p, fl_value *v, fl_arena *arena) {
    if (!arena->choosing || !(p->flags & FL_P_KEYWORD) || p->role != FL_R_INT)
        return 0;
    arena->choosing = false;
    int status = unbox_role(o, p->role, v, arena);
    arena->choosing = true;
    return status;
}

int fl_unbox(PyObject *o, const fl_op *op, const fl_param *p, fl_value *v, fl_arena *arena) {
    if (o == Py_None && (p->flags & FL_P_OPTIONAL || p->role == FL_R_OBJECT)) {
        v->tag = FL_NONE;
        return 0;
    }
    int status = unbox_role(o, p->role, v, arena);
    if (status == 1 || (status == 0 && unbox_named(o, p, v, arena) == 1))
        return 0;
    return refuse(op, p, o);
}
