/* Runs $name.program once. Words are files of inputs in order, the bare bytes of their elements in
 * C order; inputs that are not given are zeros. Outputs are written to output_0.raw and so on. */
#include "$name.h"
#include <stdio.h>
#include <stdlib.h>

static void check(int status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", flambeau_status_name(status), flambeau_error_text());
        exit(1);
    }
}

static void read_file(const char *path, void *to, size_t bytes) {
    FILE *file = fopen(path, "rb");
    if (!file || fread(to, 1, bytes, file) != bytes) {
        fprintf(stderr, "%s: cannot be read, or has fewer than %zu bytes\n", path, bytes);
        exit(1);
    }
    fclose(file);
}

static void show(int number, const flambeau_tensor *tensor) {
    char path[32];
    size_t bytes = flambeau_dtype_size(tensor->dtype);
    printf("output %d: %s[", number, flambeau_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->ndim; i++) {
        printf("%s%lld", i ? ", " : "", (long long)tensor->shape[i]);
        bytes *= (size_t)tensor->shape[i];
    }
    printf("]");
    if (tensor->dtype == FLAMBEAU_FLOAT32)
        for (size_t i = 0; i < bytes / sizeof(float) && i < 8; i++)
            printf(" %g", ((const float *)tensor->data)[i]);
    printf("\n");
    snprintf(path, sizeof path, "output_%d.raw", number);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(tensor->data, 1, bytes, file) != bytes || fclose(file)) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
}

int main(int count, char **words) {
    flambeau_program *program;
    flambeau_session *session;
$sizes    flambeau_tensor inputs[] = {
$inputs    };
    flambeau_tensor outputs[${upper}_OUTPUTS + 1] = {{0}};  /* NULL: in the session's memory */
#ifdef BLAS
    check(flambeau_use_blas(BLAS));
#endif
    check(flambeau_load(PROGRAM, &program));
    check(flambeau_session_new(program, &session));
    for (int i = 0; i < ${upper}_INPUTS; i++) {
        inputs[i].data = calloc(inputs[i].bytes + 1, 1);
        if (i + 1 < count)
            read_file(words[i + 1], inputs[i].data, inputs[i].bytes);
    }
    check(flambeau_run(session, inputs, ${upper}_INPUTS, outputs, ${upper}_OUTPUTS));
    for (int i = 0; i < ${upper}_OUTPUTS; i++)
        show(i, &outputs[i]);
    for (int i = 0; i < ${upper}_INPUTS; i++)
        free(inputs[i].data);
    flambeau_session_free(session);
    flambeau_program_free(program);
    return 0;
}
