// The rtld-audit library of `gpuvet trace --live` (rtld-audit(7)): writes down what the dynamic loader searches, opens and
// closes.
//
// It lives in another program, so it needs nothing but ld.so itself: no libc, no TLS, no heap, no stack protector, no standard
// headers beyond the compiler's. Each record is one write(2) with O_APPEND into the file that GPUVET_AUDIT announces
// ("DEVICE:INODE:PATH", hexadecimal numbers). The file is opened anew for every record, because programs close and reuse
// descriptors that they do not know; it is written only when it is the announced one. Raw system calls leave errno alone.
// A record is a row of "key=value\0", ended by one more "\0"; src/loader/load_record.cpp reads them.

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

// ---- system calls --------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
enum { SYS_lseek = 8, SYS_close = 3, SYS_fstat = 5, SYS_writev = 20, SYS_getpid = 39, SYS_getcwd = 79, SYS_getppid = 110 };
enum { SYS_clock_gettime = 228, SYS_openat = 257, SYS_newfstatat = 262, SYS_readlinkat = 267 };

static long sys4(long number, long a, long b, long c, long d) {
  register long r10 __asm__("r10") = d;
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
enum { SYS_lseek = 62, SYS_close = 57, SYS_fstat = 80, SYS_writev = 66, SYS_getpid = 172, SYS_getcwd = 17, SYS_getppid = 173 };
enum { SYS_clock_gettime = 113, SYS_openat = 56, SYS_newfstatat = 79, SYS_readlinkat = 78 };

static long sys4(long number, long a, long b, long c, long d) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
}
#else
#error "the audit library knows the system calls of x86-64 and aarch64 only"
#endif

enum { AT_FDCWD_ = -100, O_WRONLY_ = 1, O_APPEND_ = 02000, O_NONBLOCK_ = 04000, O_NOCTTY_ = 0400, O_CLOEXEC_ = 02000000 };
enum { longest_text = 4096, longest_path = 256, most_bytes = 64 << 20 };

/// struct stat of both architectures begins with st_dev and st_ino; st_size is the seventh word.
struct status {
  uint64_t device, inode, between[4];
  int64_t size;
  uint64_t rest[16];
};

struct piece {
  const void* bytes;
  size_t length;
};

// ---- state: written once at start, before the program's first thread -------------------------------------------------

static char** environment;
static const char* program_name;
static char record_path[longest_path];
static uint64_t record_device, record_inode;
static uint64_t image;      // start time of this program image in ns: with the process id it names the image
static uint64_t image_pid;  // forked children keep both
static uint64_t next_cookie;

static size_t length_of(const char* text) {
  const char* end = text;
  while (end - text < longest_text && *end != '\0') ++end;
  return (size_t)(end - text);
}

/// The value of NAME= in the environment; null: not there. `name` includes the '='.
static const char* variable(const char* name) {
  if (environment == NULL) return NULL;
  for (char** entry = environment; *entry != NULL; ++entry) {
    size_t i = 0;
    while (name[i] != '\0' && (*entry)[i] == name[i]) ++i;
    if (name[i] == '\0') return *entry + i;
  }
  return NULL;
}

/// Reads hexadecimal digits up to ':' and steps behind it.
static uint64_t number_at(const char** text) {
  uint64_t value = 0;
  for (; **text != '\0' && **text != ':'; ++*text) {
    const char c = **text;
    value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (**text == ':') ++*text;
  return value;
}

// ---- records -------------------------------------------------------------------------------------------------------

/// A record under construction: pieces point at the texts themselves, so nothing is copied but numbers.
struct record {
  struct piece pieces[28];
  long count;
  char numbers[128];
  size_t used;
};

static void add_bytes(struct record* record, const char* bytes, size_t length) {
  if (record->count == 28) return;
  record->pieces[record->count].bytes = bytes;
  record->pieces[record->count].length = length;
  ++record->count;
}

/// `key` is "n=" and the like.
static void add_text(struct record* record, const char* key, const char* text) {
  if (text == NULL) return;
  add_bytes(record, key, length_of(key));
  add_bytes(record, text, length_of(text));
  add_bytes(record, "", 1);
}

static void add_number(struct record* record, const char* key, uint64_t value) {
  if (record->used + 17 > sizeof record->numbers) return;
  char* const end = record->numbers + record->used + 17;
  char* digit = end;
  *--digit = '\0';
  do *--digit = "0123456789abcdef"[value & 15];
  while ((value >>= 4) != 0);
  record->used += 17;
  add_bytes(record, key, length_of(key));
  add_bytes(record, digit, (size_t)(end - digit));
}

static void begin(struct record* record, const char* type) {
  record->count = 0;
  record->used = 0;
  add_text(record, "t=", type);
  add_number(record, "i=", image);
  add_number(record, "o=", image_pid);
  add_number(record, "p=", (uint64_t)sys4(SYS_getpid, 0, 0, 0, 0));
}

static void finish(struct record* record) {
  if (record_path[0] == '\0') return;
  add_bytes(record, "", 1);
  const int flags = O_WRONLY_ | O_APPEND_ | O_NONBLOCK_ | O_NOCTTY_ | O_CLOEXEC_;
  const long file = sys4(SYS_openat, AT_FDCWD_, (long)record_path, flags, 0);
  if (file < 0) return;
  struct status status;
  if (sys4(SYS_fstat, file, (long)&status, 0, 0) == 0 && status.device == record_device && status.inode == record_inode &&
      status.size < most_bytes)
    sys4(SYS_writev, file, (long)record->pieces, record->count, 0);
  sys4(SYS_close, file, 0, 0, 0);
}

/// Which file a path leads to now: two searches may end at the same one.
static void add_file(struct record* record, const char* path) {
  struct status status;
  const long error = sys4(SYS_newfstatat, AT_FDCWD_, (long)path, (long)&status, 0);
  if (error != 0) {
    add_number(record, "e=", (uint64_t)-error);
    return;
  }
  add_number(record, "d=", status.device);
  add_number(record, "f=", status.inode);
}

static void add_cookie(struct record* record, const uintptr_t* cookie) {
  if (cookie != NULL) add_number(record, "c=", *cookie);
}

// ---- start ---------------------------------------------------------------------------------------------------------

/// ld.so calls initialisers with the program's arguments and environment.
__attribute__((constructor)) static void remember_start(int count, char** arguments, char** variables) {
  environment = variables;
  if (count > 0 && arguments != NULL) program_name = arguments[0];
}

/// The program may overwrite its environment later (setproctitle), so the path is copied.
static void remember_record_file(void) {
  const char* text = variable("GPUVET_AUDIT=");
  if (text == NULL) return;
  record_device = number_at(&text);
  record_inode = number_at(&text);
  size_t i = 0;
  while (i + 1 < longest_path && text[i] != '\0') {
    record_path[i] = text[i];
    ++i;
  }
  record_path[i] = '\0';
  if (text[i] != '\0') record_path[0] = '\0';
}

static void write_start(unsigned version) {
  // Static: ld.so is alone at this time, and a caller's stack may be small.
  static char program[longest_text], folder[longest_text];
  struct record record;
  const long length = sys4(SYS_readlinkat, AT_FDCWD_, (long)"/proc/self/exe", (long)program, longest_text - 1);
  if (length > 0) program[length] = '\0';
  if (sys4(SYS_getcwd, (long)folder, longest_text, 0, 0) < 0) folder[0] = '\0';
  begin(&record, "start");
  add_number(&record, "v=", version);
  add_number(&record, "q=", (uint64_t)sys4(SYS_getppid, 0, 0, 0, 0));
  add_text(&record, "x=", program);
  add_text(&record, "w=", folder);
  add_text(&record, "a=", program_name);
  finish(&record);
  // Apart, so that two long values do not push out the rest.
  static const char* const told[] = {"LD_LIBRARY_PATH=", "LD_PRELOAD="};
  for (int i = 0; i < 2; ++i) {
    const char* value = variable(told[i]);
    if (value == NULL) continue;
    begin(&record, "variable");
    add_text(&record, "k=", told[i]);
    add_text(&record, "n=", value);
    finish(&record);
  }
}

// ---- what ld.so calls ------------------------------------------------------------------------------------------------

/// The interface's version is taken as it is offered: what is used here is the same in all (aarch64 refuses an older answer).
EXPORT unsigned la_version(unsigned version) {
  long now[2] = {0, 0};
  sys4(SYS_clock_gettime, 1, (long)now, 0, 0);
  image = (uint64_t)now[0] * 1000000000u + (uint64_t)now[1];
  image_pid = (uint64_t)sys4(SYS_getpid, 0, 0, 0, 0);
  remember_record_file();
  write_start(version);
  return version;
}

static int has_slash(const char* name) {
  const size_t length = length_of(name);
  for (size_t i = 0; i < length; ++i) {
    if (name[i] == '/') return 1;
  }
  return 0;
}

EXPORT char* la_objsearch(const char* name, uintptr_t* cookie, unsigned flag) {
  struct record record;
  begin(&record, "search");
  add_number(&record, "r=", flag);
  add_cookie(&record, cookie);
  add_text(&record, "n=", name);
  if (has_slash(name)) add_file(&record, name);
  finish(&record);
  return (char*)name;
}

/// struct link_map begins with the load address and the name.
struct map {
  uintptr_t address;
  const char* name;
};

EXPORT unsigned la_objopen(struct map* map, long name_space, uintptr_t* cookie) {
  struct record record;
  *cookie = (uintptr_t)++next_cookie;
  begin(&record, "open");
  add_number(&record, "m=", (uint64_t)name_space);
  add_cookie(&record, cookie);
  add_text(&record, "n=", map->name);
  add_file(&record, map->name[0] != '\0' ? map->name : "/proc/self/exe");
  finish(&record);
  return 0;
}

EXPORT void la_activity(uintptr_t* cookie, unsigned flag) {
  struct record record;
  begin(&record, "activity");
  add_number(&record, "r=", flag);
  add_cookie(&record, cookie);
  finish(&record);
}

EXPORT void la_preinit(uintptr_t* cookie) {
  struct record record;
  begin(&record, "preinit");
  add_cookie(&record, cookie);
  finish(&record);
}

EXPORT unsigned la_objclose(uintptr_t* cookie) {
  struct record record;
  begin(&record, "close");
  add_cookie(&record, cookie);
  finish(&record);
  return 0;
}
