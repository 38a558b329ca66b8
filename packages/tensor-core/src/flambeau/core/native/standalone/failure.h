/* What stops loading or running: a status of runtime.h and a text. Thrown inside, and caught where
 * the C interface begins (api.cpp). */
#pragma once
#include "flambeau/runtime.h"
#include <stdexcept>
#include <string>

struct Failure : std::runtime_error {
    Failure(int status, const std::string &text) : std::runtime_error(text), status(status) {}
    int status;
};

[[noreturn]] inline void bad_program(const std::string &text) {
    throw Failure(FLAMBEAU_BAD_PROGRAM, text);
}
