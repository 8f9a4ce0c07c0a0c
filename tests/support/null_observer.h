// A KeyspaceObserver for tests that do not care.
#pragma once

#include <string_view>

#include "storage/keyspace/keyspace.h"

namespace sluice {

class NullObserver final : public KeyspaceObserver {
 public:
  void KeyTouched(int, std::string_view) override {}
  void KeyExpired(int, const Entry&, int64_t) override {}
  void DatabaseReplaced(int, int) override {}
};

}  // namespace sluice
