// LoopDescriptor: one descriptor that can be read when a loop has something to do, so that another
// loop, of whatever kind, can sleep on it and have it work then:
//
//   what is watched can be read, a moment has come (RingAt), or Ring was called
//
// It is an epoll set with a timer in it. Whoever sleeps on it may hold it for longer than the loop.
#pragma once

#include <chrono>
#include <optional>

namespace sluice {

class LoopDescriptor {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  LoopDescriptor();
  ~LoopDescriptor();
  LoopDescriptor(const LoopDescriptor&) = delete;

  bool open() const { return set_ >= 0 && timer_ >= 0; }  // false when the system refused
  int descriptor() const { return set_; }
  // Until that descriptor is closed. False when the system refused.
  bool Watch(int descriptor) const;
  // In place of the moment before; none: no moment. Takes back that it has rung.
  void RingAt(std::optional<Moment> moment) const;
  void Ring() const { RingAt(Moment{}); }

 private:
  int set_;
  int timer_;
};

}  // namespace sluice
