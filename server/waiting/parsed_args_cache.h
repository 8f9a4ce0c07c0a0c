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
#include <string_view>

#include "protocol/args.h"
#include "protocol/text/same_bytes.h"

namespace sluice {

template <typename Meaning>
class ParsedArgsCache {
 public:
  // Null if these are other words.
  const Meaning* Find(Args words) const {
    if (words.size() != count_) return nullptr;
    for (size_t i = 0; i < count_; ++i) {
      if (!SameBytes(words[i], {bytes_.data() + begins_[i],
                                static_cast<size_t>(begins_[i + 1] - begins_[i])})) {
        return nullptr;
      }
    }
    return &meaning_;
  }

  // Too many or too long ones are not kept. Precondition: not empty.
  void Keep(Args words, const Meaning& meaning) {
    count_ = kNone;
    if (words.size() > kWordsMax) return;
    size_t end = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i].size() > bytes_.size() - end) return;
      std::ranges::copy(words[i], bytes_.begin() + static_cast<std::ptrdiff_t>(end));
      end += words[i].size();
      begins_[i + 1] = static_cast<uint8_t>(end);
    }
    count_ = words.size();
    meaning_ = meaning;
  }

 private:
  static constexpr size_t kWordsMax = 8;
  static constexpr size_t kNone = kWordsMax + 1;

  size_t count_ = kNone;
  std::array<uint8_t, kWordsMax + 1> begins_{};
  // Room for the words of a limit, side by side; `begins_[i]` is where the i-th one begins.
  std::array<char, 96> bytes_{};
  Meaning meaning_{};
};

}  // namespace sluice
