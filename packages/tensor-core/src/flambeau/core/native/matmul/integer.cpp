/* Operands of products of integers, laid out as the kernels read them. */
#include "matmul/integer.h"
#include "matmul/kernels/integer_product.h"

namespace {

const int64_t MIN_PANEL_LINES = 4; /* fewer rows or columns are not worth the order of panels */
const fl_integer_kernels *const kernels = FL_PICK(fl_integer_kernels);

void copy(const fl_integer_matrix &from, int dtype, int64_t rows, int64_t cols, char *to,
          int to_dtype, int64_t ld) {
    if (fl_itemsize(dtype) == 1 && from.col == 1) {     /* the sign does not reach the low byte */
        for (int64_t r = 0; r < rows; r++)
            kernels->widen((const uint8_t *)from.data + r * from.row, (uint16_t *)to + r * ld,
                           cols);
        return;
    }
    const int64_t shape[] = {rows, cols}, in[] = {from.row, from.col}, out[] = {ld, 1};
    fl_copy_strided(fl_strided{to, to_dtype, out},
                    fl_strided{const_cast<char *>(from.data), dtype, in}, 2, shape);
}

/* A matrix whose rows lie side by side in the dtype computed in: its own, or copied. */
class Lines {
  public:
    Lines(const fl_integer_matrix &x, int dtype, int64_t rows, int64_t cols, bool tight)
        : wide_(fl_integer_dtype(dtype)),
          own_(fl_itemsize(dtype) == fl_itemsize(wide_) && (x.col == 1 || cols == 1) &&
               (!tight || x.row == cols || rows == 1)),
          room_(own_ ? 0 : fl_bytes(rows * cols, (size_t)fl_itemsize(wide_))),
          data(own_ ? x.data : room_.as<char>()), ld(own_ ? x.row : cols) {
        if (!own_ && room_.ok())
            copy(x, dtype, rows, cols, room_.as<char>(), wide_, cols);
    }
    bool ok() const { return own_ || room_.ok(); }

  private:
    int wide_;
    bool own_;
    Scratch room_;

  public:
    const char *data;
    int64_t ld;
};

int width_of(int wide) {
    return wide == FL_I64 ? FL_INTEGER_64 : wide == FL_I32 ? FL_INTEGER_32 : FL_INTEGER_16;
}

void run(fl_integer_fn kernel, const fl_integer_product &p, int64_t m) {
    int64_t grain = (32768 / (p.n * p.k + 1) + 4) / 4 * 4;
    fl_parallel(m, grain, [&](int64_t begin, int64_t end) { kernel(&p, begin, end); });
}

/* Panels of columns, the last one filled up with zeros. */
void pack(const fl_integer_matrix &b, int dtype, int64_t k, int64_t n, int wide, char *to) {
    int64_t size = fl_itemsize(wide), cols = FL_INTEGER_TILE / size, whole = n - n % cols;
    if (n % cols)
        memset(to + whole * k * size, 0, (size_t)(k * FL_INTEGER_TILE));
    for (int64_t j = 0; j < n; j += cols) {
        int64_t width = n - j < cols ? n - j : cols;
        fl_integer_matrix from = {b.data + j * b.col * fl_itemsize(dtype), b.row, b.col};
        copy(from, dtype, k, width, to + j * k * size, wide, cols);
    }
}

}  // namespace

int fl_integer_dtype(int dtype) {
    int64_t size = fl_itemsize(dtype);
    return size == 8 ? FL_I64 : size == 4 ? FL_I32 : FL_I16;
}

void fl_integer_panels(int dtype, int64_t m, int64_t n, int64_t k, const void *a, const void
                       *panels, const void *bias, void *c) {
    run(kernels->tiles[width_of(fl_integer_dtype(dtype))],
        fl_integer_product{n, k, a, k, panels, c, bias, m, 0}, m);
}

int fl_integer_multiply(int dtype, int64_t m, int64_t n, int64_t k, const fl_integer_matrix &a,
                        const fl_integer_matrix &b, const void *bias, void *c) {
    int wide = fl_integer_dtype(dtype), width = width_of(wide);
    Lines rows(a, dtype, m, k, false);
    if (!rows.ok())
        return -1;
    fl_integer_product p = {n, k, rows.data, rows.ld, nullptr, c, bias, m, 0};
    if (n < MIN_PANEL_LINES || (m < MIN_PANEL_LINES && b.row == 1 && b.col != 1)) {
        Lines columns(fl_integer_matrix{b.data, b.col, b.row}, dtype, n, k, true);
        if (!columns.ok())
            return -1;
        p.b = columns.data;
        run(kernels->dots[width], p, m);
        return 0;
    }
    if (m < MIN_PANEL_LINES) {
        Lines lines(b, dtype, k, n, false);
        if (!lines.ok())
            return -1;
        p.b = lines.data;
        p.ldb = lines.ld;
        fl_parallel(n, 32768 / (m * k + 1) + 64, [&](int64_t begin, int64_t end) {
            kernels->sums[width](&p, begin, end);
        });
        return 0;
    }
    int64_t cols = FL_INTEGER_TILE / fl_itemsize(wide);
    Scratch panels(fl_bytes((n + cols - 1) / cols * k, FL_INTEGER_TILE));
    if (!panels.ok())
        return -1;
    pack(b, dtype, k, n, wide, panels.as<char>());
    p.b = panels.as<char>();
    run(kernels->tiles[width], p, m);
    return 0;
}
