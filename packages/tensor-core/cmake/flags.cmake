# Compiler flags. No fast-math and no contraction: results must agree to the bit across
# layouts, thread counts and ISA levels that have FMA.
set(FLOAT_FLAGS -ffp-contract=off -fno-math-errno -fno-trapping-math)
set(WARNING_FLAGS -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
# What computes neither throws nor is thrown through: no tables to unwind by.
set(NO_UNWINDING -fno-exceptions -fno-asynchronous-unwind-tables)
set(KERNEL_FLAGS -O3 ${FLOAT_FLAGS} ${NO_UNWINDING})
# As if libstdc++'s special functions (std::beta and so on) had been read: <cmath> makes 150
# instances of their templates in each file, which takes longer than half of our files.
add_compile_definitions(_GLIBCXX_BITS_SPECFUN_H)
# Of what -O2 adds to -O1, that which calls gain by; the rest takes half as long again to compile.
# The two warnings are false ones of -O1.
set(CALL_FLAGS -O2)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CALL_FLAGS -O1 -finline-functions -finline-small-functions -findirect-inlining
    -fpartial-inlining -foptimize-sibling-calls -fstrict-aliasing -fipa-ra -fcaller-saves
    -freorder-functions -freorder-blocks-algorithm=stc -freorder-blocks-and-partition
    -falign-functions -falign-jumps -falign-loops -fgcse -fcse-follow-jumps -fschedule-insns2
    -fpeephole2 -fcrossjumping
    -Wno-stringop-overread -Wno-maybe-uninitialized)
endif()
# A function a section: the runtime's library leaves out what only Python's bindings call.
set(BASE_FLAGS -O2 ${FLOAT_FLAGS} -ffunction-sections)
# Jumps and functions need not begin on 16 bytes: that made the libraries 2 % longer, and nothing
# faster. Loops of kernels do.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(UNALIGNED -fno-align-functions -fno-align-jumps -fno-align-labels)
  list(APPEND KERNEL_FLAGS ${UNALIGNED})
  list(APPEND BASE_FLAGS ${UNALIGNED} -fno-align-loops)
endif()
set(CYTHON_FLAGS ${FLOAT_FLAGS})
# What Cython writes is calls, and a jump after each for errors: these passes find little there.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND CYTHON_FLAGS -fno-tree-dominator-opts -fno-tree-loop-optimize
    -fno-move-loop-invariants)
endif()
# -O3's vectors, without its many copies of loops.
set(VECTOR_FLAGS -ftree-vectorize -fvect-cost-model=dynamic)
# Kernel files whose vectors are written out: -O3 makes copies of loops that are no faster, and
# two passes of GCC find little in long runs of the same instruction.
set(WRITTEN_OUT conv/kernels/conv conv/kernels/conv_tiles conv/kernels/quantized_conv
  conv/kernels/quantized_tiles
  matmul/kernels/gemm matmul/kernels/gemm_pairs matmul/kernels/gemm_tiles matmul/kernels/quantized
  matmul/kernels/quantized_tiles pointwise/kernels/narrow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(WRITTEN_OUT_FLAGS -fno-tree-pre -fno-tree-vrp)
endif()
# Kernel files that -O3 makes longer than faster. Those of the second list lose by short loops that
# stay loops.
set(COMPACT common/kernels/tile pointwise/kernels/quantized_values pool/kernels/byte_maxima
  pool/kernels/pool resample/kernels/grid)
set(PEELED matmul/kernels/weight_only reduce/kernels/softmax)
# Code that runs once, or is glue between calls: more takes longer to compile, and nobody sees it.
set(GLUE_FLAGS -O1 -Wno-stringop-overread)
set(SMALL_FLAGS -Os)    # the same in libraries, where it is to be short
set(ONCE fft/fft_cache fft/fft_plan replay/prepare replay/recorder)
set(TABLE_FLAGS -Og ${NO_UNWINDING})

# Passes that find little in loops of arithmetic, and take a seventh of the time at v3 and v4. The
# kernels named here run 1.05 to 2 times as long without.
set(SKIPPED_PASSES thread-jumps split-paths code-hoisting tree-dominator-opts tree-vrp)
set(UNSKIPPED common/kernels/tile conv/kernels/conv index/kernels/indices pointwise/kernels/half
  pool/kernels/pool recurrent/kernels/recurrent reduce/kernels/scan reduce/kernels/scan_more
  resample/kernels/resample sort/kernels/select statistics/kernels/moments)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(TRANSFORM SKIPPED_PASSES PREPEND -f OUTPUT_VARIABLE UNSKIPPED_FLAGS)
  list(TRANSFORM SKIPPED_PASSES PREPEND -fno-)
else()
  set(SKIPPED_PASSES)
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(ISA_LEVELS v2 v3 v4)
  # v2 is for processors from before 2013: its kernels are to be short, in the library and to compile.
  set(ISA_FLAGS_v2 -march=x86-64-v2 -Os -Wno-maybe-uninitialized)
  set(ISA_FLAGS_v3 -march=x86-64-v3 ${SKIPPED_PASSES})
  set(ISA_FLAGS_v4 -march=x86-64-v4 -mprefer-vector-width=512 ${SKIPPED_PASSES})
  # Kernel files that are less than 1.3 times as fast at v4 as at v3, which serves there as well, and
  # special functions, which are long and seldom hot.
  set(NOT_FOR_v4 accumulate argmax blocks byte_maxima distance divide fft grid indices integers
    narrow power pw_arithmetic pw_comparison pw_loops pw_special quantized_values reduce reduce_map
    resample scan_more select transpose unscale)
  set(INSTEAD_OF_v4 v3)
  # v2 runs the bytecode of formulas. It has loops for what an instruction of the bytecode does.
  set(NOT_FOR_v2 pw_activations pw_arithmetic pw_comparison pw_loss pw_numbers pw_special
    pw_transcendental)
  set(INSTEAD_OF_v2 program)
  list(APPEND BASE_FLAGS -march=x86-64-v2)
  list(APPEND CYTHON_FLAGS -march=x86-64-v2)
else()
  set(ISA_LEVELS neon) # one baseline; sources ask for __x86_64__
endif()

# One level alone, for short builds while working on kernels. Every file has kernels there.
if(FLAMBEAU_ISA STREQUAL "native")
  file(STRINGS /proc/cpuinfo cpu REGEX "^flags" LIMIT_COUNT 1)
  set(FLAMBEAU_ISA v2)
  if(cpu MATCHES " avx512bw.* avx512vl")
    set(FLAMBEAU_ISA v4)
  elseif(cpu MATCHES " fma .*avx2 ")
    set(FLAMBEAU_ISA v3)
  endif()
endif()
if(FLAMBEAU_ISA AND ISA_LEVELS MATCHES "v3")
  set(ISA_LEVELS ${FLAMBEAU_ISA})
  set(NOT_FOR_v4)
  add_compile_definitions(FL_ONLY_ISA=${FLAMBEAU_ISA})
endif()

if(FLAMBEAU_DEBUG)
  set(CMAKE_CXX_FLAGS_RELEASE "")  # without -DNDEBUG
  foreach(list CALL_FLAGS GLUE_FLAGS SMALL_FLAGS TABLE_FLAGS VECTOR_FLAGS)
    set(${list} -O0 -g -D_GLIBCXX_ASSERTIONS)
  endforeach()
  foreach(list BASE_FLAGS KERNEL_FLAGS CYTHON_FLAGS ISA_FLAGS_v2)
    list(APPEND ${list} -O0 -g -D_GLIBCXX_ASSERTIONS)
  endforeach()
endif()
if(FLAMBEAU_SANITIZE)
  set(SMALL_FLAGS -O1)  # with more GCC 12 crashes on some
  set(SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer -g1)
  foreach(list BASE_FLAGS KERNEL_FLAGS CYTHON_FLAGS)
    list(APPEND ${list} -O1 ${SANITIZE_FLAGS})
  endforeach()
endif()

# Files that use Python's objects. All other C++ is compiled without Python's headers.
set(NEEDS_PYTHON "/(composite_[a-z0-9_]+|pointwise/update|index/expanded)[.]cpp$" )
string(PREPEND NEEDS_PYTHON "/native/(deferral|replay|overrides)/|"
  "/dispatch/(api|box|call|caller|captures|composite|dispatch|inplace_keyword|older_order|parse|"
  "registry|resize|size|storage|tensor|tensor_freelist|transfer|unbox)[.]cpp$|"
  "/common/sparse[.]cpp$|")
# Words that an object of this Python begins with.
set(OBJECT_WORDS 2)
execute_process(COMMAND ${Python_EXECUTABLE} -c
  "import sysconfig; print(4 if sysconfig.get_config_var('Py_GIL_DISABLED') else 2)"
  OUTPUT_VARIABLE OBJECT_WORDS OUTPUT_STRIP_TRAILING_WHITESPACE)

# flambeau_target(target [NO_PYTHON]): what every target of ours shares, such as where headers are.
function(flambeau_target target)
  target_include_directories(${target} PRIVATE ${CORE}/include ${CORE}/native ${CORE} ${GEN})
  target_compile_definitions(${target} PRIVATE FLAMBEAU_VERSION="${PROJECT_VERSION}"
    FL_OBJECT_WORDS=${OBJECT_WORDS})
  if("NO_PYTHON" IN_LIST ARGN)
    target_compile_definitions(${target} PRIVATE FL_NO_PYTHON)
  else()
    target_include_directories(${target} PRIVATE ${Python_INCLUDE_DIRS})
  endif()
  if(TARGET generated)
    add_dependencies(${target} generated)
  endif()
endfunction()

# Fail the link when two ISA levels define the same weak symbol (cmake/check_isa_symbols.py).
function(check_isa_symbols target)
  list(LENGTH ISA_LEVELS levels)
  if(levels LESS 2 OR FLAMBEAU_SANITIZE OR FLAMBEAU_DEBUG) # at -O1 the standard library's own inlines remain
    return()
  endif()
  set(arguments base $<TARGET_OBJECTS:base> $<TARGET_OBJECTS:compute>)
  foreach(level IN LISTS ISA_LEVELS)
    list(APPEND arguments ${level} $<TARGET_OBJECTS:kernels_${level}>)
  endforeach()
  add_custom_command(TARGET ${target} PRE_LINK
    COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/check_isa_symbols.py
      ${CMAKE_NM} ${arguments}
    COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

# Headers that most files of a kind read, and that take longest: read once per target. Each file
# still includes what it uses.
set(KERNEL_HEADERS <math.h> <stdint.h> <string.h> <utility>)
set(KERNEL_HEADERS_v3 <immintrin.h>)
set(KERNEL_HEADERS_v4 <immintrin.h>)
set(BASE_HEADERS <algorithm> <math.h> ${CORE}/native/dispatch/core.h)

# precompile(target headers...): -fpch-preprocess lets compiler caches see through it.
function(precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()
