// LoopDescriptor: one descriptor that can be read when a loop has something to do, so that another
// loop, of whatever kind, can sleep on it and have it work then:
//
//   what is watched can be read, or Ring was called
//
// It is an epoll set. Whoever sleeps on it may hold it for longer than the loop.
#pragma once

namespace sluice {

class LoopDescriptor {
 public:
  LoopDescriptor();
  ~LoopDescriptor();
  LoopDescriptor(const LoopDescriptor&) = delete;

  bool open() const { return set_ >= 0 && bell_ >= 0; }  // false when the system refused
  int descriptor() const { return set_; }
  // Until that descriptor is closed. False when the system refused.
  bool Watch(int descriptor) const;
  // Can be read from now on, until Still.
  void Ring();
  void Still();

 private:
  int set_;
  int bell_;
  bool is_rung_ = false;
};

}  // namespace sluice
