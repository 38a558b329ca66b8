/* Single Fourier transforms, and blocks of them side by side. */
#include "fft/fft_lines.h"
#include "common/kernels/transpose.h"
#include <atomic>

namespace {

const int64_t TILE_BYTES = 256 << 10;       /* of one of two buffers of a block */

template <class T> fl_split<T> at(const fl_split<T> &x, int64_t offset) {
    return {x.re + offset, x.im + offset};
}

/* Room for split arrays of a size, one after the other. */
template <class T> struct Room {
    Room(int64_t arrays, int64_t size)
        : size_(fft_padded(size, FL_FFT_LANES<T>)), bytes_(fl_bytes(arrays * 2 * size_, sizeof(T))),
          ptr_((T *)fl_alloc(bytes_)) {}
    ~Room() { fl_free(ptr_, bytes_); }
    bool ok() const { return ptr_ != nullptr; }
    fl_split<T> operator[](int64_t i) const {
        return {ptr_ + 2 * i * size_, ptr_ + (2 * i + 1) * size_};
    }
    int64_t size_;
    size_t bytes_;
    T *ptr_;
};

template <class T> int64_t block_lanes(int64_t rows, int64_t lanes) {
    int64_t most = TILE_BYTES / (2 * (int64_t)sizeof(T) * rows) / FL_FFT_LANES<T> * FL_FFT_LANES<T>;
    return most < FL_FFT_LANES<T> ? FL_FFT_LANES<T> : most < lanes ? most : lanes;
}

template <class T>
void read_block(const FftLine<T> &x, int64_t start, int64_t count, int64_t lanes, fl_split<T> to) {
    fft_read(x, start, count, to);
    for (int64_t i = count; i < lanes; i++)
        to.re[i] = to.im[i] = 0;
}

/* One transform of a length that is not split, in the first lane of a block. */
template <class T>
int direct(const FftPlan<T> &plan, const FftLine<T> &x, const FftLine<T> &y, T scale) {
    const int64_t n = plan.n, lanes = FL_FFT_LANES<T>;
    Room<T> room(3, n * lanes);
    if (!room.ok())
        return -1;
    fl_split<T> line = room[2], block = room[0];
    fft_read(x, 0, n, line);
    memset(block.re, 0, (size_t)(n * lanes) * sizeof(T));
    memset(block.im, 0, (size_t)(n * lanes) * sizeof(T));
    for (int64_t j = 0; j < n; j++) {
        block.re[j * lanes] = line.re[j];
        block.im[j * lanes] = line.im[j];
    }
    fl_split<T> z = fft_columns(plan.whole, block, lanes, lanes, room[1], block);
    for (int64_t j = 0; j < n; j++) {
        line.re[j] = z.re[j * lanes];
        line.im[j] = z.im[j * lanes];
    }
    fft_write(y, 0, n, line, scale);
    return 0;
}

/* The n2 transforms of length n1, turned and transposed into `middle`: rows of n1. */
template <class T>
int first_half(const FftPlan<T> &plan, const FftLine<T> &x, fl_split<T> middle, int64_t begin,
               int64_t end) {
    const int64_t n1 = plan.first.n, n2 = plan.second.n, lanes = FL_FFT_LANES<T>;
    const int64_t width = fft_padded(end - begin, lanes), row = fft_padded(n2, lanes);
    const int64_t out_row = fft_padded(n1, lanes);
    Room<T> room(2, n1 * width);
    if (!room.ok())
        return -1;
    if (width == n2)
        fft_read(x, 0, n1 * n2, room[0]);
    else
        for (int64_t j = 0; j < n1; j++)
            read_block(x, j * n2 + begin, end - begin, width, at(room[0], j * width));
    fl_split<T> z = fft_columns(plan.first, room[0], width, width, room[1], room[0]);
    const fl_fft_table<T> &kernels = fft_kernels<T>();
    if (width == row)
        kernels.multiply(z, z, plan.turn_re.at, plan.turn_im.at, n1 * row);
    else
        for (int64_t k = 0; k < n1; k++)
            kernels.multiply(at(z, k * width), at(z, k * width), plan.turn_re.at + k * row + begin,
                             plan.turn_im.at + k * row + begin, width);
    fft_transpose(middle.re + begin * out_row, out_row, z.re, width, end - begin, n1);
    fft_transpose(middle.im + begin * out_row, out_row, z.im, width, end - begin, n1);
    return 0;
}

/* The n1 transforms of length n2; their results lie in rows of n1. */
template <class T>
int second_half(const FftPlan<T> &plan, fl_split<T> middle, const FftLine<T> &y, T scale,
                int64_t begin, int64_t end) {
    const int64_t n1 = plan.first.n, n2 = plan.second.n, lanes = FL_FFT_LANES<T>;
    const int64_t width = fft_padded(end - begin, lanes);
    Room<T> room(2, n2 * width);
    if (!room.ok())
        return -1;
    fl_split<T> z = fft_columns(plan.second, at(middle, begin), fft_padded(n1, lanes), width,
                                room[0], room[1]);
    if (width == n1)
        fft_write(y, 0, n1 * n2, z, scale);
    else
        for (int64_t k = 0; k < n2; k++)
            fft_write(y, k * n1 + begin, end - begin, at(z, k * width), scale);
    return 0;
}

template <class T>
int in_two(const FftPlan<T> &plan, const FftLine<T> &x, const FftLine<T> &y, T scale) {
    const int64_t n1 = plan.first.n, n2 = plan.second.n, lanes = FL_FFT_LANES<T>;
    Room<T> middle(1, n2 * fft_padded(n1, lanes));
    if (!middle.ok())
        return -1;
    std::atomic<int> failed(0);
    fl_parallel(n2, block_lanes<T>(n1, fft_padded(n2, lanes)), [&](int64_t b, int64_t e) {
        if (first_half(plan, x, middle[0], b, e) < 0)
            failed = 1;
    });
    if (failed)
        return -1;
    fl_parallel(n1, block_lanes<T>(n2, fft_padded(n1, lanes)), [&](int64_t b, int64_t e) {
        if (second_half(plan, middle[0], y, scale, b, e) < 0)
            failed = 1;
    });
    return failed ? -1 : 0;
}

/* As a convolution with a chirp: j k = (j^2 + k^2 - (j - k)^2) / 2. */
template <class T>
int chirp(const FftPlan<T> &plan, const FftLine<T> &x, const FftLine<T> &y, T scale) {
    const int64_t n = plan.n, m = plan.convolution->n;
    const fl_fft_table<T> &kernels = fft_kernels<T>();
    Room<T> room(2, m);
    if (!room.ok())
        return -1;
    fl_split<T> a = room[0], b = room[1];
    fft_read(x, 0, n, a);
    kernels.multiply(a, a, plan.chirp_re.at, plan.chirp_im.at, n);
    memset(a.re + n, 0, (size_t)(m - n) * sizeof(T));
    memset(a.im + n, 0, (size_t)(m - n) * sizeof(T));
    FftLine<T> from = {a.re, a.im, 1}, to = {b.re, b.im, 1};
    if (fft_line(*plan.convolution, from, to, (T)1) < 0)
        return -1;
    kernels.multiply(b, b, plan.kernel_re.at, plan.kernel_im.at, m);
    if (fft_line(*plan.convolution, fft_swapped(to), fft_swapped(from), (T)1) < 0)
        return -1;
    kernels.multiply(a, a, plan.chirp_re.at, plan.chirp_im.at, n);
    fft_write(y, 0, n, a, scale);
    return 0;
}

template <class T> void copy(T *to, const T *from, int64_t step, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        to[i] = from[i * step];
}

template <class T> void spread(T *to, int64_t step, const T *from, int64_t count, T scale) {
    for (int64_t i = 0; i < count; i++)
        to[i * step] = from[i] * scale;
}

}  // namespace

template <>
void fft_transpose(float *out, int64_t out_row, const float *in, int64_t in_row, int64_t rows,
                   int64_t cols) {
    static const fl_transpose_kernels *const kernels = FL_PICK(fl_transpose_kernels);
    kernels->f32(out, out_row, in, 1, in_row, rows, cols);
}
template <>
void fft_transpose(double *out, int64_t out_row, const double *in, int64_t in_row, int64_t rows,
                   int64_t cols) {
    static const fl_transpose_kernels *const kernels = FL_PICK(fl_transpose_kernels);
    kernels->f64(out, out_row, in, 1, in_row, rows, cols);
}

template <class T>
void fft_read(const FftLine<T> &x, int64_t start, int64_t count, fl_split<T> to) {
    const T *re = x.re + start * x.step, *im = x.im ? x.im + start * x.step : nullptr;
    if (x.step == 2 && im == re + 1)
        return fft_kernels<T>().split(to.re, to.im, re, count);
    if (x.step == 2 && im && re == im + 1)
        return fft_kernels<T>().split(to.im, to.re, im, count);
    copy(to.re, re, x.step, count);
    if (im)
        copy(to.im, im, x.step, count);
    else
        memset(to.im, 0, (size_t)count * sizeof(T));
}

template <class T>
void fft_write(const FftLine<T> &y, int64_t start, int64_t count, fl_split<T> from, T scale) {
    T *re = y.re ? y.re + start * y.step : nullptr, *im = y.im ? y.im + start * y.step : nullptr;
    if (y.step == 2 && re && im == re + 1)
        return fft_kernels<T>().join(re, from.re, from.im, count, scale);
    if (y.step == 2 && im && re == im + 1)
        return fft_kernels<T>().join(im, from.im, from.re, count, scale);
    if (re)
        spread(re, y.step, from.re, count, scale);
    if (im)
        spread(im, y.step, from.im, count, scale);
}

template <class T>
int fft_line(const FftPlan<T> &plan, const FftLine<T> &x, const FftLine<T> &y, T scale) {
    if (plan.kind == FftPlan<T>::CHIRP)
        return chirp(plan, x, y, scale);
    return plan.kind == FftPlan<T>::SPLIT ? in_two(plan, x, y, scale) : direct(plan, x, y, scale);
}

template <class T>
fl_split<T> fft_columns(const FftColumns<T> &columns, fl_split<T> x, int64_t x_row, int64_t lanes,
                        fl_split<T> a, fl_split<T> b) {
    fl_split<T> from = x, to = a, other = b;
    for (int i = 0; i < columns.count; i++) {
        fl_fft_pass<T> pass = columns.passes[i];
        pass.s *= lanes;
        pass.x_row = i == 0 ? x_row : pass.s;
        fft_kernels<T>().pass(&pass, to, from);
        from = to;
        to = other;
        other = from;
    }
    return from;
}

#define FL_INSTANCES(T)                                                                          \
    template void fft_read(const FftLine<T> &, int64_t, int64_t, fl_split<T>);                   \
    template void fft_write(const FftLine<T> &, int64_t, int64_t, fl_split<T>, T);               \
    template int fft_line(const FftPlan<T> &, const FftLine<T> &, const FftLine<T> &, T);        \
    template fl_split<T> fft_columns(const FftColumns<T> &, fl_split<T>, int64_t, int64_t,       \
                                     fl_split<T>, fl_split<T>)
FL_INSTANCES(float);
FL_INSTANCES(double);
