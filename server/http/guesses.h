// Guesses: wrong passwords that were said by HTTP a short while ago, so that `failed-login-delay`
// holds for them, too. Each counts until its delay is over, whether or not its visitor has stayed
// for the answer. While as many count as may, of one address or of all, no password is judged: the
// request waits. So no number of connections guesses faster than kOfOneMax (or kMax) in a delay.
//
//   if (!guesses.MayJudge(address, now_ns)) ...          // wait until guesses.next_ns()
//   guesses.Wrong(address, now_ns + delay_ns);
//
// Times are those of one steady clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace sluice {

class Guesses {
 public:
  static constexpr size_t kOfOneMax = 8;
  static constexpr size_t kMax = 64;
  static constexpr int64_t kNever = INT64_MAX;

  // `address` with or without a port.
  bool MayJudge(std::string_view address, int64_t now_ns);
  // Requires: MayJudge has said so.
  void Wrong(std::string_view address, int64_t until_ns);
  // Guesses that are over by then count no more.
  void Expire(int64_t now_ns);
  // When the first of them is over.
  int64_t next_ns() const;

 private:
  struct Guess {
    std::string machine;
    int64_t until_ns;
  };
  std::deque<Guess> guesses_;
};

}  // namespace sluice
