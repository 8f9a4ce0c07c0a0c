// Shared parts of the stream family: ids in arguments, entries in replies, and a stream opened for
// changes.
//
// Ids are two 64-bit numbers, ms-seq, and grow strictly inside a stream. A change of a group alone
// (pending entries, its last id) is no change of the key for WATCH, but it is one for the log.
#pragma once

#include <optional>
#include <string_view>

#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"
#include "storage/types/streams/stream.h"

namespace sluice {

// --- arguments; the reader keeps the fault

// A plain id; "5" is 5-0.
StreamId TakeStreamId(ArgReader& args);
// With a sentence of its own when it is no integer.
int64_t TakeInteger(ArgReader& args, std::string_view fault);
// The ends of a range, both included: "-", "+", "(5-1" without that id itself. Their texts have
// been taken already: Redis looks at arguments in another order than they stand in.
StreamId RangeStart(ArgReader& args, std::string_view text);
StreamId RangeEnd(ArgReader& args, std::string_view text);

// A plain id where no reader is. Null: the error has been answered.
std::optional<StreamId> ReadStreamId(CommandCall& call, std::string_view text);

// --- look-ups. `failed`: the error has been answered (WRONGTYPE).

struct FoundStream {
  const Entry* entry = nullptr;  // null: no such key
  bool failed = false;
  // Null without a key. Valid until the database is changed.
  Stream* stream() const { return entry ? static_cast<Stream*>(&entry->value()) : nullptr; }
};
// The entry of a look-up as a stream.
FoundStream AsStream(CommandCall& call, const Entry* entry);
// Counts a hit or a miss.
FoundStream FindStream(CommandCall& call, HashedKey key);
// For a look-up before a change; counts nothing.
FoundStream FindStreamToChange(CommandCall& call, HashedKey key);

// A stream that is changed from here to the end of the block. WATCH and blocked
// readers are told only if entries change: the book-keeping of groups does not concern them.
class StreamEdit {
 public:
  enum class Of : uint8_t { kEntries, kGroups };
  StreamEdit(CommandCall& call, const FoundStream& found, Of what)
      : StreamEdit(call, what == Of::kEntries ? call.db.Modify(*found.entry, call.now)
                                              : call.db.ModifyUnseen(*found.entry, call.now)) {}
  StreamEdit(CommandCall& call, Entry& entry) : db_(call.db), entry_(entry) {}
  ~StreamEdit() { db_.ValueChanged(entry_); }
  StreamEdit(const StreamEdit&) = delete;
  StreamEdit& operator=(const StreamEdit&) = delete;

  Stream& operator*() const { return static_cast<Stream&>(entry_.value()); }
  Stream* operator->() const { return &**this; }

 private:
  Database& db_;
  Entry& entry_;
};

// An empty stream under a key that is missing.
Entry& MakeStream(CommandCall& call, HashedKey key);

// --- replies

void ReplyId(ReplySink& reply, StreamId id);
// The two elements of an entry; `elements` of which are to be the array, the rest by the caller.
void ReplyEntry(ReplySink& reply, const StreamEntry& entry, size_t elements = 2);
// The entries between two ids, at most `most`.
void ReplyRange(ReplySink& reply, const Stream& stream, StreamId from, StreamId to, uint64_t most);
// -NOGROUP in its three wordings.
void ReplyNoGroup(CommandCall& call, std::string_view key, std::string_view group,
                  std::string_view where = {});
// XGROUP's and XINFO's order of the two names.
void ReplyNoGroupForKey(CommandCall& call, std::string_view group, std::string_view key);

// --- effects, as commands that say again what happened to a group

// A group with the two names that effects need. The names are views of the request's arguments.
struct GroupPlace {
  std::string_view key;
  std::string_view name;
  StreamGroup& group;
};
// The entry as it is at this moment: its owner, its time, its count. Call it after the change.
void RecordPending(CommandCall& call, const GroupPlace& place, StreamId id,
                   const PendingEntry& pending);
void RecordLastId(CommandCall& call, const GroupPlace& place);
// Whether the group has the consumer, or room for it (kConsumersMax); else the error has been
// answered.
bool HasRoomFor(CommandCall& call, const StreamGroup& group, std::string_view consumer);
// The group's consumer of that name, made if need be (and then it is an effect and an event), seen
// now.
StreamConsumer& SeenConsumer(CommandCall& call, const GroupPlace& place, std::string_view name);

}  // namespace sluice
