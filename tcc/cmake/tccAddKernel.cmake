#[[
tcc_add_kernel(TARGET
    FILES file.tc...            programs, one kernel of each
    [OPTIONS file.yaml]         options for all of them; when not given, NAME.yaml beside NAME.tc
    [SIZES NAME=VALUE...]       sizes that are known now; others are parameters
    [ARCH sm_80...]             architectures; when not given, those of CUDA_ARCHITECTURES
    [ENTRY def]                 which def of the file, where it has several; names the outputs
    [PREFIX text]               what the names of all functions begin with
    [NAMESPACE a::b]            C++ namespace of the launchers
    [SELF_TEST])                a test for each kernel, against a plain reference kernel

Compiles NAME.tc to NAME.cu and NAME.h when one of its inputs or options changes, and puts the .cu
into TARGET. A TARGET that does not exist becomes a static library. Whoever links TARGET can say
`#include "NAME.h"`. The language CUDA must be enabled.
]]
function(tcc_add_kernel target)
  cmake_parse_arguments(
    PARSE_ARGV 1 arg "SELF_TEST" "OPTIONS;ENTRY;PREFIX;NAMESPACE" "FILES;SIZES;ARCH")
  _tcc_check_arguments()
  if(NOT TARGET ${target})
    add_library(${target} STATIC)
    if(arg_ARCH)
      string(REPLACE "sm_" "" numbers "${arg_ARCH}")
      set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${numbers}")
    endif()
  endif()
  _tcc_check_target()
  if(NOT arg_ARCH)
    _tcc_architectures(arg_ARCH ${target})
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/tcc/${target}")
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${folder}>")
  # The headers include <cuda_runtime.h>, from C and C++ files, too.
  target_include_directories(
    ${target} SYSTEM PUBLIC
    "$<$<COMPILE_LANGUAGE:C,CXX>:${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}>")
  foreach(file IN LISTS arg_FILES)
    _tcc_add_file()
  endforeach()
endfunction()

# Whether the arguments make sense, as far as that shows before tcc runs.
macro(_tcc_check_arguments)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tcc_add_kernel(${target}): what is `${arg_UNPARSED_ARGUMENTS}`?")
  endif()
  if(NOT arg_FILES)
    message(FATAL_ERROR "tcc_add_kernel(${target}): FILES names no program")
  endif()
  list(LENGTH arg_FILES files)
  if(arg_ENTRY AND files GREATER 1)
    message(FATAL_ERROR "tcc_add_kernel(${target}): ENTRY needs one file in FILES, not ${files}")
  endif()
  foreach(file IN LISTS arg_FILES arg_OPTIONS)
    get_filename_component(path "${file}" ABSOLUTE)
    get_source_file_property(is_generated "${path}" GENERATED)
    if(NOT EXISTS "${path}" AND NOT is_generated)
      message(FATAL_ERROR "tcc_add_kernel(${target}): there is no file ${file}")
    endif()
  endforeach()
  foreach(size IN LISTS arg_SIZES)
    if(NOT size MATCHES "^[A-Za-z_][A-Za-z0-9_]*=[0-9]+$")
      message(FATAL_ERROR "tcc_add_kernel(${target}): SIZES has ${size}, which is no NAME=VALUE")
    endif()
  endforeach()
  foreach(arch IN LISTS arg_ARCH)
    if(NOT arch IN_LIST tcc_TARGETS)
      message(FATAL_ERROR "tcc_add_kernel(${target}): no ARCH ${arch}; there are ${tcc_TARGETS}")
    endif()
  endforeach()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "CUDA" IN_LIST languages)
    message(FATAL_ERROR "tcc_add_kernel(${target}): the language CUDA is not enabled")
  endif()
endmacro()

# CMake attaches a command that makes a file to targets of the same folder only.
macro(_tcc_check_target)
  get_target_property(owner ${target} SOURCE_DIR)
  if(NOT owner STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "tcc_add_kernel(${target}): call it in ${owner}, where ${target} is made")
  endif()
endmacro()

# For each architecture that CMake compiles for, the nearest one that tcc knows, downwards.
function(_tcc_architectures result target)
  get_target_property(numbers ${target} CUDA_ARCHITECTURES)
  set(found)
  foreach(number IN LISTS numbers)
    if(NOT number MATCHES "^([0-9]+)[af]?(-real|-virtual)?$")
      message(FATAL_ERROR "tcc_add_kernel(${target}): CUDA_ARCHITECTURES is ${numbers}; give ARCH")
    endif()
    set(wanted ${CMAKE_MATCH_1})
    set(nearest)
    foreach(arch IN LISTS tcc_TARGETS)
      string(REPLACE "sm_" "" known ${arch})
      if(NOT known GREATER wanted)
        set(nearest ${arch})
      endif()
    endforeach()
    if(NOT nearest)
      message(FATAL_ERROR
        "tcc_add_kernel(${target}): CUDA_ARCHITECTURES has ${number}; tcc knows ${tcc_TARGETS}")
    endif()
    list(APPEND found ${nearest})
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# One program: the command that compiles it, and its outputs in the target.
macro(_tcc_add_file)
  get_filename_component(program "${file}" ABSOLUTE)
  get_filename_component(name "${file}" NAME_WLE)
  _tcc_find_options()
  set(words)
  if(options)
    list(APPEND words --options "${options}")
  endif()
  if(arg_ENTRY)
    set(name "${arg_ENTRY}")
    list(APPEND words --entry "${arg_ENTRY}")
  endif()
  foreach(arch IN LISTS arg_ARCH)
    list(APPEND words --arch ${arch})
  endforeach()
  foreach(size IN LISTS arg_SIZES)
    list(APPEND words --size "${size}")
  endforeach()
  if(DEFINED arg_PREFIX)
    list(APPEND words --prefix "${arg_PREFIX}")
  endif()
  if(DEFINED arg_NAMESPACE)
    list(APPEND words --namespace "${arg_NAMESPACE}")
  endif()
  set(outputs "${folder}/${name}.cu" "${folder}/${name}.h")
  list(APPEND words -o "${folder}/${name}.cu" --header "${folder}/${name}.h")
  if(arg_SELF_TEST)
    list(APPEND outputs "${folder}/${name}.test.cu")
    list(APPEND words --self-test "${folder}/${name}.test.cu")
  endif()
  # Changes when the command does, so that every generator runs it again then.
  file(CONFIGURE OUTPUT "${folder}/${name}.args"
    CONTENT "tcc ${tcc_VERSION} ${program} ${words}\n" @ONLY)
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND "${TCC_EXECUTABLE}" compile "${program}" ${words} --depfile "${folder}/${name}.d"
    DEPENDS "${program}" ${options} "${folder}/${name}.args"
    DEPFILE "${folder}/${name}.d"
    COMMENT "Compiling ${file} to ${name}.cu"
    VERBATIM)
  target_sources(${target} PRIVATE "${folder}/${name}.cu" "${folder}/${name}.h")
  if(arg_SELF_TEST)
    add_executable(${target}_${name}_test "${folder}/${name}.test.cu")
    target_link_libraries(${target}_${name}_test PRIVATE ${target})
    get_target_property(numbers ${target} CUDA_ARCHITECTURES)
    set_target_properties(${target}_${name}_test PROPERTIES CUDA_ARCHITECTURES "${numbers}")
    add_test(NAME ${target}_${name} COMMAND ${target}_${name}_test)
    set_tests_properties(${target}_${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endmacro()

# The options file of a program. One that comes or goes later makes CMake configure again.
macro(_tcc_find_options)
  if(arg_OPTIONS)
    get_filename_component(options "${arg_OPTIONS}" ABSOLUTE)
  else()
    get_filename_component(beside "${program}" DIRECTORY)
    file(GLOB options CONFIGURE_DEPENDS "${beside}/${name}.yaml")
  endif()
endmacro()
