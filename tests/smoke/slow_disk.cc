// Preloaded into a server by slow_disk.py: a disk that takes half a second to open a file of time
// zones (TZDIR).
#include <dlfcn.h>
#include <fcntl.h>
#include <time.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

constexpr timespec kOpening = {.tv_sec = 0, .tv_nsec = 500'000'000};

bool IsSlow(const char* path) {
  const char* const folder = std::getenv("TZDIR");
  return folder && std::strncmp(path, folder, std::strlen(folder)) == 0;
}

}  // namespace

// As the C library has it.
extern "C" __attribute__((visibility("default"))) int open(  // NOLINT: its name, and its words
    const char* path, int flags, ...) {
  using Open = int (*)(const char*, int, ...);
  static const auto next = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "open"));
  if (IsSlow(path)) nanosleep(&kOpening, nullptr);
  if (!(flags & O_CREAT)) return next(path, flags);
  va_list words;
  va_start(words, flags);
  const mode_t mode = va_arg(words, mode_t);
  va_end(words);
  return next(path, flags, mode);
}
