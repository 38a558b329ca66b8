/* JSON as saved programs have it: UTF-8, integers of 64 bits, no key twice. */
#pragma once
#include "standalone/failure.h"
#include <stdint.h>
#include <string_view>
#include <utility>
#include <vector>

struct Json {
    enum Kind : uint8_t { NOTHING, BOOL, INT, FLOAT, TEXT, LIST, OBJECT };
    Kind kind = NOTHING;
    bool truth = false;
    int64_t integer = 0;
    double real = 0;
    std::string text;
    std::vector<Json> items;                /* of a list; the values of an object */
    std::vector<std::string> keys;          /* of an object, in order */

    bool is(Kind k) const { return kind == k; }
    /* Of an object; NULL where it has no such key. */
    const Json *find(std::string_view key) const;
    /* These throw where the data is something else. */
    const Json &at(std::string_view key) const;
    const std::vector<Json> &list() const;
    const std::string &string() const;
    int64_t number() const;
};

/* Throws Failure for anything else than one value. */
Json parse_json(std::string_view text);
