/* A call of a kernel of our own, which sees whole tensors: packed by the launch path, read by the
 * kernels. */
#ifndef FL_PACKET_H
#define FL_PACKET_H
#define FL_WORDS 64
#define FL_VIEWS 16

struct fl_view {
    char *data;                     /* null for an optional tensor that is not given */
    int32_t dtype, ndim;            /* dtype: a code of flambeau/abi.h, or FL_IS_NUMBER */
    int64_t numel;
    int64_t shape[FL_DIMS], strides[FL_DIMS];       /* in elements */
};
/* A number where a tensor might be: as an integer in shape[0], as two doubles in strides. */
#define FL_IS_NUMBER 254

/* Views are the operator's tensors in order, then its results, then the tensors of its lists. */
struct fl_head {
    int64_t items;                  /* of this launch: elements, rows or tiles */
    int64_t rows, length;           /* what the call's dimensions leave, and how long they are */
    int64_t parts, width;           /* of a row, or of a tile; of a run that is merged */
    char *scratch[3];               /* of the family, and the program's own */
    int32_t kept, axis;             /* dimensions before those of a row; the dimension named */
    int32_t listed, unused;         /* the first tensor of the lists */
    uint8_t starts[24];             /* where the words of each parameter begin */
    int64_t words[FL_WORDS];
};

template <int N> struct fl_packet : fl_head {
    fl_view views[N];
};
#endif
