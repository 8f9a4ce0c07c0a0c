// ReplayBatch: commands that were read from a log, looked up and fetched together before the first
// of them is played, so that their cache misses overlap: what Batch (server/engine) does for the
// requests of clients.
//
//   for (size_t i = 0; i < reader.commands(); ++i) {
//     if (i % ReplayBatch::kCommands == 0) batch.Fetch(reader, i);
//     Play(batch.Take(i));
//   }
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "server/dispatch/command_table.h"
#include "storage/keyspace/keyspace.h"
#include "storage/log/log_reader.h"

namespace sluice {

class ReplayBatch {
 public:
  static constexpr size_t kCommands = 32;

  struct Looked {
    const Command* command = nullptr;  // null: its name is unknown
    HashedKey key;                     // the first key; no bytes: none is known from the row
  };

  // Both outlive it.
  ReplayBatch(const CommandTable& commands, Keyspace& keyspace)
      : commands_(commands), keyspace_(keyspace) {}

  // The commands from `first` on, as many as there are, up to kCommands.
  void Fetch(const LogReader& reader, size_t first);
  // The command `index` is played next: what was fetched for it need not be looked for again.
  // Requires: it was fetched by the last Fetch.
  const Looked& Take(size_t index);

 private:
  struct Item {
    Looked looked;
    Database* db = nullptr;         // null: nothing to fetch
    const Entry* likely = nullptr;  // to be found there
  };
  const Command* Look(std::string_view name);
  void LookUp(const LogReader& reader, size_t command, Item& item);
  void FetchEntries();

  const CommandTable& commands_;
  Keyspace& keyspace_;
  std::array<Item, kCommands> items_;
  size_t first_ = 0;
  size_t size_ = 0;
  uint64_t moves_ = 0;  // Keyspace::moves() at the last Fetch
  std::string_view last_name_;
  const Command* last_command_ = nullptr;
};

}  // namespace sluice
