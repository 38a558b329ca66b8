/* A recording made ready to run again: steps over memory whose address is known or patched. */
#pragma once
#include "deferral/plan.h"
#include "replay/recorder.h"
#include "replay/weights.h"
#include "runtime/pool.h"
#include <memory>

enum fl_home { FL_H_STATIC, FL_H_OUTSIDE, FL_H_SOURCE, FL_H_FRESH, FL_H_UNUSED };

/* Where the memory of a recording lies when the program runs. */
struct fl_room {
    fl_home home;
    int64_t where;                  /* STATIC: in the arena; SOURCE, FRESH: its number */
    int64_t before;                 /* SOURCE: bytes of the memory before the tensor's first */
};

enum fl_step_kind { FL_STEP_RUN, FL_STEP_LOOP, FL_STEP_ROWS, FL_STEP_FIRST, FL_STEP_MAKE, FL_STEP_DROP,
                    FL_STEP_GRAD, FL_STEP_CALL, FL_STEP_GIVE };

struct fl_program_step {
    fl_step_kind kind;
    size_t index = 0;               /* RUN: the kernel; FIRST, MAKE, DROP: the memory */
    int64_t work = 0;
    std::vector<fl_tensor *> outs;
    std::shared_ptr<fl_packed_weight> weight;   /* RUN: that it may read packed, or NULL */
    fl_code code;                   /* LOOP: what runs, how much, and which operands are moved */
    std::vector<int64_t> words;     /* LOOP: addresses, numbers, geometry */
    fl_step rows;                   /* ROWS: what runs over the calls of a queue of its own */
    std::shared_ptr<fl_queue> calls;
    PyObject *object = nullptr;     /* GRAD: the leaf; CALL, GIVE: the function */
    PyObject *args = nullptr;
    int64_t result = -1;            /* GIVE: what the function is given; GRAD: -1 for None */
};

/* An address that is known when the program runs. */
struct fl_patch {
    char **where;
    uint32_t memory;
    int64_t start;
};

/* A tensor that leaves the call. */
struct fl_result {
    fl_extent extent;
    uint32_t flags, version, output_nr;
    int64_t base;                   /* of the results; -1: none */
    PyObject *base_object;          /* a tensor that was there before, or NULL */
    int64_t base_source;
    std::vector<PyObject *> nodes;  /* histories that were used up, one for each that is alive */
};

enum fl_shape_kind { FL_GIVES_RESULT, FL_GIVES_NUMBER, FL_GIVES_SOURCE, FL_GIVES_OBJECT,
                     FL_GIVES_TUPLE, FL_GIVES_LIST, FL_GIVES_DICT };
struct fl_returned {
    fl_shape_kind kind;
    int64_t index = 0;
    PyObject *object = nullptr;     /* OBJECT; DICT: its keys; NUMBER: a function, or NULL: item() */
    std::vector<fl_returned> parts;
};

struct fl_program {
    fl_recorder *recorder = nullptr;
    std::vector<fl_room> rooms;
    std::vector<fl_program_step> steps;
    std::vector<fl_tensor *> tensors;       /* of the extents, NULL where no kernel takes it */
    std::vector<fl_patch> patches;          /* of arguments */
    std::vector<std::vector<fl_patch>> later;   /* of each memory that is made anew */
    std::vector<fl_result> results;
    std::vector<uint32_t> source_writes;
    fl_returned returned;
    fl_storage *arena = nullptr;
    PyObject *graph = nullptr;              /* makes the results' histories */
    bool is_running = false;
    size_t first_effect = 0;                /* steps before it change nothing that anybody sees */
    int64_t failed_run = -1;                /* the kernel that raised last */

    ~fl_program();
    int prepare(PyObject *rooms, int64_t arena_bytes, PyObject *steps, PyObject *results,
                PyObject *returned);
    /* A new reference; NULL with an exception, or without one where the call must run as ever. */
    PyObject *play(fl_tensor *const *sources, size_t n);
    void take_graph(PyObject *o) { graph = Py_NewRef(o); }
    void add_node(size_t result, PyObject *node) {
        results[result].nodes.push_back(Py_NewRef(node));
    }

  private:
    int add_step(PyObject *step);
    int add_run(size_t index);
    int add_loop(PyObject *step);
    int add_rows(PyObject *step);
    int add_call(fl_queue &calls, const fl_kernel_run &run);
    int add_result(PyObject *o);
    int add_returned(PyObject *o, fl_returned &to);
    fl_tensor *tensor_of(int64_t extent);
    int settle(const struct fl_running &now) const;
    int run_steps(struct fl_running &now);
    int fail(size_t step, const struct fl_running &now);
    int run_step(fl_program_step &step, struct fl_running &now);
    void count_writes(const struct fl_running &now);
    void count_writes_before(const fl_program_step &failed, const struct fl_running &now);
    fl_tensor *result(size_t i, struct fl_running &now);
    int make_graph(struct fl_running &now);
    PyObject *pick_node(const fl_result &r) const;
    char *address_of(uint32_t memory, int64_t start) const;
    void point_to(char **where, uint32_t memory, int64_t start);
    PyObject *build(const fl_returned &r, struct fl_running &now);
};

/* Set by the autograd package: makes the graph of a call over its results and arguments. */
extern int (*fl_remake_graph)(PyObject *graph, fl_tensor **results, fl_tensor **sources);
