// FollowerByFunction: follows the options of a configuration for as long as it lives.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/config/config.h"

namespace sluice {

class FollowerByFunction final : private OptionFollower {
 public:
  using Changed = std::function<std::optional<std::string>(std::string_view option)>;
  FollowerByFunction(Config& config, Changed changed)
      : config_(config), changed_(std::move(changed)) {
    config_.Follow(*this);
  }
  ~FollowerByFunction() { config_.Unfollow(*this); }
  FollowerByFunction(const FollowerByFunction&) = delete;

 private:
  std::optional<std::string> OptionChanged(std::string_view option) override {
    return changed_(option);
  }

  Config& config_;
  const Changed changed_;
};

}  // namespace sluice
