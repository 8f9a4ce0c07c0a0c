/* Loaded ahead of a server's own libraries: every sync of a file takes SLOW_SYNC_MS longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_first(void) {
  const char* const ms = getenv("SLOW_SYNC_MS");
  const long wait = ms ? atol(ms) : 0;
  const struct timespec time = {wait / 1000, wait % 1000 * 1000000};
  nanosleep(&time, NULL);
}

int fdatasync(int descriptor) {
  wait_first();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(descriptor);
}

int fsync(int descriptor) {
  wait_first();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(descriptor);
}
