/* Weights that no run changes, in the layouts of the kernels that read them. */
#include "conv/winograd.h"
#include "standalone/program.h"
#include <functional>

namespace {

class Packer {
  public:
    explicit Packer(flambeau_program &program) : program_(program), graph_(program.graph) {}

    void step(Step &step) {
        const Node &node = *step.node;
        if (node.kind != Node::OPERATOR || !node.op)
            return;
        if (!strcmp(node.op->name, "conv2d"))
            convolution(node, step);
        else if (!strcmp(node.op->name, "linear"))
            product(node, step);
        else if (!strcmp(node.op->name, "embedding_lookup"))
            table(node);
    }

  private:
    /* Kinds of packed weights, besides the number of a convolution's groups. */
    enum { PRODUCT = 0, BY_TAPS = -1, BY_OUTPUTS = -2 };

    flambeau_program &program_;
    const Graph &graph_;

    /* An argument that is a capture which no run changes. */
    const fl_tensor *constant(const Arg &arg, int *value) const {
        if (arg.kind != Arg::VALUE)
            return nullptr;
        *value = (int)arg.integer;
        const int at = *value - graph_.inputs;
        if (at < 0 || (size_t)at >= program_.captures.size() || program_.changes[(size_t)*value])
            return nullptr;
        return program_.captures[(size_t)at].get();
    }

    /* The weight, argument number 1, where it is a constant of float32. */
    const fl_tensor *weight(const Node &node, int ndim, int *value) const {
        const fl_tensor *t = constant(node.args[1], value);
        const bool fits = t && t->dtype == FL_F32 && t->ndim == ndim && t->flags & FL_CONTIGUOUS;
        return fits ? t : nullptr;
    }

    /* Packed once, for however many steps. */
    const float *packed(int value, int64_t kind, const fl_tensor *weight, int64_t count,
                        const std::function<void(float *)> &pack) {
        Ref &memory = program_.packed[{value, kind}];
        if (!memory) {
            memory = made(fl_tensor_empty(FL_F32, 0, 1, &count));
            pack((float *)memory->data);
            program_.bytes.forget(weight->data, (size_t)(weight->numel * 4));
        }
        return (const float *)memory->data;
    }

    void convolution(const Node &node, Step &step) {
        int value;
        const fl_tensor *w = weight(node, 4, &value);
        const int64_t groups = node.args[6].kind == Arg::INT ? node.args[6].integer : 0;
        if (!w || groups < 1 || w->shape[0] % groups)
            return;
        const fl_conv p = sizes(node, step, groups, w->shape);
        if (p.oh && fl_conv_suits_winograd(p))
            windows(value, fl_conv_layout_of(p), w, step);
        else if (const int64_t count = fl_conv_packed_elements(p))
            step.packed_windows = {w->data, packed(value, groups, w, count, [&](float *to) {
                fl_conv_pack((const float *)w->data, groups, w->shape, to);
            }), FL_CONV_DIRECT};
    }

    void windows(int value, fl_conv_layout layout, const fl_tensor *w, Step &step) {
        const int64_t o = w->shape[0], c = w->shape[1];
        const int64_t count = fl_conv_laid_elements(layout, o, c);
        const int64_t kind = layout == FL_CONV_BY_TAPS ? BY_TAPS : BY_OUTPUTS;
        step.packed_windows = {w->data, packed(value, kind, w, count, [&](float *to) {
            fl_conv_lay_windows(layout, (const float *)w->data, o, c, to);
        }), layout};
    }

    /* What decides how an image is convolved; `oh` is 0 where it is not known. */
    fl_conv sizes(const Node &node, const Step &step, int64_t groups, const int64_t *shape) const {
        const std::vector<Dim> &out = graph_.types[(size_t)node.first].shape;
        fl_conv p = {1, groups, shape[1], shape[0] / groups};
        p.y = window(shape[2], step, 0);
        p.x = window(shape[3], step, 1);
        if (out.size() < 2 || node.args[0].kind != Arg::VALUE)
            return p;
        const std::vector<Dim> &image = graph_.types[(size_t)node.args[0].integer].shape;
        if (image.size() != out.size())
            return p;
        p.h = pixels(image[image.size() - 2]);
        p.w = pixels(image.back());
        p.oh = pixels(out[out.size() - 2]);
        p.ow = pixels(out.back());
        return p;
    }

    /* Sizes that vary are taken for large ones. */
    static int64_t pixels(const Dim &size) { return size.terms.empty() ? size.offset : 1 << 10; }

    /* Along dimension `at`; what varies is 0. */
    static fl_window window(int64_t size, const Step &step, uint32_t at) {
        auto number = [&](const fl_value &v) {
            if (v.tag != FL_INTS)
                return v.i;
            return v.is && v.len ? v.is[at < v.len ? at : 0] : 0;
        };
        return {size, number(step.in[3]), number(step.in[4]), number(step.in[5])};
    }

    /* Rows of a table lie anywhere in it, and a run reads few. */
    void table(const Node &node) const {
        int value;
        const fl_tensor *t = constant(node.args[0], &value);
        if (t && t->flags & FL_CONTIGUOUS)
            program_.bytes.scatter(t->data, (size_t)(t->numel * fl_itemsize(t->dtype)));
    }

    void product(const Node &node, Step &step) {
        int value;
        const fl_tensor *w = weight(node, 2, &value);
        if (!w || !w->numel || node.args[0].kind != Arg::VALUE)
            return;
        const int64_t n = w->shape[0], k = w->shape[1];
        const int64_t count = fl_packed_matrix_elements(least_rows((int)node.args[0].integer),
            n, k);
        if (count)
            step.packed_matrix = {w->data, n, k, packed(value, PRODUCT, w, count, [&](float *to) {
                fl_pack_matrix((const float *)w->data, n, k, to);
            })};
    }

    /* Rows of a product's input, at the least sizes that the program may be run with. */
    int64_t least_rows(int value) const {
        const std::vector<Dim> &shape = graph_.types[(size_t)value].shape;
        int64_t rows = 1;
        for (size_t i = 0; i + 1 < shape.size(); i++) {
            int64_t size = shape[i].offset;
            for (const auto &[symbols, factor] : shape[i].terms) {
                int64_t part = factor;
                for (int symbol : symbols)
                    if (__builtin_mul_overflow(graph_.symbols[(size_t)symbol].least, part, &part))
                        return 1;
                if (factor < 1 || __builtin_add_overflow(size, part, &size))
                    return 1;
            }
            if (size < 1 || __builtin_mul_overflow(rows, size, &rows))
                return 1;
        }
        return rows;
    }
};

}  // namespace

void pack_weights(flambeau_program &program) {
    Packer packer(program);
    for (Step &step : program.plan.steps)
        packer.step(step);
}
