/* Convolutions as products whose operands are never written down (implicit GEMM).
 *
 * A block makes 64 x 64 results of one group from pieces of both operands in shared memory:
 *
 *                  rows                columns                      summed over
 *   forward        output channels     samples, output positions    input channels, taps
 *   for the input  input channels      samples, input positions     output channels, taps
 *   for the weight output channels     input channels, taps         samples, output positions
 */
struct fl_conv {
    char *x, *w, *y, *bias;             /* y: the output, or its gradient */
    int64_t x_step[5], w_step[5], y_step[5], bias_step;
    int32_t batch, groups, channels, filters;       /* channels and filters of one group */
    int32_t x_size[3], y_size[3], taps[3], stride[3], padding[3], dilation[3];
};

enum { FL_FOR_OUTPUT = 0, FL_FOR_INPUT = 1, FL_FOR_WEIGHT = 2 };
#define FL_TILE 64
#define FL_FMA(a, b, c) fl_fused(a, b, c)
FL_INLINE float fl_fused(float a, float b, float c) { return FL_BUILTIN(fmaf)(a, b, c); }
FL_INLINE double fl_fused(double a, double b, double c) { return FL_BUILTIN(fma)(a, b, c); }

struct fl_place {
    int32_t outer, at[3];
};

/* Number i of [outer][sizes] as its parts. */
FL_INLINE fl_place fl_place_of(int32_t i, const int32_t *sizes) {
    fl_place p;
    for (int d = 2; d >= 0; d--) {
        p.at[d] = i % sizes[d];
        i /= sizes[d];
    }
    p.outer = i;
    return p;
}

FL_INLINE int64_t fl_place_offset(const int64_t *steps, int32_t n, int32_t c, const int32_t *at) {
    return n * steps[0] + c * steps[1] + at[0] * steps[2] + at[1] * steps[3] + at[2] * steps[4];
}

template <int D, int MODE> struct fl_conv_operands {
    typedef typename fl_element<D>::stored T;
    const fl_conv &c;
    int32_t group, rows, columns, depth;

    __device__ fl_conv_operands(const fl_conv &call, int32_t g) : c(call), group(g) {
        int32_t taps = c.taps[0] * c.taps[1] * c.taps[2];
        int32_t xs = c.batch * c.x_size[0] * c.x_size[1] * c.x_size[2];
        int32_t ys = c.batch * c.y_size[0] * c.y_size[1] * c.y_size[2];
        rows = MODE == FL_FOR_INPUT ? c.channels : c.filters;
        columns = MODE == FL_FOR_OUTPUT ? ys : MODE == FL_FOR_INPUT ? xs : c.channels * taps;
        depth = MODE == FL_FOR_OUTPUT ? c.channels * taps : MODE == FL_FOR_INPUT ? c.filters * taps
                                                                              : ys;
    }
    __device__ T weight(int32_t filter, int32_t channel, const int32_t *tap) const {
        return ((const T *)c.w)[fl_place_offset(c.w_step, group * c.filters + filter, channel,
                                                tap)];
    }
    __device__ T slope(int32_t sample, int32_t filter, const int32_t *at) const {
        return ((const T *)c.y)[fl_place_offset(c.y_step, sample, group * c.filters + filter,
                                                at)];
    }
    /* The input under a tap of the window at an output position; 0 beyond its borders. */
    __device__ T under(int32_t sample, int32_t channel, const int32_t *at,
                       const int32_t *tap) const {
        int32_t there[3];
        for (int d = 0; d < 3; d++) {
            there[d] = at[d] * c.stride[d] - c.padding[d] + tap[d] * c.dilation[d];
            if (there[d] < 0 || there[d] >= c.x_size[d])
                return (T)0;
        }
        return ((const T *)c.x)[fl_place_offset(c.x_step, sample, group * c.channels + channel,
                                                there)];
    }
    /* The slope of the window whose tap covers an input position, where there is one. */
    __device__ T over(int32_t sample, int32_t filter, const int32_t *at,
                      const int32_t *tap) const {
        int32_t there[3];
        for (int d = 0; d < 3; d++) {
            int32_t from = at[d] + c.padding[d] - tap[d] * c.dilation[d];
            there[d] = from / c.stride[d];
            if (from < 0 || from % c.stride[d] || there[d] >= c.y_size[d])
                return (T)0;
        }
        return slope(sample, filter, there);
    }
    __device__ T a(int32_t row, int32_t k) const {
        if (row >= rows || k >= depth)
            return (T)0;
        fl_place p = fl_place_of(k, MODE == FL_FOR_WEIGHT ? c.y_size : c.taps);
        if (MODE == FL_FOR_OUTPUT)
            return weight(row, p.outer, p.at);
        return MODE == FL_FOR_INPUT ? weight(p.outer, row, p.at) : slope(p.outer, row, p.at);
    }
    /* `column` has been taken apart, because it stays while k moves. */
    __device__ T b(int32_t k, const fl_place &column, bool there) const {
        if (!there || k >= depth)
            return (T)0;
        fl_place p = fl_place_of(k, MODE == FL_FOR_WEIGHT ? c.y_size : c.taps);
        if (MODE == FL_FOR_OUTPUT)
            return under(column.outer, p.outer, column.at, p.at);
        return MODE == FL_FOR_INPUT ? over(column.outer, p.outer, column.at, p.at)
                                    : under(p.outer, column.outer, p.at, column.at);
    }
    __device__ fl_place column_of(int32_t i) const {
        return fl_place_of(i, MODE == FL_FOR_OUTPUT     ? c.y_size
                              : MODE == FL_FOR_INPUT ? c.x_size
                                                     : c.taps);
    }
    template <class S> __device__ void store(int32_t row, int32_t column, S value) const {
        if (row >= rows || column >= columns)
            return;
        fl_place p = column_of(column);
        if (MODE == FL_FOR_OUTPUT) {
            int32_t filter = group * c.filters + row;
            if (c.bias)
                value += fl_element<D>::value(((const T *)c.bias)[filter * c.bias_step]);
            ((T *)c.y)[fl_place_offset(c.y_step, p.outer, filter, p.at)] =
                fl_element<D>::of(value);
        } else if (MODE == FL_FOR_INPUT) {
            ((T *)c.x)[fl_place_offset(c.x_step, p.outer, group * c.channels + row, p.at)] =
                fl_element<D>::of(value);
        } else {
            ((T *)c.w)[fl_place_offset(c.w_step, group * c.filters + row, p.outer, p.at)] =
                fl_element<D>::of(value);
        }
    }
};

/* On tensor cores: 128 threads, of which each warp makes 32 x 32 results. */
template <int D, int MODE> FL_INLINE void fl_conv_on_tensor_cores(const fl_conv &c) {
    typedef typename fl_element<D>::stored T;
    const int K = FL_TILE_WORDS * fl_element<D>::PER_WORD, STEP = FL_TILE_STEP
                  * fl_element<D>::PER_WORD;
    FL_SHARED(a, uint32_t[FL_TILE * FL_TILE_STEP]);
    FL_SHARED(b, uint32_t[FL_TILE * FL_TILE_STEP]);
    fl_conv_operands<D, MODE> operands(c, blockIdx.z);
    int32_t first_row = blockIdx.y * FL_TILE, first_column = blockIdx.x * FL_TILE;
    int32_t mine = threadIdx.x % FL_TILE, from = threadIdx.x / FL_TILE * (K / 2);
    int32_t wanted = first_column + mine;
    bool there = wanted < operands.columns;
    fl_place column = operands.column_of(there ? wanted : 0);
    int warp = threadIdx.x / 32, up = warp / 2 * 32, across = warp % 2 * 32;
    float sums[2][4][4] = {};
    for (int32_t k = 0; k < operands.depth; k += K) {
        #pragma unroll
        for (int i = from; i < from + K / 2; i++) {
            ((T *)a)[mine * STEP + i] = operands.a(first_row + mine, k + i);
            ((T *)b)[mine * STEP + i] = operands.b(k + i, column, there);
        }
        __syncthreads();
        fl_multiply_tiles<D>(sums, a + up * FL_TILE_STEP, b + across * FL_TILE_STEP);
        __syncthreads();
    }
    int row = threadIdx.x % 32 / 4, part = threadIdx.x % 4;
    #pragma unroll
    for (int i = 0; i < 2; i++)
        #pragma unroll
        for (int j = 0; j < 4; j++)
            #pragma unroll
            for (int r = 0; r < 4; r++)
                operands.store(first_row + up + 16 * i + row + 8 * (r / 2),
                               first_column + across + 8 * j + 2 * part + r % 2, sums[i][j][r]);
}

/* In the dtype's own precision: 128 threads, each of 8 x 4 results. */
template <int D, int MODE> FL_INLINE void fl_conv_exactly(const fl_conv &c) {
    typedef typename fl_element<D>::stored T;
    FL_SHARED(a, T[16][FL_TILE]);
    FL_SHARED(b, T[16][FL_TILE]);
    fl_conv_operands<D, MODE> operands(c, blockIdx.z);
    int32_t first_row = blockIdx.y * FL_TILE, first_column = blockIdx.x * FL_TILE;
    int32_t mine = threadIdx.x % FL_TILE, from = threadIdx.x / FL_TILE * 8;
    int32_t wanted = first_column + mine, up = threadIdx.x / 16 * 8, across = threadIdx.x % 16;
    bool there = wanted < operands.columns;
    fl_place column = operands.column_of(there ? wanted : 0);
    T sums[8][4] = {};
    for (int32_t k = 0; k < operands.depth; k += 16) {
        #pragma unroll
        for (int i = from; i < from + 8; i++) {
            a[i][mine] = operands.a(first_row + mine, k + i);
            b[i][mine] = operands.b(k + i, column, there);
        }
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 16; i++)
            #pragma unroll
            for (int r = 0; r < 8; r++)
                #pragma unroll
                for (int s = 0; s < 4; s++)
                    sums[r][s] = FL_FMA(a[i][up + r], b[i][across + 16 * s], sums[r][s]);
        __syncthreads();
    }
    #pragma unroll
    for (int r = 0; r < 8; r++)
        #pragma unroll
        for (int s = 0; s < 4; s++)
            operands.store(first_row + up + r, first_column + across + 16 * s, sums[r][s]);
}
