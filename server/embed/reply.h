// Reply: the answer to a command as a typed value, which owns all that is in it: it may outlive the
// database that gave it, be copied and be moved.
//
//   sluice::Reply reply = db.Run({"HGETALL", "user:17"});
//   if (reply.is_error()) return Fail(reply.error_code(), reply.text());
//   for (const auto& [field, value] : reply.pairs()) ...
//
// No accessor fails: one that does not fit the kind gives the empty value that is named with it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {
inline namespace v1 {

class Reply {
 public:
  enum class Kind : uint8_t {
    kNull,     // no such key, nothing to answer, a wait that was in vain
    kString,   // any bytes; also "OK" and the like
    kInteger,  // true and false too: 1 and 0
    kDouble,
    kArray,
    kMap,  // keys and values take turns in elements()
    kSet,
    kPush,  // what no command has asked for: a message, a lost lock
    kError,
  };

  Reply() = default;  // null
  static Reply String(std::string text) { return Reply(Kind::kString, std::move(text)); }
  static Reply Error(std::string line) { return Reply(Kind::kError, std::move(line)); }
  static Reply Integer(int64_t value) {
    Reply reply;
    reply.kind_ = Kind::kInteger;
    reply.integer_ = value;
    return reply;
  }
  static Reply Double(double value) {
    Reply reply;
    reply.kind_ = Kind::kDouble;
    reply.double_ = value;
    return reply;
  }
  // kArray, kMap (an even number of elements), kSet or kPush.
  static Reply Aggregate(Kind kind, std::vector<Reply> elements) {
    Reply reply;
    reply.kind_ = kind;
    reply.elements_ = std::move(elements);
    return reply;
  }

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_error() const { return kind_ == Kind::kError; }
  bool is_ok() const { return kind_ == Kind::kString && text_ == "OK"; }

  // The bytes of a string, or the whole line of an error ("WRONGTYPE Operation against ..."); else
  // empty. A view into this reply.
  std::string_view text() const { return text_; }
  // Moves the bytes out.
  std::string TakeText() { return std::move(text_); }
  // "WRONGTYPE"; empty: no error.
  std::string_view error_code() const {
    return is_error() ? text().substr(0, text_.find(' ')) : std::string_view();
  }
  // The value of kInteger, or of kDouble, cut; else `otherwise`.
  int64_t integer(int64_t otherwise = 0) const;
  // The value of kDouble or kInteger; else `otherwise`.
  double number(double otherwise = 0) const;

  // --- aggregates
  size_t size() const { return elements_.size(); }  // of a map: keys and values
  const std::vector<Reply>& elements() const { return elements_; }
  std::vector<Reply>::const_iterator begin() const { return elements_.begin(); }
  std::vector<Reply>::const_iterator end() const { return elements_.end(); }
  // Null where there is no such element.
  template <std::integral Index>
  const Reply& operator[](Index index) const {
    return At(static_cast<size_t>(index));
  }
  // The value of that key in a map; null without it.
  const Reply& operator[](std::string_view key) const;
  // The pairs of a map, or of an array in which names and values take turns.
  std::vector<std::pair<std::string_view, const Reply*>> pairs() const;

  // One line for people: `[1, "a", (nil)]`; bytes that cannot be shown as \xNN.
  std::string ToText() const;

  bool operator==(const Reply& other) const;

 private:
  friend class ReplyBuilder;
  const Reply& At(size_t index) const;
  Reply(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}

  Kind kind_ = Kind::kNull;
  union {
    int64_t integer_ = 0;
    double double_;
  };
  std::string text_;
  std::vector<Reply> elements_;
};

}  // namespace v1
}  // namespace sluice
