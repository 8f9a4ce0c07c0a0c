// See pages.h.
#include "server/http/pages.h"

#include <array>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/access/password.h"
#include "server/clients/clients.h"
#include "server/clients/current_client.h"
#include "server/dispatch/access_gate.h"
#include "server/dispatch/log_state.h"
#include "server/engine/engine.h"
#include "server/http/actions.h"
#include "server/http/answers.h"
#include "server/http/metrics.h"
#include "server/http/page_call.h"
#include "server/http/readiness_report.h"
#include "server/http/role_report.h"
#include "server/http/visitor.h"
#include "server/limits/limit_service.h"

namespace sluice {
namespace {

// The part of the server that a page shows, and so who may see it.
enum class Shows : uint8_t {
  kProbe,    // whether it lives: for all
  kFigures,  // for who has logged in; without http-password, for this machine
  kNames,    // of keys, words of commands: the same, but who may not see them as a client may not
             // here
  kChange,   // it changes something: for who has logged in, with http-actions
};

struct Page {
  std::string_view method;
  std::string_view path;
  Shows shows;
  // It is asked for by the page at "/", and by no page elsewhere.
  bool is_own = false;
  // It looks at keys: not in the middle of a command, nor while they are loaded.
  bool needs_rest = false;
  HttpAnswer (*answer)(const PageCall& call);
  // kNames: the command that shows a client the same ("slowlog|get").
  std::string_view command = {};
};

// OpenMetrics for whoever asks for it, and the text that Prometheus had before for all others.
HttpAnswer Metrics(const PageCall& call) {
  const bool is_open =
      call.request.accept.find("application/openmetrics-text") != std::string::npos;
  const auto form = is_open ? MetricText::Form::kOpenMetrics : MetricText::Form::kPrometheus;
  return {.type = is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                          : "text/plain; version=0.0.4; charset=utf-8",
          .body = MetricsOf(call.parts, call.figures, form),
          .headers = {}};
}

HttpAnswer Health(const PageCall&) { return HttpSentence(200, "alive"); }

HttpAnswer Ready(const PageCall& call) {
  const std::vector<std::string> reasons = ReasonsNotReady(call.parts);
  if (reasons.empty()) return HttpSentence(200, "ready");
  std::string text = "not ready";
  for (const std::string& reason : reasons) ConcatTo(text, "\n- ", reason);
  return HttpSentence(503, text);
}

HttpAnswer Front(const PageCall& call) { return call.front_page.Answer(); }

constexpr Page kPages[] = {
    {"GET", "/", Shows::kFigures, false, false, Front},
    {"GET", "/metrics", Shows::kFigures, false, false, Metrics},
    {"GET", "/healthz", Shows::kProbe, false, false, Health},
    {"GET", "/readyz", Shows::kProbe, false, false, Ready},
    {"GET", "/leader", Shows::kProbe, false, false, AnswerLeader},
    {"GET", "/replica", Shows::kProbe, false, false, AnswerReplica},
    {"GET", "/api/overview", Shows::kFigures, true, false, AnswerOverview},
    {"GET", "/api/history", Shows::kFigures, true, false, AnswerHistory},
    {"GET", "/api/slowlog", Shows::kNames, true, false, AnswerSlowLog, "slowlog|get"},
    {"GET", "/api/locks", Shows::kNames, true, true, AnswerLocks, "lock.list"},
    {"GET", "/api/waits", Shows::kNames, true, true, AnswerWaits, "lock.waiters"},
    {"GET", "/api/limits", Shows::kNames, true, true, AnswerLimits, "scan"},
    {"GET", "/api/keys", Shows::kNames, true, true, AnswerKeys, "scan"},
    {"GET", "/api/key", Shows::kNames, true, true, AnswerKey, "dump"},
    {"POST", "/api/break", Shows::kChange, true, true, BreakLock},
    {"POST", "/api/delete", Shows::kChange, true, true, DeleteKey},
};

// HEAD is GET whose body is not sent.
bool IsMethodOf(const Page& page, std::string_view method) {
  return page.method == method || (page.method == "GET" && method == "HEAD");
}

HttpAnswer WrongName() {
  return HttpSentence(421,
                      "this server is not called so: use its address, or name it in http-hosts");
}

HttpAnswer NotLetIn(bool has_password) {
  if (!has_password) {
    return HttpSentence(403,
                        "without http-password only this machine, or a client's certificate, is "
                        "let in");
  }
  HttpAnswer answer = HttpSentence(401, "a password is needed (http-password)");
  answer.headers.emplace_back("WWW-Authenticate", "Basic realm=\"Sluice\", charset=\"UTF-8\"");
  return answer;
}

bool IsJson(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return IsSameInAnyCase(type, "application/json");
}

// --- gates. Each says why a visitor's request is refused, or nothing.

struct Asking {
  const Page& page;
  const PageCall& call;
  const Settings& settings;
};
using Refusal = std::optional<HttpAnswer>;

Refusal AskStanding(const Asking& on) {
  if (on.page.shows == Shows::kProbe || on.call.standing != Standing::kAnonymous) return {};
  return NotLetIn(!on.settings.http_password.empty());
}

// Names that a client which has just connected may not see by the one port are not shown to a
// visitor without a password by the other.
Refusal AskNames(const Asking& on) {
  if (on.page.shows != Shows::kNames || on.call.standing == Standing::kLoggedIn) return {};
  const InitialLogin& initial = on.call.parts.Get<Clients>().initial_login();
  if (initial.needs_login) {
    return HttpSentence(403, "clients need a password here, so names need http-password");
  }
  if (!initial.is_restricted) return {};
  const CommandTable& commands = on.call.parts.Get<const CommandTable>();
  const Command* const command = commands.FindOwn(on.page.command);
  const AccessGate& gate = on.call.parts.Get<AccessGate>();
  if (command && gate.AllowsOnEveryKey(*initial.user, *command)) return {};
  return HttpSentence(403, "clients may not see this without a login, so it needs http-password");
}

Refusal AskOrigin(const Asking& on) {
  if (!on.page.is_own || !IsFromElsewhere(on.call.request)) return {};
  return HttpSentence(403, "this is for this server's own page");
}

Refusal AskChange(const Asking& on) {
  if (on.page.shows != Shows::kChange) return {};
  const HttpRequest& request = on.call.request;
  if (!on.settings.http_actions) return HttpSentence(403, "http-actions is no");
  if (on.call.standing != Standing::kLoggedIn)
    return HttpSentence(403, "changes need http-password, or a client's certificate");
  if (!IsJson(request.content_type)) return HttpSentence(415, "the body is to be JSON");
  if (!IsFromOwnPage(request)) return HttpSentence(403, "changes come from this server's own page");
  if (!SameDigest(request.page_token, on.call.token))
    return HttpSentence(403, "X-Sluice-Token is not that of this login: load the page again");
  return {};
}

Refusal AskRest(const Asking& on) {
  if (!on.page.needs_rest) return {};
  if (on.call.parts.Get<LogState>().loading) return HttpSentence(503, "data are being loaded");
  const CurrentClient& current_client = on.call.parts.Get<CurrentClient>();
  if (!current_client.serving_from_within() && current_client.current() == nullptr) return {};
  return HttpSentence(503, "a slow command runs: keys can be looked at when it has ended");
}

constexpr Refusal (*kGates[])(const Asking& on) = {AskStanding, AskNames, AskOrigin, AskChange,
                                                   AskRest};

}  // namespace

// The token is a word that only a page of this server can read, another one for each login, and
// another one after each start.
std::string HttpPages::TokenOf(const HttpRequest& request, const Parts& parts) {
  const Settings& settings = config_.settings();
  const std::string login = LoginOf(request, settings.http_password);
  if (login.empty() || !settings.http_actions) return {};
  if (secret_.empty()) {
    std::array<uint8_t, 32> bytes;
    parts.Get<Host>().process().FillWithRandom(bytes);
    secret_.assign(bytes.begin(), bytes.end());
  }
  return PasswordDigest(Concat(secret_, login));
}

HttpAnswer HttpPages::Answer(const HttpRequest& request, const HttpFigures& figures) {
  const Settings& settings = config_.settings();
  if (!IsOwnName(request.host, settings.http_hosts)) return WrongName();
  bool is_known = false;
  for (const Page& page : kPages) {
    if (page.path != request.path) continue;
    is_known = true;
    if (!IsMethodOf(page, request.method)) continue;
    Engine& engine = engine_();
    const PageCall call{.request = request,
                        .engine = engine,
                        .parts = engine.parts(),
                        .figures = figures,
                        .history = history_,
                        .front_page = front_page_,
                        .host_name = host_name_,
                        .standing = StandingOf(request, settings.http_password),
                        .token = TokenOf(request, engine.parts())};
    for (const auto& gate : kGates) {
      if (Refusal refusal = gate({page, call, settings})) return *std::move(refusal);
    }
    return page.answer(call);
  }
  return is_known
             ? HttpSentence(405, "this page takes another method")
             : HttpSentence(404, "there is /, /metrics, /healthz, /readyz, /leader and /replica");
}

bool HttpPages::IsProbe(const HttpRequest& request) {
  for (const Page& page : kPages) {
    if (page.path == request.path)
      return page.shows == Shows::kProbe || (request.is_local && page.answer == Metrics);
  }
  return false;
}

void HttpPages::Sample(int64_t now_ns) {
  const Parts& parts = engine_().parts();
  LimitService& limits = parts.Get<LimitService>();
  limits.KeepRefused();
  history_.Take(parts, now_ns);
  if (history_.taken() % History::kSamplesMax == 0) limits.refused()->Halve();
}

}  // namespace sluice
