// See sluice_c.h: DatabaseCore behind handles. Every function catches all that may be thrown, and
// checks its arguments, for a caller in C has no other to do it.
#include "server/embed/sluice_c.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/config/version.h"
#include "server/embed/database.h"
#include "server/embed/database_impl.h"

struct sluice_db {
  std::unique_ptr<sluice::ManualTime> time;
  std::shared_ptr<sluice::DatabaseCore> core;
};
struct sluice_client {
  sluice::Client client;
};
struct sluice_ticket {
  sluice::Ticket ticket;
};
struct sluice_lock {
  sluice::LockGuard guard;
};

namespace {

using sluice::Concat;
using sluice::Reply;

// A reply's handle is the reply: an element of it needs none of its own.
const Reply& ReplyOf(const sluice_reply* reply) { return *reinterpret_cast<const Reply*>(reply); }
const sluice_reply* Borrowed(const Reply& reply) {
  return reinterpret_cast<const sluice_reply*>(&reply);
}
sluice_reply* Owned(Reply reply) {
  return reinterpret_cast<sluice_reply*>(new Reply(std::move(reply)));
}

void Tell(std::string_view text, char* fault, size_t size) {
  if (!fault || size == 0) return;
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(fault, text.data(), length);
  fault[length] = '\0';
}

// Returns `otherwise` where something is thrown.
template <typename Result, typename Work>
Result Guarded(Result otherwise, Work work) noexcept {
  try {
    return work();
  } catch (...) {
    return otherwise;
  }
}

// False: a word is missing.
bool ReadWords(size_t count, const char* const* words, const size_t* sizes,
               std::vector<std::string_view>& into) {
  if (!words && count > 0) return false;
  into.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (!words[i]) return false;
    into.emplace_back(words[i], sizes ? sizes[i] : std::strlen(words[i]));
  }
  return true;
}

std::string_view TextOf(const char* text, size_t size) {
  return {text, size == SIZE_MAX ? std::strlen(text) : size};
}

template <typename Number>
bool ReadNumber(std::string_view text, Number& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size();
}

struct Opening {
  sluice::Options options;
  bool manual = false;
  int64_t unix_ms = 1'700'000'000'000;
};

// A sentence, or empty.
std::string ReadOption(std::string_view name, std::string_view value, Opening& opening) {
  constexpr int64_t kUnixMsMax = int64_t{1} << 46;
  if (name == "directory") {
    opening.options.directory.assign(value);
  } else if (name == "time") {
    if (value != "manual" && value != "system") return "time is \"system\" or \"manual\"";
    opening.manual = value == "manual";
  } else if (name == "unix-ms") {
    if (!ReadNumber(value, opening.unix_ms) || opening.unix_ms < 0 || opening.unix_ms > kUnixMsMax)
      return "unix-ms is a Unix time in milliseconds";
  } else if (name == "seed") {
    uint64_t seed = 0;
    if (!ReadNumber(value, seed)) return "seed is a number";
    opening.options.seed = seed;
  } else {
    opening.options.settings.emplace_back(name, value);
  }
  return {};
}

sluice_db* Open(const char* const* names, const char* const* values, size_t count,
                std::string& fault) {
  Opening opening;
  for (size_t i = 0; i < count && fault.empty(); ++i) {
    fault = names && values && names[i] && values[i] ? ReadOption(names[i], values[i], opening)
                                                     : "an option has no name, or no value";
  }
  if (!fault.empty()) return nullptr;
  auto db = std::make_unique<sluice_db>();
  if (opening.manual) {
    db->time = std::make_unique<sluice::ManualTime>(std::chrono::milliseconds(opening.unix_ms));
    opening.options.time = db->time.get();
  }
  db->core = sluice::DatabaseCore::Open(std::move(opening.options), fault);
  if (!db->core) return nullptr;
  return db.release();
}

}  // namespace

const char* sluice_version(void) {
  static const std::string version(sluice::kSluiceVersion);
  return version.c_str();
}

// --- a database

sluice_db* sluice_open(const char* const* names, const char* const* values, size_t count,
                       char* fault, size_t fault_size) {
  Tell("", fault, fault_size);
  return Guarded<sluice_db*>(nullptr, [&] {
    std::string sentence = "there is no memory";
    Tell(sentence, fault, fault_size);
    sentence.clear();
    sluice_db* const db = Open(names, values, count, sentence);
    Tell(sentence, fault, fault_size);
    return db;
  });
}

int sluice_close(sluice_db* db, char* fault, size_t fault_size) {
  Tell("", fault, fault_size);
  if (!db) return SLUICE_OK;
  return Guarded(SLUICE_NO_MEMORY, [&] {
    std::string sentence;
    if (!db->core->TryShut(sentence)) return SLUICE_BUSY;
    delete db;
    Tell(sentence, fault, fault_size);
    return sentence.empty() ? SLUICE_OK : SLUICE_FAILED;
  });
}

// --- commands

sluice_reply* sluice_run(sluice_db* db, size_t count, const char* const* words,
                         const size_t* sizes) {
  return Guarded<sluice_reply*>(nullptr, [&]() -> sluice_reply* {
    std::vector<std::string_view> args;
    if (!db || !ReadWords(count, words, sizes, args)) return nullptr;
    return Owned(db->core->Run(*db->core->own(), args));
  });
}

sluice_ticket* sluice_start(sluice_db* db, size_t count, const char* const* words,
                            const size_t* sizes) {
  return Guarded<sluice_ticket*>(nullptr, [&]() -> sluice_ticket* {
    std::vector<std::string_view> args;
    if (!db || !ReadWords(count, words, sizes, args)) return nullptr;
    return new sluice_ticket{db->core->StartTicket(args)};
  });
}

int sluice_ticket_ready(sluice_ticket* ticket) {
  if (!ticket) return SLUICE_INVALID;
  return Guarded(SLUICE_NO_MEMORY, [&] { return ticket->ticket.ready() ? 1 : 0; });
}

sluice_reply* sluice_ticket_take(sluice_ticket* ticket) {
  return Guarded<sluice_reply*>(nullptr, [&]() -> sluice_reply* {
    if (!ticket) return nullptr;
    std::optional<Reply> reply = ticket->ticket.Take();
    return reply ? Owned(*std::move(reply)) : nullptr;
  });
}

void sluice_ticket_free(sluice_ticket* ticket) {
  Guarded(0, [&] {
    delete ticket;
    return 0;
  });
}

sluice_reply* sluice_next_push(sluice_db* db) {
  return Guarded<sluice_reply*>(nullptr, [&]() -> sluice_reply* {
    if (!db) return nullptr;
    std::optional<Reply> push = db->core->NextPush(*db->core->own());
    return push ? Owned(*std::move(push)) : nullptr;
  });
}

// --- clients

sluice_client* sluice_connect(sluice_db* db) {
  return Guarded<sluice_client*>(nullptr, [&]() -> sluice_client* {
    return db ? new sluice_client{db->core->Connect()} : nullptr;
  });
}

sluice_reply* sluice_client_run(sluice_client* client, size_t count, const char* const* words,
                                const size_t* sizes) {
  return Guarded<sluice_reply*>(nullptr, [&]() -> sluice_reply* {
    std::vector<std::string_view> args;
    if (!client || !ReadWords(count, words, sizes, args)) return nullptr;
    return Owned(client->client.Run(args));
  });
}

sluice_ticket* sluice_client_start(sluice_client* client, size_t count, const char* const* words,
                                   const size_t* sizes) {
  return Guarded<sluice_ticket*>(nullptr, [&]() -> sluice_ticket* {
    std::vector<std::string_view> args;
    if (!client || !ReadWords(count, words, sizes, args)) return nullptr;
    return new sluice_ticket{client->client.Start(args)};
  });
}

sluice_reply* sluice_client_next_push(sluice_client* client) {
  return Guarded<sluice_reply*>(nullptr, [&]() -> sluice_reply* {
    if (!client) return nullptr;
    std::optional<Reply> push = client->client.NextPush();
    return push ? Owned(*std::move(push)) : nullptr;
  });
}

void sluice_client_free(sluice_client* client) {
  Guarded(0, [&] {
    delete client;
    return 0;
  });
}

// --- replies

int sluice_reply_kind(const sluice_reply* reply) {
  return reply ? static_cast<int>(ReplyOf(reply).kind()) : SLUICE_NULL;
}

const char* sluice_reply_text(const sluice_reply* reply, size_t* size) {
  const std::string_view text = reply ? ReplyOf(reply).text() : std::string_view("");
  if (size) *size = text.size();
  return text.data();
}

int64_t sluice_reply_integer(const sluice_reply* reply) {
  return reply ? ReplyOf(reply).integer() : 0;
}

double sluice_reply_double(const sluice_reply* reply) {
  return reply ? ReplyOf(reply).number() : 0;
}

size_t sluice_reply_size(const sluice_reply* reply) { return reply ? ReplyOf(reply).size() : 0; }

const sluice_reply* sluice_reply_element(const sluice_reply* reply, size_t index) {
  if (!reply || index >= ReplyOf(reply).size()) return nullptr;
  return Borrowed(ReplyOf(reply).elements()[index]);
}

const sluice_reply* sluice_reply_field(const sluice_reply* reply, const char* key) {
  if (!reply || !key || ReplyOf(reply).kind() != Reply::Kind::kMap) return nullptr;
  const std::vector<Reply>& elements = ReplyOf(reply).elements();
  for (size_t i = 0; i + 1 < elements.size(); i += 2) {
    if (elements[i].text() == key) return Borrowed(elements[i + 1]);
  }
  return nullptr;
}

void sluice_reply_free(sluice_reply* reply) { delete reinterpret_cast<Reply*>(reply); }

// --- time

int64_t sluice_now(sluice_db* db) {
  if (!db) return 0;
  return Guarded<int64_t>(0, [&] { return int64_t{db->core->Now().count()}; });
}

int64_t sluice_next_deadline(sluice_db* db) {
  if (!db) return -1;
  return Guarded<int64_t>(-1, [&] {
    const std::optional<sluice::Time> next = db->core->NextDeadline();
    return next ? int64_t{next->count()} : -1;
  });
}

int sluice_run_until(sluice_db* db, int64_t moment) {
  if (!db) return SLUICE_INVALID;
  return Guarded(SLUICE_NO_MEMORY, [&] {
    using State = sluice::DatabaseCore::State;
    const State state = db->core->state();
    if (state != State::kOpen) return state == State::kBusy ? SLUICE_BUSY : SLUICE_CLOSED;
    db->core->RunUntil(sluice::Time(moment));
    return SLUICE_OK;
  });
}

int sluice_step_wall(sluice_db* db, int64_t by) {
  if (!db || !db->time) return SLUICE_INVALID;
  db->time->StepWall(std::chrono::microseconds(by));
  return SLUICE_OK;
}

// --- limits

int sluice_take(sluice_db* db, const char* key, size_t key_size, const char* algorithm, int64_t max,
                int64_t period_ms, int64_t burst, int64_t cost, sluice_verdict* verdict,
                char* fault, size_t fault_size) {
  Tell("", fault, fault_size);
  if (!db || !key || !algorithm || !verdict) return SLUICE_INVALID;
  return Guarded(SLUICE_NO_MEMORY, [&] {
    const sluice::Limit limit(algorithm, max, sluice::Millis(period_ms), burst);
    const sluice::Verdict taken =
        db->core->Take(TextOf(key, key_size), limit, cost, /*peek=*/false);
    *verdict = {.allowed = taken.allowed ? 1 : 0,
                .limit = taken.limit,
                .remaining = taken.remaining,
                .retry_after_ms = taken.retry_after.value_or(sluice::Millis(-1)).count(),
                .reset_after_ms = taken.reset_after.count(),
                .reset_at_ms = taken.reset_at.count()};
    Tell(taken.error, fault, fault_size);
    return taken.error.empty() ? SLUICE_OK : SLUICE_FAILED;
  });
}

// --- locks

sluice_lock* sluice_acquire(sluice_db* db, const char* key, size_t key_size, const char* owner,
                            size_t owner_size, int64_t lease_ms, char* fault, size_t fault_size) {
  Tell("", fault, fault_size);
  if (!db || !key || !owner) {
    Tell("an argument is NULL", fault, fault_size);
    return nullptr;
  }
  return Guarded<sluice_lock*>(nullptr, [&]() -> sluice_lock* {
    sluice::LockGuard guard = db->core->Acquire(TextOf(key, key_size), TextOf(owner, owner_size),
                                                {.lease = sluice::Millis(lease_ms)});
    Tell(guard.error(), fault, fault_size);
    return guard ? new sluice_lock{std::move(guard)} : nullptr;
  });
}

int64_t sluice_lock_token(const sluice_lock* lock) { return lock ? lock->guard.token() : 0; }

int sluice_lock_renew(sluice_lock* lock, int64_t lease_ms) {
  if (!lock) return SLUICE_INVALID;
  return Guarded(SLUICE_NO_MEMORY,
                 [&] { return lock->guard.Renew(sluice::Millis(lease_ms)) ? 1 : 0; });
}

int sluice_lock_release(sluice_lock* lock) {
  if (!lock) return SLUICE_INVALID;
  return Guarded(SLUICE_NO_MEMORY, [&] {
    const bool held = lock->guard.Release();
    delete lock;
    return held ? 1 : 0;
  });
}

void sluice_lock_free(sluice_lock* lock) {
  if (!lock) return;
  lock->guard.Detach();
  delete lock;
}
