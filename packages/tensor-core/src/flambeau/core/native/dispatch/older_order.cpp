/* Orders of arguments that PyTorch deprecates and takes: addcmul(x, 2, a, b), addmm(2, x, 3, a, b).
 * They are no forms of the operators, which every small call would be compared with: a call is read
 * this way when it can be read no other. */
#include "dispatch/older_order.h"
#include "op_index.h"

struct Order {
    uint32_t index;
    int tensors;
    const char *numbers[2];     /* "value", or "beta" and "alpha" */
    const char *shown;          /* what to write instead */
};

static const Order ORDERS[] = {
    {FL_OP_add, 2, {"alpha"}, "input, other, *, alpha"},
    {FL_OP_sub, 2, {"alpha"}, "input, other, *, alpha"},
    {FL_OP_addcmul, 3, {"value"}, "input, tensor1, tensor2, *, value"},
    {FL_OP_addcdiv, 3, {"value"}, "input, tensor1, tensor2, *, value"},
    {FL_OP_addmm, 3, {"beta", "alpha"}, "input, mat1, mat2, *, beta, alpha"},
    {FL_OP_addmv, 3, {"beta", "alpha"}, "input, mat, vec, *, beta, alpha"},
    {FL_OP_addr, 3, {"beta", "alpha"}, "input, vec1, vec2, *, beta, alpha"},
    {FL_OP_addbmm, 3, {"beta", "alpha"}, "input, batch1, batch2, *, beta, alpha"},
    {FL_OP_baddbmm, 3, {"beta", "alpha"}, "input, batch1, batch2, *, beta, alpha"},
};

static const Order *find_order(const fl_op *op) {
    for (const Order &order : ORDERS)
        if (order.index == op->index)
            return &order;
    return nullptr;
}

static bool is_number(PyObject *o) {
    return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o);
}

/* Which positional arguments are the numbers: `at` holds their positions. Those of one number stand
 * second; beta stands around the first tensor, as in addmm(2, x, 3, a, b) and x.addmm(2, 3, a, b).
 * */
static int find_numbers(const Order &order, PyObject *const *args, Py_ssize_t nargs, Py_ssize_t *at) {
    if (nargs < 2)
        return 0;
    if (!order.numbers[1]) {
        at[0] = 1;
        bool scalar = fl_tensor_check(args[1]) && ((fl_tensor *)args[1])->ndim == 0;
        return scalar || is_number(args[1]);
    }
    at[0] = is_number(args[0]) ? 0 : 1;
    at[1] = 2;
    if (!is_number(args[at[0]]))
        return 0;
    return nargs > 2 && is_number(args[2]) ? 2 : 1;
}

/* Whether a number was given by name, so that none stands between the tensors. */
static bool names_number(const Order &order, PyObject *kwnames) {
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        for (const char *number : order.numbers)
            if (number && !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), number))
                return true;
    return false;
}

static PyObject *names_with(PyObject *kwnames, const Order &order, int count) {
    Py_ssize_t given = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *names = PyTuple_New(given + count);
    for (Py_ssize_t i = 0; names && i < given + count; i++) {
        PyObject *name = i < given ? Py_NewRef(PyTuple_GET_ITEM(kwnames, i))
                                   : PyUnicode_FromString(order.numbers[i - given]);
        if (!name)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, i, name);
    }
    return names;
}

static int warn(const fl_op *op, const Order &order) {
    return PyErr_WarnFormat(PyExc_UserWarning, 1, "This overload of %s is deprecated, in which numbers "
                            "stand between the tensors; write %s(%s)", fl_op_called(op),
                            fl_op_called(op), order.shown);
}

PyObject *fl_call_older(const fl_op *op, bool inplace, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames) {
    const Order *order = find_order(op);
    Py_ssize_t at[2], given = kwnames ? PyTuple_GET_SIZE(kwnames) : 0, n = 0;
    bool may_fit = order && !names_number(*order, kwnames);
    int numbers = may_fit ? find_numbers(*order, args, nargs, at) : 0;
    if (!numbers || nargs - numbers > order->tensors || given > FL_MAX_PARAMS)
        return nullptr;
    PyObject *sorted[3 + FL_MAX_PARAMS + 2];
    for (Py_ssize_t i = 0; i < nargs; i++) {
        if (i == at[0] || (numbers == 2 && i == at[1]))
            continue;
        if (!fl_tensor_check(args[i]))
            return nullptr;
        sorted[n++] = args[i];
    }
    for (Py_ssize_t i = 0; i < given; i++)
        sorted[n + i] = args[nargs + i];
    for (int i = 0; i < numbers; i++)
        sorted[n + given + i] = args[at[i]];
    PyObject *names = names_with(kwnames, *order, numbers);
    PyObject *result = names && warn(op, *order) == 0
        ? fl_call_python((fl_op *const *)&op, 1, inplace, sorted, n, names) : nullptr;
    Py_XDECREF(names);
    return result;
}
