# flambeau_cython_module(target source module destination): one extension module.
#
# The module name is passed to Cython because it would otherwise be guessed from folders with
# an __init__.py, and rooms of the flambeau namespace have none above them. -P keeps the build
# folder off the path of Cython, where composites such as `random` would hide Python's own.
function(flambeau_cython_module target source module destination)
  set(cpp ${CMAKE_CURRENT_BINARY_DIR}/cython/${target}.cpp)
  add_custom_command(
    OUTPUT ${cpp}
    COMMAND ${Python_EXECUTABLE} -P -m cython --cplus -3 -M -I ${GEN} -I ${CORE}
      --module-name ${module} ${source} -o ${cpp}
    DEPENDS ${source} ${GENERATED_OTHER}
    DEPFILE ${cpp}.dep
    COMMENT "Cythonizing ${module}" VERBATIM)
  set_property(GLOBAL APPEND PROPERTY CYTHON_OUTPUTS ${cpp})
  python_add_library(${target} MODULE ${cpp} WITH_SOABI)
  flambeau_target(${target})
  target_compile_options(${target} PRIVATE ${CYTHON_FLAGS})
  target_link_options(${target} PRIVATE ${SANITIZE_FLAGS})
  install(TARGETS ${target} DESTINATION ${destination})
  if(FLAMBEAU_INPLACE)
    set_target_properties(${target} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/src/${destination})
  endif()
endfunction()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cython ${GEN})
