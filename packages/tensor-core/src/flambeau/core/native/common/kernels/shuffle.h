/* GCC's __builtin_shuffle, which Clang, the compiler for WebAssembly, does not have: lane e of the
 * result is lane pick[e] of a, or of a followed by b. Picks are constants, so that both compile to
 * instructions that shuffle. */
#pragma once

#ifdef __clang__
namespace {

template <class V, class I> inline V fl_shuffle(V a, V b, I pick) {
    constexpr int count = sizeof(I) / sizeof(pick[0]);
    V out;
#pragma clang loop unroll(full)
    for (int e = 0; e < count; e++)
        out[e] = pick[e] < count ? a[pick[e]] : b[pick[e] - count];
    return out;
}

template <class V, class I> inline V fl_shuffle(V a, I pick) { return fl_shuffle(a, a, pick); }

}  // namespace
#else
#define fl_shuffle __builtin_shuffle
#endif
