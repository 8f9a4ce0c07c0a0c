// A few commands, for rules to be tried on.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "server/access/catalogue.h"
#include "server/access/redis_mark.h"

namespace sluice {

// "read" is 1, "write" 2 ...: the bits in the order of AccessCategoryNames().
inline CommandCatalogue SmallCatalogue() {
  constexpr uint32_t kRead = 1u << 1, kWrite = 1u << 2, kAdmin = 1u << 13, kFast = 1u << 14,
                     kSlow = 1u << 15, kDangerous = 1u << 17, kLock = 1u << 21,
                     kRedis = 1u << kRedisMark;
  CommandCatalogue catalogue;
  catalogue.Add("get", kRedis | kRead | kFast, {});
  catalogue.Add("set", kRedis | kWrite | kSlow, {});
  catalogue.Add("del", kRedis | kWrite | kSlow, {});
  catalogue.Add("keys", kRedis | kRead | kSlow | kDangerous, {});
  catalogue.Add("config", kRedis | kSlow, {});
  catalogue.Add("config|get", kRedis | kAdmin | kSlow | kDangerous, 4);
  catalogue.Add("config|set", kRedis | kAdmin | kSlow | kDangerous, 4);
  catalogue.Add("select", kRedis | kFast, {});
  catalogue.Add("lock.acquire", kWrite | kSlow | kLock, {});
  catalogue.Add("lock.break", kWrite | kSlow | kLock | kDangerous, {});
  catalogue.Build();
  return catalogue;
}

inline std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace sluice
