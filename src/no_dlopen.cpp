// The static program never loads a library: SQLite's extension loader, which would, finds these instead of the C library's.
extern "C" {
void* dlopen(const char*, int) { return nullptr; }
void* dlsym(void*, const char*) { return nullptr; }
int dlclose(void*) { return -1; }
char* dlerror() {
  static char message[] = "gpuvet loads no libraries";
  return message;
}
}
