/* How a pointwise operator reaches its kernels. The generator fills fl_pointwise structures. */
#pragma once
#include "dispatch/core.h"
#include "opdef_enums.h"

static const int FL_TILE = 1024;            /* elements of a tile */
static const int FL_PW_MAX_IN = 14;
static const int FL_PW_MAX_OUT = 4;
static const int FL_PW_MAX_SCALARS = 14;

union fl_scalar {
    double f;
    int64_t i;
    double c[2];
};

/* in and out: contiguous, of the kernel's kinds; n elements. `code` belongs to rows that were
 * registered at run time (bytecode), compiled kernels ignore it. */
typedef void (*fl_pw_fn)(const void *code, const void *const *in, void *const *out,
                         const fl_scalar *scalars, int64_t n);

/* A number of an operand with which the formula is another one: see opdefs/literal.py. */
struct fl_pw_literal {
    double value;
    uint32_t kernel;                        /* row number in the kernel table */
};

struct fl_pointwise {
    uint8_t n_in, n_scalars, n_out;
    uint8_t kinds;                          /* bit k: there is a kernel number k */
    uint8_t operand[FL_PW_MAX_IN];          /* parameter number of each operand */
    uint8_t is_mask[FL_PW_MAX_IN];          /* operand is bool whatever the others are */
    uint8_t scalar[FL_PW_MAX_SCALARS];      /* parameter number of each run-time scalar */
    uint8_t result_kind[FL_KIND_COUNT];     /* kind of the outputs, for each compute kind */
    uint8_t writes[FL_PW_MAX_OUT];          /* operand an output is written to, 255 for none */
    uint32_t kernel;                        /* row number in the kernel table */
    fl_pw_fn run_code;                      /* rows registered at run time: the interpreter */
    const void *code[FL_KIND_COUNT];        /* and its bytecode */
    const fl_pw_literal *literals;          /* null for most */
    uint8_t n_literals, literal_param;      /* that parameter is the last operand */
};

/* Kernel table of the running ISA level: [row][kind]. Behind the kinds stands the kernel of uint64
 * where order or division make it another one than that of int64; its tiles are int64. */
static const int FL_PW_UNSIGNED = FL_KIND_COUNT;
static const int FL_KERNEL_COUNT = FL_KIND_COUNT + 1;
extern fl_pw_fn fl_pw_kernels[][FL_KERNEL_COUNT];

/* Movement of tiles between strided memory of any dtype and contiguous memory of a kind:
 * `rows` x `cols` elements, element strides s1 (rows) and s0 (columns). Per ISA level. FL_K_RAW16
 * goes with FL_I16 alone. */
typedef void (*fl_gather_fn)(void *tile, const void *src, int64_t rows, int64_t cols, int64_t s1,
                             int64_t s0);
typedef void (*fl_scatter_fn)(void *dst, const void *tile, int64_t rows, int64_t cols, int64_t s1,
                              int64_t s0);
struct fl_tile_moves {
    fl_gather_fn gather[FL_DTYPE_COUNT][FL_KIND_COUNT + 1];
    fl_scatter_fn scatter[FL_KIND_COUNT + 1][FL_DTYPE_COUNT];
};
extern const fl_tile_moves *fl_moves;
/* Moves elements of so many bytes as they are. */
static inline fl_gather_fn fl_move_of_size(int64_t size) {
    return size == 1   ? fl_moves->gather[FL_BOOL][FL_K_BOOL]
           : size == 2 ? fl_moves->gather[FL_I16][FL_K_RAW16]
           : size == 4 ? fl_moves->gather[FL_F32][FL_K_F32]
           : size == 8 ? fl_moves->gather[FL_I64][FL_K_I64]
                       : fl_moves->gather[FL_C128][FL_K_C128];
}
/* The same back to strided memory. */
static inline fl_scatter_fn fl_move_back_of_size(int64_t size) {
    return size == 1   ? fl_moves->scatter[FL_K_BOOL][FL_BOOL]
           : size == 2 ? fl_moves->scatter[FL_K_RAW16][FL_I16]
           : size == 4 ? fl_moves->scatter[FL_K_F32][FL_F32]
           : size == 8 ? fl_moves->scatter[FL_K_I64][FL_I64]
                       : fl_moves->scatter[FL_K_C128][FL_C128];
}
fl_pw_fn fl_bytecode_interpreter(bool streams);     /* streams: operands come from memory */
void fl_kernels_init(void);                 /* picks the tables for the ISA level */

/* One operand of the driver. */
struct fl_operand {
    char *data;
    int dtype;                              /* of memory */
    int kind;                               /* of the tile */
    int64_t strides[FL_MAX_DIMS];           /* over the output's dimensions, 0 where broadcast */
};
/* Strides of a tensor over the output's dimensions; 0 where it is broadcast. */
void fl_operand_strides(const fl_tensor *t, int ndim, const int64_t *shape, int64_t *strides);
/* The dtype that a call's results have where no target is given. */
int fl_pw_result_dtype(const fl_op *op, const fl_value *in);
/* The order in memory of a result of this shape; false for C order. See fl_memory_order. */
bool fl_pw_memory_order(const fl_pointwise *pw, const fl_value *in, int ndim,
                        const int64_t *shape, int *order);
/* A number as one element of a kind. */
void fl_pw_load_number(const fl_value &v, int kind, void *element);
void fl_pw_load_scalars(const fl_pointwise *pw, const fl_value *in, int kind, fl_scalar *scalars);
fl_pw_fn fl_pw_kernel(const fl_pointwise *pw, int kind, const fl_value *in);
/* Run a kernel over operands that share a shape; ops holds n_in inputs, then n_out outputs. */
void fl_pw_drive(fl_pw_fn fn, const void *code, const fl_scalar *scalars, int n_in, int n_out,
                 fl_operand *ops, int ndim, const int64_t *shape);
