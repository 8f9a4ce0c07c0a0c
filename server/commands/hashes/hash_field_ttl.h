// Ends of hash fields, as the commands that set them share them: reading times and the FIELDS
// clause, and changing several fields of a hash with what is to be told about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "protocol/args.h"
#include "server/commands/hashes/hash_access.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {

// The four forms of a time: EX and PX count from now, EXAT and PXAT from 1970.
enum class TimeUnit : uint8_t { kSeconds, kMilliseconds };
enum class TimeBase : uint8_t { kNow, kEpoch };

// The meaning of a time argument's number.
struct TimeForm {
  TimeUnit unit;
  TimeBase base;
};
// Template arguments of handlers, hence constants with a name.
inline constexpr TimeForm kInSeconds{TimeUnit::kSeconds, TimeBase::kNow};
inline constexpr TimeForm kInMilliseconds{TimeUnit::kMilliseconds, TimeBase::kNow};
inline constexpr TimeForm kAtSecond{TimeUnit::kSeconds, TimeBase::kEpoch};
inline constexpr TimeForm kAtMillisecond{TimeUnit::kMilliseconds, TimeBase::kEpoch};

// The deadline that the next argument names; the reader has the error.
Deadline TakeFieldTime(ArgReader& args, const CommandCall& call, TimeForm form);

// The error when FIELDS is not where it has to be.
inline constexpr std::string_view kNoFields =
    "ERR Mandatory argument FIELDS is missing or not at the right position";
// Reads "FIELDS numfields field ..." from the argument `at` to the end: where the names begin, 0
// after an error has been answered.
size_t ReadFields(CommandCall& call, size_t at,
                  std::string_view count_fault = "ERR Number of fields must be a positive integer");

// The effect that these fields, which are there, end then. Requires: call.wants_effects().
void RecordFieldsEnd(const CommandCall& call, Args names, const Deadline& deadline);

// The answers of a field to a command about its end.
enum FieldAnswer : int64_t { kNoField = -2, kNoEnd = -1, kNotMet = 0, kDone = 1, kDeleted = 2 };

// Opens the hash at the first change, gathers what happened, and tells it at the end. A time that
// has passed deletes the field.
class FieldEdit {
 public:
  // `found` must be a hash, and stays valid until the first change.
  FieldEdit(CommandCall& call, HashedKey key, const Typed<Hash>& found)
      : call_(call), key_(key), found_(found) {}

  // Precondition of both: the field is there.
  FieldAnswer SetDeadline(std::string_view name, const Deadline& deadline);
  void Delete(std::string_view name);

  // Tells of the request in one event: `event`, or `hdel` if a field was deleted. Nothing happens
  // if nothing was changed; a hash that is empty afterwards goes too, with `del`. `effect` stands
  // for the fields with a new time: a command up to its FIELDS; its strings live only for the call.
  void Finish(std::string_view event, std::vector<std::string_view> effect,
              EffectTime time = EffectTime::kAsItIs);

 private:
  Hash& Opened();
  void Record(std::vector<std::string_view> effect, EffectTime time);

  CommandCall& call_;
  HashedKey key_;
  Typed<Hash> found_;
  sluice::Opened<Hash> opened_;
  // Views of the request's arguments, in its order.
  std::vector<std::string_view> timed_;
  std::vector<std::string_view> deleted_;
};

}  // namespace sluice
