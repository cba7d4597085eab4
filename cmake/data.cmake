# The data compiler turns data/ (tables, rule records, action records) into C++ and refuses incomplete data.
option(GPUVET_CHECK_RULES "build fails when a rule lacks a scenario where it fires or a near miss" ON)

find_path(TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)
add_library(gpuvet_compile_data STATIC
  tools/compile_data/action_records.cpp tools/compile_data/document.cpp tools/compile_data/literal.cpp
  tools/compile_data/rule_records.cpp tools/compile_data/signatures.cpp tools/compile_data/tables.cpp)
target_include_directories(gpuvet_compile_data PUBLIC ${CMAKE_SOURCE_DIR}/tools)
target_include_directories(gpuvet_compile_data SYSTEM PRIVATE ${TOMLPLUSPLUS_INCLUDE})
target_link_libraries(gpuvet_compile_data PUBLIC gpuvet_flags)
add_executable(compile_data tools/compile_data.cpp)
target_link_libraries(compile_data PRIVATE gpuvet_compile_data)

set(generated ${CMAKE_BINARY_DIR}/generated)
file(GLOB data_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/data/*.tsv ${CMAKE_SOURCE_DIR}/data/facts/*.tsv
     ${CMAKE_SOURCE_DIR}/data/rules/*.toml ${CMAKE_SOURCE_DIR}/data/signatures/*.toml ${CMAKE_SOURCE_DIR}/data/actions/*.toml ${CMAKE_SOURCE_DIR}/data/*.toml)
add_custom_command(
  OUTPUT ${generated}/tables.cpp ${generated}/rule_records.cpp ${generated}/action_records.cpp ${generated}/signature_records.cpp
  COMMAND compile_data ${CMAKE_SOURCE_DIR}/data ${generated}
  DEPENDS compile_data ${data_files}
  COMMENT "compiling data/")
# One target for all: libraries that share a custom command must not run it twice at once.
add_custom_target(compiled_data DEPENDS ${generated}/tables.cpp ${generated}/rule_records.cpp ${generated}/action_records.cpp
                  ${generated}/signature_records.cpp)

foreach(pair IN ITEMS "knowledge;tables" "knowledge;signature_records" "rules;rule_records" "render;action_records")
  list(GET pair 0 component)
  list(GET pair 1 file)
  if(TARGET gpuvet_${component})
    target_sources(gpuvet_${component} PRIVATE ${generated}/${file}.cpp)
    add_dependencies(gpuvet_${component} compiled_data)
  endif()
endforeach()

if(GPUVET_CHECK_RULES)
  set(check_rules_in_all ALL)
endif()
add_custom_target(check_rules ${check_rules_in_all}
  COMMAND compile_data --check-scenarios ${CMAKE_SOURCE_DIR}/data ${CMAKE_SOURCE_DIR}/tests/scenarios
          ${CMAKE_SOURCE_DIR}/tests/cases
  DEPENDS compile_data
  COMMENT "every rule has a scenario where it fires and a near miss")
