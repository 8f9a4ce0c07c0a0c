// See lease_model.h.
#include "tests/simulation/lease_model.h"

#include <cstdlib>

namespace sluice {
namespace {

std::string Number(int64_t number) { return ":" + std::to_string(number) + "\r\n"; }
std::string Bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}
constexpr const char* kNull = "$-1\r\n";
constexpr const char* kOk = "+OK\r\n";

}  // namespace

std::string LeaseModel::Run(const std::vector<std::string>& arguments, int64_t now_ms) {
  const std::string& name = arguments[0];
  const std::string& key = arguments[1];
  if (name == "ECHO") return Bulk(key);
  if (name == "SET") return Set(arguments, now_ms);
  if (name == "INCR") return Increment(key, now_ms);
  Held* held = Find(key, now_ms);
  if (name == "GET") return held ? Bulk(held->text) : kNull;
  if (name == "EXISTS") return Number(held ? 1 : 0);
  if (name == "PTTL") {
    if (!held) return Number(-2);
    return Number(held->until_ms ? *held->until_ms - now_ms : -1);
  }
  if (!held) return Number(0);
  if (name == "DEL") held_.erase(key);
  if (name == "PEXPIRE") held->until_ms = now_ms + std::atoll(arguments[2].c_str());
  return Number(1);
}

LeaseModel::Held* LeaseModel::Find(const std::string& key, int64_t now_ms) {
  const auto found = held_.find(key);
  if (found == held_.end()) return nullptr;
  if (found->second.until_ms && *found->second.until_ms <= now_ms) {
    held_.erase(found);
    return nullptr;
  }
  return &found->second;
}

// SET key value [PX ms [NX]]
std::string LeaseModel::Set(const std::vector<std::string>& arguments, int64_t now_ms) {
  const bool only_new = arguments.size() > 5;
  if (only_new && Find(arguments[1], now_ms)) return kNull;
  Held held{arguments[2], std::nullopt};
  if (arguments.size() > 4) held.until_ms = now_ms + std::atoll(arguments[4].c_str());
  held_[arguments[1]] = held;
  return kOk;
}

std::string LeaseModel::Increment(const std::string& key, int64_t now_ms) {
  Held* held = Find(key, now_ms);
  if (!held) {
    held_[key] = {"1", std::nullopt};
    return Number(1);
  }
  const bool number =
      !held->text.empty() && held->text.find_first_not_of("0123456789") == std::string::npos;
  if (!number) return "-ERR value is not an integer or out of range\r\n";
  held->text = std::to_string(std::atoll(held->text.c_str()) + 1);
  return Number(std::atoll(held->text.c_str()));
}

}  // namespace sluice
