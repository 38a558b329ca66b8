/* Attention without the matrix of its scores (Dao et al., 2022), on tensor cores.
 *
 * A warp has 16 queries. Keys come by 32: their scores, the running maximum and sum of each row,
 * and what the values add to the result, which is scaled down whenever the maximum grows. */
struct fl_attention {
    char *query, *key, *value, *mask, *result, *total;
    int64_t query_step[6], key_step[6], value_step[6], mask_step[6], result_step[6],
        total_step[5];                  /* over four dimensions of the batch, rows, columns */
    int32_t batch[4], queries, keys, size, value_size, causal, mask_dtype, total_dtype;
    float scale;
};

#define FL_KEYS 32

FL_INLINE int64_t fl_batch_offset(const fl_attention &c, int64_t i, const int64_t *steps) {
    int64_t at = 0;
    for (int d = 3; d >= 0; d--) {
        at += i % c.batch[d] * steps[d];
        i /= c.batch[d];
    }
    return at;
}

/* Rows of a matrix as words in shared memory, or with EXCHANGED its columns; 0 where it ends. */
template <class T, bool EXCHANGED>
FL_INLINE void fl_take_rows(T *to, int step, int count, int size, const T *from, int64_t row_step,
                            int64_t column_step, int first, int rows, int columns) {
    for (int i = threadIdx.x; i < count * size; i += blockDim.x) {
        int row = i / size, column = i % size;
        T v = first + row < rows && column < columns
                  ? from[(first + row) * row_step + column * column_step] : (T)0;
        to[EXCHANGED ? column * step + row : row * step + column] = v;
    }
}

template <int D> FL_INLINE uint32_t fl_pair(float low, float high) {
    return (uint32_t)fl_element<D>::of(low) | (uint32_t)fl_element<D>::of(high) << 16;
}

/* The score of a query and a key after scale and mask; -inf where it takes no part. */
FL_INLINE float fl_score(const fl_attention &c, float product, int64_t mask_at, int query,
                         int key) {
    if (query >= c.queries || key >= c.keys || (c.causal && key > query))
        return -FL_INF_F32;
    float score = product * c.scale;
    if (c.mask_dtype < 0)
        return score;
    float mask = fl_load<float>(c.mask, c.mask_dtype,
                                mask_at + query * c.mask_step[4] + key * c.mask_step[5]);
    if (c.mask_dtype == 0)
        return mask != 0 ? score : -FL_INF_F32;
    return score + mask;
}

/* The greatest or the sum of the four lanes that share a row. */
FL_INLINE float fl_row_max(float x) {
    for (int by = 1; by < 4; by *= 2) {
        float other = __shfl_xor_sync(0xffffffffu, x, by);
        x = other > x ? other : x;
    }
    return x;
}
FL_INLINE float fl_row_sum(float x) {
    for (int by = 1; by < 4; by *= 2)
        x += __shfl_xor_sync(0xffffffffu, x, by);
    return x;
}

template <int D, int SIZE, int ROWS> FL_INLINE void fl_attend(const fl_attention &c) {
    typedef typename fl_element<D>::stored T;
    const int STEP = SIZE / 2 + 4, BY_KEY = FL_KEYS * STEP, BY_COLUMN = SIZE * FL_TILE_STEP,
              MOST = BY_KEY < BY_COLUMN ? BY_COLUMN : BY_KEY;
    FL_SHARED(query, uint32_t[ROWS * STEP]);
    FL_SHARED(other, uint32_t[MOST]);
    int tiles = (c.queries + ROWS - 1) / ROWS;
    int64_t sample = blockIdx.x / tiles;
    int first = blockIdx.x % tiles * ROWS, lane = threadIdx.x % 32, row = lane / 4,
        part = lane % 4, mine = threadIdx.x / 32 * 16;
    const T *q = (const T *)c.query + fl_batch_offset(c, sample, c.query_step);
    const T *k = (const T *)c.key + fl_batch_offset(c, sample, c.key_step);
    const T *v = (const T *)c.value + fl_batch_offset(c, sample, c.value_step);
    int64_t mask_at = c.mask_dtype < 0 ? 0 : fl_batch_offset(c, sample, c.mask_step);
    fl_take_rows<T, false>((T *)query, 2 * STEP, ROWS, SIZE, q, c.query_step[4], c.query_step[5],
                           first, c.queries, c.size);
    float sums[SIZE / 8][4] = {}, most[2] = {-FL_INF_F32, -FL_INF_F32}, totals[2] = {};
    int last = c.causal && first + ROWS < c.keys ? first + ROWS : c.keys;
    for (int from = 0; from < last; from += FL_KEYS) {
        float scores[4][4] = {};
        __syncthreads();
        fl_take_rows<T, false>((T *)other, 2 * STEP, FL_KEYS, SIZE, k, c.key_step[4],
                               c.key_step[5], from, c.keys, c.size);
        __syncthreads();
#pragma unroll
        for (int word = 0; word < SIZE / 2; word += 8) {
            uint32_t a[4], b[2];
#pragma unroll
            for (int r = 0; r < 4; r++)
                a[r] = query[(mine + row + 8 * (r & 1)) * STEP + word + part + 4 * (r >> 1)];
#pragma unroll
            for (int j = 0; j < 4; j++) {
#pragma unroll
                for (int r = 0; r < 2; r++)
                    b[r] = other[(8 * j + row) * STEP + word + part + 4 * r];
                fl_element<D>::multiply(scores[j], a, b);
            }
        }
        __syncthreads();
        fl_take_rows<T, true>((T *)other, 2 * FL_TILE_STEP, FL_KEYS, SIZE, v, c.value_step[4],
                              c.value_step[5], from, c.keys, c.value_size);
        float greatest[2] = {most[0], most[1]}, scales[2];
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int r = 0; r < 4; r++) {
                scores[j][r] = fl_score(c, scores[j][r], mask_at, first + mine + row + 8 * (r / 2),
                                        from + 8 * j + 2 * part + r % 2);
                greatest[r / 2] = scores[j][r] > greatest[r / 2] ? scores[j][r] : greatest[r / 2];
            }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            greatest[h] = fl_row_max(greatest[h]);
            scales[h] = most[h] == greatest[h] ? 1.0f : FL_BUILTIN(expf)(most[h] - greatest[h]);
            most[h] = greatest[h];
            totals[h] *= scales[h];
        }
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int r = 0; r < 4; r++) {
                float score = scores[j][r];
                scores[j][r] = score == -FL_INF_F32 ? 0.0f
                                                    : FL_BUILTIN(expf)(score - most[r / 2]);
                totals[r / 2] += scores[j][r];
            }
        uint32_t weights[2][4];
#pragma unroll
        for (int w = 0; w < 2; w++)
#pragma unroll
            for (int r = 0; r < 4; r++) {
                const float *pair = &scores[2 * w + (r >> 1)][2 * (r & 1)];
                weights[w][r] = fl_pair<D>(pair[0], pair[1]);
            }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < SIZE / 8; j++) {
#pragma unroll
            for (int r = 0; r < 4; r++)
                sums[j][r] *= scales[r / 2];
#pragma unroll
            for (int w = 0; w < 2; w++) {
                uint32_t b[2];
#pragma unroll
                for (int r = 0; r < 2; r++)
                    b[r] = other[(8 * j + row) * FL_TILE_STEP + 8 * w + part + 4 * r];
                fl_element<D>::multiply(sums[j], weights[w], b);
            }
        }
    }
    T *to = (T *)c.result + fl_batch_offset(c, sample, c.result_step);
    int64_t total_at = fl_batch_offset(c, sample, c.total_step);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int at = first + mine + row + 8 * h;
        float total = fl_row_sum(totals[h]), by = total == 0 ? 0.0f : 1.0f / total;
        if (at >= c.queries)
            continue;
        if (part == 0)
            fl_store<float>(c.total, c.total_dtype, total_at + at * c.total_step[4],
                            total == 0 ? -FL_INF_F32 : most[h] + FL_BUILTIN(logf)(total));
#pragma unroll
        for (int j = 0; j < SIZE / 8; j++)
#pragma unroll
            for (int r = 0; r < 2; r++) {
                int column = 8 * j + 2 * part + r;
                if (column < c.value_size)
                    to[at * c.result_step[4] + column * c.result_step[5]] =
                        fl_element<D>::of(sums[j][2 * h + r] * by);
            }
    }
}
