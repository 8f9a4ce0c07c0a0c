// Network: connections between sites as pairs of byte pipes in true time. A pipe delays its bytes
// and cuts them anywhere, and never lets one overtake another; two pipes know nothing of each
// other, so that what was said first on one may come last.
//
//   Cut(a, b)       nothing comes from a to b, until Heal: the bytes wait, as TCP sends them again
//   Break           the connection is lost, with all that is under way; each end hears of it later,
//                   or not before it says something (half-open)
//   Close           by one end: the other hears of it behind all that was said before
//
// A site is a machine, or where clients are. Ends may go at any time: Detach.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/simulation/cluster/timeline.h"

namespace sluice::cluster {

using Site = int;

// One end of a connection.
class End {
 public:
  virtual ~End() = default;
  virtual void Arrived(std::string_view bytes) = 0;
  virtual void Ended() = 0;  // the other end has closed it, or it is lost
};

class Connection {
 public:
  // The two ends: who has opened it, and who was called.
  enum class Side : uint8_t { kCaller, kCalled };
  static Side Other(Side side) { return side == Side::kCaller ? Side::kCalled : Side::kCaller; }

  Site site_of(Side side) const { return half(side).site; }

 private:
  friend class Network;
  struct Chunk {
    int64_t moment;
    std::string bytes;
    bool is_end = false;
  };
  // One end, and the pipe that leads to it.
  struct Half {
    Site site = 0;
    End* end = nullptr;  // null: it hears nothing any more
    std::deque<Chunk> coming;
    bool is_delivery_planned = false;
  };
  Half& half(Side side) { return halves_[side == Side::kCaller ? 0 : 1]; }
  const Half& half(Side side) const { return halves_[side == Side::kCaller ? 0 : 1]; }

  Half halves_[2];
  bool is_lost_ = false;
};

class Network {
 public:
  struct Pace {
    int64_t delay_min = 50;
    int64_t delay_max = 2 * kMs;
  };
  explicit Network(Timeline& time) : time_(time) {}
  void set_pace(const Pace& pace) { pace_ = pace; }

  // A connection that stands. Its ends are told of nothing before the first byte comes.
  using Handle = std::shared_ptr<Connection>;
  Handle Connect(Site caller, End& caller_end, Site called, End& called_end);
  // `side` says it.
  void Say(const Handle& connection, Connection::Side side, std::string_view bytes);
  // `side` says nothing more, and hears nothing more.
  void Close(const Handle& connection, Connection::Side side);
  // As Close without a word: its machine has no power.
  void Detach(const Handle& connection, Connection::Side side);
  void Break(const Handle& connection);

  // How long a word from one to the other takes now; negative: none comes through.
  int64_t DelayBetween(Site from, Site to);
  bool is_cut(Site from, Site to) const { return cuts_.contains({from, to}); }
  void Cut(Site from, Site to) { cuts_.insert({from, to}); }
  void Heal(Site from, Site to) { cuts_.erase({from, to}); }

  // One that stands, at random; null: there is none.
  Handle Any();

 private:
  using Side = Connection::Side;
  void Put(const Handle& connection, Side to, Connection::Chunk chunk);
  void PlanDelivery(const Handle& connection, Side to);
  void Deliver(const Handle& connection, Side to);
  void HearOfLoss(const Handle& connection, Side side);

  Timeline& time_;
  Pace pace_;
  std::set<std::pair<Site, Site>> cuts_;
  std::vector<std::weak_ptr<Connection>> standing_;
};

// A peer that can be called by its name.
class Callee {
 public:
  virtual ~Callee() = default;
  virtual Site site() const = 0;
  // Without, nobody there says that nothing listens.
  virtual bool has_power() const = 0;
  // The caller's end has called. Null: nothing listens here.
  virtual Network::Handle Accept(Site caller, End& caller_end) = 0;
};
using CalleeNames = std::map<std::string, Callee*>;

}  // namespace sluice::cluster
