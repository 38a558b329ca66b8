/* attention: softmax(scale * query key^T + mask) value, by blocks of queries and keys.
 *
 * A piece of work is a run of queries of one head. It goes over blocks of keys, each transposed
 * once, and keeps for every query the running maximum and sum of its softmax. Few queries, as in
 * generation token by token, read the keys where they are: transposing would be most of the work.
 * */
#include "attention/attention.h"
#include "attention/tiles.h"
#include <math.h>
#include <utility>

namespace {

const int64_t QUERIES = 64;             /* of a block of scores */
const int64_t KEYS = 512;
const int64_t RUN_QUERIES = 4 * QUERIES;        /* queries of a piece of work */
const int64_t MAX_DOT_QUERIES = 4;      /* queries whose scores are inner products */

struct Job {
    fl_attention a;
    fl_heads q, k, v, out;
    fl_attention_tools tools;
    const AttentionMask &mask;
    char *logsumexp;
    int64_t rows, pitch;        /* of a block of scores */
    bool dot;
    AttentionTiles tiles;       /* q, k and v are bfloat16 then */
};

/* Scratch memory of one thread, carved into the parts a run needs. */
struct Workspace {
    Scratch memory;
    char *scores, *keys, *values, *max, *sum, *factor, *product;

    explicit Workspace(const Job &job) : memory(bytes(job)) {
        int64_t size = job.tools.size;
        scores = memory.as<char>();
        keys = scores + job.rows * job.pitch * size;
        values = keys + key_bytes(job);
        max = values + value_bytes(job);
        sum = max + RUN_QUERIES * size;
        factor = sum + RUN_QUERIES * size;
        product = factor + RUN_QUERIES * size;
    }
    static int64_t key_bytes(const Job &job) {
        if (job.tiles)
            return job.tiles.strips_bytes(most_keys(job), job.a.dim / 2);
        int64_t turned = job.a.dim * job.pitch;
        int64_t copied = job.dot ? job.pitch * fl_attention_pitch(job.a.dim, job.a.dim) : 0;
        return (turned > copied ? turned : copied) * job.tools.size;
    }
    static int64_t value_bytes(const Job &job) {
        return job.tiles ? job.tiles.strips_bytes(job.a.value_dim, most_keys(job) / 2) : 0;
    }
    static int64_t most_keys(const Job &job) { return job.a.keys < KEYS ? job.a.keys : KEYS; }
    static size_t bytes(const Job &job) {
        int64_t elements = job.rows * job.pitch + 3 * RUN_QUERIES;
        int64_t query = job.dot ? job.rows * (job.a.dim + 64) : 0;   /* copied, ends on vectors */
        int64_t product = job.tiles ? job.tiles.scratch_bytes(job.rows)
                                    : job.tools.product_bytes(job.rows);
        return (size_t)((elements + query) * job.tools.size + key_bytes(job) + value_bytes(job) +
                        product);
    }
};

/* A block of keys and values as the products read them, from their first row on. */
struct KeyBlock {
    int64_t first, cols;
    fl_attention_matrix keys;           /* transposed */
    fl_tile_strips key_strips, value_strips;
};

/* A block of keys, transposed; the copy has the order that the product reads. */
fl_attention_matrix transposed_keys(const Job &job, const Workspace &w, int64_t head, int64_t key,
                                    int64_t cols) {
    const char *data = job.k.at(job.a, head, key);
    if (!job.dot) {
        job.tools.pack(w.keys, job.pitch, job.k, data, cols, job.a.dim);
        return {w.keys, job.pitch, 1};
    }
    if (job.k.col == 1)
        return {data, 1, job.k.row};
    fl_heads turned = job.k;
    std::swap(turned.row, turned.col);
    int64_t pitch = fl_attention_pitch(job.a.dim, job.a.dim);
    job.tools.pack(w.keys, pitch, turned, data, job.a.dim, cols);
    return {w.keys, 1, pitch};
}

KeyBlock key_block(const Job &job, const Workspace &w, int64_t head, int64_t key, int64_t cols) {
    if (!job.tiles)
        return {key, cols, transposed_keys(job, w, head, key, cols), {}, {}};
    const fl_attention &a = job.a;
    const fl_tile_operand k = fl_tile_turned(job.k, job.k.at(a, head, key));
    const fl_tile_operand v = fl_tile_terms(job.v, job.v.at(a, head, key));
    return {key, cols, {}, job.tiles.pack(cols, a.dim / 2, k, w.keys),
            job.tiles.pack(a.value_dim, cols / 2, v, w.values)};
}

/* s = q k^T */
void score(const Job &job, const Workspace &w, const char *q, int64_t rows, const KeyBlock &block,
           int64_t cols, fl_attention_matrix s) {
    const fl_attention &a = job.a;
    if (job.tiles)
        return job.tiles.multiply(rows, cols, a.dim / 2, fl_tile_rows(job.q, q),
                                  block.key_strips, s, 0, w.product);
    fl_attention_product(job.tools, rows, job.dot ? cols : job.tools.whole_vectors(cols), a.dim,
                         {q, job.q.row, job.q.col}, block.keys, s, 0, w.product, job.dot);
}

/* out += p v */
void gather(const Job &job, const Workspace &w, int64_t head, int64_t rows, const KeyBlock &block,
            int64_t cols, fl_attention_matrix p, fl_attention_matrix out) {
    const fl_attention &a = job.a;
    const double beta = block.first ? 1 : 0;
    if (job.tiles)
        return job.tiles.multiply(rows, a.value_dim, cols / 2,
                                  job.tiles.round(w.scores, rows, cols, job.pitch),
                                  block.value_strips, out, beta, w.product);
    fl_attention_matrix v = {job.v.at(a, head, block.first), job.v.row, job.v.col};
    fl_attention_product(job.tools, rows, a.value_dim, cols, p, v, out, beta, w.product);
}

/* A block of queries meets the first `cols` of a block of keys. */
void block(const Job &job, const Workspace &w, int64_t head, int64_t run, int64_t query,
           int64_t rows, const KeyBlock &keys, int64_t cols) {
    const fl_attention &a = job.a;
    int64_t state = (query - run) * job.tools.size;
    fl_attention_matrix out = {job.out.at(a, head, query), job.out.row, job.out.col};
    fl_attention_matrix s = {w.scores, job.pitch, 1};
    if (job.tiles)      /* pairs; what a causal mask hides is 0 */
        cols += cols % 2;
    score(job, w, job.q.at(a, head, query), rows, keys, cols, s);
    int64_t visible = a.causal ? query + 1 - keys.first : cols;
    fl_scores scores = {w.scores, rows, cols, job.pitch, a.scale,
                        job.mask.part(a, head, query, keys.first), visible};
    job.tools.block->soften(&scores, w.max + state, w.sum + state, w.factor + state);
    if (keys.first)
        job.tools.block->scale_rows(const_cast<void *>(out.data), rows, a.value_dim, out.row,
                                    out.col, w.factor + state);
    gather(job, w, head, rows, keys, cols, s, out);
}

template <class T> void start(const Workspace &w, int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
        ((T *)w.max)[i] = -(T)INFINITY;
        ((T *)w.sum)[i] = 0;
    }
}

template <class T> void finish(const Workspace &w, int64_t rows, T *logsumexp) {
    for (int64_t i = 0; i < rows; i++)
        logsumexp[i] = ((T *)w.max)[i] + (T)log((double)((T *)w.sum)[i]);
}

void run_queries(const Job &job, const Workspace &w, int64_t head, int64_t first, int64_t last) {
    const fl_attention &a = job.a;
    int64_t size = job.tools.size, rows = last - first;
    int64_t keys = a.causal && last < a.keys ? last : a.keys;
    if (job.tiles)              /* pairs */
        keys += keys % 2;
    job.tools.is_double ? start<double>(w, rows) : start<float>(w, rows);
    for (int64_t key = 0; key < keys; key += KEYS) {
        int64_t cols = keys - key < KEYS ? keys - key : KEYS;
        const KeyBlock keys_here = key_block(job, w, head, key, cols);
        for (int64_t query = first; query < last; query += QUERIES) {
            int64_t count = last - query < QUERIES ? last - query : QUERIES;
            int64_t seen = a.causal && query + count - key < cols ? query + count - key : cols;
            if (seen > 0)
                block(job, w, head, first, query, count, keys_here, seen);
        }
    }
    job.tools.block->divide_rows(job.out.at(a, head, first), rows, a.value_dim, job.out.row,
                                 job.out.col, w.sum);
    char *to = job.logsumexp + (head * a.queries + first) * size;
    job.tools.is_double ? finish(w, rows, (double *)to) : finish(w, rows, (float *)to);
}

int run_job(const Job &job) {
    const fl_attention &a = job.a;
    int64_t runs = (a.queries - 1) / RUN_QUERIES + 1;
    int64_t rows = a.queries < RUN_QUERIES ? a.queries : RUN_QUERIES;
    int64_t work = rows * a.keys * (a.dim + a.value_dim) + 1;
    bool failed = false;
    fl_parallel(a.heads * runs, (1 << 18) / work + 1, [&](int64_t begin, int64_t end) {
        Workspace w(job);
        if (!w.memory.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (int64_t i = begin; i < end; i++) {
            int64_t first = i % runs * RUN_QUERIES;
            run_queries(job, w, i / runs, first,
                        first + RUN_QUERIES < a.queries ? first + RUN_QUERIES : a.queries);
        }
    });
    return failed ? fl_error(FL_MEMORY_ERROR, "attention(): no memory for scratch") : 0;
}

/* Without keys there is nothing to attend to. */
void no_keys(fl_tensor *result, fl_tensor *logsumexp) {
    for (int64_t i = 0; i < logsumexp->numel; i++) {
        if (logsumexp->dtype == FL_F64)
            ((double *)logsumexp->data)[i] = -INFINITY;
        else
            ((float *)logsumexp->data)[i] = -INFINITY;
    }
    memset(result->data, 0, (size_t)(result->numel * fl_itemsize(result->dtype)));
}

}  // namespace

extern "C" int fl_infer_attention(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    fl_attention a;
    const fl_tensor *query = in[0].t;
    if (fl_same_device(op, in, n) < 0 ||
        fl_attention_read(op, query, in[1].t, in[2].t, in[3], in[4], in[5], &a) < 0)
        return -1;
    int nd = query->ndim;
    int64_t shape[FL_MAX_DIMS];
    memcpy(shape, query->shape, sizeof(int64_t) * (size_t)(nd - 1));
    shape[nd - 1] = a.value_dim;
    fl_attention_layout(query, nd, shape, &outs[0]);
    int dtype = fl_dtype_of_kind[fl_kind_of_dtype[query->dtype]];
    fl_spec_set(&outs[1], dtype, fl_device_code(query), nd - 1, shape);
    return 0;
}

extern "C" int fl_run_attention(const fl_op *op, const fl_value *in, int,
                                fl_tensor *const *outs) {
    fl_attention a;
    if (fl_attention_read(op, in[0].t, in[1].t, in[2].t, in[3], in[4], in[5], &a) < 0)
        return -1;
    if (outs[1]->numel == 0)
        return 0;
    if (a.keys == 0) {
        no_keys(outs[0], outs[1]);
        return 0;
    }
    int kind = fl_kind_of_dtype[in[0].t->dtype];
    const AttentionInputs inputs(a, {in[0].t, in[1].t, in[2].t}, true);
    AttentionMask mask(a, fl_t(in[3]), kind);
    AttentionOut out(a, outs[0], kind);
    if (!inputs.ok() || !mask.ok() || !out.ok())
        return -1;
    Job job = {a, inputs.heads[0], inputs.heads[1], inputs.heads[2], out.heads,
               fl_attention_tools(kind), mask, outs[1]->data,
               a.queries < QUERIES ? a.queries : QUERIES,
               fl_attention_pitch(a.keys, KEYS), a.queries <= MAX_DOT_QUERIES,
               inputs.tiles};
    if (run_job(job) < 0)
        return -1;
    out.commit();
    return 0;
}
