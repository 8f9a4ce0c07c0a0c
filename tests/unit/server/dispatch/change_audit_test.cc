// Handlers that do not say what they do are found by the first test that runs them: the comparison
// by itself, and a server with commands of the test's own that forget, or make things up.
#include "server/dispatch/effects/change_audit.h"

#include <gtest/gtest.h>

#include "server/commands/shared/rows.h"
#include "server/engine/engine.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr std::string_view kSilent = "changes the keyspace and does not say so";
constexpr std::string_view kMadeUp = "says that a key has changed, and none has";
constexpr std::string_view kStrayed = "looks for a key of which COMMAND GETKEYS does not tell";
constexpr std::string_view kForgotten = "changes a key of which it does not say so";

class ChangeAuditTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!ChangeAudit::kOn) GTEST_SKIP() << "this build does not assert";
  }
  void Change(std::string_view key) {
    audit_.Touched(0, key);
    ++changes_;
  }

  ChangeAudit audit_;
  uint64_t changes_ = 100;
};

TEST_F(ChangeAuditTest, WhatIsToldIsWhatHappened) {
  audit_.Begin(changes_);
  EXPECT_EQ(audit_.End(changes_), "");

  audit_.Begin(changes_);
  Change("a");
  Change("a");
  Change("b");
  audit_.Told(0, "b");
  audit_.Told(0, "a");
  EXPECT_EQ(audit_.End(changes_), "");
}

TEST_F(ChangeAuditTest, FindsWhatIsNotSaid) {
  audit_.Begin(changes_);
  Change("a");
  EXPECT_EQ(audit_.End(changes_), kSilent);

  audit_.Begin(changes_);
  Change("a");
  Change("b");
  audit_.Told(0, "a");
  EXPECT_EQ(audit_.End(changes_), kForgotten);

  audit_.Begin(changes_);
  Change("a");
  audit_.Told(1, "a");  // of another database
  EXPECT_EQ(audit_.End(changes_), kForgotten);
}

TEST_F(ChangeAuditTest, FindsWhatIsMadeUp) {
  audit_.Begin(changes_);
  audit_.Told(0, "a");
  EXPECT_EQ(audit_.End(changes_), kMadeUp);
}

TEST_F(ChangeAuditTest, FindsKeysThatTheRowDoesNotTell) {
  audit_.Begin(changes_);
  audit_.LookedUp("any");
  audit_.MayLookUp("a");
  audit_.MayLookUpTold();
  audit_.LookedUp("a");
  EXPECT_EQ(audit_.End(changes_), "");

  audit_.Begin(changes_);
  audit_.MayLookUp("a");
  audit_.MayLookUpTold();
  audit_.LookedUp("b");
  audit_.LookedUp("a");
  EXPECT_EQ(audit_.End(changes_), kStrayed);
}

TEST_F(ChangeAuditTest, EachCommandAnswersForItself) {
  audit_.Begin(changes_);  // EXEC
  audit_.Begin(changes_);
  Change("a");
  audit_.Told(0, "a");
  EXPECT_EQ(audit_.End(changes_), "");
  audit_.Begin(changes_);
  Change("b");
  EXPECT_EQ(audit_.End(changes_), kSilent);
  EXPECT_EQ(audit_.End(changes_), "");
}

TEST_F(ChangeAuditTest, LocksAreNoneOfItsDoing) {
  audit_.Begin(changes_);
  audit_.TouchedByOwner();
  ++changes_;
  EXPECT_EQ(audit_.End(changes_), "");
}

TEST_F(ChangeAuditTest, WholeDatabasesNameNoKeys) {
  audit_.Begin(changes_);
  changes_ += 1000;
  audit_.ToldOfAll();
  EXPECT_EQ(audit_.End(changes_), "");
  audit_.Begin(changes_);
  audit_.ToldOfAll();  // of none
  EXPECT_EQ(audit_.End(changes_), "");
}

// --- a server with such handlers

void Put(CommandCall& call, size_t at) {
  call.db.PutText(call.Key(at), "value", Deadline::None(), call.now);
}

void Forget(CommandCall& call) {
  Put(call, 1);
  call.reply.Ok();
}

void ForgetOne(CommandCall& call) {
  Put(call, 1);
  Put(call, 2);
  call.Changed(kNotifyString, "set", call.args[1]);
  call.reply.Ok();
}

void MakeUp(CommandCall& call) {
  call.Deleted(call.args[1]);
  call.reply.Ok();
}

void Say(CommandCall& call) {
  Put(call, 1);
  call.Changed(kNotifyString, "set", call.args[1]);
  call.reply.Ok();
}

constexpr CommandRow AuditedRow(std::string_view name, int arity, Handler run) {
  return {.name = name,
          .arity = arity,
          .flags = kWrite,
          .keys = KeyRange(1, arity - 2, 1, kKeyRw),
          .run = run,
          .group = "test",
          .summary = "Changes keys."};
}
constexpr CommandRow kAuditedRows[] = {
    AuditedRow("AUDIT.FORGET", 2, Forget),
    AuditedRow("AUDIT.FORGETONE", 3, ForgetOne),
    AuditedRow("AUDIT.MAKEUP", 2, MakeUp),
    AuditedRow("AUDIT.SAY", 2, Say),
};

class ForgetfulServerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!ChangeAudit::kOn) GTEST_SKIP() << "this build does not assert";
  }
  void Run(const std::vector<std::string>& request) { server_.Connect().Run(request); }

  TestEngine server_{{.families = {{"audit", kSpecsOf<kAuditedRows>}}}};
};

TEST_F(ForgetfulServerTest, EndsAndNamesTheCommand) {
  EXPECT_DEATH(Run({"audit.forget", "k"}), "'audit.forget' changes the keyspace and does not");
  EXPECT_DEATH(Run({"audit.forgetone", "k", "l"}), "'audit.forgetone' changes a key of which");
  EXPECT_DEATH(Run({"audit.makeup", "k"}), "'audit.makeup' says that a key has changed");
  EXPECT_DEATH(Run({"eval", "redis.call('audit.forget', 'k')", "0"}), "'audit.forget' changes");
}

TEST_F(ForgetfulServerTest, GoesOnWithHandlersThatSay) {
  EXPECT_EQ(server_.Connect().Run({"audit.say", "k"}).ToText(), "+OK");
  EXPECT_EQ(server_.Connect().Run({"eval", "return redis.call('audit.say', 'l')", "0"}).ToText(),
            "+OK");
}

}  // namespace
}  // namespace sluice
