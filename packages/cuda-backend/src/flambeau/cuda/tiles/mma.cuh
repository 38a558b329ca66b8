/* Products on tensor cores, and the elements that they take.
 *
 * A warp multiplies 16 rows of A with 8 columns of B over 8 words: 16 elements of a half type, or 8
 * of TF32. Rows of A and columns of B lie in shared memory as words. */
#ifdef __CUDACC_RTC__
template <class T> struct fl_type {
    typedef T type;
};
#define FL_SHARED(name, ...) __shared__ typename fl_type<__VA_ARGS__>::type name
#define FL_MMA(name, instruction)                                                                \
    __device__ __forceinline__ void name(float *d, const uint32_t *a, const uint32_t *b,         \
                                         const float *c) {                                       \
        asm volatile("mma.sync.aligned." instruction                                             \
                     " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"                \
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                            \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),         \
                       "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));                              \
    }
FL_MMA(fl_mma_f16, "m16n8k16.row.col.f32.f16.f16.f32")
FL_MMA(fl_mma_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
FL_MMA(fl_mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
#endif

/* How elements of a dtype lie, what they are multiplied as, and how they are summed. */
template <int D> struct fl_element;
template <> struct fl_element<9> {
    typedef unsigned short stored;
    typedef float sum;
    static const int PER_WORD = 2;
    FL_INLINE float value(stored v) { return fl_from_f16(v); }
    FL_INLINE stored of(float v) { return fl_to_f16(v); }
    FL_INLINE void multiply(float *d, const uint32_t *a, const uint32_t *b) {
        fl_mma_f16(d, a, b, d);
    }
};
template <> struct fl_element<10> {
    typedef unsigned short stored;
    typedef float sum;
    static const int PER_WORD = 2;
    FL_INLINE float value(stored v) { return fl_from_bf16(v); }
    FL_INLINE stored of(float v) { return fl_to_bf16(v); }
    FL_INLINE void multiply(float *d, const uint32_t *a, const uint32_t *b) {
        fl_mma_bf16(d, a, b, d);
    }
};
template <> struct fl_element<11> {
    typedef float stored;
    typedef float sum;
    static const int PER_WORD = 1;
    FL_INLINE float value(stored v) { return v; }
    FL_INLINE stored of(float v) { return v; }
    FL_INLINE void multiply(float *d, const uint32_t *a, const uint32_t *b) {
        fl_mma_tf32(d, a, b, d);
    }
};
template <> struct fl_element<12> {
    typedef double stored;
    typedef double sum;
    FL_INLINE double value(stored v) { return v; }
    FL_INLINE stored of(double v) { return v; }
};

/* Words of a row that are held at once, and the distance of rows: no two lanes meet in a bank. */
#define FL_TILE_WORDS 16
#define FL_TILE_STEP 20

/* A product of tiles: 32 rows of A with 32 columns of B, the part of one warp. */
template <int D>
FL_INLINE void fl_multiply_tiles(float (*sums)[4][4], const uint32_t *a, const uint32_t *b) {
    int lane = threadIdx.x & 31, row = lane / 4, part = lane % 4;
    #pragma unroll
    for (int word = 0; word < FL_TILE_WORDS; word += 8) {
        uint32_t columns[4][2];
        #pragma unroll
        for (int j = 0; j < 4; j++)
            #pragma unroll
            for (int r = 0; r < 2; r++)
                columns[j][r] = b[(8 * j + row) * FL_TILE_STEP + word + part + 4 * r];
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            uint32_t rows[4];
            #pragma unroll
            for (int r = 0; r < 4; r++)
                rows[r] = a[(16 * i + row + 8 * (r & 1)) * FL_TILE_STEP + word + part
                            + 4 * (r >> 1)];
            #pragma unroll
            for (int j = 0; j < 4; j++)
                fl_element<D>::multiply(sums[i][j], rows, columns[j]);
        }
    }
}
