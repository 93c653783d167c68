import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hasErrno, isAlreadyExists, isNotFound, NETLINK_ERROR_CODES, NetlinkError } from "./errors.ts";
import { errnoName } from "./system/errno.ts";

test("README lists every error code, and no other", () => {
  const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const listed = [...readme.matchAll(/^\| `(NETLINK_[A-Z_]+)` /gm)].map(([, code]) => code);
  assert.deepEqual(new Set(listed), new Set(Object.values(NETLINK_ERROR_CODES)));
});

test("isNotFound() and isAlreadyExists() look at the errno", () => {
  const error = (name: string): NetlinkError =>
    new NetlinkError("x", { code: "NETLINK_REFUSED", op: "x", errno: 1, errnoName: name });
  for (const name of ["ENOENT", "ESRCH", "ENODEV", "EADDRNOTAVAIL"]) assert.ok(isNotFound(error(name)), name);
  assert.ok(isAlreadyExists(error("EEXIST")));
  assert.ok(!isNotFound(error("EEXIST")));
  assert.ok(hasErrno(error("EBUSY"), "EPERM", "EBUSY"));
  assert.ok(!hasErrno(new Error("EBUSY"), "EBUSY"));
});

test("errnoName() knows the errnos that netlink answers with", () => {
  const names = {
    2: "ENOENT",
    11: "EAGAIN",
    16: "EBUSY",
    17: "EEXIST",
    23: "ENFILE",
    34: "ERANGE",
    40: "ELOOP",
    85: "ERESTART",
    90: "EMSGSIZE",
    95: "EOPNOTSUPP",
    105: "ENOBUFS",
  };
  for (const [number, name] of Object.entries(names)) assert.equal(errnoName(Number(number)), name);
  assert.equal(errnoName(999), "E999");
});
