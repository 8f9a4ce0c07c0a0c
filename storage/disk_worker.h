// DiskWorker: files replaced without waiting for the disk. The loop hands a job over and goes on;
// between two of its turns it asks what has become of it. A test's worker is done when the test
// says so, with the fault that it says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

class DiskWorker {
 public:
  virtual ~DiskWorker() = default;
  // As Disk::Replace, later; jobs are done one after another, in their order. Returns the job's
  // number, never 0. A job that was not done when the worker ends may be lost.
  virtual uint64_t ReplaceLater(std::string path, std::string bytes) = 0;
  // Null while the job is not done; then, once, 0 or an errno value. Who runs the engine makes a
  // turn when there is something to take.
  virtual std::optional<int> TakeOutcome(uint64_t job) = 0;
  // Waits until the job is done, and takes its outcome.
  virtual int Await(uint64_t job) = 0;
};

}  // namespace sluice
