import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { ManualClock } from "@bulrush/base";
import { AcceptProbe } from "./accept-probe.ts";

interface Scene {
  readonly clock: ManualClock;
  readonly probe: AcceptProbe;
  readonly server: Server;
  /** Resolves with what the next probe comes to. */
  readonly result: () => Promise<string | undefined>;
}

/** A port that does with connections as it is told, and the probe of it. */
async function scene(t: TestContext, onConnection: (probe: AcceptProbe, socket: Socket) => void): Promise<Scene> {
  const clock = new ManualClock();
  let onResult: (problem: string | undefined) => void = () => {};
  const probe = new AcceptProbe({ clock, onResult: (problem) => onResult(problem) });
  const server = createServer((socket) =>
    onConnection(
      probe,
      socket.on("error", () => {}),
    ),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    probe.stop();
    server.close();
  });
  probe.start(server.address() as AddressInfo);
  return { clock, probe, server, result: () => new Promise((resolve) => (onResult = resolve)) };
}

test("AcceptProbe knows its own connection, and says that all is well", async (t) => {
  const strangers: Socket[] = [];
  const { clock, probe, result } = await scene(t, (own, socket) => {
    if (!own.isOwn(socket)) strangers.push(socket);
  });
  for (let i = 0; i < 3; i++) {
    const next = result();
    await clock.advance(10_000);
    assert.equal(await next, undefined);
  }
  assert.deepEqual(strangers, []);
  probe.stop();
  assert.equal(clock.pending, 0);
});

test("AcceptProbe finds out that connections are closed unseen, and that they are not any more", async (t) => {
  let isBroken = true;
  const seen: (() => void)[] = [];
  const { clock, result } = await scene(t, (own, socket) => {
    if (!isBroken) own.isOwn(socket);
    else socket.destroy();
    seen.shift()?.();
  });
  const failed = result();
  let problem: string | undefined;
  void failed.then((text) => (problem = text));
  // The first failure alone is none. Its end comes in its own time, and only then the next one.
  for (let looks = 0; problem === undefined && looks < 10_000; looks++) {
    await clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.match((await failed) ?? "", /a connection of our own was (closed unseen|.*ECONNRESET)/);
  isBroken = false;
  const mended = result();
  await clock.advance(10_000);
  assert.equal(await mended, undefined);
});

test("AcceptProbe finds out that nobody listens, and that nobody takes what comes", async (t) => {
  const { clock, probe, server, result } = await scene(t, () => {});
  const silent = result();
  // Twice: ten seconds to the next probe, five in which nothing happens.
  await clock.advance(30_000);
  assert.match((await silent) ?? "", /not taken in 5 s/);
  const { address, port, family } = server.address() as AddressInfo;
  server.close();
  probe.start({ address, port, family });
  const refused = result();
  let problem: string | undefined;
  void refused.then((text) => (problem = text));
  for (let looks = 0; problem === undefined && looks < 10_000; looks++) {
    await clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.match(problem ?? "", /ECONNREFUSED/);
});
