# The data compiler turns data/ (tables, rule records, action records) into C++ and refuses incomplete data.
if(EXISTS ${CMAKE_SOURCE_DIR}/tools/compile_data.cpp)
  add_executable(compile_data tools/compile_data.cpp)
  target_link_libraries(compile_data PRIVATE gpuvet_flags)
  set(generated ${CMAKE_BINARY_DIR}/generated)
  file(GLOB data_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/data/*.tsv ${CMAKE_SOURCE_DIR}/data/facts/*.tsv
       ${CMAKE_SOURCE_DIR}/data/rules/*.toml ${CMAKE_SOURCE_DIR}/data/actions/*.toml ${CMAKE_SOURCE_DIR}/data/*.toml)
  add_custom_command(
    OUTPUT ${generated}/tables.cpp ${generated}/rule_records.cpp ${generated}/action_records.cpp
    COMMAND compile_data ${CMAKE_SOURCE_DIR}/data ${generated}
    DEPENDS compile_data ${data_files}
    COMMENT "compiling data/")
  target_sources(gpuvet_knowledge PRIVATE ${generated}/tables.cpp)
  if(TARGET gpuvet_rules)
    target_sources(gpuvet_rules PRIVATE ${generated}/rule_records.cpp)
  endif()
  if(TARGET gpuvet_render)
    target_sources(gpuvet_render PRIVATE ${generated}/action_records.cpp)
  endif()
endif()
