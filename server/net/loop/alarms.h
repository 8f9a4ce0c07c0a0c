// Alarms: calls at moments of real time, on the loop. One timer of Asio serves all of them, and it
// can be told when the next one is: a loop inside another one wakes then.
//
// Set and Cancel are O(log n) of those that are set.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace sluice {

class Alarms {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  // A moment and a number, so that each is unlike all others. A default one is of no alarm.
  using Id = std::pair<Moment, uint64_t>;

  explicit Alarms(boost::asio::io_context& io) : timer_(io) {}
  Alarms(const Alarms&) = delete;

  // `call` is made once, when so much time has passed; it may set and cancel others.
  Id Set(std::chrono::microseconds in, std::function<void()> call);
  // Nothing happens to one that has been called.
  void Cancel(const Id& id);
  // None is called any more, so that io.run() can return.
  void Stop();
  // When the next one is.
  std::optional<Moment> next() const;

 private:
  void Await();
  void CallDue();

  boost::asio::steady_timer timer_;
  std::map<Id, std::function<void()>> calls_;
  std::optional<Moment> awaited_;
  uint64_t last_number_ = 0;
  bool stopped_ = false;
};

}  // namespace sluice
