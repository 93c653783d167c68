import assert from "node:assert/strict";
import { test } from "node:test";
import { formatServerAddress, parseServerAddress, type ServerAddress } from "./server-address.ts";
import { ServerPicker } from "./server-picker.ts";

const [A, B, C] = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"].map(parseServerAddress) as [
  ServerAddress,
  ServerAddress,
  ServerAddress,
];

/** Always the first among equals. */
function firstPicker(nodeName?: string): ServerPicker {
  return new ServerPicker({ random: () => 0, nodeName });
}

function pick(picker: ServerPicker, listed: readonly ServerAddress[], nowMs = 0): string {
  const choice = picker.next(listed, nowMs);
  return choice.type === "server"
    ? formatServerAddress(choice.address)
    : choice.type === "wait"
      ? `wait ${choice.waitMs}`
      : "none";
}

function picks(picker: ServerPicker, listed: readonly ServerAddress[], times: number): string {
  return Array.from({ length: times }, () => pick(picker, listed).slice(-3, -2)).join("");
}

test("next() tries every server before one again, and never one twice in a row", () => {
  assert.equal(picks(firstPicker(), [A, B], 4), "1212");
  assert.equal(picks(firstPicker(), [A, B, C], 6), "123123");
  assert.equal(picks(firstPicker(), [A], 3), "111");
});

test("next() without a server", () => {
  assert.equal(pick(firstPicker(), []), "none");
});

test("next() takes a server of its own node first", () => {
  const listed = [{ ...A, nodeName: "n1" }, { ...B, nodeName: "n2" }, C];
  assert.equal(picks(firstPicker("n2"), listed, 3), "213");
  assert.equal(picks(firstPicker("n9"), listed, 3), "123");
});

test("next() spreads its first choice over the servers", () => {
  const chosen = [0, 0.34, 0.67, 0.999].map((random) =>
    pick(new ServerPicker({ random: () => random }), [A, B, C]).slice(-3, -2),
  );
  assert.deepEqual(chosen, ["1", "2", "3", "3"]);
});

test("pause() keeps from a server until its time", () => {
  const picker = firstPicker();
  picker.pause(A, 5000, 0);
  assert.equal(pick(picker, [A, B], 0), "10.0.0.2:1");
  picker.pause(B, 7000, 0);
  assert.equal(pick(picker, [A, B], 1000), "wait 4000");
  assert.equal(pick(picker, [A, B], 5000), "10.0.0.1:1");
});

test("hint() names the next server, listed or not, but not one that has just failed", () => {
  const picker = firstPicker();
  picker.hint([C]);
  assert.equal(pick(picker, [A, B]), "10.0.0.3:1");
  assert.equal(pick(picker, [A, B]), "10.0.0.1:1");
  picker.hint([C]);
  assert.equal(pick(picker, [A, B]), "10.0.0.2:1", "two servers that name each other are no way to go round and round");
});

test("hasUntried() is true until all were tried, and again after a success", () => {
  const picker = firstPicker();
  pick(picker, [A, B]);
  assert.equal(picker.hasUntried([A, B], 0), true);
  pick(picker, [A, B]);
  assert.equal(picker.hasUntried([A, B], 0), false);
  picker.succeeded(B, 0);
  assert.equal(picker.hasUntried([A, B], 0), true);
  assert.equal(pick(picker, [B, A]), "10.0.0.1:1", "the one that was lost comes last");
});

test("a server that is not listed for five minutes is new again", () => {
  const picker = firstPicker();
  assert.equal(pick(picker, [A, B], 0), "10.0.0.1:1");
  assert.equal(pick(picker, [B, C], 1000), "10.0.0.2:1");
  pick(picker, [B, C], 300_001);
  assert.equal(picker.hasUntried([A], 300_001), true);
});

const ADDRESSES: readonly (readonly [string, ServerAddress | undefined])[] = [
  ["10.0.0.1:5473", { host: "10.0.0.1", port: 5473 }],
  ["typha.calico-system.svc:5473", { host: "typha.calico-system.svc", port: 5473 }],
  ["[fd00::1]:5473", { host: "fd00::1", port: 5473 }],
  ["fd00::1:5473", undefined],
  ["10.0.0.1", undefined],
  ["10.0.0.1:", undefined],
  ["10.0.0.1:0", undefined],
  ["10.0.0.1:65536", undefined],
  [":5473", undefined],
  ["[]:5473", undefined],
  ["a b:1", undefined],
  ["http://a:1", undefined],
  ["", undefined],
];

for (const [text, address] of ADDRESSES)
  test(`parseServerAddress() of ${JSON.stringify(text)}`, () => {
    if (address === undefined) assert.throws(() => parseServerAddress(text), { code: "SYNC_CLIENT_BAD_ADDRESS" });
    else {
      assert.deepEqual(parseServerAddress(text), address);
      assert.equal(formatServerAddress(address), text);
    }
  });

test("next() takes named servers in their order, and none that is in use", () => {
  const picker = new ServerPicker({ random: () => 0.99 });
  const [a, b, c] = ["a", "b", "c"].map((host) => ({ host, port: 1 })) as [ServerAddress, ServerAddress, ServerAddress];
  picker.hint([b, c]);
  assert.deepEqual(picker.next([a, b, c], 0), { type: "server", address: b });
  assert.deepEqual(picker.next([a, b, c], 0, [c]), { type: "server", address: a });
  assert.deepEqual(picker.next([a, b, c], 0), { type: "server", address: c });
  assert.deepEqual(picker.next([a], 0, [a]), { type: "none" });
  picker.pause(b, 500, 0);
  assert.deepEqual(picker.next([a, b], 0, [a]), { type: "wait", waitMs: 500 });
});
