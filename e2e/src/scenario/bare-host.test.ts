import assert from "node:assert/strict";
import { test } from "node:test";
import { Explainer, type FlowEnd } from "@bulrush/calc";
import { convertResources } from "@bulrush/datastore";
import { STEPS, TCP_PORTS } from "./bare-host.ts";

const PEERS = { friend: "192.0.2.2", stranger: "192.0.2.3" } as const;
/** Of the failsafe ports those that the scenario tries. */
const FAILSAFE = {
  inbound: [22, 2379].map((port) => ({ protocol: "tcp", port }) as const),
  outbound: [{ protocol: "udp", port: 53 } as const, { protocol: "tcp", port: 2379 } as const],
};

/** The scenario bare-host sends these packets through a kernel; here the same is asked of an explanation. */
for (const { name, resources, open, out, unanswered = [] } of STEPS)
  test(`bare-host is explained as it is: ${name}`, () => {
    const explainer = new Explainer({ failsafe: FAILSAFE });
    explainer.update(convertResources(resources).updates);
    const isThere = resources.some(({ kind }) => kind === "HostEndpoint");
    const bare: FlowEnd = isThere ? { hostEndpoint: "bare/bare-eth0" } : { address: "192.0.2.1" };
    const connects = (source: FlowEnd, destination: FlowEnd, protocol: string, port: number): boolean =>
      explainer.explain({ source, destination, protocol, port }).verdict === "allow";
    for (const [peer, address] of Object.entries(PEERS)) {
      const into = (protocol: string, port: number): boolean => connects({ address }, bare, protocol, port);
      const outOf = (protocol: string, port: number): boolean => connects(bare, { address }, protocol, port);
      for (const port of TCP_PORTS) {
        const isFailsafe = port === 22 || port === 2379;
        // An explanation is of the first packet.
        const isOpen = open === "everything" || isFailsafe || [...open, ...unanswered].includes(`${peer}:${port}`);
        assert.equal(into("tcp", port), isOpen, `${peer} to ${port}`);
      }
      assert.equal(into("udp", 5000), open === "everything", `${peer} by UDP`);
      assert.deepEqual([outOf("tcp", 8081), outOf("udp", 5000)], [out, out], `to ${peer}`);
      assert.deepEqual([outOf("udp", 53), outOf("tcp", 2379)], [true, true], `failsafes to ${peer}`);
    }
  });
