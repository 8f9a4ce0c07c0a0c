// DiskThread: a thread that writes files, so that the loop never waits for a disk. It begins with
// its first job; its end waits for the job that is being done.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "storage/disk.h"
#include "storage/disk_worker.h"

namespace sluice {

class DiskThread final : public DiskWorker {
 public:
  // `disk` outlives it and is used on the thread. So is `wake`, when an outcome can be taken.
  DiskThread(Disk& disk, std::function<void()> wake);

  uint64_t ReplaceLater(std::string path, std::string bytes) override;
  std::optional<int> TakeOutcome(uint64_t job) override;
  int Await(uint64_t job) override;

 private:
  Disk& disk_;
  std::function<void()> wake_;
  uint64_t last_job_ = 0;
  std::mutex mutex_;
  std::condition_variable done_;
  absl::flat_hash_map<uint64_t, int> outcomes_;     // guarded by mutex_
  std::optional<boost::asio::thread_pool> thread_;  // ends first: it uses all of the above
};

}  // namespace sluice
