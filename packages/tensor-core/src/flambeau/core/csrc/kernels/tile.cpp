/* Tiles: rows x cols elements gathered from strided memory of any dtype into contiguous memory of
 * a compute kind, and scattered back. All dtype conversions of the core happen here. */
#include "core/pointwise.h"
#include "kernels/convert.h"

#define FL_CAT2(a, b) a##b
#define FL_CAT(a, b) FL_CAT2(a, b)

namespace {

template <class S, class K>
void gather(void *tile, const void *src, int64_t rows, int64_t cols, int64_t s1, int64_t s0) {
    K *out = (K *)tile;
    const S *in = (const S *)src;
    if (s0 == 1) {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++)
                out[r * cols + c] = convert<K>(in[r * s1 + c]);
    } else if (s1 == 1 && rows > 1) {
        for (int64_t c = 0; c < cols; c++)
            for (int64_t r = 0; r < rows; r++)
                out[r * cols + c] = convert<K>(in[r + c * s0]);
    } else {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++)
                out[r * cols + c] = convert<K>(in[r * s1 + c * s0]);
    }
}

template <class K, class D>
void scatter(void *dst, const void *tile, int64_t rows, int64_t cols, int64_t s1, int64_t s0) {
    D *out = (D *)dst;
    const K *in = (const K *)tile;
    if (s0 == 1) {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++)
                out[r * s1 + c] = convert<D>(in[r * cols + c]);
    } else {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++)
                out[r * s1 + c * s0] = convert<D>(in[r * cols + c]);
    }
}

#define GATHERS(S)                                                                               \
    { gather<S, float>, gather<S, double>, gather<S, int64_t>, gather<S, fl_bool>,               \
      gather<S, fl_c64>, gather<S, fl_c128> }
#define SCATTERS(K)                                                                              \
    { scatter<K, fl_bool>, scatter<K, uint8_t>, scatter<K, int8_t>, scatter<K, int16_t>,         \
      scatter<K, int32_t>, scatter<K, int64_t>, scatter<K, uint16_t>, scatter<K, uint32_t>,      \
      scatter<K, uint64_t>, scatter<K, fl_f16>, scatter<K, fl_bf16>, scatter<K, float>,          \
      scatter<K, double>, scatter<K, fl_c64>, scatter<K, fl_c128> }

}  // namespace

extern "C" const fl_tile_moves FL_CAT(fl_tile_moves_, FL_ISA);
extern "C" const fl_tile_moves FL_CAT(fl_tile_moves_, FL_ISA) = {
    {GATHERS(fl_bool), GATHERS(uint8_t), GATHERS(int8_t), GATHERS(int16_t), GATHERS(int32_t),
     GATHERS(int64_t), GATHERS(uint16_t), GATHERS(uint32_t), GATHERS(uint64_t), GATHERS(fl_f16),
     GATHERS(fl_bf16), GATHERS(float), GATHERS(double), GATHERS(fl_c64), GATHERS(fl_c128)},
    {SCATTERS(float), SCATTERS(double), SCATTERS(int64_t), SCATTERS(fl_bool), SCATTERS(fl_c64),
     SCATTERS(fl_c128)}};
