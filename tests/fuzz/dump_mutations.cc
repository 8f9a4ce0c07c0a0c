// See dump_mutations.h.
#include "tests/fuzz/dump_mutations.h"

#include <algorithm>
#include <iterator>

#include "storage/rdb/crc64.h"
#include "storage/rdb/rdb_format.h"
#include "storage/rdb/rdb_writer.h"
#include "tests/support/command_line.h"
#include "tests/support/rdb_samples.h"

namespace sluice {
namespace {

using namespace std::string_view_literals;

constexpr size_t kBodyBytesMax = 8192;

// --- samples

// A word in capitals stands for bytes that do not compress, so that packed sequences stand in the
// dump as they are.
constexpr std::string_view kMakers[] = {
    "SET int 12345",
    "SET wide 9223372036854775807",
    "SET text NOISE",
    "EVAL \"redis.call('SET', 'long', string.rep('abcdefgh', 400))\" 0",
    "PFADD few a b c d",
    "EVAL \"for i = 1, 3000 do redis.call('PFADD', 'many', i) end\" 0",
    "RPUSH list a b c 12 -7 300 70000 NOISE 5000000000 NOISE",
    "EVAL \"for i = 1, 90 do redis.call('RPUSH', 'nodes', string.rep(ARGV[1] .. i, 5)) end\" 0 "
    "NOISE",
    "SADD int16s 1 2 -3 300",
    "SADD int32s 1 -70000",
    "SADD int64s 1 5000000000 -9",
    "SADD texts NOISE b NOISE 12",
    "HSET hash NOISE 1 b NOISE c -300",
    "EVAL \"for i = 1, 200 do redis.call('HSET', 'bighash', ARGV[1] .. i, i * 7919) end\" 0 NOISE",
    "HSET timed NOISE 1 b two c NOISE",
    "HPEXPIREAT timed 4102444800123 FIELDS 1 b",
    "HPEXPIREAT timed 1700000050000 FIELDS 1 c",
    "ZADD zset 1.5 NOISE -inf b 3 c 1e300 d -7 NOISE",
    "EVAL \"for i = 1, 200 do redis.call('ZADD', 'bigzset', i / 7, ARGV[1] .. i) end\" 0 NOISE",
    "GEOADD geo 13.36 38.11 NOISE 15.08 37.5 NOISE",
    "XADD stream 1-1 f NOISE g 2",
    "XADD stream 1-2 f 300 g NOISE",
    "XADD stream 7-0 h NOISE",
    "XADD stream 7-9 h NOISE",
    "XDEL stream 1-2",
    "XGROUP CREATE stream g 0",
    "XREADGROUP GROUP g me COUNT 1 STREAMS stream >",
    "XGROUP CREATE stream other 7-0",
    "XREADGROUP GROUP g NOISE COUNT 2 STREAMS stream >",
    "XGROUP CREATE none g 0 MKSTREAM",
    "EVAL \"for i = 1, 120 do redis.call('XADD', 'chunks', i .. '-1', 'f', ARGV[1] .. i) end\" 0 "
    "NOISE",
    "LIMIT.TAKE window WINDOW 5 100000 COST 2",
    "LIMIT.TAKE rolling ROLLING 7 100000 BURST 20",
    "LIMIT.TAKE sliding SLIDING 5 100000",
    "LIMIT.TAKE gcra GCRA 7 100000 BURST 3 COST 4",
    "LIMIT.TAKE banned WINDOW 1 100000 COST 2 BAN 100000",
    "LIMIT.TAKE leaky LEAKY 5 100000",
    "LIMIT.TAKE log LOG 5000000000 100000 AT 1700000000000000",
    "LIMIT.TAKE log LOG 5000000000 100000 COST 400 AT 1700000000005000",
    "LIMIT.TAKE log LOG 5000000000 100000 COST 4000000000 AT 1700000060000000",
    "LBUCKET.COUNT bucket 100",
    "LBUCKET.COUNT bucket 9223372036854775807",
    "LBUCKET.COUNTAT bucket 1700000000500 9000000000",
    "LOCK.ACQUIRE lock me LEASE 100000 LABEL 12345",
    "LOCK.ACQUIRE shared me LEASE 100000 SHARED MINHOLD 5000",
    "LOCK.ACQUIRE shared you SESSION SHARED LABEL NOISE",
    "LOCK.ACQUIRE shared it LEASE 9 SHARED",
    "LOCK.ACQUIRE permits me LEASE 100000 PERMITS 3 OF 9",
    "LOCK.ACQUIRE permits you SESSION PERMITS 2 OF 9",
};

std::string Noise(DamageRandom& random) {
  std::string bytes(22, '\0');
  std::ranges::generate(bytes, [&random] { return static_cast<char>(random()); });
  return bytes;
}

void Make(TestClient& client, DamageRandom& random) {
  for (const std::string_view line : kMakers) {
    std::vector<std::string> words = *SplitCommandLine(std::string(line));
    for (std::string& word : words) {
      if (word == "NOISE") word = Noise(random);
    }
    EXPECT_NE(client.Run(words).ToText().substr(0, 1), "-") << line;
  }
}

// Forms that Redis wrote once, and newer ones.
void AddOtherForms(std::vector<std::string>& bodies) {
  using namespace rdb_samples;
  const auto add = [&bodies](RdbType type, std::initializer_list<std::string_view> strings,
                             std::string_view before = {}) {
    std::string body;
    RdbWriter(body).Type(type);
    bodies.push_back(body + Texts(strings, before));
  };
  for (const RdbType type : {RdbType::kListZiplist, RdbType::kHashZiplist}) add(type, {kZiplist});
  add(RdbType::kSortedSetZiplist, {kScores});
  add(RdbType::kHashZipmap, {kZipmap});
  add(RdbType::kQuicklistZiplists, {kZiplist, kZiplist}, "\x02");
  add(RdbType::kList, {"a", "b", "12"}, "\x03");
  add(RdbType::kSet, {"a", "b", "12"}, "\x03");
  add(RdbType::kHash, {"a", "1", "b", "2"}, "\x02");
  add(RdbType::kSortedSetText, {},
      "\x02\x01"
      "a\x03"
      "1.5\x01"
      "b\xfe"sv);
  const std::string packed = Listpack({"a", "17", "4102444800123", "b", "-300", "0"});
  add(RdbType::kSetListpack, {packed});
  add(RdbType::kHashListpackFieldTtl, {packed}, "\xbb\x02\x5c\x2e\xbb\x03\0\0"sv);
}

// --- damage

// Lengths, forms of strings and opcodes of RDB; headers and elements of packed sequences.
constexpr std::string_view kTokens[] = {
    "\0"sv,
    "\x01",
    "\x02",
    "\x3f",
    "\x40\0"sv,
    "\x7f\xff",
    "\x80\0\0\0\x01"sv,
    "\x80\x7f\xff\xff\xff",
    "\x80\xff\xff\xff\xff",
    "\x81\0\0\0\0\0\0\0\x05"sv,
    "\x81\x7f\xff\xff\xff\xff\xff\xff\xff",
    "\x81\x80\0\0\0\0\0\0\0"sv,
    "\x81\xff\xff\xff\xff\xff\xff\xff\xff",
    "\xc0\x80",
    "\xc1\xff\xff",
    "\xc2\xff\xff\xff\x7f",
    "\xc3\x02\x0a\x01\xff",
    "\xc3\x04\x50\x08\0\xe0\x48"sv,
    "\xc4",
    "\xfe",
    "\xff",
    "\x82"
    "ab\x03",
    "\xdf\xff\x02",
    "\xe1\0\x02"sv,
    "\xf0\xff\xff\xff\x7f",
    "\xf1\xff\x7f\x03",
    "\xf4\xff\xff\xff\xff\xff\xff\xff\x7f\x09",
    "\x02\x80\0\0\0\x02"sv,
    "\x05\0"sv,
    "\xff\xff\xff\xff\xff\xff\xff\x7f"sv,
    "\0\0\0\0\0\0\0\x80"sv,
    "\0\0\0\0\0\0\xf8\x7f"sv,
};

using Samples = std::vector<std::string>;
using Mutation = void (*)(std::string& body, size_t at, const Samples& samples,
                          DamageRandom& random);

void FlipBit(std::string& body, size_t at, const Samples&, DamageRandom& random) {
  body[at] = static_cast<char>(body[at] ^ 1 << random() % 8);
}
void ChangeByte(std::string& body, size_t at, const Samples&, DamageRandom& random) {
  body[at] = static_cast<char>(random());
}
void StepByte(std::string& body, size_t at, const Samples&, DamageRandom& random) {
  body[at] = static_cast<char>(body[at] + (random() % 2 == 0 ? 1 : -1));
}
void LeaveOut(std::string& body, size_t at, const Samples&, DamageRandom& random) {
  body.erase(at, 1 + random() % (random() % 2 == 0 ? 4 : body.size()));
}
void PutIn(std::string& body, size_t at, const Samples&, DamageRandom& random) {
  body.insert(at, 1 + random() % 4, static_cast<char>(random()));
}
void CutOff(std::string& body, size_t at, const Samples&, DamageRandom&) { body.resize(at); }
void SayTwice(std::string& body, size_t at, const Samples&, DamageRandom& random) {
  body.insert(at, body.substr(random() % body.size(), random() % 64));
}
void PutToken(std::string& body, size_t at, const Samples&, DamageRandom& random) {
  const std::string_view token = kTokens[random() % std::size(kTokens)];
  body.replace(at, random() % 3 == 0 ? 0 : random() % 2 == 0 ? 1 : token.size(), token);
}
void Splice(std::string& body, size_t at, const Samples& samples, DamageRandom& random) {
  const std::string& other = samples[random() % samples.size()];
  body.replace(at, std::string::npos, other, random() % other.size(), std::string::npos);
}
void Transplant(std::string& body, size_t at, const Samples& samples, DamageRandom& random) {
  const std::string& other = samples[random() % samples.size()];
  body.replace(at, random() % 32, other, random() % other.size(), random() % 32);
}
void ChangeType(std::string& body, size_t, const Samples&, DamageRandom& random) {
  body[0] = static_cast<char>(random() % 27);
}

// The commonest leave most of a value whole: what they break shows deepest.
constexpr Mutation kMutations[] = {FlipBit,  FlipBit,  ChangeByte, ChangeByte, StepByte,
                                   StepByte, LeaveOut, PutIn,      CutOff,     SayTwice,
                                   PutToken, PutToken, Splice,     Transplant, ChangeType};

}  // namespace

std::vector<std::string> DumpSamples(TestEngine& server) {
  DamageRandom random(1);
  TestClient& client = server.Connect();
  client.PlayLog();  // some of the makers name moments
  Make(client, random);
  std::vector<std::string> bodies;
  for (const Reply& key : client.Run({"KEYS", "*"}).elements) {
    std::string dump = client.Run({"DUMP", key.text}).text;
    dump.resize(dump.size() - kRdbFooterBytes);
    EXPECT_LE(dump.size(), kBodyBytesMax) << key.text;
    bodies.push_back(dump);
  }
  std::ranges::sort(bodies);  // whatever the order of KEYS
  AddOtherForms(bodies);
  client.Run({"FLUSHALL"});
  client.Disconnect();
  return bodies;
}

std::string Damaged(const std::vector<std::string>& samples, DamageRandom& random) {
  std::string body = samples[random() % samples.size()];
  for (size_t left = 1 + random() % 2 * (random() % 4); left > 0; --left) {
    if (body.empty()) body = samples[random() % samples.size()];
    kMutations[random() % std::size(kMutations)](body, random() % body.size(), samples, random);
  }
  if (body.size() > kBodyBytesMax) body.resize(kBodyBytesMax);
  return body;
}

std::string Sealed(std::string body) {
  body.push_back(static_cast<char>(kRdbVersionMax & 255));
  body.push_back(static_cast<char>(kRdbVersionMax >> 8));
  const uint64_t crc = Crc64(body);
  RdbWriter(body).Int64(static_cast<int64_t>(crc));
  return body;
}

}  // namespace sluice
