// RESTORE of damaged dumps by the ten thousand: each is refused in Redis's words and changes
// nothing, or makes a value that is sound: its own dump makes the same again, it can be used and
// deleted, and then all of its memory is back.
//
// SLUICE_DUMP_ROUNDS says how many, SLUICE_DUMP_FROM where to begin (otherwise at a new place each
// run): a round depends on its number alone. A failure prints the number and the bytes, a crash the
// number of its batch's first.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/dump_mutations.h"
#include "tests/fuzz/work_count.h"
#include "tests/support/command_line.h"
#include "tests/support/seed.h"

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace sluice {
namespace {

constexpr size_t kBatch = 64;
constexpr uint64_t kRounds = 60'000;  // unless told otherwise

// The one global: what a signal handler can reach.
uint64_t batch_begin = 0;

void PrintBatch() {
  std::fprintf(stderr, "in the batch of SLUICE_DUMP_FROM=%llu\n",
               static_cast<unsigned long long>(batch_begin));
}

void OnSignal(int signal) {
  PrintBatch();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// What is done to a value of each type; `k` is its key. Whatever the answer, the value stays sound.
const std::map<std::string, std::vector<std::string_view>> kUses = {
    {"string",
     {"APPEND k xyz", "GETRANGE k 2 90", "SETRANGE k 3 ab", "BITCOUNT k", "PFCOUNT k",
      "PFADD k a b c", "PFMERGE k k", "INCR k", "SETBIT k 77 1", "BITFIELD k INCRBY u8 3 9"}},
    {"list",
     {"LRANGE k 0 -1", "LPUSH k a b", "RPUSH k 12 c", "LPOP k 2", "RPOP k", "LINSERT k BEFORE a x",
      "LSET k -1 y", "LTRIM k 1 -2", "LREM k 0 a", "LPOS k b COUNT 0", "LINDEX k 3",
      "LMOVE k k LEFT RIGHT", "SORT k ALPHA"}},
    {"set",
     {"SMEMBERS k", "SADD k 77 x", "SREM k 1 b", "SPOP k 2", "SRANDMEMBER k -5", "SISMEMBER k b",
      "SUNIONSTORE k k k", "SMISMEMBER k 1 2 b", "SSCAN k 0"}},
    {"zset",
     {"ZRANGE k 0 -1 WITHSCORES", "ZADD k 2 x -5 b", "ZINCRBY k 1.5 c", "ZPOPMIN k", "ZPOPMAX k 2",
      "ZRANGEBYSCORE k -inf +inf", "ZRANK k b", "ZREM k b c", "ZRANGEBYLEX k - +",
      "ZREMRANGEBYRANK k 1 2", "ZCOUNT k (1 5", "ZUNIONSTORE k 2 k k", "GEOHASH k b c",
      "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 900 km"}},
    {"hash",
     {"HGETALL k", "HSET k b 3 zz y", "HDEL k b", "HINCRBY k c 5", "HRANDFIELD k -3 WITHVALUES",
      "HPEXPIRE k 900 FIELDS 2 b c", "HTTL k FIELDS 2 b c", "HPERSIST k FIELDS 1 b", "HSCAN k 0",
      "HGETDEL k FIELDS 1 c"}},
    {"stream",
     {"XRANGE k - +", "XREVRANGE k + - COUNT 3", "XADD k * f v", "XLEN k", "XINFO STREAM k FULL",
      "XREADGROUP GROUP g me COUNT 5 STREAMS k >", "XREADGROUP GROUP g me STREAMS k 0",
      "XACK k g 1-1 7-0", "XCLAIM k g you 0 1-1 7-9", "XAUTOCLAIM k g you 0 0", "XDEL k 1-1 7-9",
      "XPENDING k g", "XPENDING k g - + 9", "XTRIM k MAXLEN 1", "XGROUP DELCONSUMER k g me",
      "XGROUP DESTROY k other", "XSETID k 99-1", "XINFO CONSUMERS k g", "XGROUP SETID k g 0"}},
    {"limiter",
     {"LIMIT.TAKE k WINDOW 5 1000", "LIMIT.TAKE k ROLLING 5 1000", "LIMIT.TAKE k SLIDING 5 1000",
      "LIMIT.TAKE k LOG 5 1000", "LIMIT.TAKE k GCRA 5 1000", "LIMIT.TAKE k LEAKY 9 900 COST 3",
      "LIMIT.TAKE k SLIDING 4611686018427387904 9 SHADOW", "LIMIT.TAKE k GCRA 3 9 BURST 7 BAN 50",
      "LIMIT.TAKE k ROLLING 4611686018427387904 100", "LIMIT.INFO k", "LIMIT.REFUND k 3",
      "LIMIT.REFUND k 4611686018427387904", "PEXPIRE k 50", "PERSIST k"}},
    {"leakybucket",
     {"LBUCKET.GET k", "LBUCKET.COUNT k 5", "LBUCKET.COUNT k 0", "LBUCKET.COUNT k 100",
      "PEXPIRE k 50"}},
    {"lock",
     {"LOCK.ACQUIRE k me LEASE 500", "LOCK.ACQUIRE k you LEASE 5 SHARED", "LOCK.INFO k",
      "LOCK.RELEASE k me", "LOCK.BREAK k"}},
};
constexpr std::string_view kUsesOfAll[] = {"COPY k spare REPLACE", "OBJECT ENCODING k",
                                           "RENAME k k",           "PTTL k",
                                           "DEBUG OBJECT k",       "PEXPIRE k 100000"};

std::vector<std::string> Words(std::string_view line, const std::string& key) {
  std::vector<std::string> words = *SplitCommandLine(std::string(line));
  for (std::string& word : words) {
    if (word == "k") word = key;
  }
  return words;
}

struct Damage {
  uint64_t round = 0;
  std::string dump;
  std::string key, again;  // what is restored, and what is restored of its dump
  std::string restored;    // its dump; empty when there is no value
  std::string type, digest;
};

class DumpDamageTest : public testing::Test {
 protected:
  TestEngine server_;
  TestClient& client_ = server_.Connect();
  std::vector<std::string> samples_ = DumpSamples(server_);
  std::vector<std::string> requests_;

  void Ask(const std::vector<std::string>& words) { requests_.push_back(EncodeRequest(words)); }
  // All that were asked, in one pipeline, with one audit of the keyspace behind it.
  std::vector<Reply> Answers() {
    std::string bytes;
    for (const std::string& request : requests_) bytes += request;
    client_.SendBytes(bytes);
    std::vector<Reply> replies;
    while (std::optional<Reply> reply = client_.Next()) replies.push_back(*std::move(reply));
    EXPECT_EQ(replies.size(), requests_.size());
    replies.resize(requests_.size());
    requests_.clear();
    return replies;
  }
  static std::string Told(const Damage& damage) {
    std::string text =
        "SLUICE_DUMP_ROUNDS=1 SLUICE_DUMP_FROM=" + std::to_string(damage.round) + " ";
    for (const char c : damage.dump) {
      char hex[5];
      std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
      text += hex;
    }
    return text;
  }

  std::vector<Damage> Begin(uint64_t from, size_t count) {
    std::vector<Damage> batch;
    for (uint64_t round = from; round < from + count; ++round) {
      DamageRandom random(round);
      const std::string number = std::to_string(round - from);
      batch.push_back({.round = round,
                       .dump = Sealed(Damaged(samples_, random)),
                       .key = "value:" + number,
                       .again = "again:" + number});
    }
    return batch;
  }
  // Those that were taken.
  std::vector<Damage> Restore(const std::vector<Damage>& batch) {
    for (const Damage& damage : batch) Ask({"RESTORE", damage.key, "0", damage.dump});
    const Work before = WorkDone();
    const std::vector<Reply> replies = Answers();
    const Work work = WorkDone() - before;
    size_t bytes = 0;
    for (const Damage& damage : batch) bytes += damage.dump.size();
    EXPECT_LE(work.units, WorkAllowed(work, bytes, batch.size())) << Told(batch.front());
    std::vector<Damage> taken;
    for (size_t i = 0; i < batch.size(); ++i) {
      const std::string reply = replies[i].ToText();
      if (reply == "+OK") {
        taken.push_back(batch[i]);
      } else {
        EXPECT_EQ(reply, "-ERR Bad data format") << Told(batch[i]);
      }
    }
    return taken;
  }
  void Look(std::vector<Damage>& taken) {
    for (const Damage& damage : taken) {
      Ask({"TYPE", damage.key});
      Ask({"DUMP", damage.key});
      Ask({"DEBUG", "DIGEST-VALUE", damage.key});
    }
    const std::vector<Reply> replies = Answers();
    for (size_t i = 0; i < taken.size(); ++i) {
      taken[i].type = replies[3 * i].text;
      taken[i].restored = replies[3 * i + 1].text;
      taken[i].digest = replies[3 * i + 2].ToText();
    }
    // A limiter or a bucket that has ended by now is no key.
    std::erase_if(taken, [](const Damage& damage) { return damage.type == "none"; });
  }
  void DumpAgain(const std::vector<Damage>& taken) {
    for (const Damage& damage : taken) {
      Ask({"RESTORE", damage.again, "0", damage.restored});
      Ask({"DEBUG", "DIGEST-VALUE", damage.again});
      Ask({"DUMP", damage.again});
    }
    const std::vector<Reply> replies = Answers();
    for (size_t i = 0; i < taken.size(); ++i) {
      EXPECT_EQ(replies[3 * i].ToText(), "+OK") << Told(taken[i]);
      EXPECT_EQ(replies[3 * i + 1].ToText(), taken[i].digest) << Told(taken[i]);
      // Members of hashes and sets may come in another order, which changes what is compressed.
      if (taken[i].type == "set" || taken[i].type == "hash") continue;
      EXPECT_EQ(replies[3 * i + 2].text, taken[i].restored) << Told(taken[i]);
    }
  }
  void Use(const std::vector<Damage>& taken) {
    for (const Damage& damage : taken) {
      DamageRandom random(damage.round);
      const std::vector<std::string_view>& uses = kUses.at(damage.type);
      for (int left = 5; left > 0; --left) Ask(Words(uses[random() % uses.size()], damage.key));
      Ask(Words(kUsesOfAll[random() % std::size(kUsesOfAll)], damage.key));
      Ask({"DUMP", damage.key});
    }
    Answers();
  }
  void Delete(const std::vector<Damage>& taken) {
    for (const Damage& damage : taken) Ask({"DEL", damage.key, damage.again, "spare"});
    Ask({"DBSIZE"});
    EXPECT_EQ(Answers().back().integer, 0);
    // What tables keep for the next keys goes with FLUSHALL.
    Ask({"FLUSHALL"});
    Answers();
  }
};

uint64_t Number(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST_F(DumpDamageTest, IsRefusedOrSound) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE}) std::signal(signal, OnSignal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(PrintBatch);
  const uint64_t from = Number("SLUICE_DUMP_FROM", FirstSeed());
  const uint64_t rounds = Number("SLUICE_DUMP_ROUNDS", kRounds);
  Delete({});
  const size_t empty_bytes = server_.engine().keyspace().memory_bytes();
  std::map<std::string, size_t> sound;
  for (batch_begin = from; batch_begin < from + rounds; batch_begin += kBatch) {
    const std::vector<Damage> batch =
        Begin(batch_begin, std::min<uint64_t>(kBatch, from + rounds - batch_begin));
    std::vector<Damage> taken = Restore(batch);
    Look(taken);
    DumpAgain(taken);
    Use(taken);
    for (const Damage& damage : taken) ++sound[damage.type];
    Delete(taken);
    EXPECT_EQ(server_.engine().keyspace().memory_bytes(), empty_bytes);
    if (HasFailure()) return PrintBatch();
  }
  for (const auto& [type, count] : sound)
    std::printf("  %zu sound values of type %s\n", count, type.c_str());
  if (rounds < kRounds) return;
  for (const auto& [type, uses] : kUses) {
    // RESTORE gives a lock no holder, and a lock without a holder is no key.
    if (type == std::string_view("lock")) continue;
    EXPECT_GT(sound[type], rounds / 1000) << type;
  }
}

}  // namespace
}  // namespace sluice
