// Sentinels: a model of redis-sentinel, several of them at sites of their own. Each asks every
// server for INFO once a second, and the others whether they reach the master. Where so many do not
// (the quorum), one of them that most can reach promotes a replica, by priority, offset and run id,
// with the commands of redis-sentinel: MULTI, SLAVEOF NO ONE, CONFIG REWRITE, CLIENT KILL TYPE
// normal and pubsub, EXEC. Whoever else believes to be master, or follows another, is told SLAVEOF
// host port.
//
// A view (which server is master) has an epoch; a Sentinel takes over a higher one that it hears
// of.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {

class Sentinels {
 public:
  // The world has all its machines, of which the first is master.
  Sentinels(World& world, int count);

  void Begin();
  // As one of them, drawn, believes: so clients ask.
  Machine& MasterAsSaid();
  // The master that all of them believe in; null: they do not agree.
  Machine* Agreed() const;
  int promotions() const { return promotions_; }

 private:
  struct Seen {
    Machine* machine = nullptr;
    std::unique_ptr<Caller> caller;
    int64_t answered_at = 0;
    int64_t wrong_since = -1;  // it is not what it should be
    bool is_master = false;
    std::string follows;
    int64_t offset = 0;
    int64_t priority = 100;
    std::string run_id;
  };
  struct Sentinel {
    Site site = 0;
    Seen* master = nullptr;  // as it believes
    int64_t epoch = 0;
    int64_t voted_in = 0;  // the last epoch that it has voted in
    int64_t next_attempt = 0;
    Seen* promoting = nullptr;
    int64_t promoting_epoch = 0;
    std::vector<Seen> seen;  // of each machine of the world
  };
  // Requests to a machine, one after the other, on a connection of their own.
  struct Talk {
    std::unique_ptr<Caller> caller;
    std::vector<std::vector<std::string>> left;  // in reverse
  };

  void Tick(Sentinel& one);
  void Read(Sentinel& one, Seen& seen, const std::string& info);
  bool IsDown(const Seen& seen) const;
  bool IsMasterDown(const Sentinel& one) const;
  bool Reaches(const Sentinel& one, const Sentinel& other) const;
  void Gossip(Sentinel& one);
  void Promote(Sentinel& one);
  Seen* Best(Sentinel& one);
  void Correct(Sentinel& one, Seen& seen);
  void Say(Sentinel& one, Machine& machine, std::vector<std::string> role);
  void SayNext(Talk& talk);

  World& world_;
  std::vector<std::unique_ptr<Sentinel>> sentinels_;
  std::vector<std::unique_ptr<Talk>> talks_;
  const int quorum_;
  int promotions_ = 0;
};

}  // namespace sluice::cluster
