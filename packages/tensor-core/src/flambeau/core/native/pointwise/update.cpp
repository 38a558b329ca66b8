/* One update rule over many tensors: one loop over the elements of all of them, so that small
 * parameters share the threads and nobody waits between them.
 *
 * Only plain rows go together: contiguous tensors of one real dtype, apart in memory. Every element
 * is computed as in a call of its own, so the bits do not depend on the company. Inside compiled
 * calls the loop is machine code, elsewhere the interpreter of formulas. */
#include "pointwise/update.h"
#include "deferral/apart.h"
#include "deferral/deferral.h"
#include "deferral/plan.h"
#include "dispatch/captures.h"
#include "dispatch/overlap.h"
#include "dispatch/pointwise.h"
#include "replay/replay.h"
#include "runtime/even.h"
#include "runtime/pool.h"
#include <algorithm>
#include <unordered_map>
#include <vector>

extern "C" int fl_run_pointwise(const fl_op *, const fl_value *, int, fl_tensor *const *);

namespace {

/* More than this in operands is not expected to lie in the processors' caches. */
const int64_t CACHE_BYTES = 16 << 20;

/* Machine code for a definition and a dtype, and the parameters that are its numbers. */
struct Code {
    fl_chunk_fn run = nullptr;
    std::vector<int> numbers;
    PyObject *kept = nullptr;
};

PyObject *maker = nullptr;
std::unordered_map<const fl_op *, Code> codes[2];     /* float32, float64 */

bool read_code(PyObject *made, Code &code) {
    PyObject *numbers;
    Py_ssize_t address;
    if (!PyArg_ParseTuple(made, "nO!O", &address, &PyTuple_Type, &numbers, &code.kept))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); i++)
        code.numbers.push_back((int)PyLong_AsLong(PyTuple_GET_ITEM(numbers, i)));
    code.run = (fl_chunk_fn)address;
    Py_INCREF(code.kept);
    return !PyErr_Occurred();
}

Code make_code(const fl_op *op, int dtype) {
    Code code;
    PyObject *made = PyObject_CallFunction(maker, "ss", op->name, fl_dtype_name(dtype));
    if (!made || (made != Py_None && !read_code(made, code))) {
        PyErr_WriteUnraisable(maker);
        code.run = nullptr;
    }
    Py_XDECREF(made);
    return code;
}

/* Made once; without any, or after a failure, which is shown, the interpreter goes on. */
const Code *find_code(const fl_op *op, int dtype) {
    auto &known = codes[dtype == FL_F64];
    auto found = known.find(op);
    if (found == known.end()) {
        Code code;
        fl_call_apart([&] { code = make_code(op, dtype); });
        found = known.emplace(op, code).first;      /* another thread may be first */
    }
    return found->second.run ? &found->second : nullptr;
}

struct Row {
    fl_tensor *const *tensors;
    int64_t start;              /* elements of the rows before */
};

/* Everything about a run. */
struct Job {
    const fl_pointwise *pw;
    std::vector<Row> rows;
    int64_t total, size;
    fl_pw_fn kernel;
    const void *bytecode;
    fl_scalar scalars[FL_PW_MAX_SCALARS];
    const Code *code;
    std::vector<int64_t> words;     /* of each row, see flambeau/jit/llvm/kernel.py */
    int64_t row_words;
};

bool is_writable(const fl_pointwise *pw, fl_tensor *const *row) {
    for (int k = 0; k < pw->n_out; k++)
        if (row[pw->writes[k]]->flags & (FL_READONLY | FL_INFERENCE))
            return false;
    return true;
}

bool is_like(const fl_tensor *t, const fl_tensor *first) {
    return t->dtype == first->dtype && t->ndim == first->ndim &&
           !memcmp(t->shape, first->shape, sizeof(int64_t) * (size_t)t->ndim) &&
           !(t->flags >> FL_LEVEL_SHIFT);
}

bool is_plain(const fl_pointwise *pw, fl_tensor *const *row) {
    for (int k = 0; k < pw->n_in; k++)
        if (!is_like(row[k], row[0]) || row[k]->device_type != FL_CPU ||
            !(row[k]->flags & FL_CONTIGUOUS))
            return false;
    return is_writable(pw, row);
}

bool is_watched() {
    return fl_thread.level < fl_thread.watchers || fl_any_capture_scope() || fl_recording;
}

bool is_plain_rule(const fl_op *op, const fl_pointwise *pw) {
    if (op->category != FL_POINTWISE || op->run_cpu != fl_run_pointwise || !pw->run_code ||
        op->dtype_rule != FL_D_PROMOTE || op->flags & FL_O_RANDOM)
        return false;
    for (int k = 0; k < pw->n_in; k++)
        if (pw->is_mask[k])
            return false;
    for (int k = 0; k < pw->n_out; k++)
        if (pw->writes[k] == 255)
            return false;
    return true;
}

struct Range {
    const char *low, *high;
    bool written;
};

/* Whether no row touches memory that another operand writes. */
bool is_apart(const fl_pointwise *pw, fl_tensor *const *rows, int64_t count) {
    std::vector<Range> ranges;
    for (int64_t n = 0; n < count * pw->n_in; n++) {
        const fl_tensor *t = rows[n];
        bool written = false;
        for (int i = 0; i < pw->n_out; i++)
            written |= pw->writes[i] == n % pw->n_in;
        if (t->numel)
            ranges.push_back({t->data, t->data + t->numel * fl_itemsize(t->dtype), written});
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const Range &a, const Range &b) { return a.low < b.low; });
    const char *used = nullptr, *written = nullptr;     /* ends of what came so far */
    for (const Range &r : ranges) {
        if (r.low < (r.written ? used : written))
            return false;
        used = std::max(used, r.high);
        if (r.written)
            written = std::max(written, r.high);
    }
    return true;
}

/* Rows without elements are only counted as written. */
bool gather_rows(Job &job, fl_tensor *const *rows, int64_t count) {
    job.total = 0;
    for (int64_t i = 0; i < count; i++) {
        fl_tensor *const *row = rows + i * job.pw->n_in;
        if (!is_plain(job.pw, row) || row[0]->dtype != rows[0]->dtype)
            return false;
        if (row[0]->numel)
            job.rows.push_back({row, job.total});
        job.total += row[0]->numel;
    }
    return is_apart(job.pw, rows, count);
}

void fill_words(Job &job, const fl_value *values) {
    const fl_pointwise *pw = job.pw;
    for (size_t i = 0; i < job.rows.size(); i++) {
        fl_tensor *const *t = job.rows[i].tensors;
        for (int k = 0; k < pw->n_in; k++)
            job.words.push_back((int64_t)(uintptr_t)t[k]->data);
        for (int k = 0; k < pw->n_out; k++)
            job.words.push_back((int64_t)(uintptr_t)t[pw->writes[k]]->data);
        for (int number : job.code->numbers)
            fl_load_scalar(values[number], false, job.words);
        job.words.insert(job.words.end(), (size_t)(pw->n_in + pw->n_out), job.size);
        job.words.push_back(t[0]->numel);       /* the innermost dimension, */
        job.words.push_back(0);                 /* and no others */
    }
    job.row_words = (int64_t)(job.words.size() / job.rows.size());
}

/* Elements [begin, end) of a row. */
void run_part(const Job &job, size_t i, int64_t begin, int64_t end) {
    if (job.code)
        return job.code->run((void *)&job.words[i * (size_t)job.row_words], begin, end);
    const fl_pointwise *pw = job.pw;
    fl_tensor *const *t = job.rows[i].tensors;
    const void *in[FL_PW_MAX_IN];
    void *out[FL_PW_MAX_OUT];
    for (int k = 0; k < pw->n_in; k++)
        in[k] = t[k]->data + begin * job.size;
    for (int k = 0; k < pw->n_out; k++)
        out[k] = t[pw->writes[k]]->data + begin * job.size;
    job.kernel(job.bytecode, in, out, job.scalars, end - begin);
}

void run_chunk(const Job &job, int64_t begin, int64_t end) {
    auto after = std::upper_bound(job.rows.begin(), job.rows.end(), begin,
                                  [](int64_t at, const Row &row) { return at < row.start; });
    for (size_t i = (size_t)(after - job.rows.begin()) - 1; begin < end; i++) {
        int64_t start = job.rows[i].start, last = start + job.rows[i].tensors[0]->numel;
        int64_t stop = std::min(end, last);
        run_part(job, i, begin - start, stop - start);
        begin = stop;
    }
}

void run_job(const Job &job) {
    auto body = [&](int64_t begin, int64_t end) { run_chunk(job, begin, end); };
    if (job.total < FL_GRAIN)
        return body(0, job.total);
    Py_BEGIN_ALLOW_THREADS
    fl_parallel(job.total, fl_even_grain(job.total, FL_GRAIN, FL_CHUNK_UNIT), body);
    Py_END_ALLOW_THREADS
}

/* What waits and concerns a row runs first. */
int settle_row(const fl_op *op, fl_value *values, fl_tensor *const *row) {
    const fl_pointwise *pw = (const fl_pointwise *)op->kernels;
    fl_tensor *outs[FL_PW_MAX_OUT];
    for (int k = 0; k < pw->n_in; k++) {
        values[pw->operand[k]].tag = FL_TENSOR;
        values[pw->operand[k]].t = row[k];
    }
    for (int k = 0; k < pw->n_out; k++)
        outs[k] = row[pw->writes[k]];
    return fl_settle_call(op, values, op->nparams, outs);
}

int settle_rows(const fl_op *op, fl_value *values, fl_tensor *const *rows, int64_t count) {
    const int n_in = ((const fl_pointwise *)op->kernels)->n_in;
    for (int64_t i = 0; i < count && fl_any_waiting(); i++)
        if (settle_row(op, values, rows + i * n_in) < 0)
            return -1;
    return 0;
}

/* ---- rows on a device ------------------------------------------------------------------------ */
bool lies_like(const fl_tensor *t, const fl_tensor *first) {
    if (t->flags & first->flags & FL_CONTIGUOUS)
        return true;
    return !memcmp(t->strides, first->strides, sizeof(int64_t) * (size_t)t->ndim);
}

bool is_plain_on_device(const fl_pointwise *pw, fl_tensor *const *row, const fl_tensor *where) {
    if (!fl_is_dense(row[0]))
        return false;
    for (int k = 0; k < pw->n_in; k++)
        if (!is_like(row[k], row[0]) || !lies_like(row[k], row[0]) ||
            row[k]->device_type != where->device_type ||
            row[k]->device_index != where->device_index)
            return false;
    return is_writable(pw, row);
}

void choose_kernel(Job &job, const fl_value *values, int kind) {
    job.bytecode = job.pw->code[kind];
    bool streams = job.total * job.size * job.pw->n_in > CACHE_BYTES;
    job.kernel = streams ? fl_bytecode_interpreter(true) : job.pw->run_code;
    fl_pw_load_scalars(job.pw, values, kind, job.scalars);
    if (job.code)
        fill_words(job, values);
}

}  // namespace

int fl_update_together(const fl_op *op, fl_value *values, fl_tensor *const *rows, int64_t count) {
    const fl_pointwise *pw = (const fl_pointwise *)op->kernels;
    if (count == 0 || is_watched() || !is_plain_rule(op, pw))
        return 0;
    int dtype = rows[0]->dtype, kind = fl_kind_of_dtype[dtype];
    if ((dtype != FL_F32 && dtype != FL_F64) || !(pw->kinds >> kind & 1))
        return 0;
    if (settle_rows(op, values, rows, count) < 0)
        return -1;
    Job job = {};
    job.pw = pw;
    job.size = fl_itemsize(dtype);
    job.code = fl_thread.queue && maker ? find_code(op, dtype) : nullptr;
    if (!gather_rows(job, rows, count))
        return 0;
    if (job.total) {
        choose_kernel(job, values, kind);
        run_job(job);
    }
    fl_update_written(op, rows, count);
    return 1;
}

int fl_update_by_device(const fl_op *op, fl_value *values, fl_tensor *const *rows, int64_t count) {
    const fl_pointwise *pw = (const fl_pointwise *)op->kernels;
    if (count == 0 || rows[0]->device_type == FL_CPU || is_watched() || !is_plain_rule(op, pw))
        return 0;
    for (int64_t i = 0; i < count; i++)
        if (!is_plain_on_device(pw, rows + i * pw->n_in, rows[0]))
            return 0;
    if (!is_apart(pw, rows, count))
        return 0;
    return settle_rows(op, values, rows, count) < 0 ? -1 : 1;
}

void fl_update_written(const fl_op *op, fl_tensor *const *rows, int64_t count) {
    const fl_pointwise *pw = (const fl_pointwise *)op->kernels;
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < pw->n_out; k++)
            fl_count_write(op, rows[i * pw->n_in + pw->writes[k]]);
}

void fl_update_configure(PyObject *function) {
    Py_XINCREF(function);
    Py_XSETREF(maker, function);
}
