import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { type Served, serve } from "../testing/listening-server.ts";
import { settingUpdate } from "../testing/updates.ts";
import { certificateFile, clientTls, dial, type TestClient, testHello } from "../testing/websocket-client.ts";

const IS_LONG: boolean = process.env["BULRUSH_LONG_TESTS"] === "1";
const STREAMS = IS_LONG ? 100 : 10;
const SWAPS = IS_LONG ? 60 : 6;
const NEWCOMERS = 3;

/** What is put in the files, in turn: key, certificate, and what is wrong with them, if anything. */
const PAIRS: readonly (readonly [key: string, certificate: string, problem: RegExp | undefined])[] = [
  ["client-both.key", "client-both.crt", undefined],
  ["client-cn.key", "client-both.crt", /key in .*server\.key is not that of the certificate in .*server\.crt/],
  ["server.key", "server.crt", undefined],
  ["client-expired.key", "client-expired.crt", /expired at/],
];

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A fingerprint of the certificate that this client was shown. */
function shownTo(client: TestClient): string {
  const socket = (
    client.socket as unknown as { readonly _socket: { getPeerCertificate(): { fingerprint256: string } } }
  )._socket;
  return socket.getPeerCertificate().fingerprint256;
}

/** Changes come all the time; everybody has all of them before time goes on. */
class Load {
  readonly streams: TestClient[] = [];
  readonly #served: Served;
  #sequence = 0;

  constructor(served: Served) {
    this.#served = served;
  }

  get sequence(): number {
    return this.#sequence;
  }

  async join(count: number): Promise<void> {
    const joined = Array.from({ length: count }, (_, i) =>
      dial(this.#served.port, clientTls("client-cn"), testHello(`stream-${i}`)),
    );
    await Promise.all(joined.map((client) => client.next("status")));
    this.streams.push(...joined);
  }

  /** Ten changes, and all the streams have them. */
  async step(): Promise<void> {
    for (let i = 0; i < 10; i++) {
      this.#sequence++;
      const updates = [settingUpdate(`x=${this.#sequence}@${this.#sequence}`)];
      this.#served.cache.publish({ updates, nowMs: 1 });
      await turn();
    }
    while (!this.streams.every((client) => this.#has(client))) await turn();
  }

  #has({ messages, socket }: TestClient): boolean {
    assert.equal(socket.readyState, socket.OPEN, "a stream ended");
    const last = messages.at(-1);
    return last?.type === "delta" && last.sequence === this.#sequence;
  }
}

test("certificates swapped under load: no stream breaks, newcomers get the new ones, bad ones are refused and named", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "typha-swap-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = (name: string): string => join(directory, name);
  for (const name of ["server.key", "server.crt", "ca.crt"]) copyFileSync(certificateFile(name), file(name));
  const clock = new ManualClock(Date.now());
  // Hours pass on this clock while a handshake is under way, and nobody answers pings.
  const patience = { pingIntervalMs: 1e9, pongTimeoutMs: 1e9, handshakeTimeoutMs: 1e9, writeTimeoutMs: 1e9 };
  const served = await serve({ commonName: "typha-client" }, patience, clock, file);
  const { port, listener, metrics } = served;
  const load = new Load(served);
  await load.join(STREAMS);
  const newcomer = async (): Promise<string> => {
    const client = dial(port, clientTls("client-cn"), testHello("newcomer"));
    await client.next("status");
    const shown = shownTo(client);
    client.socket.terminate();
    return shown;
  };
  const prints = new Map<string, string>([["server.crt", await newcomer()]]);
  let current = "server.crt";
  for (let swap = 0; swap < SWAPS; swap++) {
    const [key, certificate, problem] = PAIRS[swap % PAIRS.length] ?? assert.fail();
    const during = Array.from({ length: NEWCOMERS }, newcomer);
    copyFileSync(certificateFile(key), file("server.key"));
    copyFileSync(certificateFile(certificate), file("server.crt"));
    const isDone = async (): Promise<boolean> => {
      if (problem !== undefined) return problem.test(listener.certificateProblem() ?? "");
      return listener.certificateProblem() === undefined && (await newcomer()) !== prints.get(current);
    };
    do {
      await load.step();
      await clock.advance(10_000);
      await load.step();
    } while (!(await isDone()));
    const shown = await newcomer();
    if (problem === undefined) {
      assert.equal(shown, prints.get(certificate) ?? shown, `swap ${swap}: the new certificate`);
      prints.set(certificate, shown);
      current = certificate;
    } else assert.equal(shown, prints.get(current), `swap ${swap}: the certificate from before`);
    // Each got in, with one or the other.
    for (const seen of await Promise.all(during)) assert.ok([...prints.values()].includes(seen), `swap ${swap}`);
  }
  await load.step();
  for (const { messages } of load.streams) {
    assert.deepEqual(
      messages.filter(({ type }) => type !== "delta").map(({ type }) => type),
      ["welcome", "snapshot-end", "status"],
      "nothing but changes came",
    );
    let at = 0;
    for (const message of messages) {
      if (message.type !== "delta") continue;
      assert.equal(message.fromSequence, at, "without a gap");
      at = message.sequence;
    }
    assert.equal(at, load.sequence);
  }
  const text = await metrics.text();
  const good = Array.from({ length: SWAPS }, (_, i) => PAIRS[i % PAIRS.length]?.[2] === undefined).filter(
    Boolean,
  ).length;
  assert.match(text, new RegExp(`bulrush_typha_certificate_reloads\\{result="reloaded"\\} ${good}\\n`));
  assert.match(text, new RegExp(`bulrush_typha_certificate_reloads\\{result="refused"\\} ${SWAPS - good}\\n`));
});
