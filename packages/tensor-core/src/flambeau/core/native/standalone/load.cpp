/* A saved program in memory: graph and weights, checked. */
#include "standalone/program.h"
#include "dispatch/core.h"
#include <algorithm>

namespace {

const int64_t NEWEST = 2;           /* the format's version, as in flambeau.jit.programs.archive */

void check_version(const Json &data) {
    const Json *format = data.is(Json::OBJECT) ? data.find("format") : nullptr;
    if (!format || !format->is(Json::TEXT) || format->text != "flambeau-program")
        bad_program("version.json does not say that this is a program");
    const int64_t version = data.at("version").number();
    if (version < 1)
        bad_program("version.json holds no version");
    if (version > NEWEST)
        throw Failure(FLAMBEAU_UNSUPPORTED, "the program has format version " +
                      std::to_string(version) + ", this runtime reads 1 to " +
                      std::to_string(NEWEST) + ": install a newer one");
}

/* ---- names: where a tensor stands in the structure of arguments or results ----------------- */

class Names {
  public:
    Names(const Json &spec, std::vector<std::string> &names) : names_(names) { walk(spec, "", 0); }

  private:
    std::vector<std::string> &names_;

    static std::string joined(const std::string &path, const std::string &key) {
        return path.empty() ? key : path + "." + key;
    }

    void walk(const Json &spec, const std::string &path, int depth) {
        if (!spec.is(Json::OBJECT) || spec.items.size() != 1 || depth > 60)
            bad_program("not a structure of inputs or outputs");
        const std::string &kind = spec.keys[0];
        const Json &content = spec.items[0];
        if (kind == "tensor") {
            const int64_t number = content.number();
            if (number < 0 || number >= (int64_t)names_.size())
                bad_program("not a structure of inputs or outputs");
            names_[(size_t)number] = path.empty() ? "0" : path;
        } else if (content.is(Json::OBJECT)) {
            for (size_t i = 0; i < content.items.size(); i++)
                walk(content.items[i], joined(path, content.keys[i]), depth + 1);
        } else if (content.is(Json::LIST)) {
            const bool is_named = kind == "named" && !content.items.empty();
            for (size_t i = is_named; i < content.items.size(); i++) {
                std::string key = std::to_string(i - is_named);
                if (is_named && content.items[0].is(Json::LIST) &&
                    i < content.items[0].items.size())
                    key = content.items[0].items[i].string();
                walk(content.items[i], joined(path, key), depth + 1);
            }
        }
    }
};

/* Positional arguments of a call with keywords are a part of their own: they keep their numbers. */
const Json *positional(const Json &takes) {
    const Json *tuple = takes.is(Json::OBJECT) ? takes.find("tuple") : nullptr;
    bool is_call = tuple && tuple->is(Json::LIST) && tuple->items.size() == 2 &&
                   tuple->items[0].is(Json::OBJECT) && tuple->items[0].find("list") &&
                   tuple->items[1].is(Json::OBJECT) && tuple->items[1].find("dict");
    return is_call ? tuple : nullptr;
}

std::vector<std::string> names_of(const Json &spec, size_t count) {
    std::vector<std::string> names(count);
    if (const Json *call = positional(spec))
        for (const Json &part : call->items)
            Names(part, names);
    else
        Names(spec, names);
    for (size_t i = 0; i < count; i++)
        if (names[i].empty())
            names[i] = "unnamed" + std::to_string(i);
    return names;
}

std::string text_of(const Dim &dim, const std::vector<Symbol> &symbols) {
    std::string text;
    for (const auto &[factors, factor] : dim.terms) {
        text += text.empty() || factor < 0 ? "" : "+";
        if (factor != 1)
            text += std::to_string(factor) + "*";
        for (size_t i = 0; i < factors.size(); i++)
            text += (i ? "*" : "") + symbols[(size_t)factors[i]].name;
    }
    if (dim.offset)
        text += (dim.offset > 0 ? "+" : "") + std::to_string(dim.offset);
    return text;
}

Shown show(const Graph &graph, int value, const std::string &name) {
    Shown made{name, value, {}};
    for (const Dim &dim : graph.types[(size_t)value].shape)
        made.symbols.push_back(dim.is_fixed() ? "" : text_of(dim, graph.symbols));
    return made;
}

/* ---- weights ------------------------------------------------------------------------------- */

/* Where kernels may read it as it lies; else a copy. */
Ref over(const Stored &stored) {
    const int64_t count = (int64_t)stored.bytes.size() / fl_itemsize(stored.dtype);
    const bool is_aligned = (uintptr_t)stored.bytes.data() % 16 == 0;
    fl_storage *s = is_aligned ? fl_storage_foreign(const_cast<char *>(stored.bytes.data()),
                                                    stored.bytes.size(), 0, nullptr, true)
                               : fl_storage_new(stored.bytes.size(), 0);
    if (!s)
        operator_failed(nullptr);
    if (!is_aligned && !stored.bytes.empty()) {
        memcpy(s->ptr, stored.bytes.data(), stored.bytes.size());
        s->readonly = 1;
    }
    fl_tensor *t = fl_tensor_on(s, stored.dtype, 1, &count, nullptr, 0);
    fl_release(s);
    return made(t);
}

void check_place(const Capture &capture, const std::vector<int64_t> &shape, int64_t room) {
    int64_t last = capture.offset, step;
    bool fits = capture.offset >= 0;
    for (size_t i = 0; i < shape.size() && fits; i++) {
        if (shape[i] == 0)
            return;
        fits = capture.strides[i] >= 0 &&
               !__builtin_mul_overflow(shape[i] - 1, capture.strides[i], &step) &&
               !__builtin_add_overflow(last, step, &last);
    }
    if (!fits || last >= room)
        bad_program(capture.name + " does not lie in weights.safetensors");
}

Ref placed(const Capture &capture, const Stored &stored, const Ref &memory) {
    std::vector<int64_t> shape;
    for (const Dim &size : capture.type.shape) {
        if (!size.is_fixed())
            bad_program(capture.name + " has a size that varies");
        shape.push_back(size.offset);
    }
    if (stored.dtype != capture.type.dtype || (!capture.is_placed && stored.shape != shape))
        bad_program(capture.name + " is another tensor in weights.safetensors than in the graph");
    if (capture.is_placed)
        check_place(capture, shape, memory->numel);
    const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    const int64_t offset = is_empty ? 0 : capture.offset * fl_itemsize(stored.dtype);
    return made(fl_tensor_on((fl_storage *)memory->storage, stored.dtype, (int)shape.size(),
                             shape.data(), capture.is_placed ? capture.strides.data() : nullptr,
                             offset));
}

void read_captures(flambeau_program &program, std::string_view bytes) {
    std::map<std::string, Stored> weights = read_weights(bytes);
    for (const Capture &capture : program.graph.captures) {
        auto found = weights.find(capture.memory);
        if (found == weights.end())
            bad_program("weights.safetensors does not hold " + capture.name.substr(0, 80));
        Ref &memory = program.memories[capture.memory];
        if (!memory)
            memory = over(found->second);
        program.captures.push_back(placed(capture, found->second, memory));
    }
}

}  // namespace

void open_program(flambeau_program &program) {
    Archive archive = read_archive(program.bytes.all());
    check_version(parse_json(archive.version));
    Json data = parse_json(archive.graph);
    program.graph = read_graph(data.at("graph"));
    const Graph &graph = program.graph;
    read_captures(program, archive.weights);
    program.plan = make_plan(graph);
    program.changes = find_changes(graph);
    pack_weights(program);
    std::vector<std::string> names = names_of(data.at("takes"), (size_t)graph.inputs);
    for (int i = 0; i < graph.inputs; i++)
        program.takes.push_back(show(graph, i, names[(size_t)i]));
    names = names_of(data.at("gives"), graph.outputs.size());
    for (size_t i = 0; i < graph.outputs.size(); i++)
        program.gives.push_back(show(graph, graph.outputs[i], names[i]));
    for (const auto &[leaf, value] : graph.grads) {
        const size_t capture = (size_t)(leaf - graph.inputs);
        const bool is_input = leaf < graph.inputs;
        if (!is_input && capture >= graph.captures.size())
            bad_program("not a graph: a gradient of a value that is computed");
        const std::string &name = is_input ? program.takes[(size_t)leaf].name
                                           : graph.captures[capture].name;
        program.gives.push_back(show(graph, value, "grad." + name));
    }
}
