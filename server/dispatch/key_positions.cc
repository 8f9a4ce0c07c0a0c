// Where the keys of a request stand, from the key specs of its row, as Redis's
// getKeysUsingKeySpecs finds them.

#include <algorithm>
#include <charconv>
#include <optional>

#include "absl/base/macros.h"
#include "protocol/text/number_text.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command_table.h"

namespace sluice {
namespace {

// The argument behind the keyword of the spec, sought from `from` on; 0 when there is no such word.
int BeginAfterKeyword(const KeySpec& spec, Args args, int from) {
  const int count = static_cast<int>(args.size());
  if (spec.begin > 0) {
    for (int i = from; i < count - 1; ++i) {
      if (IsWord(args[i], spec.keyword)) return i + 1;
    }
  } else {
    for (int i = count + spec.begin; i > 0; --i) {
      if (IsWord(args[i], spec.keyword)) return i + 1;
    }
  }
  return 0;
}

// Indexes of arguments, both included; empty with last < first. 64 bits, as counts come from
// clients.
struct Span {
  int64_t first = 0;
  int64_t last = -1;
};

// A count, or the number at the beginning of the text: where a key spec fails Redis asks the
// command's own function, and that reads with atoi.
std::optional<int64_t> CountOf(std::string_view text) {
  if (const std::optional<int64_t> count = ParseInt64(text)) return count;
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  return fault == std::errc() ? std::optional(count) : std::nullopt;
}

// The keys of a counted spec that begins at `begin`; none when there is no count.
std::optional<Span> CountedKeys(const KeySpec& spec, Args args, int begin) {
  const int count_at = begin + spec.keynum_index;
  if (count_at >= static_cast<int>(args.size())) return std::nullopt;
  const std::optional<int64_t> keys = CountOf(args[count_at]);
  if (!keys || *keys < 0 || *keys > static_cast<int64_t>(args.size())) return std::nullopt;
  const int64_t first = begin + spec.first_key;
  return Span{first, first + (*keys - 1) * spec.step};
}

// -1 is the last argument. XREAD's limit of 2 says that behind the keys stand as many ids.
Span RangeOfKeys(const KeySpec& spec, Args args, int begin) {
  const auto count = static_cast<int64_t>(args.size());
  if (spec.last >= 0) return {begin, begin + spec.last};
  if (spec.limit == 0) return {begin, count + spec.last};
  // A limit of 2: keys fill the first half of what is left.
  return {begin, begin + (count - begin) / spec.limit + spec.last};
}

}  // namespace

namespace {

// `add` is given positions that lie inside the request, whatever the client wrote. False where the
// arguments make no sense, and for a spec that does not tell all keys (kKeyIncomplete).
template <typename Add>
bool WalkKeys(const KeySpec& spec, Args args, Add add) {
  const int begin = spec.keyword.empty() ? spec.begin : BeginAfterKeyword(spec, args, spec.begin);
  if (begin == 0) return !spec.keyword.empty();  // an optional part that is not there, or unknown
  const std::optional<Span> span =
      spec.keynum ? CountedKeys(spec, args, begin) : RangeOfKeys(spec, args, begin);
  const auto count = static_cast<int64_t>(args.size());
  if (!span || span->last >= count || span->last < span->first) return false;
  for (int64_t i = span->first; i <= span->last; i += spec.step) {
    add(static_cast<int>(i));
  }
  return !(spec.flags & kKeyIncomplete);
}

}  // namespace

bool FindKeyPositions(const KeySpec& spec, Args args, std::vector<int>& positions) {
  return WalkKeys(spec, args, [&](int position) { positions.push_back(position); });
}

// The row's own function reads the words as the handler does, so where there is one it alone
// counts: a spec that looks for a word is misled by a value that looks so. A spec that fails does
// not hide what the others find: PFMERGE without sources still changes its key.
bool FindOwnKeys(const Request& request, std::vector<KeyUse>& keys) {
  const CommandSpec& spec = *request.command.spec;
  const Args args = request.args;
  if (spec.find_keys) {
    const size_t before = keys.size();
    const bool makes_sense = spec.find_keys(request, keys);
    for (size_t i = before; i < keys.size(); ++i) {
      ABSL_HARDENING_ASSERT(static_cast<size_t>(keys[i].position) < args.size());
    }
    return makes_sense;
  }
  bool whole = spec.keys.count > 0;
  for (const KeySpec& each : spec.keys.all()) {
    if (each.flags & kKeyNotKey) continue;
    const bool varies = (each.flags & kKeyVariableFlags) && spec.key_flags;
    const uint16_t flags = varies ? spec.key_flags(request) : each.flags;
    const auto add = [&](int position) { keys.push_back({position, flags}); };
    whole = WalkKeys(each, args, add) && whole;
  }
  return whole;
}

bool FindKeys(const Request& request, std::vector<KeyUse>& keys) {
  if (!FindOwnKeys(request, keys)) return false;
  const std::optional<Request> inner = request.inner();
  if (!inner) return true;
  const size_t first = keys.size();
  FindOwnKeys(*inner, keys);
  const int begin = request.command.spec->inner_command;
  for (size_t i = first; i < keys.size(); ++i) keys[i].position += begin;
  return true;
}

}  // namespace sluice
