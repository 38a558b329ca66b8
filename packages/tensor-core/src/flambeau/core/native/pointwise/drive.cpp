/* The pointwise driver: any strides, any dtypes, one kernel call per contiguous tile.
 *
 * Dimensions are sorted by the first output's strides, neighbours that step together are merged.
 * What remains is cut into tiles of rows x cols. An operand already contiguous in its kind is
 * passed as it lies; a number (all strides 0) or a short row that all rows share fills a tile once;
 * anything else is gathered. A few elements go without all this.
 *
 * Results of loops that do not fit the last cache are made in pieces and streamed to memory: their
 * lines are not read before they are overwritten, and drive no operand out. */
#include "common/kernels/blocks.h"
#include "common/small.h"
#include "pointwise/pointwise_plan.h"
#include "runtime/even.h"

namespace {

/* How a tile of an operand is reached: as it lies; as it lies but made elsewhere and streamed; the
 * same for every tile, filled once; one value per row, filled for a chunk of the row; gathered or
 * scattered. */
enum Access { DIRECT, STREAMED, FILLED, ROW_VALUE, MOVED };
/* Of a row's value: so many elements are filled, for several short rows or part of a long one. */
static const int64_t CHUNK_ELEMENTS = 1024, LONG_ROW_CHUNK = 256;

inline Access access_of(const Loop &L, const fl_operand &o, bool is_input) {
    if (is_input && L.row_calls && o.strides[0] == 0)
        return ROW_VALUE;
    if (converts(o))
        return MOVED;
    if (o.strides[0] == 1 && (L.row_calls || L.rows == 1 || o.strides[1] == L.cols) &&
        (L.planes == 1 || o.strides[2] == L.rows * L.cols))
        return L.piece && !is_input ? STREAMED : DIRECT;
    return MOVED;
}

struct Tiles {
    alignas(64) char memory[(FL_PW_MAX_IN + FL_PW_MAX_OUT)][FL_TILE * 16];
};

/* n elements of a result, from position `at` behind its origin. */
inline void stream(const fl_operand &o, char *origin, int64_t at, const void *made, int64_t n) {
    static const fl_block_kernels *kernels = FL_PICK(fl_block_kernels);
    const int64_t size = fl_kind_size[o.kind];
    kernels->stream(origin + at * size, (const char *)made, n * size);
}

/* Rows that are too short, or read in bursts too far apart, for the processor to foresee them. */
inline void fetch_rows(const char *origin, int64_t rows, int64_t row_bytes, int64_t step) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < row_bytes; i += 64)
            __builtin_prefetch(origin + r * step + i);
}

/* As many elements of an operand as the n that were just used. */
inline void fetch_next(const fl_operand &o, const void *used, int64_t n) {
    const int64_t bytes = n * fl_kind_size[o.kind];
    fetch_rows((const char *)used + bytes, 1, bytes, 0);
}

/* Values for some rows from row r on, each `chunk` times: several short rows at once. */
void fill_row_values(const Loop &L, const Access *access, void *const *ptr, char *const *origin,
                     int64_t r, int64_t rows, int64_t chunk) {
    for (int k = 0; k < L.n_in; k++) {
        const fl_operand &o = L.ops[k];
        if (access[k] == ROW_VALUE)
            fl_moves->gather[o.dtype][o.kind](
                ptr[k], origin[k] + r * o.strides[1] * fl_itemsize(o.dtype), rows, chunk,
                o.strides[1], 0);
    }
}

/* One kernel call per row. */
void call_rows(const Loop &L, void *const *ptr, const int64_t *step, int64_t rows, int64_t cols) {
    void *at[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    for (int k = 0; k < L.n_all; k++)
        at[k] = ptr[k];
    for (int64_t r = 0; r < rows; r++) {
        L.fn(L.code, at, at + L.n_in, L.scalars, cols);
        for (int k = 0; k < L.n_all; k++)
            at[k] = (char *)at[k] + step[k];
    }
}

/* The same where an operand has one value per row, for rows of which several fit a chunk. */
void call_groups(const Loop &L, const Access *access, void *const *ptr, char *const *origin,
                 const int64_t *step, int64_t rows, int64_t cols) {
    const int64_t group = CHUNK_ELEMENTS / cols;
    void *at[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    int64_t by[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    for (int64_t r = 0; r < rows; r += group) {
        const int64_t n = rows - r < group ? rows - r : group;
        fill_row_values(L, access, ptr, origin, r, n, cols);
        for (int k = 0; k < L.n_all; k++) {
            const bool filled = access[k] == ROW_VALUE;
            by[k] = filled ? cols * fl_kind_size[L.ops[k].kind] : step[k];
            at[k] = (char *)ptr[k] + (filled ? 0 : r * step[k]);
        }
        call_rows(L, at, by, n, cols);
    }
}

/* One kernel call per chunk of a row, where an operand has one value per row or a result is
 * streamed. */
void call_chunks(const Loop &L, const Access *access, void *const *ptr, char *const *origin,
                 const int64_t *step, int64_t rows, int64_t cols) {
    int64_t chunk = cols;
    for (int k = 0; k < L.n_in; k++)
        if (access[k] == ROW_VALUE && chunk > CHUNK_ELEMENTS / 2)
            chunk = LONG_ROW_CHUNK;
    if (L.piece && chunk > L.piece)
        chunk = L.piece;
    const int64_t group = chunk == cols && 2 * chunk < CHUNK_ELEMENTS ? CHUNK_ELEMENTS / chunk : 1;
    void *at[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    for (int64_t r = 0; r < rows; r++) {
        if (r % group == 0)
            fill_row_values(L, access, ptr, origin, r, rows - r < group ? rows - r : group, chunk);
        for (int64_t c = 0; c < cols; c += chunk) {
            for (int k = 0; k < L.n_all; k++) {
                bool moves_on = access[k] == DIRECT || access[k] == MOVED;
                int64_t size = fl_kind_size[L.ops[k].kind], across = moves_on ? c * size : 0;
                if (access[k] == ROW_VALUE)
                    across = r % group * chunk * size;
                at[k] = (char *)ptr[k] + r * step[k] + across;
            }
            int64_t n = cols - c < chunk ? cols - c : chunk;
            L.fn(L.code, at, at + L.n_in, L.scalars, n);
            for (int k = 0; k < L.n_in && L.piece; k++)
                if (access[k] == DIRECT)
                    fetch_next(L.ops[k], at[k], n);
            for (int k = L.n_in; k < L.n_all; k++)
                if (access[k] == STREAMED)
                    stream(L.ops[k], origin[k], r * L.ops[k].strides[1] + c, ptr[k], n);
        }
    }
}

/* The operand that an output is written over, which is then computed in the operand's tile; -1 for
 * none. */
inline int written_over(const Loop &L, const fl_operand &output) {
    for (int k = 0; k < L.n_in; k++) {
        const fl_operand &o = L.ops[k];
        if (o.data == output.data && o.dtype == output.dtype && o.kind == output.kind &&
            !memcmp(o.strides, output.strides, sizeof(int64_t) * (size_t)L.ndim))
            return k;
    }
    return -1;
}

/* Several planes of an operand, brought into order or back. */
inline fl_walk planes_of(const Loop &L, const fl_operand &o, int64_t planes) {
    const int64_t shape[] = {planes, L.rows, L.cols};
    const int64_t strides[] = {o.strides[2], o.strides[1], o.strides[0]};
    return fl_walk(3, shape, strides);
}

inline void gather(const Loop &L, const fl_operand &o, const char *origin, int64_t planes,
                   int64_t rows, int64_t cols, void *to) {
    if (planes > 1)
        fl_gather_small(to, o.kind, origin, o.dtype, planes_of(L, o, planes));
    else
        fl_moves->gather[o.dtype][o.kind](to, origin, rows, cols, o.strides[1], o.strides[0]);
}

inline void scatter(const Loop &L, const fl_operand &o, char *origin, int64_t planes,
                    int64_t rows, int64_t cols, const void *from) {
    if (planes > 1)
        fl_scatter_small(origin, o.dtype, from, o.kind, planes_of(L, o, planes));
    else
        fl_moves->scatter[o.kind][o.dtype](origin, from, rows, cols, o.strides[1], o.strides[0]);
}

inline char *origin_of(const Loop &L, const fl_operand &o, const int64_t *start) {
    int64_t offset = 0;
    for (int d = 0; d < L.ndim; d++)
        offset += start[d] * o.strides[d];
    return o.data + offset * fl_itemsize(o.dtype);
}

/* Whether the only operand may be brought into order where the result lies, and is done. Kernels
 * that compute are faster from a tile. */
inline bool gathers_into_result(const Loop &L, const Access *access) {
    const fl_operand &in = L.ops[0], &out = L.ops[1];
    const bool is_copy = !L.scalars;
    return is_copy && L.n_in == 1 && L.n_all == 2 && access[0] == MOVED && access[1] == DIRECT &&
           in.data != out.data && in.kind == out.kind && (L.rows == 1 || out.strides[1] == L.cols);
}

void run_tile(const Loop &L, const Access *access, Tiles &tiles, const int64_t *start,
              int64_t planes, int64_t rows, int64_t cols) {
    void *ptr[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    int64_t step[FL_PW_MAX_IN + FL_PW_MAX_OUT];     /* bytes between rows, for row calls */
    char *origin[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    bool by_rows = L.row_calls && (rows > 1 || L.piece), has_values = false;
    const bool into_result = gathers_into_result(L, access);
    for (int k = 0; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        origin[k] = origin_of(L, o, start);
        if (access[k] == DIRECT) {
            const int64_t size = fl_itemsize(o.dtype);
            ptr[k] = origin[k];
            step[k] = o.strides[1] * size;
            if (L.crosswise && k < L.n_in)
                fetch_rows(origin[k], rows, cols * size, step[k]);
            continue;
        }
        int over = k < L.n_in || access[k] != MOVED ? -1 : written_over(L, o);
        ptr[k] = tiles.memory[over >= 0 && access[over] == MOVED ? over : k];
        step[k] = access[k] == MOVED ? cols * fl_kind_size[o.kind] : 0;
        has_values |= access[k] == ROW_VALUE;
        if (access[k] == MOVED && k < L.n_in) {
            if (into_result)
                ptr[k] = origin_of(L, L.ops[1], start);
            gather(L, o, origin[k], planes, rows, cols, ptr[k]);
        }
    }
    if (has_values && !L.piece && 2 * cols <= CHUNK_ELEMENTS)
        call_groups(L, access, ptr, origin, step, rows, cols);
    else if (has_values || (by_rows && L.piece))
        call_chunks(L, access, ptr, origin, step, rows, cols);
    else if (by_rows)
        call_rows(L, ptr, step, rows, cols);
    else
        L.fn(L.code, ptr, ptr + L.n_in, L.scalars, planes * rows * cols);
    for (int k = L.n_in; k < L.n_all; k++)
        if (access[k] == STREAMED && !by_rows && !has_values)
            stream(L.ops[k], origin[k], 0, ptr[k], planes * rows * cols);
        else if (access[k] == MOVED)
            scatter(L, L.ops[k], origin[k], planes, rows, cols, ptr[k]);
}

void run_tiles(const Loop &L, int64_t begin, int64_t end) {
    Tiles tiles;
    Access access[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    const bool is_whole_row = !L.row_calls && L.cols == L.shape[0];
    for (int k = 0; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        access[k] = access_of(L, o, k < L.n_in);
        if (k < L.n_in && (is_number(L, o) || (is_whole_row && is_shared_row(L, o)))) {
            access[k] = FILLED;
            fl_moves->gather[o.dtype][o.kind](tiles.memory[k], o.data,
                                              L.row_calls ? 1 : L.planes * L.rows, L.cols, 0,
                                              o.strides[0]);
        }
    }
    for (int64_t i = begin; i < end; i++) {
        int64_t start[FL_MAX_DIMS];
        int64_t rest = i;
        start[0] = rest % L.tiles_0 * L.cols;
        rest /= L.tiles_0;
        start[1] = rest % L.tiles_1 * L.rows;
        rest /= L.tiles_1;
        start[2] = rest % L.tiles_2 * L.planes;
        rest /= L.tiles_2;
        for (int d = 3; d < L.ndim; d++) {
            start[d] = rest % L.shape[d];
            rest /= L.shape[d];
        }
        const int64_t left = L.ndim > 2 ? L.shape[2] - start[2] : 1;
        int64_t planes = left < L.planes ? left : L.planes;
        int64_t cols = L.shape[0] - start[0] < L.cols ? L.shape[0] - start[0] : L.cols;
        int64_t rows = L.shape[1] - start[1] < L.rows ? L.shape[1] - start[1] : L.rows;
        run_tile(L, access, tiles, start, planes, rows, cols);
    }
    if (L.piece)
        fl_stream_end();
}

/* A run of contiguous operands and numbers, piece by piece. The stores of one that is streamed leave
 * while the next is made, if that does not have to wait for its operands. */
void run_pieces(const Loop &L, int64_t piece, int64_t begin, int64_t end) {
    Tiles tiles;
    void *ptr[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    int64_t step[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    for (int k = 0; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        bool number = k < L.n_in && o.strides[0] == 0, moves_on = k < L.n_in ? !number : !L.piece;
        step[k] = moves_on ? fl_kind_size[o.kind] : 0;
        ptr[k] = moves_on ? o.data + begin * step[k] : tiles.memory[k];
        if (number)
            fl_moves->gather[o.dtype][o.kind](ptr[k], o.data, 1, piece, 0, 0);
    }
    for (int64_t i = begin; i < end; i += piece) {
        int64_t n = end - i < piece ? end - i : piece;
        L.fn(L.code, ptr, ptr + L.n_in, L.scalars, n);
        for (int k = 0; k < L.n_all; k++) {
            if (step[k] && k < L.n_in && L.piece)
                fetch_next(L.ops[k], ptr[k], n);
            ptr[k] = (char *)ptr[k] + n * step[k];
        }
        for (int k = L.n_in; k < L.n_all && L.piece; k++)
            stream(L.ops[k], L.ops[k].data, i, ptr[k], n);
    }
    if (L.piece)
        fl_stream_end();
}

/* All operands contiguous in their kinds: no tiles, long runs. */
bool try_flat(const Loop &L) {
    if (L.shape[1] != 1 || L.ndim != 2)
        return false;
    bool has_number = false;
    for (int k = 0; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        const bool number = k < L.n_in && is_number(L, o);
        has_number |= number;
        if (!number && (converts(o) || (o.strides[0] != 1 && L.shape[0] != 1)))
            return false;
    }
    int64_t grain = fl_even_grain(L.shape[0], FL_GRAIN, FL_CHUNK_UNIT);
    if (L.piece || has_number) {
        const int64_t piece = L.piece ? L.piece : FL_TILE;
        fl_parallel(L.shape[0], grain,
                    [&](int64_t begin, int64_t end) { run_pieces(L, piece, begin, end); });
        return true;
    }
    fl_parallel(L.shape[0], grain, [&](int64_t begin, int64_t end) {
        void *ptr[FL_PW_MAX_IN + FL_PW_MAX_OUT];
        for (int k = 0; k < L.n_all; k++)
            ptr[k] = L.ops[k].data + begin * fl_kind_size[L.ops[k].kind];
        L.fn(L.code, ptr, ptr + L.n_in, L.scalars, end - begin);
    });
    return true;
}

/* ---- small operands ---------------------------------------------------------------------------- */

/* No plan: every operand is brought into the result's order, and the kernel called once. */
void run_small(const Loop &L, int ndim, const int64_t *shape, int64_t n) {
    alignas(64) char tiles[FL_PW_MAX_IN + FL_PW_MAX_OUT][FL_SMALL_NUMEL * 16];
    void *ptr[FL_PW_MAX_IN + FL_PW_MAX_OUT];
    for (int k = 0; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        fl_walk walk(ndim, shape, o.strides);
        bool direct = !converts(o) && walk.in_order();
        ptr[k] = direct ? o.data : tiles[k];
        if (!direct && k < L.n_in)
            fl_gather_small(tiles[k], o.kind, o.data, o.dtype, walk);
    }
    L.fn(L.code, ptr, ptr + L.n_in, L.scalars, n);
    for (int k = L.n_in; k < L.n_all; k++) {
        const fl_operand &o = L.ops[k];
        if (ptr[k] != o.data)
            fl_scatter_small(o.data, o.dtype, tiles[k], o.kind, fl_walk(ndim, shape, o.strides));
    }
}

}  // namespace

void fl_pw_drive(fl_pw_fn fn, const void *code, const fl_scalar *scalars, int n_in, int n_out,
                 fl_operand *ops, int ndim, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= shape[i];
    if (n == 0)
        return;
    Loop L;
    L.fn = fn;
    L.code = code;
    L.scalars = scalars;
    L.n_in = n_in;
    L.n_all = n_in + n_out;
    L.ops = ops;
    if (n <= FL_SMALL_NUMEL) {
        run_small(L, ndim, shape, n);
        return;
    }
    simplify(L, ndim, shape);
    L.piece = choose_piece(L, n);
    if (try_flat(L))
        return;
    choose_tile(L);
    int64_t most = FL_GRAIN / (L.rows * L.cols);
    fl_parallel(L.tiles, fl_even_grain(L.tiles, most > 0 ? most : 1, 1),
                [&](int64_t begin, int64_t end) { run_tiles(L, begin, end); });
}
