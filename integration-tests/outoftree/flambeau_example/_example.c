/* An operator, a counting interposer and a device, written against the installed abi.h alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <flambeau/abi.h>

/* ---- the operator example_outer(a, b): a[i] * b[j] -------------------------------------------
 * It has no `call` of its own: the core's infers, allocates or checks targets, and runs. */

static int outer_infer(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *a = in[0].t, *b = in[1].t;
    (void)op;
    (void)n;
    if (a->ndim != 1 || b->ndim != 1)
        return FL->set_error(1, "example_outer(): a and b must have one dimension each");
    if (a->dtype != FL_F32 || b->dtype != FL_F32)
        return FL->set_error(2, "example_outer(): a and b must be float32; write a.float()");
    memset(outs, 0, sizeof(*outs));
    outs->dtype = FL_F32;
    outs->device_type = a->device_type;
    outs->device_index = a->device_index;
    outs->layout = FL_L_CONTIGUOUS;
    outs->ndim = 2;
    outs->shape[0] = a->shape[0];
    outs->shape[1] = b->shape[0];
    return 0;
}

static int outer_run(const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t, *b = in[1].t, *out = outs[0];
    (void)op;
    (void)n;
    for (int64_t i = 0; i < a->shape[0]; i++)
        for (int64_t j = 0; j < b->shape[0]; j++)
            ((float *)out->data)[i * out->strides[0] + j * out->strides[1]] =
                ((const float *)a->data)[i * a->strides[0]] *
                ((const float *)b->data)[j * b->strides[0]];
    return 0;
}

static const fl_param outer_params[2] = {{.name = "a", .role = FL_R_TENSOR},
                                         {.name = "b", .role = FL_R_TENSOR}};
static fl_op outer = {.struct_size = sizeof(fl_op), .category = FL_KERNEL, .nparams = 2, .nouts = 1,
                      .name = "example_outer", .overload = "", .doc = "Outer product.",
                      .params = outer_params, .infer = outer_infer, .run_cpu = outer_run,
                      .flags = FL_O_DIFFERENTIABLE};

/* ---- the interposer: counts operators --------------------------------------------------------- */

static long calls = 0;

static int count(void *ctx, const fl_op *op, const fl_value *in, int n, fl_value *out) {
    ++*(long *)ctx;
    return FL->dispatch(op, in, n, out);
}

static const fl_interposer counter = {count, &calls, FL_I_PROFILER, 0};

static PyObject *start_counting(PyObject *self, PyObject *none) {
    (void)self;
    (void)none;
    calls = 0;
    if (FL->push_interposer(&counter) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *stop_counting(PyObject *self, PyObject *none) {
    (void)self;
    (void)none;
    if (FL->pop_interposer(&counter) < 0)
        return NULL;
    return PyLong_FromLong(calls);
}

/* ---- the device "abacus": host memory of its own, float32, a handful of rows ------------------ */

static void release(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, "abacus")); }

static int allocate(void *ctx, int index, size_t bytes, char **data, PyObject **owner) {
    (void)ctx;
    (void)index;
    *data = malloc(bytes ? bytes : 1);
    *owner = *data ? PyCapsule_New(*data, "abacus", release) : PyErr_NoMemory();
    if (!*owner)
        free(*data);
    return *owner ? 0 : -1;
}

static int copy(void *ctx, int index, char *dst, const char *src, size_t bytes, int kind) {
    (void)ctx;
    (void)index;
    (void)kind;
    memcpy(dst, src, bytes);
    return 0;
}

/* Element number `flat` of `like`, in a tensor that broadcasts to it. */
static float *at(const fl_tensor *t, const fl_tensor *like, int64_t flat) {
    int64_t offset = 0;
    for (int d = like->ndim - 1, e = t->ndim - 1; d >= 0; d--, e--) {
        int64_t i = flat % like->shape[d];
        flat /= like->shape[d];
        if (e >= 0 && t->shape[e] != 1)
            offset += i * t->strides[e];
    }
    return (float *)t->data + offset;
}

static float value_at(const fl_value *v, const fl_tensor *like, int64_t flat) {
    switch (v->tag) {
    case FL_TENSOR: return *at(v->t, like, flat);
    case FL_FLOAT: return (float)v->d;
    default: return (float)v->i;
    }
}

static float compute(const char *name, const fl_value *in, const fl_tensor *out, int64_t i) {
    if (strcmp(name, "full_of") == 0)
        return value_at(&in[1], out, i);
    if (strcmp(name, "copy") == 0)
        return value_at(&in[1], out, i);
    float a = value_at(&in[0], out, i);
    if (strcmp(name, "add") == 0)
        return a + value_at(&in[2], out, i) * value_at(&in[1], out, i);
    if (strcmp(name, "mul") == 0)
        return a * value_at(&in[1], out, i);
    if (strcmp(name, "exp") == 0)
        return expf(a);
    return strcmp(name, "neg") == 0 ? -a : a;
}

static int run(void *ctx, const fl_op *op, const fl_value *in, int n, fl_tensor *const *outs) {
    static const char *const known[] = {"add", "mul", "exp", "neg", "copy", "contiguous_copy",
                                        "full_of"};
    const fl_tensor *out = outs[0];
    (void)ctx;
    int found = out->dtype == FL_F32;
    for (int i = 0; i < n; i++)
        found &= in[i].tag != FL_TENSOR || in[i].t->dtype == FL_F32;
    size_t k = 0;
    while (k < sizeof known / sizeof *known && strcmp(known[k], op->name) != 0)
        k++;
    if (!found || k == sizeof known / sizeof *known)
        return 1;
    for (int64_t i = 0; i < out->numel; i++)
        *at(out, out, i) = compute(op->name, in, out, i);
    return 0;
}

static int synchronize(void *ctx, int index) {
    (void)ctx;
    (void)index;
    return 0;
}

static int device_count(void *ctx) {
    (void)ctx;
    return 1;
}

static const fl_backend abacus = {sizeof(fl_backend), 0, "abacus", NULL, allocate, copy, run,
                                  synchronize, device_count};

/* ---- the module --------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"start_counting", start_counting, METH_NOARGS, "Count the operators this thread runs."},
    {"stop_counting", stop_counting, METH_NOARGS, "Stop, and return how many ran."},
    {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_example", .m_size = -1,
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit__example(void) {
    int device_type;
    if (fl_import() < 0)
        return NULL;
    if (FL->add_op(&outer) < 0 || FL->add_backend(&abacus, &device_type) < 0)
        return NULL;
    return PyModule_Create(&definition);
}
