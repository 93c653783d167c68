import type { Update } from "@bulrush/model";
import { snapshotEndpoint, tagPolicy } from "./snapshot.ts";
import { ipv4Address, profileUpdates } from "./workload.ts";

const LOCAL_ENDPOINTS = 200;
const NAMESPACES = 100;

/** A cluster of the snapshot family with IPv4 addresses: policies by marker label, all in use on this host. */
export class TagCluster {
  readonly remote: number;
  readonly policies: number;

  constructor(remote: number, policies: number) {
    this.remote = remote;
    this.policies = policies;
  }

  /** Endpoint `i`: the local ones come after the remote ones. */
  endpoint(i: number): Update {
    return snapshotEndpoint(i, i + 1, i < this.remote ? "remotehost" : "localhost", ipv4Address(i + 1));
  }

  *updates(): Generator<Update> {
    for (let i = 0; i < this.policies; i++) yield tagPolicy(i);
    for (let i = 0; i < NAMESPACES; i++)
      yield* profileUpdates(`kns.namespace-${i}`, { "pcns.projectcalico.org/name": `namespace-${i}` });
    for (let i = 0; i < this.remote + LOCAL_ENDPOINTS; i++) yield this.endpoint(i);
  }

  /** Of the endpoints on this host. */
  localIndices(): number[] {
    return Array.from({ length: LOCAL_ENDPOINTS }, (_, i) => this.remote + i);
  }
}
