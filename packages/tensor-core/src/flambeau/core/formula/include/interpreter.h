/* Runs packed bytecode (bytecode.py) on tiles of FL_BC_BYTES in the widest registers, or of twice
 * that. */

struct fl_bc_head {
    int32_t magic, inputs, outputs, registers, consts, prologue, code, width;
};
struct fl_bc_line {
    uint16_t op, target, arg[5];
};

#ifndef FL_BC_LOOP
#define FL_BC_LOOP(N) fl_bc_loop##N
#endif
/* An opcode whose loop is compiled elsewhere (loops.h), and one that is a kernel of its own, whose
 * arguments stay as they are (`used`): its call is a jump. */
#define FL_BC_ELSEWHERE(N) void FL_BC_LOOP(N)(const uint16_t *line, void *const *r, int64_t n);
#define FL_BC_CALL(N, ARITY, KERNEL)                                                             \
    __attribute__((noinline, used))                                                              \
    static void FL_BC_LOOP(N)(const uint16_t *line, void *const *r, int64_t n) {                 \
        const void *in[ARITY];                                                                   \
        for (int i = 0; i < ARITY; i++) in[i] = r[line[2 + i]];                                  \
        void *const out[] = {r[line[1]]};                                                        \
        KERNEL(nullptr, in, out, nullptr, n);                                                    \
    }

/* OPCODES */

/* A switch, not a table of functions: its cases are distances of four bytes, where pointers take
 * eight, and 24 of relocations. */
#define FL_BC_CASE(N) case N: return FL_BC_LOOP(N)(&line->op, r, n);
__attribute__((noinline))
static void fl_bc_call(const fl_bc_line *line, void *const *r, int64_t n) {
    switch (line->op - FL_BC_FIRST) {
/* CASES */
    }
}

enum { FL_BC_CONST, FL_BC_SCALAR, FL_BC_PART, FL_BC_PAIR };
enum { FL_BC_F32, FL_BC_F64, FL_BC_I32, FL_BC_I64, FL_BC_B };

template <class T> static void fl_bc_fill(void *target, T value, int64_t n) {
    T *d = (T *)target;
    for (int64_t i = 0; i < n; i++) d[i] = value;
}

static void fl_bc_constant(void *target, int kind, int64_t bits, int64_t n) {
    switch (kind) {
    case FL_BC_F32:
    case FL_BC_I32: return fl_bc_fill(target, (int32_t)bits, n);
    case FL_BC_B: return fl_bc_fill(target, (uint8_t)(bits != 0), n);
    default: return fl_bc_fill(target, bits, n);
    }
}

/* part: 0 for a real scalar, 2 and 3 for the parts of a complex one. */
static void fl_bc_scalar(void *target, int kind, int part, const fl_scalar *s, int64_t n) {
    const double number = part ? s->c[part - 2] : s->f;
    switch (kind) {
    case FL_BC_F32: return fl_bc_fill(target, (float)number, n);
    case FL_BC_F64: return fl_bc_fill(target, number, n);
    case FL_BC_I32: return fl_bc_fill(target, (int32_t)s->i, n);
    case FL_BC_I64: return fl_bc_fill(target, s->i, n);
    default: return fl_bc_fill(target, (uint8_t)(s->i != 0), n);
    }
}

template <class T> static void fl_bc_part(void *target, const void *source, int part, int64_t n) {
    T *d = (T *)target;
    const T *a = (const T *)source + part;
    for (int64_t i = 0; i < n; i++) d[i] = a[2 * i];
}

template <class T> static void fl_bc_pair(void *target, const void *re, const void *im, int64_t n) {
    T *d = (T *)target;
    const T *a = (const T *)re, *b = (const T *)im;
    for (int64_t i = 0; i < n; i++) {
        d[2 * i] = a[i];
        d[2 * i + 1] = b[i];
    }
}

static void fl_bc_step(const fl_bc_line *line, void *const *r, int64_t n) {
    const bool single = line->arg[2] == FL_BC_F32;
    switch (line->op) {
    case FL_BC_PART:
        return single ? fl_bc_part<float>(r[line->target], r[line->arg[0]], line->arg[1], n)
                      : fl_bc_part<double>(r[line->target], r[line->arg[0]], line->arg[1], n);
    case FL_BC_PAIR:
        return single ? fl_bc_pair<float>(r[line->target], r[line->arg[0]], r[line->arg[1]], n)
                      : fl_bc_pair<double>(r[line->target], r[line->arg[0]], r[line->arg[1]], n);
    default:
        return fl_bc_call(line, r, n);
    }
}

/* Ask for the operands of the next tile: while one instruction after another runs over this one,
 * the hardware does not see the streams go on. */
static void fl_bc_prefetch(void *const *r, const int32_t *sizes, int inputs, int64_t tile) {
    for (int i = 0; i < inputs; i++) {
        const char *next = (const char *)r[i] + tile * sizes[i];
        for (int64_t at = 0; at < tile * sizes[i]; at += 64) __builtin_prefetch(next + at);
    }
}

/* The copies of results to outputs, which stand at the end of the code. */
static int fl_bc_copies(const fl_bc_head *head, const fl_bc_line *body) {
    int copies = 0;
    for (; copies < head->code; copies++) {
        const int op = body[head->code - 1 - copies].op;
        if (op < FL_BC_FIRST || op > FL_BC_FIRST + FL_BC_B) break;
    }
    return copies < head->outputs ? copies : head->outputs;
}

/* Whether a result may be computed in its output's memory: no operand that is still to be read
 * (bits of line->arg[1]), nor another output, lies there. */
static bool fl_bc_may_write(const fl_bc_head *head, const fl_bc_line *line, const int32_t *sizes,
                            const void *const *in, void *const *out, int64_t n) {
    const int number = line->target - head->inputs;
    const char *begin = (const char *)out[number], *end = begin + n * sizes[line->target];
    if (line->arg[1] & FL_BC_NEVER) return false;
    for (int i = 0; i < head->inputs + head->outputs; i++) {
        const bool is_input = i < head->inputs;
        const char *other = (const char *)(is_input ? in[i] : out[i - head->inputs]);
        const bool matters = is_input ? line->arg[1] >> i & 1 : i != line->target;
        if (matters && other < end && begin < other + n * sizes[i]) return false;
    }
    return true;
}

/* `streams` says that the operands come from memory: small tiles, and the next one is asked for
 * while this one is computed. Operands that lie in a cache are there before they are asked for, and
 * a larger tile spends less time between the loops, as long as all registers fit the first cache.
 * */
static int64_t fl_bc_tile(const fl_bc_head *head, bool streams) {
    const bool small = head->registers - head->outputs <= FL_BC_SMALL_REGISTERS;
    return (small && !streams ? 2 : 1) * FL_BC_BYTES / head->width;
}

template <bool streams>
static void fl_bc_run(const void *code, const void *const *in, void *const *out,
                      const fl_scalar *scalars, int64_t n) {
    const fl_bc_head *head = (const fl_bc_head *)code;
    if (head->magic != FL_BC_MAGIC || head->registers > FL_BC_REGISTERS) return;
    const int64_t *consts = (const int64_t *)(head + 1);
    const int32_t *sizes = (const int32_t *)(consts + head->consts);
    const int shared = head->inputs + head->outputs;
    const fl_bc_line *prologue = (const fl_bc_line *)(sizes + shared);
    const fl_bc_line *body = prologue + head->prologue;
    const int64_t tile = fl_bc_tile(head, streams), pitch = tile * head->width + 64;
    /* Registers lie close together, a cache line apart, so that they fit the first cache. */
    alignas(64) char scratch[FL_BC_REGISTERS * (FL_BC_BYTES + 64)];
    void *r[FL_BC_REGISTERS];
    for (int i = 0; i < head->registers; i++) r[i] = scratch + i * pitch;
    const int64_t filled = n < tile ? n : tile;
    for (const fl_bc_line *line = prologue; line < body; line++) {
        if (line->op == FL_BC_CONST)
            fl_bc_constant(r[line->target], line->arg[2], consts[line->arg[0]], filled);
        else
            fl_bc_scalar(r[line->target], line->arg[2], line->arg[1], scalars + line->arg[0],
                         filled);
    }
    const int copies = fl_bc_copies(head, body);
    const fl_bc_line *last = body + head->code - copies;
    bool direct[FL_BC_REGISTERS];
    for (int i = 0; i < copies; i++)
        direct[i] = fl_bc_may_write(head, last + i, sizes, in, out, n);
    for (int64_t start = 0; start < n; start += tile) {
        const int64_t m = n - start < tile ? n - start : tile;
        for (int i = 0; i < head->inputs; i++)
            r[i] = (char *)in[i] + start * sizes[i];
        for (int i = head->inputs; i < shared; i++)
            r[i] = (char *)out[i - head->inputs] + start * sizes[i];
        for (int i = 0; i < copies; i++)
            if (direct[i]) r[last[i].arg[0]] = r[last[i].target];
        if (streams && n - start >= 2 * tile) fl_bc_prefetch(r, sizes, head->inputs, tile);
        for (const fl_bc_line *line = body; line < last; line++) fl_bc_step(line, r, m);
        for (int i = 0; i < copies; i++)
            if (r[last[i].arg[0]] != r[last[i].target])
                fl_bc_call(last + i, r, m);
    }
}

void FL_BC_NAME(const void *code, const void *const *in, void *const *out,
                const fl_scalar *scalars, int64_t n) {
    fl_bc_run<false>(code, in, out, scalars, n);
}

void FL_BC_STREAMS(const void *code, const void *const *in, void *const *out,
                   const fl_scalar *scalars, int64_t n) {
    fl_bc_run<true>(code, in, out, scalars, n);
}
