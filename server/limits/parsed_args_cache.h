// ParsedArgsCache: what the words of the last request meant. Requests for one key after the other
// mostly repeat the same limit, and to read and check it is a sixth of what they take.
//
//   if (const TakeOptions* known = memo.Find(words)) return *known;
//   ... read `words` ...
//   memo.Keep(words, options);   // if they mean the same whenever they come
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "protocol/args.h"
#include "protocol/text/same_bytes.h"

namespace sluice {

template <typename Meaning>
class ParsedArgsCache {
 public:
  // Null if these are other words.
  const Meaning* Find(Args words) const {
    if (!last_ || words.size() != last_->count) return nullptr;
    const uint8_t* const begins = last_->begins.data();
    for (size_t i = 0; i < words.size(); ++i) {
      if (!SameBytes(words[i], {last_->bytes.data() + begins[i],
                                static_cast<size_t>(begins[i + 1] - begins[i])})) {
        return nullptr;
      }
    }
    return &last_->meaning;
  }

  // Too many or too long ones are not kept. Requires: not empty.
  void Keep(Args words, const Meaning& meaning) {
    if (!last_) last_ = std::make_unique<Request>();
    last_->count = kNone;
    if (words.size() > kWordsMax) return;
    size_t end = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i].size() > last_->bytes.size() - end) return;
      std::ranges::copy(words[i], last_->bytes.begin() + static_cast<std::ptrdiff_t>(end));
      end += words[i].size();
      last_->begins[i + 1] = static_cast<uint8_t>(end);
    }
    last_->count = words.size();
    last_->meaning = meaning;
  }

 private:
  static constexpr size_t kWordsMax = 8;
  static constexpr size_t kNone = kWordsMax + 1;

  struct Request {
    size_t count = kNone;
    std::array<uint8_t, kWordsMax + 1> begins{};
    // Room for the words of a limit, side by side; `begins[i]` is where the i-th one begins.
    std::array<char, 96> bytes{};
    Meaning meaning{};
  };
  std::unique_ptr<Request> last_;  // from the first one on
};

}  // namespace sluice
