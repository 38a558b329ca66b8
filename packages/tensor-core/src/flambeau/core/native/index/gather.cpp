/* gather and scatter: one position along a dimension for every element of the index. */
#include "common/add.h"
#include "common/args.h"
#include "index/named_slices.h"
#include "common/raw.h"
#include "index/rows.h"
#include "index/gather_walk.h"

namespace {

template <class T>
void gather_elements(const fl_gather_walk &w, const int64_t *index, const char *from, char *to,
                     int64_t b, int64_t e) {
    const int64_t step = w.at[w.ndim - 1];
    fl_walk_runs(w, b, e, [&](int64_t element, int64_t count, int64_t at, int64_t) {
        const T *x = (const T *)from + at;
        T *out = (T *)to + element;
        const int64_t *position = index + element;
        if (step == 0 && w.at_dim == 1)
            for (int64_t i = 0; i < count; i++)
                out[i] = x[position[i]];
        else
            for (int64_t i = 0; i < count; i++)
                out[i] = x[i * step + position[i] * w.at_dim];
    });
}

/* Call write(target, x) for each element and what it is to be written to. */
template <class T, class Write>
void write_elements(const fl_gather_walk &w, const int64_t *index, const char *from, char *to,
                    int64_t b, int64_t e, const Write &write) {
    const int64_t step = w.at[w.ndim - 1], source = w.by[w.ndim - 1];
    fl_walk_runs(w, b, e, [&](int64_t element, int64_t count, int64_t at, int64_t by) {
        T *out = (T *)to + at;
        const T *x = (const T *)from + by;
        const int64_t *position = index + element;
        if (step == 0 && w.at_dim == 1 && source == 1)
            for (int64_t i = 0; i < count; i++)
                write(out[position[i]], x[i]);
        else
            for (int64_t i = 0; i < count; i++)
                write(out[i * step + position[i] * w.at_dim], x[i * source]);
    });
}

template <class T>
void scatter_elements(const fl_gather_walk &w, const int64_t *index, const char *from, char *to,
                      int64_t b, int64_t e) {
    write_elements<T>(w, index, from, to, b, e, [](T &target, T x) { target = x; });
}

template <class T>
void add_elements(const fl_gather_walk &w, const int64_t *index, const char *from, char *to,
                  int64_t b, int64_t e) {
    write_elements<T>(w, index, from, to, b, e,
                      [](T &target, T x) { target = fl_plus(target, x); });
}

/* Integers wrap, so that they are added in their own width; FL_BY_SIZE has 16 bytes, too. */
template <class T>
void add_integers(const fl_gather_walk &w, const int64_t *index, const char *from, char *to,
                  int64_t b, int64_t e) {
    if constexpr (sizeof(T) <= 8)
        write_elements<T>(w, index, from, to, b, e,
                          [](T &target, T x) { target = (T)(target + x); });
}

/* Whether the index is one line along `dim`, expanded over blocks as large as those of self. */
bool names_blocks(const fl_tensor *self, const fl_tensor *index, int dim) {
    int64_t inner = 1;
    for (int d = 0; d < index->ndim; d++) {
        bool expanded = index->strides[d] == 0 || index->shape[d] == 1;
        if (d != dim && (!expanded || index->shape[d] != self->shape[d]))
            return false;
        inner *= d > dim ? index->shape[d] : 1;
    }
    return index->numel > 0 && inner > 1;
}

/* That line. */
fl_tensor line_of(const fl_tensor *index, int dim) {
    fl_tensor line = *index;
    line.ndim = 1;
    line.numel = index->shape[dim];
    line.shape = index->shape + dim;
    line.strides = index->strides + dim;
    if (line.strides[0] != 1 && line.numel != 1)
        line.flags &= ~(uint32_t)FL_CONTIGUOUS;
    return line;
}

int infer_scatter(const fl_op *op, const fl_value *in, int n, fl_spec *outs, const fl_tensor *src) {
    const fl_tensor *self = in[0].t, *index = in[2].t;
    int dim;
    if (fl_same_device(op, in, n) < 0 || fl_dim_of(op, in, &dim) < 0 ||
        (index->numel && fl_expect_index(op, "index", index) < 0) ||
        fl_check_aligned(op, self, index, dim, "self", true) < 0)
        return -1;
    if (src && (fl_expect_same_dtype(op, self, "src", src) < 0 ||
                fl_check_aligned(op, src, index, dim, "src", false) < 0))
        return -1;
    fl_spec_like(outs, self);
    return 0;
}

}  // namespace

extern "C" int fl_infer_gather(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *self = in[0].t, *index = in[2].t;
    int dim;
    if (fl_same_device(op, in, n) < 0 || fl_dim_of(op, in, &dim) < 0 ||
        (index->numel && fl_expect_index(op, "index", index) < 0) ||
        fl_check_aligned(op, self, index, dim, "self", true) < 0)
        return -1;
    fl_spec_like(outs, index);
    outs->dtype = self->dtype;
    return 0;
}

static int gather_blocks(const fl_op *op, const fl_tensor *self, const fl_tensor *index, int dim,
                         fl_tensor *result) {
    const fl_tensor line = line_of(index, dim);
    In positions(&line, FL_K_I64);
    RawOut out(result, self->dtype);
    if (!out.ok() || fl_check_positions(op, positions, &line, self, dim) < 0)
        return -1;
    const fl_middle m = fl_middle_of(self, dim);
    fl_pick_blocks(out.data(), self->data, positions.as<int64_t>(), line.numel, m.outer, m.n,
                   m.inner * fl_itemsize(self->dtype));
    out.commit();
    return 0;
}

extern "C" int fl_run_gather(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t, *index = in[2].t;
    int dim;
    if (fl_dim_of(op, in, &dim) < 0)
        return -1;
    if (index->numel == 0)
        return 0;
    if (fl_is_contiguous(self) && names_blocks(self, index, dim))
        return gather_blocks(op, self, index, dim, outs[0]);
    In positions(index, FL_K_I64);
    RawOut out(outs[0], self->dtype);
    if (!out.ok() || fl_check_positions(op, positions, index, self, dim) < 0)
        return -1;
    fl_gather_walk w = fl_walk_of(self, nullptr, index, dim);
    fl_parallel(index->numel, FL_GRAIN, [&](int64_t b, int64_t e) {
        FL_BY_SIZE(fl_itemsize(self->dtype), gather_elements, w, positions.as<int64_t>(),
                   self->data, out.data(), b, e)
    });
    out.commit();
    return 0;
}

extern "C" int fl_infer_scatter__src(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    return infer_scatter(op, in, n, outs, in[3].t);
}

extern "C" int fl_infer_scatter__value(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    if (fl_check_number(fl_op_title(op), "value", in[3], in[0].t->dtype) < 0)
        return -1;
    return infer_scatter(op, in, n, outs, nullptr);
}

extern "C" int fl_infer_scatter_add(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    return infer_scatter(op, in, n, outs, in[3].t);
}

static int run_scatter(const fl_op *op, const fl_value *in, fl_tensor *out, const char *from,
                       const fl_tensor *src) {
    const fl_tensor *index = in[2].t;
    int dim;
    if (fl_dim_of(op, in, &dim) < 0)
        return -1;
    In positions(index, FL_K_I64);
    if (fl_check_positions(op, positions, index, in[0].t, dim) < 0)
        return -1;
    fl_start_from(out, in[0].t);
    if (index->numel == 0)
        return 0;
    fl_gather_walk w = fl_walk_of(out, src, index, dim);
    fl_walk_writers(w, [&](int64_t b, int64_t e) {
        FL_BY_SIZE(fl_itemsize(out->dtype), scatter_elements, w, positions.as<int64_t>(), from,
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
    fl_number_as(in[3], outs[0]->dtype, number);
    return run_scatter(op, in, outs[0], number, nullptr);
}

static int add_blocks(const fl_op *op, const fl_value *in, int dim, fl_tensor *result) {
    const fl_tensor *self = in[0].t;
    int kind = fl_kind_of_dtype[self->dtype];
    const fl_tensor line = line_of(in[2].t, dim);
    In positions(&line, FL_K_I64), from(in[3].t, kind);
    if (!from.ok() || fl_check_positions(op, positions, &line, self, dim) < 0)
        return -1;
    fl_start_from(result, self);
    Out out(result, kind, true);
    if (!out.ok())
        return -1;
    fl_middle m = fl_middle_of(result, dim);
    fl_add_blocks({positions.as<int64_t>(), line.numel, m.inner, m.inner, m.n, -1, kind, 1},
                  out.as<char>(), from.as<char>(), m.outer);
    out.commit();
    return 0;
}

static void add_each_integer(const int64_t *positions, const fl_tensor *index,
                             const fl_tensor *src, fl_tensor *out, int dim) {
    fl_gather_walk w = fl_walk_of(out, src, index, dim);
    fl_walk_writers(w, [&](int64_t b, int64_t e) {
        FL_BY_SIZE(fl_itemsize(out->dtype), add_integers, w, positions, src->data, out->data, b, e)
    });
}

extern "C" int fl_run_scatter_add(const fl_op *op, const fl_value *in, int,
                                  fl_tensor *const *outs) {
    const fl_tensor *index = in[2].t, *src = in[3].t;
    int dim, kind = fl_kind_of_dtype[in[0].t->dtype];
    if (fl_dim_of(op, in, &dim) < 0)
        return -1;
    if (fl_names_small_share(outs[0], fl_most_named(in[0].t, index, dim), fl_dtype_of_kind[kind])) {
        In positions(index, FL_K_I64);
        if (fl_check_positions(op, positions, index, in[0].t, dim) < 0)
            return -1;
        fl_start_from(outs[0], in[0].t);
        return fl_run_on_slices(op, in, outs[0], dim, positions.as<int64_t>(), index->shape,
                                nullptr);
    }
    if (names_blocks(in[0].t, index, dim) &&
        !memcmp(index->shape, src->shape, sizeof(int64_t) * (size_t)index->ndim))
        return add_blocks(op, in, dim, outs[0]);
    In positions(index, FL_K_I64);
    if (fl_check_positions(op, positions, index, in[0].t, dim) < 0)
        return -1;
    fl_start_from(outs[0], in[0].t);
    if (fl_is_int(outs[0]->dtype) && index->numel) {
        add_each_integer(positions.as<int64_t>(), index, src, outs[0], dim);
        return 0;
    }
    In from(src, kind);
    if (!from.ok())
        return -1;
    Out out(outs[0], kind, true);
    if (!out.ok())
        return -1;
    if (index->numel == 0)
        return 0;
    fl_gather_walk w = fl_dense_walk_of(outs[0], src, index, dim);
    fl_walk_writers(w, [&](int64_t b, int64_t e) {
        FL_BY_KIND(kind, add_elements, w, positions.as<int64_t>(), from.as<char>(),
                   out.as<char>(), b, e)
    });
    out.commit();
    return 0;
}
