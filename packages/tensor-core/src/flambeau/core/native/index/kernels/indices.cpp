/* Range checks: one comparison for both ends, no early exit, so that it runs in registers. Counts
 * of true bytes. */
#include "index/kernels/indices.h"
#include "common/kernels/lanes.h"

namespace {

bool within(const int64_t *index, int64_t n, int64_t low, int64_t high) {
    const uint64_t span = (uint64_t)high - (uint64_t)low;
    uint64_t beyond = 0;
    for (int64_t i = 0; i < n; i++)
        beyond |= (uint64_t)index[i] - (uint64_t)low >= span ? 1 : 0;
    return beyond == 0;
}

/* Bytes count up to 255 rounds of 64 elements before they are added. */
int64_t count(const uint8_t *mask, int64_t n) {
    typedef Lanes<uint8_t> Bytes;
    int64_t total = 0;
    while (n >= Bytes::COUNT) {
        int64_t rounds = n / Bytes::COUNT < 255 ? n / Bytes::COUNT : 255;
        Bytes sums = Bytes::fill(0);
        for (int64_t r = 0; r < rounds; r++, mask += Bytes::COUNT) {
            Bytes v = Bytes::load(mask);
            for (int i = 0; i < Bytes::PARTS; i++)
                sums.r[i] -= (Bytes::reg)(v.r[i] != Bytes::reg{});
        }
        uint8_t lane[Bytes::COUNT];
        sums.store(lane);
        for (int i = 0; i < Bytes::COUNT; i++)
            total += lane[i];
        n -= rounds * Bytes::COUNT;
    }
    for (int64_t i = 0; i < n; i++)
        total += mask[i] != 0;
    return total;
}

/* Masks are often random, so nothing branches on an element: every one is written, and the position
 * moves on where the mask holds. The count ends the loop, so that nothing is written behind the
 * last. Where there are few, 32 or eight are passed at a time. */
void list(const uint8_t *mask, int64_t begin, int64_t end, int64_t count, int64_t *out) {
    int64_t i = begin, k = 0;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    const __m512i in_turn = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
#endif
    while (k < count) {
        uint64_t eight = 1, all[4] = {1};
        if (i + 32 <= end)
            memcpy(all, mask + i, 32);
        if (!(all[0] | all[1] | all[2] | all[3])) {
            i += 32;
            continue;
        }
        if (i + 8 <= end)
            memcpy(&eight, mask + i, 8);
        if (!eight) {
            i += 8;
            continue;
        }
#if defined(__AVX512BW__) && defined(__AVX512VL__)
        if (i + 8 <= end && k + 8 <= count) {
            const __m128i bytes = _mm_cvtsi64_si128((long long)eight);
            const __mmask8 found = (__mmask8)_mm_test_epi8_mask(bytes, bytes);
            const __m512i at = _mm512_add_epi64(in_turn, _mm512_set1_epi64(i));
            _mm512_storeu_si512(out + k, _mm512_maskz_compress_epi64(found, at));
            k += __builtin_popcount(found);
            i += 8;
            continue;
        }
#endif
        for (int j = 0; j < 8 && k < count; j++, i++) {
            out[k] = i;
            k += mask[i] != 0;
        }
    }
}

#if defined(__AVX512BW__) && defined(__AVX512VL__)
/* The elements of a register that 16 or 8 bytes of the mask name, side by side, and how many. Narrow
 * elements are widened on the way. */
inline __m512i pack_16(const uint8_t *mask, __m512i x, int *count) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)mask);
    const __mmask16 found = _mm_test_epi8_mask(bytes, bytes);
    *count = __builtin_popcount(found);
    return _mm512_maskz_compress_epi32(found, x);
}
inline int select_register(const uint8_t *mask, const uint8_t *x, uint8_t *out) {
    int count;
    const __m512i wide = _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128((const __m128i *)x));
    const __m512i packed = pack_16(mask, wide, &count);
    _mm_storeu_si128((__m128i *)out, _mm512_maskz_cvtepi32_epi8(0xffff, packed));
    return count;
}
inline int select_register(const uint8_t *mask, const uint16_t *x, uint16_t *out) {
    int count;
    const __m512i wide =
        _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256((const __m256i *)x));
    const __m512i packed = pack_16(mask, wide, &count);
    _mm256_storeu_si256((__m256i *)out, _mm512_maskz_cvtepi32_epi16(0xffff, packed));
    return count;
}
inline int select_register(const uint8_t *mask, const uint32_t *x, uint32_t *out) {
    int count;
    _mm512_storeu_si512(out, pack_16(mask, _mm512_loadu_si512(x), &count));
    return count;
}
inline int select_register(const uint8_t *mask, const uint64_t *x, uint64_t *out) {
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)mask);
    const __mmask8 found = (__mmask8)_mm_test_epi8_mask(bytes, bytes);
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi64(found, _mm512_loadu_si512(x)));
    return __builtin_popcount(found);
}
#endif

#if defined(__AVX512BW__) && defined(__AVX512VL__)
/* The first elements of x where 16 or 8 bytes of the mask say so, what is there elsewhere. */
inline __mmask16 named_16(const uint8_t *mask) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)mask);
    return _mm_test_epi8_mask(bytes, bytes);
}
inline int place_register(const uint8_t *mask, const uint8_t *x, uint8_t *out) {
    const __mmask16 found = named_16(mask);
    const __m512i wide = _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128((const __m128i *)x));
    _mm512_mask_cvtepi32_storeu_epi8(out, found, _mm512_maskz_expand_epi32(found, wide));
    return __builtin_popcount(found);
}
inline int place_register(const uint8_t *mask, const uint16_t *x, uint16_t *out) {
    const __mmask16 found = named_16(mask);
    const __m512i wide =
        _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256((const __m256i *)x));
    _mm512_mask_cvtepi32_storeu_epi16(out, found, _mm512_maskz_expand_epi32(found, wide));
    return __builtin_popcount(found);
}
inline int place_register(const uint8_t *mask, const uint32_t *x, uint32_t *out) {
    const __mmask16 found = named_16(mask);
    _mm512_mask_storeu_epi32(out, found, _mm512_maskz_expand_epi32(found, _mm512_loadu_si512(x)));
    return __builtin_popcount(found);
}
inline int place_register(const uint8_t *mask, const uint64_t *x, uint64_t *out) {
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)mask);
    const __mmask8 found = (__mmask8)_mm_test_epi8_mask(bytes, bytes);
    _mm512_mask_storeu_epi64(out, found, _mm512_maskz_expand_epi64(found, _mm512_loadu_si512(x)));
    return __builtin_popcount(found);
}
#endif

/* As in list(); what lies behind the last element is not read. */
template <class T>
void place(const uint8_t *mask, const void *from, int64_t n, int64_t count, void *to) {
    const T *x = (const T *)from;
    T *out = (T *)to;
    int64_t i = 0, k = 0;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    if constexpr (sizeof(T) <= 8) {
        constexpr int64_t AT_ONCE = sizeof(T) == 8 ? 8 : 16;
        for (; i + AT_ONCE <= n && k + AT_ONCE <= count; i += AT_ONCE)
            k += place_register(mask + i, x + k, out + i);
    }
#endif
    for (; k < count; i++) {
        T taken = x[k], kept = out[i];
        out[i] = mask[i] ? taken : kept;
        k += mask[i] != 0;
    }
}

/* As in list(). */
template <class T>
void select(const uint8_t *mask, const void *from, int64_t n, int64_t count, void *to) {
    const T *x = (const T *)from;
    T *out = (T *)to;
    int64_t i = 0, k = 0;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    if constexpr (sizeof(T) <= 8) {
        constexpr int64_t AT_ONCE = sizeof(T) == 8 ? 8 : 16;
        for (; i + AT_ONCE <= n && k + AT_ONCE <= count; i += AT_ONCE)
            k += select_register(mask + i, x + i, out + k);
    }
#endif
    for (; k < count; i++) {
        out[k] = x[i];
        k += mask[i] != 0;
    }
}

struct Pair {
    uint64_t half[2];
};

}  // namespace

extern const fl_index_kernels FL_LEVEL(fl_index_kernels) = {
    within, count, list,
    {select<uint8_t>, select<uint16_t>, select<uint32_t>, select<uint64_t>, select<Pair>},
    {place<uint8_t>, place<uint16_t>, place<uint32_t>, place<uint64_t>, place<Pair>}};
