/* error.h: kinds and texts, long texts, quoting the previous text, shapes, one state a thread. */
#include "check.h"
#include "error.h"

#include <string>
#include <string.h>
#include <thread>

static void texts() {
    CHECK(fl_error_kind_get() == FL_NO_ERROR);
    CHECK(strcmp(fl_error_text(), "") == 0);
    CHECK(fl_error(FL_INDEX_ERROR, "index %d of %s", 7, "x") == -1);
    CHECK(fl_error_kind_get() == FL_INDEX_ERROR);
    CHECK(strcmp(fl_error_text(), "index 7 of x") == 0);
    fl_error(FL_VALUE_ERROR, "outer: %s", fl_error_text());
    CHECK(strcmp(fl_error_text(), "outer: index 7 of x") == 0);
    std::string word(100000, 'w');
    fl_error(FL_TYPE_ERROR, "<%s>", word.c_str());
    CHECK(fl_error_text() == "<" + word + ">");
    fl_error_clear();
    CHECK(fl_error_kind_get() == FL_NO_ERROR);
    CHECK(strcmp(fl_error_text(), "") == 0);
}

static void threads() {
    fl_error(FL_VALUE_ERROR, "mine");
    std::thread([] {
        CHECK(fl_error_kind_get() == FL_NO_ERROR);
        fl_error(FL_TYPE_ERROR, "theirs");
    }).join();
    CHECK(fl_error_kind_get() == FL_VALUE_ERROR);
    CHECK(strcmp(fl_error_text(), "mine") == 0);
    fl_error_clear();
}

static void unknown_dtypes() {
    CHECK(strcmp(fl_dtype_name(21), "unknown dtype") == 0);
    CHECK(strcmp(fl_dtype_name(-1), "unknown dtype") == 0);
    CHECK(fl_itemsize(21) == 0);
}

static void shapes() {
    int64_t three[] = {2, 3, 4};
    int64_t wide[32];
    std::string expected = "[";
    for (int i = 0; i < 32; i++) {
        wide[i] = INT64_MIN + 1;
        expected += (i ? ", " : "") + std::to_string(wide[i]);
    }
    CHECK(strcmp(fl_shape_text(three, 0), "[]") == 0);
    CHECK(strcmp(fl_shape_text(three, 1), "[2]") == 0);
    CHECK(fl_shape_text(wide, 32) == expected + "]");
    fl_error(FL_VALUE_ERROR, "%s and %s", fl_shape_text(three, 2), fl_shape_text(three + 1, 2));
    CHECK(strcmp(fl_error_text(), "[2, 3] and [3, 4]") == 0);
    fl_error_clear();
}

int main() {
    texts();
    threads();
    shapes();
    unknown_dtypes();
    return check_result();
}
