/* Blocks of a few kilobytes: memcpy spends as long on choosing a way as on copying them, and
 * streams only what is larger than every cache of the machine together. */
#include "common/kernels/blocks.h"
#include "common/kernels/lanes.h"

namespace {

/* The last 64 bytes are copied as such: they may overlap with those before. */
void copy(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t bytes,
          int64_t count) {
    typedef Lanes<uint8_t> Bytes;
    for (int64_t b = 0; b < count; b++, to += to_step, from += from_step) {
        const uint8_t *in = (const uint8_t *)from;
        uint8_t *out = (uint8_t *)to;
        int64_t i = 0;
        for (; i + 256 <= bytes; i += 256) {
            Bytes set[4];
            for (int s = 0; s < 4; s++)
                set[s] = Bytes::load(in + i + 64 * s);
            for (int s = 0; s < 4; s++)
                set[s].store(out + i + 64 * s);
        }
        for (; i + 64 <= bytes; i += 64)
            Bytes::load(in + i).store(out + i);
        if (i < bytes)
            Bytes::load(in + bytes - 64).store(out + bytes - 64);
    }
}

#if defined(__x86_64__)
inline void stream_line(char *to, const char *from) {
#if defined(__AVX512F__)
    _mm512_stream_si512((__m512i *)to, _mm512_loadu_si512(from));
#elif defined(__AVX2__)
    for (int i = 0; i < 64; i += 32)
        _mm256_stream_si256((__m256i *)(to + i), _mm256_loadu_si256((const __m256i *)(from + i)));
#else
    for (int i = 0; i < 64; i += 16)
        _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
#endif
}

void stream(char *to, const char *from, int64_t bytes) {
    int64_t i = (int64_t)(-(uintptr_t)to & 63);
    if (i > bytes)
        i = bytes;
    memcpy(to, from, (size_t)i);
    for (; i + 64 <= bytes; i += 64)
        stream_line(to + i, from + i);
    memcpy(to + i, from + i, (size_t)(bytes - i));
}
#else
void stream(char *to, const char *from, int64_t bytes) { memcpy(to, from, (size_t)bytes); }
#endif

}  // namespace

extern const fl_block_kernels FL_LEVEL(fl_block_kernels) = {copy, stream};
