# SPDX-License-Identifier: Apache-2.0
add_library(project_flags INTERFACE)
target_include_directories(project_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(project_flags INTERFACE
  -Wall -Wextra -Wpedantic
  -Wshadow -Wundef -Wwrite-strings -Wcast-qual
  -Wconversion -Wsign-conversion -Wdouble-promotion -Wfloat-equal
  -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wnested-externs
  -Wformat=2 -Wvla -Wswitch-enum -Wimplicit-fallthrough -Wnull-dereference
  -fno-common -fstack-protector-strong
  $<$<C_COMPILER_ID:GNU>:-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init
    -Wcast-align=strict>
  $<$<C_COMPILER_ID:Clang>:-Wcast-align -Wno-gnu-statement-expression>
  $<$<BOOL:${PROJECT_WERROR}>:-Werror>)
target_compile_definitions(project_flags INTERFACE
  $<$<CONFIG:Release>:_FORTIFY_SOURCE=2>)
if(PROJECT_SANITIZE)
  target_compile_options(project_flags INTERFACE
    -fsanitize=${PROJECT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(project_flags INTERFACE -fsanitize=${PROJECT_SANITIZE})
endif()
if(PROJECT_FUZZ)
  target_compile_options(project_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(PROJECT_COVERAGE)
  target_compile_options(project_flags INTERFACE --coverage)
  target_link_options(project_flags INTERFACE --coverage)
endif()
