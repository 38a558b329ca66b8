#include "standalone/graph_check.h"
#include "standalone/custom.h"
#include "standalone/table.h"
#include <algorithm>

namespace {

class Reader {
  public:
    Reader(const Json &data, const std::vector<Symbol> *symbols)
        : data_(data), is_inside_(symbols != nullptr) {
        if (!data.is(Json::OBJECT))
            not_a_graph("an object is expected");
        if (symbols)
            made_.symbols = *symbols;
        else
            read_symbols();
    }

    Graph graph() {
        for (const Json &item : data_.at("inputs").list())
            made_.types.push_back(type(item));
        made_.inputs = (int)made_.types.size();
        for (const Json &item : data_.at("captures").list())
            made_.captures.push_back(capture(item));
        for (const Json &item : data_.at("nodes").list())
            made_.nodes.push_back(node(item));
        for (const Json &item : data_.at("outputs").list())
            made_.outputs.push_back(value(item));
        for (const Json &item : data_.at("writes").list())
            made_.writes.push_back(write(item));
        if (const Json *grads = data_.find("grads"))
            for (const Json &item : grads->list())
                read_grad(item);
        made_.is_pure &= made_.grads.empty();
        if (!is_inside_)
            find_sizes();
        check_defaults();
        return std::move(made_);
    }

  private:
    const Json &data_;
    const bool is_inside_;
    Graph made_;

    /* Which symbols are sizes of results alone, as values decide them. */
    void find_sizes() {
        std::vector<char> is_known(made_.symbols.size());
        for (int i = 0; i < made_.inputs; i++)
            for (const Dim &dim : made_.types[(size_t)i].shape)
                if (dim.is_symbol())
                    is_known[(size_t)dim.terms[0].symbols[0]] = 1;
        for (Node &node : made_.nodes)
            for (int value = node.first; value < node.first + node.count; value++)
                for (size_t d = 0; d < made_.types[(size_t)value].shape.size(); d++) {
                    const Dim &dim = made_.types[(size_t)value].shape[d];
                    if (!dim.is_symbol() || is_known[(size_t)dim.terms[0].symbols[0]])
                        continue;
                    const int symbol = dim.terms[0].symbols[0];
                    is_known[(size_t)symbol] = made_.symbols[(size_t)symbol].is_found = true;
                    node.finds.push_back({value, (int)d, symbol});
                }
        for (const Symbol &symbol : made_.symbols)
            if (symbol.least < 1 && !symbol.is_found)
                not_a_graph("a symbol needs sizes of at least 1");
    }

    void read_symbols() {
        const Json &symbols = data_.at("symbols");
        if (!symbols.is(Json::OBJECT))
            not_a_graph("symbols are an object");
        const Json *limits = data_.find("limits");
        for (size_t i = 0; i < symbols.keys.size(); i++) {
            Symbol symbol{symbols.keys[i], INT64_MAX, (int64_t)1 << 62, "", ""};
            for (const Json &size : symbols.items[i].list())
                symbol.least = std::min(symbol.least, size.number());
            const Json *found = limits ? limits->find(symbol.name) : nullptr;
            if (found) {
                symbol.least = found->at("first").number();
                if (!found->at("last").is(Json::NOTHING))
                    symbol.most = found->at("last").number();
                symbol.below = found->at("below").string();
                symbol.above = found->at("above").string();
            }
            if (symbol.least < 0 || symbol.least == INT64_MAX)
                not_a_graph("a symbol needs sizes");
            made_.symbols.push_back(symbol);
        }
    }

    /* Quotients of integers, for one, are of the default dtype. */
    void check_defaults() const {
        const Json *defaults = data_.find("defaults");
        if (defaults && !defaults->string().empty() && defaults->string() != "float32 on cpu")
            throw Failure(FLAMBEAU_UNSUPPORTED, "the program was traced where tensors are " +
                          defaults->string().substr(0, 60) + " by default, and the runtime has "
                          "float32 on cpu");
    }

    int symbol(const std::string &name) const {
        for (size_t i = 0; i < made_.symbols.size(); i++)
            if (made_.symbols[i].name == name)
                return (int)i;
        not_a_graph("the size " + name.substr(0, 40) + " is not declared");
    }

    /* The symbols in the name of a term: one, or those of a product, with stars between them. */
    std::vector<int> factors(const std::string &name) const {
        std::vector<int> found;
        for (size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
            end = name.find('*', at);
            found.push_back(symbol(name.substr(at, end == std::string::npos ? end : end - at)));
        }
        return found;
    }

    Dim dim(const Json &item) const {
        Dim made;
        const Json &terms = item.at("terms");
        if (!terms.is(Json::OBJECT))
            not_a_graph("terms of a size are an object");
        for (size_t i = 0; i < terms.keys.size(); i++)
            made.terms.push_back({factors(terms.keys[i]), terms.items[i].number()});
        made.offset = item.at("offset").number();
        const std::string &form = item.at("form").string();
        if (form != "int" && form != "float" && form != "reciprocal")
            not_a_graph("unknown form of a size");
        made.form = form == "int" ? Dim::INT : form == "float" ? Dim::FLOAT : Dim::RECIPROCAL;
        return made;
    }

    Type type(const Json &item) const {
        Type made;
        for (const Json &size : item.at("shape").list()) {
            Dim each;
            if (size.is(Json::OBJECT))
                each = dim(size);
            else
                each.offset = size.number();
            if (each.form != Dim::INT || (each.terms.empty() && each.offset < 0))
                not_a_graph("a size is negative or no integer");
            made.shape.push_back(std::move(each));
        }
        made.dtype = dtype_code(item.at("dtype").string());
        if (made.dtype < 0 || made.shape.size() > FL_MAX_DIMS)
            not_a_graph("a tensor of an unknown dtype, or of too many dimensions");
        check_device(item.at("device").string());
        return made;
    }

    static void check_device(const std::string &name) {
        if (name != "cpu")
            throw Failure(FLAMBEAU_UNSUPPORTED, "the program runs on the device '" +
                          name.substr(0, 40) + "', and the runtime on the CPU alone: trace it with "
                          "tensors on the CPU");
    }

    int value(const Json &item) const {
        const int64_t number = item.number();
        if (number < 0 || number >= (int64_t)made_.types.size())
            not_a_graph("a value is used before it is assigned");
        return (int)number;
    }

    Capture capture(const Json &item) {
        Capture made;
        made.type = type(item);
        made_.types.push_back(made.type);
        made.name = made.memory = item.at("name").string();
        made.is_constant = item.at("constant").truth;
        const Json *place = item.find("place");
        if (!place)
            return made;
        const std::vector<Json> &parts = place->list();
        if (parts.size() != 3)
            not_a_graph("a place is a name, an offset and strides");
        made.memory = parts[0].string();
        made.offset = parts[1].number();
        for (const Json &stride : parts[2].list())
            made.strides.push_back(stride.number());
        made.is_placed = true;
        if (made.strides.size() != made.type.shape.size())
            not_a_graph("a place needs a stride for each dimension");
        return made;
    }

    Node node(const Json &item) {
        Node made;
        const std::string &key = item.at("op").string();
        const Json *where = item.find("where"), *into = item.find("into");
        made.where = where ? where->string() : "";
        for (const Json &arg : item.at("args").list())
            made.args.push_back(read_arg(arg, 0));
        if (into)
            for (const Json &number : into->list())
                made.into.push_back(value(number));
        read_op(made, key, item);
        made.first = (int)made_.types.size();
        for (const Json &output : item.at("outputs").list())
            made_.types.push_back(type(output));
        made.count = (int)made_.types.size() - made.first;
        check_results(made, key);
        return made;
    }

    void read_op(Node &made, const std::string &key, const Json &item) {
        if (key == "fused") {
            made.kind = Node::FUSED;
            made.regions.push_back(read_graph(item.at("body"), &made_.symbols));
            return;
        }
        if (key == "branch" || key == "loop") {
            made.kind = key == "loop" ? Node::LOOP : Node::BRANCH;
            for (const Json &region : item.at("regions").list())
                made.regions.push_back(read_graph(region, &made_.symbols));
            made.carried = check_regions(made, key);
            return;
        }
        if (key == "nms" || key == "number") {
            made.kind = key == "nms" ? Node::NMS : Node::NUMBER;
            const bool is_real = key == "nms" && made.args.size() == 3 &&
                                 made.args[2].kind == Arg::FLOAT;
            for (size_t i = 0; i < made.args.size() && i < (is_real ? 2 : 3); i++)
                if (made.args[i].kind != Arg::VALUE)
                    not_a_graph("an argument of " + key + " is no tensor");
            return;
        }
        if (key == "roi_align") {
            made.kind = Node::ROI_ALIGN;
            check_regions_of_images(made);
            return;
        }
        made.kind = key == "get_random_state"   ? Node::GET_STATE
                    : key == "set_random_state" ? Node::SET_STATE
                    : key == "set_random_seed"  ? Node::SET_SEED
                                                : Node::OPERATOR;
        if (made.kind != Node::OPERATOR) {
            made_.is_pure = false;
            return;
        }
        made.op = find_operator(key);
        if (key == "view_write")
            too_old();
        if (!made.op) {
            made.custom = make_custom_op(key, made.args, item.at("outputs").list().size());
            made.op = made.custom.get();
        }
        if (!made.op || (made.custom && !made.into.empty()))
            throw Failure(FLAMBEAU_UNSUPPORTED, "the program calls '" + key.substr(0, 80) + "', "
                          "which is no operator of this runtime: it is a newer one, or was "
                          "registered by a package; flambeau_register_kernel() gives it a kernel");
        made_.is_pure &= made.into.empty();
        for (int i = 0; i < made.op->nparams && i < (int)made.args.size(); i++)
            if (made.op->params[i].flags & FL_P_WRITES && made.args[(size_t)i].kind != Arg::NONE)
                made_.is_pure = false;
    }

    Arg read_arg(const Json &item, int depth) const {
        Arg made;
        switch (item.kind) {
        case Json::NOTHING: break;
        case Json::BOOL:
            made.kind = Arg::BOOL;
            made.integer = item.truth;
            break;
        case Json::INT:
            made.kind = Arg::INT;
            made.integer = item.integer;
            break;
        case Json::FLOAT:
            made.kind = Arg::FLOAT;
            made.real = item.real;
            break;
        case Json::TEXT:
            made.kind = Arg::TEXT;
            made.text = item.text;
            break;
        case Json::LIST:
            made.kind = Arg::LIST;
            for (const Json &each : item.items)
                made.items.push_back(read_arg(each, depth + 1));
            break;
        case Json::OBJECT: read_literal(item, made);
        }
        return made;
    }

    static double real_of(const Json &item) {
        if (item.is(Json::OBJECT)) {
            const std::string &text = item.at("float").string();
            if (text == "nan" || text == "inf" || text == "-inf")
                return text == "nan" ? __builtin_nan("") : text[0] == '-' ? -__builtin_inf()
                                                                          : __builtin_inf();
        }
        if (item.is(Json::INT))
            return (double)item.integer;
        if (!item.is(Json::FLOAT))
            not_a_graph("a number is expected");
        return item.real;
    }

    void read_literal(const Json &item, Arg &made) const {
        if (const Json *number = item.find("value")) {
            made.kind = Arg::VALUE;
            made.integer = value(*number);
        } else if (item.find("float")) {
            made.kind = Arg::FLOAT;
            made.real = real_of(item);
        } else if (const Json *parts = item.find("complex")) {
            if (parts->list().size() != 2)
                not_a_graph("a complex number has two parts");
            made.kind = Arg::COMPLEX;
            made.real = real_of(parts->items[0]);
            made.imaginary = real_of(parts->items[1]);
        } else if (item.find("terms")) {
            made.kind = Arg::DIM;
            made.dim = dim(item);
        } else if (const Json *dtype = item.find("dtype")) {
            made.kind = Arg::DTYPE;
            made.integer = dtype_code(dtype->string());
            if (made.integer < 0)
                not_a_graph("an unknown dtype");
        } else if (const Json *device = item.find("device")) {
            made.kind = Arg::DEVICE;
            check_device(device->string());
        } else {
            not_a_graph("an unknown literal");
        }
    }

    std::pair<int, int> write(const Json &item) {
        const std::vector<Json> &pair = item.list();
        if (pair.size() != 2)
            not_a_graph("a write is a target and a value");
        const int target = value(pair[0]);
        if (target >= made_.inputs + (int)made_.captures.size())
            not_a_graph("writes go to inputs and captured tensors");
        return {target, value(pair[1])};
    }

    void read_grad(const Json &item) {
        if (item.at("value").is(Json::NOTHING))
            return;
        if (item.at("needs").string() == "same")
            throw Failure(FLAMBEAU_UNSUPPORTED, "the program adds to gradients that were there "
                          "when it was traced: trace it after zero_grad()");
        made_.grads.emplace_back(value(item.at("leaf")), value(item.at("value")));
    }
};

}  // namespace

Graph read_graph(const Json &data, const std::vector<Symbol> *symbols) {
    return Reader(data, symbols).graph();
}
