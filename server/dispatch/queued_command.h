// QueuedCommand: a request kept for later, by MULTI or by a command that waits.
#pragma once

#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "protocol/args.h"
#include "server/dispatch/command.h"
#include "storage/memory/block_size.h"

namespace sluice {

// Its bytes in one block, and where each argument lies.
class QueuedCommand {
 public:
  explicit QueuedCommand(const Request& request);
  QueuedCommand(QueuedCommand&&) noexcept = default;
  QueuedCommand& operator=(QueuedCommand&&) noexcept = default;

  const Command& command() const { return *command_; }
  Args args() const ABSL_ATTRIBUTE_LIFETIME_BOUND { return views_; }
  Request request() const ABSL_ATTRIBUTE_LIFETIME_BOUND { return {*command_, views_, inner_}; }
  // Its memory: beside itself, and in all.
  size_t heap_bytes() const {
    return BlockSize(bytes_.capacity()) + BlockSize(views_.capacity() * sizeof(std::string_view));
  }
  size_t bytes() const { return sizeof(*this) + heap_bytes(); }

 private:
  const Command* command_;
  const Command* inner_;
  std::vector<char> bytes_;  // moves keep its address
  std::vector<std::string_view> views_;
};

}  // namespace sluice
