// See key_patterns.h.
#include "server/access/key_patterns.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "protocol/text/concat.h"
#include "server/access/verdict.h"

namespace sluice {
namespace {

// As a number; what a shorter text lacks is 0.
uint64_t FirstBytes(std::string_view text) {
  uint64_t bytes = 0;
  if (text.size() >= sizeof bytes) {
    std::memcpy(&bytes, text.data(), sizeof bytes);
  } else if (!text.empty()) {
    std::memcpy(&bytes, text.data(), text.size());
  }
  return bytes;
}

std::string_view MarkOf(uint8_t access) {
  if (access == kReadsAndWrites) return "~";
  return access == kReads ? "%R~" : "%W~";
}

}  // namespace

void KeyPatterns::Add(std::string_view pattern, uint8_t access) {
  const auto there = std::ranges::find(patterns_, pattern, &Pattern::text);
  if (there != patterns_.end()) {
    there->access |= access;
    return;
  }
  Insert(HeadOf(pattern));
  patterns_.push_back({std::string(pattern), Glob(pattern), access});
}

void KeyPatterns::clear() {
  patterns_.clear();
  heads_.clear();
  groups_.clear();
}

bool KeyPatterns::Has(std::string_view pattern) const {
  return std::ranges::find(patterns_, pattern, &Pattern::text) != patterns_.end();
}

KeyPatterns::Head KeyPatterns::HeadOf(std::string_view pattern) const {
  const std::string_view plain =
      pattern.substr(0, std::min(pattern.find_first_of("*?[\\"), sizeof(uint64_t)));
  return {.bytes = FirstBytes(plain),
          .pattern = static_cast<uint32_t>(patterns_.size()),
          .size = static_cast<uint8_t>(plain.size()),
          .is_prefix = !plain.empty() && pattern.substr(plain.size()) == "*"};
}

void KeyPatterns::Insert(const Head& head) {
  const auto order = [](const Head& it) { return std::tuple(it.size, it.bytes); };
  heads_.insert(std::ranges::upper_bound(heads_, order(head), {}, order), head);
  auto group = std::ranges::lower_bound(groups_, head.size, {}, &Group::size);
  if (group == groups_.end() || group->size != head.size) {
    const uint32_t begin = group == groups_.begin() ? 0 : std::prev(group)->end;
    const std::string ones(head.size, '\xff');
    group = groups_.insert(group, {FirstBytes(ones), begin, begin, head.size});
  }
  ++group->end;
  while (++group != groups_.end()) {
    ++group->begin;
    ++group->end;
  }
}

bool KeyPatterns::Allow(std::string_view key, uint8_t access) const {
  const uint64_t first = FirstBytes(key);
  for (const Group& group : groups_) {
    if (key.size() < group.size) return false;
    const uint64_t bytes = first & group.mask;
    const Head* const end = heads_.data() + group.end;
    const Head* head =
        std::ranges::lower_bound(heads_.data() + group.begin, end, bytes, {}, &Head::bytes);
    for (; head != end && head->bytes == bytes; ++head) {
      const Pattern& pattern = patterns_[head->pattern];
      if ((pattern.access & access) != access) continue;
      if (head->is_prefix || pattern.glob.Matches(key)) return true;
    }
  }
  return false;
}

bool KeyPatterns::AllowAnyKey(uint8_t access) const {
  return std::ranges::any_of(patterns_, [access](const Pattern& pattern) {
    return pattern.text == "*" && (pattern.access & access) == access;
  });
}

std::string KeyPatterns::Describe() const {
  std::string text;
  for (const Pattern& pattern : patterns_) {
    ConcatTo(text, text.empty() ? "" : " ", MarkOf(pattern.access), pattern.text);
  }
  return text;
}

}  // namespace sluice
