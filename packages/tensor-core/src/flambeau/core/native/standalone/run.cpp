/* Running a plan: every node by its operator, as flambeau.jit.interpreter does. */
#include "standalone/regions.h"
#include "standalone/rooms.h"
#include "standalone/selecting.h"
#include "standalone/tail.h"
#include <algorithm>

Ref made(fl_tensor *t) {
    if (!t)
        operator_failed(nullptr);
    return Ref(t);
}

void operator_failed(const Node *node) {
    const bool no_memory = fl_error_kind_get() == FL_MEMORY_ERROR;
    const int status = no_memory ? FLAMBEAU_NO_MEMORY : FLAMBEAU_FAILED;
    std::string text = fl_error_text();
    fl_error_clear();
    if (node && !node->where.empty())
        text += " (from " + node->where + ")";
    throw Failure(status, text);
}

namespace {

/* The weight that a step's kernel may take packed, while it runs. */
class Offer {
  public:
    explicit Offer(const Step &step) {
        fl_conv_offer_packed(step.packed_windows.packed ? &step.packed_windows : nullptr);
        fl_offer_packed_matrix(step.packed_matrix.packed ? &step.packed_matrix : nullptr);
    }
    ~Offer() {
        fl_conv_offer_packed(nullptr);
        fl_offer_packed_matrix(nullptr);
    }
};

class Run {
  public:
    Run(const Plan &plan, std::vector<int64_t> &sizes, fl_generator &generator,
        const Rooms *rooms = nullptr)
        : plan_(plan), sizes_(sizes), generator_(generator), rooms_(rooms),
          values_(plan.graph->types.size()) {}

    std::vector<Ref> &values() { return values_; }

    void all() {
        for (size_t i = 0; i < plan_.steps.size(); i++) {
            const Step &step = plan_.steps[i];
            const bool is_two = step.tail && with_tail(step);
            if (!is_two)
                one(step);
            for (const Found &each : step.node->finds)  /* a tail's result has these sizes, too */
                find(each, is_two ? step.tail->result : each.value);
            release(step);
            if (is_two)
                release(plan_.steps[++i]);
        }
    }

    /* Copy new values to their targets, after saving what a copy would overwrite. */
    void write_back() {
        const auto &writes = plan_.graph->writes;
        std::vector<std::pair<Ref, Ref>> ready;
        for (const auto &[target, value] : writes) {
            at(value);
            Ref to = values_[(size_t)target], from = values_[(size_t)value];
            if (to.get() == from.get())
                continue;
            for (const auto &other : writes)
                if (writes.size() > 1 && values_[(size_t)other.first]->storage == from->storage) {
                    from = clone(from);
                    break;
                }
            ready.emplace_back(to, from);
        }
        for (const auto &[to, from] : ready)
            copy_into(to, from);
    }

  private:
    const Plan &plan_;
    std::vector<int64_t> &sizes_;           /* negative until a result has it */
    fl_generator &generator_;
    const Rooms *rooms_;                    /* or NULL */
    std::vector<Ref> values_;
    std::vector<int64_t> words_;

    /* What a value is in this run; every operator gives all of its results. */
    fl_tensor *at(int value) const {
        fl_tensor *t = values_[(size_t)value].get();
        if (!t)
            bad_program("a value is used that nothing computes");
        return t;
    }

    void find(const Found &each, int value) const {
        const fl_tensor *t = at(value);
        if (each.dim >= t->ndim)
            bad_program("a result has fewer dimensions than the graph says");
        sizes_[(size_t)each.symbol] = t->shape[each.dim];
    }

    /* Lists of one call: reserved as a whole, so that none moves. */
    int64_t *list(size_t count) {
        words_.resize(words_.size() + count);
        return words_.data() + words_.size() - count;
    }

    void fill(const Step &step, fl_value *in) {
        size_t room = 0;
        for (const Filling &each : step.fillings)
            room += std::max(each.values.size(), each.dims.size());
        words_.clear();
        words_.reserve(room);
        for (const Filling &each : step.fillings) {
            fl_value &v = in[each.param];
            if (each.kind == Filling::TENSOR) {
                v.t = at(each.values[0]);
            } else if (each.kind == Filling::TENSORS) {
                v.ts = (fl_tensor **)list(each.values.size());
                for (size_t k = 0; k < each.values.size(); k++)
                    v.ts[k] = each.values[k] < 0 ? nullptr : at(each.values[k]);
            } else if (each.kind == Filling::NUMBER) {
                if (each.is_real)
                    v.d = each.dims[0].real(sizes_.data());
                else
                    v.i = each.dims[0].evaluate(sizes_.data());
            } else {
                v.is = list(each.dims.size());
                for (size_t k = 0; k < each.dims.size(); k++)
                    if (each.is_real)
                        v.ds[k] = each.dims[k].real(sizes_.data());
                    else
                        v.is[k] = each.dims[k].evaluate(sizes_.data());
            }
        }
    }

    void one(const Step &step) {
        const Node &node = *step.node;
        if (node.kind == Node::OPERATOR)
            call(step);
        else if (step.own && in_parts(step))
            return;
        else if (node.kind == Node::FUSED)
            give(step, region(step.regions[0], given(step), rooms_in(step)));
        else if (node.kind == Node::BRANCH)
            branch(step);
        else if (node.kind == Node::LOOP)
            loop(step);
        else if (node.kind == Node::NUMBER)
            values_[(size_t)node.first] = numbers_below(at(step.inputs[0]));
        else if (node.kind == Node::NMS)
            values_[(size_t)node.first] =
                best_boxes(at(step.inputs[0]), at(step.inputs[1]), node.args[2].real);
        else if (node.kind == Node::ROI_ALIGN)
            values_[(size_t)node.first] =
                means_of_regions(at(step.inputs[0]), at(step.inputs[1]), bins_of(node));
        else
            random_state(step);
    }

    static RegionBins bins_of(const Node &node) {
        const std::vector<Arg> &args = node.args;
        const double scale = args[2].kind == Arg::INT ? (double)args[2].integer : args[2].real;
        return {scale, args[3].integer, args[4].integer, args[5].integer, args[6].integer != 0};
    }

    void release(const Step &step) {
        for (int value : step.released)
            values_[(size_t)value].clear();
    }

    /* The caller's memory for the result of an operator that takes a target. */
    Ref target(const Node &node, const fl_value *in) const {
        const fl_op *op = node.op;
        fl_spec spec;
        if (!room_of(rooms_, node.first) || op->nouts != 1 || op->category == FL_VIEW_OP ||
            op->flags & FL_O_DYNAMIC_SHAPE ||
            (op->call != fl_call_generic && op->call != fl_call_pointwise))
            return Ref();
        if (op->infer(op, in, op->nparams, &spec) < 0)
            operator_failed(&node);
        return in_room(rooms_, node.first, spec);
    }

    /* The rooms of a region's results. */
    Rooms rooms_in(const Step &step) const {
        Rooms found;
        const std::vector<int> &outputs = step.regions[0].graph->outputs;
        for (size_t k = 0; k < outputs.size(); k++)
            if (const Room *room = room_of(rooms_, step.node->first + (int)k))
                found.emplace(outputs[k], *room);
        return found;
    }

    /* A step and the next one, its tail, at once; false where that cannot be. */
    bool with_tail(const Step &step) {
        const fl_op *op = step.node->op;
        fl_value in[FL_MAX_PARAMS];
        fl_spec spec;
        std::copy(step.in.begin(), step.in.end(), in);
        fill(step, in);
        if (op->infer(op, in, op->nparams, &spec) < 0)
            operator_failed(step.node);
        if (spec.dtype != FL_F32 || spec.layout != FL_L_CONTIGUOUS)
            return false;
        Ref result = in_room(rooms_, step.tail->result, spec);
        if (!result)
            result = made(fl_tensor_empty(FL_F32, 0, spec.ndim, spec.shape));
        BoundTail tail(*step.tail, result.get(), values_);
        if (!tail.fits())
            return false;
        const Offer offer(step);
        const int status = tail.run(op, in, result.get());
        if (status < 0)
            operator_failed(step.node);
        values_[(size_t)step.tail->result] = std::move(result);
        return true;
    }

    /* A region part by part; false where that cannot be. */
    bool in_parts(const Step &step) {
        if (step.own->others.empty())
            return false;
        const fl_tensor *model = at(step.own->others[0]);
        fl_spec spec;
        fl_spec_set(&spec, FL_F32, 0, model->ndim, model->shape);
        Ref result = in_room(rooms_, step.own->result, spec);
        if (!result)
            result = made(fl_tensor_empty(FL_F32, 0, spec.ndim, spec.shape));
        BoundTail region(*step.own, result.get(), values_);
        if (!region.fits())
            return false;
        region.run_alone(result.get());
        values_[(size_t)step.own->result] = std::move(result);
        return true;
    }

    void call(const Step &step) {
        const Node &node = *step.node;
        fl_value in[FL_MAX_PARAMS], out[FL_MAX_OUTS];
        std::copy(step.in.begin(), step.in.end(), in);
        fill(step, in);
        for (int i = 0; i < node.op->nouts; i++) {
            out[i].tag = node.into.empty() ? FL_NONE : FL_TENSOR;
            out[i].len = 0;
            out[i].t = node.into.empty() ? nullptr : at(node.into[(size_t)i]);
        }
        Ref given = node.into.empty() ? target(node, in) : Ref();
        if (given) {
            out[0].tag = FL_TENSOR;
            out[0].t = given.get();
        }
        const Offer offer(step);
        if (node.op->call(node.op, in, node.op->nparams, out) < 0)
            operator_failed(&node);
        for (int i = 0; i < node.op->nouts; i++) {
            Ref result(out[i].tag == FL_TENSOR ? out[i].t : nullptr);
            if (i < node.count)
                values_[(size_t)(node.first + i)] = std::move(result);
        }
    }

    std::vector<Ref> given(const Step &step, size_t first = 0) const {
        std::vector<Ref> found;
        for (size_t k = first; k < step.inputs.size(); k++) {
            at(step.inputs[k]);
            found.push_back(values_[(size_t)step.inputs[k]]);
        }
        return found;
    }

    void give(const Step &step, const std::vector<Ref> &results) {
        for (size_t k = 0; k < results.size(); k++)
            values_[(size_t)step.node->first + k] = results[k];
    }

    std::vector<Ref> region(const Plan &plan, const std::vector<Ref> &inputs,
                            const Rooms &rooms = {}) const {
        Run inner(plan, sizes_, generator_, &rooms);
        std::copy(inputs.begin(), inputs.end(), inner.values_.begin());
        inner.all();
        std::vector<Ref> results;
        for (int output : plan.graph->outputs) {
            inner.at(output);
            results.push_back(inner.values_[(size_t)output]);
        }
        return results;
    }

    static bool is_true(const fl_tensor *condition) {
        if (condition->numel != 1)
            bad_program("a condition has one element");
        bool answer = false;
        fl_pack(condition, FL_BOOL, &answer);
        return answer;
    }

    void branch(const Step &step) {
        const bool holds = is_true(at(step.inputs[0]));
        give(step, region(step.regions[holds ? 0 : 1], given(step, 1)));
    }

    void loop(const Step &step) {
        std::vector<Ref> now = given(step);
        while (is_true(region(step.regions[0], now)[0].get())) {
            std::vector<Ref> next = region(step.regions[1], now);
            std::move(next.begin(), next.end(), now.begin());
        }
        now.resize((size_t)step.node->carried);
        give(step, now);
    }

    void random_state(const Step &step) {
        const Node &node = *step.node;
        fl_generator_state &state = generator_.state;
        const int64_t two = 2;
        if (node.kind == Node::SET_SEED) {
            state.seed = (uint64_t)node.args[1].integer;
            state.offset = 0;
        } else if (node.kind == Node::GET_STATE) {
            Ref made_state = made(fl_tensor_empty(FL_U64, 0, 1, &two));
            const uint64_t numbers[2] = {state.seed, state.offset};
            memcpy(made_state->data, numbers, sizeof numbers);
            values_[(size_t)node.first] = made_state;
        } else {
            const fl_tensor *given = at(step.inputs[0]);
            uint64_t numbers[2];
            if (given->numel != 2 || given->dtype != FL_U64)
                throw Failure(FLAMBEAU_UNSUPPORTED, "a state of a generator that is not Philox");
            fl_pack(given, FL_U64, numbers);
            state.seed = numbers[0];
            state.offset = numbers[1];
        }
    }
};

/* This thread draws from the session's generator while it runs. */
class Drawing {
  public:
    explicit Drawing(fl_generator &generator) : before_(fl_exchange_own_generator(&generator)) {}
    ~Drawing() { fl_exchange_own_generator(before_); }

  private:
    void *before_;
};

}  // namespace

std::vector<Ref> run_session(flambeau_session &session, const std::vector<Ref> &inputs,
                             std::vector<int64_t> &sizes, const Rooms &rooms) {
    const flambeau_program &program = *session.program;
    const Graph &graph = program.graph;
    Drawing drawing(session.generator);
    Run run(program.plan, sizes, session.generator, &rooms);
    std::copy(inputs.begin(), inputs.end(), run.values().begin());
    for (size_t i = 0; i < session.captures.size(); i++) {
        const size_t value = (size_t)graph.inputs + i;
        const bool is_fresh = graph.captures[i].is_constant && program.changes[value];
        run.values()[value] = is_fresh ? clone(session.captures[i]) : session.captures[i];
    }
    run.all();
    run.write_back();
    std::vector<Ref> results;
    for (const Shown &shown : program.gives)
        results.push_back(run.values()[(size_t)shown.value]);
    return results;
}
