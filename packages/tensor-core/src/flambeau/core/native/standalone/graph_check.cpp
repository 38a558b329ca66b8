/* What a node of a file has to have: see graph_check.h. */
#include "standalone/graph_check.h"

void not_a_graph(const std::string &why) { bad_program("not a graph: " + why); }

void too_old() {
    throw Failure(FLAMBEAU_UNSUPPORTED, "the program was saved by a version that is too old "
                  "for the runtime, before tensors were written to: trace it again");
}

int check_regions(const Node &made, const std::string &key) {
    const bool is_loop = made.kind == Node::LOOP;
    if (made.regions.size() != 2 || made.args.size() != 2 || made.args[1].kind != Arg::LIST ||
        made.args[0].kind != (is_loop ? Arg::LIST : Arg::VALUE))
        not_a_graph("a " + key + " needs two graphs and their inputs");
    const int carried = is_loop ? (int)made.args[0].items.size() : 0;
    const size_t inputs = (size_t)carried + made.args[1].items.size();
    for (const Arg &list : made.args)
        for (const Arg &item : list.items)
            if (item.kind != Arg::VALUE)
                not_a_graph("a " + key + " takes tensors");
    for (const Graph &each : made.regions)
        if ((size_t)each.inputs != inputs || !each.captures.empty() || !each.writes.empty() ||
            !each.grads.empty())
            not_a_graph("a graph of a " + key + " is not one of its inputs alone");
    const std::vector<Graph> &two = made.regions;
    if (is_loop ? two[0].outputs.size() != 1 || two[1].outputs.size() != (size_t)carried
                : two[0].outputs.size() != two[1].outputs.size())
        not_a_graph("a graph of a " + key + " gives another number of tensors");
    return carried;
}

void check_results(const Node &made, const std::string &key) {
    size_t wanted = made.kind == Node::OPERATOR ? made.op->nouts
                    : !made.regions.empty()     ? made.regions.back().outputs.size()
                                                : made.kind <= Node::GET_STATE;
    if (made.kind == Node::OPERATOR && (size_t)made.count > wanted)
        too_old();
    const size_t params = made.kind == Node::OPERATOR    ? made.op->nparams
                          : made.kind == Node::NMS       ? 3
                          : made.kind == Node::NUMBER    ? 1
                          : made.kind == Node::ROI_ALIGN ? 7
                          : made.kind == Node::GET_STATE ? 1
                                                         : 2;
    const bool is_short = made.kind != Node::FUSED && made.args.size() != params;
    if ((size_t)made.count != wanted || is_short ||
        (!made.into.empty() && (made.kind != Node::OPERATOR || made.into.size() != wanted)))
        not_a_graph(key.substr(0, 80) + " has another number of arguments or results");
}

void check_regions_of_images(const Node &made) {
    const std::vector<Arg> &args = made.args;
    const bool fits = args.size() == 7 && args[0].kind == Arg::VALUE && args[1].kind == Arg::VALUE &&
                      (args[2].kind == Arg::FLOAT || args[2].kind == Arg::INT) &&
                      args[3].kind == Arg::INT && args[4].kind == Arg::INT &&
                      args[5].kind == Arg::INT && args[6].kind == Arg::BOOL;
    if (!fits || args[3].integer < 1 || args[4].integer < 1)
        not_a_graph("regions of images have a scale and numbers of bins and points");
}
