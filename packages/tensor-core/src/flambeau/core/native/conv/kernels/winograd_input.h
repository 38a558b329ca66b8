/* Winograd's convolution: tiles of the input, padded and transformed. */
#pragma once
#include "common/kernels/phase_rows.h"
#include "conv/kernels/winograd_weight.h"

namespace {
namespace winograd {

/* Transformed input: [strip][plane][channel][tile]. The last strip may be narrower. Between planes
 * lies a line, without which the 16 of a tile would often drive each other out of a near cache. */
inline int64_t plane_step(const fl_conv &p, int64_t width) { return p.c * width + LINE<float>; }

/* Where the strip that begins with a lane lies. */
inline int64_t strip_at(const fl_conv &p, int64_t lane) {
    return lane / WIDTH * PLANES * plane_step(p, WIDTH);
}

int64_t input_elements(const fl_winograd_block *b) {
    return strip_at(*b->p, b->count + WIDTH - 1);
}

inline Vector<float> larger(Vector<float> a, Vector<float> b) { return a > b ? a : b; }

/* In 16 virtual lanes, so that all ISA levels agree. */
fl_winograd_spread spread(const float *x, int64_t n) {
    const int VECTORS = 16 / L;
    Vector<float> sum[VECTORS] = {}, most = {};
    float last[16] = {};
    memcpy(last, x + n / 16 * 16, (size_t)(n % 16) * sizeof(float));
    for (int64_t i = 0; i < n; i += 16) {
        const float *from = n - i < 16 ? last : x + i;
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            Vector<float> a = load(from + v * L);
            a = larger(a, -a);
            most = larger(a, most);
            sum[v] += a;
        }
    }
    for (int half = VECTORS / 2; half; half /= 2)
        for (int v = 0; v < half; v++)
            sum[v] += sum[v + half];
    float largest = 0.0f;
    for (int i = 0; i < L; i++)
        largest = most[i] > largest ? most[i] : largest;
    return fl_winograd_spread{sum_lanes<float>(sum[0]), largest};
}

/* A vector of tiles: where the first half of its lanes and the second read the first of their four
 * rows, and where they go for channel 0, in rows of `width` lanes with `room` left. The halves are
 * of two rows of tiles in narrow images. */
struct Move {
    int64_t from, other, to, width, room;
};

/* The tiles of one image in a block: the pixels that they read, padded, and the moves. */
struct Part {
    int64_t image, end;         /* `end`: the last lane, plus 1 */
    int64_t y, x;               /* the first pixel that is read, negative in the padding */
    int64_t rows, pitch;
    int64_t moves;
};

/* The columns of half a vector. */
inline int64_t half_of(const fl_conv &p) {
    int64_t cols = fl_winograd_cols(p);
    return cols < L / 2 ? cols : L / 2;
}

class Input {
  public:
    explicit Input(const fl_winograd_block &b)
        : b_(b), p_(*b.p), lanes_(rounded(b.count)), half_(half_of(p_)) {
        moves_ = reinterpret_cast<Move *>(b.scratch);
        pixels_ = b.scratch + move_elements(b);
        for (int i = 0; i < L; i++)
            even_[i] = (i < half_ ? 2 * i : L + 2 * (i - (int)half_)) & (2 * L - 2);
    }

    static int64_t elements(const fl_winograd_block &b) {
        return move_elements(b) + pixel_rows(b) * (2 * fl_winograd_cols(*b.p) + 2) + SLACK;
    }

    void run(int64_t c0, int64_t c1, float *to) {
        if (lanes_ != b_.count)
            clear_last_lanes(c0, c1, to);
        for (int64_t lane = 0; lane < b_.count;) {
            Part part = part_at(lane);
            lane = part.end;
            memset(pixels_, 0, (size_t)(part.rows * part.pitch + SLACK) * sizeof(float));
            for (int64_t c = c0; c < c1; c++) {
                pad(part, b_.input + (part.image * p_.c + c) * p_.h * p_.w);
                for (int64_t i = 0; i < part.moves; i++)
                    transform(moves_[i], part.pitch, to + moves_[i].to + c * moves_[i].width);
            }
        }
    }

  private:
    static const int SLACK = 2 * L + 2;     /* what the last vector reads behind the pixels */

    /* Rows of tiles and strips begin new vectors. */
    static int64_t move_elements(const fl_winograd_block &b) {
        int64_t cols = fl_winograd_cols(*b.p), rows = (b.count - 1) / cols + 2;
        return (2 * b.count / L + rows + 2) * (int64_t)(sizeof(Move) / sizeof(float));
    }

    static int64_t pixel_rows(const fl_winograd_block &b) {
        int64_t rows = (b.count - 1) / fl_winograd_cols(*b.p) + 2, all = fl_winograd_rows(*b.p);
        return 2 * (rows < all ? rows : all) + 2;
    }

    void clear_last_lanes(int64_t c0, int64_t c1, float *to) const {
        int64_t strip = (lanes_ - 1) / WIDTH * WIDTH, width = lanes_ - strip;
        to += strip_at(p_, strip) + width - L;
        for (int64_t i = 0; i < PLANES; i++)
            for (int64_t c = c0; c < c1; c++)
                store(to + i * plane_step(p_, width) + c * width, Vector<float>{});
    }

    Part part_at(int64_t lane) {
        fl_winograd_run first = fl_winograd_run_at(b_, lane), run = first, last = first;
        Part part = {};
        for (; run.image == first.image && lane < b_.count; run = fl_winograd_run_at(b_, lane)) {
            last = run;
            lane += run.count;
        }
        bool is_row = last.y == first.y;
        int64_t x0 = is_row ? first.x : 0, cols = is_row ? first.count : fl_winograd_cols(p_);
        part.image = first.image;
        part.end = lane;
        part.y = 2 * first.y - p_.y.padding;
        part.x = 2 * x0 - p_.x.padding;
        part.rows = 2 * (last.y - first.y) + 4;
        part.pitch = 2 * cols + 2;
        for (int64_t at = first.lane; at < lane;) {
            run = fl_winograd_run_at(b_, at);
            add_moves(part, run, 2 * (run.y - first.y) * part.pitch + 2 * (run.x - x0));
            at += run.count;
        }
        return part;
    }

    void add_moves(Part &part, const fl_winograd_run &run, int64_t from) {
        bool is_narrow = fl_winograd_cols(p_) <= L / 2;
        for (int64_t i = 0, n; i < run.count; i += n) {
            int64_t lane = run.lane + i, strip = lane / WIDTH * WIDTH, at = from + 2 * i;
            int64_t width = lanes_ - strip < WIDTH ? lanes_ - strip : WIDTH;
            int64_t room = width - (lane - strip);
            n = run.count - i < L ? run.count - i : L;
            n = n < room ? n : room;
            Move move = {at, is_narrow ? at : at + L, strip_at(p_, strip) + lane - strip, width,
                         room};
            if (is_narrow && joins(part, move))
                moves_[part.moves - 1].other = at;
            else
                moves_[part.moves++] = move;
        }
    }

    /* Behind a whole row of tiles, which has a vector for itself. */
    bool joins(const Part &part, const Move &move) const {
        const Move &last = moves_[part.moves - 1];
        return part.moves && last.other == last.from && move.to == last.to + half_ &&
               last.room > half_;
    }

    /* What lies in the padding is 0 already. */
    void pad(const Part &part, const float *plane) {
        int64_t x0 = part.x < 0 ? -part.x : 0, y0 = part.y < 0 ? -part.y : 0;
        int64_t x1 = p_.w - part.x < part.pitch ? p_.w - part.x : part.pitch;
        int64_t y1 = p_.h - part.y < part.rows ? p_.h - part.y : part.rows;
        for (int64_t y = y0; y < y1 && x0 < x1; y++)
            copy_row_bytes((char *)(pixels_ + y * part.pitch + x0),
                           (const char *)(plane + (part.y + y) * p_.w + part.x + x0),
                           (x1 - x0) * (int64_t)sizeof(float));
    }

    /* Vectors of a row of four elements each: every second element, from number 0 and 1 on. */
    inline void split(const float *a, const float *b, Vector<float> *to) const {
        Vector<float> first = load(a), second = load(b);
        to[0] = fl_shuffle(first, second, even_);
        to[1] = fl_shuffle(first, second, even_ + 1);
    }

    /* 4 x 4 elements of a vector of tiles. What it writes too much, the next one writes over. */
    void transform(const Move &move, int64_t pitch, float *to) const {
        Vector<float> lines[4][4];
        const float *a = pixels_ + move.from, *b = pixels_ + move.other;
#pragma GCC unroll 4
        for (int y = 0; y < 4; y++, a += pitch, b += pitch) {
            Vector<float> d[4];
            split(a, b, d);
            split(a + 2, b + 2, d + 2);
            lines[y][0] = d[0] - d[2];
            lines[y][1] = d[1] + d[2];
            lines[y][2] = d[2] - d[1];
            lines[y][3] = d[1] - d[3];
        }
        alignas(64) float some[PLANES * L];
        const bool is_part = move.room < L;
        int64_t plane = is_part ? L : plane_step(p_, move.width);
        float *out = is_part ? some : to;
#pragma GCC unroll 4
        for (int x = 0; x < 4; x++, out += plane) {
            store(out, lines[0][x] - lines[2][x]);
            store(out + 4 * plane, lines[1][x] + lines[2][x]);
            store(out + 8 * plane, lines[2][x] - lines[1][x]);
            store(out + 12 * plane, lines[1][x] - lines[3][x]);
        }
        for (int i = 0; is_part && i < PLANES; i++)
            copy_row_bytes((char *)(to + i * plane_step(p_, move.width)),
                           (const char *)(some + i * L), move.room * (int64_t)sizeof(float));
    }

    const fl_winograd_block &b_;
    const fl_conv &p_;
    int64_t lanes_, half_;
    Move *moves_;
    float *pixels_;
    Index<float> even_;
};

void input(const fl_winograd_block *b, int64_t c0, int64_t c1, float *to) {
    Input(*b).run(c0, c1, to);
}

}  // namespace winograd
}  // namespace
