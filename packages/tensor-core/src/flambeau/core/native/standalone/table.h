/* The operators that saved programs consist of, by key. */
#pragma once
#include "flambeau/abi.h"
#include <string_view>

/* NULL where there is none, or one that is made of others. */
const fl_op *find_operator(std::string_view key);
