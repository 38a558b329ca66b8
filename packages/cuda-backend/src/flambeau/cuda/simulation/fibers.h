/* Fibers: functions with stacks of their own that take turns on one processor thread. */
#include <setjmp.h>
#include <sys/mman.h>

/* Keeps the caller's registers on its stack and its stack pointer in *from, and goes on at `to`. */
extern "C" __attribute__((visibility("hidden"))) void fl_switch(void **from, void *to);
#if defined(__x86_64__)
#define FL_SAVED_WORDS 6
asm(R"(
    .text
fl_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
#elif defined(__aarch64__)
#define FL_SAVED_WORDS 20
asm(R"(
    .text
fl_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp d8, d9, [sp, #80]
    stp d10, d11, [sp, #96]
    stp d12, d13, [sp, #112]
    stp d14, d15, [sp, #128]
    stp x29, x30, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp d8, d9, [sp, #80]
    ldp d10, d11, [sp, #96]
    ldp d12, d13, [sp, #112]
    ldp d14, d15, [sp, #128]
    ldp x29, x30, [sp, #144]
    add sp, sp, #160
    ret
)");
#else
#error "the simulation of kernels switches stacks on x86-64 and aarch64 only"
#endif

#define FL_STACK_BYTES (256 << 10)

/* Stacks that no fiber uses: most threads never wait, and run on one stack in turn. */
static char *fl_free_stacks[1024];
static int fl_free_stack_count;

static char *fl_take_stack(void) {
    if (fl_free_stack_count)
        return fl_free_stacks[--fl_free_stack_count];
    void *made = mmap(NULL, FL_STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
        fputs("no memory for the stack of a simulated thread\n", stderr);
        abort();
    }
    return (char *)made;
}

static void fl_give_stack(char *stack) {
    fl_free_stacks[fl_free_stack_count++] = stack;
}

/* The stack pointer of a fiber that begins at `entry`, which never returns. */
static void *fl_new_fiber(char *stack, void (*entry)(void)) {
    void **top = (void **)(stack + FL_STACK_BYTES) - 2;
#if defined(__x86_64__)
    top -= 2;                   /* a function begins 8 bytes below a multiple of 16 */
    *top = (void *)entry;
    top -= FL_SAVED_WORDS;
    memset(top, 0, FL_SAVED_WORDS * sizeof(void *));
#else
    top -= FL_SAVED_WORDS;
    memset(top, 0, FL_SAVED_WORDS * sizeof(void *));
    top[FL_SAVED_WORDS - 1] = (void *)entry;
#endif
    return top;
}
