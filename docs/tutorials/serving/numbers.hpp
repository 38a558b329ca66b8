/* {"input": [1, 2.5, ...]}: the only JSON that is read, and its like, which is written. */
#pragma once
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

class Reader {
public:
    explicit Reader(const std::string &text) : at_(text.data()), end_(at_ + text.size()) {}

    /* The numbers, or nothing where the text is anything else. */
    std::optional<std::vector<float>> row() {
        if (!take("{") || !take("\"input\"") || !take(":") || !take("["))
            return std::nullopt;
        std::vector<float> numbers;
        do {
            skip();
            double number;
            const std::from_chars_result done = std::from_chars(at_, end_, number);
            if (done.ec != std::errc() || !std::isfinite(static_cast<float>(number)))
                return std::nullopt;
            at_ = done.ptr;
            numbers.push_back(static_cast<float>(number));
        } while (take(","));
        if (!take("]") || !take("}"))
            return std::nullopt;
        skip();
        return at_ == end_ ? std::optional(numbers) : std::nullopt;
    }

private:
    const char *at_, *end_;

    void skip() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r'))
            at_++;
    }
    bool take(const std::string &text) {
        skip();
        if (static_cast<std::size_t>(end_ - at_) < text.size() ||
            text.compare(0, text.size(), at_, text.size()) != 0)
            return false;
        at_ += text.size();
        return true;
    }
};

/* Nine digits tell every float from its neighbours. JSON has no numbers that are not finite. */
inline std::string written(const std::vector<float> &row) {
    std::string text = "[";
    for (float number : row) {
        char digits[32];
        std::snprintf(digits, sizeof digits, std::isfinite(number) ? "%.9g" : "null", number);
        text += (text.size() > 1 ? ", " : "") + std::string(digits);
    }
    return text + "]";
}
