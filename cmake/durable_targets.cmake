# The only way libraries, programs, tests and benchmarks are declared in this project.

# Warnings are ours alone: never exported to consumers. Files that are compiled together see each
# other's names: what one shadows is for the presets that compile every file on its own.
add_library(durable_warnings INTERFACE)
target_compile_options(durable_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wold-style-cast -Wimplicit-fallthrough -Wno-missing-field-initializers
  $<$<NOT:$<BOOL:${DURABLE_UNITY}>>:-Wshadow>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wno-missing-designated-field-initializers>
  $<$<BOOL:${DURABLE_WERROR}>:-Werror>)

# Precompiled headers halve the time of a fresh build. They hold foreign headers only, and the
# tidy preset builds without them, so a missing #include still fails somewhere.
set(library_pch <algorithm> <chrono> <expected> <functional> <map> <memory> <mutex> <optional>
                <stop_token> <string> <variant> <vector> <nlohmann/json.hpp>)
set(checks_pch ${library_pch})
set(example_pch ${library_pch})
set(test_pch ${library_pch} <set> <thread> <unordered_map> <gtest/gtest.h>)

# durable_precompile(<target> library|checks|example|test): all targets of a kind are compiled alike and
# share one header, built by a target of its own, so that nobody's extra options leak into it.
function(durable_precompile target kind)
  if(NOT DURABLE_PCH)
    return()
  endif()
  set(donor durable_${kind}_pch)
  if(NOT TARGET ${donor})
    file(CONFIGURE OUTPUT ${donor}.cpp CONTENT "")
    add_library(${donor} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${donor}.cpp)
    target_precompile_headers(${donor} PRIVATE ${${kind}_pch})
    target_compile_features(${donor} PRIVATE cxx_std_23)
    target_link_libraries(${donor} PRIVATE durable_warnings nlohmann_json::nlohmann_json)
    set_target_properties(${donor} PROPERTIES CXX_EXTENSIONS OFF)
    # A time stamp inside would make ccache miss.
    target_compile_options(${donor} PRIVATE
      $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
    if(kind STREQUAL test)
      target_link_libraries(${donor} PRIVATE GTest::gtest)
    elseif(NOT kind STREQUAL "example")
      set_target_properties(${donor} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    if(NOT kind STREQUAL library)
      target_compile_options(${donor} PRIVATE ${DURABLE_TEST_FLAGS})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${donor})
endfunction()

# Compiling several files at once halves the time again: what the files share (a variant of thirty
# events, coroutines) is compiled once. UNITY below says that the files of a target do not get in
# each other's way; the tidy preset compiles every file on its own.
function(durable_unity target)
  if(DURABLE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()

# durable_library(<name> [CHECKS] [INTERNAL] [UNITY] HEADERS ... SOURCES ... [PUBLIC ...] [PRIVATE ...])
# Declares durable_<name>, alias durable::<name>, installs it and proves that every public header
# compiles on its own (build target all_verify_interface_header_sets).
# HEADERS are names below include/durable; SOURCES are relative to the calling directory.
# CHECKS: the library is test code that is shipped, and compiled like tests.
# INTERNAL: the library is for tests of ours, and not installed.
function(durable_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "CHECKS;INTERNAL;UNITY" "" "HEADERS;SOURCES;PUBLIC;PRIVATE")
  set(target durable_${name})
  list(TRANSFORM ARG_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/durable/)
  add_library(${target} ${ARG_SOURCES})
  add_library(durable::${name} ALIAS ${target})
  target_sources(${target} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${ARG_HEADERS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PUBLIC cxx_std_23)
  target_link_libraries(${target}
    PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:durable_warnings>)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name} CXX_EXTENSIONS OFF VERIFY_INTERFACE_HEADER_SETS ON
    POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(ARG_CHECKS)
    target_compile_options(${target} PRIVATE ${DURABLE_TEST_FLAGS})
    durable_precompile(${target} checks)
  else()
    durable_precompile(${target} library)
  endif()
  if(ARG_UNITY)
    durable_unity(${target})
  endif()
  if(NOT ARG_INTERNAL)
    install(TARGETS ${target} EXPORT durable FILE_SET HEADERS)
  endif()
endfunction()

# durable_test_objects(<name> SOURCES ... [LINK ...]): files that several test programs share.
function(durable_test_objects name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINK")
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE durable_warnings GTest::gtest)
  target_compile_options(${name} PRIVATE ${DURABLE_TEST_FLAGS})
  target_compile_features(${name} PRIVATE cxx_std_23)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  durable_precompile(${name} test)
endfunction()

# durable_program(<name> SOURCES ... [LINK ...]): an executable in bin/.
function(durable_program name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINK")
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} durable_warnings)
  set_target_properties(${name} PROPERTIES
    CXX_EXTENSIONS OFF RUNTIME_OUTPUT_DIRECTORY ${DURABLE_BIN_DIR})
endfunction()

# durable_test(<name> [UNITY] SOURCES ... [LINK ...] [LABELS ...]): one gtest binary, one ctest entry per TEST().
# Tests are compiled without optimisation: they are most of the code and run once.
function(durable_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "UNITY" "" "SOURCES;LINK;LABELS")
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} durable_warnings GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${DURABLE_TEST_FLAGS})
  target_compile_features(${name} PRIVATE cxx_std_23)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  durable_precompile(${name} test)
  if(ARG_UNITY)
    durable_unity(${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 PROPERTIES LABELS "${ARG_LABELS}")
endfunction()

set(DURABLE_BIN_DIR ${PROJECT_BINARY_DIR}/bin CACHE PATH "Where programs land")
set(DURABLE_TEST_FLAGS "" CACHE STRING "Extra compile options of test code")
