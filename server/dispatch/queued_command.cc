// See queued_command.h.
#include "server/dispatch/queued_command.h"

namespace sluice {

// Two allocations, whatever the number of arguments. Reserving first keeps the views valid.
QueuedCommand::QueuedCommand(const Command* queued, Args args) : command(queued) {
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
