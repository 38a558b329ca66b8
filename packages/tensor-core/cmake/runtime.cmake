# The runtime without Python (docs/design/deploy.md): the same object files as the extension module's,
# and native/standalone/ in the place of what needs Python. Built when asked for:
#
#   ninja -C build/core flambeau_runtime flambeau_run
file(GLOB standalone_sources CONFIGURE_DEPENDS ${CORE}/native/standalone/*.cpp)
add_library(standalone OBJECT EXCLUDE_FROM_ALL ${standalone_sources} ${GEN}/run_table.cpp)
flambeau_target(standalone NO_PYTHON)
target_compile_options(standalone PRIVATE ${BASE_FLAGS} ${WARNING_FLAGS})
set_source_files_properties(${GEN}/run_table.cpp PROPERTIES COMPILE_OPTIONS "${TABLE_FLAGS}")

set(runtime_objects standalone compute)
foreach(level IN LISTS ISA_LEVELS)
  list(APPEND runtime_objects kernels_${level})
endforeach()
add_library(flambeau_runtime SHARED EXCLUDE_FROM_ALL)
add_library(flambeau_runtime_static STATIC EXCLUDE_FROM_ALL)
set_target_properties(flambeau_runtime_static PROPERTIES OUTPUT_NAME flambeau_runtime)
foreach(target flambeau_runtime flambeau_runtime_static)
  target_link_libraries(${target} PRIVATE ${runtime_objects} Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(${target} INTERFACE ${CORE}/include)
endforeach()
target_link_options(flambeau_runtime PRIVATE ${SANITIZE_FLAGS} -Wl,--gc-sections -Wl,--no-undefined)

add_executable(flambeau_run EXCLUDE_FROM_ALL tools/flambeau_run.cpp)
set_target_properties(flambeau_run PROPERTIES OUTPUT_NAME flambeau-run)
target_compile_options(flambeau_run PRIVATE ${GLUE_FLAGS} ${WARNING_FLAGS})
target_link_options(flambeau_run PRIVATE ${SANITIZE_FLAGS})
target_link_libraries(flambeau_run PRIVATE flambeau_runtime)
