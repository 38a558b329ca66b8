# flambeau_cython_module(path level): one extension module from a source below ROOM, compiled at
# that level of optimisation; its target is named by the path with dots (`_engine`, `rules.views`).
if(NOT FLAMBEAU_INCLUDE)
  # find_spec does not run the package, so a build environment without BLAS will do. An editable
  # core has several folders: what was built, and the sources, where the header is.
  string(CONCAT print_folders "from importlib.util import find_spec; "
    "print(*find_spec('flambeau').submodule_search_locations, sep=';')")
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "${print_folders}"
    OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(TRANSFORM folders APPEND /core/include)
  find_path(header_folder flambeau/abi.h PATHS ${folders} NO_DEFAULT_PATH)
  set(FLAMBEAU_INCLUDE ${header_folder})
endif()
if(NOT EXISTS ${FLAMBEAU_INCLUDE}/flambeau/abi.h)
  message(FATAL_ERROR "No flambeau/abi.h in ${FLAMBEAU_INCLUDE}: install flambeau-tensor-core, "
    "or pass -DFLAMBEAU_INCLUDE=<folder>")
endif()

set(COMPILE_FLAGS -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND COMPILE_FLAGS -march=x86-64-v2)
endif()
if(FLAMBEAU_SANITIZE)
  set(SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer -g1)
  list(APPEND COMPILE_FLAGS -O1 ${SANITIZE_FLAGS})
endif()

# The module name is passed to Cython because it would otherwise be guessed from folders with
# an __init__.py, and this room has none above it.
function(flambeau_cython_module path level)
  get_filename_component(folder ${path} DIRECTORY)
  get_filename_component(name ${path} NAME_WE)
  string(REGEX REPLACE "\\.[a-z]+$" "" target ${path})
  string(REPLACE "/" "." target ${target})
  set(cpp ${CMAKE_CURRENT_BINARY_DIR}/cython/${target}.cpp)
  add_custom_command(
    OUTPUT ${cpp}
    COMMAND ${Python_EXECUTABLE} -P -m cython --cplus -3 -M -I ${ROOM}
      --module-name flambeau.autograd.${target} ${ROOM}/${path} -o ${cpp}
    DEPENDS ${ROOM}/${path}
    DEPFILE ${cpp}.dep
    COMMENT "Cythonizing flambeau.autograd.${target}" VERBATIM)
  python_add_library(${target} MODULE ${cpp} WITH_SOABI)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
  target_include_directories(${target} PRIVATE ${FLAMBEAU_INCLUDE} ${ROOM} ${ROOM}/csrc)
  target_compile_options(${target} PRIVATE ${level} ${COMPILE_FLAGS})
  target_link_options(${target} PRIVATE ${SANITIZE_FLAGS})
  install(TARGETS ${target} DESTINATION flambeau/autograd/${folder})
  if(FLAMBEAU_INPLACE)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${ROOM}/${folder})
  endif()
endfunction()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cython)
