// See pages.h.
#include "server/http/pages.h"

#include "protocol/text/concat.h"
#include "server/http/metrics.h"
#include "server/http/readiness_report.h"
#include "server/http/visitor.h"

namespace sluice {
namespace {

// What a page is made from.
struct PageCall {
  const HttpRequest& request;
  const Parts& parts;
  const HttpFigures& figures;
};

struct Page {
  std::string_view method;
  std::string_view path;
  bool is_public;  // for probes, which have no password
  HttpAnswer (*answer)(const PageCall& call);
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

constexpr Page kPages[] = {
    {"GET", "/metrics", false, Metrics},
    {"GET", "/healthz", true, Health},
    {"GET", "/readyz", true, Ready},
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

}  // namespace

HttpAnswer HttpPages::Answer(const HttpRequest& request, const HttpFigures& figures) const {
  const Settings& settings = config_.settings();
  if (!IsOwnName(request.host, settings.http_hosts)) return WrongName();
  bool is_known = false;
  for (const Page& page : kPages) {
    if (page.path != request.path) continue;
    is_known = true;
    if (!IsMethodOf(page, request.method)) continue;
    if (!page.is_public && !IsLetIn(request, settings.http_password)) {
      return NotLetIn(!settings.http_password.empty());
    }
    return page.answer({request, parts_(), figures});
  }
  return is_known ? HttpSentence(405, "this page takes another method")
                  : HttpSentence(404, "there is /metrics, /healthz and /readyz");
}

}  // namespace sluice
