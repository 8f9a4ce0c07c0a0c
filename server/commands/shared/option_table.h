// The options of a command as a table, a row each, instead of a loop that compares words:
//
//   struct LcsOptions { bool length = false; int64_t least = 0; };
//   constexpr OptionRow<LcsOptions> kLcsOptions[] = {
//       {"LEN", kRaise<&LcsOptions::length>},
//       {"MINMATCHLEN", [](ArgReader& args, LcsOptions& to) { to.least = args.Int(); }, 1},
//   };
//   ReadOptions(args, kLcsOptions, options);
//   if (args.failed()) return call.reply.Error(args.error());
//
// Words are tried in the order of the rows. A word that is no option, or not one here and now, is a
// syntax error; a row tells the reader the fault that it finds, and the first fault counts, as in
// Redis. If an option comes twice, the last one counts, unless ReadOptionsOnce is asked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/base/attributes.h"
#include "protocol/text/same_bytes.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {

template <typename Options>
struct OptionRow {
  std::string_view word;
  void (*read)(ArgReader& args, Options& options);  // behind the word; takes the values
  size_t values = 0;  // without so many arguments behind it the word is no option
  // Whether it is an option of this command, after those that were read; null: always.
  bool (*known)(const Options& options) = nullptr;
};

// For options that are a flag, or that give a member a value: kAssign<&Request::order, kDown>.
template <auto kMember, auto kValue>
inline constexpr auto kAssign = [](ArgReader&, auto& options) { options.*kMember = kValue; };
template <auto kFlag>
inline constexpr auto kRaise = kAssign<kFlag, true>;
// For options whose value is any text.
template <auto kMember>
inline constexpr auto kTakeBytes =
    [](ArgReader& args, auto& options) { options.*kMember = args.Bytes(); };

// Tells most other words apart without a call. A letter differs in one bit from its capital.
inline bool MayBeWord(std::string_view text, std::string_view upper) {
  constexpr int kCaseBit = 'a' - 'A';
  return text.size() == upper.size() && ((text[0] ^ upper[0]) & ~kCaseBit) == 0;
}

// The row of the option that comes; null: none does.
template <typename Options, size_t kRows>
const OptionRow<Options>* FindOption(const ArgReader& args, const OptionRow<Options> (&rows)[kRows],
                                     const std::type_identity_t<Options>& options) {
  if (!args.more()) return nullptr;
  const std::string_view word = args.Peek();
  for (const OptionRow<Options>& row : rows) {
    if (!MayBeWord(word, row.word)) continue;
    if (args.left() <= row.values || !IsWord(word, row.word)) continue;
    if (!row.known || row.known(options)) return &row;
  }
  return nullptr;
}

// Takes an option, if one comes.
template <typename Options, size_t kRows>
bool TakeOption(ArgReader& args, const OptionRow<Options> (&rows)[kRows],
                std::type_identity_t<Options>& options) {
  const OptionRow<Options>* const row = FindOption(args, rows, options);
  if (!row) return false;
  args.Skip();
  row->read(args, options);
  return true;
}

// Takes options to the end of the arguments.
template <typename Options, size_t kRows>
void ReadOptions(ArgReader& args, const OptionRow<Options> (&rows)[kRows],
                 std::type_identity_t<Options>& options) {
  while (args.more()) {
    if (!TakeOption(args, rows, options)) return args.Fail(ErrorCode::kSyntax);
  }
}

// As ReadOptions, where no option may come twice.
template <typename Options, size_t kRows>
void ReadOptionsOnce(ArgReader& args, const OptionRow<Options> (&rows)[kRows],
                     std::type_identity_t<Options>& options) {
  static_assert(kRows <= 32);
  uint32_t seen = 0;  // a bit for each row
  while (args.more()) {
    const OptionRow<Options>* const row = FindOption(args, rows, options);
    const uint32_t bit = row ? uint32_t{1} << (row - rows) : 0;
    if (!row || (seen & bit)) return args.Fail(ErrorCode::kSyntax);
    seen |= bit;
    args.Skip();
    row->read(args, options);
  }
}

// For who only looks where options stand, as finders of keys do: `see` is told each row that comes
// and the position of its word. The values are passed over, so a row that takes some says how many;
// and so is what is no option, for which the command will be refused.
template <typename Options, size_t kRows, typename See>
void SeeOptions(ArgReader args, const OptionRow<Options> (&rows)[kRows],
                const std::type_identity_t<Options>& options, See see) {
  while (args.more()) {
    const OptionRow<Options>* const row = FindOption(args, rows, options);
    if (row) see(*row, args.position());
    args.Skip(row ? 1 + row->values : 1);
  }
}

// --- the same for the hottest commands
//
//   ReadOptions<kSetOptions>(args, options);
//
// The compiler knows the table, makes of each row's word a comparison with a number, and reads the
// option without a call.

namespace option_table {

// The letters of a word in capitals, as ShortNumber. Of bytes that are no letters none becomes one:
// a letter differs from its capital in one bit, which is cleared.
constexpr uint64_t CapitalsOf(std::string_view word) {
  constexpr uint64_t kNoCaseBits = 0xdfdfdfdfdfdfdfdf;
  return ShortNumber(word) & kNoCaseBits;
}

constexpr bool AreCapitals(std::string_view word) {
  return std::ranges::all_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
}

template <const auto& kRows, size_t kAt, typename Options>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool IsOption(const ArgReader& args, uint64_t capitals,
                                                  const Options& options) {
  constexpr const OptionRow<Options>& kRow = kRows[kAt];
  static_assert(AreCapitals(kRow.word));
  constexpr uint64_t kCapitals = CapitalsOf(kRow.word);
  const std::string_view word = args.Peek();
  if (capitals != kCapitals || word.size() != kRow.word.size()) return false;
  if (kRow.word.size() > kShortBytes && !IsWord(word, kRow.word)) return false;
  if (args.left() <= kRow.values) return false;
  if constexpr (kRow.known != nullptr) return kRow.known(options);
  return true;
}

// Reads the option that comes, unless it has been seen: a bit for each row. False: none does.
// Requires: an argument comes.
template <const auto& kRows, typename Options>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool Take(ArgReader& args, Options& options, uint32_t& seen) {
  const uint64_t capitals = CapitalsOf(args.Peek());
  const auto take = [&]<size_t kAt>() {
    constexpr uint32_t kBit = uint32_t{1} << kAt;
    if (!IsOption<kRows, kAt>(args, capitals, options) || (seen & kBit)) return false;
    seen |= kBit;
    args.Skip();
    kRows[kAt].read(args, options);
    return true;
  };
  const auto take_any = [&]<size_t... kAt>(std::index_sequence<kAt...>) {
    return (take.template operator()<kAt>() || ...);
  };
  static_assert(std::size(kRows) <= 32);
  return take_any(std::make_index_sequence<std::size(kRows)>());
}

}  // namespace option_table

template <const auto& kRows, typename Options>
void ReadOptions(ArgReader& args, Options& options) {
  while (args.more()) {
    uint32_t seen = 0;
    if (!option_table::Take<kRows>(args, options, seen)) return args.Fail(ErrorCode::kSyntax);
  }
}

template <const auto& kRows, typename Options>
void ReadOptionsOnce(ArgReader& args, Options& options) {
  uint32_t seen = 0;
  while (args.more()) {
    if (!option_table::Take<kRows>(args, options, seen)) return args.Fail(ErrorCode::kSyntax);
  }
}

}  // namespace sluice
