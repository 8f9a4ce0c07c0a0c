// Result<T>: a value, or the ErrorCode that says why there is none. For what a peer, a file or a
// disk can cause; what only we can cause is an assertion.
//
//   Result<int64_t> n = ParseInt64(text);
//   if (!n.ok()) return n.error();
#pragma once

#include <cassert>
#include <optional>
#include <utility>

#include "protocol/error_text.h"

namespace sluice {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design
  Result(ErrorCode error) : error_(error) { assert(error != ErrorCode::kOk); }  // NOLINT

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  ErrorCode error() const { return error_; }

  // Precondition: ok().
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  ErrorCode error_ = ErrorCode::kOk;
};

}  // namespace sluice
