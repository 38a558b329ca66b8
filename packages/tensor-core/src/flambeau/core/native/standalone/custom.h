/* Operators that a program names, this runtime lacks, and its user gave a kernel for. */
#pragma once
#include "flambeau/runtime.h"
#include "standalone/graph.h"

/* False where the name is that of an operator of this runtime. */
bool register_kernel(const char *name, const flambeau_kernel &kernel);

/* The operator of a node that has its arguments, or NULL where no kernel has this name. */
std::shared_ptr<const fl_op> make_custom_op(const std::string &name, const std::vector<Arg> &args,
                                            size_t result_count);
