// Looking a key up for a handler: the one place that knows which look-ups mark the access (not
// those of a client in CLIENT NO-TOUCH) and which count as keyspace hits and misses (those of
// reads).
//
// For keys that hold Values (T has kType and empty()):
//
//   const auto hash = FindTyped<Hash>(call, key);       // LookUpTyped in a command that writes
//   if (hash.refused) return;                           // WRONGTYPE has been answered
//   if (!hash) return call.reply.Null();                // no such key
//   Use(hash->...);
//
//   auto hash = OpenTyped<Hash>(call, key);             // made when missing; or OpenFound
//   if (hash.refused) return;
//   ... hash->Set(...);                                 // everything that may fail comes before
//   CloseTyped(call, hash, kNotifyHash, "hset");        // accounts; removes the key when empty
#pragma once

#include <memory>

#include "absl/base/attributes.h"
#include "server/dispatch/command.h"
#include "server/engine/inputs.h"
#include "server/observe/statistics.h"

namespace sluice {

// For writers that must see what is there first: marks the access, counts nothing.
inline const Entry* LookUp(CommandCall& call, const HashedKey& key) {
  if (call.client.no_touch) [[unlikely]]
    return call.db.Find(key, call.now);
  return call.db.FindAndTouch(key, call.now);
}

// Tells of a key that a reader has not found.
inline const Entry* Missed(CommandCall& call, const HashedKey& key) {
  call.Notify(kNotifyKeyMiss, "keymiss", key.bytes, call.db);
  ++call.part<Statistics>().keyspace_misses;
  return nullptr;
}

// args[index] as a key that is only looked for. In an empty database nothing is found by a hash, so
// none is made: of requests with a million keys that is a third of the time.
inline HashedKey KeyToRead(const CommandCall& call, size_t index) {
  return call.db.size() == 0 ? HashedKey{call.args[index], 0} : call.Key(index);
}

// For readers: counts a hit or a miss as well.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline const Entry* LookUpToRead(CommandCall& call,
                                                              const HashedKey& key) {
  const Entry* const entry = LookUp(call, key);
  if (!entry) [[unlikely]]
    return Missed(call, key);
  ++call.part<Statistics>().keyspace_hits;
  return entry;
}

// For readers that only look (EXISTS, TTL, OBJECT): counts, but marks no access.
inline const Entry* PeekToRead(CommandCall& call, HashedKey key) {
  const Entry* const entry = call.db.Find(key, call.now);
  if (!entry) return Missed(call, key);
  ++call.part<Statistics>().keyspace_hits;
  return entry;
}

// An argument of megabytes becomes the string at `key` in the buffer that it came in; false: it has
// to be copied. Not where the entry may end, and the argument with it, before the command has been
// told of.
inline bool PutBuffer(CommandCall& call, const HashedKey& key, std::string_view argument,
                      Deadline deadline) {
  if (deadline.Passed(call.now)) return false;
  auto block = call.part<Inputs>().TakeArgument(call.client, argument);
  if (block) call.db.PutRawText(key, *std::move(block), deadline, call.now);
  return block.has_value();
}

// The argument becomes the string at `key`.
inline void PutArgument(CommandCall& call, const HashedKey& key, std::string_view argument,
                        Deadline deadline) {
  const bool is_large = argument.size() >= TextBlock::kMappedAt;
  if (is_large && PutBuffer(call, key, argument, deadline)) [[unlikely]]
    return;
  call.db.PutText(key, argument, deadline, call.now);
}

// The same where it has just been looked up: `found` is what is there, or null.
inline void PutArgumentOver(CommandCall& call, const Entry* found, const HashedKey& key,
                            std::string_view argument, Deadline deadline) {
  const bool is_large = argument.size() >= TextBlock::kMappedAt;
  if (is_large && PutBuffer(call, key, argument, deadline)) [[unlikely]]
    return;
  call.db.PutTextOver(found, key, argument, deadline, call.now);
}

// False when the key holds something else than a string: then WRONGTYPE has been answered. A
// missing key is fine.
inline bool IsTextOrMissing(CommandCall& call, const Entry* entry) {
  if (!entry || entry->is_string()) [[likely]]
    return true;
  call.reply.Error(ErrorCode::kWrongType);
  return false;
}

// The result of a look-up at a key that should hold a T.
template <typename T>
struct Typed {
  const Entry* entry = nullptr;
  bool refused = false;  // it holds another type, and WRONGTYPE has been answered

  explicit operator bool() const { return entry != nullptr; }
  const T* operator->() const { return &**this; }
  const T& operator*() const { return static_cast<const T&>(entry->value()); }
};

// The type check of an entry that is looked up already. The result points into the database: it is
// valid until the next change of any key.
template <typename T>
Typed<T> AsTyped(CommandCall& call, const Entry* entry) {
  if (!entry || entry->type() == T::kType) [[likely]]
    return {entry, false};
  call.reply.Error(ErrorCode::kWrongType);
  return {nullptr, true};
}

// For readers: counts the hit or miss, marks the access, checks the type.
template <typename T>
Typed<T> FindTyped(CommandCall& call, HashedKey key) {
  return AsTyped<T>(call, LookUpToRead(call, key));
}

// For writers: marks the access, counts nothing, checks the type.
template <typename T>
Typed<T> LookUpTyped(CommandCall& call, HashedKey key) {
  return AsTyped<T>(call, LookUp(call, key));
}

// A value that is being changed. Until CloseTyped the database may not be used otherwise.
template <typename T>
struct Opened {
  HashedKey key;
  Entry* entry = nullptr;
  bool refused = false;
  bool created = false;

  T* operator->() const { return &**this; }
  T& operator*() const { return static_cast<T&>(entry->value()); }
};

// From here on the key counts as changed (watchers, effects). Requires: found is not null.
template <typename T>
Opened<T> OpenFound(CommandCall& call, HashedKey key, const Typed<T>& found) {
  return {key, &call.db.Modify(*found.entry, call.now), false, false};
}

// Requires: the key is missing. The new value is empty, which no key may be between two commands:
// the handler has to fill it before CloseTyped.
template <typename T>
Opened<T> CreateTyped(CommandCall& call, HashedKey key) {
  Entry& entry = call.db.PutValue(key, std::make_unique<T>(), Deadline::None(), call.now);
  return {key, &entry, false, true};
}

// Finds or makes. A command that may find nothing to add has to look with LookUpTyped first,
// because a value that is made counts as a change of the key.
template <typename T>
Opened<T> OpenTyped(CommandCall& call, HashedKey key) {
  const Typed<T> found = LookUpTyped<T>(call, key);
  if (found.refused) return {key, nullptr, true, false};
  return found ? OpenFound(call, key, found) : CreateTyped<T>(call, key);
}

// Says that the value has changed, and deletes its key if it has become empty. Order matters: the
// value's own event comes before `del`, as Redis's keyspace events do.
template <typename T>
void CloseTyped(CommandCall& call, const Opened<T>& opened, NotifyClass event_class,
                std::string_view event) {
  call.db.ValueChanged(*opened.entry);
  const bool gone = opened->empty();
  if (gone) call.db.Delete(opened.key, call.now);
  call.Changed(event_class, event, opened.key.bytes);
  if (gone) call.Deleted(opened.key.bytes);
}

// Puts what a command has made at `key`, whatever was there; an empty value deletes the key. False:
// nothing has changed.
template <typename T>
bool StoreTyped(CommandCall& call, HashedKey key, std::unique_ptr<T> made, NotifyClass event_class,
                std::string_view event) {
  if (!made->empty()) {
    call.db.PutValue(key, std::move(made), Deadline::None(), call.now);
    call.Changed(event_class, event, key.bytes);
    return true;
  }
  if (!call.db.Delete(key, call.now)) return false;
  call.Deleted(key.bytes);
  return true;
}

// The key goes, and that is the effect of the command, whatever it is called. False: there is none.
inline bool DeleteAsEffect(CommandCall& call, HashedKey key) {
  if (!call.db.Delete(key, call.now)) return false;
  call.Deleted(key.bytes);
  call.ReplaceWith({"DEL", key.bytes});
  return true;
}

// Answers with a string's bytes. Requires: entry.is_string().
inline void ReplyText(CommandCall& call, const Entry& entry) {
  char scratch[Entry::kTextScratch];
  call.reply.Bulk(entry.Text(scratch));
}

}  // namespace sluice
