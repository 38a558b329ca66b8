# The runtime without Python (docs/design/deploy.md): the same object files as the extension module's,
# and native/standalone/ in the place of what needs Python. Wheels hold it; in other builds it is
# built when asked for, and installed as in a wheel:
#
#   ninja -C build/core flambeau_runtime flambeau_run
#   cmake --install build/core --component runtime --prefix PREFIX
if(DEFINED SKBUILD_DATA_DIR)
  set(ON_DEMAND)
else()
  set(ON_DEMAND EXCLUDE_FROM_ALL)
endif()
file(GLOB standalone_sources CONFIGURE_DEPENDS ${CORE}/native/standalone/*.cpp)
add_library(standalone OBJECT ${ON_DEMAND} ${standalone_sources} ${GEN}/run_table.cpp)
flambeau_target(standalone NO_PYTHON)
target_compile_options(standalone PRIVATE ${BASE_FLAGS} ${WARNING_FLAGS})
# These read a program, once.
set(READ_ONCE api archive custom graph graph_check json load pack packed plan)
list(TRANSFORM READ_ONCE REPLACE "(.+)" "${CORE}/native/standalone/\\1.cpp")
set_source_files_properties(${READ_ONCE} PROPERTIES COMPILE_OPTIONS "${SMALL_FLAGS}")
set_source_files_properties(${GEN}/run_table.cpp PROPERTIES COMPILE_OPTIONS
  "${SMALL_FLAGS};${NO_UNWINDING}")

set(runtime_objects standalone compute)
foreach(level IN LISTS ISA_LEVELS)
  list(APPEND runtime_objects kernels_${level})
endforeach()
add_library(flambeau_runtime SHARED ${ON_DEMAND})
add_library(flambeau_runtime_static STATIC EXCLUDE_FROM_ALL)
set_target_properties(flambeau_runtime_static PROPERTIES OUTPUT_NAME flambeau_runtime)
foreach(target flambeau_runtime flambeau_runtime_static)
  target_link_libraries(${target} PRIVATE ${runtime_objects} Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(${target} INTERFACE ${CORE}/include)
endforeach()
target_link_options(flambeau_runtime PRIVATE ${SANITIZE_FLAGS} -Wl,--gc-sections -Wl,--no-undefined)

add_executable(flambeau_run ${ON_DEMAND} tools/flambeau_run.cpp)
set_target_properties(flambeau_run PROPERTIES OUTPUT_NAME flambeau-run)
target_compile_options(flambeau_run PRIVATE ${GLUE_FLAGS} ${WARNING_FLAGS})
target_link_options(flambeau_run PRIVATE ${SANITIZE_FLAGS})
target_link_libraries(flambeau_run PRIVATE flambeau_runtime)
set_target_properties(flambeau_run PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")

# As compilers and CMake look for it below a prefix: in a wheel that of the environment, so that
# `find_package(flambeau_runtime)` finds it where the environment's bin/ is on the path.
set(PREFIX_DIR)
set(PROGRAMS_DIR bin)
if(DEFINED SKBUILD_DATA_DIR)
  set(PREFIX_DIR ${SKBUILD_DATA_DIR}/)
  set(PROGRAMS_DIR ${SKBUILD_SCRIPTS_DIR})
endif()
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/flambeau_runtimeConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
set(as_part COMPONENT runtime)
if(NOT DEFINED SKBUILD_DATA_DIR)
  list(APPEND as_part EXCLUDE_FROM_ALL)
endif()
install(TARGETS flambeau_runtime LIBRARY DESTINATION ${PREFIX_DIR}lib ${as_part})
install(TARGETS flambeau_run RUNTIME DESTINATION ${PROGRAMS_DIR} ${as_part})
install(FILES ${CORE}/include/flambeau/runtime.h ${CORE}/include/flambeau/runtime.hpp
  DESTINATION ${PREFIX_DIR}include/flambeau ${as_part})
install(FILES cmake/flambeau_runtimeConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/flambeau_runtimeConfigVersion.cmake
  DESTINATION ${PREFIX_DIR}lib/cmake/flambeau_runtime ${as_part})

# For builds with FLAMBEAU_SANITIZE: programs from anywhere must not harm (jit's fuzz_runtime.py).
add_executable(flambeau_fuzz EXCLUDE_FROM_ALL tools/flambeau_fuzz.cpp)
target_compile_options(flambeau_fuzz PRIVATE ${GLUE_FLAGS} ${WARNING_FLAGS} ${SANITIZE_FLAGS})
target_link_options(flambeau_fuzz PRIVATE ${SANITIZE_FLAGS})
target_link_libraries(flambeau_fuzz PRIVATE flambeau_runtime)
