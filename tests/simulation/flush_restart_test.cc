// What FLUSHALL has answered never comes back, and what SAVE has answered is there: over kill -9
// and power cuts at any change of the disk, beside saves that run, on a disk that is full now and
// then. SLUICE_SEED plays one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>
#include <string>

#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

constexpr uint64_t kFlushSeeds = 3000;
constexpr int kFlushLives = 3;

// What clients were told. Moments are counted in requests; the key holds that of its last SET.
struct FlushPromises {
  int64_t flushed = 0;  // nothing older than that comes back
  int64_t saved = 0;    // the key is there, and no older
  void Flushed(int64_t moment) {
    flushed = std::max(flushed, moment);
    if (saved <= moment) saved = 0;
  }
};

class Flushers {
 public:
  Flushers(MemoryDisk& disk, uint64_t seed, int64_t moment, FlushPromises& told)
      : disk_(disk), random_(seed), server_(OptionsOf(disk, seed)), moment_(moment), told_(told) {}

  // Until the process, or the machine, dies.
  int64_t Play() {
    server_.Settle();
    server_.set_aside_waits(true);
    if (Between(random_, 0, 2) == 0) disk_.changes_left = Between(random_, 0, 30);
    for (int64_t step = Between(random_, 0, 40); step > 0; --step) {
      Step();
      server_.Settle();
      Listen();
    }
    disk_.write_fault = 0;
    return moment_;
  }
  // What a start has found of the key; 0: nothing. None: it did not start.
  std::optional<int64_t> Found() {
    server_.Settle();
    if (server_.shutdown_code()) return std::nullopt;
    const std::string text = admin_.Run({"GET", "key"}).ToText();
    return text == "(nil)" ? 0 : std::stoll(text.substr(1));
  }

 private:
  static TestEngine::Options OptionsOf(MemoryDisk& disk, uint64_t seed) {
    TestEngine::Options options;
    options.seed = seed;
    options.disk = &disk;
    options.config = {{"save", "2 5"}, {"stop-writes-on-bgsave-error", "no"}};
    return options;
  }

  void Step() {
    ++moment_;
    const int64_t choice = Between(random_, 0, 19);
    if (choice < 6) {
      server_.RunBackgroundNow();
    } else if (choice < 11) {
      if (admin_.Run({"SET", "key", std::to_string(moment_)}).ToText() == "+OK") key_ = moment_;
    } else if (choice == 11) {
      server_.AdvanceTime(Between(random_, 1, 3000));
    } else if (choice == 12) {
      admin_.Run({"BGSAVE"});
    } else if (choice == 13) {
      Save();
    } else if (choice == 14) {
      disk_.write_fault = disk_.write_fault == 0 ? ENOSPC : 0;
    } else if (choice == 15) {
      key_ = 0;
      if (admin_.Run({"EVAL", "return redis.call('FLUSHALL')", "0"}).ToText() == "+OK")
        told_.Flushed(moment_);
      else
        told_.saved = 0;
    } else if (flushing_ == 0) {
      key_ = told_.saved = 0;
      flushing_ = moment_;
      flusher_.Send({"FLUSHALL"});
    }
  }
  void Save() {
    const std::string answer = admin_.Run({"SAVE"}).ToText();
    if (answer == "+OK") told_.saved = key_;
  }
  void Listen() {
    const std::optional<Reply> reply = flusher_.Next();
    if (!reply) return;
    if (reply->ToText() == "+OK") told_.Flushed(flushing_);
    flushing_ = 0;
  }

  MemoryDisk& disk_;
  SimulationRandom random_;
  TestEngine server_;
  TestClient& admin_ = server_.Connect();
  TestClient& flusher_ = server_.Connect();
  int64_t moment_;
  int64_t key_ = 0;       // in memory
  int64_t flushing_ = 0;  // when the flush began that is not answered
  FlushPromises& told_;
};

void FlushAndDie(uint64_t seed) {
  std::mt19937_64 chance(seed);
  MemoryDisk disk;
  FlushPromises told;
  int64_t moment = 0;
  for (int life = 0; life < kFlushLives; ++life) {
    MemoryDisk left = disk;
    {
      Flushers life_of(disk, seed * kFlushLives + static_cast<uint64_t>(life), moment, told);
      const std::optional<int64_t> found = life_of.Found();
      ASSERT_TRUE(found) << "it does not start";
      ASSERT_TRUE(*found == 0 || *found > told.flushed) << "it comes back in life " << life;
      ASSERT_GE(*found, told.saved) << "it is lost in life " << life;
      told.saved = 0;
      moment = life_of.Play();
      left = disk;  // a server that is killed tidies nothing up
    }
    const bool is_dark = left.changes_left <= 0;
    disk = left;
    if (is_dark || chance() % 2 == 0) disk.PowerCut(chance);
    disk.changes_left = INT64_MAX;
  }
}

TEST(FlushSimulation, WhatIsFlushedStaysSo) { RunSeeds(kFlushSeeds, FlushAndDie); }

}  // namespace
}  // namespace sluice
