// hiredis: the classic lock and throttle patterns, a pipeline and binary data, over its blocking
// API.
//   hiredis_client port
#include <hiredis/hiredis.h>

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

template <typename... Arguments>
ReplyPointer Run(const ContextPointer& context, const char* format, Arguments... arguments) {
  ReplyPointer reply(static_cast<redisReply*>(redisCommand(context.get(), format, arguments...)));
  Expect(reply != nullptr, context->errstr);
  return reply;
}

std::string Text(const ReplyPointer& reply) { return std::string(reply->str, reply->len); }

ContextPointer Connect(int port) {
  ContextPointer context(redisConnect("127.0.0.1", port));
  Expect(context && !context->err, "no connection");
  return context;
}

void LockWithWatch(const ContextPointer& owner, const ContextPointer& other) {
  Expect(Text(Run(owner, "SET lock %s NX PX 60000", "me")) == "OK", "the lock is not taken");
  Expect(Run(other, "SET lock you NX PX 60000")->type == REDIS_REPLY_NIL, "taken twice");
  Run(owner, "WATCH lock");
  Expect(Text(Run(owner, "GET lock")) == "me", "whose lock?");
  Run(owner, "MULTI");
  Run(owner, "DEL lock");
  const ReplyPointer done = Run(owner, "EXEC");
  Expect(done->type == REDIS_REPLY_ARRAY && done->element[0]->integer == 1, "not released");

  Run(owner, "SET lock me");
  Run(owner, "WATCH lock");
  Run(other, "SET lock you");
  Run(owner, "MULTI");
  Run(owner, "DEL lock");
  Expect(Run(owner, "EXEC")->type == REDIS_REPLY_NIL, "released what is another's");
}

void Throttle(const ContextPointer& context) {
  Run(context, "DEL hits");
  for (int i = 1; i <= 3; ++i) {
    Run(context, "MULTI");
    Run(context, "INCR hits");
    Run(context, "PEXPIRE hits %d", 60000);
    const ReplyPointer done = Run(context, "EXEC");
    Expect(done->elements == 2 && done->element[0]->integer == i, "the count is wrong");
  }
  Expect(Run(context, "PTTL hits")->integer > 0, "no TTL");
}

void Pipeline(const ContextPointer& context) {
  constexpr int kRequests = 10'000;
  for (int i = 0; i < kRequests; ++i) redisAppendCommand(context.get(), "INCR counted");
  for (int i = 1; i <= kRequests; ++i) {
    void* reply = nullptr;
    Expect(redisGetReply(context.get(), &reply) == REDIS_OK, "the pipeline broke");
    Expect(ReplyPointer(static_cast<redisReply*>(reply))->integer == i, "out of order");
  }
}

void Binary(const ContextPointer& context) {
  const std::string bytes("\0\r\n\xff*", 5);
  Run(context, "SET %b %b", bytes.data(), bytes.size(), bytes.data(), bytes.size());
  Expect(Text(Run(context, "GET %b", bytes.data(), bytes.size())) == bytes, "bytes changed");
  const ReplyPointer error = Run(context, "INCR %b", bytes.data(), bytes.size());
  Expect(error->type == REDIS_REPLY_ERROR &&
             Text(error) == "ERR value is not an integer or out of range",
         "another error text");
}

}  // namespace

int main(int argc, char** argv) {
  Expect(argc == 2, "usage: hiredis_client port");
  const ContextPointer one = Connect(std::atoi(argv[1]));
  const ContextPointer two = Connect(std::atoi(argv[1]));
  Run(one, "FLUSHALL");
  LockWithWatch(one, two);
  Throttle(one);
  Pipeline(one);
  Binary(one);
  std::puts("ok");
  return 0;
}
