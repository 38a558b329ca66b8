/* Code whose loop is over elements that lie side by side, and operands that do not: broadcast along
 * short rows, transposed, every fourth element. They are moved a piece at a time, which stays in
 * the nearest cache; code with a stride for each operand has no vectors, and for rows of a few
 * elements takes longer to begin than to run. */
#include "deferral/plan.h"
#include "dispatch/pointwise.h"
#include "runtime/even.h"
#include <atomic>

namespace {

const int64_t ROOM_BYTES = 16384;           /* of all operands that are moved */
const int64_t MIN_PIECE_ELEMENTS = 256, LINE = 64;

void move_rows(const fl_moved &m, char *memory, char *room, int64_t rows, int64_t cols) {
    const int64_t across = m.dims[0].second, down = rows > 1 ? m.dims[1].second : 0;
    if (m.is_result)
        fl_move_back_of_size(m.size)(memory, room, rows, cols, down, across);
    else
        fl_move_of_size(m.size)(room, memory, rows, cols, down, across);
}

/* Whole rows, where all rows share some operand's. */
int64_t piece_of(const std::vector<fl_moved> &moved) {
    int64_t bytes = 0, row = LINE;
    for (const fl_moved &m : moved) {
        bytes += m.size;
        if (m.has_shared_row() && m.dims[0].first <= MIN_PIECE_ELEMENTS)
            row = m.dims[0].first;
    }
    const int64_t n = ROOM_BYTES / bytes;
    return (n > MIN_PIECE_ELEMENTS ? n : MIN_PIECE_ELEMENTS) / row * row;
}

}  // namespace

/* Whole rows at once, as far as one step leads to all of them. */
void fl_moved::move(char *memory, char *room, int64_t at, int64_t n) const {
    const int64_t cols = dims[0].first;
    while (n > 0) {
        const int64_t column = at % cols, row = at / cols;
        int64_t rest = row, offset = column * dims[0].second, rows = 1, count = cols - column;
        for (size_t d = 1; d < dims.size(); rest /= dims[d++].first)
            offset += rest % dims[d].first * dims[d].second;
        if (count > n)
            count = n;
        if (count == cols && dims.size() > 1) {
            const int64_t left = dims[1].first - row % dims[1].first;
            rows = n / cols < left ? n / cols : left;
        }
        move_rows(*this, memory + offset * size, room, rows, count);
        room += rows * count * size;
        at += rows * count;
        n -= rows * count;
    }
}

bool fl_code::run_some(std::vector<int64_t> &words, int64_t begin, int64_t end) const {
    if (moved.empty()) {
        run(words.data(), begin, end);
        return true;
    }
    const int64_t piece = piece_of(moved);
    int64_t bytes = 0;
    for (const fl_moved &m : moved)
        bytes += piece * m.size + LINE;
    Scratch memory((size_t)bytes);
    if (!memory.ok())
        return false;
    std::vector<int64_t> own(words);
    std::vector<char *> rooms(words.size());
    char *next = memory.as<char>();
    for (const fl_moved &m : moved)
        if (m.room == m.operand) {
            rooms[m.operand] = next;
            next += piece * m.size + LINE;
        }
    for (int64_t at = begin; at < end; at += piece) {
        const int64_t n = end - at < piece ? end - at : piece;
        for (const fl_moved &m : moved) {
            own[m.operand] = (int64_t)(uintptr_t)rooms[m.room] - at * m.size;
            const bool is_there = at > begin && m.has_shared_row() && piece % m.dims[0].first == 0;
            if (!m.is_result && !is_there)
                m.move((char *)(uintptr_t)words[m.operand], rooms[m.operand], at, n);
        }
        run(own.data(), at, at + n);
        for (const fl_moved &m : moved)
            if (m.is_result)
                m.move((char *)(uintptr_t)words[m.operand], rooms[m.room], at, n);
    }
    return true;
}

bool fl_code::run_all(std::vector<int64_t> &words) const {
    std::atomic<bool> has_memory{true};
    fl_parallel(total, fl_even_grain(total, FL_GRAIN, FL_CHUNK_UNIT),
                [&](int64_t begin, int64_t end) {
                    if (!run_some(words, begin, end))
                        has_memory = false;
                });
    return has_memory;
}
