#!/usr/bin/python3
"""redis-py: users with rules, what they are refused, and the log of it.   users_redis_py.py port"""
import sys

import redis

NAME = "redis-py-user"


def make(admin):
    assert admin.acl_setuser(NAME, enabled=True, reset=True, passwords=["+pass1", "+pass2"],
                             categories=["+@set", "+@hash", "-@geo"],
                             commands=["+get", "+mget", "-hset"], keys=["cache:*", "objects:*"])
    user = admin.acl_getuser(NAME)
    assert user["enabled"] is True and "on" in user["flags"]
    assert len(user["passwords"]) == 2
    assert set(user["categories"]) >= {"-@all", "+@set", "+@hash"}
    assert {"+get", "+mget", "-hset"} <= set(user["commands"])
    assert NAME in admin.acl_users() and admin.acl_whoami() == "default"
    assert any(line.startswith(f"user {NAME} on ") for line in admin.acl_list())


def be_refused(port, admin):
    assert admin.acl_log_reset()
    client = redis.Redis(port=port, username=NAME, password="pass1", decode_responses=True)
    assert client.get("cache:0") is None
    for refused in (lambda: client.get("violated:0"), lambda: client.hset("cache:0", "a", 1),
                    lambda: client.set("cache:0", 1)):
        try:
            refused()
            raise AssertionError("not refused")
        except redis.exceptions.NoPermissionError:
            pass
    try:
        redis.Redis(port=port, username=NAME, password="wrong").ping()
        raise AssertionError("logged in with a wrong password")
    except redis.ResponseError:  # AuthenticationError in later versions, which is no ResponseError
        pass
    except redis.exceptions.AuthenticationError:
        pass
    log = admin.acl_log()
    assert [entry["reason"] for entry in log] == ["auth", "command", "command", "key"]
    assert log[3]["object"] == "violated:0" and log[3]["client-info"]["user"] == NAME
    assert len(admin.acl_log(count=1)) == 1
    assert admin.acl_log_reset() and admin.acl_log() == []


def others(admin):
    assert "lock" in admin.acl_cat() and "lock.break" in admin.acl_cat("dangerous")
    first, second = admin.acl_genpass(), admin.acl_genpass()
    assert first != second and len(first) == len(second) == 64
    assert len(admin.execute_command("ACL GENPASS", 555)) == 139  # redis-py 4.3 checks `bits` and does not send it
    assert admin.acl_help()
    for no_file in (admin.acl_load, admin.acl_save):
        try:
            no_file()
            raise AssertionError("there is no ACL file")
        except redis.ResponseError:
            pass
    assert admin.acl_deluser(NAME) == 1 and admin.acl_getuser(NAME) is None


def main():
    port = int(sys.argv[1])
    admin = redis.Redis(port=port, decode_responses=True)
    make(admin)
    be_refused(port, admin)
    others(admin)
    print("ok")


main()
