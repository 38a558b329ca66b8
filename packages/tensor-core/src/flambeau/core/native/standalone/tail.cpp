#include "standalone/tail.h"
#include "pointwise/fast.h"
#include "runtime/epilogue.h"
#include "runtime/even.h"
#include <algorithm>

extern "C" int fl_run_pointwise(const fl_op *op, const fl_value *in, int n,
                                fl_tensor *const *outs);

namespace {

const size_t MAX_CALLS = 12;
const int NO_PRODUCT = -1;

bool has_equal_dims(const std::vector<Dim> &a, const std::vector<Dim> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Dim &x, const Dim &y) {
        return x.terms == y.terms && x.offset == y.offset && x.form == y.form;
    });
}

bool is_alike(const Graph &graph, int value, const Type &type) {
    const Type &other = graph.types[(size_t)value];
    return other.dtype == FL_F32 && has_equal_dims(other.shape, type.shape);
}

bool has_one_element(const Graph &graph, int value, const Type &type) {
    const Type &other = graph.types[(size_t)value];
    return other.dtype == FL_F32 && other.shape.size() <= type.shape.size() &&
           std::all_of(other.shape.begin(), other.shape.end(), [](const Dim &each) {
               return each.terms.empty() && each.form == Dim::INT && each.offset == 1;
           });
}

bool runs_kernels(const fl_op *op) {
    const char *const names[] = {"conv2d", "linear", "matmul"};
    return op && std::any_of(std::begin(names), std::end(names),
                             [&](const char *name) { return !strcmp(op->name, name); });
}

/* Makes the tail of one step from the step behind it, or a region's own, which has no product. */
class Finder {
  public:
    Finder(const Graph &graph, const Type &type, int product)
        : graph_(graph), type_(type), product_(product) {}

    /* Whether the step, an operator or a region of them, can be the tail. */
    bool take(const Step &step) {
        if (step.node->count != 1 || !step.node->into.empty() ||
            !is_alike(graph_, step.node->first, type_))
            return false;
        tail_.result = step.node->first;
        if (step.node->kind == Node::OPERATOR)
            return add(step, {});
        return step.node->kind == Node::FUSED && region(step);
    }

    std::shared_ptr<const Tail> tail() { return std::make_shared<const Tail>(std::move(tail_)); }

  private:
    const Graph &graph_;
    const Type &type_;
    const int product_;
    Tail tail_;

    bool region(const Step &step) {
        const Graph &body = step.node->regions[0];
        const Plan &plan = step.regions[0];
        std::map<int, int> known;       /* values of the body that calls made: which call */
        if (body.outputs.size() != 1 || plan.steps.size() > MAX_CALLS || plan.steps.empty() ||
            body.outputs[0] != plan.steps.back().node->first)
            return false;
        for (const Step &inner : plan.steps) {
            if (inner.node->kind != Node::OPERATOR || inner.node->count != 1 ||
                !inner.node->into.empty() ||
                !is_alike(body, inner.node->first, type_))
                return false;
            Sources sources{&step, &known};
            if (!add(inner, sources))
                return false;
            known[inner.node->first] = (int)tail_.calls.size() - 1;
        }
        return true;
    }

    /* Where the values of a body come from; both NULL outside of one. */
    struct Sources {
        const Step *step;
        const std::map<int, int> *known;
    };

    bool operand(int value, const Sources &sources, TailOperand *made) {
        if (sources.step) {
            auto found = sources.known->find(value);
            if (found != sources.known->end()) {
                *made = {TailOperand::CALL, found->second};
                return true;
            }
            if ((size_t)value >= sources.step->inputs.size())
                return false;
            value = sources.step->inputs[(size_t)value];
        }
        if (value == product_) {
            *made = {TailOperand::PRODUCT, 0};
            return true;
        }
        const bool is_other = is_alike(graph_, value, type_);
        if (!is_other && !has_one_element(graph_, value, type_))
            return false;
        std::vector<int> &values = is_other ? tail_.others : tail_.ones;
        *made = {is_other ? TailOperand::OTHER : TailOperand::ONE_ELEMENT, (int)values.size()};
        values.push_back(value);
        return true;
    }

    bool number(const fl_value &given, TailOperand *made) {
        if (given.tag != FL_FLOAT && given.tag != FL_INT && given.tag != FL_BOOLEAN)
            return false;
        *made = {TailOperand::NUMBER, (int)tail_.numbers.size()};
        tail_.numbers.emplace_back();
        fl_pw_fill_number(given, FL_K_F32, tail_.numbers.back().data(), TAIL_ELEMENTS);
        return true;
    }

    /* Whether numbers that are no operands differ from run to run. */
    static bool has_scalars_to_fill(const Step &step, const fl_pointwise &pw) {
        return std::any_of(step.fillings.begin(), step.fillings.end(), [&](const Filling &each) {
            return std::find(pw.operand, pw.operand + pw.n_in, each.param) == pw.operand + pw.n_in;
        });
    }

    bool add(const Step &step, const Sources &sources) {
        const fl_op *op = step.node->op;
        if (!op || op->run_cpu != fl_run_pointwise)
            return false;
        const fl_pointwise *pw = (const fl_pointwise *)op->kernels;
        if (pw->n_out != 1 || pw->writes[0] != 255 || !(pw->kinds >> FL_K_F32 & 1) ||
            pw->result_kind[FL_K_F32] != FL_K_F32 || has_scalars_to_fill(step, *pw))
            return false;
        TailCall call;
        for (int k = 0; k < pw->n_in; k++) {
            auto found = std::find_if(step.fillings.begin(), step.fillings.end(),
                                      [&](const Filling &f) { return f.param == pw->operand[k]; });
            TailOperand made;
            const bool is_fixed = found == step.fillings.end();
            if (pw->is_mask[k] || (!is_fixed && found->kind != Filling::TENSOR) ||
                !(is_fixed ? number(step.in[pw->operand[k]], &made)
                           : operand(found->values[0], sources, &made)))
                return false;
            call.operands.push_back(made);
        }
        call.scalars.resize(pw->n_scalars);
        fl_pw_load_scalars(pw, step.in.data(), FL_K_F32, call.scalars.data());
        call.kernel = fl_pw_kernel(pw, FL_K_F32, step.in.data());
        call.code = pw->code[FL_K_F32];
        tail_.calls.push_back(std::move(call));
        return true;
    }
};

}  // namespace

void find_tails(const Graph &graph, Plan &plan) {
    for (Step &step : plan.steps)
        if (step.node->kind == Node::FUSED && step.node->count == 1) {
            Finder finder(graph, graph.types[(size_t)step.node->first], NO_PRODUCT);
            if (finder.take(step))
                step.own = finder.tail();
        }
    std::vector<int> users(graph.types.size(), 0);
    for (const Node &node : graph.nodes) {
        std::vector<int> used = values_of(node);
        std::sort(used.begin(), used.end());
        used.erase(std::unique(used.begin(), used.end()), used.end());
        for (int value : used)
            users[(size_t)value]++;
    }
    for (int value : graph.outputs)
        users[(size_t)value]++;
    for (const auto *pairs : {&graph.writes, &graph.grads})
        for (const auto &pair : *pairs)
            users[(size_t)pair.second]++;
    for (size_t i = 0; i + 1 < plan.steps.size(); i++) {
        Step &step = plan.steps[i];
        const Node &node = *step.node, &next = *plan.steps[i + 1].node;
        if (node.kind != Node::OPERATOR || !runs_kernels(node.op) || node.count != 1 ||
            !node.into.empty() || graph.types[(size_t)node.first].dtype != FL_F32)
            continue;
        const std::vector<int> used = values_of(next);
        Finder finder(graph, graph.types[(size_t)node.first], node.first);
        if (users[(size_t)node.first] == 1 &&
            std::find(used.begin(), used.end(), node.first) != used.end() &&
            finder.take(plan.steps[i + 1]))
            step.tail = finder.tail();
    }
}

BoundTail::BoundTail(const Tail &tail, fl_tensor *made, const std::vector<Ref> &values)
    : tail_(tail), made_((float *)made->data) {
    fits_ = made->dtype == FL_F32 && made->flags & FL_CONTIGUOUS && made->numel > 0;
    for (int value : tail.others) {
        const fl_tensor *t = values[(size_t)value].get();
        fits_ = fits_ && t && t->dtype == FL_F32 && t->flags & FL_CONTIGUOUS &&
                t->ndim == made->ndim && std::equal(t->shape, t->shape + t->ndim, made->shape);
        others_.push_back(fits_ ? (const float *)t->data : nullptr);
    }
    ones_.resize(tail.ones.size());
    for (size_t k = 0; k < tail.ones.size(); k++) {
        const fl_tensor *t = values[(size_t)tail.ones[k]].get();
        fits_ = fits_ && t && t->dtype == FL_F32 && t->numel == 1 && t->ndim <= made->ndim;
        ones_[k].fill(fits_ ? *(const float *)t->data : 0);
    }
}

void BoundTail::chunk(void *self, int64_t begin, int64_t end) {
    const BoundTail &b = *(const BoundTail *)self;
    float tiles[MAX_CALLS][TAIL_ELEMENTS];
    for (int64_t at = begin; at < end; at += TAIL_ELEMENTS) {
        const int64_t n = std::min(TAIL_ELEMENTS, end - at);
        auto elements = [&](const TailOperand &from) -> const void * {
            switch (from.kind) {
            case TailOperand::PRODUCT: return b.made_ + at;
            case TailOperand::OTHER: return b.others_[(size_t)from.index] + at;
            case TailOperand::ONE_ELEMENT: return b.ones_[(size_t)from.index].data();
            case TailOperand::NUMBER: return b.tail_.numbers[(size_t)from.index].data();
            default: return tiles[from.index];
            }
        };
        for (size_t i = 0; i < b.tail_.calls.size(); i++) {
            const TailCall &call = b.tail_.calls[i];
            const void *in[FL_PW_MAX_IN];
            std::transform(call.operands.begin(), call.operands.end(), in, elements);
            void *out = i + 1 == b.tail_.calls.size() ? b.made_ + at : tiles[i];
            call.kernel(call.code, in, &out, call.scalars.data(), n);
        }
    }
}

void BoundTail::run_alone(const fl_tensor *made) {
    fl_parallel_for(made->numel, FL_GRAIN, chunk, this);
}

int BoundTail::run(const fl_op *op, const fl_value *in, fl_tensor *made) {
    fl_tensor *outs[1] = {made};
    fl_epilogue epilogue = {chunk, this, made->data, made->numel, sizeof(float)};
    fl_offer_epilogue(&epilogue);
    const int status = op->run_cpu(op, in, op->nparams, outs);
    const bool was_taken = fl_offer_epilogue(nullptr);
    if (status == 0 && !was_taken)
        fl_parallel_for(made->numel, FL_GRAIN, chunk, this);
    return status;
}
