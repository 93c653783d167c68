import type { Policy, Update } from "@bulrush/model";
import { customerPod, customerProfile } from "./isolated-customers.ts";
import { fresh, ipv4Address, newUpdate } from "./workload.ts";

const LOCAL_PODS = 200;

/** One namespace, profile and policy a customer, several pods each; 200 pods of 200 customers are local. */
export class CustomerCluster {
  readonly customers: number;
  readonly podsEach: number;

  constructor(customers: number, podsEach: number) {
    this.customers = customers;
    this.podsEach = podsEach;
  }

  get pods(): number {
    return this.customers * this.podsEach;
  }

  /** Every so many pods one is local. */
  get localEvery(): number {
    return this.pods / LOCAL_PODS;
  }

  isLocal(i: number): boolean {
    return i % this.localEvery === 0;
  }

  customerOf(i: number): number {
    return Math.floor(i / this.podsEach);
  }

  pod(i: number): Update {
    return customerPod(i, this.customerOf(i), this.isLocal(i) ? "localhost" : "remotehost", ipv4Address(i + 1));
  }

  /** `port` is where the customer's pods may be reached. */
  policy(c: number, port = 8080): Update {
    const own = `pcns.projectcalico.org/name == 'customer-${c}'`;
    const namespace = fresh(`customer-${c}`);
    const value: Policy = {
      namespace,
      tier: "default",
      selector: fresh(own),
      types: ["ingress", "egress"],
      inbound_rules: [
        { action: "allow", protocol: "tcp", src_selector: fresh(`${own} && enabled == '1'`), dst_ports: [port] },
      ],
      outbound_rules: [
        { action: "allow", dst_selector: fresh(own) },
        { action: "allow", protocol: "udp", dst_nets: ["10.96.0.10/32"], dst_ports: [53] },
      ],
    };
    return newUpdate({ type: "Policy", kind: "NetworkPolicy", namespace, name: "isolate" }, value);
  }

  *updates(): Generator<Update> {
    for (let c = 0; c < this.customers; c++) yield this.policy(c);
    for (let c = 0; c < this.customers; c++) yield* customerProfile(c);
    for (let i = 0; i < this.pods; i++) if (!this.isLocal(i)) yield this.pod(i);
    for (let i = 0; i < this.pods; i += this.localEvery) yield this.pod(i);
  }

  localPods(): number[] {
    return Array.from({ length: LOCAL_PODS }, (_, n) => n * this.localEvery);
  }

  /** The pods of other hosts in the namespaces that have a pod here. */
  remotePodsOfActive(): number[] {
    const out: number[] = [];
    for (const local of this.localPods()) {
      const first = this.customerOf(local) * this.podsEach;
      for (let i = first; i < first + this.podsEach; i++) if (!this.isLocal(i)) out.push(i);
    }
    return out;
  }
}
