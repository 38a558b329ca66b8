/* gather and scatter: one position along a dimension for every element of the index. */
#include "ops/add.h"
#include "ops/args.h"
#include "ops/raw.h"

namespace {

/* The index may be smaller than the tensors in every dimension but `dim`. */
int check_index(const fl_op *op, const fl_tensor *self, const fl_tensor *index, int dim,
                const char *name, bool skip_dim) {
    int nd_self = self->ndim ? self->ndim : 1, nd_index = index->ndim ? index->ndim : 1;
    if (index->numel == 0)
        return 0;
    if (nd_self != nd_index)
        return fl_error(FL_RUNTIME_ERROR, "%s: 'index' must have as many dimensions as '%s': got "
                        "shapes %s and %s", fl_op_title(op), name,
                        fl_shape_text(index->shape, index->ndim),
                        fl_shape_text(self->shape, self->ndim));
    for (int d = 0; d < self->ndim && d < index->ndim; d++)
        if ((d != dim || !skip_dim) && index->shape[d] > self->shape[d])
            return fl_error(FL_RUNTIME_ERROR, "%s: 'index' of shape %s reaches beyond '%s' of "
                            "shape %s in dimension %d; apart from dim=%d it may not be larger",
                            fl_op_title(op), fl_shape_text(index->shape, index->ndim), name,
                            fl_shape_text(self->shape, self->ndim), d, dim);
    return 0;
}

/* A walk over the index, line by line along its last dimension. The strides belong to the tensor
 * that the positions point into, and to the other one, whose elements line up with the index. */
struct Walk {
    int ndim, dim;
    int64_t shape[FL_MAX_DIMS], at[FL_MAX_DIMS], by[FL_MAX_DIMS];
    int64_t lines, length;
    int64_t at_dim;                     /* stride of the dimension that positions count */
};

Walk walk_of(const fl_tensor *pointed, const fl_tensor *aligned, const fl_tensor *index, int dim) {
    Walk w;
    w.ndim = index->ndim;
    w.dim = dim;
    w.at_dim = pointed->ndim ? pointed->strides[dim] : 0;
    for (int d = 0; d < index->ndim; d++) {
        w.shape[d] = index->shape[d];
        w.at[d] = d == dim || pointed->ndim == 0 ? 0 : pointed->strides[d];
        w.by[d] = aligned && aligned->ndim ? aligned->strides[d] : 0;
    }
    if (w.ndim == 0) {
        w.shape[0] = 1;
        w.at[0] = w.by[0] = 0;
        w.ndim = 1;
    }
    w.length = w.shape[w.ndim - 1];
    w.lines = w.length ? index->numel / w.length : 0;
    return w;
}

/* Offsets of a line's first element in both tensors. */
void start_of(const Walk &w, int64_t line, int64_t *at, int64_t *by) {
    *at = *by = 0;
    for (int d = w.ndim - 2; d >= 0; d--) {
        int64_t i = line % w.shape[d];
        line /= w.shape[d];
        *at += i * w.at[d];
        *by += i * w.by[d];
    }
}

template <class T>
void gather_lines(const Walk &w, const int64_t *index, const char *from, char *to, int64_t b,
                  int64_t e) {
    int64_t step = w.at[w.ndim - 1];
    for (int64_t line = b; line < e; line++) {
        int64_t at, by;
        start_of(w, line, &at, &by);
        const T *x = (const T *)from + at;
        T *out = (T *)to + line * w.length;
        const int64_t *place = index + line * w.length;
        if (step == 0 && w.at_dim == 1)
            for (int64_t i = 0; i < w.length; i++)
                out[i] = x[place[i]];
        else
            for (int64_t i = 0; i < w.length; i++)
                out[i] = x[i * step + place[i] * w.at_dim];
    }
}

template <class T>
void scatter_lines(const Walk &w, const int64_t *index, const char *from, char *to, int64_t b,
                   int64_t e) {
    int64_t step = w.at[w.ndim - 1], source = w.by[w.ndim - 1];
    for (int64_t line = b; line < e; line++) {
        int64_t at, by;
        start_of(w, line, &at, &by);
        T *out = (T *)to + at;
        const T *x = (const T *)from + by;
        const int64_t *place = index + line * w.length;
        for (int64_t i = 0; i < w.length; i++)
            out[i * step + place[i] * w.at_dim] = x[i * source];
    }
}

template <class T>
void add_lines(const Walk &w, const int64_t *index, const char *from, char *to, int64_t b,
               int64_t e) {
    int64_t step = w.at[w.ndim - 1], source = w.by[w.ndim - 1];
    for (int64_t line = b; line < e; line++) {
        int64_t at, by;
        start_of(w, line, &at, &by);
        T *out = (T *)to + at;
        const T *x = (const T *)from + by;
        const int64_t *place = index + line * w.length;
        for (int64_t i = 0; i < w.length; i++) {
            T &target = out[i * step + place[i] * w.at_dim];
            target = fl_plus(target, x[i * source]);
        }
    }
}

/* Writers may run side by side only where no two of them meet: along the first dimension, unless
 * positions count that one. Every line belongs to one chunk, so order within it is fixed. */
template <class Body> void each_line(const Walk &w, const Body &body) {
    bool apart = w.ndim > 1 && w.dim != 0;
    if (!apart || w.lines == 0) {
        body(0, w.lines);
        return;
    }
    int64_t group = w.lines / w.shape[0];
    fl_parallel(w.shape[0], fl_row_grain(group * w.length), [&](int64_t b, int64_t e) {
        body(b * group, e * group);
    });
}

/* dim of the call; shapes of self and index agree on what it means. */
int dim_of(const fl_op *op, const fl_value *in, int *dim) {
    return fl_wrap_dim(op, in[1].i, in[0].t->ndim, dim);
}

int infer_scatter(const fl_op *op, const fl_value *in, int n, fl_spec *outs, const fl_tensor *src) {
    const fl_tensor *self = in[0].t, *index = in[2].t;
    int dim;
    if (fl_same_device(op, in, n) < 0 || dim_of(op, in, &dim) < 0 ||
        fl_expect_index(op, "index", index) < 0 ||
        check_index(op, self, index, dim, "self", true) < 0)
        return -1;
    if (src && (fl_expect_same_dtype(op, self, "src", src) < 0 ||
                check_index(op, src, index, dim, "src", false) < 0))
        return -1;
    fl_spec_like(outs, self);
    return 0;
}

/* Positions of a scatter or gather, checked before anything is written. */
int check_places(const fl_op *op, const In &index, const fl_tensor *t, const fl_tensor *self,
                 int dim) {
    if (!index.ok())
        return -1;
    int64_t size = self->ndim ? self->shape[dim] : 1;
    return fl_check_index_range(op, FL_RUNTIME_ERROR, index.as<int64_t>(), t->numel, size, dim,
                                false);
}

/* A number as an element of a dtype. */
void number_as(const fl_value &v, int dtype, char *out) {
    static const int64_t none[1] = {0};
    alignas(16) double d[2] = {fl_as_double(v), 0};
    int64_t i = v.i;
    bool whole = v.tag == FL_INT || v.tag == FL_BOOLEAN;
    if (v.tag == FL_COMPLEX)
        d[1] = v.c[1];
    char *from = whole ? (char *)&i : (char *)d;
    int from_dtype = whole ? FL_I64 : v.tag == FL_COMPLEX ? FL_C128 : FL_F64;
    fl_copy_strided(fl_strided{out, dtype, none}, fl_strided{from, from_dtype, none}, 0, none);
}

}  // namespace

extern "C" int fl_infer_gather(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[0].t, *index = in[2].t;
    int dim;
    if (fl_same_device(op, in, n) < 0 || dim_of(op, in, &dim) < 0 ||
        fl_expect_index(op, "index", index) < 0 ||
        check_index(op, self, index, dim, "self", true) < 0)
        return -1;
    fl_spec_like(outs, index);
    outs->dtype = self->dtype;
    return 0;
}

extern "C" int fl_run_gather(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t, *index = in[2].t;
    int dim;
    if (dim_of(op, in, &dim) < 0)
        return -1;
    if (index->numel == 0)
        return 0;
    In places(index, FL_K_I64);
    RawOut out(outs[0], self->dtype);
    if (!out.ok() || check_places(op, places, index, self, dim) < 0)
        return -1;
    Walk w = walk_of(self, nullptr, index, dim);
    fl_parallel(w.lines, fl_row_grain(w.length), [&](int64_t b, int64_t e) {
        FL_BY_SIZE(fl_itemsize(self->dtype), gather_lines, w, places.as<int64_t>(), self->data,
                   out.data(), b, e)
    });
    out.commit();
    return 0;
}

extern "C" int fl_infer_scatter__src(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    return infer_scatter(op, in, n, outs, in[3].t);
}

extern "C" int fl_infer_scatter__value(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    return infer_scatter(op, in, n, outs, nullptr);
}

extern "C" int fl_infer_scatter_add(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    return infer_scatter(op, in, n, outs, in[3].t);
}

static int run_scatter(const fl_op *op, const fl_value *in, fl_tensor *out, const char *from,
                       const fl_tensor *src) {
    const fl_tensor *index = in[2].t;
    int dim;
    if (dim_of(op, in, &dim) < 0)
        return -1;
    In places(index, FL_K_I64);
    if (check_places(op, places, index, in[0].t, dim) < 0)
        return -1;
    fl_start_from(out, in[0].t);
    if (index->numel == 0)
        return 0;
    Walk w = walk_of(out, src, index, dim);
    each_line(w, [&](int64_t b, int64_t e) {
        FL_BY_SIZE(fl_itemsize(out->dtype), scatter_lines, w, places.as<int64_t>(), from,
                   out->data, b, e)
    });
    return 0;
}

extern "C" int fl_run_scatter__src(const fl_op *op, const fl_value *in, int,
                                   fl_tensor *const *outs) {
    const fl_tensor *src = in[3].t;
    if (src->dtype == outs[0]->dtype)
        return run_scatter(op, in, outs[0], src->data, src);
    RawIn cast(src, outs[0]->dtype);
    if (!cast.ok())
        return -1;
    fl_tensor dense = *src;
    int64_t strides[FL_MAX_DIMS];
    fl_contiguous_strides(src->ndim, src->shape, strides);
    dense.strides = strides;
    return run_scatter(op, in, outs[0], cast.data(), &dense);
}

extern "C" int fl_run_scatter__value(const fl_op *op, const fl_value *in, int,
                                     fl_tensor *const *outs) {
    alignas(16) char number[16];
    number_as(in[3], outs[0]->dtype, number);
    return run_scatter(op, in, outs[0], number, nullptr);
}

extern "C" int fl_run_scatter_add(const fl_op *op, const fl_value *in, int,
                                  fl_tensor *const *outs) {
    const fl_tensor *index = in[2].t, *src = in[3].t;
    int dim, kind = fl_kind_of_dtype[in[0].t->dtype];
    if (dim_of(op, in, &dim) < 0)
        return -1;
    In places(index, FL_K_I64), from(src, kind);
    if (!from.ok() || check_places(op, places, index, in[0].t, dim) < 0)
        return -1;
    fl_start_from(outs[0], in[0].t);
    Out out(outs[0], kind, true);
    if (!out.ok())
        return -1;
    if (index->numel == 0)
        return 0;
    int64_t to_strides[FL_MAX_DIMS], from_strides[FL_MAX_DIMS];
    fl_tensor to_dense = *outs[0], from_dense = *src;
    fl_contiguous_strides(outs[0]->ndim, outs[0]->shape, to_strides);
    fl_contiguous_strides(src->ndim, src->shape, from_strides);
    to_dense.strides = to_strides;
    from_dense.strides = from_strides;
    Walk w = walk_of(&to_dense, &from_dense, index, dim);
    each_line(w, [&](int64_t b, int64_t e) {
        FL_BY_KIND(kind, add_lines, w, places.as<int64_t>(), from.as<char>(), out.as<char>(), b, e)
    });
    out.commit();
    return 0;
}
