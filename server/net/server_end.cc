// How a server ends, for server.h: by a signal or SHUTDOWN, or because another process takes its
// place: what there may be against that, and what HandOver asks of it.
#include <signal.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/cluster/cluster_state.h"
#include "server/locks/lock_service.h"
#include "server/log/log_service.h"
#include "server/net/server.h"
#include "server/peers/map_changes.h"
#include "server/replication/graceful_end.h"
#include "server/replication/replicas.h"

namespace sluice {

bool Server::EndBySignal(int signal) {
  if (signal == SIGHUP) ReadFilesAgain();
  if (signal == SIGUSR2) BeginHandOver();
  if (signal == SIGHUP || signal == SIGUSR2) return false;
  const Settings& settings = config_.settings();
  const EndOutcome outcome =
      signal == SIGINT ? EndAsTold("Received SIGINT, shutting down", settings.shutdown_on_sigint)
                       : EndAsTold("Received SIGTERM, shutting down", settings.shutdown_on_sigterm);
  if (outcome == EndOutcome::kFailed)
    log_.Write(LogLevel::kWarning, "Error trying to save the DB, can't exit: the server goes on");
  return outcome == EndOutcome::kEnds;
}

// Certificates, and the map of a cluster. Faults are logged, and what was there stays.
void Server::ReadFilesAgain() {
  tls_.Reload();
  if (!first_.engine().part<ClusterState>().is_on()) return;
  if (first_.engine().part<MapChanges>().Load()) return;
  WantTurn();
}

// `words` are those of SHUTDOWN.
EndOutcome Server::EndAsTold(std::string_view why, std::string_view words) {
  log_.Write(LogLevel::kWarning, why);
  manager_.Ending();
  const EndOutcome outcome = first_.engine().End(words);
  if (outcome == EndOutcome::kFailed && is_ready_) manager_.Ready(acceptor_.Address());
  if (outcome == EndOutcome::kEnds) Shutdown(0);
  WantTurn();
  return outcome;
}

void Server::GoesOn(Space& space) {
  if (&space != &first_) return;
  if (is_ready_) manager_.Ready(acceptor_.Address());
  if (around_.goes_on) around_.goes_on();
}

void Server::EndAnyway(std::string_view why) {
  if (stopping_) return;
  first_.engine().part<GracefulEnd>().Abort();  // an end that would wait
  const std::string words = Concat(config_.settings().shutdown_on_sigterm, " now");
  if (EndAsTold(why, words) == EndOutcome::kEnds) return;
  log_.Write(LogLevel::kWarning, "the data cannot be saved");
  Shutdown(1);
  WantTurn();
}

// From now on no client gets in: one that sees its connection closed does not find the server
// again.
void Server::Shutdown(int code) {
  acceptor_.Close();
  if (http_) http_->Close();
  if (links_) links_->Close();
  tls_.handshakes().Close();
  stopping_ = true;
  exit_code_ = code;
}

// Replies that were promised leave before the process does, if their clients take them at once.
void Server::Drain() {
  if (!first_.engine().FinishLog()) exit_code_ = 1;
  first_.engine().ForEachSession([this](Session& session) {
    if (!session.output.empty()) first_.Send(session);
  });
  log_.Write(LogLevel::kWarning, "Sluice is now ready to exit, bye bye...");
  Stop();
}

void Server::Stop() {
  stopped_ = true;
  if (signals_) signals_->Stop();
  alarms_.Stop();
  idle_watchdog_.Stop();
  hand_over_.Stop();
}

// --- another process takes its place

HandOver::Uses Server::ForHandOver() {
  return {.loop = loop_,
          .manager = manager_,
          .call_in = [this](std::chrono::microseconds time,
                            std::function<void()> call) { alarms_.Set(time, std::move(call)); },
          .between_turns =
              [this](std::function<void()> call) {
                due_calls_.push_back([this, call = std::move(call)] {
                  if (!stopping_) call();
                });
                turn_due_ = true;
              },
          .log = [this](std::string_view line) { log_.Write(LogLevel::kWarning, line); },
          .put_data_down = [this] { return PutDataDown(); },
          .take_data_up = [this] { TakeDataUp(); },
          .make_way = [this] { MakeWay(); }};
}

// Things that are not on disk, or belong to the process that has started this one, would be lost.
// Empty: there is no reason against it.
std::string_view Server::WhyNoHandOver() const {
  const Settings& settings = config_.settings();
  const struct {
    bool is_so;
    std::string_view why;
  } reasons[] = {
      {stopping_, "the server is about to end"},
      {first_.engine().part<GracefulEnd>().waits(), "the server waits for replicas before it ends"},
      {!is_ready_, "the data are still being loaded"},
      {hand_over_.running(), "one is being started already"},
      {around_.started_as.words.empty(), "the configuration came from standard input"},
      {settings.test_double, "a test double keeps nothing"},
      {settings.exit_with_parent, "exit-with-parent: it would have another parent"},
      {!settings.appendonly && settings.save.empty(),
       "no data are kept on disk (appendonly yes, or save points, would)"},
  };
  for (const auto& reason : reasons) {
    if (reason.is_so) return reason.why;
  }
  return {};
}

void Server::BeginHandOver() {
  log_.Write(LogLevel::kWarning, "Received SIGUSR2, starting a new process");
  if (const std::string_view why = WhyNoHandOver(); !why.empty()) return hand_over_.Refuse(why);
  std::vector<InheritedSocket> sockets = acceptor_.Sockets();
  if (http_) std::ranges::move(http_->Sockets(), std::back_inserter(sockets));
  hand_over_.Begin(around_.started_as, sockets);
}

// Answers that waited for the disk leave, as nobody else could send them.
bool Server::PutDataDown() {
  Engine& engine = first_.engine();
  const bool has_log = config_.settings().appendonly;
  const bool is_saved = has_log || engine.SaveForHandOver();
  const bool is_down = engine.FinishLog() && is_saved;
  if (is_down) engine.part<Replicas>().HandOver();
  // Every grant is in the snapshot: the next process has none to look out for.
  if (!has_log && is_down) engine.part<LockService>().AllIsDurable();
  workers_.Finish();
  engine.ForEachSession([this](Session& session) {
    if (!session.output.empty()) first_.Send(session);
  });
  return is_down;
}

void Server::TakeDataUp() {
  manager_.Ready(acceptor_.Address());
  first_.engine().part<Replicas>().TakeBack();
  const std::string fault = first_.engine().part<LogService>().Resume();
  if (fault.empty()) return;
  log_.Write(LogLevel::kWarning, Concat("the log cannot be written any more: ", fault));
  Shutdown(1);
}

// Clients find the other process where they have found this one.
void Server::MakeWay() {
  acceptor_.GiveAway();
  if (http_) http_->Close();
  if (links_) links_->Close();
  tls_.handshakes().Close();
  stopping_ = true;
  log_.Write(LogLevel::kWarning, "another process has taken over, bye bye...");
  if (around_.handed_over) around_.handed_over();
  Stop();
}

}  // namespace sluice
