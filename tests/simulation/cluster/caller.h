// Caller: a client of the world: one connection to one callee, one request at a time, and a limit
// to its patience. It knows what it has been answered, and no more: a request without an answer may
// come to pass later, or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_reader.h"
#include "tests/simulation/cluster/network.h"
#include "tests/simulation/cluster/timeline.h"

namespace sluice::cluster {

class Caller final : public End {
 public:
  // Null: there will be none.
  using Answered = std::function<void(const std::optional<Reply>& reply)>;
  Caller(Timeline& time, Network& network, Site site)
      : time_(time), network_(network), site_(site) {}
  ~Caller() override;

  // Whom the next request without a connection goes to.
  void set_callee(Callee& callee) { callee_ = &callee; }
  // Connects where need be. Requires: set_callee, !is_waiting().
  void Ask(const std::vector<std::string>& words, int64_t patience, Answered answered);
  bool is_waiting() const { return answered_ != nullptr; }
  // Whether the last request may have reached the callee.
  bool was_said() const { return was_said_; }
  bool is_connected() const { return connection_ != nullptr; }
  // Bytes without an answer, as a replica says them. Requires: is_connected.
  void Say(std::string_view bytes);
  void HangUp();

 private:
  void Arrived(std::string_view bytes) override;
  void Ended() override;
  void Connect(const std::string& request);
  void Finish(const std::optional<Reply>& reply);

  Timeline& time_;
  Network& network_;
  const Site site_;
  Callee* callee_ = nullptr;
  Network::Handle connection_;
  std::string received_;
  uint64_t request_ = 0;
  bool was_said_ = false;
  Answered answered_;
  const std::shared_ptr<const bool> lives_ = std::make_shared<bool>(true);  // while this does
};

}  // namespace sluice::cluster
