/* The core's objects as C++ sees them that computes: memory, tensors, the thread's state, the
 * dispatcher. No function of Python is called here, so that the same object files serve the
 * extension module and the runtime without Python (standalone/), each with its own way to make
 * and release objects. */
#pragma once
#include "dispatch/core.h"

/* ---- references: both worlds have these ---------------------------------------------------- */
void fl_hold(void *object);
void fl_release(void *object);
/* Around long work: other threads may run Python meanwhile. */
void *fl_unlock_python(void);
void fl_lock_python(void *unlocked);

/* ---- storage: memory with an owner and a version counter ----------------------------------- */
static const size_t FL_SMALL = 256;      /* tensors of up to so many bytes live in the object */
struct fl_storage {
    PyObject_HEAD
    char *ptr;
    uint64_t nbytes;
    uint32_t version;
    uint8_t device_type, device_index, readonly, kind;   /* kind: fl_storage_kind */
    PyObject *owner;                /* keeps foreign memory alive */
    struct fl_queue *queue;         /* kernels that wait and use the memory, or NULL */
    uint32_t slot;                  /* its number there */
    uint32_t is_shared;             /* fl_storage_sharing */
    alignas(16) char small[FL_SMALL + FL_ALLOC_ALIGNMENT - 16];
};
enum fl_storage_kind { FL_S_INLINE = 0, FL_S_HEAP = 1, FL_S_FOREIGN = 2 };
enum fl_storage_sharing {
    FL_S_WRITABLE_OUTSIDE = 1,      /* others may read and write the memory at any time */
    FL_S_COUNTED_APART = 2,         /* tensors with a version of their own were made of it */
    FL_S_READ_LATER = 4,            /* somebody will read it as it is now: see read_later() */
    FL_S_FIXED = 16,                /* an array's, or shown by one: resize_() does not replace it */
    FL_S_EXPORTED = 8               /* a capsule holds a tensor and its address: memory stays */
};
extern fl_storage *fl_empty_storage;    /* what tensors made by Tensor.__new__ alone show */
fl_storage *fl_storage_new(size_t nbytes, int device_code);
fl_storage *fl_storage_foreign(char *ptr, size_t nbytes, int device_code, PyObject *owner,
                               bool readonly);

/* ---- tensors ------------------------------------------------------------------------------- */
/* What follows the frozen prefix; must match `cdef class Tensor` (checked at import). */
struct fl_tensor_full {
    fl_tensor head;
    PyObject *base;                 /* the tensor this is a view of, or None */
    int64_t inline_geometry[16];
};
fl_tensor *fl_tensor_blank(void);
fl_tensor *fl_tensor_empty(int dtype, int device, int ndim, const int64_t *shape);
fl_tensor *fl_tensor_strided(int dtype, int device, int ndim, const int64_t *shape,
                             const int64_t *strides);
fl_tensor *fl_tensor_view(fl_tensor *source, int dtype, int ndim, const int64_t *shape,
                          const int64_t *strides, int64_t offset_bytes);
fl_tensor *fl_tensor_alias(fl_tensor *t);      /* same memory, no history */
/* The same without the dimensions before `first`: of those, index 0. */
fl_tensor *fl_tensor_alias_from(fl_tensor *t, int first);
/* Run an operator that a device lacks as others, where its definition has a decomposition; 1 where
 * the device lacks one of these, too. */
extern int (*fl_run_decomposed)(const fl_op *, const fl_value *, int, fl_tensor *const *);
fl_tensor *fl_tensor_on(fl_storage *storage, int dtype, int ndim, const int64_t *shape,
                        const int64_t *strides, int64_t offset_bytes);
int fl_tensor_geometry(fl_tensor *t, int ndim, const int64_t *shape, const int64_t *strides);

/* ---- per-thread state ---------------------------------------------------------------------- */
struct fl_thread_state {
    uint32_t mode;                  /* fl_mode bits */
    int32_t watchers, level;        /* interposers pushed; how many are passed already */
    fl_interposer stack[16];
    struct fl_queue *queue;         /* inside a compiled call: where kernels may wait */
};
extern __thread fl_thread_state fl_thread __attribute__((tls_model("initial-exec")));

/* ---- the dispatcher ------------------------------------------------------------------------ */
extern const fl_tape *fl_the_tape;
int fl_dispatch(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_call_generic(const fl_op *op, const fl_value *in, int n, fl_value *out);
/* A call's kernel, or its decomposition, on a device that is not the CPU; nothing that waits is run
 * first. */
int fl_run_on_backend(int device, const fl_op *op, const fl_value *in, int n,
                      fl_tensor *const *outs);
int fl_call_pointwise(const fl_op *op, const fl_value *in, int n, fl_value *out);
/* The same, of integers only where there is an answer: no division by zero, no negative powers. */
int fl_call_division(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_call_power(const fl_op *op, const fl_value *in, int n, fl_value *out);
/* A row that chooses by a mask of bytes, with a warning. */
int fl_choose_by_bytes(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_call_to_device(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_call_copy(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_call_composite(const fl_op *op, const fl_value *in, int n, fl_value *out);
int fl_check_write(const fl_op *op, const fl_value *in, int n, const fl_spec *spec, fl_tensor *t);
/* Give the target of out= the result's shape, with a warning unless it is empty. */
int fl_resize_out(const fl_op *op, const fl_spec *result, fl_tensor *t);
/* For tensors of a transform level, and sparse ones: 1 after the call was run, 0 where they are
 * memory as others are, -1 after an error. */
int fl_call_leveled(const fl_op *op, const fl_value *in, int n, fl_value *out);
/* A view that is none of its base's any more. */
void fl_leave_base(fl_tensor *t);
void fl_tell_of_write(const fl_op *op, fl_tensor *t);
/* Count a write; needs the GIL. The tape hears of the first one to memory that it has saved. */
static inline void fl_count_write(const fl_op *op, fl_tensor *t) {
    uint32_t version = __atomic_add_fetch(t->version, 1, __ATOMIC_RELAXED);
    if (__builtin_expect(version & FL_VERSION_SAVED, 0))
        fl_tell_of_write(op, t);
}
/* Hand the error state on: as a Python exception, where there is Python; returns -1. */
int fl_raise(void);

/* ---- backends ------------------------------------------------------------------------------ */
const fl_backend *fl_backend_of(int device_type);
int fl_add_backend(const fl_backend *backend, int *device_type);
int fl_backend_by_name(const char *name);      /* device type, or -1 */
const char *fl_device_name(int device_type);

/* ---- operators ----------------------------------------------------------------------------- */
fl_op *fl_find_op(const char *key);
extern "C" fl_op fl_builtin_ops[];      /* in the order of op_index.h */
extern "C" const int fl_builtin_count;
/* Flags of parameters that only the core knows, beyond fl_param_flags. */
enum {
    FL_P_VARIADIC = 8,      /* a list of tensors that may be given one by one */
    FL_P_WRITES = 16        /* a kernel writes to it, whatever targets are given */
};
/* How many parameters may be given by position, and how many must be given. */
#define FL_PARAMETER_COUNTS(positional, required) ((uint64_t)((positional) | (required) << 8))
