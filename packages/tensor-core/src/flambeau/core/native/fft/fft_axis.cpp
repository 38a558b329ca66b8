/* Fourier transforms along one dimension: line by line, or many lines in vector lanes. */
#include "fft/fft_axis.h"
#include <atomic>

namespace {

const int64_t BLOCK_BYTES = 2 << 20;        /* the most for lines in lanes, */
const int64_t SHORT_BYTES = 160 << 10;       /* and where they are lines one after the other */

/* Split arrays for the work on one line or one block of lines. */
template <class T> class Arrays {
  public:
    Arrays(int count, int64_t size)
        : size_(fft_padded(size, FL_FFT_LANES<T>) + FL_FFT_LANES<T>),
          bytes_(fl_bytes(2 * count * size_, sizeof(T))), ptr_((T *)fl_alloc(bytes_)) {}
    ~Arrays() { fl_free(ptr_, bytes_); }
    bool ok() const { return ptr_ != nullptr; }
    fl_split<T> operator[](int i) const {
        return {ptr_ + 2 * i * size_, ptr_ + (2 * i + 1) * size_};
    }
    Arrays(const Arrays &) = delete;
  private:
    int64_t size_;
    size_t bytes_;
    T *ptr_;
};

template <class T> FftLine<T> line_of(fl_split<T> x) { return {x.re, x.im, 1}; }
template <class T> fl_split<T> swapped(fl_split<T> x) { return {x.im, x.re}; }

template <class T> struct Work {
    const FftAxis<T> &axis;
    const FftPlan<T> &plan;
    bool halves;                /* real numbers in pairs, as complex ones of half the length */
    int64_t rows_in() const { return axis.mode == FFT_TO_REAL ? axis.n / 2 + 1 : axis.n; }
    int64_t rows_out() const { return axis.mode == FFT_REAL_HALF ? axis.n / 2 + 1 : axis.n; }
    bool real_in() const { return axis.mode == FFT_REAL_HALF || axis.mode == FFT_REAL_FULL; }
    bool real_out() const { return axis.mode == FFT_TO_REAL; }
    /* Address of the first number of line `i`. */
    T *from(int64_t i) const {
        int64_t at = i / axis.inner * rows_in() * axis.inner + i % axis.inner;
        return (T *)axis.in + at * (real_in() ? 1 : 2);
    }
    T *to(int64_t i) const {
        int64_t at = i / axis.inner * rows_out() * axis.inner + i % axis.inner;
        return axis.out + at * (real_out() ? 1 : 2);
    }
};

/* The second half of the terms of real numbers: conjugates of the first. Rows of `lanes`. */
template <class T> void mirror(fl_split<T> y, int64_t n, int64_t lanes) {
    for (int64_t k = n / 2 + 1; k < n; k++)
        for (int64_t l = 0; l < lanes; l++) {
            y.re[k * lanes + l] = y.re[(n - k) * lanes + l];
            y.im[k * lanes + l] = -y.im[(n - k) * lanes + l];
        }
}

/* The terms that must be real for a real result are taken to be. */
template <class T> void drop_imaginary(fl_split<T> y, int64_t n, int64_t lanes) {
    for (int64_t l = 0; l < lanes; l++) {
        y.im[l] = 0;
        if (n % 2 == 0)
            y.im[n / 2 * lanes + l] = 0;
    }
}

/* ---- one line at a time ---------------------------------------------------------------------- */

template <class T>
int real_line(const Work<T> &w, const FftLine<T> &x, const FftLine<T> &y, Arrays<T> &room) {
    const int64_t n = w.axis.n;
    fl_split<T> terms = room[0], z = room[1];
    if (w.halves) {
        FftLine<T> pairs = {x.re, x.re + x.step, 2 * x.step};
        if (fft_line(w.plan, pairs, line_of(z), (T)1) < 0)
            return -1;
        fft_kernels<T>().unfold(terms, z, w.plan.half_re.at, w.plan.half_im.at, n / 2, 1);
    } else if (fft_line(w.plan, x, line_of(terms), (T)1) < 0) {
        return -1;
    }
    if (w.axis.mode == FFT_REAL_FULL)
        mirror(terms, n, 1);
    if (w.axis.backward)
        for (int64_t k = 0; k < w.rows_out(); k++)
            terms.im[k] = -terms.im[k];
    fft_write(y, 0, w.rows_out(), terms, w.axis.scale);
    return 0;
}

template <class T>
int line_to_real(const Work<T> &w, const FftLine<T> &x, const FftLine<T> &y, Arrays<T> &room) {
    const int64_t n = w.axis.n;
    fl_split<T> terms = room[0], z = room[1];
    fft_read(x, 0, n / 2 + 1, terms);
    if (!w.axis.backward)
        for (int64_t k = 0; k <= n / 2; k++)
            terms.im[k] = -terms.im[k];
    drop_imaginary(terms, n, 1);
    if (!w.halves) {
        mirror(terms, n, 1);
        FftLine<T> target = {nullptr, y.re, y.step};
        return fft_line(w.plan, fft_swapped(line_of(terms)), target, w.axis.scale);
    }
    fft_kernels<T>().refold(z, terms, w.plan.half_re.at, w.plan.half_im.at, n / 2, 1);
    FftLine<T> pairs = {y.re + y.step, y.re, 2 * y.step};
    return fft_line(w.plan, fft_swapped(line_of(z)), pairs, w.axis.scale);
}

template <class T> int one_line(const Work<T> &w, int64_t i, Arrays<T> &room) {
    const int64_t inner = w.axis.inner;
    T *from = w.from(i), *to = w.to(i);
    FftLine<T> x = {from, from + 1, 2 * inner}, y = {to, to + 1, 2 * inner};
    if (w.real_in())
        return real_line(w, FftLine<T>{from, nullptr, inner}, y, room);
    if (w.real_out())
        return line_to_real(w, x, FftLine<T>{to, nullptr, inner}, room);
    if (w.axis.backward)
        return fft_line(w.plan, fft_swapped(x), fft_swapped(y), w.axis.scale);
    return fft_line(w.plan, x, y, w.axis.scale);
}

/* ---- lines in lanes -------------------------------------------------------------------------- */

/* Pairs of rows of real numbers as rows of complex ones, and back. */
template <class T> void pair_rows(fl_split<T> z, fl_split<T> x, int64_t h, bool apart) {
    const int64_t lanes = FL_FFT_LANES<T>;
    const size_t bytes = (size_t)lanes * sizeof(T);
    for (int64_t j = 0; j < h; j++) {
        T *even = x.re + 2 * j * lanes, *odd = even + lanes;
        memcpy(apart ? even : z.re + j * lanes, apart ? z.re + j * lanes : even, bytes);
        memcpy(apart ? odd : z.im + j * lanes, apart ? z.im + j * lanes : odd, bytes);
    }
}

template <class T> struct Block {
    const Work<T> &w;
    int64_t first, count;       /* lines */
    fl_split<T> spare;          /* room for a copy in the other order */
    static constexpr int64_t LANES = FL_FFT_LANES<T>;

    /* Whether the lines lie side by side in memory. */
    bool adjacent() const {
        return count == LANES && first / w.axis.inner == (first + count - 1) / w.axis.inner;
    }
    void read(fl_split<T> to) const {
        const int64_t inner = w.axis.inner, rows = w.rows_in();
        if (adjacent()) {
            const T *from = w.from(first);
            for (int64_t j = 0; j < rows; j++) {
                fl_split<T> row = {to.re + j * LANES, to.im + j * LANES};
                if (w.real_in())
                    memcpy(row.re, from + j * inner, LANES * sizeof(T));
                else
                    fft_kernels<T>().split(row.re, row.im, from + 2 * j * inner, LANES);
            }
        } else if (in_turn() && !w.real_in()) {
            read_lines(to, rows);
        } else {
            clear(to, rows);
            for (int64_t l = 0; l < count; l++)
                read_line(to, l);
        }
        if (w.real_in())
            memset(to.im, 0, (size_t)(rows * LANES) * sizeof(T));
    }
    /* Whether the lines lie one after the other. */
    bool in_turn() const { return w.axis.inner == 1; }
    void clear(fl_split<T> x, int64_t rows) const {
        memset(x.re, 0, (size_t)(rows * LANES) * sizeof(T));
        memset(x.im, 0, (size_t)(rows * LANES) * sizeof(T));
    }
    /* Lines one after the other, of complex numbers or of pairs of real ones. */
    void read_lines(fl_split<T> to, int64_t numbers) const {
        const size_t row = sizeof(T) * LANES;
        T *mixed = spare.re;            /* rows of both parts in turn */
        if (count < LANES)
            memset(mixed, 0, 2 * (size_t)numbers * row);
        fft_transpose(mixed, LANES, w.from(first), 2 * numbers, 2 * numbers, count);
        for (int64_t j = 0; j < numbers; j++) {
            memcpy(to.re + j * LANES, mixed + 2 * j * LANES, row);
            memcpy(to.im + j * LANES, mixed + (2 * j + 1) * LANES, row);
        }
    }
    void read_line(fl_split<T> to, int64_t l) const {
        const int64_t step = w.real_in() ? w.axis.inner : 2 * w.axis.inner;
        const T *from = w.from(first + l);
        for (int64_t j = 0; j < w.rows_in(); j++) {
            to.re[j * LANES + l] = from[j * step];
            if (!w.real_in())
                to.im[j * LANES + l] = from[j * step + 1];
        }
    }
    void write(fl_split<T> z) const {
        const int64_t inner = w.axis.inner;
        if (in_turn() && !w.real_out())
            return write_lines(z, w.rows_out());
        if (!adjacent()) {
            for (int64_t l = 0; l < count; l++)
                write_line(z, l);
            return;
        }
        T *to = w.to(first);
        const T scale = w.axis.scale;
        for (int64_t j = 0; j < w.rows_out(); j++) {
            const T *re = z.re + j * LANES, *im = z.im + j * LANES;
            if (!w.real_out())
                fft_kernels<T>().join(to + 2 * j * inner, re, im, LANES, scale);
            else
                for (int64_t l = 0; l < LANES; l++)
                    to[j * inner + l] = re[l] * scale;
        }
    }
    void write_lines(fl_split<T> z, int64_t numbers) const {
        const int64_t row = fft_padded(numbers, LANES);
        fft_transpose(spare.re, row, z.re, LANES, count, numbers);
        fft_transpose(spare.im, row, z.im, LANES, count, numbers);
        for (int64_t l = 0; l < count; l++)
            fft_kernels<T>().join(w.to(first + l), spare.re + l * row, spare.im + l * row, numbers,
                                  w.axis.scale);
    }
    /* Pairs of real numbers as complex ones; x has room for the real ones. */
    void read_pairs(fl_split<T> z, fl_split<T> x) const {
        if (in_turn())
            return read_lines(z, w.axis.n / 2);
        read(x);
        pair_rows(z, x, w.axis.n / 2, false);
    }
    void write_pairs(fl_split<T> z, fl_split<T> x) const {
        if (in_turn())
            return write_lines(z, w.axis.n / 2);
        pair_rows(z, x, w.axis.n / 2, true);
        write(x);
    }
    void write_line(fl_split<T> z, int64_t l) const {
        const int64_t step = w.real_out() ? w.axis.inner : 2 * w.axis.inner;
        T *to = w.to(first + l);
        for (int64_t j = 0; j < w.rows_out(); j++) {
            to[j * step] = z.re[j * LANES + l] * w.axis.scale;
            if (!w.real_out())
                to[j * step + 1] = z.im[j * LANES + l] * w.axis.scale;
        }
    }
    fl_split<T> columns(fl_split<T> x, fl_split<T> other) const {
        return fft_columns(w.plan.whole, x, LANES, LANES, other, x);
    }
    void negate(fl_split<T> x, int64_t rows) const {
        for (int64_t i = 0; i < rows * LANES; i++)
            x.im[i] = -x.im[i];
    }
};

template <class T> void real_block(const Block<T> &block, Arrays<T> &room) {
    const Work<T> &w = block.w;
    const int64_t n = w.axis.n;
    fl_split<T> terms = room[0];
    if (w.halves) {
        block.read_pairs(room[1], room[0]);
        fl_split<T> z = block.columns(room[1], room[2]);
        fft_kernels<T>().unfold(terms, z, w.plan.half_re.at, w.plan.half_im.at, n / 2,
                                FL_FFT_LANES<T>);
    } else {
        block.read(room[0]);
        terms = block.columns(room[0], room[1]);
    }
    if (w.axis.mode == FFT_REAL_FULL)
        mirror(terms, n, FL_FFT_LANES<T>);
    if (w.axis.backward)
        block.negate(terms, w.rows_out());
    block.write(terms);
}

template <class T> void block_to_real(const Block<T> &block, Arrays<T> &room) {
    const Work<T> &w = block.w;
    const int64_t n = w.axis.n, lanes = FL_FFT_LANES<T>;
    fl_split<T> terms = room[0];
    block.read(terms);
    if (!w.axis.backward)
        block.negate(terms, w.rows_in());
    drop_imaginary(terms, n, lanes);
    if (w.halves) {
        fft_kernels<T>().refold(room[1], terms, w.plan.half_re.at, w.plan.half_im.at, n / 2,
                                lanes);
        fl_split<T> z = block.columns(swapped(room[1]), room[2]);
        block.write_pairs(swapped(z), room[0]);
    } else {
        mirror(terms, n, lanes);
        block.write(swapped(block.columns(swapped(terms), room[1])));
    }
}

template <class T> void one_block(const Block<T> &block, Arrays<T> &room) {
    const Work<T> &w = block.w;
    if (w.real_in())
        return real_block(block, room);
    if (w.real_out())
        return block_to_real(block, room);
    block.read(room[0]);
    if (w.axis.backward)
        block.write(swapped(block.columns(swapped(room[0]), room[1])));
    else
        block.write(block.columns(room[0], room[1]));
}

/* ---- all lines ------------------------------------------------------------------------------- */

/* Lines in lanes where they lie side by side, where a line is too short for lanes, and where there
 * are enough short lines to fill the lanes. */
template <class T> bool in_lanes(const Work<T> &w, int64_t lines) {
    if (!w.plan.has_columns())
        return false;
    int64_t bytes = 4 * (int64_t)sizeof(T) * FL_FFT_LANES<T> * w.axis.n;
    if (w.axis.inner > 1)
        return w.plan.kind == FftPlan<T>::DIRECT || bytes <= BLOCK_BYTES;
    return w.plan.kind == FftPlan<T>::DIRECT ||
           (lines >= FL_FFT_LANES<T> && bytes / w.axis.n * w.plan.n <= SHORT_BYTES);
}

/* How many pieces of `n` numbers make one piece of parallel work. */
int64_t fft_grain(int64_t n) {
    const int64_t numbers = 16384;
    return n >= numbers ? 1 : numbers / n;
}

template <class T> int all_lines(const Work<T> &w, int64_t lines) {
    std::atomic<int> failed(0);
    fl_parallel(lines, fft_grain(w.axis.n), [&](int64_t b, int64_t e) {
        Arrays<T> room(2, w.axis.mode == FFT_COMPLEX ? 0 : w.axis.n + 2);
        if (!room.ok())
            failed = 1;
        for (int64_t i = b; i < e && !failed; i++)
            if (one_line(w, i, room) < 0)
                failed = 1;
    });
    return failed ? -1 : 0;
}

template <class T> int all_blocks(const Work<T> &w, int64_t lines) {
    const int64_t lanes = FL_FFT_LANES<T>, blocks = (lines + lanes - 1) / lanes;
    std::atomic<int> failed(0);
    fl_parallel(blocks, fft_grain(w.axis.n * lanes), [&](int64_t b, int64_t e) {
        Arrays<T> room(4, fft_padded(w.axis.n + 2, lanes) * lanes);
        if (!room.ok())
            failed = 1;
        for (int64_t i = b; i < e && !failed; i++) {
            int64_t rest = lines - i * lanes;
            one_block(Block<T>{w, i * lanes, rest < lanes ? rest : lanes, room[3]}, room);
        }
    });
    return failed ? -1 : 0;
}

}  // namespace

template <class T> int fft_axis(const FftAxis<T> &axis) {
    const int64_t lines = axis.outer * axis.inner;
    const bool real = axis.mode != FFT_COMPLEX, halves = real && axis.n % 2 == 0;
    FftHeld<T> plan(halves ? axis.n / 2 : axis.n, halves);
    if (!plan.ok())
        return -1;
    Work<T> work = {axis, *plan, halves};
    if ((in_lanes(work, lines) ? all_blocks(work, lines) : all_lines(work, lines)) < 0)
        return fl_error(FL_MEMORY_ERROR, "no memory for a Fourier transform of length %lld",
                        (long long)axis.n);
    return 0;
}

template int fft_axis(const FftAxis<float> &);
template int fft_axis(const FftAxis<double> &);
