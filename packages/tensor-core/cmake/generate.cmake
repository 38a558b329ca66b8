# Runs the generator: operator rows in, C++ (and .pxi, .pyi) out. Every file it writes into
# the build folder's gen/ is named here, relative to gen/.
set(GENERATED_BASE_NAMES)    # compiled once
set(GENERATED_KERNEL_NAMES)  # compiled once per ISA level
set(GENERATED_OTHER_NAMES)   # headers and .pxi files, included by others
set(GENERATED_STUB_NAMES)    # .pyi files, installed into flambeau/

set(GENERATED_BASE ${GENERATED_BASE_NAMES})
set(GENERATED_KERNELS ${GENERATED_KERNEL_NAMES})
set(GENERATED_OTHER ${GENERATED_OTHER_NAMES})
set(GENERATED_STUBS ${GENERATED_STUB_NAMES})
foreach(list GENERATED_BASE GENERATED_KERNELS GENERATED_OTHER GENERATED_STUBS)
  list(TRANSFORM ${list} PREPEND ${GEN}/)
endforeach()
set(GENERATED_ALL
  ${GENERATED_BASE} ${GENERATED_KERNELS} ${GENERATED_OTHER} ${GENERATED_STUBS})

if(GENERATED_ALL)
  file(GLOB_RECURSE generator_inputs CONFIGURE_DEPENDS
    ${CORE}/gen/*.py ${CORE}/table/*.py ${CORE}/formula/*.py)
  add_custom_command(
    OUTPUT ${GENERATED_ALL}
    COMMAND ${Python_EXECUTABLE} ${CORE}/gen/generate.py --out ${GEN}
    DEPENDS ${generator_inputs}
    COMMENT "Generating sources from the operator table" VERBATIM)
  add_custom_target(generated DEPENDS ${GENERATED_ALL})
  install(FILES ${GENERATED_STUBS} DESTINATION flambeau)
endif()
