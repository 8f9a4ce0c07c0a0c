// Predecessor: the server whose place this process takes, if there is one (signs.h). This process
// waits for its words, as there is nothing else to do. One that has ended leaves its place at once.
#pragma once

#include <chrono>

namespace sluice {

class Predecessor {
 public:
  // Whether this process was started to take another's place.
  static bool IsThere();

  Predecessor() = default;
  ~Predecessor();
  Predecessor(const Predecessor&) = delete;

  // Takes the descriptor, which no other program gets from here.
  void Begin();
  bool is_there() const { return descriptor_ >= 0; }
  // This process can start. Returns when the data are where it finds them.
  void AwaitData();
  // It has begun to load; to be called again and again.
  void Loading();
  // Everything is loaded. Returns when the data are this process's.
  void AwaitPlace();

 private:
  void Say(char sign);
  void Await(char sign);

  int descriptor_ = -1;
  std::chrono::steady_clock::time_point said_{};
};

}  // namespace sluice
