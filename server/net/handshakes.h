// Handshakes: connections that have come for TLS and are no clients yet. A step of a handshake is
// the dearest thing a stranger can ask for (a signature, some 0.5 ms), so a turn does few of them;
// those who do not go on are sent away.
//
//   handshakes.Begin(connection, peer);   // accepted: the connection's events come here
//   while (handshakes.Advance()) ...      // once a turn; `done` gets those that are through
//
// A connection whose handshake is through has the owner again that it had before.
//
// Bounds: kMax at a time, beyond which the one that has been silent for the longest goes; kTimeMs
// for each; in a turn kStepNanos, or one step. Its lines in the log are bounded, too
// (kLinesPerSecond). Where the server is full, the silent ones make way for others (EndSilent).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/clients/session.h"
#include "server/net/connection.h"
#include "storage/time/clock.h"

namespace sluice {

class Handshakes final : private ConnectionOwner {
 public:
  static constexpr size_t kMax = 1000;
  static constexpr int64_t kTimeMs = 10'000;
  static constexpr int64_t kStepNanos = 500'000;
  static constexpr int kLinesPerSecond = 10;
  // More than the way to most peers and back.
  static constexpr int64_t kSilentMs = 200;
  static constexpr int64_t kNever = INT64_MAX;

  using Done = std::function<void(boost::intrusive_ptr<Connection> connection, Peer peer)>;
  using Tell = std::function<void(std::string_view line)>;

  // `poller` is that of their connections. `wake`: Advance has something to do. `tell` writes a
  // line to the log.
  Handshakes(Poller& poller, Clock& clock, Done done, std::function<void()> wake, Tell tell)
      : poller_(poller),
        clock_(clock),
        done_(std::move(done)),
        wake_(std::move(wake)),
        tell_(std::move(tell)) {}

  size_t size() const { return entries_.size(); }
  // So many are ready that no more should be let in.
  bool is_busy() const { return ready_.size() >= kMax / 10; }

  void Begin(boost::intrusive_ptr<Connection> connection, Peer peer);
  // Its former owner closes it; it counts no more.
  void Forget(Connection& connection);
  // The clock's ticks at which its peer was heard last; 0: it is in no handshake.
  int64_t HeardNanos(const Connection& connection) const;
  // Ends the one that has been silent for the longest, if that is kSilentMs at least.
  bool EndSilent();
  // Steps of those that are ready, and the end of those whose time is over. True: others are ready.
  bool Advance();
  // ns of the clock's ticks at which Advance has something to do though nobody is ready.
  int64_t NextNanos() const;
  void Close();
  // Logs a line that strangers can cause, if there have not been too many.
  void Say(const std::string& line);

 private:
  struct Entry {
    boost::intrusive_ptr<Connection> connection;
    ConnectionOwner& owner;  // before, and behind its handshake
    Peer peer;
    int64_t until_ns = 0;
    int64_t heard_ns = 0;
    bool is_ready = false;
  };
  using Entries = std::list<Entry>;

  Poller& poller() override { return poller_; }
  void Readable(Connection& connection) override { Ready(connection); }
  void Writable(Connection& connection) override { Ready(connection); }

  void Ready(Connection& connection);
  void Step(Entries::iterator entry);
  void Fail(Entries::iterator entry, std::string_view what, std::string_view why);
  void End(Entries::iterator entry);
  void EndOverdue(int64_t now_ns);
  bool EndSilentSince(int64_t since_ns);

  Poller& poller_;
  Clock& clock_;
  const Done done_;
  const std::function<void()> wake_;
  const Tell tell_;
  Entries entries_;  // in the order in which they began, which is that of their ends
  std::map<const Connection*, Entries::iterator> entry_of_;
  std::deque<Entries::iterator> ready_;  // in the order in which they came to be so
  int64_t said_since_ns_ = 0;            // a second of lines
  int said_ = 0;
  uint64_t unsaid_ = 0;
};

}  // namespace sluice
