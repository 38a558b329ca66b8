# What the C++ side offers to this module.
cimport cython
from cpython.complex cimport PyComplex_FromDoubles
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS,
    PyBUF_F_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBUF_ND,
    PyBUF_STRIDES,
    PyBUF_WRITABLE,
)
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.memoryview cimport PyMemoryView_GET_BUFFER
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF, PyTypeObject, _Py_REFCNT
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset, strcmp

cdef extern from "flambeau/abi.h":
    enum:
        FL_MAX_DIMS, FL_MAX_PARAMS, FL_MAX_OUTS, FL_CPU, FL_META
        FL_REQUIRES_GRAD, FL_READONLY, FL_INFERENCE, FL_CONTIGUOUS
        FL_NONE, FL_TENSOR, FL_TENSORS, FL_INT, FL_INTS, FL_FLOAT, FL_FLOATS, FL_COMPLEX
        FL_BOOLEAN, FL_DTYPE, FL_DEVICE, FL_STRING, FL_GENERATOR, FL_OBJECT, FL_BOOLS
        FL_BOOL, FL_U8, FL_I8, FL_I16, FL_I32, FL_I64, FL_U16, FL_U32, FL_U64, FL_F16, FL_BF16
        FL_F32, FL_F64, FL_C64, FL_C128, FL_NO_DTYPE, FL_DTYPE_COUNT
        FL_F8_E4M3, FL_F8_E5M2, FL_F8_E4M3UZ, FL_F8_E5M2UZ, FL_F8_E8M0, FL_C32
        FL_O_DIFFERENTIABLE, FL_O_LIST, FL_O_RANDOM
        FL_LEVEL_SHIFT, FL_VIEW, FL_CONSTANT_VIEW, FL_MULTI_VIEW
        FL_I_PROFILER, FL_I_AUTOCAST, FL_I_TRANSFORM, FL_I_TAPE, FL_I_TRACE, FL_I_MODE
        FL_M_GRAD, FL_M_INFERENCE
        FL_L_CONTIGUOUS, FL_L_STRIDED, FL_L_ALIAS
        FL_COMPOSITE, FL_VIEW_OP, FL_POINTWISE
        FL_P_OPTIONAL, FL_P_KEYWORD, FL_P_DEFAULT

    ctypedef struct fl_tensor:
        char *data
        PyObject *storage
        int64_t *shape
        int64_t *strides
        int64_t numel
        int32_t ndim
        uint8_t dtype, device_type, device_index
        uint32_t flags, output_nr
        uint32_t *version
        PyObject *autograd

    ctypedef struct fl_value:
        uint32_t tag, len
        fl_tensor *t
        fl_tensor **ts
        int64_t i
        int64_t *is_ "is"
        double d
        double c[2]
        const char *s
        PyObject *o

    ctypedef struct fl_spec:
        uint8_t dtype, device_type, device_index, layout
        int32_t ndim, alias
        int64_t offset
        int64_t shape[32]
        int64_t strides[32]

    ctypedef struct fl_param:
        const char *name
        uint8_t role, flags
        fl_value fallback

    ctypedef int (*fl_infer_fn)(const fl_op *, const fl_value *, int, fl_spec *) noexcept nogil
    ctypedef int (*fl_run_fn)(const fl_op *, const fl_value *, int, fl_tensor *const *) \
        noexcept nogil
    ctypedef int (*fl_call_fn)(const fl_op *, const fl_value *, int, fl_value *) except -1

    ctypedef struct fl_op:
        uint32_t struct_size
        uint8_t category, dtype_rule, nparams, nouts
        const char *name
        const char *overload
        const char *doc
        const fl_param *params
        fl_infer_fn infer
        fl_run_fn run_cpu
        fl_call_fn call
        const void *kernels
        uint32_t flags, index
        uint64_t reserved[4]

    ctypedef struct fl_interposer:
        int (*call)(void *, const fl_op *, const fl_value *, int, fl_value *) except -1
        void *ctx
        int32_t kind

    ctypedef struct fl_tape:
        int (*record)(const fl_op *, const fl_value *, int, fl_value *, int) except -1
        PyObject *(*prepare)(const fl_op *, const fl_value *, int, fl_value *, int) except NULL
        int (*commit)(PyObject *, const fl_op *, const fl_value *, int, fl_value *, int) except -1

    ctypedef struct fl_backend:
        uint32_t struct_size
        const char *name
        void *ctx
        int (*allocate)(void *, int, size_t, char **, PyObject **) except -1
        int (*copy)(void *, int, char *, const char *, size_t, int) except -1
        int (*run)(void *, const fl_op *, const fl_value *, int, fl_tensor *const *) except -1
        int (*synchronize)(void *, int) except -1
        int (*device_count)(void *) except -1

from libcpp.vector cimport vector

cdef extern from "common/range_error.h":
    PyObject *fl_index_range_error

cdef extern from "dispatch/captures.h":
    void fl_capture_enter(fl_tensor **, size_t) except +
    void fl_capture_exit()
    bint fl_any_capture_scope() noexcept
    uint64_t fl_births_enter() noexcept
    void fl_births_exit() noexcept
    bint fl_is_born_since(const fl_tensor *, uint64_t) noexcept
    bint fl_is_captured(const fl_tensor *)
    bint fl_is_differentiated_inside(const fl_tensor *)

cdef extern from "deferral/deferral.h":
    int64_t FL_GRAIN
    bint fl_any_waiting() noexcept
    int fl_settle(const char *, const fl_tensor *, bint) except -1
    int fl_settle_storage(const char *, fl_storage *, bint) except -1
    bint fl_is_private(const fl_tensor *)
    int fl_settle_for_good(const char *, const fl_tensor *) except -1
    int fl_deferral_enter(const void *) noexcept
    int fl_deferral_exit(int) except -1
    int fl_deferral_pause(bint) noexcept
    void fl_deferral_resume(int) noexcept
    void fl_deferral_turn(bint) noexcept
    bint fl_deferral_is_on() noexcept
    bint fl_deferral_ran() noexcept
    object fl_deferral_report()
    void fl_deferral_configure(PyObject *, int64_t) noexcept
    void fl_deferral_forget() noexcept
    void fl_deferral_watch(PyObject *, bint) noexcept
    size_t fl_deferral_waiting() noexcept
    int64_t fl_deferral_trial_runs() noexcept
    int64_t fl_deferral_least() noexcept
    void fl_deferral_add_device(int) noexcept
    int fl_settle_thread(const char *) except -1

cdef extern from "runtime/alloc.h":
    void fl_free(void *, size_t) noexcept

cdef extern from "dispatch/python.h":
    ctypedef struct fl_storage:
        char *ptr
        uint64_t nbytes
        uint32_t version
        uint8_t device_type, device_index, readonly, kind
        PyObject *owner
        void *queue
        uint32_t is_shared
    fl_storage *fl_root_storage(PyObject *) noexcept
    enum:
        FL_S_HEAP, FL_S_FOREIGN, FL_S_COUNTED_APART, FL_S_READ_LATER, FL_S_EXPORTED,
        FL_S_FIXED
    ctypedef struct fl_tensor_full:
        PyObject *base
        int64_t inline_geometry[16]
    ctypedef struct fl_thread_state:
        uint32_t mode
        int32_t watchers, level
        void *queue
    ctypedef struct fl_hooks:
        PyObject *(*box_dtype)(int) except NULL
        PyObject *(*box_device)(int) except NULL
        int (*unbox_dtype)(PyObject *) except -1
        int (*unbox_device)(PyObject *) except -1
        PyObject *(*find_composite)(const fl_op *) except NULL
        PyTypeObject *generator_type
        PyObject *linalg_error
        PyObject *argument_error
        PyObject *zero_division
    cdef cppclass fl_arena:
        fl_arena() except +
    object fl_size_base()
    PyTypeObject *fl_tensor_type
    fl_storage *fl_empty_storage
    fl_thread_state fl_thread
    fl_hooks fl_python
    fl_op fl_builtin_ops[]
    int fl_storage_init() except -1
    fl_storage *fl_storage_foreign(char *, size_t, int, PyObject *, bint) except NULL
    int fl_tensor_blank_init() except -1
    fl_tensor *fl_tensor_blank() except NULL
    fl_tensor *fl_tensor_empty(int, int, int, const int64_t *) except NULL
    fl_tensor *fl_tensor_strided(int, int, int, const int64_t *, const int64_t *) except NULL
    fl_tensor *fl_tensor_view(fl_tensor *, int, int, const int64_t *, const int64_t *, int64_t) \
        except NULL
    fl_tensor *fl_tensor_alias(fl_tensor *) except NULL
    fl_tensor *fl_tensor_alias_from(fl_tensor *, int) except NULL
    PyObject *fl_sparse_called
    PyObject *fl_sparse_alias
    int FL_SPARSE_LEVEL
    PyObject *fl_level_alias
    PyObject *fl_level_blank
    PyObject *fl_level_escaped
    int (*fl_run_decomposed)(const fl_op *, const fl_value *, int, fl_tensor *const *) except -1
    const fl_tape *fl_the_tape
    fl_tensor *fl_tensor_on(fl_storage *, int, int, const int64_t *, const int64_t *, int64_t) \
        except NULL
    int fl_tensor_geometry(fl_tensor *, int, const int64_t *, const int64_t *) except -1
    int fl_dispatch(const fl_op *, const fl_value *, int, fl_value *) except -1
    int fl_call_composite(const fl_op *, const fl_value *, int, fl_value *) except -1
    int fl_check_write(const fl_op *, const fl_value *, int, const fl_spec *, fl_tensor *) except -1
    int fl_raise() except -1
    bint fl_has_format(const fl_tensor *, const char *) noexcept
    int fl_format_strides(const fl_tensor *, const char *, int64_t *) noexcept
    uint64_t fl_storage_bytes(const fl_tensor *t)
    int fl_add_backend(const fl_backend *, int *) except -1
    const fl_backend *fl_backend_of(int) noexcept
    int fl_backend_by_name(const char *) noexcept
    const char *fl_device_name(int) noexcept
    fl_op *fl_find_op(const char *) except NULL
    int fl_add_op(fl_op *) except -1
    PyObject *fl_op_table() except NULL
    int fl_op_count() noexcept
    object fl_box(const fl_value *)
    int fl_unbox(PyObject *, const fl_op *, const fl_param *, fl_value *, fl_arena *) except -1
    const char *fl_role_name(int) noexcept
    object fl_call_python(fl_op *const *, int, bint, PyObject *const *, Py_ssize_t, PyObject *)
    object fl_binary(const fl_op *, PyObject *, PyObject *, bint)
    object fl_unary(const fl_op *, PyObject *)
    object fl_results(const fl_op *, fl_value *)
    object fl_api_capsule()
    int fl_api_push(const fl_interposer *) except -1
    void fl_count_write(const fl_op *, fl_tensor *)
    int fl_api_pop(const fl_interposer *) except -1

cdef extern from "dispatch/history.h":
    bint fl_requires_grad(const fl_tensor *) noexcept


cdef extern from "overrides/override.h":
    ctypedef struct fl_override_state:
        int32_t classes_off, all_off, modes, skip_next
    bint fl_is_skipped()
    fl_override_state fl_overrides
    bint fl_overriding
    PyObject *fl_no_override
    PyObject *fl_show_call
    PyObject *fl_show_syntax
    PyObject *fl_class_override(PyTypeObject *)
    bint fl_is_shown(PyObject *const *, Py_ssize_t) noexcept

cdef extern from "common/stored.h":
    int fl_check_promotion(int, int) noexcept nogil

cdef extern from "dispatch/core.h":
    int64_t fl_itemsize(int) noexcept nogil
    const char *fl_dtype_name(int) noexcept nogil
    bint fl_is_float(int) noexcept nogil
    bint fl_is_complex(int) noexcept nogil
    bint fl_is_float8(int) noexcept nogil
    int fl_real_dtype(int) noexcept nogil
    bint fl_is_int(int) noexcept nogil
    int fl_promote(int, int) noexcept nogil
    int fl_result_type(const fl_value *const *, int) noexcept nogil
    bint fl_can_cast(int, int) noexcept nogil
    int fl_default_dtype
    bint fl_promote_by_dtype
    void fl_copy_tensor(const fl_tensor *, const fl_tensor *) noexcept nogil
    ctypedef struct fl_strided:
        char *data
        int dtype
        const int64_t *strides
    void fl_copy_strided(const fl_strided &, const fl_strided &, int, const int64_t *) \
        noexcept nogil
    bint fl_view_possible(const fl_tensor *, int, const int64_t *) noexcept nogil
    int fl_get_num_threads() noexcept nogil
    int fl_set_num_threads(int) noexcept nogil
    void fl_parallel_chunks(int64_t, int64_t, void *, void *) noexcept nogil
    ctypedef struct fl_alloc_info:
        int64_t live_bytes, peak_live_bytes, cached_bytes, cache_limit
        int64_t alloc_count, free_count, system_count
    void fl_alloc_stats(fl_alloc_info *) noexcept nogil
    void fl_alloc_reset_peak() noexcept nogil
    void fl_alloc_trim() noexcept nogil
    void fl_alloc_fail_after(int64_t) noexcept nogil

cdef extern from "dispatch/pointwise.h":
    void fl_kernels_init() noexcept

cdef extern from "dispatch/exports.h":
    ctypedef struct fl_export:
        const char *name
        uint8_t forms, inplace, count
        unsigned short ops[5]
        const char *outputs
    const fl_export fl_exports[]
    const int fl_export_count

cdef extern from "runtime/isa.h":
    int fl_isa_level() noexcept
    const char *fl_isa_name(int) noexcept

cdef extern from "conv/winograd.h":
    void fl_conv_allow_winograd(bint) noexcept

cdef extern from "runtime/host.h":
    int64_t fl_host_cache() noexcept

cdef extern from "runtime/blas.h":
    void fl_blas_set_path(const char *) noexcept

cdef extern from "random/generator.h":
    ctypedef struct fl_mersenne:
        pass
    ctypedef struct fl_generator_state:
        uint64_t seed, offset
        fl_mersenne *mersenne
    int FL_MERSENNE_BYTES
    fl_mersenne *fl_mersenne_new() noexcept
    void fl_mersenne_free(fl_mersenne *m) noexcept
    void fl_mersenne_seed(fl_mersenne *m, uint64_t seed) noexcept
    void fl_mersenne_save(const fl_mersenne *m, uint64_t seed, char *bytes) noexcept
    int fl_mersenne_load(fl_mersenne *m, uint64_t *seed, const char *bytes) noexcept
    void fl_mersenne_copy(fl_mersenne *to, const fl_mersenne *source) noexcept
    fl_generator_state *fl_default_generator_state() noexcept
    void fl_set_default_generator(void *generator) noexcept
    void *fl_exchange_own_generator(void *generator) noexcept
    bint fl_has_own_generator() noexcept
    fl_generator_state *fl_generator_state_of(void *generator) noexcept
    uint64_t fl_generator_reserve(void *generator, uint64_t count) noexcept

cdef extern from "op_index.h":
    pass

cdef extern from *:
    """
    static inline PyObject *fl_steal(fl_tensor *t) { return (PyObject *)t; }
    """
    object fl_steal(fl_tensor *)

include "op_index.pxi"
include "opdef_enums.pxi"
