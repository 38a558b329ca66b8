/* What a session owns: memory that a run changes. */
#include "standalone/program.h"

namespace {

/* The same part of other memory of the same size. */
Ref moved(const Ref &tensor, const Ref &memory) {
    const int64_t offset = fl_storage_offset(tensor.get()) * fl_itemsize(tensor->dtype);
    return made(fl_tensor_on((fl_storage *)memory->storage, tensor->dtype, tensor->ndim,
                             tensor->shape, tensor->strides, offset));
}

Ref call_on(const char *key, fl_tensor *x, fl_tensor *y = nullptr, fl_tensor *target = nullptr) {
    const fl_op *op = fl_find_op(key);
    fl_value in[FL_MAX_PARAMS], out[FL_MAX_OUTS];
    memset((void *)in, 0, sizeof in);
    memset((void *)out, 0, sizeof out);
    for (int i = 0; i < op->nparams; i++)
        in[i] = op->params[i].fallback;
    in[0].tag = FL_TENSOR;
    in[0].t = x;
    if (y) {
        in[1].tag = FL_TENSOR;
        in[1].t = y;
    }
    if (target) {
        out[0].tag = FL_TENSOR;
        out[0].t = target;
    }
    if (op->call(op, in, op->nparams, out) < 0)
        operator_failed(nullptr);
    return Ref(out[0].t);
}

}  // namespace

Ref clone(const Ref &t) { return call_on("clone", t.get()); }

void copy_into(const Ref &target, const Ref &source) {
    call_on("copy", target.get(), source.get(), target.get());
}

void open_session(flambeau_session &session) {
    const flambeau_program &program = *session.program;
    session.generator.state = {67280421310721ull, 0, nullptr};
    const Graph &graph = program.graph;
    std::map<std::string, Ref> own;
    for (size_t i = 0; i < graph.captures.size(); i++) {
        const Capture &capture = graph.captures[i];
        if (program.changes[(size_t)graph.inputs + i] && !capture.is_constant)
            own.emplace(capture.memory, Ref());
    }
    for (auto &[name, memory] : own)
        memory = clone(program.memories.at(name));
    for (size_t i = 0; i < graph.captures.size(); i++) {
        Ref tensor = program.captures[i];
        auto found = own.find(graph.captures[i].memory);
        if (found != own.end())
            tensor = moved(tensor, found->second);
        session.captures.push_back(tensor);
    }
}
