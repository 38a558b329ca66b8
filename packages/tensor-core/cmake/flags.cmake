# Compiler flags. No fast-math and no contraction: results must agree to the bit across
# layouts, thread counts and ISA levels that have FMA.
set(FLOAT_FLAGS -ffp-contract=off -fno-math-errno -fno-trapping-math)
set(WARNING_FLAGS -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
set(BASE_FLAGS -O2 ${FLOAT_FLAGS})
set(KERNEL_FLAGS -O3 ${FLOAT_FLAGS})
set(CYTHON_FLAGS -O2 ${FLOAT_FLAGS})
# Code that runs once, or is glue between calls: -O2 takes two to eight times as long to compile
# and nobody sees a difference. The warning is a false one of -O1 in Cython's own helpers.
set(GLUE_FLAGS -O1 -Wno-stringop-overread)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(ISA_LEVELS v2 v3 v4)
  # v2 is for processors from before 2013: vectors, without -O3's many copies of each loop.
  set(ISA_FLAGS_v2 -march=x86-64-v2 -O2 -ftree-vectorize -fvect-cost-model=dynamic)
  set(ISA_FLAGS_v3 -march=x86-64-v3)
  set(ISA_FLAGS_v4 -march=x86-64-v4 -mprefer-vector-width=512)
  # Kernel files that are hardly faster at v4 than at v3, which serves there as well.
  set(NOT_FOR_v4 accumulate grid transpose pw_complex_grad_0 pw_complex_grad_1)
  list(APPEND BASE_FLAGS -march=x86-64-v2)
  list(APPEND CYTHON_FLAGS -march=x86-64-v2)
else()
  set(ISA_LEVELS neon) # one baseline; sources ask for __x86_64__
endif()

# The level whose kernels a level has for complex derivatives.
foreach(level IN LISTS ISA_LEVELS)
  set(COMPLEX_GRAD_ISA_${level} ${level})
endforeach()
if(pw_complex_grad_0 IN_LIST NOT_FOR_v4)
  set(COMPLEX_GRAD_ISA_v4 v3)
endif()

if(FLAMBEAU_SANITIZE)
  set(SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer -g1)
  foreach(list BASE_FLAGS KERNEL_FLAGS CYTHON_FLAGS)
    list(APPEND ${list} -O1 ${SANITIZE_FLAGS})
  endforeach()
endif()

# What every target of ours shares: where headers are.
function(flambeau_target target)
  target_include_directories(${target} PRIVATE
    ${CORE}/include ${CORE}/csrc ${CORE} ${GEN} ${Python_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE FLAMBEAU_VERSION="${PROJECT_VERSION}")
  if(TARGET generated)
    add_dependencies(${target} generated)
  endif()
endfunction()

# Fail the link when two ISA levels define the same weak symbol (cmake/check_isa_symbols.py).
function(check_isa_symbols target)
  list(LENGTH ISA_LEVELS levels)
  if(levels LESS 2 OR FLAMBEAU_SANITIZE) # at -O1 the standard library's own inlines remain
    return()
  endif()
  set(arguments base $<TARGET_OBJECTS:base>)
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
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND KERNEL_HEADERS <immintrin.h>)
endif()
set(BASE_HEADERS <algorithm> <math.h> ${CORE}/csrc/core/core.h)

# precompile(target headers...): -fpch-preprocess lets compiler caches see through it.
function(precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()
