/* What flambeau/runtime.hpp does: on programs of (x @ w).relu(), and of x.add_(1). */
#include "flambeau/runtime.hpp"
#include <atomic>
#include <stdio.h>
#include <thread>

using flambeau::buffer;

static int wrong = 0;

static void expect(bool holds, const char *what) {
    if (!holds)
        fprintf(stderr, "wrong: %s\n", what), wrong = 1;
}

template <class Work> static void fails(int code, const char *part, const Work &work) {
    try {
        work();
        expect(false, part);
    } catch (const flambeau::Error &error) {
        expect(error.code() == code, part);
        expect(std::string(error.what()).find(part) != std::string::npos, error.what());
    }
}

int main(int, char **words) {
    static_assert(!std::is_copy_constructible_v<flambeau::Program>);
    static_assert(!std::is_copy_constructible_v<flambeau::Session>);
    static_assert(std::is_nothrow_move_constructible_v<flambeau::Session>);
    fails(FLAMBEAU_NO_FILE, "no-such", [] { flambeau::Program("no-such.program"); });
    fails(FLAMBEAU_BAD_PROGRAM, "", [] { flambeau::Program("damaged", 7); });

    flambeau::Program first(words[1]);
    flambeau::Program program = std::move(first);
    const auto takes = program.inputs();
    expect(takes.size() == 1 && takes[0].dtype == FLAMBEAU_FLOAT32, "inputs");
    expect(takes[0].shape == flambeau::Shape{-1, 4} && takes[0].symbols[0] == "N", "shape");
    expect(program.outputs().size() == 1, "outputs");

    std::vector<float> x(12);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = 0.1f * (float)i;
    const std::vector<float> &constant = x;
    flambeau::Session session(program);
    const auto y = session.run({buffer(constant, {3, 4})}).at(0);
    expect(y.shape() == flambeau::Shape{3, 2} && y.count() == 6, "shape of the result");
    const auto values = y.values<float>();
    fwrite(values.data(), sizeof(float), values.size(), stdout);

    std::vector<double> doubles(12);
    fails(FLAMBEAU_WRONG_INPUT, "float64", [&] { session.run({buffer(doubles, {3, 4})}); });
    fails(FLAMBEAU_WRONG_INPUT, "[3, 5]", [&] { session.run({buffer(x, {3, 5})}); });
    fails(FLAMBEAU_WRONG_INPUT, "more bytes", [&] { session.run({buffer(x, {4, 4})}); });
    fails(FLAMBEAU_WRONG_INPUT, "takes 1 inputs", [&] { session.run({}); });
    fails(FLAMBEAU_INVALID, "float32", [&] { y.values<double>(); });
    fails(FLAMBEAU_INVALID, "32 dimensions", [&] { buffer(x, flambeau::Shape(33, 1)); });

    std::vector<float> little(5), enough(6);
    std::vector<flambeau::Buffer> out{buffer(little, {5})};
    fails(FLAMBEAU_SMALL_BUFFER, "", [&] { session.run({buffer(x, {3, 4})}, out); });
    expect(out[0].tensor.ndim == 2 && out[0].tensor.shape[0] == 3, "shape that was needed");
    out[0] = buffer(enough, {6});
    session.run({buffer(x, {3, 4})}, out);
    expect(enough == values, "results in the caller's buffer");

    std::atomic<int> differ{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&] {
            flambeau::Session own(program);
            for (int run = 0; run < 50; run++)
                for (flambeau::Session *each : {&own, &session})
                    differ += each->run({buffer(x, {3, 4})}).at(0).values<float>() != values;
        });
    for (std::thread &thread : threads)
        thread.join();
    expect(!differ, "eight threads");

    flambeau::Session later = [&] { return flambeau::Session(flambeau::Program(words[1])); }();
    expect(later.run({buffer(x, {3, 4})}).at(0).values<float>() == values, "a program gone");

    flambeau::Session writing{flambeau::Program(words[2])};
    fails(FLAMBEAU_WRONG_INPUT, "writes to input 0",
          [&] { writing.run({buffer(constant, {12})}); });
    writing.run({buffer(x, {12})});
    expect(x[0] == 1.0f, "an input that is written to");
    return wrong;
}
