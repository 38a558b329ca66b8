# What flambeau/abi.h declares, as far as the tape uses it.
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        int (*tp_traverse)(PyObject *, int (*)(PyObject *, void *) noexcept, void *) noexcept
        int (*tp_clear)(PyObject *) noexcept
    PyTypeObject *Py_TYPE(PyObject *) noexcept
    void Py_SET_TYPE(PyObject *, PyTypeObject *) noexcept
    Py_ssize_t Py_REFCNT(PyObject *) noexcept
    void Py_INCREF(PyObject *) noexcept
    void Py_DECREF(PyObject *) noexcept
    void Py_XINCREF(PyObject *) noexcept
    void Py_XDECREF(PyObject *) noexcept
    bint PyObject_TypeCheck(PyObject *, PyTypeObject *) noexcept
    enum:
        VECTORCALL_OFFSET "PY_VECTORCALL_ARGUMENTS_OFFSET"
    PyObject *PyObject_Vectorcall(PyObject *, PyObject **, size_t, PyObject *) except NULL
    PyObject *PyLong_FromLongLong(long long) except NULL
    PyObject *PyFloat_FromDouble(double) except NULL
    PyObject *PyTuple_New(Py_ssize_t) except NULL
    void PyTuple_SET_ITEM(PyObject *, Py_ssize_t, PyObject *) noexcept
    PyObject *Py_None
    PyObject *Py_True
    PyObject *Py_False


cdef extern from "flambeau/abi.h":
    enum:
        FL_MAX_DIMS, FL_MAX_PARAMS, FL_MAX_OUTS
        FL_CPU
        FL_BOOL, FL_F16, FL_F32, FL_F64, FL_C64, FL_C128, FL_C32
        FL_REQUIRES_GRAD, FL_READONLY, FL_INFERENCE, FL_VIEW, FL_CONTIGUOUS
        FL_CONSTANT_VIEW, FL_MULTI_VIEW, FL_LEVEL_SHIFT
        FL_NONE, FL_TENSOR, FL_TENSORS, FL_INT, FL_INTS, FL_FLOAT, FL_FLOATS, FL_COMPLEX
        FL_BOOLEAN, FL_DTYPE, FL_DEVICE, FL_STRING, FL_GENERATOR, FL_SYMINT, FL_OBJECT
        FL_POINTWISE, FL_VIEW_OP
        FL_R_OPERAND, FL_R_TENSORS
        FL_P_DEFAULT
        FL_O_DIFFERENTIABLE, FL_O_LIST, FL_O_RANDOM
        FL_M_GRAD, FL_M_INFERENCE
        FL_O_LOWER, FL_O_SINGLE, FL_O_WIDEST, FL_O_SINGLE_GPU, FL_O_AUTOCAST
        FL_I_AUTOCAST, FL_I_TRACE
        FL_BF16
    const uint32_t FL_VERSION_SAVED

    ctypedef struct fl_tensor:
        char *data
        PyObject *storage
        int64_t *shape
        int64_t *strides
        int64_t numel
        int32_t ndim
        uint8_t dtype
        uint8_t device_type
        uint8_t device_index
        uint32_t flags
        uint32_t output_nr
        uint32_t *version
        PyObject *autograd

    ctypedef struct fl_value:
        uint32_t tag
        uint32_t len
        fl_tensor *t
        fl_tensor **ts
        int64_t i
        int64_t *is_ "is"
        double d
        PyObject *o

    ctypedef struct fl_param:
        const char *name
        uint8_t role
        uint8_t flags
        fl_value fallback

    ctypedef struct fl_op:
        uint8_t category
        uint8_t nparams
        uint8_t nouts
        const char *name
        const char *overload
        const fl_param *params
        uint32_t flags
        void *grad_rule

    ctypedef struct fl_tape:
        uint32_t struct_size
        int (*record)(const fl_op *, const fl_value *, int, fl_value *, int) except -1
        PyObject *(*prepare)(const fl_op *, const fl_value *, int, fl_value *, int) except NULL
        int (*commit)(PyObject *, const fl_op *, const fl_value *, int, fl_value *, int) except -1
        void (*wrote)(const fl_op *, fl_tensor *) noexcept

    ctypedef struct fl_interposer:
        int (*call)(void *, const fl_op *, const fl_value *, int, fl_value *) except -1
        void *ctx
        int32_t kind

    ctypedef struct fl_api:
        PyTypeObject *tensor_type
        fl_tensor *(*empty)(int, int, int, const int64_t *) except NULL
        fl_op *(*find_op)(const char *) except NULL
        int (*dispatch)(const fl_op *, const fl_value *, int, fl_value *) except -1
        PyObject *(*box)(const fl_value *) except NULL
        int (*unbox)(PyObject *, int, fl_value *, int64_t *) except -1
        fl_tensor *(*alias)(fl_tensor *) except NULL
        uint32_t (*get_mode)() noexcept
        void (*set_mode)(uint32_t) noexcept
        int (*set_tape)(const fl_tape *) except -1
        int (*push_interposer)(const fl_interposer *) except -1
        int (*pop_interposer)(const fl_interposer *) except -1
        PyObject *(*base)(fl_tensor *) noexcept

    const fl_api *FL
    int fl_import() except -1
