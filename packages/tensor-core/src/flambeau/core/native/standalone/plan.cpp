/* From a graph to steps: arguments as operators take them, checked once. */
#include "standalone/tail.h"
#include <algorithm>
#include <functional>

namespace {

[[noreturn]] void unfit(const Node &node, int param) {
    bad_program("in " + node.where + ": an argument does not fit the parameter '" +
                node.op->params[param].name + "' of " + node.op->name + "()");
}

class Planner {
  public:
    Planner(const Node &node, Step &step) : node_(node), step_(step) {}

    void fill() {
        const fl_op *op = node_.op;
        step_.in.resize(op->nparams);
        step_.words.reserve(op->nparams);
        step_.texts.reserve(op->nparams);
        for (int i = 0; i < op->nparams; i++) {
            fl_value &v = step_.in[(size_t)i];
            memset((void *)&v, 0, sizeof v);
            const Arg &arg = node_.args[(size_t)i];
            if (arg.kind == Arg::NONE)
                nothing(i, v);
            else if (!argument(i, arg, v))
                unfit(node_, i);
        }
    }

  private:
    const Node &node_;
    Step &step_;

    void nothing(int i, fl_value &v) {
        const fl_param &param = node_.op->params[i];
        if (param.flags & FL_P_OPTIONAL)
            return;
        if (!(param.flags & FL_P_DEFAULT))
            unfit(node_, i);
        v = param.fallback;
    }

    Filling &filling(int param, Filling::Kind kind) {
        step_.fillings.push_back({kind, (uint8_t)param, false, {}, {}});
        return step_.fillings.back();
    }

    bool tensor(int i, const Arg &arg, fl_value &v) {
        if (arg.kind != Arg::VALUE)
            return false;
        v.tag = FL_TENSOR;
        filling(i, Filling::TENSOR).values.push_back((int)arg.integer);
        return true;
    }

    bool tensors(int i, const Arg &arg, fl_value &v) {
        if (arg.kind != Arg::LIST)
            return false;
        std::vector<int> values;
        for (const Arg &item : arg.items) {
            if (item.kind != Arg::VALUE && item.kind != Arg::NONE)
                return false;
            values.push_back(item.kind == Arg::NONE ? -1 : (int)item.integer);
        }
        v.tag = FL_TENSORS;
        v.len = (uint32_t)values.size();
        filling(i, Filling::TENSORS).values = std::move(values);
        return true;
    }

    static Dim whole(const Arg &arg) {
        Dim made = arg.dim;
        if (arg.kind == Arg::INT)
            made.offset = arg.integer;
        return made;
    }

    bool number(int i, const Arg &arg, fl_value &v) {
        switch (arg.kind) {
        case Arg::BOOL:
        case Arg::INT:
            v.tag = arg.kind == Arg::BOOL ? FL_BOOLEAN : FL_INT;
            v.i = arg.integer;
            return true;
        case Arg::FLOAT:
            v.tag = FL_FLOAT;
            v.d = arg.real;
            return true;
        case Arg::COMPLEX:
            v.tag = FL_COMPLEX;
            v.c[0] = arg.real;
            v.c[1] = arg.imaginary;
            return true;
        case Arg::DIM: return counted(i, arg, v, arg.dim.form != Dim::INT);
        default: return false;
        }
    }

    bool counted(int i, const Arg &arg, fl_value &v, bool is_real) {
        v.tag = is_real ? FL_FLOAT : FL_INT;
        Filling &made = filling(i, Filling::NUMBER);
        made.is_real = is_real;
        made.dims.push_back(arg.dim);
        return true;
    }

    bool real(int i, const Arg &arg, fl_value &v) {
        if (arg.kind == Arg::DIM)
            return counted(i, arg, v, true);
        v.tag = FL_FLOAT;
        v.d = arg.kind == Arg::FLOAT ? arg.real : (double)arg.integer;
        return arg.kind == Arg::FLOAT || arg.kind == Arg::INT;
    }

    static bool is_whole(const Arg &arg) {
        return arg.kind == Arg::INT || (arg.kind == Arg::DIM && arg.dim.form == Dim::INT);
    }

    bool integer(int i, const Arg &arg, fl_value &v) {
        return is_whole(arg) && number(i, arg, v);
    }

    /* Ints, floats or bools: fixed ones lie in the step, others are filled in. */
    bool list(int i, const Arg &arg, fl_value &v, uint32_t tag) {
        std::vector<Arg> one;
        if (arg.kind != Arg::LIST)
            one.push_back(arg);
        const std::vector<Arg> &items = arg.kind == Arg::LIST ? arg.items : one;
        std::vector<int64_t> words;
        std::vector<Dim> dims;
        bool is_fixed = true;
        for (const Arg &item : items) {
            const bool fits = tag == FL_BOOLS   ? item.kind == Arg::BOOL
                              : tag == FL_INTS ? is_whole(item)
                                               : item.kind == Arg::FLOAT || item.kind == Arg::INT ||
                                                     item.kind == Arg::DIM;
            if (!fits)
                return false;
            double real = item.kind == Arg::FLOAT ? item.real : (double)item.integer;
            int64_t word = item.integer;
            if (tag == FL_FLOATS)
                memcpy(&word, &real, sizeof word);
            words.push_back(word);
            dims.push_back(whole(item));
            is_fixed &= item.kind != Arg::DIM;
            if (!is_fixed && item.kind == Arg::FLOAT)
                return false;           /* sizes among numbers that are none */
        }
        v.tag = tag;
        v.len = (uint32_t)words.size();
        if (!is_fixed) {
            Filling &made = filling(i, Filling::NUMBERS);
            made.is_real = tag == FL_FLOATS;
            made.dims = std::move(dims);
        }
        step_.words.push_back(std::move(words));
        v.is = step_.words.back().data();
        return true;
    }

    bool text(const Arg &arg, fl_value &v) {
        if (arg.kind != Arg::TEXT)
            return false;
        step_.texts.push_back(arg.text);
        v.tag = FL_STRING;
        v.s = step_.texts.back().c_str();
        v.len = (uint32_t)arg.text.size();
        return strlen(v.s) == v.len;
    }

    bool argument(int i, const Arg &arg, fl_value &v) {
        switch (node_.op->params[i].role) {
        case FL_R_TENSOR: return tensor(i, arg, v);
        case FL_R_OPERAND: return tensor(i, arg, v) || number(i, arg, v);
        case FL_R_TENSORS: return tensors(i, arg, v);
        case FL_R_SCALAR: return number(i, arg, v);
        case FL_R_INT:
        case FL_R_DIM: return integer(i, arg, v);
        case FL_R_FLOAT: return real(i, arg, v);
        case FL_R_BOOL: return arg.kind == Arg::BOOL && number(i, arg, v);
        case FL_R_DIMS:
        case FL_R_SHAPE:
        case FL_R_INTS: return list(i, arg, v, FL_INTS);
        case FL_R_FLOATS: return list(i, arg, v, FL_FLOATS);
        case FL_R_BOOLS: return list(i, arg, v, FL_BOOLS);
        case FL_R_STRING: return text(arg, v);
        case FL_R_DTYPE:
            v.tag = FL_DTYPE;
            v.i = arg.integer;
            return arg.kind == Arg::DTYPE;
        case FL_R_DEVICE:
            v.tag = FL_DEVICE;
            v.i = FL_CPU << 8;
            return arg.kind == Arg::DEVICE;
        default: return false;          /* generators and objects belong to a process */
        }
    }
};

void values_in(const Arg &arg, std::vector<int> &found) {
    if (arg.kind == Arg::VALUE)
        found.push_back((int)arg.integer);
    for (const Arg &item : arg.items)
        values_in(item, found);
}

/* For each step the values that nothing after it needs. */
void find_releases(const Graph &graph, Plan &plan) {
    std::vector<char> needed(graph.types.size(), 0);
    const size_t outside = (size_t)graph.inputs + graph.captures.size();
    std::fill(needed.begin(), needed.begin() + (ptrdiff_t)outside, 1);
    for (int value : graph.outputs)
        needed[(size_t)value] = 1;
    for (const auto &pair : graph.writes)
        needed[(size_t)pair.second] = 1;
    for (const auto &pair : graph.grads)
        needed[(size_t)pair.second] = 1;
    for (size_t i = graph.nodes.size(); i-- > 0;) {
        std::vector<int> used = values_of(graph.nodes[i]);
        for (int k = 0; k < graph.nodes[i].count; k++)
            used.push_back(graph.nodes[i].first + k);
        for (int value : used)
            if (!needed[(size_t)value]) {
                needed[(size_t)value] = 1;
                plan.steps[i].released.push_back(value);
            }
    }
}

Step make_step(const Node &node) {
    Step step;
    step.node = &node;
    if (node.kind == Node::OPERATOR) {
        Planner(node, step).fill();
        return step;
    }
    for (const Arg &arg : node.args)
        values_in(arg, step.inputs);
    for (const Graph &region : node.regions)
        step.regions.push_back(make_plan(region));
    if (node.kind == Node::FUSED) {
        const Graph &body = node.regions[0];
        if ((int)step.inputs.size() != body.inputs || !body.captures.empty() ||
            !body.writes.empty() || !body.grads.empty() || !body.is_pure)
            bad_program("in " + node.where + ": a fused region is not one of its inputs alone");
    } else if (!node.regions.empty()) {
        for (const Graph &region : node.regions)
            for (char is_written : find_changes(region))
                if (is_written)
                    bad_program("in " + node.where + ": a branch or loop writes to what it takes");
    } else if (node.kind == Node::NMS || node.kind == Node::NUMBER ||
               node.kind == Node::ROI_ALIGN) {
        return step;
    } else if (node.args[0].kind != Arg::NONE) {
        throw Failure(FLAMBEAU_UNSUPPORTED, "the program draws from a generator of its own");
    } else if ((node.kind == Node::SET_STATE && step.inputs.size() != 1) ||
               (node.kind == Node::SET_SEED && node.args[1].kind != Arg::INT)) {
        bad_program("in " + node.where + ": no state of a random generator");
    }
    return step;
}

}  // namespace

std::vector<int> values_of(const Node &node) {
    std::vector<int> found;
    for (const Arg &arg : node.args)
        values_in(arg, found);
    found.insert(found.end(), node.into.begin(), node.into.end());
    return found;
}

Plan make_plan(const Graph &graph) {
    Plan plan;
    plan.graph = &graph;
    for (const Node &node : graph.nodes)
        plan.steps.push_back(make_step(node));
    find_releases(graph, plan);
    find_tails(graph, plan);
    return plan;
}

/* A view lies in the memory of its first argument, and so does what was written to a tensor. What
 * a branch or loop gives may be any of its arguments. */
std::vector<char> find_changes(const Graph &graph) {
    std::vector<int> root(graph.types.size());
    for (size_t i = 0; i < root.size(); i++)
        root[i] = (int)i;
    std::vector<char> changes(graph.types.size(), 0);
    std::vector<const Node *> flows(graph.types.size());
    std::function<void(int)> written = [&](int value) {
        const size_t memory = (size_t)root[(size_t)value];
        if (changes[memory])
            return;
        changes[memory] = 1;
        if (flows[memory])
            for (int other : values_of(*flows[memory]))
                written(other);
    };
    for (const Node &node : graph.nodes) {
        for (size_t k = 0; k < node.into.size(); k++) {
            written(node.into[k]);
            root[(size_t)node.first + k] = root[(size_t)node.into[k]];
        }
        if (node.kind == Node::BRANCH || node.kind == Node::LOOP)
            for (int k = 0; k < node.count; k++)
                flows[(size_t)(node.first + k)] = &node;
        if (node.kind != Node::OPERATOR)
            continue;
        std::vector<int> found;
        for (int i = 0; i < node.op->nparams; i++)
            if (node.op->params[i].flags & FL_P_WRITES)
                values_in(node.args[(size_t)i], found);
        for (int value : found)
            written(value);
        if (node.op->category == FL_VIEW_OP && node.count == 1 && node.args[0].kind == Arg::VALUE)
            root[(size_t)node.first] = root[(size_t)node.args[0].integer];
    }
    for (const auto &pair : graph.writes)
        written(pair.first);
    changes.resize((size_t)graph.inputs + graph.captures.size());
    return changes;
}
