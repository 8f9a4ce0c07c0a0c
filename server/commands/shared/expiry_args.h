// The options by which a string command says when its key ends: EX, PX, EXAT and PXAT with a
// number, and the words KEEPTTL and PERSIST. Each is a row for the command's own table of options,
// which keeps what it has read in a member `expiry`:
//
//   struct GetExOptions { ExpiryArg expiry; };
//   constexpr OptionRow<GetExOptions> kGetExOptions[] = {
//       kExpiryRow<GetExOptions, ExpiryKind::kEx>, kExpiryRow<GetExOptions, ExpiryKind::kPersist>};
//
// Reading the grammar and checking the number are two steps, as in Redis: a fault in a later option
// is told before a bad number in an earlier one.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/commands/shared/option_table.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"

namespace sluice {

enum class ExpiryKind : uint8_t { kNone, kEx, kPx, kExat, kPxat, kKeepTtl, kPersist };

// The option that says how the key ends. ReadDeadline checks the number, a view of the request.
struct ExpiryArg {
  ExpiryKind kind = ExpiryKind::kNone;
  std::string_view number;  // of EX, PX, EXAT and PXAT: not yet read

  constexpr bool timed() const { return kind >= ExpiryKind::kEx && kind <= ExpiryKind::kPxat; }
};

// By ExpiryKind.
inline constexpr std::string_view kExpiryWords[] = {"",     "EX",      "PX",     "EXAT",
                                                    "PXAT", "KEEPTTL", "PERSIST"};

// As in Redis these words are no option without their number, nor beside one of another kind. The
// same one again is fine, the last counts.
template <typename Options, ExpiryKind kKind>
inline constexpr OptionRow<Options> kExpiryRow = {
    .word = kExpiryWords[static_cast<size_t>(kKind)],
    .read =
        [](ArgReader& args, Options& options) {
          options.expiry.kind = kKind;
          if (options.expiry.timed()) options.expiry.number = args.Bytes();
        },
    .values = ExpiryArg{kKind, {}}.timed() ? 1u : 0u,
    .known =
        [](const Options& options) {
          return options.expiry.kind == ExpiryKind::kNone || options.expiry.kind == kKind;
        },
};

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
// The effect is that the key holds this text and keeps the end that it has. `over_ours`: the value
// before was one that no Redis can hold, so that one which follows knows of no end.
void ReplaceWithSetKeeping(CommandCall& call, std::string_view key, std::string_view value,
                           Deadline deadline, bool over_ours);

// Gives the entry, found at `key`, another end; it goes at once if that has passed.
void EndKeyAt(CommandCall& call, HashedKey key, const Entry& entry, Deadline deadline);

}  // namespace sluice
