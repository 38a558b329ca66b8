# Extension modules from sources below ROOM: translated by Cython, compiled against the core's
# abi.h.
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

# As if libstdc++'s special functions (std::beta and so on) had been read: <cmath> makes 150
# instances of their templates in each file.
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
set(COMPILE_FLAGS -ffp-contract=off -fno-math-errno -fno-trapping-math)
# What Cython writes is calls, and a jump after each for errors: these passes find little there.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND COMPILE_FLAGS -fno-tree-dominator-opts -fno-tree-loop-optimize
    -fno-move-loop-invariants)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND COMPILE_FLAGS -march=x86-64-v2)
endif()
if(FLAMBEAU_DEBUG)
  set(CMAKE_CXX_FLAGS_RELEASE "")  # without -DNDEBUG
  list(APPEND COMPILE_FLAGS -O0 -g -D_GLIBCXX_ASSERTIONS)
endif()
if(FLAMBEAU_SANITIZE)
  set(SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer -g1)
  list(APPEND COMPILE_FLAGS -O1 ${SANITIZE_FLAGS})
endif()

# What path/name.py is called as a target, and as C++.
function(target_of path result)
  string(REGEX REPLACE "\\.[a-z]+$" "" target ${path})
  string(REPLACE "/" "." target ${target})
  set(${result} ${target} PARENT_SCOPE)
endfunction()

# flambeau_cythonize(paths...): C++ of modules below ROOM, by one process of Cython. A
# source that includes others must be the first.
function(flambeau_cythonize)
  foreach(path IN LISTS ARGN)
    target_of(${path} target)
    set(cpp ${CMAKE_CURRENT_BINARY_DIR}/cython/${target}.cpp)
    list(APPEND outputs ${cpp})
    list(APPEND sources ${ROOM}/${path})
    list(APPEND words flambeau.autograd.${target} ${ROOM}/${path} ${cpp})
  endforeach()
  if(ARGN MATCHES "\\.pyx")
    list(GET outputs 0 first)
    set(depfile DEPFILE ${first}.dep)
  endif()
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/cmake/cythonize.py)
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND ${Python_EXECUTABLE} -P ${script} -I ${ROOM} ${words}
    DEPENDS ${sources} ${script} ${depfile}
    COMMENT "Cythonizing ${ARGN}" VERBATIM)
endfunction()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cython)

# flambeau_cython_module(path flags): one extension module of translated C++; its target is named by
# the path with dots (`_engine`, `rules.shape`).
function(flambeau_cython_module path flags)
  get_filename_component(folder ${path} DIRECTORY)
  get_filename_component(name ${path} NAME_WE)
  target_of(${path} target)
  python_add_library(${target} MODULE ${CMAKE_CURRENT_BINARY_DIR}/cython/${target}.cpp WITH_SOABI)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
  target_include_directories(${target} PRIVATE ${FLAMBEAU_INCLUDE} ${ROOM})
  target_compile_options(${target} PRIVATE ${flags} ${COMPILE_FLAGS})
  target_link_options(${target} PRIVATE ${SANITIZE_FLAGS})
  install(TARGETS ${target} DESTINATION flambeau/autograd/${folder})
  if(FLAMBEAU_INPLACE)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${ROOM}/${folder})
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
