# flambeau_cythonize(targets sources modules): C++ of these modules, by one process of Cython, as
# `cython/<target>.cpp`. A source that includes others must be the first. -P keeps the build folder
# off the path, where composites such as `random` would hide Python's own modules.
function(flambeau_cythonize targets sources modules)
  foreach(target source module IN ZIP_LISTS targets sources modules)
    set(cpp ${CMAKE_CURRENT_BINARY_DIR}/cython/${target}.cpp)
    list(APPEND outputs ${cpp})
    list(APPEND words ${module} ${source} ${cpp})
  endforeach()
  if(sources MATCHES "\\.pyx")
    list(GET outputs 0 first)
    set(depfile DEPFILE ${first}.dep)
  endif()
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/cmake/cythonize.py)
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND ${Python_EXECUTABLE} -P ${script} -I ${GEN} -I ${CORE} ${words}
    DEPENDS ${sources} ${GENERATED_OTHER} ${script} ${depfile}
    COMMENT "Cythonizing ${modules}" VERBATIM)
  set_property(GLOBAL APPEND PROPERTY CYTHON_OUTPUTS ${outputs})
endfunction()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cython ${GEN})

# flambeau_cython_module(target destination flags): one extension module of translated C++; a
# target may be named by its path with dots (`shape.joins`).
function(flambeau_cython_module target destination flags)
  string(REGEX REPLACE ".*[.]" "" name ${target})
  python_add_library(${target} MODULE ${CMAKE_CURRENT_BINARY_DIR}/cython/${target}.cpp WITH_SOABI)
  flambeau_target(${target})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
  target_compile_options(${target} PRIVATE ${flags} ${CYTHON_FLAGS})
  target_link_options(${target} PRIVATE ${SANITIZE_FLAGS})
  install(TARGETS ${target} DESTINATION ${destination})
  if(FLAMBEAU_INPLACE)
    set_target_properties(${target} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/src/${destination})
  endif()
endfunction()

# remove_other_modules(folder names): what was compiled in place once and is Python again would hide
# its source.
function(remove_other_modules folder names)
  file(GLOB_RECURSE modules RELATIVE ${folder} ${folder}/*.so)
  foreach(module IN LISTS modules)
    string(REGEX REPLACE "[.].*" "" name ${module})
    if(FLAMBEAU_INPLACE AND NOT name IN_LIST names)
      file(REMOVE ${folder}/${module})
    endif()
  endforeach()
endfunction()
