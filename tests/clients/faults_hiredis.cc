// hiredis against a test double: answers in single bytes, cut, closed and not given.
//   faults_hiredis port
#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace {

struct Free {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
  void operator()(redisContext* context) const { redisFree(context); }
};
using ReplyPointer = std::unique_ptr<redisReply, Free>;
using ContextPointer = std::unique_ptr<redisContext, Free>;

void Expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "hiredis: %s\n", what);
  std::exit(1);
}

ReplyPointer Run(const ContextPointer& context, const char* format) {
  return ReplyPointer(static_cast<redisReply*>(redisCommand(context.get(), format)));
}

ContextPointer Connect(int port) {
  ContextPointer context(redisConnect("127.0.0.1", port));
  Expect(context && !context->err, "no connection");
  return context;
}

// The command under test fails for its caller in that way.
void ExpectBroken(int port, const ContextPointer& tester, const char* rule, int error) {
  const ContextPointer context = Connect(port);
  const timeval patience{0, 100'000};
  redisSetTimeout(context.get(), patience);
  Expect(Run(tester, rule)->type == REDIS_REPLY_INTEGER, rule);
  Expect(!Run(context, "GET key"), rule);
  Expect(context->err == error, context->errstr);
  Run(tester, "SLUICE.FAULT CLEAR");
}

}  // namespace

int main(int argc, char** argv) {
  Expect(argc == 2, "usage: faults_hiredis port");
  const int port = std::atoi(argv[1]);
  const ContextPointer tester = Connect(port);
  Run(tester, "SET key 0123456789");
  ExpectBroken(port, tester, "SLUICE.FAULT ADD COMMAND GET CLOSE", REDIS_ERR_EOF);
  ExpectBroken(port, tester, "SLUICE.FAULT ADD COMMAND GET TRUNCATE 7", REDIS_ERR_EOF);
  ExpectBroken(port, tester, "SLUICE.FAULT ADD COMMAND GET DROP", REDIS_ERR_IO);
  ExpectBroken(port, tester, "SLUICE.FAULT ADD COMMAND GET HANG", REDIS_ERR_IO);
  ExpectBroken(port, tester, "SLUICE.FAULT ADD COMMAND GET FAILOVER", REDIS_ERR_EOF);

  const ContextPointer context = Connect(port);
  Run(tester, "SLUICE.FAULT ADD COMMAND GET SPLIT");
  const ReplyPointer reply = Run(context, "GET key");
  Expect(reply && std::string(reply->str, reply->len) == "0123456789", "an answer in bytes");
  Run(tester, "SLUICE.FAULT CLEAR");
  Run(tester, "SLUICE.FAULT ADD COMMAND GET STATE LOADING");
  const ReplyPointer loading = Run(context, "GET key");
  Expect(loading && loading->type == REDIS_REPLY_ERROR, "an error");
  Expect(std::strncmp(loading->str, "LOADING ", 8) == 0, loading->str);
  std::puts("ok");
  return 0;
}
