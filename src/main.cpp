#include "commands/options.h"

int main(int argc, char** argv) { return gpuvet::run_command_line(argc, argv); }
