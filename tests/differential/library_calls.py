#!/usr/bin/python3
"""Calls cjson, the pattern functions and the table functions of scripts with made-up arguments, on Sluice
and on redis-server, and compares the raw replies, errors included.

  library_calls.py [--server program] [--oracle program] [--seed n] [--rounds n]
"""
import argparse
import pathlib
import random
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

import wire  # noqa: E402
from server import REDIS, SLUICE, Server, first_seed  # noqa: E402

ADDRESS = re.compile(rb"0x[0-9a-f]+")

# Settings are put back: Redis keeps them from script to script.
JSON = """
local set, value = ...
local ok, e = pcall(function()
  local c = cjson.new()
  local settings = loadstring('local c = ... ' .. ARGV[1])
  local before = {pcall(settings, c)}
  for i = 1, #before do before[i] = tostring(before[i]) end
  if ARGV[2] == 'decode' then
    local function show(v, depth)
      if type(v) ~= 'table' then return type(v) .. ':' .. (type(v) == 'number' and
        string.format('%.17g', v) or tostring(v)) end
      local parts = {}
      for k, w in pairs(v) do parts[#parts + 1] = show(k) .. '=' .. show(w) end
      return '{' .. table.concat(parts, ' ') .. '}'
    end
    return {table.concat(before, ' '), show(c.decode(ARGV[3]))}
  end
  return {table.concat(before, ' '), c.encode(assert(loadstring('return ' .. ARGV[3]))())}
end)
return {tostring(ok), type(e) == 'table' and e or tostring(e)}
"""
PATTERN = """
local results = {pcall(string[ARGV[1]], unpack(ARGV, 2))}
if ARGV[1] == 'gmatch' and results[1] then
  local all = {}
  local ok, e = pcall(function()
    for a, b, c in results[2] do
      all[#all + 1] = tostring(a) .. '|' .. tostring(b) .. '|' .. tostring(c)
      if #all > 50 then break end
    end
  end)
  return {table.concat(all, ' '), tostring(e)}
end
for i = 1, #results do results[i] = tostring(results[i]) end
return results
"""
TABLE = """
local t = assert(loadstring('return ' .. ARGV[2]))()
local arguments = {assert(loadstring('return ' .. ARGV[3]))()}
local results = {pcall(table[ARGV[1]], t, unpack(arguments))}
for i = 1, #results do results[i] = tostring(results[i]) end
local parts = {}
for k, v in pairs(t) do parts[#parts + 1] = tostring(k) .. '=' .. tostring(v) end
return {table.concat(results, ' '), table.concat(parts, ' ')}
"""

JSON_WORDS = ["{", "}", "[", "]", ",", ":", " ", "\n", '"', '"a"', '"key":', '""', "\\", "\\n", "\\/",
              '"\\u00e9"', '"\\u0000x"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\ude00"', '"\\ud83dx"',
              '"\\u12"', '"\\q"', '"\\b\\t\\f\\r\\\\"', "true", "false", "null", "tru", "nan", "NaN", "-nan",
              "inf", "-Infinity", "+1", "0x1F", "-0x1p3", "0x", "01", "-01", "1", "-1", "-", "0", "-0",
              "1.5", ".5", "1.", "1e5", "1E-5", "1e", "1e999", "123456789012345", "1234567890123456",
              "12345678901234567890", "0.1", "1x", "1]", "\0", "\x7f", "\x01", "\t", "'", "é"]
SETTINGS = ["", "", "", "return c.encode_sparse_array(true)", "return c.encode_sparse_array(true, 1)",
            "return c.encode_sparse_array(false, 0)", "return c.encode_sparse_array(nil, 3, 2)",
            "return c.encode_sparse_array('on', 2147483647)", "return c.encode_sparse_array(1)",
            "return c.encode_sparse_array(true, -1)", "return c.encode_sparse_array(1, 2, 3, 4)",
            "return c.encode_max_depth(2)", "return c.encode_max_depth(0)", "return c.decode_max_depth(2)",
            "return c.decode_max_depth('x')", "return c.encode_number_precision(3)",
            "return c.encode_number_precision(1)", "return c.encode_number_precision(15)",
            "return c.encode_invalid_numbers(true)", "return c.encode_invalid_numbers('null')",
            "return c.encode_invalid_numbers('maybe')", "return c.decode_invalid_numbers(false)",
            "return c.decode_invalid_numbers('off')", "return c.decode_invalid_numbers('null')",
            "return c.encode_keep_buffer(false)", "return c.encode_keep_buffer()"]
VALUES = ["1", "-1", "0", "-0", "1.5", "0.1", "1/3", "1e15", "1e14", "99999999999999", "123456789012345",
          "1e100", "1e-7", "-1e300", "1/0", "-1/0", "0/0", "12.0", "true", "false", "nil", "cjson.null",
          "''", "'a'", "'\"\\\\/\\n\\0\\31\\127é'", "string.rep('x', 300)", "string.rep('\\n', 300)", "type",
          "coroutine.create(function() end)", "{}", "{1,2,3}", "{1,nil,3}", "{[3]=1}", "{[11]=1}",
          "{[30]=1,[1]=2}", "{[1.5]=1}", "{[0]=1}", "{[-1]=1}", "{[3e9]=1}", "{[1e300]=1}", "{[true]=1}",
          "{[{}]=1}", "{a=1}", "{a={b={c={}}}}", "{{{{}}}}", "{[1]=1,a=2}", "{a=0/0}", "{[1/0]=1}",
          "{1,{2,{3,{'x'}}}}", "{a=type}"]
TEXTS = ["", "a", "aaa", "hello world", "key = value", "[[a]]", "(a(b)c)", "a.b.c", "x=1, y=2", "\0a\0b",
         "THE (quick) fox", "  trim  ", "%d%%", "ab" * 30, "1-2-3", "a\nb"]
PATTERN_WORDS = ["a", "b", ".", "%a", "%d", "%s", "%w", "%W", "%p", "%%", "%.", "%z", "%c", "%x", "%u", "%l", "[a-c]",
                 "[^a]", "[%w_]", "[]", "[^]]", "[a-]", "[%]]", "[a", "(", ")", "()", "(a*)", "(.-)", "*", "+",
                 "-", "?", "^", "$", "%1", "%2", "%b()", "%bxx", "%b", "%f[%w]", "%fx", "%", " ", "o", "=",
                 "(%w+)", "%s*"]
REPLACEMENTS = ["", "x", "%0", "%1", "%2", "%%", "%", "<%0>", "%1%1", "\0"]
LISTS = ["{}", "{1}", "{3,1,2}", "{'b','a','c'}", "{1,'a'}", "{5,4,3,2,1,0,9,8,7,6}", "{1,2,nil,4}", "{[1]=1,[2]=2,[5]=5}",
         "{1,1,1,1,1}", "{a=1}", "{10,3,7,7,2,99,-1,0.5}", "{{},{}}", "{true,false}", "1", "nil",
         "{'x','','xx','x\\0','x\\0a'}"]
TABLE_ARGUMENTS = ["", "nil", "1", "2", "3", "0", "-1", "5, 'x'", "1, 'x'", "'x'", "-2, 'x'", "1, 2, 3", "{}", "type",
                   "function(a, b) return a > b end", "function(a, b) return true end",
                   "function(a, b) return a <= b end", "function(a, b) if b == 2 then return a end end",
                   "function(a, b) error('e') end", "','", "',', 2", "',', 2, 3", "',', 1, 9"]


def json_call(chance):
    setting = chance.choice(SETTINGS)
    if chance.random() < 0.5:
        words = chance.choices(JSON_WORDS, k=chance.randint(1, 8))
        if chance.random() < 0.4:
            words = ["[", words[0], ",", *words[1:], "]"]
        return JSON, setting, "decode", "".join(words)
    value = chance.choice(VALUES)
    while chance.random() < 0.4:
        value = "{" + ",".join([value, *chance.choices(VALUES, k=chance.randint(0, 2))]) + "}"
    return JSON, setting, "encode", value


def pattern_call(chance):
    name = chance.choice(["find", "match", "gmatch", "gsub", "rep"])
    text = chance.choice(TEXTS)
    if name == "rep":
        return PATTERN, name, text, chance.choice(["-1", "0", "1", "2", "3.7", "40", "x"])
    pattern = "".join(chance.choices(PATTERN_WORDS, k=chance.randint(0, 5)))
    extra = []
    if name == "gsub":
        extra = [chance.choice(REPLACEMENTS)]
        if chance.random() < 0.3:
            extra.append(chance.choice(["0", "1", "2", "-1"]))
    elif name != "gmatch" and chance.random() < 0.4:
        extra = [chance.choice(["1", "2", "-1", "-3", "100", "0", "-100"])]
        if chance.random() < 0.3:
            extra.append("1")
    return PATTERN, name, text, pattern, *extra


def table_call(chance):
    name = chance.choice(["insert", "remove", "sort", "concat", "foreach", "foreachi", "maxn", "getn"])
    return TABLE, name, chance.choice(LISTS), chance.choice(TABLE_ARGUMENTS)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", default=SLUICE)
    parser.add_argument("--oracle", default=REDIS)
    parser.add_argument("--seed", type=int, default=first_seed())
    parser.add_argument("--rounds", type=int, default=6000)
    options = parser.parse_args()
    print(f"library_calls.py --seed {options.seed} --rounds {options.rounds}")
    chance = random.Random(options.seed)
    different = 0
    with Server(options.server) as ours, Server(options.oracle) as theirs:
        connections = [wire.Connection(server.connect()) for server in (ours, theirs)]
        for _ in range(options.rounds):
            script, *arguments = chance.choice([json_call, pattern_call, table_call])(chance)
            replies = [ADDRESS.sub(b"0x", repr(connection.call("EVAL", script, "0", *arguments)).encode())
                       for connection in connections]
            if replies[0] != replies[1]:
                different += 1
                print(f"{arguments}\n  ours   {replies[0].decode()}\n  theirs {replies[1].decode()}")
    print(f"{options.rounds} calls, {different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
