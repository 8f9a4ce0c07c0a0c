// ReplyBuilder: the sink of a host program's client. A handler's answer becomes a Reply, piece by
// piece, with no bytes of the protocol in between.
//
// Complete values are handed to `done`, each at its end; a command gives one, a subscription to
// three channels three. Elements are built where they will stand: an aggregate announces its length
// before its elements, so room for all is made once and none is moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_sink.h"
#include "protocol/reply_writer.h"
#include "server/embed/reply.h"

namespace sluice {
inline namespace v1 {

class ReplyBuilder final : public ReplySink {
 public:
  // `errors` is told of every error, for statistics; null: nobody is.
  void set_error_listener(ErrorListener* errors) { errors_ = errors; }

  // Set whenever a value has been completed; null: none is.
  void set_completed_flag(bool* completed) { completed_ = completed; }

  // A value has been completed since the last Take.
  bool has_reply() const { return count_ > 0; }
  // The last of several; null where there was none. Another can be built.
  Reply Take();
  // Push kinds alone: all that were completed.
  std::vector<Reply> TakeAll();
  void Clear();

  void Status(std::string_view text) override { Place().text_.assign(text), Done(Kind::kString); }
  void Error(std::string_view text) override;
  using ReplySink::Error;
  void Integer(int64_t value) override { Place().integer_ = value, Done(Kind::kInteger); }
  void Bulk(std::string_view bytes) override { Place().text_.assign(bytes), Done(Kind::kString); }
  void Null() override { Place(), Done(Kind::kNull); }
  void NullArray() override { Null(); }
  void Array(size_t length) override { Open(Kind::kArray, length); }
  void Map(size_t pairs) override { Open(Kind::kMap, pairs * 2); }
  void Set(size_t length) override { Open(Kind::kSet, length); }
  void Push(size_t length) override { Open(Kind::kPush, length); }
  void Double(double value) override { Place().double_ = value, Done(Kind::kDouble); }
  void PlainDouble(double value) override { Double(value); }
  void Bool(bool value) override { Integer(value ? 1 : 0); }
  void BigNumber(std::string_view digits) override { Bulk(digits); }
  void Verbatim(std::string_view bytes, std::string_view) override { Bulk(bytes); }
  // The pairs that follow are left out.
  void Attribute(size_t pairs) override { attributes_left_ += pairs * 2; }
  int version() const override { return 3; }

 private:
  using Kind = Reply::Kind;
  // An aggregate that is not complete.
  struct Level {
    Reply* aggregate;
    size_t left;  // elements that are still to come
  };

  // Where the next value goes.
  Reply& Place();
  void Open(Kind kind, size_t length);
  void Done(Kind kind);
  void Close();
  void Completed() {
    ++count_;
    if (completed_) *completed_ = true;
  }

  ErrorListener* errors_ = nullptr;
  bool* completed_ = nullptr;
  Reply value_;  // at the top
  Reply* at_ = nullptr;
  std::vector<Level> levels_;
  std::vector<Reply> before_;  // completed before the last one
  size_t count_ = 0;
  size_t attributes_left_ = 0;
  Reply dropped_;
};

}  // namespace v1
}  // namespace sluice
