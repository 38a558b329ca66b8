/* The graph of a saved program, as data: what flambeau.jit.ir holds in Python. */
#pragma once
#include "dispatch/objects.h"
#include "standalone/archive.h"
#include <memory>

/* A multiple of a symbol, or of the product of some. */
struct Term {
    std::vector<int> symbols;
    int64_t factor;
    bool operator==(const Term &other) const {
        return symbols == other.symbols && factor == other.factor;
    }
};

/* A size or number: a sum of terms, which is empty where it is fixed. */
struct Dim {
    enum Form : uint8_t { INT, FLOAT, RECIPROCAL };
    std::vector<Term> terms;
    int64_t offset = 0;
    Form form = INT;
    bool is_fixed() const { return terms.empty() && form == INT; }
    /* Whether it is one symbol and nothing else. */
    bool is_symbol() const {
        return terms.size() == 1 && terms[0].symbols.size() == 1 && terms[0].factor == 1 && !offset;
    }
    int64_t evaluate(const int64_t *sizes) const;   /* throws where it does not fit 64 bits */
    double real(const int64_t *sizes) const;        /* of the other forms */
};

struct Type {
    std::vector<Dim> shape;
    int dtype = FL_NO_DTYPE;
};

/* What a node holds for a parameter. */
struct Arg {
    enum Kind : uint8_t { NONE, BOOL, INT, FLOAT, COMPLEX, TEXT, DIM, DTYPE, DEVICE, VALUE, LIST };
    Kind kind = NONE;
    int64_t integer = 0;            /* of BOOL, INT, DTYPE; the number of a VALUE */
    double real = 0, imaginary = 0;
    std::string text;
    Dim dim;
    std::vector<Arg> items;
};

struct Graph;

/* A symbol that no input has: a result's size in a dimension. */
struct Found {
    int value, dim, symbol;
};

struct Node {
    enum Kind : uint8_t { OPERATOR, FUSED, BRANCH, LOOP, NMS, NUMBER, ROI_ALIGN, GET_STATE,
                          SET_STATE, SET_SEED };
    Kind kind = OPERATOR;
    const fl_op *op = nullptr;
    std::shared_ptr<const fl_op> custom;    /* the same, where it is not of this runtime */
    std::vector<Arg> args;
    int first = 0, count = 0;       /* the values it assigns */
    std::vector<int> into;
    std::vector<Graph> regions;     /* of FUSED one, of BRANCH and LOOP two */
    std::vector<Found> finds;       /* the first results that have these sizes */
    int carried = 0;                /* of LOOP: how many arguments change from step to step */
    std::string where;
};

struct Capture {
    Type type;
    std::string name, memory;       /* memory: the entry of weights.safetensors it lies in */
    bool is_constant = false, is_placed = false;
    int64_t offset = 0;             /* where it is placed there, in elements */
    std::vector<int64_t> strides;
};

struct Symbol {
    std::string name;
    int64_t least, most;            /* sizes it may stand for */
    std::string below, above;       /* what decides there */
    bool is_found = false;          /* in a result, and in no input */
};

/* Values are numbered in the order inputs, captures, results of nodes. */
struct Graph {
    std::vector<Type> types;        /* of all values */
    int inputs = 0;
    std::vector<Capture> captures;
    std::vector<Symbol> symbols;
    std::vector<Node> nodes;
    std::vector<int> outputs;
    std::vector<std::pair<int, int>> writes, grads;     /* target, value; leaf, value */
    bool is_pure = true;
};

/* These throw Failure. `symbols`: of the graph around a fused region, or NULL. */
Graph read_graph(const Json &data, const std::vector<Symbol> *symbols = nullptr);
