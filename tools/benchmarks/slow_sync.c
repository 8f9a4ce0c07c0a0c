/* Loaded ahead of a server's own libraries: every sync of a file takes SLOW_SYNC_MS longer; or, with SYNC_US,
 * so long in all, and no disk is asked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static void wait_us(long us) {
  const struct timespec time = {us / 1000000, us % 1000000 * 1000};
  prctl(PR_SET_TIMERSLACK, 1);
  nanosleep(&time, NULL);
}

static int sync_by(const char* name, int descriptor) {
  const char* const us = getenv("SYNC_US");
  if (us) {
    wait_us(atol(us));
    return 0;
  }
  const char* const ms = getenv("SLOW_SYNC_MS");
  if (ms) wait_us(1000 * atol(ms));
  return ((int (*)(int))dlsym(RTLD_NEXT, name))(descriptor);
}

int fdatasync(int descriptor) { return sync_by("fdatasync", descriptor); }

int fsync(int descriptor) { return sync_by("fsync", descriptor); }
