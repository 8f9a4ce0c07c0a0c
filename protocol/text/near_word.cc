// See near_word.h.
#include "protocol/text/near_word.h"

#include <algorithm>
#include <array>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"

namespace sluice {
namespace {

constexpr size_t kLettersMax = 64;  // longer words are near to none
constexpr size_t kSlipsMax = 3;
constexpr size_t kStemLeast = 3;  // letters that two words must begin with to be near by that

// Insertions, deletions, substitutions and exchanges of neighbours that lead from one word to the
// other (optimal string alignment), each letter being touched once at most.
size_t SlipsBetween(std::string_view a, std::string_view b) {
  using Row = std::array<size_t, kLettersMax + 1>;
  Row before_last{}, last{}, row{};
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = last;
    last = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool is_exchange = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchange) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// As many slips as it counts for that one begins with the other: what is typed is rather too short.
size_t SlipsOfStem(std::string_view wanted, std::string_view known) {
  if (wanted.size() >= kStemLeast && known.starts_with(wanted)) return 1;
  if (known.size() >= kStemLeast && wanted.starts_with(known)) return 2;
  return kLettersMax;
}

}  // namespace

std::string_view NearWord(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string wanted = LowerCase(word);
  std::string_view nearest;
  size_t least = std::min(kSlipsMax, std::max<size_t>(1, wanted.size() / 3)) + 1;
  if (wanted.empty() || wanted.size() > kLettersMax) return nearest;
  for (const std::string_view candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLettersMax) continue;
    const std::string known = LowerCase(candidate);
    const size_t slips = std::min(SlipsBetween(wanted, known), SlipsOfStem(wanted, known));
    // A candidate that shares no letter with the word was not meant.
    if (slips >= least || slips >= std::max(wanted.size(), known.size())) continue;
    least = slips;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates,
                       std::string_view before) {
  const std::string_view meant = NearWord(word, candidates);
  return meant.empty() ? std::string() : Concat("; did you mean '", before, meant, "'?");
}

}  // namespace sluice
