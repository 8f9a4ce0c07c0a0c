// sluice_c.h: a database in a program, for C and for what calls C (ctypes, cgo, FFI).
//
//   char fault[256];
//   sluice_db* db = sluice_open(NULL, NULL, 0, fault, sizeof fault);
//   const char* words[] = {"SET", "greeting", "hello"};
//   sluice_reply* reply = sluice_run(db, 3, words, NULL);
//   if (sluice_reply_kind(reply) == SLUICE_ERROR) puts(sluice_reply_text(reply, NULL));
//   sluice_reply_free(reply);
//   sluice_close(db, NULL, 0);
//
// Texts are bytes with a size, and may hold any: where a function takes sizes and gets NULL for
// them, its texts end with a nul byte; so does one whose size is SIZE_MAX. Texts that are given
// back have a nul behind them that is not counted.
//
// Ownership: a `sluice_x*` that a function of this file returns is the caller's, to be given to
// sluice_x_free (a db: sluice_close) once, except where it says "borrowed". NULL may be given to
// each of these. Replies are values: they stay good after their database is closed, and may be used
// by any thread. Tickets, clients and locks may be freed after their database is closed, by one
// thread with it.
//
// Threads: a database, with all its clients, tickets and locks, is one thread's at a time. A second
// one that comes meanwhile gets an error reply ("BUSY ..."), SLUICE_BUSY or NULL, and changes
// nothing. Different databases have nothing in common. After fork() the child may use a database
// without a directory; one with a directory answers "FORKED ...".
//
// Nothing is thrown and nothing aborts: a lack of memory is NULL or SLUICE_NO_MEMORY.
#ifndef SLUICE_C_H
#define SLUICE_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_db sluice_db;
typedef struct sluice_client sluice_client;
typedef struct sluice_ticket sluice_ticket;
typedef struct sluice_reply sluice_reply;
typedef struct sluice_lock sluice_lock;

/* What int functions return: 1 or 0 where a question is answered, or one of these. */
#define SLUICE_OK 0
#define SLUICE_INVALID (-1) /* an argument is NULL, or has no such value */
#define SLUICE_BUSY (-2)    /* another thread is in the database */
#define SLUICE_CLOSED (-3)  /* the database is closed */
#define SLUICE_NO_MEMORY (-4)
#define SLUICE_FAILED (-5) /* the text that comes along says why */

/* The kinds of replies. */
#define SLUICE_NULL 0   /* no such key, nothing to answer, a wait that was in vain */
#define SLUICE_STRING 1 /* bytes; also "OK" and the like */
#define SLUICE_INTEGER 2
#define SLUICE_DOUBLE 3
#define SLUICE_ARRAY 4
#define SLUICE_MAP 5 /* keys and values take turns */
#define SLUICE_SET 6
#define SLUICE_PUSH 7 /* what no command has asked for: a message, a lost lock */
#define SLUICE_ERROR 8

/* The version of the library, "0.1.0"; borrowed, for ever. */
SLUICE_API const char* sluice_version(void);

/* --- a database */

/* Options are names with values, all texts:
 *   directory  where the log and snapshots are; without it nothing outlives the database
 *   time       "system" (without it), or "manual": it stands still but for sluice_run_until
 *   unix-ms    the Unix time in ms at which a manual time begins
 *   seed       a number that all choices come from; without it they come from the system
 * and every option of sluice.conf. NULL, and up to `fault_size` bytes of the reason in `fault`: it
 * cannot be opened. */
SLUICE_API sluice_db* sluice_open(const char* const* names, const char* const* values, size_t count,
                                  char* fault, size_t fault_size);
/* What was promised to be on disk is. The handle is gone in any case but SLUICE_BUSY;
 * SLUICE_FAILED: something could not be written, and `fault` says what. */
SLUICE_API int sluice_close(sluice_db* db, char* fault, size_t fault_size);

/* --- commands */

/* Runs a command of `count` words and returns its answer; an error is a reply, too. Never waits:
 * what would is answered as if its time was over. NULL: no memory, or an argument is NULL. `sizes`
 * may be NULL. */
SLUICE_API sluice_reply* sluice_run(sluice_db* db, size_t count, const char* const* words,
                                    const size_t* sizes);
/* The same for a command that may wait. */
SLUICE_API sluice_ticket* sluice_start(sluice_db* db, size_t count, const char* const* words,
                                       const size_t* sizes);
/* 1: its answer is there. */
SLUICE_API int sluice_ticket_ready(sluice_ticket* ticket);
/* The answer, once; NULL as long as it is not there, and from then on. */
SLUICE_API sluice_reply* sluice_ticket_take(sluice_ticket* ticket);
/* Ends the wait. */
SLUICE_API void sluice_ticket_free(sluice_ticket* ticket);
/* The oldest push that was not taken, or NULL. */
SLUICE_API sluice_reply* sluice_next_push(sluice_db* db);

/* --- clients: each with its own transaction, subscriptions, selected database and SESSION locks. A
 * database is one itself. */

SLUICE_API sluice_client* sluice_connect(sluice_db* db);
SLUICE_API sluice_reply* sluice_client_run(sluice_client* client, size_t count,
                                           const char* const* words, const size_t* sizes);
SLUICE_API sluice_ticket* sluice_client_start(sluice_client* client, size_t count,
                                              const char* const* words, const size_t* sizes);
SLUICE_API sluice_reply* sluice_client_next_push(sluice_client* client);
SLUICE_API void sluice_client_free(sluice_client* client);

/* --- replies */

SLUICE_API int sluice_reply_kind(const sluice_reply* reply); /* of NULL: SLUICE_NULL */
/* The bytes of a string, or the line of an error ("WRONGTYPE Operation ..."); else "". `size` may
 * be NULL. Borrowed from the reply. */
SLUICE_API const char* sluice_reply_text(const sluice_reply* reply, size_t* size);
SLUICE_API int64_t sluice_reply_integer(const sluice_reply* reply); /* 0 where it is none */
SLUICE_API double sluice_reply_double(const sluice_reply* reply);   /* of an integer, too */
/* Of an array, map (keys and values), set or push; else 0. */
SLUICE_API size_t sluice_reply_size(const sluice_reply* reply);
/* Borrowed from the reply; NULL: there is no such element. */
SLUICE_API const sluice_reply* sluice_reply_element(const sluice_reply* reply, size_t index);
/* Of a map: the value of that key, borrowed; NULL: it has none. */
SLUICE_API const sluice_reply* sluice_reply_field(const sluice_reply* reply, const char* key);
SLUICE_API void sluice_reply_free(sluice_reply* reply);

/* --- time, in microseconds from an origin that means nothing */

SLUICE_API int64_t sluice_now(sluice_db* db);
/* When sluice_run_until has something to do; -1: never, unless a command comes. */
SLUICE_API int64_t sluice_next_deadline(sluice_db* db);
/* Does what is due at that moment and before. A manual time moves there, from deadline to deadline;
 * the system's is not waited for. */
SLUICE_API int sluice_run_until(sluice_db* db, int64_t moment);
/* Of a manual time: the wall clock alone steps, as NTP makes it. */
SLUICE_API int sluice_step_wall(sluice_db* db, int64_t by);

/* --- limits */

typedef struct sluice_verdict {
  int allowed;            /* 1 or 0 */
  int64_t limit;          /* the most that an unused one grants at once */
  int64_t remaining;      /* now */
  int64_t retry_after_ms; /* until this cost would fit; -1: it never can */
  int64_t reset_after_ms; /* until the limit is whole again */
  int64_t reset_at_ms;    /* the same, since 1970 */
} sluice_verdict;

/* LIMIT.TAKE. `algorithm`: "WINDOW", "ROLLING", "SLIDING", "LOG", "GCRA" or "LEAKY"; `burst` 0:
 * none. SLUICE_OK: `verdict` is filled. SLUICE_FAILED: `fault` says why not. */
SLUICE_API int sluice_take(sluice_db* db, const char* key, size_t key_size, const char* algorithm,
                           int64_t max, int64_t period_ms, int64_t burst, int64_t cost,
                           sluice_verdict* verdict, char* fault, size_t fault_size);

/* --- locks */

/* LOCK.ACQUIRE with a lease, without waiting. NULL: it is not held; `fault` is "" where another
 * owner has it, and else says why. */
SLUICE_API sluice_lock* sluice_acquire(sluice_db* db, const char* key, size_t key_size,
                                       const char* owner, size_t owner_size, int64_t lease_ms,
                                       char* fault, size_t fault_size);
/* Grows with every grant of the database; 0: it is not held any more. */
SLUICE_API int64_t sluice_lock_token(const sluice_lock* lock);
/* 1: the lease ends so much later than now; 0: the lock is lost. */
SLUICE_API int sluice_lock_renew(sluice_lock* lock, int64_t lease_ms);
/* Releases the lock and frees the handle. 1: it was still held. */
SLUICE_API int sluice_lock_release(sluice_lock* lock);
/* Frees the handle alone: the lease goes on. */
SLUICE_API void sluice_lock_free(sluice_lock* lock);

#ifdef __cplusplus
}
#endif
#endif
