# Runs the generator: operator definitions in, C++ (and .pxi, .pyi) out. Every file it writes into
# the build folder's gen/ is named here, relative to gen/.
set(GENERATED_BASE_NAMES ops_table.cpp run_table.cpp pw_programs.cpp)    # compiled once
set(GENERATED_KERNEL_NAMES
  pw_loops.cpp pw_arithmetic.cpp pw_special.cpp pw_functions.cpp pw_activations.cpp
  pw_comparison.cpp pw_transcendental.cpp pw_numbers.cpp pw_loss.cpp
  pw_bytecode.cpp pw_table.cpp)  # compiled once per ISA level, the longest first
# Headers and .pxi files, included by others.
set(GENERATED_OTHER_NAMES op_index.h op_index.pxi opdef_enums.h opdef_enums.pxi pw_helpers.h
  tensor.pxi)
set(GENERATED_STUB_NAMES __init__.pyi fft.pyi linalg.pyi special.pyi amp/__init__.pyi
  utils/__init__.pyi   core/_core.pyi core/functional.pyi core/ops.pyi
  signal/windows.pyi backends/cpu.pyi backends/cuda.pyi backends/cudnn.pyi backends/mkl.pyi
  backends/mkldnn.pyi backends/mps.pyi backends/openmp.pyi backends/opt_einsum.pyi
  core/compat/no_effect.pyi cpu/__init__.pyi
  multiprocessing/__init__.pyi array_api/__init__.pyi array_api/fft.pyi
  return_types.pyi)    # .pyi files, installed into flambeau/

set(GENERATED_BASE ${GENERATED_BASE_NAMES})
set(GENERATED_KERNELS ${GENERATED_KERNEL_NAMES})
set(GENERATED_OTHER ${GENERATED_OTHER_NAMES})
set(GENERATED_STUBS ${GENERATED_STUB_NAMES})
foreach(list GENERATED_BASE GENERATED_KERNELS GENERATED_OTHER)
  list(TRANSFORM ${list} PREPEND ${GEN}/)
endforeach()
set(STUBS ${GEN}/stubs)
if(FLAMBEAU_INPLACE) # editors look beside the sources
  set(STUBS ${CMAKE_CURRENT_SOURCE_DIR}/src/flambeau)
endif()
list(TRANSFORM GENERATED_STUBS PREPEND ${STUBS}/)
set(GENERATED_ALL
  ${GENERATED_BASE} ${GENERATED_KERNELS} ${GENERATED_OTHER} ${GENERATED_STUBS})

if(GENERATED_ALL)
  file(GLOB_RECURSE generator_inputs CONFIGURE_DEPENDS
    ${CORE}/codegen/*.py ${CORE}/opdefs/*.py ${CORE}/formula/*.py ${CORE}/formula/include/*.h
    ${CORE}/compat/table.py ${CORE}/../array_api/*.py
    ${CORE}/codegen/stub_templates/*.in ${CORE}/bindings/*.in)
  # C++ and Cython too: they name the operators whose numbers stand in op_index.h.
  file(GLOB_RECURSE native_inputs CONFIGURE_DEPENDS
    ${CORE}/native/*.cpp ${CORE}/native/*.h ${CORE}/bindings/*.pxi)
  list(APPEND generator_inputs ${native_inputs} ${CORE}/_core.pyx)
  list(APPEND generator_inputs ${CORE}/../rooms.py ${CORE}/../__init__.py)
  add_custom_command(
    OUTPUT ${GENERATED_ALL}
    COMMAND ${Python_EXECUTABLE} ${CORE}/codegen/generate.py --out ${GEN} --stubs ${STUBS}
    DEPENDS ${generator_inputs}
    COMMENT "Generating sources from the operator definitions" VERBATIM)
  add_custom_target(generated DEPENDS ${GENERATED_ALL})
  if(NOT FLAMBEAU_INPLACE)
    install(DIRECTORY ${STUBS}/ DESTINATION flambeau)
  endif()
endif()
