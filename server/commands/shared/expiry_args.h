// The options by which a string command says when its key ends: EX, PX, EXAT and PXAT with a
// number, and the words KEEPTTL and PERSIST. Reading the grammar and checking the number are two
// steps, as in Redis: a fault in a later option is told before a bad number in an earlier one.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"

namespace sluice {

enum class ExpiryKind : uint8_t { kNone, kEx, kPx, kExat, kPxat, kKeepTtl, kPersist };

struct ExpiryArg {
  ExpiryKind kind = ExpiryKind::kNone;
  std::string_view number;  // of EX, PX, EXAT and PXAT: not yet read

  bool timed() const { return kind >= ExpiryKind::kEx && kind <= ExpiryKind::kPxat; }
};

// Takes "EX n", "PX n", "EXAT n" or "PXAT n". Not taken, as in Redis: without its number, and
// beside an option of another kind (the same one again is fine, the last counts).
bool TakeExpiry(ArgReader& args, ExpiryArg& expiry);
// Takes the word KEEPTTL or PERSIST on the same terms.
bool TakeKeepTtl(ArgReader& args, ExpiryArg& expiry);
bool TakePersist(ArgReader& args, ExpiryArg& expiry);

// The deadline that a timed option names: engine time for EX and PX, Unix time for the others.
// False when its number is none, not above zero, or too large: the error has been answered.
bool ReadDeadline(CommandCall& call, const ExpiryArg& expiry, Deadline& deadline);

// --- what commands say that store a string, or change the end of a key

// That the key has a new text; timed: with an end of its own.
inline void SaySet(CommandCall& call, HashedKey key, bool timed) {
  call.Changed(kNotifyString, "set", key.bytes);
  if (timed) call.Changed(kNotifyGeneric, "expire", key.bytes);
}
// The effect is that the key holds this text until then, or for good.
void ReplaceWithSet(CommandCall& call, std::string_view key, std::string_view value,
                    Deadline deadline);

// Gives the entry, found at `key`, another end; it goes at once if that has passed.
void EndKeyAt(CommandCall& call, HashedKey key, const Entry& entry, Deadline deadline);

}  // namespace sluice
