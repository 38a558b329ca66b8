/* Memory for machine code that was made while the program runs: first written, then executable,
 * never both. */
#ifndef FLAMBEAU_RUNTIME_CODE_H
#define FLAMBEAU_RUNTIME_CODE_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
char *fl_code_map(const char *image, size_t n);     /* a copy that may be written; or NULL */
int fl_code_seal(char *base, size_t n);             /* from now on it may only be run; or -1 */
void fl_code_unmap(char *base, size_t n);
void *fl_code_symbol(const char *name);             /* a function of the C library, or NULL */
#ifdef __cplusplus
}
#endif
#endif
