import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { ManualClock } from "@bulrush/base";
import { AcceptProbe } from "./accept-probe.ts";

interface Scene {
  readonly clock: ManualClock;
  readonly probe: AcceptProbe;
  readonly server: Server;
  /** Resolves with what the next probe comes to. */
  readonly result: () => Promise<string | undefined>;
  /** Resolves when the connection of the next probe is over. */
  readonly over: () => Promise<void>;
  /** Addresses to which a probe has connected. */
  readonly dialled: string[];
}

/** A port of 127.0.0.1 that does with connections as it is told, and the probe of it. `noWay`: what connect(2) says of other addresses. */
async function scene(
  t: TestContext,
  onConnection: (probe: AcceptProbe, socket: Socket) => void,
  noWay?: string,
): Promise<Scene> {
  const clock = new ManualClock();
  let onResult: (problem: string | undefined) => void = () => {};
  let onOver: () => void = () => {};
  const dialled: string[] = [];
  const probe = new AcceptProbe({
    clock,
    onResult: (problem) => onResult(problem),
    connect: (host, port) => {
      dialled.push(host);
      const socket = noWay === undefined || host === "127.0.0.1" ? connect({ host, port }) : failing(noWay);
      // After the probe's own look at it.
      process.nextTick(() => socket.on("close", () => onOver()));
      return socket;
    },
  });
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
  return {
    clock,
    probe,
    server,
    dialled,
    result: () => new Promise((resolve) => (onResult = resolve)),
    over: () => new Promise((resolve) => (onOver = resolve)),
  };
}

/** A socket that cannot connect. */
function failing(code: string): Socket {
  const socket = new Socket();
  process.nextTick(() => socket.destroy(Object.assign(new Error(`connect ${code}`), { code })));
  return socket;
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
  const { clock, over, result } = await scene(t, (own, socket) => {
    if (!isBroken) own.isOwn(socket);
    else socket.destroy();
  });
  const failed = result();
  // The first failure alone is none. Its end comes in its own time, and only then the next one.
  const first = over();
  await clock.advance(10_000);
  await first;
  await clock.advance(10_000);
  assert.match((await failed) ?? "", /a connection of our own was (closed unseen|.*ECONNRESET)/);
  isBroken = false;
  const mended = result();
  await clock.advance(10_000);
  assert.equal(await mended, undefined);
});

test("AcceptProbe finds out that nobody listens, and that nobody takes what comes", async (t) => {
  const { clock, probe, server, over, result } = await scene(t, () => {});
  const silent = result();
  // Twice: ten seconds to the next probe, five in which nothing happens.
  await clock.advance(30_000);
  assert.match((await silent) ?? "", /not taken in 5 s/);
  const { address, port, family } = server.address() as AddressInfo;
  server.close();
  probe.start({ address, port, family });
  const refused = result();
  const first = over();
  await clock.advance(10_000);
  await first;
  await clock.advance(10_000);
  assert.match((await refused) ?? "", /ECONNREFUSED/);
});

for (const code of ["EADDRNOTAVAIL", "ENETUNREACH", "EAFNOSUPPORT"])
  test(`AcceptProbe reaches a port of all addresses without IPv6: ${code}`, { timeout: 120_000 }, async (t) => {
    const { clock, probe, server, dialled, result } = await scene(t, (own, socket) => own.isOwn(socket), code);
    const { port } = server.address() as AddressInfo;
    probe.start({ address: "::", port, family: "IPv6" });
    for (let i = 0; i < 2; i++) {
      const next = result();
      await clock.advance(10_000);
      assert.equal(await next, undefined);
    }
    assert.deepEqual(dialled, ["::1", "127.0.0.1", "::1", "127.0.0.1"]);
    // Where there is no way at all nothing is known of the port.
    probe.start({ address: "fd00::7", port, family: "IPv6" });
    for (let i = 0; i < 3; i++) {
      const next = result();
      await clock.advance(10_000);
      assert.equal(await next, undefined);
    }
  });

test("AcceptProbe that gets no socket for want of file descriptors says so", { timeout: 120_000 }, async (t) => {
  const { clock, probe, server, dialled, over, result } = await scene(t, () => {}, "EMFILE");
  const { port } = server.address() as AddressInfo;
  probe.start({ address: "::", port, family: "IPv6" });
  const failed = result();
  const first = over();
  await clock.advance(10_000);
  await first;
  await clock.advance(10_000);
  assert.match((await failed) ?? "", /EMFILE/);
  assert.deepEqual(dialled, ["::1", "::1"]);
});

test("AcceptProbe does not take a stranger with its own port and another address for itself", {
  timeout: 120_000,
}, async (t) => {
  const accepted: Socket[] = [];
  let onAccepted: () => void = () => {};
  const { clock, probe, server, result } = await scene(t, (_, socket) => {
    accepted.push(socket);
    onAccepted();
  });
  const next = (): Promise<void> => new Promise((resolve) => (onAccepted = resolve));
  const { port } = server.address() as AddressInfo;
  const outcome = result();
  const ofProbe = next();
  await clock.advance(10_000);
  await ofProbe;
  const ofStranger = next();
  const localPort = accepted[0]?.remotePort ?? 0;
  const stranger = connect({ host: "127.0.0.1", port, localAddress: "127.0.0.2", localPort });
  t.after(() => stranger.destroy());
  await ofStranger;
  const [own, other] = accepted;
  assert.ok(own !== undefined && other !== undefined);
  t.after(() => other.destroy());
  assert.equal(other.remotePort, localPort);
  assert.equal(probe.isOwn(other), false);
  assert.equal(probe.isOwn(own), true);
  assert.equal(await outcome, undefined);
});
