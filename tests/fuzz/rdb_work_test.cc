// Files made to be slow: what a small input repeats, refers to or announces costs no more than its
// bytes, and eight times the bytes cost about eight times the work.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/work_count.h"
#include "tests/support/rdb_samples.h"
#include "tests/support/rdb_world.h"

namespace sluice {
namespace {

struct SlowFile {
  std::string_view name;
  RdbType type;
  std::function<std::string(size_t n)> value;
};

std::string RawIdOf(uint64_t ms) {
  std::string id(16, '\0');
  for (size_t i = 0; i < 8; ++i) id[7 - i] = static_cast<char>(ms >> 8 * i);
  return id;
}

void PutCounters(RdbWriter& writer, uint64_t length, uint64_t last_ms) {
  for (const uint64_t part :
       {length, last_ms, uint64_t{0}, uint64_t{1}, uint64_t{0}, uint64_t{0}, uint64_t{0}, length}) {
    writer.Length(part);
  }
}

// A field name of twenty bytes an entry, which all entries have.
std::string LongName(size_t n) {
  ListpackWriter node;
  for (const auto number : {static_cast<int64_t>(n), int64_t{0}, int64_t{1}}) node.Number(number);
  node.Text(std::string(20 * n, 'f'));
  node.Number(0);
  for (size_t i = 0; i < n; ++i) {
    for (const auto number :
         {int64_t{2}, static_cast<int64_t>(i), int64_t{0}, int64_t{7}, int64_t{4}})
      node.Number(number);
  }
  std::string value;
  RdbWriter writer(value, false);
  writer.Length(1);
  writer.String(RawIdOf(1));
  writer.String(node.Finish());
  PutCounters(writer, n, n);
  writer.Length(0);
  return value;
}

// Nodes of one entry each, all of which are deleted.
std::string DeadNodes(size_t n) {
  std::string value;
  RdbWriter writer(value, false);
  writer.Length(n);
  for (size_t i = 1; i <= n; ++i) {
    writer.String(RawIdOf(i));
    writer.String(rdb_samples::Listpack({"0", "1", "1", "f", "0", "3", "0", "0", "v", "4"}));
  }
  PutCounters(writer, 0, n);
  writer.Length(0);
  return value;
}

// Pending entries by the thousand, each with a consumer of its own.
std::string ManyPending(size_t n) {
  std::string value;
  RdbWriter writer(value, false);
  writer.Length(0);
  PutCounters(writer, 0, n);
  writer.Length(1);
  writer.String("g");
  for (const uint64_t part : {uint64_t{n}, uint64_t{0}, uint64_t{n}, uint64_t{n}})
    writer.Length(part);
  for (size_t i = 1; i <= n; ++i) {
    writer.Raw(RawIdOf(i));
    writer.Int64(5);
    writer.Length(1);
  }
  writer.Length(n);
  for (size_t i = 1; i <= n; ++i) {
    writer.String("consumer:" + std::to_string(i));
    writer.Int64(5);
    writer.Length(1);
    writer.Raw(RawIdOf(i));
  }
  return value;
}

// Pairs in one listpack, the last first: where a set would look through all of them for each.
std::string Pairs(size_t n) {
  ListpackWriter listpack;
  for (size_t i = n; i > 0; --i) {
    listpack.Text("m" + std::to_string(i));
    listpack.Number(static_cast<int64_t>(i));
  }
  std::string value;
  RdbWriter(value, false).String(listpack.Finish());
  return value;
}

std::string Timed(size_t n) {
  ListpackWriter listpack;
  for (size_t i = n; i > 0; --i) {
    listpack.Text("m" + std::to_string(i));
    listpack.Number(1);
    listpack.Text(i % 2 == 0 ? "0" : "4102444800123");
  }
  std::string value;
  RdbWriter(value, false).String(listpack.Finish());
  return value;
}

std::string ManyNodes(size_t n) {
  std::string value;
  RdbWriter writer(value, false);
  writer.Length(n);
  for (size_t i = 0; i < n; ++i) {
    writer.Length(2);
    writer.String(rdb_samples::Listpack({i % 2 == 0 ? "" : "text"}));
  }
  return value;
}

std::string Strings(size_t n, size_t each) {
  std::string value;
  RdbWriter writer(value, false);
  writer.Length(n);
  for (size_t i = n; i > 0; --i) {
    for (size_t j = 0; j < each; ++j) writer.String(std::to_string(i * 3 + j));
  }
  return value;
}

// Compressed to a hundredth.
std::string Bomb(size_t n) {
  std::string value;
  RdbWriter(value).String(std::string(100 * n, 'x'));
  return value;
}

std::string BombsInList(size_t n) {
  std::string value;
  RdbWriter writer(value);
  writer.Length(n / 16);
  for (size_t i = 0; i < n / 16; ++i) {
    writer.Length(1);
    writer.String(std::string(5000, 'x'));
  }
  return value;
}

const std::vector<SlowFile> kSlowFiles = {
    {"a long name of a field", RdbType::kStream2, LongName},
    {"nodes without live entries", RdbType::kStream2, DeadNodes},
    {"pending entries", RdbType::kStream2, ManyPending},
    {"a packed hash", RdbType::kHashListpack, Pairs},
    {"a packed hash with deadlines", RdbType::kHashListpackFieldTtlRc, Timed},
    {"a packed sorted set", RdbType::kSortedSetListpack, Pairs},
    {"nodes of a list", RdbType::kQuicklist, ManyNodes},
    {"a list of strings", RdbType::kList, [](size_t n) { return Strings(n, 1); }},
    {"a set of numbers", RdbType::kSet, [](size_t n) { return Strings(n, 1); }},
    {"a hash of strings", RdbType::kHash, [](size_t n) { return Strings(n, 2); }},
    {"a compressed string", RdbType::kString, Bomb},
    {"compressed strings of a list", RdbType::kQuicklist, BombsInList},
};

class RdbWorkTest : public testing::TestWithParam<bool> {
 protected:
  // Units a byte that was read or made.
  static double Measure(const SlowFile& slow, size_t n) {
    const std::string file = RdbSample{"", slow.type, slow.value(n)}.File();
    RdbWorld world;
    if (GetParam()) world.small_members = size_t{1} << 40;
    const Work before = WorkDone();
    EXPECT_EQ(world.Load(file), "") << slow.name;
    const Work work = WorkDone() - before;
    EXPECT_NE(world.Find(0, "key"), nullptr) << slow.name;
    EXPECT_LE(work.units, WorkAllowed(work, file.size())) << slow.name << ' ' << n;
    EXPECT_GT(work.units, 0u);
    return static_cast<double>(work.units) / static_cast<double>(file.size() + work.made_bytes);
  }
};

// The parameter: whether small forms are unbounded, as the configuration may have it.
INSTANTIATE_TEST_SUITE_P(Limits, RdbWorkTest, testing::Values(false, true));

TEST_P(RdbWorkTest, GrowsWithTheBytes) {
  for (const SlowFile& slow : kSlowFiles) {
    // A set of numbers is kept sorted: its bound is set-max-intset-entries, as Redis's.
    const double few = Measure(slow, 1000);
    const double many = Measure(slow, 8000);
    std::printf("  %-32s %6.1f units a byte, %6.1f of eight times as many\n",
                std::string(slow.name).c_str(), few, many);
    EXPECT_LT(many, 1.7 * few) << slow.name;
  }
}

}  // namespace
}  // namespace sluice
