/* Maxima of windows of two elements of each of two rows, or of the only row, as most networks have
 * them: a vector of outputs from two vectors of each row. Bits are those of max_one in pool.cpp. */
#pragma once
#include "pool/kernels/pool.h"
#include "common/kernels/lanes.h"
#include "common/kernels/shuffle.h"
#include <utility>

namespace {

struct Quarters {
    typedef register_of<float>::type Floats;
    typedef register_of<float>::mask Ints;
    static constexpr int LANES = FL_REGISTER / sizeof(float);
    typedef std::make_integer_sequence<int, LANES> Each;

    Floats value;
    Ints position;

    template <int FIRST, int... E>
    static FL_TIGHT Ints every_second(std::integer_sequence<int, E...>) {
        return Ints{(2 * E + FIRST)...};
    }

    template <bool PLACED> FL_TIGHT void meet(Floats v, Ints at) {
        Ints better = (v > value) | (v != v);
        value = better ? v : value;
        if (PLACED)
            position = better ? at : position;
    }

    /* 2 * LANES elements of a row, of which `room` may be read. */
    static FL_TIGHT void load(const float *from, int64_t room, Floats *pair) {
        float part[2 * LANES];
        if (room < 2 * LANES) {
            for (int i = 0; i < 2 * LANES; i++)
                part[i] = i < room ? from[i] : 0;
            from = part;
        }
        /* One after the other: a copy of both goes through memory in smaller pieces, and waits. */
        memcpy(&pair[0], from, sizeof(Floats));
        memcpy(&pair[1], from + LANES, sizeof(Floats));
    }

    /* `start` is the position of the first element in its plane, `width` that of the next row. */
    template <bool PLACED, bool TWO_ROWS>
    FL_TIGHT void find(const float *top, int64_t start, int64_t width, int64_t room) {
        Floats pair[2];
        const Ints even = every_second<0>(Each{}), odd = every_second<1>(Each{});
        const Ints first = even + (int32_t)start, below = first + (int32_t)width;
        load(top, room, pair);
        value = fl_shuffle(pair[0], pair[1], even);
        position = first;
        meet<PLACED>(fl_shuffle(pair[0], pair[1], odd), first + 1);
        if (!TWO_ROWS)
            return;
        load(top + width, room - width, pair);
        meet<PLACED>(fl_shuffle(pair[0], pair[1], even), below);
        meet<PLACED>(fl_shuffle(pair[0], pair[1], odd), below + 1);
    }

    /* The first `count` lanes; whole vectors where there is room for them. */
    template <class T, class V>
    static FL_TIGHT void store(const V &lanes, int64_t count, int64_t room, T *to) {
        if (room >= LANES)
            memcpy(to, &lanes, sizeof lanes);
        else
            for (int64_t i = 0; i < count; i++)
                to[i] = lanes[i];
    }
};

/* What a vector reads behind a plane lies in the next one; what it writes behind the end of a row,
 * the next row overwrites. `at` may be NULL unless PLACED. */
template <class Index, bool PLACED, bool TWO_ROWS>
void find_quarters(const fl_pool &p, const float *input, int64_t planes, int64_t begin,
                   int64_t end, float *values, Index *at) {
    typedef Index Narrow __attribute__((vector_size(Quarters::LANES * sizeof(Index))));
    const int64_t in_plane = p.h * p.w;
    int64_t plane = begin / p.oh, oy = begin % p.oh;
    for (int64_t row = begin; row < end; row++) {
        for (int64_t ox = 0; ox < p.ow; ox += Quarters::LANES) {
            const int64_t start = 2 * (oy * p.w + ox), out = row * p.ow + ox;
            const int64_t left = p.ow - ox, room = end * p.ow - out;
            const int64_t count = left < Quarters::LANES ? left : Quarters::LANES;
            Quarters q;
            q.find<PLACED, TWO_ROWS>(input + plane * in_plane + start, start, p.w,
                           (planes - plane) * in_plane - start);
            Quarters::store(q.value, count, room, values + out);
            if (PLACED)
                Quarters::store(__builtin_convertvector(q.position, Narrow), count, room, at + out);
        }
        if (++oy == p.oh) {
            oy = 0;
            plane++;
        }
    }
}

template <class Index, bool PLACED>
void find_in_rows(const fl_pool &p, const float *input, int64_t planes, int64_t begin, int64_t end,
                  float *values, Index *at) {
    if (p.h == 1)
        find_quarters<Index, PLACED, false>(p, input, planes, begin, end, values, at);
    else
        find_quarters<Index, PLACED, true>(p, input, planes, begin, end, values, at);
}

/* Positions that are narrow are always asked for. */
template <class Index>
void max_quarters(const fl_pool *p, const float *input, int64_t planes, int64_t begin, int64_t end,
                  float *values, void *positions) {
    if constexpr (sizeof(Index) == sizeof(int64_t))
        if (!positions)
            return find_in_rows<Index, false>(*p, input, planes, begin, end, values, nullptr);
    find_in_rows<Index, true>(*p, input, planes, begin, end, values, (Index *)positions);
}

}  // namespace
