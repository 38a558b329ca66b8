/* The table of operators from what the generator packed. */
#include "standalone/packed.h"

int fl_call_pointwise(const fl_op *, const fl_value *, int, fl_value *);
extern "C" int fl_infer_pointwise(const fl_op *, const fl_value *, int, fl_spec *);
extern "C" int fl_run_pointwise(const fl_op *, const fl_value *, int, fl_tensor *const *);

/* A text, and the one behind it. */
static const char *next_text(const char *&texts) {
    const char *text = texts;
    texts += strlen(text) + 1;
    return text;
}

static void unpack_params(const PackedTable &table) {
    for (int i = 0; i < table.param_count; i++) {
        const PackedParam &packed = table.params[i];
        table.all_params[i] = {table.param_names + packed.name, packed.role, packed.flags, {},
                               table.defaults[packed.fallback]};
    }
}

static void copy_bytes(const uint8_t *&from, uint8_t *to, int count) {
    memcpy(to, from, (size_t)count);
    from += count;
}

static const uint8_t *unpack_pointwise(const uint8_t *from, fl_pointwise &pw) {
    copy_bytes(from, &pw.n_in, 4);      /* n_in, n_scalars, n_out, kinds */
    pw.kernel = (uint32_t)(from[0] | from[1] << 8);
    from += 2;
    copy_bytes(from, pw.operand, pw.n_in);
    copy_bytes(from, pw.is_mask, pw.n_in);
    copy_bytes(from, pw.scalar, pw.n_scalars);
    copy_bytes(from, pw.result_kind, FL_KIND_COUNT);
    copy_bytes(from, pw.writes, pw.n_out);
    return from;
}

static void unpack_operator(const PackedTable &table, const PackedOp &packed, fl_op &op) {
    const uint64_t counts = FL_PARAMETER_COUNTS(packed.positional, packed.required);
    op.dtype_rule = packed.dtype_rule;
    op.nparams = packed.nparams;
    op.nouts = packed.nouts;
    op.params = table.all_params + packed.params;
    op.call = fl_call_generic;
    op.flags = packed.flags;
    op.index = (uint32_t)(&op - fl_builtin_ops);
    op.reserved[2] = counts;
}

void unpack_operators(const PackedTable &table) {
    unpack_params(table);
    const char *texts = table.op_names;
    const uint8_t *bytes = table.pointwise;
    int pointwise = 0, reductions = 0;
    for (int i = 0; i < fl_builtin_count; i++) {
        fl_op &op = fl_builtin_ops[i];
        op.struct_size = sizeof op;
        op.category = table.ops[i].category;
        op.name = next_text(texts);
        op.overload = next_text(texts);
        if (op.category != FL_COMPOSITE)
            unpack_operator(table, table.ops[i], op);
        if (op.category == FL_POINTWISE) {
            fl_pointwise &pw = table.all_pointwise[pointwise++];
            bytes = unpack_pointwise(bytes, pw);
            op.infer = fl_infer_pointwise;
            op.run_cpu = fl_run_pointwise;
            op.call = fl_call_pointwise;
            op.kernels = &pw;
        } else if (op.category == FL_REDUCTION) {
            table.all_options[reductions] = table.options[reductions];
            op.kernels = &table.all_options[reductions++];
        }
    }
    fl_pointwise &with_literals = table.all_pointwise[table.literals->pointwise];
    with_literals.literals = table.literals->values;
    with_literals.n_literals = table.literals->count;
    with_literals.literal_param = table.literals->param;
}
