// See actions.h.
#include "server/http/actions.h"

#include <optional>
#include <string>
#include <vector>

#include "protocol/null_sink.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "protocol/text/words.h"
#include "server/clients/clients.h"
#include "server/engine/engine.h"
#include "server/http/answers.h"
#include "server/http/text/action_body.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

constexpr std::string_view kActor = "http-page";  // CLIENT SETNAME's
constexpr size_t kLoggedKeyMax = 128;

// Commands of the page answer a number or an error.
class NumberSink final : public NullSink {
 public:
  int64_t number = 0;
  std::string error;

  void Error(std::string_view text) override { error = text; }
  using ReplySink::Error;
  void Integer(int64_t value) override { number = value; }
};

// The client of one command. It may do everything: who visits is asked by pages.cc.
class Actor {
 public:
  Actor(Engine& engine, std::string_view address, int db, ReplySink& sink) : engine_(engine) {
    id_ = engine.Open({.address = address, .local_address = "http"});
    Session& session = *engine.Find(id_);
    session.name = kActor;
    session.db = db;
    session.sink = &sink;
    Clients& clients = engine.part<Clients>();
    clients.SetUser(session, nullptr, /*is_restricted=*/false);
    clients.SetLoggedIn(session, true);
  }
  ~Actor() { engine_.Drop(id_); }
  Actor(const Actor&) = delete;

  // False: it is held back (CLIENT PAUSE, a snapshot), and has not run.
  bool Run(Args words) { return engine_.RunNow(id_, words) == RequestOutcome::kDone; }

 private:
  Engine& engine_;
  SessionId id_;
};

HttpAnswer Act(const PageCall& call, const ActionBody& body, std::string_view what,
               const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  NumberSink sink;
  const bool has_run = Actor(call.engine, call.request.address, body.db, sink).Run(views);
  if (!has_run) return HttpSentence(503, "a pause or a snapshot holds changes back: try again");
  const std::string came = sink.error.empty() ? Concat(sink.number) : sink.error;
  call.parts.Get<Host>().Log(LogLevel::kNotice,
                             Concat("HTTP page, ", call.request.address, ": ", what, ' ',
                                    QuotedWord(std::string_view(body.key).substr(0, kLoggedKeyMax)),
                                    " of database ", body.db, ": ", came));
  if (!sink.error.empty()) return HttpSentence(409, sink.error);
  JsonText json;
  json.Object().Field("done", sink.number).End();
  return JsonAnswer(json);
}

bool ReadBody(const PageCall& call, ActionBody& body, HttpAnswer& fault) {
  const int databases = call.parts.Get<Keyspace>().databases();
  const std::string sentence = ReadActionBody(call.request.body, databases, body);
  if (!sentence.empty()) fault = HttpSentence(400, sentence);
  return sentence.empty();
}

}  // namespace

HttpAnswer BreakLock(const PageCall& call) {
  ActionBody body;
  HttpAnswer fault;
  if (!ReadBody(call, body, fault)) return fault;
  std::vector<std::string> words = {"LOCK.BREAK", body.key};
  if (body.token != 0) {
    words.emplace_back("TOKEN");
    words.push_back(Int64Text(body.token));
  }
  return Act(call, body, "LOCK.BREAK", words);
}

HttpAnswer DeleteKey(const PageCall& call) {
  ActionBody body;
  HttpAnswer fault;
  if (!ReadBody(call, body, fault)) return fault;
  if (body.token != 0) return HttpSentence(400, "a token is for locks that are broken");
  return Act(call, body, "DEL", {"DEL", body.key});
}

}  // namespace sluice
