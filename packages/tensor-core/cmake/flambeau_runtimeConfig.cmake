# find_package(flambeau_runtime): the target flambeau::runtime, from files beside this one.
get_filename_component(_flambeau_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET flambeau::runtime)
  add_library(flambeau::runtime SHARED IMPORTED)
  set_target_properties(flambeau::runtime PROPERTIES
    IMPORTED_LOCATION "${_flambeau_prefix}/lib/libflambeau_runtime.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_flambeau_prefix}/include")
endif()
unset(_flambeau_prefix)
