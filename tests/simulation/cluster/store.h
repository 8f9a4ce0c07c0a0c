// Store: a model of a consensus store, as its clients see one: values by key, each with the
// revision that has written it, and claims, which go with their leases. It is linearizable by
// construction: requests are applied one after the other, each in one event, to one map. All else
// is as bad as can be:
//
//   leases      run by a clock of its own
//   answers     come late, are lost with their connection, or are -UNKNOWN: what was asked for may
//               come to pass later, or never
//   no leader   now and then, for a while: nothing is applied then, and no lease ends
//   watchers    are behind, and are told of every change in order
//
// Requests, in RESP, over the world's network:
//
//   GET key                 [value, revision], or null
//   PUT key value           the revision
//   CLAIM key value ms      the revision; null while the key is there
//   KEEP key revision ms    OK, and the lease counts from now; -NOTHELD where the claim is over
//   DROP key revision       OK, or -NOTHELD
//   WATCH key revision      OK; then of each change behind that revision [revision, value or null]
//
// Revisions count the changes of all keys: that of a claim is a token for what the claim protects.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/cluster/world.h"
#include "tests/support/linearizable/span.h"

namespace sluice::cluster {

class Store final : public Callee {
 public:
  // Mistakes that a store could have, for tests to plant.
  enum class Fault : uint8_t {
    kNone,
    kReadsBehind,    // reads are answered by a member that has not heard of the last changes
    kForgetsClaims,  // a new leader ends leases before their time
    kForgetsWrites,  // a new leader lacks the last change, though it was answered
    kHidesChanges,   // watchers are not told of some changes
  };
  explicit Store(World& world, Fault fault = Fault::kNone);
  ~Store() override;

  // Loses its leader, and finds one, from time to time, until then.
  void Begin(int64_t until);
  // When nothing was applied, and no lease ended.
  const std::vector<Span>& standstills() const { return standstills_; }

  // --- Callee
  Site site() const override { return site_; }
  bool has_power() const override { return true; }
  Network::Handle Accept(Site caller, End& caller_end) override;

 private:
  class Session;
  using Words = std::vector<std::string>;
  struct Value {
    std::string text;
    int64_t revision = 0;
    std::optional<int64_t> until;  // a claim's: when its lease is over, in true time
  };
  struct Change {
    int64_t revision;
    std::string key;
    std::optional<Value> was;
    std::optional<Value> is;
  };
  struct Request {
    std::weak_ptr<Session> session;  // without: it was answered, or nobody listens
    Words words;
    bool is_answer_lost = false;
  };
  struct Row {
    std::string_view name;
    size_t words;
    std::string (Store::*apply)(const Words& words);
  };
  static const Row kStoreRows[];

  void Come(const std::shared_ptr<Session>& session, Words words);
  void Take(const std::shared_ptr<Request>& request);
  void Answer(Request& request, const std::string& answer);
  std::string Apply(const Words& words);
  std::string Get(const Words& words);
  std::string Put(const Words& words);
  std::string Claim(const Words& words);
  std::string Keep(const Words& words);
  std::string Drop(const Words& words);

  Value* ClaimOf(const Words& words);
  int64_t Set(const std::string& key, std::optional<Value> value);
  void Lease(const std::string& key, const std::string& ms);
  void EndLeases();
  void LoseLeader(int64_t until);
  void FindLeader(int64_t since);

  World& world_;
  const Fault fault_;
  const Site site_;
  const double rate_;  // of its clock
  std::vector<std::shared_ptr<Session>> sessions_;
  std::map<std::string, Value> values_;
  std::vector<Change> changes_;  // all of them; revision n is the n-th
  bool has_leader_ = true;
  std::vector<std::shared_ptr<Request>> waiting_;  // for a leader
  std::vector<Span> standstills_;
};

}  // namespace sluice::cluster
