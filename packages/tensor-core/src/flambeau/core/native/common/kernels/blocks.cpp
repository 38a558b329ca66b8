/* Blocks of bytes. What memcpy streams is only larger than every cache of the machine together. */
#include "common/kernels/blocks.h"
#include "common/kernels/block_copies.h"
#include "common/kernels/transpose_blocks.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

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

template <class Bits>
void turn_units(void *out, int64_t row, const void *in, int64_t step, int64_t rows,
                int64_t cols) {
    transpose((unit<Bits> *)out, row, (const unit<Bits> *)in, step, rows, cols);
}

void turn(int64_t size, char *out, int64_t row, const char *in, int64_t step, int64_t rows,
          int64_t cols) {
    switch (size) {
    case 1: return turn_units<uint8_t>(out, row, in, step, rows, cols);
    case 2: return turn_units<uint16_t>(out, row, in, step, rows, cols);
    case 4: return turn_units<uint32_t>(out, row, in, step, rows, cols);
    case 8: return turn_units<uint64_t>(out, row, in, step, rows, cols);
    default: return turn_units<two_words>(out, row, in, step, rows, cols);
    }
}

}  // namespace

extern const fl_block_kernels FL_LEVEL(fl_block_kernels) = {copy_blocks, stream, turn};
