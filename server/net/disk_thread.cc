// See disk_thread.h.
#include "server/net/disk_thread.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace sluice {

DiskThread::DiskThread(Disk& disk, std::function<void()> wake)
    : disk_(disk), wake_(std::move(wake)) {}

// The path is made absolute here: the working directory may be another by then.
uint64_t DiskThread::ReplaceLater(std::string path, std::string bytes) {
  const uint64_t job = ++last_job_;
  if (!thread_) thread_.emplace(1);
  boost::asio::post(*thread_, [this, job, path = disk_.Absolute(path), bytes = std::move(bytes)] {
    const int fault = disk_.Replace(path, bytes);
    {
      const std::lock_guard lock(mutex_);
      outcomes_[job] = fault;
    }
    done_.notify_one();
    wake_();
  });
  return job;
}

std::optional<int> DiskThread::TakeOutcome(uint64_t job) {
  const std::lock_guard lock(mutex_);
  const auto outcome = outcomes_.extract(job);
  return outcome ? std::optional(outcome.mapped()) : std::nullopt;
}

int DiskThread::Await(uint64_t job) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this, job] { return outcomes_.contains(job); });
  return outcomes_.extract(job).mapped();
}

}  // namespace sluice
