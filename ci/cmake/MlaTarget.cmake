# Every target of the project is made by the two functions below, so that language level, warnings, sanitizers and the
# check that each public header compiles alone are the same everywhere.

set(MLA_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align=strict
    -Wdouble-promotion -Wimplicit-fallthrough)

# g++ 12 reports overlapping memcpy inside std::string operator+ where there is none (GCC PR 105651), and, on machines
# with AVX-512, operands that its own intrinsics leave undefined on purpose (GCC PR 105593).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND MLA_WARNINGS -Wno-restrict -Wno-maybe-uninitialized -Wno-uninitialized)
endif()

function(mla_configure target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE ${MLA_WARNINGS} $<$<BOOL:${MLA_WERROR}>:-Werror>)
  # One -march for all: Eigen's alignment depends on it, and two answers in one program would break its ABI.
  if(MLA_MARCH)
    target_compile_options(${target} PUBLIC $<$<COMPILE_LANGUAGE:CXX>:-march=${MLA_MARCH}>)
  endif()
  if(MLA_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${MLA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${MLA_SANITIZE})
  endif()
  if(MLA_COVERAGE)
    target_compile_options(${target} PUBLIC --coverage)
    target_link_options(${target} PUBLIC --coverage)
  endif()
endfunction()

# Code whose speed is never measured is compiled with -O1, which takes a third less time.
function(mla_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# mla_library(<path.like.name> [COLD] SOURCES ... HEADERS ... PUBLIC <deps> PRIVATE <deps> PRECOMPILE <headers>)
# Every public header is compiled alone: as the first include of the source of its name (test ci.first_include sees to
# that), or, where there is none or another header is precompiled before it, from a generated source of the library's
# `.headers` target.
function(mla_library target)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;HEADERS;PUBLIC;PRIVATE;PRECOMPILE" ${ARGN})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    mla_configure(${target})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
    if(ARG_COLD)
      mla_cold(${target})
    endif()
    if(ARG_PRECOMPILE)
      target_precompile_headers(${target} PRIVATE ${ARG_PRECOMPILE})
    endif()
  else()
    add_library(${target} INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} INTERFACE ${ARG_PUBLIC})
  endif()
  if(MLA_TESTS AND ARG_HEADERS)
    set(sources)
    foreach(header IN LISTS ARG_HEADERS)
      cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
      string(REGEX REPLACE "^${folder}/(.*)\\.hpp$" "\\1.cpp" of_its_name ${header})
      if(of_its_name IN_LIST ARG_SOURCES AND NOT ARG_PRECOMPILE)
        continue()
      endif()
      string(MAKE_C_IDENTIFIER ${header} name)
      set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}.cpp)
      file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
      list(APPEND sources ${source})
    endforeach()
    if(sources)
      add_library(${target}.headers OBJECT ${sources})
      mla_configure(${target}.headers)
      target_compile_options(${target}.headers PRIVATE -O0)  # only whether they compile matters
      target_link_libraries(${target}.headers PRIVATE ${target})
    endif()
  endif()
endfunction()

# mla_program(<name> SOURCES ... LINK ...) is a program beside the product: cold code.
function(mla_program target)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${target} ${ARG_SOURCES})
  mla_configure(${target})
  mla_cold(${target})
  target_link_libraries(${target} PRIVATE ${ARG_LINK})
endfunction()

# What nearly every test includes is compiled once.
function(mla_precompiled_test_headers target)
  if(NOT TARGET mla.test.precompiled)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "")
    add_library(mla.test.precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
    mla_configure(mla.test.precompiled)
    mla_cold(mla.test.precompiled)
    target_link_libraries(mla.test.precompiled PRIVATE GTest::gmock GTest::gtest nlohmann_json::nlohmann_json)
    target_precompile_headers(mla.test.precompiled PRIVATE <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
  endif()
  target_precompile_headers(${target} REUSE_FROM mla.test.precompiled)
endfunction()

# mla_test(<mla.test.name> SOURCES ... LINK ... [LABELS ...] [OPTIMIZED]) registers every GoogleTest case of the
# executable with ctest. Tests are cold code, unless they do heavy work of their own.
function(mla_test target)
  cmake_parse_arguments(ARG "OPTIMIZED" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${target} ${ARG_SOURCES})
  mla_configure(${target})
  if(NOT ARG_OPTIMIZED)
    mla_cold(${target})
  endif()
  target_link_libraries(${target} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest GTest::gtest_main)
  # Code for other options cannot use them.
  if(NOT ARG_OPTIMIZED AND NOT "OpenMP::OpenMP_CXX" IN_LIST ARG_LINK)
    mla_precompiled_test_headers(${target})
  endif()
  include(GoogleTest)
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 120 PROPERTIES LABELS "${ARG_LABELS}")
endfunction()
