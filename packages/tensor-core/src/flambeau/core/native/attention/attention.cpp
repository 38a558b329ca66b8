/* attention: softmax(scale * query key^T + mask) value, by blocks of queries and keys.
 *
 * A piece of work is a run of queries of one head. It goes over blocks of keys, each transposed
 * once, and keeps for every query the running maximum and sum of its softmax. Few queries, as in
 * generation token by token, read the keys where they are: transposing would be most of the work.
 * */
#include "attention/attention.h"
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
};

/* Scratch memory of one thread, carved into the parts a run needs. */
struct Workspace {
    Scratch memory;
    char *scores, *keys, *max, *sum, *factor, *product;

    explicit Workspace(const Job &job) : memory(bytes(job)) {
        int64_t size = job.tools.size;
        scores = memory.as<char>();
        keys = scores + job.rows * job.pitch * size;
        max = keys + key_elements(job) * size;
        sum = max + RUN_QUERIES * size;
        factor = sum + RUN_QUERIES * size;
        product = factor + RUN_QUERIES * size;
    }
    static int64_t key_elements(const Job &job) {
        int64_t turned = job.a.dim * job.pitch;
        int64_t copied = job.dot ? job.pitch * fl_attention_pitch(job.a.dim, job.a.dim) : 0;
        return turned > copied ? turned : copied;
    }
    static size_t bytes(const Job &job) {
        int64_t elements = job.rows * job.pitch + key_elements(job) + 3 * RUN_QUERIES;
        int64_t query = job.dot ? job.rows * (job.a.dim + 64) : 0;   /* copied, ends on vectors */
        return (size_t)((elements + query) * job.tools.size + job.tools.product_bytes(job.rows));
    }
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

/* A block of queries meets a block of keys. */
void block(const Job &job, const Workspace &w, int64_t head, int64_t run, int64_t query,
           int64_t rows, fl_attention_matrix keys, int64_t key, int64_t cols) {
    const fl_attention &a = job.a;
    int64_t size = job.tools.size, state = (query - run) * size;
    fl_attention_matrix q = {job.q.at(a, head, query), job.q.row, job.q.col};
    fl_attention_matrix v = {job.v.at(a, head, key), job.v.row, job.v.col};
    fl_attention_matrix out = {job.out.at(a, head, query), job.out.row, job.out.col};
    fl_attention_matrix s = {w.scores, job.pitch, 1};
    fl_attention_product(job.tools, rows, job.dot ? cols : job.tools.whole_vectors(cols), a.dim, q,
                         keys, s, 0, w.product, job.dot);
    int64_t visible = a.causal ? query + 1 - key : cols;
    fl_scores scores = {w.scores, rows, cols, job.pitch, a.scale,
                        job.mask.part(a, head, query, key), visible};
    job.tools.block->soften(&scores, w.max + state, w.sum + state, w.factor + state);
    if (key)
        job.tools.block->scale_rows(const_cast<void *>(out.data), rows, a.value_dim, out.row,
                                    out.col, w.factor + state);
    fl_attention_product(job.tools, rows, a.value_dim, cols, s, v, out, key ? 1 : 0, w.product);
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
    job.tools.is_double ? start<double>(w, rows) : start<float>(w, rows);
    for (int64_t key = 0; key < keys; key += KEYS) {
        int64_t cols = keys - key < KEYS ? keys - key : KEYS;
        fl_attention_matrix block_of_keys = transposed_keys(job, w, head, key, cols);
        for (int64_t query = first; query < last; query += QUERIES) {
            int64_t count = last - query < QUERIES ? last - query : QUERIES;
            int64_t seen = a.causal && query + count - key < cols ? query + count - key : cols;
            if (seen > 0)
                block(job, w, head, first, query, count, block_of_keys, key, seen);
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
    ProductInput q(in[0].t), k(in[1].t), v(in[2].t);
    AttentionMask mask(a, fl_t(in[3]), kind);
    AttentionOut out(a, outs[0], kind);
    if (!q.ok() || !k.ok() || !v.ok() || !mask.ok() || !out.ok())
        return -1;
    Job job = {a, fl_heads_of(a, q.data, q.dtype, q.strides),
               fl_heads_of(a, k.data, k.dtype, k.strides),
               fl_heads_of(a, v.data, v.dtype, v.strides), out.heads, fl_attention_tools(kind),
               mask, outs[1]->data, a.queries < QUERIES ? a.queries : QUERIES,
               fl_attention_pitch(a.keys, KEYS), a.queries <= MAX_DOT_QUERIES};
    if (run_job(job) < 0)
        return -1;
    out.commit();
    return 0;
}
