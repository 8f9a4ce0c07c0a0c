// World: machines, a network between them, and clients, in one thread and from one seed.
//
//   World world(seed);
//   Machine& server = world.Add({.name = "a", .config = {{"appendonly", "yes"}}});
//   server.Start();
//   world.AddClient<LockClient>(server);
//   world.time().RunUntil(10 * kSecond);
//   EXPECT_EQ(Judge(world.records(), {}), std::nullopt);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/cluster/caller.h"
#include "tests/simulation/cluster/machine.h"
#include "tests/simulation/cluster/network.h"
#include "tests/simulation/cluster/records.h"
#include "tests/simulation/cluster/timeline.h"

namespace sluice::cluster {

class World;

// A client that does one thing after the other, until the world's clients rest.
class Client {
 public:
  Client(World& world, Callee& callee);
  virtual ~Client() = default;
  Client(const Client&) = delete;

  void Begin();
  Caller& caller() { return caller_; }

 protected:
  virtual void Act() = 0;
  // Behind each answer: Act again, after a while.
  void Think();
  // Asks, and has `answered` called with the moments of call and answer; Think follows.
  using Heard = std::function<void(const std::optional<Reply>& reply, const Span& span)>;
  void Ask(const std::vector<std::string>& words, int64_t patience, Heard heard);
  // Whether the answer, or its absence, says that nothing was done.
  bool WasRefused(const std::optional<Reply>& reply) const;

  World& world_;

 private:
  Caller caller_;
};

class World {
 public:
  static constexpr int64_t kSkewMs = 5 * 3'600'000;
  // Clocks run at 1 ± 0.0002, or, where time is `wild`, ± 0.05.
  // Their wall clocks are wrong by hours, or by up to `skew_ms`.
  explicit World(uint64_t seed, bool is_wild = false, int64_t skew_ms = kSkewMs);

  Timeline& time() { return time_; }
  Network& network() { return network_; }
  Records& records() { return records_; }
  int64_t drift_ppm() const;
  int64_t Pick(int64_t low, int64_t high) { return time_.Pick(low, high); }
  bool OneIn(int64_t n) { return time_.OneIn(n); }

  // Of a clock.
  double PickRate();
  // Its clocks are drawn: its site and, unless they are given, time and rate are not the caller's.
  Machine& Add(Machine::Options options);
  const std::vector<std::unique_ptr<Machine>>& machines() const { return machines_; }
  CalleeNames& names() { return names_; }

  template <typename Kind, typename... Arguments>
  Kind& AddClient(Callee& callee, Arguments&&... arguments) {
    auto client = std::make_unique<Kind>(*this, callee, std::forward<Arguments>(arguments)...);
    Kind& added = *client;
    clients_.push_back(std::move(client));
    added.Begin();
    return added;
  }
  const std::vector<std::unique_ptr<Client>>& clients() const { return clients_; }
  Site NewSite() { return ++last_site_; }
  Site sites() const { return last_site_; }
  std::string NameOf(Site site) const;  // for readers
  // A number that nobody else gets.
  int64_t NewNumber() { return ++last_number_; }

  // Whom clients without a connection call; without, each calls whom it was given.
  void set_finder(std::function<Machine&()> finder) { finder_ = std::move(finder); }
  const std::function<Machine&()>& finder() const { return finder_; }
  // Until there clients begin something new; then they do no more.
  void set_clients_until(int64_t moment) { clients_until_ = moment; }
  bool clients_rest() const { return time_.now() >= clients_until_; }
  // All machines' invariants.
  void Audit();
  // Stops each and starts it again, from its files, and gives them time to find each other.
  void StartAnew();

 private:
  Timeline time_;
  Network network_{time_};
  const bool is_wild_;
  const int64_t skew_ms_;
  Records records_;
  CalleeNames names_;
  Site last_site_ = 0;
  int64_t last_number_ = 0;
  int64_t clients_until_ = INT64_MAX;
  std::function<Machine&()> finder_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace sluice::cluster
