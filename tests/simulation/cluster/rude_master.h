// RudeMaster: a master without an engine, which a machine may be told to follow by its name. It
// speaks the protocol up to a full sync and a stream of its own, and now and then, at any step,
// says nonsense, half of what it should, nothing at all, or hangs up. Nobody has to believe it: who
// follows another one afterwards has that one's data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {

class RudeMaster final : public Callee {
 public:
  RudeMaster(World& world, std::string name);
  ~RudeMaster() override;

  // --- Callee
  Site site() const override { return site_; }
  bool has_power() const override { return true; }
  Network::Handle Accept(Site caller, End& caller_end) override;

  int images() const { return images_; }      // that it has said to the end
  int nonsense() const { return nonsense_; }  // how often it was rude

 private:
  class Link;
  void GoOn();

  World& world_;
  const std::string name_;
  const Site site_;
  std::vector<std::unique_ptr<Link>> links_;
  int images_ = 0;
  int nonsense_ = 0;
};

}  // namespace sluice::cluster
