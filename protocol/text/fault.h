// Fault: why something could not be done, as a sentence for a person; or none. A call that answers
// one has to be looked at: the compiler tells of a Fault that is dropped.
//
//   Fault Open(...) { return opened ? Fault() : Concat("cannot open ", path); }
//   if (const Fault fault = Open(path)) return fault;   // there is one
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace sluice {

class [[nodiscard]] Fault {
 public:
  Fault() = default;
  Fault(std::string sentence) : sentence_(std::move(sentence)) {}
  Fault(std::string_view sentence) : sentence_(sentence) {}
  Fault(const char* sentence) : sentence_(sentence) {}

  bool empty() const { return sentence_.empty(); }
  explicit operator bool() const { return !empty(); }

  const std::string& sentence() const { return sentence_; }
  operator const std::string&() const& { return sentence_; }
  operator std::string() && { return std::move(sentence_); }
  operator std::string_view() const { return sentence_; }

  friend bool operator==(const Fault& fault, std::string_view sentence) {
    return fault.sentence_ == sentence;
  }
  // For tests.
  template <typename Stream>
  friend Stream& operator<<(Stream& stream, const Fault& fault) {
    return stream << fault.sentence_;
  }

 private:
  std::string sentence_;
};

}  // namespace sluice
