/* A lock with a fencing token, in C: one holder at a time, and a write that only the holder can do. */
#include <stdio.h>
#include <string.h>

#include "sluice/sluice_c.h"

/* 1: the answer is "OK". */
static int is_ok(sluice_reply* reply) {
  const int ok = strcmp(sluice_reply_text(reply, NULL), "OK") == 0;
  sluice_reply_free(reply);
  return ok;
}

static int write_fenced(sluice_db* db, long long token, const char* value) {
  char digits[32];
  const char* words[] = {"FENCED", "door", digits, "SET", "state", value};
  snprintf(digits, sizeof digits, "%lld", token);
  return is_ok(sluice_run(db, 6, words, NULL));
}

int main(void) {
  const char* names[] = {"time"};
  const char* values[] = {"manual"};
  char fault[256];
  sluice_db* db = sluice_open(names, values, 1, fault, sizeof fault);
  if (!db) {
    fprintf(stderr, "%s\n", fault);
    return 1;
  }

  sluice_lock* lock = sluice_acquire(db, "door", SIZE_MAX, "me", SIZE_MAX, 10000, fault, sizeof fault);
  if (!lock) return 1;
  const long long mine = sluice_lock_token(lock);
  printf("held with token %lld\n", mine);
  if (sluice_acquire(db, "door", SIZE_MAX, "you", SIZE_MAX, 10000, fault, sizeof fault)) return 1;
  if (!write_fenced(db, mine, "open")) return 1;

  /* Eleven seconds pass, and the lease with them: another takes the lock. */
  sluice_run_until(db, sluice_now(db) + 11 * 1000000LL);
  sluice_lock* other = sluice_acquire(db, "door", SIZE_MAX, "you", SIZE_MAX, 10000, fault, sizeof fault);
  if (!other || sluice_lock_token(other) <= mine) return 1;
  if (write_fenced(db, mine, "stale")) return 1;
  if (sluice_lock_release(lock) != 0) return 1; /* it was lost before */
  if (sluice_lock_release(other) != 1) return 1;
  printf("a stale token writes nothing\n");
  return sluice_close(db, fault, sizeof fault) == SLUICE_OK ? 0 : 1;
}
