# The compiler tcc in a CMake project: find_package(tcc) gives
#
#   TCC_EXECUTABLE    the command
#   tcc_TARGETS       the architectures it compiles for: sm_70;sm_75;...
#   tcc_add_kernel    kernels in a library, see below
#
# `tcc --cmake-dir` prints the folder of this file.

if(CMAKE_VERSION VERSION_LESS 3.20)
  set(tcc_FOUND FALSE)
  set(tcc_NOT_FOUND_MESSAGE "tcc needs CMake 3.20 or later; this is ${CMAKE_VERSION}")
  return()
endif()

# The command that was installed together with this file, else the one on PATH.
set(_tcc_hints)
if(CMAKE_CURRENT_LIST_DIR MATCHES "/(site|dist)-packages/tcc/cmake$")
  get_filename_component(_tcc_hints "${CMAKE_CURRENT_LIST_DIR}/../../../../../bin" ABSOLUTE)
endif()
find_program(TCC_EXECUTABLE tcc HINTS ${_tcc_hints} DOC "The tensor comprehensions compiler")
if(NOT TCC_EXECUTABLE)
  set(tcc_FOUND FALSE)
  set(tcc_NOT_FOUND_MESSAGE "the command tcc is not on PATH; set TCC_EXECUTABLE to it")
  return()
endif()

execute_process(
  COMMAND "${TCC_EXECUTABLE}" targets
  OUTPUT_VARIABLE _tcc_table
  RESULT_VARIABLE _tcc_status
  ERROR_VARIABLE _tcc_problem)
if(NOT _tcc_status EQUAL 0)
  set(tcc_FOUND FALSE)
  set(tcc_NOT_FOUND_MESSAGE "${TCC_EXECUTABLE} does not run: ${_tcc_status} ${_tcc_problem}")
  return()
endif()
string(REGEX MATCHALL "sm_[0-9]+" tcc_TARGETS "${_tcc_table}")
list(REMOVE_DUPLICATES tcc_TARGETS)

include("${CMAKE_CURRENT_LIST_DIR}/tccAddKernel.cmake")
