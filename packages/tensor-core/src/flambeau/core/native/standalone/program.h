/* A loaded program: its graph, its weights, and what a run does step by step. */
#pragma once
#include "standalone/graph.h"
#include "standalone/objects.h"
#include "conv/direct.h"
#include "dispatch/pointwise.h"
#include "runtime/blas.h"
#include "random/generator.h"
#include <array>
#include <mutex>

/* A name and type that the C interface shows. */
struct Shown {
    std::string name;
    int value;
    std::vector<std::string> symbols;       /* by dimension; "" where the size is fixed */
};

/* How an argument is made at each run. */
struct Filling {
    enum Kind : uint8_t { TENSOR, TENSORS, NUMBER, NUMBERS };
    Kind kind;
    uint8_t param;
    bool is_real;                           /* numbers: as double */
    std::vector<int> values;                /* of tensors; -1 for None */
    std::vector<Dim> dims;                  /* of numbers */
};

/* What a tail's operator takes: what the step makes, a value of that shape or of one element, a
 * number, an earlier result. */
struct TailOperand {
    enum Kind : uint8_t { PRODUCT, OTHER, ONE_ELEMENT, NUMBER, CALL };
    Kind kind;
    int index;
};

/* Elements of a tail's operands that are computed at once: all of them lie in the first cache. */
const int64_t TAIL_ELEMENTS = 512;
using TailNumber = std::array<float, TAIL_ELEMENTS>;

struct TailCall {
    fl_pw_fn kernel;
    const void *code;
    std::vector<fl_scalar> scalars;
    std::vector<TailOperand> operands;
};

/* Pointwise operators that run over a small part of their result after another: those of the next
 * step, which a step's kernel does to its result as it makes it, or of a region. */
struct Tail {
    std::vector<TailCall> calls;
    std::vector<int> others, ones;          /* values: of the result's shape, of one element */
    std::vector<TailNumber> numbers;        /* repeated, as kernels take them */
    int result = 0;
};

struct Step {
    const Node *node = nullptr;
    std::vector<fl_value> in;               /* with everything that is the same in each run */
    std::vector<Filling> fillings;
    std::vector<std::vector<int64_t>> words;    /* lists that `in` points to */
    std::vector<std::string> texts;
    std::vector<int> inputs;                /* of regions */
    std::vector<int> released;              /* values that nothing needs afterwards */
    std::vector<struct Plan> regions;
    std::shared_ptr<const Tail> tail;           /* the next step */
    std::shared_ptr<const Tail> own;            /* this one, a region */
    fl_conv_packed packed_windows = {};     /* of the weight, where it was packed when loaded */
    fl_packed_matrix packed_matrix = {};
};

/* A graph's steps. */
struct Plan {
    const Graph *graph = nullptr;
    std::vector<Step> steps;
};

struct flambeau_program {
    Bytes bytes;
    Graph graph;
    Plan plan;
    std::vector<Shown> takes, gives;        /* gradients are the last ones */
    std::map<std::string, Ref> memories;    /* tensors of weights.safetensors, without shape */
    std::vector<Ref> captures;
    std::map<std::pair<int, int64_t>, Ref> packed;  /* weights: value and kind */
    std::vector<char> changes;              /* of inputs and captures: whether a run writes there */
};

struct flambeau_session {
    const flambeau_program *program = nullptr;
    std::mutex mutex;
    std::vector<Ref> captures;              /* those that change are of the session alone */
    std::vector<Ref> given;                 /* outputs that the last call was given pointers to */
    fl_generator generator = {};
};

/* Memory of the caller's that a value may be computed in: nothing else of a run lies there. */
struct Room {
    void *data;
    size_t bytes;
};
using Rooms = std::map<int, Room>;          /* by value */

/* These throw Failure. */
void open_program(flambeau_program &program);       /* once its bytes are there */
Plan make_plan(const Graph &graph);
/* Weights as the kernels take them, once; their pages in the file are let go. */
void pack_weights(flambeau_program &program);
/* The values that a node takes or writes to. */
std::vector<int> values_of(const Node &node);
std::vector<char> find_changes(const Graph &graph);
void open_session(flambeau_session &session);
/* Values of all outputs; `inputs` are tensors over the caller's buffers. Fills in the sizes that
 * results alone have, which are negative. */
std::vector<Ref> run_session(flambeau_session &session, const std::vector<Ref> &inputs,
                             std::vector<int64_t> &sizes, const Rooms &rooms);

/* The last operator's error, with what was done: throws. */
[[noreturn]] void operator_failed(const Node *node);
/* A tensor that was made, or throws. */
Ref made(fl_tensor *t);
/* In memory of its own. */
Ref clone(const Ref &t);
void copy_into(const Ref &target, const Ref &source);
