// See readiness_report.h.
#include "server/http/readiness_report.h"

#include "protocol/text/concat.h"
#include "server/clients/host.h"
#include "server/config/config.h"
#include "server/log/log_service.h"
#include "server/replication/graceful_end.h"

namespace sluice {

uint64_t LogLagBytes(const Parts& parts) {
  const CommitLog& log = parts.Get<LogService>().commits();
  if (!log.is_open()) return 0;
  // With `no` the system syncs when it likes, and nobody waits for that.
  if (parts.Get<Config>().settings().appendfsync == "no") return log.waiting_bytes();
  return log.position() - log.durable();
}

std::vector<std::string> ReasonsNotReady(const Parts& parts) {
  std::vector<std::string> reasons;
  const LogState& state = parts.Get<LogState>();
  const uint64_t most = parts.Get<Config>().settings().ready_log_lag_max;
  const uint64_t lag = LogLagBytes(parts);
  if (parts.Get<Host>().Stopping()) reasons.emplace_back("it is about to end");
  if (parts.Get<GracefulEnd>().waits())
    reasons.emplace_back("it waits for its replicas before it ends");
  if (state.loading) {
    reasons.push_back(Concat("its data are being loaded: ", state.progress.loaded_bytes, " of ",
                             state.progress.total_bytes, " bytes"));
  }
  if (!state.write_fault.empty())
    reasons.push_back(Concat("the log cannot be written: ", state.write_fault));
  if (state.snapshot_fault) reasons.emplace_back("snapshots are to be saved, and cannot be");
  if (most > 0 && lag > most) {
    reasons.push_back(
        Concat(lag, " bytes of the log wait for the disk (ready-log-lag-max ", most, ")"));
  }
  return reasons;
}

}  // namespace sluice
