#include "standalone/json.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <unordered_set>

const Json *Json::find(std::string_view key) const {
    for (size_t i = 0; i < keys.size(); i++)
        if (keys[i] == key)
            return &items[i];
    return nullptr;
}

const Json &Json::at(std::string_view key) const {
    const Json *found = kind == OBJECT ? find(key) : nullptr;
    if (!found)
        bad_program("not a graph: a part has no '" + std::string(key) + "'");
    return *found;
}

const std::vector<Json> &Json::list() const {
    if (kind != LIST)
        bad_program("not a graph: a list is expected");
    return items;
}

const std::string &Json::string() const {
    if (kind != TEXT)
        bad_program("not a graph: text is expected");
    return text;
}

int64_t Json::number() const {
    if (kind != INT)
        bad_program("not a graph: an integer is expected");
    return integer;
}

namespace {

const int DEPTH = 100;

class Parser {
  public:
    explicit Parser(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}
    Json whole() {
        Json made = value(0);
        space();
        if (at_ != end_)
            fail();
        return made;
    }

  private:
    const char *at_, *end_;

    [[noreturn]] static void fail() { bad_program("a part of the file is not JSON"); }
    void space() {
        while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t'))
            at_++;
    }
    /* The next character that is no space; 0 at the end. */
    char next() {
        space();
        return at_ < end_ ? *at_ : '\0';
    }
    bool take(char c) {
        if (next() != c || at_ == end_)
            return false;
        at_++;
        return true;
    }
    void word(std::string_view expected) {
        if ((size_t)(end_ - at_) < expected.size() ||
            std::string_view(at_, expected.size()) != expected)
            fail();
        at_ += expected.size();
    }

    Json value(int depth) {
        if (depth > DEPTH)
            fail();
        Json made;
        switch (next()) {
        case '{': object(made, depth); break;
        case '[': list(made, depth); break;
        case '"':
            made.kind = Json::TEXT;
            made.text = quoted();
            break;
        case 't':
            word("true");
            made.kind = Json::BOOL;
            made.truth = true;
            break;
        case 'f':
            word("false");
            made.kind = Json::BOOL;
            break;
        case 'n': word("null"); break;
        default: number(made);
        }
        return made;
    }

    void object(Json &made, int depth) {
        made.kind = Json::OBJECT;
        at_++;
        if (take('}'))
            return;
        std::unordered_set<std::string> seen;
        do {
            if (next() != '"')
                fail();
            made.keys.push_back(quoted());
            if (!seen.insert(made.keys.back()).second || !take(':'))
                fail();
            made.items.push_back(value(depth + 1));
        } while (take(','));
        if (!take('}'))
            fail();
    }

    void list(Json &made, int depth) {
        made.kind = Json::LIST;
        at_++;
        if (take(']'))
            return;
        do
            made.items.push_back(value(depth + 1));
        while (take(','));
        if (!take(']'))
            fail();
    }

    /* libc++ before 20, which WebAssembly has, reads no reals; there is one locale there. */
    std::from_chars_result real(double &to) {
#ifdef __cpp_lib_to_chars
        return std::from_chars(at_, end_, to);
#else
        const std::string text(at_, std::find_if_not(at_, end_, [](char c) {
                                   return strchr_in("+-.0123456789eE", c);
                               }));
        char *last = nullptr;
        to = strtod(text.c_str(), &last);
        const auto read = last - text.c_str();
        return {at_ + read, read ? std::errc() : std::errc::invalid_argument};
#endif
    }

    void number(Json &made) {
        std::from_chars_result done = std::from_chars(at_, end_, made.integer);
        bool whole = done.ec == std::errc() &&
                     (done.ptr == end_ || !strchr_in(".eE", *done.ptr));
        made.kind = Json::INT;
        if (!whole) {
            made.kind = Json::FLOAT;
            done = real(made.real);
            if (done.ec != std::errc() || !(made.real - made.real == 0))
                fail();
        }
        at_ = done.ptr;
    }

    unsigned code_unit() {
        unsigned unit = 0;
        if (end_ - at_ < 4)
            fail();
        std::from_chars_result done = std::from_chars(at_, at_ + 4, unit, 16);
        if (done.ec != std::errc() || done.ptr != at_ + 4)
            fail();
        at_ += 4;
        return unit;
    }

    void code_point(std::string &text) {
        unsigned c = code_unit();
        if (c >= 0xD800 && c < 0xDC00 && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u') {
            at_ += 2;
            c = 0x10000 + ((c - 0xD800) << 10) + ((code_unit() - 0xDC00) & 0x3FF);
        }
        const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
        text += (char)(first[more] | c >> 6 * more);
        for (int i = more - 1; i >= 0; i--)
            text += (char)(0x80 | (c >> 6 * i & 0x3F));
    }

    std::string quoted() {
        std::string text;
        for (at_++; at_ < end_ && *at_ != '"';) {
            if ((unsigned char)*at_ < 0x20)
                fail();
            if (*at_ != '\\') {
                text += *at_++;
                continue;
            }
            if (++at_ == end_)
                fail();
            const char c = *at_++;
            static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
            if (c == 'u') {
                code_point(text);
            } else {
                const char *found = c ? strchr_in(from, c) : nullptr;
                if (!found)
                    fail();
                text += to[found - from];
            }
        }
        if (at_ == end_)
            fail();
        at_++;
        return text;
    }
    static const char *strchr_in(const char *set, char c) {
        for (; *set; set++)
            if (*set == c)
                return set;
        return nullptr;
    }
};

}  // namespace

Json parse_json(std::string_view text) { return Parser(text).whole(); }
