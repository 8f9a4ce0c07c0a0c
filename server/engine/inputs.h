// Inputs: what the sessions have to be parsed this turn, each as a window of bytes.
//
// An Input lives for one turn. `position` never passes `parsed`, and this never passes the window:
// what lies between them is in the batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "server/clients/session.h"
#include "storage/memory/text_block.h"

namespace sluice {

struct Input {
  Session* session;         // null: it is gone
  std::string_view window;  // the host's bytes, or session->pending
  size_t position = 0;      // up to here it has been run
  size_t parsed = 0;        // up to here it is in the batch
  bool from_pending = false;
  bool starved = false;  // the rest is an incomplete request
  bool stopped = false;  // blocked, held or closed: the rest waits
  // Neither run nor in the batch.
  std::string_view rest() const { return {window.data() + parsed, window.size() - parsed}; }
  bool spent() const { return starved || stopped || parsed >= window.size(); }
};

class Inputs {
 public:
  std::vector<Input> list;

  // Received bytes that are neither run to their end nor, where a request is not complete, made an
  // argument yet: the request that runs is part of them.
  size_t UnparsedBytes(const Session& session) const {
    const auto input = std::ranges::find(list, &session, &Input::session);
    const size_t unread = input != list.end() ? input->window.size() - input->position
                                              : session.pending.view().size();
    return unread - std::min(unread, session.parser.parsed_bytes());
  }

  // The argument of the request that runs without a copy, in the buffer that it came in: only where
  // that is large and holds nothing behind this request. All its arguments can be read while the
  // block lives.
  std::optional<TextBlock> TakeArgument(Session& session, std::string_view argument) {
    const std::string_view buffer = session.pending.view();
    const bool inside = argument.data() >= buffer.data() &&
                        argument.data() + argument.size() <= buffer.data() + buffer.size();
    if (!inside || argument.size() < TextBlock::kMappedAt) return std::nullopt;
    const auto input = std::ranges::find(list, &session, &Input::session);
    if (input == list.end() || !input->from_pending || !input->spent() ||
        input->position + session.parser.consumed() != input->window.size()) {
      return std::nullopt;
    }
    TextBlock taken = session.pending.Take();
    taken.Narrow(static_cast<size_t>(argument.data() - taken.view().data()), argument.size());
    return taken;
  }
};

}  // namespace sluice
