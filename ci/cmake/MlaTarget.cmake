# Every target of the project is made by the two functions below, so that language level, warnings, sanitizers and the
# check that each public header compiles alone are the same everywhere.

set(MLA_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align=strict
    -Wdouble-promotion -Wimplicit-fallthrough)

# g++ 12 reports overlapping memcpy inside std::string operator+ where there is none (GCC PR 105651), and, on machines
# with AVX-512, operands that its own intrinsics leave undefined on purpose (GCC PR 105593).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND MLA_WARNINGS -Wno-restrict -Wno-maybe-uninitialized)
  # The same operands, as it sees them with less optimization or sanitizers.
  if(MLA_SANITIZE)
    list(APPEND MLA_WARNINGS -Wno-uninitialized)
  endif()
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

# mla_library(<path.like.name> SOURCES ... HEADERS ... PUBLIC <deps> PRIVATE <deps>)
# Public headers are compiled alone, one generated source each, as part of the library's `.headers` target.
function(mla_library target)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;PUBLIC;PRIVATE" ${ARGN})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    mla_configure(${target})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  else()
    add_library(${target} INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} INTERFACE ${ARG_PUBLIC})
  endif()
  if(MLA_TESTS AND ARG_HEADERS)
    set(sources)
    foreach(header IN LISTS ARG_HEADERS)
      string(MAKE_C_IDENTIFIER ${header} name)
      set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}.cpp)
      file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
      list(APPEND sources ${source})
    endforeach()
    add_library(${target}.headers OBJECT ${sources})
    mla_configure(${target}.headers)
    target_compile_options(${target}.headers PRIVATE -O0)  # only whether they compile matters
    target_link_libraries(${target}.headers PRIVATE ${target})
  endif()
endfunction()

# mla_test(<mla.test.name> SOURCES ... LINK ... [LABELS ...] [OPTIMIZED]) registers every GoogleTest case of the
# executable with ctest. Tests are compiled with -O1, which takes a third less time, unless they do heavy work of their own.
function(mla_test target)
  cmake_parse_arguments(ARG "OPTIMIZED" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${target} ${ARG_SOURCES})
  mla_configure(${target})
  if(NOT ARG_OPTIMIZED)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  target_link_libraries(${target} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest GTest::gtest_main)
  include(GoogleTest)
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 120 PROPERTIES LABELS "${ARG_LABELS}")
endfunction()
