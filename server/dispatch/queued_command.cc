// See queued_command.h.
#include "server/dispatch/queued_command.h"

namespace sluice {

// Two allocations, whatever the number of arguments. Reserving first keeps the views valid.
QueuedCommand::QueuedCommand(const Request& request)
    : command_(&request.command), inner_(request.inner_) {
  const Args args = request.args;
  size_t size = 0;
  for (const std::string_view argument : args) size += argument.size();
  bytes_.reserve(size);
  views_.reserve(args.size());
  for (const std::string_view argument : args) {
    views_.emplace_back(bytes_.data() + bytes_.size(), argument.size());
    bytes_.insert(bytes_.end(), argument.begin(), argument.end());
  }
}

}  // namespace sluice
