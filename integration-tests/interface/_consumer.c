/* A consumer of the interface: computes through the table, reads the frozen tensor prefix. */
#include <Python.h>

#include <flambeau/abi.h>

/* x.softmax(1).mul(x).sum(): a kernel, a pointwise row, a reduction with defaults. */
static PyObject *weigh(PyObject *self, PyObject *argument) {
    (void)self;
    if (!PyObject_TypeCheck(argument, FL->tensor_type)) {
        PyErr_SetString(PyExc_TypeError, "weigh(): expected a Tensor");
        return NULL;
    }
    const fl_op *softmax = FL->find_op("softmax"), *mul = FL->find_op("mul");
    const fl_op *sum = FL->find_op("sum");
    if (!softmax || !mul || !sum)
        return NULL;
    fl_value in[2] = {{.tag = FL_TENSOR, .t = (fl_tensor *)argument}, {.tag = FL_INT, .i = 1}};
    fl_value weights[1] = {{.tag = FL_NONE}}, product[1] = {{.tag = FL_NONE}};
    fl_value total[1] = {{.tag = FL_NONE}};
    if (FL->dispatch(softmax, in, 2, weights) < 0)
        return NULL;
    in[1] = weights[0];
    int status = FL->dispatch(mul, in, 2, product);
    Py_DECREF(weights[0].o);
    if (status < 0)
        return NULL;
    status = FL->dispatch(sum, product, 1, total);
    Py_DECREF(product[0].o);
    return status < 0 ? NULL : total[0].o;
}

/* (ndim, numel, dtype code, first element) of a float32 tensor, read from the object itself. */
static PyObject *describe(PyObject *self, PyObject *argument) {
    const fl_tensor *t = (const fl_tensor *)argument;
    (void)self;
    return Py_BuildValue("iLif", t->ndim, (long long)t->numel, t->dtype, *(const float *)t->data);
}

static PyMethodDef methods[] = {{"weigh", weigh, METH_O, "x.softmax(1).mul(x).sum()"},
                                {"describe", describe, METH_O, "What the frozen prefix says."},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_consumer", .m_size = -1,
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit__consumer(void) {
    if (fl_import() < 0)
        return NULL;
    return PyModule_Create(&definition);
}
