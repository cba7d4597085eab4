# The rtld-audit library of `trace --live`: compiled apart, without the project's flags (no sanitizer, no libc, nothing that would
# make it need a glibc), then carried inside gpuvet as bytes.
set(audit_source ${CMAKE_SOURCE_DIR}/src/audit/audit.c)
set(audit_library ${CMAKE_BINARY_DIR}/generated/gpuvet-audit.so)
set(audit_flags -std=c11 -O2 -fPIC -shared -nostdlib -nostartfiles -ffreestanding -fno-stack-protector -fno-lto -fvisibility=hidden
    -fno-asynchronous-unwind-tables -U_FORTIFY_SOURCE -s -Wl,-z,defs -Wl,-z,noexecstack -Wl,-soname,gpuvet-audit -Wl,--hash-style=both -Wl,--build-id=none)

if(NOT DEFINED GPUVET_AUDIT_BUILDS)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)
  execute_process(COMMAND ${CMAKE_C_COMPILER} ${audit_flags} ${audit_source} -o ${CMAKE_BINARY_DIR}/generated/audit-check.so
    RESULT_VARIABLE audit_result ERROR_VARIABLE audit_error OUTPUT_QUIET)
  if(audit_result EQUAL 0)
    set(GPUVET_AUDIT_BUILDS ON CACHE INTERNAL "the C compiler can build the audit library")
  else()
    set(GPUVET_AUDIT_BUILDS OFF CACHE INTERNAL "the C compiler can build the audit library")
    message(WARNING "${CMAKE_C_COMPILER} cannot build the audit library: `gpuvet trace --live` will say so.\n${audit_error}")
  endif()
endif()

if(GPUVET_AUDIT_BUILDS)
  add_custom_command(OUTPUT ${audit_library} COMMAND ${CMAKE_C_COMPILER} ${audit_flags} ${audit_source} -o ${audit_library}
    DEPENDS ${audit_source} COMMENT "building the audit library")
  add_custom_target(audit_object DEPENDS ${audit_library})
  add_dependencies(gpuvet_audit audit_object)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/audit/embedded.cpp PROPERTIES OBJECT_DEPENDS ${audit_library})
  target_compile_definitions(gpuvet_audit PRIVATE GPUVET_AUDIT_FILE="${audit_library}")
endif()
