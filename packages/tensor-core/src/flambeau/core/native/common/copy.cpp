/* Copies between strided memory of any dtypes. */
#include "common/args.h"
#include "common/copy_transposed.h"
#include "common/kernels/block_copies.h"
#include "common/kernels/blocks.h"
#include "common/kernels/integers.h"
#include "common/small.h"
#include "runtime/host.h"

namespace {

template <class T>
void move_kernel(const void *, const void *const *in, void *const *out, const fl_scalar *,
                 int64_t n) {
    if (n > 0 && in[0] != out[0])
        fl_copy_bytes((char *)out[0], (const char *)in[0], n * (int64_t)sizeof(T));
}

fl_pw_fn mover(int bytes) {
    switch (bytes) {
    case 1: return move_kernel<uint8_t>;
    case 2: return move_kernel<uint16_t>;
    case 4: return move_kernel<uint32_t>;
    case 8: return move_kernel<uint64_t>;
    default: return move_kernel<fl_scalar>;
    }
}

/* The kind a copy passes through: large enough for both sides where one can be, and that of the
 * target where anything becomes bool, or integers and bools become floats. uint64 has its own
 * value as a float only before it becomes int64. */
int passage(int from, int to) {
    int k = fl_kind_of_dtype[from];
    if (from >= FL_F8_E4M3)
        return k;
    if (to >= FL_F8_E4M3)
        return fl_kind_of_dtype[to];
    if (to == FL_BOOL)
        return FL_K_BOOL;
    if ((fl_is_int(from) || from == FL_BOOL) && fl_is_float(to))
        return fl_kind_of_dtype[to];
    if (from == FL_U64 && fl_is_complex(to))
        return fl_kind_of_dtype[fl_real_dtype(to)];
    if (k == FL_K_F32 && (to == FL_F64 || to == FL_C128))
        return FL_K_F64;
    return k;
}

}  // namespace

/* Same dtype: move bytes without conversion, whatever the dtype is. */
static int plain_dtype(int dtype) {
    switch (fl_itemsize(dtype)) {
    case 1: return FL_BOOL;
    case 2: return FL_I16;
    case 4: return FL_F32;
    case 8: return FL_I64;
    default: return FL_C128;
    }
}

/* The kind in which elements of a plain dtype are moved. */
static int plain_kind(int dtype) {
    return dtype == FL_I16 ? (int)FL_K_RAW16 : fl_kind_of_dtype[dtype];
}

/* The dtypes that both sides are taken for, and the kind between them. */
struct Way {
    bool same;
    int from, to, kind;

    Way(const fl_strided &dst, const fl_strided &src) : same(dst.dtype == src.dtype) {
        from = same ? plain_dtype(src.dtype) : src.dtype;
        to = same ? from : dst.dtype;
        kind = same ? plain_kind(from) : passage(from, to);
    }
};

/* Through contiguous memory of the kind, unless that is where the copy goes. */
static void copy_small(const fl_strided &dst, int to, const fl_strided &src, int from, int kind,
                     int ndim, const int64_t *shape) {
    alignas(64) char tile[FL_SMALL_NUMEL * 16];
    fl_walk out(ndim, shape, dst.strides);
    bool direct = to == fl_dtype_of_kind[kind] && out.in_order();
    fl_gather_small(direct ? dst.data : tile, kind, src.data, from,
                    fl_walk(ndim, shape, src.strides));
    if (!direct)
        fl_scatter_small(dst.data, to, tile, kind, out);
}

/* Both sides contiguous and of one dtype: bytes. */
static bool copy_bytes(const fl_strided &dst, const fl_strided &src, int ndim,
                       const int64_t *shape) {
    if (dst.dtype != src.dtype || !fl_geometry_contiguous(ndim, shape, dst.strides) ||
        !fl_geometry_contiguous(ndim, shape, src.strides))
        return false;
    if (dst.data == src.data)
        return true;
    const int64_t size = fl_itemsize(src.dtype);
    fl_parallel(fl_numel_of(ndim, shape), 4 * FL_GRAIN, [&](int64_t begin, int64_t end) {
        fl_copy_bytes(dst.data + begin * size, src.data + begin * size, (end - begin) * size);
    });
    return true;
}

/* Both sides contiguous, and integers or one of the kind: converted on the way. */
static bool convert_whole(const fl_strided &dst, const fl_strided &src, int kind, int ndim,
                          const int64_t *shape) {
    bool reads = fl_dtype_of_kind[kind] == dst.dtype, writes = fl_dtype_of_kind[kind] == src.dtype;
    const bool integers = src.dtype < FL_INTEGER_MOVES && dst.dtype < FL_INTEGER_MOVES;
    if ((reads == writes && !integers) || !fl_geometry_contiguous(ndim, shape, dst.strides) ||
        !fl_geometry_contiguous(ndim, shape, src.strides))
        return false;
    const int64_t to_size = fl_itemsize(dst.dtype), from_size = fl_itemsize(src.dtype);
    fl_parallel(fl_numel_of(ndim, shape), FL_GRAIN, [&](int64_t begin, int64_t end) {
        char *to = dst.data + begin * to_size;
        const char *from = src.data + begin * from_size;
        if (integers)
            FL_PICK(fl_integer_moves)->run[src.dtype][dst.dtype](from, to, end - begin);
        else if (reads)
            fl_moves->gather[src.dtype][kind](to, from, 1, end - begin, 0, 1);
        else
            fl_moves->scatter[kind][dst.dtype](to, from, 1, end - begin, 0, 1);
    });
    return true;
}

/* A source whose blocks stand several times in a contiguous target: `outer` blocks of `block`
 * elements each, every one `times` times. */
struct Repeats {
    int dims;               /* the outer ones */
    int64_t outer, times, block;
};

static Repeats repeats_of(const fl_strided &src, int ndim, const int64_t *shape) {
    int d = ndim;
    Repeats r = {0, 1, 1, 1};
    for (; d > 0 && (shape[d - 1] == 1 || src.strides[d - 1] == r.block); d--)
        r.block *= shape[d - 1];
    for (; d > 0 && (shape[d - 1] == 1 || src.strides[d - 1] == 0); d--)
        r.times *= shape[d - 1];
    r.dims = d;
    r.outer = fl_numel_of(d, shape);
    return r;
}

/* Blocks that are wide, or single elements that are repeated often. Where one block stands a few
 * times, the driver shares out the work better. */
static bool copy_repeated(const fl_strided &dst, const fl_strided &src, int dtype, int kind,
                          int ndim, const int64_t *shape) {
    const int64_t size = fl_itemsize(dtype), MIN_BLOCK_BYTES = 64, MIN_ROW_BYTES = 512,
                  MIN_TIMES = 64;
    const Repeats r = repeats_of(src, ndim, shape);
    if (r.times < (r.outer == 1 ? MIN_TIMES : 2) || fl_kind_size[kind] != size ||
        (r.block == 1 ? r.times * size < MIN_ROW_BYTES : r.block * size < MIN_BLOCK_BYTES) ||
        !fl_geometry_contiguous(ndim, shape, dst.strides))
        return false;
    fl_parallel(r.outer * r.times, FL_GRAIN / r.block + 1, [&](int64_t begin, int64_t end) {
        while (begin < end) {
            int64_t o = begin / r.times, rest = o, at = 0;
            int64_t stop = (o + 1) * r.times < end ? (o + 1) * r.times : end;
            for (int d = r.dims - 1; d >= 0; rest /= shape[d--])
                at += rest % shape[d] * src.strides[d];
            char *to = dst.data + begin * r.block * size;
            const char *from = src.data + at * size;
            if (r.block == 1) {
                fl_moves->gather[dtype][kind](to, from, 1, stop - begin, 0, 0);
            } else {
                memmove(to, from, (size_t)(r.block * size));
                repeat_block(to, r.block * size, stop - begin);
            }
            begin = stop;
        }
    });
    return true;
}

/* Where both sides are in steps of rows: sizes, and elements from one to the next. */
struct RowWalk {
    int dims = 0;
    int64_t rows = 1, length = 1;
    int64_t shape[FL_MAX_DIMS], from[FL_MAX_DIMS], to[FL_MAX_DIMS];
    int64_t index[FL_MAX_DIMS], at_from, at_to;

    /* False where rows are not side by side on both sides, or the target's are out of order. */
    bool set(const fl_strided &dst, const fl_strided &src, int ndim, const int64_t *sizes) {
        int d = ndim;
        for (; d > 0; d--) {
            const bool one = sizes[d - 1] == 1;
            if (!one && (dst.strides[d - 1] != length || src.strides[d - 1] != length))
                break;
            length *= sizes[d - 1];
        }
        for (int64_t least = length; d > 0; d--) {
            if (sizes[d - 1] == 1)
                continue;
            if (dst.strides[d - 1] < least)
                return false;
            least = dst.strides[d - 1];
            shape[dims] = sizes[d - 1];
            from[dims] = src.strides[d - 1];
            to[dims++] = dst.strides[d - 1];
            rows *= sizes[d - 1];
        }
        return true;
    }

    void start(int64_t row) {
        at_from = at_to = 0;
        for (int d = 0; d < dims; row /= shape[d++]) {
            index[d] = row % shape[d];
            at_from += index[d] * from[d];
            at_to += index[d] * to[d];
        }
    }

    /* Over rows of the innermost dimension, no more than are left there. */
    void step(int64_t count) {
        for (int d = 0; d < dims; d++, count = 1) {
            at_from += count * from[d];
            at_to += count * to[d];
            if ((index[d] += count) < shape[d])
                return;
            at_from -= shape[d] * from[d];
            at_to -= shape[d] * to[d];
            index[d] = 0;
        }
    }
};

/* Rows of several elements that lie side by side on both sides: bytes. What does not fit the cache
 * is left to the driver, which streams it. */
static bool copy_rows(const fl_strided &dst, const fl_strided &src, int64_t size, int ndim,
                      const int64_t *shape, int64_t n) {
    RowWalk walk;
    if (!walk.set(dst, src, ndim, shape) || walk.rows == 1 || walk.length == 1 ||
        n * size > fl_host_cache())
        return false;
    const auto copy = FL_PICK(fl_block_kernels)->copy;
    fl_parallel(walk.rows, FL_GRAIN / walk.length + 1, [&](int64_t begin, int64_t end) {
        RowWalk own = walk;
        own.start(begin);
        for (int64_t row = begin, count; row < end; row += count, own.step(count)) {
            const int64_t left = own.shape[0] - own.index[0];
            count = left < end - row ? left : end - row;
            copy(dst.data + own.at_to * size, own.to[0] * size, src.data + own.at_from * size,
                 own.from[0] * size, own.length * size, count);
        }
    });
    return true;
}

/* More than a few elements, the target's dimensions in order. */
static void copy_many(const fl_strided &dst, const fl_strided &src, int ndim,
                      const int64_t *shape, int64_t n) {
    if (fl_itemsize(src.dtype) == 2 && copy_bytes(dst, src, ndim, shape))
        return;
    const Way way(dst, src);
    if (way.same ? copy_repeated(dst, src, way.from, way.kind, ndim, shape) ||
                       copy_rows(dst, src, fl_itemsize(way.from), ndim, shape, n) ||
                       fl_copy_transposed(dst, src, fl_itemsize(way.from), ndim, shape)
                 : convert_whole(dst, src, way.kind, ndim, shape))
        return;
    fl_operand ops[2];
    ops[0] = fl_operand{src.data, way.from, way.kind, {}};
    ops[1] = fl_operand{dst.data, way.to, way.kind, {}};
    memcpy(ops[0].strides, src.strides, sizeof(int64_t) * (size_t)ndim);
    memcpy(ops[1].strides, dst.strides, sizeof(int64_t) * (size_t)ndim);
    fl_pw_drive(mover(fl_kind_size[way.kind]), nullptr, nullptr, 1, 1, ops, ndim, shape);
}

void fl_copy_strided(const fl_strided &dst, const fl_strided &src, int ndim,
                     const int64_t *shape) {
    const int64_t n = fl_numel_of(ndim, shape);
    if (n == 0)
        return;
    if (n <= FL_SMALL_NUMEL) {
        const Way way(dst, src);
        return copy_small(dst, way.to, src, way.from, way.kind, ndim, shape);
    }
    int order[FL_MAX_DIMS];
    int64_t sizes[FL_MAX_DIMS], to[FL_MAX_DIMS], from[FL_MAX_DIMS];
    fl_order_by_stride(ndim, dst.strides, order);
    for (int i = 0; i < ndim; i++) {
        sizes[i] = shape[order[i]];
        to[i] = dst.strides[order[i]];
        from[i] = src.strides[order[i]];
    }
    copy_many(fl_strided{dst.data, dst.dtype, to}, fl_strided{src.data, src.dtype, from}, ndim,
              sizes, n);
}

void fl_copy_tensor(const fl_tensor *dst, const fl_tensor *src) {
    const int64_t SMALL_COPY_BYTES = 4096;
    int64_t bytes = dst->numel * fl_itemsize(dst->dtype);
    if (!bytes)     /* nor memory: memmove takes no null pointers */
        return;
    if (bytes <= SMALL_COPY_BYTES && dst->numel == src->numel && dst->dtype == src->dtype &&
        dst->flags & src->flags & FL_CONTIGUOUS) {
        memmove(dst->data, src->data, (size_t)bytes);
        return;
    }
    fl_strided d = {dst->data, dst->dtype, dst->strides};
    int64_t strides[FL_MAX_DIMS];
    int pad = dst->ndim - src->ndim;
    for (int i = 0; i < dst->ndim; i++)
        strides[i] = i >= pad && src->shape[i - pad] != 1 ? src->strides[i - pad] : 0;
    fl_strided s = {src->data, src->dtype, strides};
    fl_copy_strided(d, s, dst->ndim, dst->shape);
}

/* ---- contiguous access ---------------------------------------------------------------------- */

enum direction { PACK, UNPACK };

static void repack(const fl_tensor *t, int dtype, void *memory, direction way) {
    int64_t dense[FL_MAX_DIMS];
    fl_contiguous_strides(t->ndim, t->shape, dense);
    fl_strided packed = {(char *)memory, dtype, dense}, own = {t->data, t->dtype, t->strides};
    fl_copy_strided(way == PACK ? packed : own, way == PACK ? own : packed, t->ndim, t->shape);
}

void fl_pack(const fl_tensor *t, int dtype, void *memory) { repack(t, dtype, memory, PACK); }

void fl_unpack(const fl_tensor *t, int dtype, const void *memory) {
    repack(t, dtype, const_cast<void *>(memory), UNPACK);
}

In::In(const fl_tensor *t, int kind) : ptr_(t->data), n_(t->numel) {
    if (t->dtype == fl_dtype_of_kind[kind] && (t->flags & FL_CONTIGUOUS))
        return;
    ptr_ = room_.take(fl_bytes(n_, fl_kind_size[kind]));
    if (ptr_)
        fl_pack(t, fl_dtype_of_kind[kind], ptr_);
}

Out::Out(fl_tensor *t, int kind, bool load)
    : t_(t), ptr_(t->data), owned_(nullptr), kind_(kind), n_(t->numel) {
    if (t->dtype == fl_dtype_of_kind[kind] && (t->flags & FL_CONTIGUOUS))
        return;
    ptr_ = owned_ = room_.take(fl_bytes(n_, fl_kind_size[kind]));
    if (owned_ && load)
        fl_pack(t, fl_dtype_of_kind[kind], owned_);
}

void Out::commit() {
    if (owned_)
        fl_unpack(t_, fl_dtype_of_kind[kind_], owned_);
}
