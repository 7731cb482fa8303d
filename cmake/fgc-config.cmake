# find_package(fgc) gives fgc_add_graph(), FGC_EXECUTABLE and the imported target fgc::runtime.
#
#   fgc_add_graph(LIBRARY SPEC [DEFINES NAME=VALUE...] [GRAPHS NAME...] [TARGET DEVICE] [OPTIONS OPTION...])
#
# compiles SPEC (a .fg file, relative to the current source folder) while the project is built, and makes the
# library LIBRARY of its launcher: whoever links it can include the launcher's header, called as SPEC is with .h,
# and is linked with cuDNN and the CUDA runtime. The plan lies beside the header; both are made again when SPEC, a
# file that it imports, a description given as TARGET, or fgc changes. LIBRARY's property FGC_PLAN is the plan.
# Building needs no GPU.
#
# FGC_CUDA_ROOT names a prefix with CUDA's and cuDNN's headers and libraries where they are not found.

find_program(FGC_EXECUTABLE fgc HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin" "${CMAKE_CURRENT_LIST_DIR}/../build"
  DOC "the compiler fgc")

set(fgc_hints "${FGC_CUDA_ROOT}" "${CUDAToolkit_ROOT}" "$ENV{CUDA_PATH}" /usr/local/cuda
  "${CMAKE_CURRENT_LIST_DIR}/../deps")
find_path(FGC_CUDA_INCLUDE_DIR cuda_runtime_api.h HINTS ${fgc_hints} PATH_SUFFIXES include)
find_path(FGC_CUDNN_INCLUDE_DIR cudnn.h HINTS ${fgc_hints} PATH_SUFFIXES include)
# Python's packages and tools/get-cudnn's copy have versioned names alone.
find_library(FGC_CUDART_LIBRARY NAMES cudart libcudart.so.13 libcudart.so.12 HINTS ${fgc_hints} PATH_SUFFIXES lib64 lib)
find_library(FGC_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${fgc_hints} PATH_SUFFIXES lib64 lib)
unset(fgc_hints)
mark_as_advanced(FGC_CUDA_INCLUDE_DIR FGC_CUDNN_INCLUDE_DIR FGC_CUDART_LIBRARY FGC_CUDNN_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(fgc REQUIRED_VARS FGC_EXECUTABLE FGC_CUDA_INCLUDE_DIR FGC_CUDNN_INCLUDE_DIR
  FGC_CUDART_LIBRARY FGC_CUDNN_LIBRARY)

if(fgc_FOUND AND NOT TARGET fgc::runtime)
  add_library(fgc::runtime INTERFACE IMPORTED)
  set_target_properties(fgc::runtime PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${FGC_CUDA_INCLUDE_DIR};${FGC_CUDNN_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${FGC_CUDNN_LIBRARY};${FGC_CUDART_LIBRARY};m")
endif()

function(fgc_add_graph library spec)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TARGET" "DEFINES;GRAPHS;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "fgc_add_graph(${library}): not understood: ${arg_UNPARSED_ARGUMENTS} ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  get_filename_component(spec "${spec}" ABSOLUTE)
  get_filename_component(stem "${spec}" NAME_WE)
  set(made "${CMAKE_CURRENT_BINARY_DIR}/${library}.fgc")
  set(base "${made}/${stem}")
  set(options ${arg_OPTIONS})
  set(needs "${spec}" "${FGC_EXECUTABLE}")
  foreach(define IN LISTS arg_DEFINES)
    list(APPEND options -D "${define}")
  endforeach()
  foreach(graph IN LISTS arg_GRAPHS)
    list(APPEND options -g "${graph}")
  endforeach()
  if(arg_TARGET MATCHES "\\.json$")
    get_filename_component(arg_TARGET "${arg_TARGET}" ABSOLUTE)
    list(APPEND needs "${arg_TARGET}")
  endif()
  if(arg_TARGET)
    list(APPEND options --target "${arg_TARGET}")
  endif()
  file(MAKE_DIRECTORY "${made}")
  add_custom_command(
    OUTPUT "${base}.plan" "${base}.c" "${base}.h" # the order of the list that -MF writes, as ninja wants it
    COMMAND "${FGC_EXECUTABLE}" "${spec}" ${options} -q -o "${base}.plan" --launcher "${base}.c" -MF "${base}.d"
    DEPENDS ${needs}
    DEPFILE "${base}.d"
    COMMENT "fgc ${stem}.fg"
    VERBATIM)
  add_library(${library} "${base}.c" "${base}.h")
  set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON FGC_PLAN "${base}.plan")
  target_include_directories(${library} PUBLIC "${made}")
  target_link_libraries(${library} PUBLIC fgc::runtime)
endfunction()
