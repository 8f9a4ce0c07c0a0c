// UnawaitedCalls: calls that may hang for longer than anybody can wait (the system's look-up of a
// name asks other machines; files may lie on one), each on a thread of its own. The loop hears when
// one is through. When the loop's server ends first, nobody hears: the thread is left to itself and
// goes with its call. Workers would not do: a server waits for them when it ends.
//
//   auto found = std::make_shared<Found>();
//   calls.Run([found, name] { *found = LookUp(name); },   // owns all that it touches
//             [this, found] { ... });                     // on the loop, by Advance
//
// At most kThreadsMax at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "server/net/loop/poller.h"

namespace sluice {

class UnawaitedCalls final : private ReadinessWatcher {
 public:
  static constexpr size_t kThreadsMax = 8;

  // `wake`: Advance has something to do.
  UnawaitedCalls(Poller& poller, std::function<void()> wake);
  ~UnawaitedCalls() override;
  UnawaitedCalls(const UnawaitedCalls&) = delete;

  // A number for Forget; 0: it cannot be run, as so many hang or the system has no thread to give.
  uint64_t Run(std::function<void()> call, std::function<void()> done);
  // Its `done` is not called any more.
  void Forget(uint64_t number);
  // Runs what follows the calls that are through.
  void Advance();

 private:
  struct Shared;

  bool HasBell();
  void Readable(bool ended) override;
  void Writable() override {}

  Poller& poller_;
  const std::function<void()> wake_;
  std::shared_ptr<Shared> shared_;  // with the threads; null before the first call
  uint64_t last_number_ = 0;
  std::map<uint64_t, std::function<void()>> done_;  // by number
};

}  // namespace sluice
