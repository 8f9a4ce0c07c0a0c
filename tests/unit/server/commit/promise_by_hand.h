// A promise that a test keeps by hand: what effects it has heard of is its news.
#pragma once

#include <cstdint>
#include <vector>

#include "server/commit/turn_gate.h"
#include "server/dispatch/effects/effects.h"
#include "tests/support/engine_fixture.h"

namespace sluice {

class PromiseByHand final : public TurnPromise, private EffectSink {
 public:
  // Of the effects for that target, which has no other sink.
  PromiseByHand(TestEngine& server, EffectTarget target)
      : server_(server), target_(target), gate_(server.engine().part<TurnGate>()) {
    server_.engine().part<Effects>().set_sink(target_, this);
    kept_ = gate_.last();
    gate_.Add(*this);
  }
  ~PromiseByHand() override { Leave(); }

  void Keep(uint64_t turn) {
    kept_ = turn;
    gate_.Release();
    server_.Settle();
  }
  void KeepAll() { Keep(gate_.last()); }
  void Fail() {
    failed_ = true;
    gate_.Fail(*this);
    server_.Settle();
  }
  void Recover() {
    failed_ = false;
    KeepAll();
  }
  // It is on no more.
  void Leave() {
    if (!is_on_) return;
    is_on_ = false;
    server_.engine().part<Effects>().set_sink(target_, nullptr);
    gate_.Remove(*this);
    server_.Settle();
  }

  // The turns that it has been told of, and those of them that have needed the disk.
  std::vector<uint64_t> turns;
  std::vector<uint64_t> for_the_disk;

  // --- TurnPromise
  bool HasNews() const override { return news_ > 0; }
  bool EndTurn(uint64_t turn, const TurnNeeds& needs) override {
    turns.push_back(turn);
    if (needs.disk) for_the_disk.push_back(turn);
    const bool had_news = news_ > 0;
    news_ = 0;
    // Without any it is as good as the turns before.
    if (!had_news && kept_ == turn - 1) kept_ = turn;
    return had_news;
  }
  uint64_t kept() const override { return kept_; }
  bool has_failed() const override { return failed_; }

 private:
  void Effect(int, Args, EffectTime) override { ++news_; }
  void GroupBegin() override {}
  void GroupEnd() override {}

  TestEngine& server_;
  const EffectTarget target_;
  TurnGate& gate_;
  uint64_t kept_;
  int news_ = 0;
  bool failed_ = false;
  bool is_on_ = true;
};

}  // namespace sluice
