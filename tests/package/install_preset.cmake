# Configures the preset `install` where nothing that only tests need can be found, and looks at what
# would be built.
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${BINARY_DIR})

set(hidden)
foreach(package GTest benchmark Python3)
  list(APPEND hidden -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} --preset install -B ${BINARY_DIR} ${hidden}
                        -DCMAKE_CXX_COMPILER=${COMPILER} --no-warn-unused-cli
                WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BINARY_DIR} -- -n
                OUTPUT_VARIABLE plan COMMAND_ERROR_IS_FATAL ANY)

string(REGEX MATCHALL "[^\n]* (tests|examples|benchmarks|src/simulation)/[^\n]*" strangers "${plan}")
if(strangers)
  list(JOIN strangers "\n" strangers)
  message(FATAL_ERROR "this is built and not installed:\n${strangers}")
endif()
string(REGEX MATCH "\\[[0-9]+/([0-9]+)\\]" steps "${plan}")
message(STATUS "${CMAKE_MATCH_1} build steps")
