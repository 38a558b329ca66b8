/* Products on tensor cores: the fragments of mma.sync as PTX lays them out over the lanes.
 *
 * A is 16 x K and B is K x 8 in 32-bit registers, C and D 16 x 8 in float32. Lane l holds rows
 * l / 4 and l / 4 + 8, and of each the registers of columns l % 4 (PTX ISA, "Matrix Fragments for
 * mma.m16n8k16"). Sums are made in float64 and rounded once, where a GPU's order is its own. */

struct fl_fragments {
    uint32_t a[4], b[2];
    float c[4];
};

static float fl_float_of_half(uint32_t pair, int k) {
    uint32_t h = pair >> 16 * k & 0xffff, exponent = h >> 10 & 31, fraction = h & 1023;
    float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                 : exponent     ? ldexpf((float)(fraction + 1024), (int)exponent - 25)
                                : ldexpf((float)fraction, -24);
    return h >> 15 ? -size : size;
}
static float fl_float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
static float fl_float_of_bf16(uint32_t pair, int k) {
    return fl_float_of_bits(pair >> 16 * k << 16);
}
static float fl_float_of_tf32(uint32_t bits, int) {
    return fl_float_of_bits(bits & 0xffffe000u);        /* the lower 13 bits do not take part */
}

/* PER registers' elements: 2 of 16 bits, or 1 of 32. */
template <int PER, float (*VALUE)(uint32_t, int)>
static void fl_answer_mma(fl_warp &warp, uint32_t) {
    float a[16][8 * PER], b[8 * PER][8];
    for (int l = 0; l < 32; l++) {
        const fl_fragments &f = *(const fl_fragments *)warp.requests[l]->in;
        for (int r = 0; r < 4; r++)
            for (int e = 0; e < PER; e++)
                a[l / 4 + 8 * (r & 1)][(l % 4 + 4 * (r >> 1)) * PER + e] = VALUE(f.a[r], e);
        for (int r = 0; r < 2; r++)
            for (int e = 0; e < PER; e++)
                b[(l % 4 + 4 * r) * PER + e][l / 4] = VALUE(f.b[r], e);
    }
    for (int l = 0; l < 32; l++) {
        const fl_fragments &f = *(const fl_fragments *)warp.requests[l]->in;
        float *d = (float *)warp.requests[l]->out;
        for (int r = 0; r < 4; r++) {
            int row = l / 4 + 8 * (r >> 1), column = l % 4 * 2 + (r & 1);
            double sum = f.c[r];
            for (int k = 0; k < 8 * PER; k++)
                sum += (double)a[row][k] * b[k][column];
            d[r] = (float)sum;
        }
    }
}

template <int PER, float (*VALUE)(uint32_t, int)>
static void fl_mma(float *d, const uint32_t *a, const uint32_t *b, const float *c, int line) {
    fl_fragments mine;
    memcpy(mine.a, a, sizeof mine.a);
    memcpy(mine.b, b, sizeof mine.b);
    memcpy(mine.c, c, sizeof mine.c);
    fl_ask(0xffffffffu, fl_request{&mine, d, 0, fl_answer_mma<PER, VALUE>}, line);
}

static void fl_mma_f16(float *d, const uint32_t *a, const uint32_t *b, const float *c,
                       int line = __builtin_LINE()) {
    fl_mma<2, fl_float_of_half>(d, a, b, c, line);
}
static void fl_mma_bf16(float *d, const uint32_t *a, const uint32_t *b, const float *c,
                        int line = __builtin_LINE()) {
    fl_mma<2, fl_float_of_bf16>(d, a, b, c, line);
}
static void fl_mma_tf32(float *d, const uint32_t *a, const uint32_t *b, const float *c,
                        int line = __builtin_LINE()) {
    fl_mma<1, fl_float_of_tf32>(d, a, b, c, line);
}
