/* What batch normalization and its gradient share.
 *
 * Channels with many elements side by side are walked plane by plane. With few or none, each
 * element of [channels, inner] is a column of its own, and the columns of a channel are joined. */
#pragma once
#include "norm/kernels/norm.h"
#include "norm/channels.h"
#include "common/raw.h"

struct fl_batch {
    int64_t n, channels, inner;         /* input is [n, channels, inner] */
    int kind;
    int64_t size() const { return fl_kind_size[kind]; }
    int64_t count() const { return n * inner; }
    bool by_columns() const { return inner <= 16; }
    int64_t width() const { return channels * inner; }
};

fl_batch fl_batch_of(const fl_tensor *input);

/* Numbers of channels as numbers of columns, of the batch's kind. */
void fl_batch_spread(const fl_batch &b, const double *from, void *to);
/* An optional tensor of one number per channel; `absent` when it is None. */
int fl_batch_widen(const fl_batch &b, const fl_value &v, double absent, double *to);
int fl_batch_check_input(const fl_op *op, const fl_tensor *input);

/* Columns and rows that are walked at once. */
static const int64_t FL_BATCH_STRIP = 256, FL_BATCH_BLOCK = 32;
/* Call body(first column, width) for every strip of columns, in parallel. */
template <class Body> static inline void fl_batch_strips(const fl_batch &b, const Body &body) {
    int64_t strips = fl_chunk_count(b.width(), FL_BATCH_STRIP);
    fl_parallel(strips, fl_row_grain(b.n * FL_BATCH_STRIP), [&](int64_t first, int64_t last) {
        for (int64_t j = first * FL_BATCH_STRIP; first < last; first++, j += FL_BATCH_STRIP)
            body(j, b.width() - j < FL_BATCH_STRIP ? b.width() - j : FL_BATCH_STRIP);
    });
}

/* Planes are summed in pieces of this many elements, and the pieces joined in double. */
static const int64_t FL_BATCH_PIECE = 8192;
/* Call body(plane, first element, elements) for every piece of every plane; the pieces of a plane
 * come one after the other. */
template <class Body> static inline void fl_batch_planes(const fl_batch &b, const Body &body) {
    fl_parallel(b.n * b.channels, fl_row_grain(b.inner), [&](int64_t first, int64_t last) {
        for (int64_t t = first; t < last; t++)
            for (int64_t at = 0; at < b.inner; at += FL_BATCH_PIECE)
                body(t, at, b.inner - at < FL_BATCH_PIECE ? b.inner - at : FL_BATCH_PIECE);
    });
}

/* All of native_batch_norm but its first result, which is input * scale + shift for tensors with a
 * number for every channel. */
int fl_batch_norm_affine(const fl_value *in, fl_tensor *const *outs, fl_tensor *scale,
                         fl_tensor *shift);
