/* Which of the kernels compiled for several instruction sets this process runs.
 *
 * Files in kernels/ are compiled once per level with -DFL_ISA=v2 (v3, v4) and the matching
 * -march=x86-64-v2 (v3, v4); other processors have the single level `neon`. FLAMBEAU_ISA=v3 pins
 * a lower level; a higher one than the processor has is ignored with a line on stderr. */
#ifndef FLAMBEAU_RUNTIME_ISA_H
#define FLAMBEAU_RUNTIME_ISA_H

enum fl_isa { FL_ISA_NEON = 1, FL_ISA_V2 = 2, FL_ISA_V3 = 3, FL_ISA_V4 = 4 };

#ifdef __cplusplus
extern "C" {
#endif
int fl_isa_level(void);             /* an fl_isa; decided once per process */
const char *fl_isa_name(int level); /* "neon", "v2", "v3", "v4" */
bool fl_has_vnni(void);             /* dot products of four bytes, no part of v4 */
bool fl_has_amx(void);              /* tiles of bfloat16 and int8, which the system grants */
#ifdef __cplusplus
}
#endif
#endif
