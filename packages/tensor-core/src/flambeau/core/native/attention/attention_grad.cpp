/* Gradients of attention. Probabilities are computed again from the scores and the stored
 * logsumexp. One piece of work is a head, so every sum has one order. */
#include "attention/attention.h"
#include "attention/tiles.h"

namespace {

const int64_t QUERIES = 256;            /* of a block of scores */
const int64_t KEYS = 128;

struct Job {
    fl_attention a;
    fl_heads q, k, v, result, grad, wide_grad;
    fl_heads dq, dk, dv;
    fl_attention_tools tools;
    const AttentionMask &mask;
    const char *logsumexp;
    int64_t rows, pitch;        /* of a block of scores */
    AttentionTiles tiles;       /* q, k, v and grad are bfloat16 then */
};

struct Workspace {
    Scratch memory;
    char *scores, *products, *keys, *values, *delta, *gemm;

    explicit Workspace(const Job &job) : memory(bytes(job)) {
        int64_t size = job.tools.size;
        scores = memory.as<char>();
        products = scores + job.rows * job.pitch * size;
        keys = products + job.rows * job.pitch * size;
        values = keys + turned_bytes(job, job.a.dim);
        delta = values + turned_bytes(job, job.a.value_dim);
        gemm = delta + (job.a.queries + 15) / 16 * 16 * size;
    }
    static int64_t turned_bytes(const Job &job, int64_t dim) {
        return job.tiles ? job.tiles.strips_bytes(KEYS, dim / 2)
                         : dim * job.pitch * job.tools.size;
    }
    static size_t bytes(const Job &job) {
        const fl_attention &a = job.a;
        int64_t elements = 2 * job.rows * job.pitch + a.queries + 16;
        int64_t most = job.rows > KEYS ? job.rows : KEYS;
        int64_t product = job.tiles ? job.tiles.scratch_bytes(most)
                                    : job.tools.product_bytes(most);
        return (size_t)(elements * job.tools.size + turned_bytes(job, a.dim) +
                        turned_bytes(job, a.value_dim) + product);
    }
};

/* A block of keys, and whether these queries are the first that meet it. */
struct KeyBlock {
    int64_t first, cols;
    fl_tile_strips keys, values;        /* turned, of tiles */
};

fl_attention_matrix rows_of(const fl_heads &h, const fl_attention &a, int64_t head, int64_t row) {
    return fl_attention_matrix{h.at(a, head, row), h.row, h.col};
}

/* s = q k^T and ds = g v^T */
void score(const Job &job, const Workspace &w, int64_t head, int64_t query, int64_t rows,
           const KeyBlock &b, fl_attention_matrix s, fl_attention_matrix ds) {
    const fl_attention &a = job.a;
    const char *q = job.q.at(a, head, query), *g = job.grad.at(a, head, query);
    if (job.tiles) {
        job.tiles.multiply(rows, b.cols, a.dim / 2, fl_tile_rows(job.q, q), b.keys, s, 0, w.gemm);
        job.tiles.multiply(rows, b.cols, a.value_dim / 2, fl_tile_rows(job.grad, g), b.values, ds,
                           0, w.gemm);
        return;
    }
    const int64_t wide = job.tools.whole_vectors(b.cols);
    fl_attention_product(job.tools, rows, wide, a.dim, {q, job.q.row, job.q.col},
                         {w.keys, job.pitch, 1}, s, 0, w.gemm);
    fl_attention_product(job.tools, rows, wide, a.value_dim, {g, job.grad.row, job.grad.col},
                         {w.values, job.pitch, 1}, ds, 0, w.gemm);
}

/* The gradients of these queries, keys and values, added to what there is after the first block. */
struct Results {
    fl_attention_matrix dq, dk, dv;
    double add_to_query, add_to_key;
};

void gather_tiles(const Job &job, const Workspace &w, int64_t head, int64_t query, int64_t rows,
                  const KeyBlock &b, const Results &to) {
    const fl_attention &a = job.a;
    const AttentionTiles &t = job.tiles;
    const fl_tile_operand ds = t.round(w.products, rows, b.cols, job.pitch);
    t.round(w.scores, rows, b.cols, job.pitch);
    const int64_t step = 2 * job.pitch;         /* from row to row of what was rounded */
    const fl_tile_operand g = fl_tile_terms(job.grad, job.grad.at(a, head, query));
    const fl_tile_operand q = fl_tile_terms(job.q, job.q.at(a, head, query));
    const fl_tile_operand k = fl_tile_terms(job.k, job.k.at(a, head, b.first));
    t.multiply(b.cols, a.value_dim, rows / 2, {w.scores, 1, step, true}, g, to.dv, to.add_to_key,
               w.gemm);
    t.multiply(b.cols, a.dim, rows / 2, {w.products, 1, step, true}, q, to.dk, to.add_to_key,
               w.gemm);
    t.multiply(rows, a.dim, b.cols / 2, ds, k, to.dq, to.add_to_query, w.gemm);
}

/* dv += p^T g, dk += ds^T q, dq += ds k */
void gather(const Job &job, const Workspace &w, int64_t head, int64_t query, int64_t rows,
            const KeyBlock &b, const Results &to) {
    const fl_attention &a = job.a;
    if (job.tiles)
        return gather_tiles(job, w, head, query, rows, b, to);
    const fl_attention_matrix p = {w.scores, 1, job.pitch}, ds = {w.products, 1, job.pitch};
    fl_attention_product(job.tools, b.cols, a.value_dim, rows, p,
                         rows_of(job.grad, a, head, query), to.dv, to.add_to_key, w.gemm);
    fl_attention_product(job.tools, b.cols, a.dim, rows, ds, rows_of(job.q, a, head, query),
                         to.dk, to.add_to_key, w.gemm);
    fl_attention_product(job.tools, rows, a.dim, b.cols, {w.products, job.pitch, 1},
                         rows_of(job.k, a, head, b.first), to.dq, to.add_to_query, w.gemm);
}

/* `fresh`: the first block of queries that meets these keys. */
void block(const Job &job, const Workspace &w, int64_t head, int64_t query, int64_t rows,
           const KeyBlock &b, bool fresh) {
    const fl_attention &a = job.a;
    const int64_t size = job.tools.size;
    score(job, w, head, query, rows, b, {w.scores, job.pitch, 1}, {w.products, job.pitch, 1});
    fl_scores scores = {w.scores, rows, b.cols, job.pitch, a.scale,
                        job.mask.part(a, head, query, b.first),
                        a.causal ? query + 1 - b.first : b.cols};
    job.tools.block->grad(&scores, w.products, job.logsumexp + (head * a.queries + query) * size,
                          w.delta + query * size);
    gather(job, w, head, query, rows, b,
           {rows_of(job.dq, a, head, query), rows_of(job.dk, a, head, b.first),
            rows_of(job.dv, a, head, b.first), b.first ? 1.0 : 0.0, fresh ? 0.0 : 1.0});
}

/* Zero by an empty product. */
void clear(const Job &job, const Workspace &w, const fl_heads &h, int64_t head, int64_t first,
           int64_t rows, int64_t cols) {
    fl_attention_matrix m = rows_of(h, job.a, head, first);
    fl_attention_product(job.tools, rows, cols, 0, m, m, m, 0, w.gemm);
}

KeyBlock key_block(const Job &job, const Workspace &w, int64_t head, int64_t key, int64_t cols) {
    const fl_attention &a = job.a;
    const char *k = job.k.at(a, head, key), *v = job.v.at(a, head, key);
    if (job.tiles)
        return {key, cols,
                job.tiles.pack(cols, a.dim / 2, fl_tile_turned(job.k, k), w.keys),
                job.tiles.pack(cols, a.value_dim / 2, fl_tile_turned(job.v, v), w.values)};
    job.tools.pack(w.keys, job.pitch, job.k, k, cols, a.dim);
    job.tools.pack(w.values, job.pitch, job.v, v, cols, a.value_dim);
    return {key, cols, {}, {}};
}

void run_keys(const Job &job, const Workspace &w, int64_t head, int64_t key, int64_t cols) {
    const fl_attention &a = job.a;
    const KeyBlock keys = key_block(job, w, head, key, cols);
    int64_t first = a.causal ? key / QUERIES * QUERIES : 0;
    for (int64_t query = first; query < a.queries; query += QUERIES) {
        int64_t rows = a.queries - query < QUERIES ? a.queries - query : QUERIES;
        block(job, w, head, query, rows, keys, query == first);
    }
    if (first >= a.queries) {
        clear(job, w, job.dk, head, key, cols, a.dim);
        clear(job, w, job.dv, head, key, cols, a.value_dim);
    }
}

void run_head(const Job &job, const Workspace &w, int64_t head) {
    const fl_attention &a = job.a;
    job.tools.block->row_products({job.result.at(a, head), job.result.row, job.result.col},
                                  {job.wide_grad.at(a, head), job.wide_grad.row,
                                   job.wide_grad.col}, a.queries, a.value_dim, w.delta);
    for (int64_t key = 0; key < job.a.keys; key += KEYS)
        run_keys(job, w, head, key, job.a.keys - key < KEYS ? job.a.keys - key : KEYS);
}

int run_job(const Job &job) {
    const fl_attention &a = job.a;
    int64_t work = a.queries * a.keys * (a.dim + a.value_dim) + 1;
    bool failed = false;
    fl_parallel(a.heads, (1 << 18) / work + 1, [&](int64_t begin, int64_t end) {
        Workspace w(job);
        if (!w.memory.ok())
            return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (int64_t head = begin; head < end; head++)
            run_head(job, w, head);
    });
    return failed ? fl_error(FL_MEMORY_ERROR, "attention_grad(): no memory for scratch") : 0;
}

bool same_shape(const fl_tensor *t, int nd, const int64_t *shape, int64_t last) {
    return t->ndim == nd && !memcmp(t->shape, shape, sizeof(int64_t) * (size_t)(nd - 1)) &&
           t->shape[nd - 1] == last;
}

/* in: grad, query, key, value, attn_mask, is_causal, scale, result, logsumexp */
int read_call(const fl_op *op, const fl_value *in, fl_attention *a) {
    const fl_tensor *grad = in[0].t, *q = in[1].t, *result = in[7].t, *lse = in[8].t;
    if (fl_attention_read(op, q, in[2].t, in[3].t, in[4], in[5], in[6], a) < 0)
        return -1;
    int nd = q->ndim;
    bool fits = same_shape(grad, nd, q->shape, a->value_dim) &&
                same_shape(result, nd, q->shape, a->value_dim) &&
                same_shape(lse, nd - 1, q->shape, a->queries);
    if (!fits)
        return fl_error(FL_RUNTIME_ERROR, "%s: grad is %s, result %s and logsumexp %s; grad must "
                        "have the shape of the result of attention, and both others be what it "
                        "returned", fl_op_title(op), fl_shape_text(grad->shape, grad->ndim),
                        fl_shape_text(result->shape, result->ndim),
                        fl_shape_text(lse->shape, lse->ndim));
    if (grad->dtype == q->dtype && result->dtype == q->dtype)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: grad is %s and result %s; they must have the query's "
                    "dtype, %s", fl_op_title(op), fl_dtype_name(grad->dtype),
                    fl_dtype_name(result->dtype), fl_dtype_name(q->dtype));
}

fl_heads heads_of(const fl_attention &a, const ProductInput &p) {
    return fl_heads_of(a, p.data, p.dtype, p.strides);
}

void zero(fl_tensor *t) { memset(t->data, 0, (size_t)(t->numel * fl_itemsize(t->dtype))); }

}  // namespace

extern "C" int fl_infer_attention_grad(const fl_op *op, const fl_value *in, int n,
                                       fl_spec *outs) {
    fl_attention a;
    if (fl_same_device(op, in, n) < 0 || read_call(op, in, &a) < 0)
        return -1;
    for (int i = 0; i < 3; i++)
        fl_attention_layout(in[i + 1].t, in[i + 1].t->ndim, in[i + 1].t->shape, &outs[i]);
    return 0;
}

extern "C" int fl_run_attention_grad(const fl_op *op, const fl_value *in, int,
                                     fl_tensor *const *outs) {
    fl_attention a;
    if (read_call(op, in, &a) < 0)
        return -1;
    if (a.heads * a.queries * a.keys == 0) {
        for (int i = 0; i < 3; i++)
            zero(outs[i]);
        return 0;
    }
    int kind = fl_kind_of_dtype[in[1].t->dtype];
    const AttentionInputs inputs(a, {in[1].t, in[2].t, in[3].t, in[0].t}, a.queries % 2 == 0);
    ProductInput grad(in[0].t), result(in[7].t);
    In logsumexp(in[8].t, kind);
    AttentionMask mask(a, fl_t(in[4]), kind);
    AttentionOut dq(a, outs[0], kind), dk(a, outs[1], kind), dv(a, outs[2], kind);
    if (!inputs.ok() || !grad.ok() || !result.ok() || !logsumexp.ok() || !mask.ok() || !dq.ok() ||
        !dk.ok() || !dv.ok())
        return -1;
    Job job = {a, inputs.heads[0], inputs.heads[1], inputs.heads[2], heads_of(a, result),
               inputs.heads[3], heads_of(a, grad), dq.heads, dk.heads, dv.heads,
               fl_attention_tools(kind), mask, logsumexp.as<char>(),
               a.queries < QUERIES ? a.queries : QUERIES, fl_attention_pitch(a.keys, KEYS),
               inputs.tiles};
    if (run_job(job) < 0)
        return -1;
    dq.commit();
    dk.commit();
    dv.commit();
    return 0;
}
