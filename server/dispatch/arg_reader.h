// ArgReader: reads a command's arguments left to right and remembers the first fault, so that a
// handler reads everything and looks once.
//
//   ArgReader args(call.args);              // stands behind the command's name
//   const std::string_view key = args.Bytes();
//   const int64_t n = args.Int();
//   ReadOptions(args, kOptions, options);   // a table: server/commands/shared/option_table.h
//   if (!args.Finish()) return call.reply.Error(args.error());
//
// After a fault every read gives an empty value and more() is false.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/attributes.h"
#include "protocol/args.h"
#include "protocol/error_text.h"

namespace sluice {

// Case-insensitive equality with an upper-case word, as keywords are compared everywhere.
bool IsWord(std::string_view text, std::string_view upper);

// The values that an integer may have, both ends included.
struct IntRange {
  std::string_view name;  // the option, or the argument as the usage has it
  int64_t low;
  int64_t high;
  std::string_view unit = {};
};

// Views that it gives are those of the request. It allocates only for a sentence of its own, so
// reading sound arguments costs nothing but the parsing.
class ArgReader {
 public:
  explicit ArgReader(Args args, size_t next = 1) : args_(args), next_(next) {}

  bool more() const { return !failed_ && next_ < args_.size(); }
  size_t left() const { return failed_ ? 0 : args_.size() - next_; }
  size_t position() const { return next_; }
  // The argument `ahead` of the next one, untouched; empty where there is none.
  std::string_view Peek(size_t ahead = 0) const {
    return next_ + ahead < args_.size() ? args_[next_ + ahead] : std::string_view();
  }
  Args rest() const { return args_.subspan(next_); }
  void Skip(size_t n = 1) { next_ += n; }

  // Each takes one argument; a missing one is a syntax error.
  std::string_view Bytes();
  int64_t Int(ErrorCode fault = ErrorCode::kNotInteger);
  // For the commands that are ours: the fault names the argument and its range, as in
  // "ERR LEASE must be 1 to 70368744177664 ms". 0 after a fault.
  int64_t IntIn(const IntRange& range);
  double Double(ErrorCode fault = ErrorCode::kNotFloat);
  // Takes the next argument if it is this word (any case); if not, returns false and takes nothing.
  bool TakeWord(std::string_view upper);

  void Fail(ErrorCode code);
  void Fail(std::string text);  // a sentence of its own, with its "ERR "
  bool failed() const { return failed_; }
  // For commands that take nothing more: arguments left over are a syntax error. False after a
  // fault.
  bool Finish();
  std::string_view error() const ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return text_.empty() ? ErrorText(code_) : std::string_view(text_);
  }

 private:
  Args args_;
  size_t next_;
  bool failed_ = false;
  ErrorCode code_ = ErrorCode::kOk;
  std::string text_;
};

}  // namespace sluice
