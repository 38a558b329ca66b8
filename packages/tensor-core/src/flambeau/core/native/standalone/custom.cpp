#include "standalone/custom.h"
#include "dispatch/core.h"
#include "standalone/objects.h"
#include "standalone/table.h"
#include <algorithm>
#include <mutex>

namespace {

struct Kernels {
    std::mutex mutex;
    std::map<std::string, flambeau_kernel> by_name;
};

/* Never destroyed: programs may run while the process ends. */
Kernels &kernels() {
    static Kernels *all = new Kernels;
    return *all;
}

/* An operator and what its pointers point to. */
struct Custom {
    fl_op op = {};
    std::string name;
    std::vector<fl_param> params;
    flambeau_kernel kernel;
};

bool has(const std::vector<Arg> &items, Arg::Kind kind) {
    return std::any_of(items.begin(), items.end(), [&](const Arg &a) { return a.kind == kind; });
}

bool is_real(const Arg &arg) {
    return arg.kind == Arg::FLOAT || (arg.kind == Arg::DIM && arg.dim.form != Dim::INT);
}

/* What a parameter takes, by what the program gives it. */
fl_role role_of(const Arg &arg) {
    switch (arg.kind) {
    case Arg::NONE:
    case Arg::VALUE: return FL_R_TENSOR;
    case Arg::TEXT: return FL_R_STRING;
    case Arg::DTYPE: return FL_R_DTYPE;
    case Arg::DEVICE: return FL_R_DEVICE;
    case Arg::LIST:
        if (has(arg.items, Arg::VALUE))
            return FL_R_TENSORS;
        if (has(arg.items, Arg::BOOL))
            return FL_R_BOOLS;
        return std::any_of(arg.items.begin(), arg.items.end(), is_real) ? FL_R_FLOATS : FL_R_INTS;
    default: return FL_R_SCALAR;
    }
}

flambeau_tensor described(const fl_tensor *t) {
    flambeau_tensor made = {};
    made.data = t->data;
    made.bytes = (size_t)(t->numel * fl_itemsize(t->dtype));
    made.dtype = t->dtype;
    made.ndim = t->ndim;
    std::copy(t->shape, t->shape + t->ndim, made.shape);
    return made;
}

/* The arguments of one call, as the C interface shows them. */
class Call {
  public:
    Call(const fl_value *in, int count) : arguments_((size_t)count) {
        size_t room = 0;                        /* reserved as a whole, so that none moves */
        for (int i = 0; i < count; i++)
            room += in[i].tag == FL_TENSORS ? in[i].len : 1;
        tensors_.reserve(room);
        for (int i = 0; i < count; i++)
            fill(in[i], arguments_[(size_t)i]);
    }
    const std::vector<flambeau_argument> &arguments() const { return arguments_; }

  private:
    std::vector<flambeau_argument> arguments_;
    std::vector<flambeau_tensor> tensors_;
    std::vector<Ref> copies_;

    void add(const fl_tensor *t) {
        if (t && !(t->flags & FL_CONTIGUOUS)) {
            Ref copy(fl_tensor_empty(t->dtype, FL_CPU, t->ndim, t->shape));
            if (!copy)
                throw std::bad_alloc();
            fl_pack(t, t->dtype, copy->data);
            copies_.push_back(copy);
            t = copies_.back().get();
        }
        tensors_.push_back(t ? described(t) : flambeau_tensor{});
    }

    void fill(const fl_value &v, flambeau_argument &made) {
        made = {};
        made.kind = (int32_t)v.tag;
        made.count = 1;
        switch (v.tag) {
        case FL_TENSOR:
        case FL_TENSORS:
            made.count = v.tag == FL_TENSOR ? 1 : v.len;
            made.tensors = tensors_.data() + tensors_.size();
            for (uint32_t k = 0; k < made.count; k++)
                add(v.tag == FL_TENSOR ? v.t : v.ts[k]);
            break;
        case FL_INT:
        case FL_BOOLEAN:
        case FL_DTYPE: made.integers = &v.i; break;
        case FL_FLOAT: made.reals = &v.d; break;
        case FL_COMPLEX:
            made.count = 2;
            made.reals = v.c;
            break;
        case FL_INTS:
        case FL_BOOLS:
            made.count = v.len;
            made.integers = v.is;
            break;
        case FL_FLOATS:
            made.count = v.len;
            made.reals = v.ds;
            break;
        case FL_STRING: made.text = v.s; break;
        default: made.count = 0;
        }
    }
};

bool is_tensor(const flambeau_tensor &out) {
    return out.dtype >= 0 && out.dtype < FL_DTYPE_COUNT && out.ndim >= 0 &&
           out.ndim <= FLAMBEAU_MAX_DIMS &&
           std::all_of(out.shape, out.shape + out.ndim, [](int64_t size) { return size >= 0; });
}

int run(const fl_op *op, const fl_value *in, int count, fl_value *out) {
    const flambeau_kernel &kernel = ((const Custom *)op->kernels)->kernel;
    Call call(in, count);
    const std::vector<flambeau_argument> &arguments = call.arguments();
    std::vector<flambeau_tensor> results(op->nouts);
    int code = kernel.describe(kernel.context, arguments.data(), arguments.size(), results.data(),
                               results.size());
    if (code)
        return fl_error(FL_RUNTIME_ERROR, "%s(): its kernel refuses these arguments, with code %d",
                        op->name, code);
    std::vector<Ref> made;
    for (flambeau_tensor &result : results) {
        if (!is_tensor(result))
            return fl_error(FL_RUNTIME_ERROR, "%s(): its kernel describes a result without a dtype "
                            "or shape", op->name);
        made.emplace_back(fl_tensor_empty(result.dtype, FL_CPU, result.ndim, result.shape));
        if (!made.back())
            return -1;
        result = described(made.back().get());
    }
    code = kernel.run(kernel.context, arguments.data(), arguments.size(), results.data(),
                      results.size());
    if (code)
        return fl_error(FL_RUNTIME_ERROR, "%s(): its kernel failed with code %d", op->name, code);
    for (size_t i = 0; i < made.size(); i++) {
        fl_hold(made[i].get());
        out[i].tag = FL_TENSOR;
        out[i].t = made[i].get();
    }
    return 0;
}

int call_custom(const fl_op *op, const fl_value *in, int count, fl_value *out) {
    try {
        return run(op, in, count, out);
    } catch (const std::bad_alloc &) {
        return fl_error(FL_MEMORY_ERROR, "%s(): there is not enough memory", op->name);
    }
}

}  // namespace

bool register_kernel(const char *name, const flambeau_kernel &kernel) {
    if (find_operator(name))
        return false;
    std::lock_guard<std::mutex> held(kernels().mutex);
    kernels().by_name[name] = kernel;
    return true;
}

std::shared_ptr<const fl_op> make_custom_op(const std::string &name, const std::vector<Arg> &args,
                                            size_t result_count) {
    auto made = std::make_shared<Custom>();
    {
        std::lock_guard<std::mutex> held(kernels().mutex);
        auto found = kernels().by_name.find(name);
        if (found == kernels().by_name.end())
            return nullptr;
        made->kernel = found->second;
    }
    if (args.size() > FL_MAX_PARAMS || result_count > FL_MAX_OUTS)
        bad_program("not a graph: " + name + " has too many arguments or results");
    made->name = name;
    for (const Arg &arg : args) {
        fl_param param = {};
        param.name = "argument";
        param.role = role_of(arg);
        param.flags = FL_P_OPTIONAL;
        made->params.push_back(param);
    }
    made->op.struct_size = sizeof(fl_op);
    made->op.category = FL_KERNEL;
    made->op.nparams = (uint8_t)args.size();
    made->op.nouts = (uint8_t)result_count;
    made->op.name = made->name.c_str();
    made->op.overload = made->op.doc = "";
    made->op.params = made->params.data();
    made->op.call = call_custom;
    made->op.kernels = made.get();
    return {made, &made->op};
}
