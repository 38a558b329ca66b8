/* What the core's own C++ files share: geometry, errors, scratch copies, the dispatcher.
 *
 * `infer` and `run` functions see only this header. They never touch Python: errors go through
 * fl_error (which returns -1), memory through Scratch, parallel work through fl_parallel_for. */
#pragma once
#ifndef FL_BUILDING_CORE
#define FL_BUILDING_CORE
#endif
#include "flambeau/abi.h"
#include "runtime/alloc.h"
#include "runtime/error.h"
#include "runtime/pool.h"
#include <string.h>

#define FL_LIKELY(x) __builtin_expect(!!(x), 1)
#define FL_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- compute kinds: what kernels see ------------------------------------------------------ */
enum fl_kind { FL_K_F32 = 0, FL_K_F64 = 1, FL_K_I64 = 2, FL_K_BOOL = 3, FL_K_C64 = 4, FL_K_C128 = 5,
               FL_KIND_COUNT = 6,
               FL_K_RAW16 = 6 /* for copies only: two bytes that are moved as they are */ };
extern const uint8_t fl_kind_of_dtype[FL_DTYPE_COUNT];   /* f16, bf16 -> f32; ints -> i64 */
extern const uint8_t fl_dtype_of_kind[FL_KIND_COUNT + 1];
extern const uint8_t fl_kind_size[FL_KIND_COUNT + 1];

static inline bool fl_is_float(int d) { return d >= FL_F16 && d <= FL_F64; }
static inline bool fl_is_complex(int d) { return d == FL_C64 || d == FL_C128 || d == FL_C32; }
static inline bool fl_is_float8(int d) { return d >= FL_F8_E4M3 && d <= FL_F8_E8M0; }
static inline bool fl_is_int(int d) { return d >= FL_U8 && d <= FL_U64; }   /* bool excluded */
static inline int fl_real_dtype(int d) {
    return d == FL_C64 ? FL_F32 : d == FL_C128 ? FL_F64 : d == FL_C32 ? FL_F16 : d;
}
extern int fl_default_dtype;
extern bool fl_promote_by_dtype;    /* set_promotion: whether 0-d tensors promote as others do */

/* ---- promotion ---------------------------------------------------------------------------- */
int fl_promote(int a, int b);                            /* two dtypes of equal rank */
int fl_result_type(const fl_value *const *values, int n);/* tensors, 0-d tensors and numbers */
bool fl_can_cast(int from, int to);

/* ---- values ------------------------------------------------------------------------------- */
static inline bool fl_is_none(const fl_value &v) { return v.tag == FL_NONE; }
static inline fl_tensor *fl_t(const fl_value &v) { return v.tag == FL_TENSOR ? v.t : nullptr; }
double fl_as_double(const fl_value &v);
int64_t fl_as_int(const fl_value &v);
static inline int fl_device_code(const fl_tensor *t) { return t->device_type << 8 | t->device_index; }

/* ---- specs -------------------------------------------------------------------------------- */
void fl_spec_like(fl_spec *s, const fl_tensor *t);       /* shape, dtype, device of t; C order */
void fl_spec_set(fl_spec *s, int dtype, int device, int ndim, const int64_t *shape);
int64_t fl_spec_numel(const fl_spec *s);

/* ---- checks; each returns -1 after fl_error ------------------------------------------------ */
int fl_wrap_dim(const fl_op *op, int64_t dim, int ndim, int *out);   /* negative dims */
/* A Dim or Dims value as a mask over ndim dimensions; None or an empty list means all. */
int fl_dims_mask(const fl_op *op, const fl_value &v, int ndim, uint64_t *mask);
int fl_same_device(const fl_op *op, const fl_value *in, int n);
int fl_expect_dtype(const fl_op *op, const char *param, const fl_tensor *t, bool (*ok)(int),
                    const char *wanted);
int fl_broadcast_shape(const char *op_name, int nd_a, const int64_t *a, int nd_b, const int64_t *b,
                       int *nd_out, int64_t *out);
const char *fl_op_called(const fl_op *op);               /* "max" */
const char *fl_op_title(const fl_op *op);                /* "max()" for messages */

/* ---- counts --------------------------------------------------------------------------------
 * Sizes come from callers, so that a product of them may not fit 64 bits. No tensor has such a
 * shape, leaving zeros out: what is computed from the sizes of a tensor fits. */

/* Elements of a shape; false when the product of its sizes other than 0 does not fit. */
bool fl_count_elements(int ndim, const int64_t *shape, int64_t *numel);
/* Errors about that (op_name may be "") and about the bytes of these elements; they return -1. */
int fl_count_error(const char *op_name, int ndim, const int64_t *shape);
int fl_bytes_error(int dtype, int ndim, const int64_t *shape);
/* Bytes to ask the allocator for: more than it can give when the product does not fit. */
static inline size_t fl_bytes(int64_t n, int64_t size) {
    int64_t bytes;
    return __builtin_mul_overflow(n, size, &bytes) ? (size_t)INT64_MAX : (size_t)bytes;
}
/* Where the product is of no account when it does not fit: strides of dimensions that hold at
 * most one element, offsets of empty views. */
static inline int64_t fl_wrapping_mul(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
/* `n` elements on from an address. */
static inline char *fl_advance(char *data, int64_t n, int64_t itemsize) {
    return (char *)((uintptr_t)data + (uint64_t)n * (uint64_t)itemsize);
}

/* ---- geometry ----------------------------------------------------------------------------- */
bool fl_geometry_contiguous(int ndim, const int64_t *shape, const int64_t *strides);
void fl_contiguous_strides(int ndim, const int64_t *shape, int64_t *strides);
/* Elements of a shape. Exact for the shapes of tensors and for parts of them; shapes that callers
 * gave go through fl_count_elements first. */
static inline int64_t fl_numel_of(int ndim, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < ndim; i++) n = fl_wrapping_mul(n, shape[i]);
    return n;
}
bool fl_is_contiguous(const fl_tensor *t);
bool fl_has_format(const fl_tensor *t, const char *format);
/* Strides of memory without gaps that a memory format asks for; "preserve_format" keeps the order
 * of t. 0 for C order, 1 for other strides, -1 after an error. */
int fl_format_strides(const fl_tensor *t, const char *format, int64_t *strides);
/* The order of dimensions, fastest first, of memory that n operands walk along together: that of
 * the first whose strides decide. Strides are 0 where an operand is broadcast. False for C order. */
bool fl_memory_order(int ndim, const int64_t *shape, int n, const int64_t *const *strides,
                     int *order);
void fl_ordered_strides(int ndim, const int64_t *shape, const int *order, int64_t *strides);
/* The dimensions by their strides, the largest first; of equal ones in their own order. */
void fl_order_by_stride(int ndim, const int64_t *strides, int *order);
/* The format that results of networks' kernels take over from t, or NULL for C order. */
const char *fl_suggested_format(const fl_tensor *t);
void fl_spec_in_format(fl_spec *s, const char *format);
/* The shape, dtype and device of t in memory without gaps, in the order of t. */
void fl_spec_in_order_of(fl_spec *s, const fl_tensor *t);
/* Whether t can be seen in this shape without a copy; the element counts must agree. */
bool fl_view_possible(const fl_tensor *t, int nd, const int64_t *shape);
int64_t fl_storage_offset(const fl_tensor *t);           /* elements of t's dtype */
uint64_t fl_storage_bytes(const fl_tensor *t);

/* ---- copies between strided memory of any dtypes (native/common/copy.cpp) ------------------------ */
struct fl_strided {          /* a strided operand; strides in elements */
    char *data;
    int dtype;
    const int64_t *strides;
};
void fl_copy_strided(const fl_strided &dst, const fl_strided &src, int ndim, const int64_t *shape);
void fl_copy_tensor(const fl_tensor *dst, const fl_tensor *src);   /* same shape, any dtypes */

/* Between a tensor and contiguous memory of a dtype in the order of its elements. */
void fl_pack(const fl_tensor *t, int dtype, void *memory);
void fl_unpack(const fl_tensor *t, int dtype, const void *memory);

/* Memory for the length of a call: a few elements on the stack, more from the caching allocator,
 * and all of it from there where the allocator looks for mistakes. */
class CallRoom {
  public:
    CallRoom() {}
    ~CallRoom() {
        if (taken_)
            fl_free(taken_, bytes_);
    }
    /* At most once; NULL for no bytes and when the allocation failed (fl_error was called). */
    char *take(size_t bytes) {
        if (!bytes)
            return nullptr;
        if (FL_LIKELY(bytes <= sizeof inside_ && !fl_alloc_watched))
            return inside_;
        bytes_ = bytes;
        return taken_ = (char *)fl_alloc_or_error(bytes);
    }
    CallRoom(const CallRoom &) = delete;
  private:
    char *taken_ = nullptr;
    size_t bytes_ = 0;
    alignas(64) char inside_[512];
};

/* Contiguous memory of one kind for reading: the tensor's own when it already is, else a copy.
 * Check ok(): false means the allocation failed and fl_error has been called. */
class In {
  public:
    In(const fl_tensor *t, int kind);
    bool ok() const { return ptr_ != nullptr || n_ == 0; }
    template <class T> const T *as() const { return (const T *)ptr_; }
    In(const In &) = delete;
  private:
    void *ptr_;
    int64_t n_;
    CallRoom room_;
};

/* Contiguous memory of one kind for writing: the tensor's own when possible, else scratch that
 * commit() copies back. `load` fills the scratch with the tensor's present contents. */
class Out {
  public:
    Out(fl_tensor *t, int kind, bool load = false);
    bool ok() const { return ptr_ != nullptr || n_ == 0; }
    template <class T> T *as() { return (T *)ptr_; }
    void commit();
    Out(const Out &) = delete;
  private:
    fl_tensor *t_;
    void *ptr_, *owned_;
    int kind_;
    int64_t n_;
    CallRoom room_;
};

/* Plain scratch memory. */
class Scratch {
  public:
    explicit Scratch(size_t bytes) : bytes_(bytes), ptr_(room_.take(bytes)) {}
    bool ok() const { return ptr_ || !bytes_; }
    template <class T> T *as() { return (T *)ptr_; }
    Scratch(const Scratch &) = delete;
  private:
    size_t bytes_;
    CallRoom room_;
    void *ptr_;
};

/* Rows of a result whose shape depends on values (nonzero, masked_select): counted by the
 * dispatcher before infer; -1 when unknown (meta tensors). */
extern thread_local int64_t fl_dynamic_size;
int64_t fl_count_nonzero(const fl_tensor *mask);

/* Work below this many elements stays on one thread and keeps the GIL. */
static const int64_t FL_GRAIN = 32768;
