/* An update rule over many tensors, as an optimizer takes a step: packed by the launch path, read
 * by the kernels. A block has a chunk of a row's elements; a row has N tensors that lie alike. */
#ifndef FL_UPDATE_H
#define FL_UPDATE_H
#define FL_CHUNK_ELEMENTS 8192
/* A launch's argument has 4096 bytes at most. */
#define FL_UPDATE_BYTES 4088

/* A number of the rule: a value, or float64 in the device's memory, of one element (step 0) or of
 * one for each row (step 1). */
struct fl_rule_number {
    double value;
    const double *found;
    int64_t step;
};

template <int N> struct fl_rule_row {
    int64_t numel, first, place;    /* elements; the first block; where its numbers lie */
    char *data[N];
};

constexpr int fl_rows_of_launch(int operands, int numbers) {
    return (FL_UPDATE_BYTES - 8 - (int)sizeof(fl_rule_number) * numbers)
           / (24 + (int)sizeof(char *) * operands);
}

template <int N, int S> struct fl_update {
    int32_t rows, unused;
    fl_rule_number numbers[S];
    fl_rule_row<N> row[fl_rows_of_launch(N, S)];
};
#endif
