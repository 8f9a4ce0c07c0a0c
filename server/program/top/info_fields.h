// InfoFields: the answer of INFO, by the names of its fields. The answer is another program's: what
// is no "name:value" line is left out, and a field that is missing, or no number, is null.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class InfoFields {
 public:
  // A server can answer with any number of fields; more than a thousand, no server has.
  static constexpr size_t kFieldsMax = 4096;

  // Adds those of one answer.
  void Add(std::string_view answer);
  bool empty() const { return fields_.empty(); }
  bool Has(std::string_view name) const { return fields_.contains(name); }
  // Empty: there is none.
  std::string_view Text(std::string_view name) const;
  // Digits behind a point are left out.
  std::optional<int64_t> Number(std::string_view name) const;
  int64_t NumberOr0(std::string_view name) const { return Number(name).value_or(0); }
  // The number of one part of a value such as "taken=5,refused=2".
  std::optional<int64_t> Part(std::string_view name, std::string_view part) const;

 private:
  std::map<std::string, std::string, std::less<>> fields_;
};

}  // namespace sluice
