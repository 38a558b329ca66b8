/* Runs $name.program once on zeros, from C++. */
#include "$name.h"
#include <flambeau/runtime.hpp>
#include <iostream>

int main() try {
$sizes    std::vector<flambeau_tensor> takes = {
$inputs    };
    takes.resize(${upper}_INPUTS);
#ifdef BLAS
    flambeau::detail::check(flambeau_use_blas(BLAS));
#endif
    flambeau::Program program(PROGRAM);
    flambeau::Session session(program);
    std::vector<std::vector<char>> memory;
    std::vector<flambeau::Buffer> inputs;
    for (const flambeau_tensor &one : takes) {
        memory.emplace_back(one.bytes + 1);
        inputs.push_back(flambeau::buffer(static_cast<void *>(memory.back().data()), one.bytes,
                                          one.dtype, {one.shape, one.shape + one.ndim}));
    }
    for (const flambeau::Tensor &output : session.run(inputs)) {
        std::cout << flambeau_dtype_name(output.dtype()) << "[";
        for (std::size_t i = 0; i < output.shape().size(); i++)
            std::cout << (i ? ", " : "") << output.shape()[i];
        std::cout << "]\n";
    }
} catch (const flambeau::Error &error) {
    std::cerr << flambeau_status_name(error.code()) << ": " << error.what() << "\n";
    return 1;
}
