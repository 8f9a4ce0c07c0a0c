// A job runner with fenced writes: jobs wait in a list; a worker takes one, holds its lock while it
// works, and writes the result only while that lock is still its own.
//
// A worker that was held up for longer than its lease finds the write refused: the job is another's
// by then. Time is moved by hand here, so that this happens each time that the program runs.
#include <chrono>
#include <cstdio>
#include <string>

#include "sluice/database.h"

using namespace std::chrono_literals;

namespace {

class Worker {
 public:
  Worker(sluice::Database& db, std::string name) : db_(db), name_(std::move(name)) {}

  // Takes the lock of the next job. False: there is none, or another works on it.
  bool Begin() {
    const sluice::Reply job = db_.Run({"LMOVE", "jobs", "jobs", "LEFT", "RIGHT"});
    if (job.is_null()) return false;
    job_ = job.text();
    lock_ = db_.Acquire("job:" + job_, name_, {.lease = 10s});
    return static_cast<bool>(lock_);
  }

  // False: the lock is another's by now, and nothing was written.
  bool Finish(const std::string& result) {
    const std::string token = std::to_string(lock_.token());
    const sluice::Reply written =
        db_.Run({"FENCED", "job:" + job_, token, "SET", "result:" + job_, result});
    if (!written.is_ok()) {
      std::printf("%s: %.*s\n", name_.c_str(), static_cast<int>(written.text().size()),
                  written.text().data());
      return false;
    }
    db_.Run({"LREM", "jobs", "1", job_});
    std::printf("%s has done job %s\n", name_.c_str(), job_.c_str());
    return true;
  }

 private:
  sluice::Database& db_;
  const std::string name_;
  std::string job_;
  sluice::LockGuard lock_;
};

}  // namespace

int main() {
  sluice::ManualTime time;
  std::string fault;
  auto db = sluice::Database::Open({.time = &time}, fault);
  if (!db) {
    std::fprintf(stderr, "%s\n", fault.c_str());
    return 1;
  }
  db->Run({"RPUSH", "jobs", "17"});

  Worker slow(*db, "slow"), quick(*db, "quick");
  if (!slow.Begin() || quick.Begin()) return 1;  // one at a time
  db->RunUntil(db->Now() + 11s);                 // and slow is paused for longer than its lease
  if (!quick.Begin()) return 1;
  if (slow.Finish("too late")) return 1;  // refused, though slow knows nothing of quick
  if (!quick.Finish("42")) return 1;
  return db->Get("result:17") == "42" && db->Run({"LLEN", "jobs"}).integer() == 0 ? 0 : 1;
}
