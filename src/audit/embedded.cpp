#include "audit/embedded.h"

#ifdef GPUVET_AUDIT_FILE

__asm__(
    ".section .rodata\n"
    ".balign 16\n"
    "gpuvet_audit_begin:\n"
    ".incbin \"" GPUVET_AUDIT_FILE
    "\"\n"
    "gpuvet_audit_end:\n"
    ".byte 0\n"
    ".globl gpuvet_audit_begin\n"
    ".globl gpuvet_audit_end\n"
    ".hidden gpuvet_audit_begin\n"
    ".hidden gpuvet_audit_end\n"
    ".text\n");

extern "C" const char gpuvet_audit_begin[], gpuvet_audit_end[];

namespace gpuvet {

std::string_view audit_library() { return {gpuvet_audit_begin, static_cast<std::size_t>(gpuvet_audit_end - gpuvet_audit_begin)}; }

}  // namespace gpuvet

#else

namespace gpuvet {

std::string_view audit_library() { return {}; }

}  // namespace gpuvet

#endif
