import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { test } from "node:test";
import { must } from "@bulrush/base";
import { hasErrno } from "../errors.ts";
import { openRouteConnection } from "../route/open-route-connection.ts";
import { kernelTests } from "../testing/kernel-tests.ts";
import type { LogMonitor, LogPacket } from "./log-packet.ts";
import { openLogMonitor } from "./open-log-monitor.ts";

const FLOOD = 5000;
const RULES = `table inet t {
  chain out {
    type filter hook output priority 0;
    udp dport 9 log group 1 prefix "DIR0|np/a" snaplen 80
    udp dport 10 log group 2 prefix "DPE|tier"
  }
}`;

interface Watch {
  readonly monitor: LogMonitor;
  readonly packets: LogPacket[];
  lost: number;
  readonly until: (condition: () => boolean) => Promise<void>;
}

function watch(options: { readonly receiveBufferBytes?: number } = {}): Watch {
  let check = (): void => {};
  const state: Watch = {
    packets: [],
    lost: 0,
    monitor: openLogMonitor({
      groups: [1, 2],
      ...options,
      onPackets(packets) {
        state.packets.push(...packets);
        check();
      },
      onLost() {
        state.lost++;
        check();
      },
      onError: (error) => assert.fail(error),
    }),
    until: (condition) =>
      new Promise((resolve) => {
        check = () => {
          if (condition()) resolve();
        };
        check();
      }),
  };
  return state;
}

kernelTests(import.meta.filename, () => {
  const routes = openRouteConnection();
  routes.write({ kind: "change-link", link: "lo", change: { up: true } });
  const lo = must(routes.link("lo"), "lo").index;
  execFileSync("nft", ["-f", "-"], { input: RULES });
  const send = (address: string, port: number): Promise<void> => {
    const socket = createSocket(address.includes(":") ? "udp6" : "udp4");
    return new Promise((resolve) => {
      socket.send("x", port, address, () => socket.close(() => resolve()));
    });
  };

  test("openLogMonitor() tells of packets of both families, by group and prefix", async () => {
    const { monitor, packets, until } = watch();
    await send("127.0.0.1", 9);
    await send("::1", 10);
    await until(() => packets.length >= 2);
    await monitor.close();
    const [first, second] = packets.map(({ sourcePort, ...rest }) => {
      assert.ok((sourcePort ?? 0) > 0);
      return rest;
    });
    const common = { hook: 3, mark: 0, outDevice: lo, protocol: 17 };
    assert.deepEqual(first, {
      ...common,
      group: 1,
      prefix: "DIR0|np/a",
      source: "127.0.0.1",
      destination: "127.0.0.1",
      destinationPort: 9,
    });
    assert.deepEqual(second, {
      ...common,
      group: 2,
      prefix: "DPE|tier",
      source: "::1",
      destination: "::1",
      destinationPort: 10,
    });
  });

  test("openLogMonitor() is refused a group that another has, and gets it once that is closed", async () => {
    const first = watch();
    assert.throws(
      () => watch(),
      (error) => hasErrno(error, "EPERM"),
    );
    await first.monitor.close();
    await watch().monitor.close();
  });

  test("what does not fit the buffer is told as lost, and the monitor goes on", async () => {
    const state = watch({ receiveBufferBytes: 4096 });
    // Nobody reads while the event loop stands still: far more than the buffer holds.
    execFileSync("bash", ["-c", `for i in {1..${FLOOD}}; do echo x > /dev/udp/127.0.0.1/9; done`]);
    await state.until(() => state.lost > 0);
    await send("::1", 10);
    await state.until(() => state.packets.some(({ group }) => group === 2));
    assert.ok(state.packets.length < FLOOD);
    await state.monitor.close();
  });
});
