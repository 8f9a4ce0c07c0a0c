// See stream_references.h.
#include "server/commands/streams/stream_references.h"

#include <algorithm>
#include <span>
#include <string>

namespace sluice {
namespace {

constexpr size_t kIdsPerEffect = 1000;  // Redis takes a million words

// The command with its first words, and then the ids, in as many as are needed.
void RecordIds(CommandCall& call, const std::vector<std::string_view>& begin,
               const std::vector<StreamId>& ids) {
  if (!call.wants_effects()) return;
  for (size_t at = 0; at < ids.size(); at += kIdsPerEffect) {
    std::vector<std::string> texts;
    for (const StreamId id : std::span(ids).subspan(at, std::min(kIdsPerEffect, ids.size() - at)))
      texts.push_back(id.Text());
    std::vector<std::string_view> words = begin;
    words.insert(words.end(), texts.begin(), texts.end());
    call.ReplaceWith(Args(words));
  }
}

}  // namespace

bool TrimsAny(const StreamTrim& trim, const Stream& stream) {
  if (trim.references == StreamReferences::kHonour) return !stream.Unreferenced(trim).empty();
  return stream.WouldTrim(trim);
}

Trimmed TrimStream(const StreamTrim& trim, Stream& stream) {
  if (trim.references == StreamReferences::kKeep) return {stream.Trim(trim), {}};
  Trimmed trimmed;
  if (trim.references == StreamReferences::kRemove) {
    stream.Trim(trim, &trimmed.ids);
  } else {
    trimmed.ids = stream.Unreferenced(trim);
    for (const StreamId id : trimmed.ids) stream.Delete(id);
  }
  trimmed.entries = trimmed.ids.size();
  return trimmed;
}

void SettleReferences(CommandCall& call, const StreamTrim& trim, const Trimmed& trimmed,
                      Stream& stream) {
  if (trim.references == StreamReferences::kRemove) RemoveReferences(call, stream, trimmed.ids);
  if (trim.references == StreamReferences::kHonour) RecordDeleted(call, trimmed.ids);
}

bool RemoveReferences(CommandCall& call, Stream& stream, const std::vector<StreamId>& ids) {
  bool any = false;
  for (const auto& [name, group] : stream.groups()) {
    std::vector<StreamId> released;
    for (const StreamId id : ids)
      if (group->Release(id)) released.push_back(id);
    if (released.empty()) continue;
    RecordAcknowledged(call, name, released);
    any = true;
  }
  return any;
}

void RecordDeleted(CommandCall& call, const std::vector<StreamId>& ids) {
  RecordIds(call, {"XDEL", call.args[1]}, ids);
}

void RecordAcknowledged(CommandCall& call, std::string_view group,
                        const std::vector<StreamId>& ids) {
  RecordIds(call, {"XACK", call.args[1], group}, ids);
}

}  // namespace sluice
