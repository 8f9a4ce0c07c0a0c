// JSON as it is written: commas, escapes, numbers; and names of any bytes in it.
#include "server/http/text/json_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "server/http/text/shown_name.h"

namespace sluice {
namespace {

using namespace std::string_view_literals;

TEST(JsonText, CommasComeByThemselves) {
  JsonText json;
  json.Object().Field("a", 1).Key("b").Array();
  json.Value(true).Value("x").Array().End().Object().End();
  json.End().Field("c", -1.5).Field("d", uint64_t{18446744073709551615U}).Key("e").Object().End();
  json.End();
  EXPECT_EQ(json.Take(),
            R"({"a":1,"b":[true,"x",[],{}],"c":-1.5,"d":18446744073709551615,"e":{}})");
}

TEST(JsonText, TextsAreEscaped) {
  JsonText json;
  json.Array().Value("\"\\\n\x01<script>\x7f").Value(",").Value("").End();
  EXPECT_EQ(json.Take(), R"(["\"\\\u000a\u0001\u003cscript>\u007f",",",""])");
}

TEST(JsonText, WhatIsNoNumberIsZero) {
  JsonText json;
  json.Array().Value(NAN).Value(INFINITY).Value(0.1).End();
  EXPECT_EQ(json.Take(), "[0,0,0.1]");
}

TEST(ShownName, EachCharacterCanBeSeen) {
  EXPECT_EQ(ShownText("door:17"), "door:17");
  EXPECT_EQ(ShownText("Tür ☂ 鍵"), "Tür ☂ 鍵");
  EXPECT_EQ(ShownText("a\\b"), "a\\\\b");
  EXPECT_EQ(ShownText("\0\n\x7f"sv), "\\x00\\x0a\\x7f");
  EXPECT_EQ(ShownText("\xff\xc3(\xe2\x82"), "\\xff\\xc3(\\xe2\\x82");
  EXPECT_EQ(ShownText("a\u202e"
                      "b\u200d\ufeff\u00a0"),
            "a\\u{202e}b\\u{200d}\\u{feff}\\u{a0}");
  EXPECT_EQ(ShownText("\U000e0041\U0010ffff"), "\\u{e0041}\\u{10ffff}");
  EXPECT_EQ(ShownText("e\u0301\u0302\u0303o\u0301"), "e\u0301\u0302\\u{303}o\u0301");
  EXPECT_EQ(ShownText("\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80"),  // surrogate, beyond the end, NUL
            "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xc0\\x80");
}

// Two names look alike only if they are the same.
TEST(ShownName, NoTwoNamesLookAlike) {
  EXPECT_NE(ShownText("\x01"), ShownText("\\x01"));
  EXPECT_NE(ShownText("\u202e"), ShownText("\\u{202e}"));
  EXPECT_NE(ShownText("\\"), ShownText("\\\\"));
}

TEST(ShownName, LongNamesAreCut) {
  const std::string name(1'000'000, 'x');
  EXPECT_EQ(ShownText(name), std::string(kShownCharactersMax, 'x'));
  EXPECT_LE(ShownText(std::string(1000, '\xff')).size(), kShownCharactersMax * 4);
  JsonText json;
  WriteName(json, name);
  const std::string text = json.Take();
  EXPECT_NE(text.find("\"bytes\":1000000}"), text.npos) << text;  // and no id
}

TEST(ShownName, IdsComeBack) {
  const std::string bytes("\0\xff<script>", 10);
  JsonText json;
  WriteName(json, bytes);
  EXPECT_EQ(json.Take(), R"({"text":"\\x00\\xff\u003cscript>","bytes":10,"id":"AP88c2NyaXB0Pg"})");
  EXPECT_EQ(NameOfId("AP88c2NyaXB0Pg"), bytes);
  EXPECT_EQ(NameOfId(""), "");
  EXPECT_EQ(NameOfId("%"), std::nullopt);
  EXPECT_EQ(NameOfId(std::string(4 * 1024, 'A')), std::nullopt);
}

}  // namespace
}  // namespace sluice
