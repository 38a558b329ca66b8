/* The steps that run in place of calls that waited. */
#pragma once
#include "deferral/queue.h"

/* An operand whose elements do not lie in the order of the code's loop: a thread moves them there,
 * and results back, some at a time. */
struct fl_moved {
    size_t operand;
    size_t room;                /* the operand whose place they take: its own, or one overwritten */
    bool is_result;
    int64_t size;               /* bytes of an element */
    std::vector<std::pair<int64_t, int64_t>> dims;  /* inner ones first: size, stride in elements */
    bool has_shared_row() const { return dims.size() == 2 && dims[1].second == 0; }
    void move(char *memory, char *room, int64_t at, int64_t n) const;
};

/* Machine code over the operands of several calls. */
struct fl_code {
    fl_chunk_fn run = nullptr;
    int64_t total = 0;                          /* elements; of one row where it runs in rows */
    std::vector<int64_t> operands;              /* values whose addresses come first */
    std::vector<std::pair<int64_t, int>> scalars;   /* values, and whether they are integers */
    std::vector<int64_t> grid;                  /* of a backend's kernel: the geometry of rows */
    std::vector<fl_moved> moved;
    std::vector<int64_t> offsets;               /* bytes from the values to operands; none: all 0 */
    int64_t offset(size_t operand) const { return offsets.empty() ? 0 : offsets[operand]; }
    void words(const fl_queue *q, std::vector<int64_t> &to) const;
    /* Elements `begin` to `end`, or all of them in the thread pool; false when there is no memory.
     * NOGIL. */
    bool run_some(std::vector<int64_t> &words, int64_t begin, int64_t end) const;
    bool run_all(std::vector<int64_t> &words) const;
};

/* Where a value's rows lie: in its own memory, or in that of the thread that runs them. */
struct fl_row_memory {
    int64_t scratch = -1;       /* bytes from the start of the thread's memory, or -1 */
    int64_t row_bytes = 0;      /* from row to row; 0: all rows share it */
};

/* A tensor argument or result of a kernel, some rows of it. */
struct fl_part {
    fl_row_memory memory;
    bool is_tensor = false, has_rows = false;
    std::vector<int64_t> shape, strides;        /* of one row */
};

/* Code or a kernel that runs a few rows at a time, or a reduction of all elements, which are the
 * rows, or of all rows: in pieces, whose results are reduced at the end. */
struct fl_row_item {
    bool is_total = false;                      /* it reads memories[0] */
    int64_t width = 0;                          /* elements of a row where rows are reduced, or 0 */
    fl_code code;                               /* without one: the call */
    std::vector<fl_row_memory> memories;        /* of the code's operands */
    /* Operands that lie element after element, and the bytes of one: results that are made in
     * pieces and streamed to memory, and what is read from memory meanwhile. */
    std::vector<std::pair<int64_t, int64_t>> streamed, fetched;
    size_t call = 0;
    std::vector<fl_part> parts;                 /* of the call's values */
    /* Arguments, counted from the end. */
    std::vector<std::pair<int64_t, std::vector<int64_t>>> dims;
};

/* A call as it stands, code, a call with code over its result, a backend's kernel, or items that
 * run in turn over block after block of rows. */
struct fl_step {
    size_t call = 0;
    fl_code code;
    int64_t made = -1;                          /* of a call with code: in whose place it is made */
    const fl_op *kernel = nullptr;              /* of a backend, over the code's operands */
    size_t kernel_at = 0;                       /* its first result among them */
    int64_t rows = 0, block = 0;                /* rows of a block */
    int64_t chunk = 0;                          /* blocks that a thread takes at once */
    int64_t scratch = 0;                        /* bytes of a thread's memory */
    std::vector<fl_row_item> items;
};

/* Append a number as machine code takes it: two words, as an integer or as a real and an imaginary
 * part. */
void fl_load_scalar(const fl_value &v, bool is_integer, std::vector<int64_t> &words);
/* [(key, arguments, results)]: tensors as (slot, dtype, shape, strides, bytes from the start, bytes
 * of an element, device), all else as it is. */
PyObject *fl_describe_calls(const fl_queue *q);
/* Read what the planner made: 0, or -1 with or without an exception. */
int fl_read_longs(PyObject *sequence, std::vector<int64_t> &to);
int fl_read_code(PyObject *o, fl_code &code);
int fl_read_moved(PyObject *o, fl_code &code);
int fl_read_rows(PyObject *o, fl_step &step);
/* Run a step of rows in the thread pool; 0, or -1 when there is no memory. NOGIL. */
int fl_run_rows(const fl_queue *q, const fl_step &step);
void fl_forget_plans(void);
