/* Blocks of bytes from one even spacing to another: memcpy of a size that varies is a call for each
 * of them, and spends as long on choosing a way as on copying some kilobytes. */
#pragma once
#include <stdint.h>
#include <string.h>

namespace {

template <int BYTES> struct Word {
    uint8_t bytes[BYTES];
};

/* A block is its first and its last BYTES, which may overlap; both are read before any is
 * written. */
template <int BYTES>
inline void copy_ends(char *to, int64_t to_step, const char *from, int64_t from_step,
                      int64_t bytes, int64_t count) {
    const int64_t last = bytes - BYTES;
    for (int64_t b = 0; b < count; b++, to += to_step, from += from_step) {
        Word<BYTES> head, tail;
        memcpy(&head, from, BYTES);
        memcpy(&tail, from + last, BYTES);
        memcpy(to, &head, BYTES);
        memcpy(to + last, &tail, BYTES);
    }
}

template <int BYTES>
inline void copy_words(char *to, int64_t to_step, const char *from, int64_t from_step,
                       int64_t bytes, int64_t count) {
    if (bytes != BYTES)
        return copy_ends<BYTES>(to, to_step, from, from_step, bytes, count);
    for (int64_t b = 0; b < count; b++, to += to_step, from += from_step)
        memcpy(to, from, BYTES);
}

/* 64 bytes and more; the last ones may overlap with those before. */
inline void copy_long_blocks(char *to, int64_t to_step, const char *from, int64_t from_step,
                             int64_t bytes, int64_t count) {
    for (int64_t b = 0; b < count; b++, to += to_step, from += from_step) {
        for (int64_t i = 0; i + 64 < bytes; i += 64)
            copy_ends<32>(to + i, 0, from + i, 0, 64, 1);
        copy_ends<32>(to + bytes - 64, 0, from + bytes - 64, 0, 64, 1);
    }
}

inline void copy_blocks(char *to, int64_t to_step, const char *from, int64_t from_step,
                        int64_t bytes, int64_t count) {
    if (bytes >= 64)
        copy_long_blocks(to, to_step, from, from_step, bytes, count);
    else if (bytes >= 32)
        copy_words<32>(to, to_step, from, from_step, bytes, count);
    else if (bytes >= 16)
        copy_words<16>(to, to_step, from, from_step, bytes, count);
    else if (bytes >= 8)
        copy_words<8>(to, to_step, from, from_step, bytes, count);
    else if (bytes >= 4)
        copy_words<4>(to, to_step, from, from_step, bytes, count);
    else if (bytes >= 2)
        copy_words<2>(to, to_step, from, from_step, bytes, count);
    else if (bytes == 1)
        copy_words<1>(to, to_step, from, from_step, bytes, count);
}

/* The first block, again and again: each copy doubles what is there, as long as that stays in the
 * cache. */
inline void repeat_block(char *to, int64_t bytes, int64_t times) {
    const int64_t most = 16384 / bytes + 1;
    for (int64_t done = 1, more; done < times; done += more) {
        more = done < most ? done : most;
        more = more < times - done ? more : times - done;
        memcpy(to + done * bytes, to, (size_t)(more * bytes));
    }
}

}  // namespace
