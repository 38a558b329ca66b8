/* index_select and index_add: slices along a dimension, named by an index. */
#include "index/named_slices.h"
#include "common/range_error.h"
#include "common/raw.h"
#include "index/rows.h"
#include "index/slices.h"
#include <math.h>

namespace {

const char INSTEAD[] = "index with self[index]";

int check_positions(const fl_op *op, const In &positions, const fl_tensor *index, int64_t size,
                 int dim) {
    if (!positions.ok())
        return -1;
    return fl_check_index_range(op, FL_RANGE_ERROR, positions.as<int64_t>(), index->numel, size,
                                dim,
                                false);
}

int check_source(const fl_op *op, const fl_tensor *self, const fl_tensor *index,
                 const fl_tensor *source, int dim) {
    int64_t shape[FL_MAX_DIMS];
    if (fl_expect_same_dtype(op, self, "source", source) < 0)
        return -1;
    for (int d = 0; d < self->ndim; d++)
        shape[d] = d == dim ? index->numel : self->shape[d];
    if (self->ndim == 0 && source->numel == index->numel)
        return 0;
    return fl_expect_shape(op, "source", source, self->ndim, shape);
}

const int64_t MIN_SLICE_ELEMENTS = 64;      /* for which a copy is worth its call */

/* Slices of strided memory, each as it lies. Dimensions before `dim` have size 1. */
void copy_slices(const fl_tensor *self, int dim, const int64_t *positions, int64_t n,
                 int64_t elements, char *to) {
    const int64_t size = fl_itemsize(self->dtype);
    const int nd = self->ndim - dim - 1;
    int64_t dense[FL_MAX_DIMS];
    fl_contiguous_strides(nd, self->shape + dim + 1, dense);
    fl_parallel(n, fl_row_grain(elements), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            char *from = self->data + positions[i] * self->strides[dim] * size;
            fl_copy_strided(fl_strided{to + i * elements * size, self->dtype, dense},
                            fl_strided{from, self->dtype, self->strides + dim + 1}, nd,
                            self->shape + dim + 1);
        }
    });
}

}  // namespace

extern "C" int fl_infer_index_select(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    int dim;
    if (fl_expect_slices(op, in, n, INSTEAD, &dim) < 0)
        return -1;
    fl_spec_like(outs, in[0].t);
    if (outs->ndim)
        outs->shape[dim] = in[2].t->numel;
    else if (in[2].t->numel != 1)
        return fl_error(FL_RUNTIME_ERROR,
                        "%s: from a tensor without dimensions one element is taken, "
                        "but the index has shape %s; write self.expand(n), or self.reshape(1) first",
                        fl_op_title(op), fl_shape_text(in[2].t->shape, in[2].t->ndim));
    return 0;
}

extern "C" int fl_run_index_select(const fl_op *op, const fl_value *in, int,
                                   fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t, *index = in[2].t;
    int dim;
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    fl_middle m = fl_middle_of(self, dim);
    In positions(index, FL_K_I64);
    if (check_positions(op, positions, index, m.n, dim) < 0)
        return -1;
    if (outs[0]->numel == 0)
        return 0;
    if (fl_names_small_share(self, outs[0]->numel, self->dtype))
        return fl_run_on_slices(op, in, self, dim, positions.as<int64_t>(), nullptr, outs);
    RawOut out(outs[0], self->dtype);
    if (!out.ok())
        return -1;
    if (m.outer == 1 && !fl_is_contiguous(self) && m.inner >= MIN_SLICE_ELEMENTS) {
        copy_slices(self, dim, positions.as<int64_t>(), index->numel, m.inner, out.data());
        out.commit();
        return 0;
    }
    RawIn x(self, self->dtype);
    if (!x.ok())
        return -1;
    fl_pick_blocks(out.data(), x.data(), positions.as<int64_t>(), index->numel, m.outer, m.n,
                   m.inner * fl_itemsize(self->dtype));
    out.commit();
    return 0;
}

extern "C" int fl_infer_index_add(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    int dim;
    if (fl_expect_slices(op, in, n, INSTEAD, &dim) < 0 ||
        check_source(op, in[0].t, in[2].t, in[3].t, dim) < 0)
        return -1;
    if (in[4].tag == FL_COMPLEX)
        return fl_error(FL_NOT_IMPLEMENTED, "%s: a complex alpha is not implemented; multiply "
                        "source by it first", fl_op_title(op));
    if (!fl_floating_or_complex(in[0].t->dtype) && in[4].tag == FL_FLOAT &&
        in[4].d != trunc(in[4].d))
        return fl_error(FL_RUNTIME_ERROR, "%s: alpha must be an integer for a tensor of dtype %s",
                        fl_op_title(op), fl_dtype_name(in[0].t->dtype));
    fl_spec_like(outs, in[0].t);
    return 0;
}

extern "C" int fl_run_index_add(const fl_op *op, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t, *index = in[2].t;
    int dim, kind = fl_kind_of_dtype[self->dtype];
    if (fl_wrap_dim(op, in[1].i, self->ndim, &dim) < 0)
        return -1;
    fl_middle m = fl_middle_of(self, dim);
    In positions(index, FL_K_I64), source(in[3].t, kind);
    if (check_positions(op, positions, index, m.n, dim) < 0 || !source.ok())
        return -1;
    fl_start_from(outs[0], self);
    if (fl_names_small_share(outs[0], in[3].t->numel, fl_dtype_of_kind[kind]))
        return fl_run_on_slices(op, in, outs[0], dim, positions.as<int64_t>(), nullptr, nullptr);
    Out out(outs[0], kind, true);
    if (!out.ok())
        return -1;
    if (in[3].t->numel)
        fl_add_blocks({positions.as<int64_t>(), index->numel, m.inner, m.inner, m.n, -1, kind,
                       fl_as_double(in[4])}, out.as<char>(), source.as<char>(), m.outer);
    out.commit();
    return 0;
}
