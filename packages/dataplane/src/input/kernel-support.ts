import { CodedError } from "@bulrush/base";
import { NftError, type NftConnection, type Statement, type TableRef, Transaction } from "@bulrush/nftables";
import type { DataplaneRule, DataplaneWorkloadEndpoint, ToDataplane } from "@bulrush/proto";
import { equals, meta } from "../render/statements.ts";
import { NO_PACKET } from "./readable-rule.ts";

const PROBE: TableRef = { family: "ip", name: "calico-probe" };

/** What anybody who may write a workload or a policy can ask for, and not every kernel has. */
type Ability = "connections" | "packets" | "log";

/** A rule for each part of the kernel that it needs. */
const NEEDS: Readonly<Record<Ability, readonly (readonly Statement[])[]>> = {
  connections: [
    [{ kind: "connlimit", count: 1, over: true }],
    [equals(meta("l4proto"), "tcp"), { kind: "reject", with: "tcp-reset" }],
  ],
  packets: [[{ kind: "limit", rate: 1, unit: "second", burst: 5, over: true }]],
  log: [[{ kind: "log", prefix: "probe", level: "info" }]],
};

const MISSING: Readonly<Record<Ability, string>> = {
  connections: "Bounds of connections do not hold: this kernel has none (nft_connlimit, nft_reject)",
  packets: "Packet rates do not hold: this kernel has none (nft_limit)",
  log: "Rules that log do nothing: this kernel cannot (nft_log)",
};

const CONTROLS: readonly (readonly [ability: Ability, name: string])[] = (["ingress", "egress"] as const).flatMap(
  (direction) =>
    [
      ["connections", `${direction}MaxConnections`],
      ["packets", `${direction}PacketRate`],
    ] as const,
);

/**
 * Takes out of messages what this kernel does not have, where it is asked for by whoever writes workloads and policies: the
 * kernel would refuse the rules of all others with it. None of it lets anything through that policy denies. The kernel is
 * asked when the first message wants it, and `onWarning` is told what it lacks.
 */
export class KernelSupport {
  readonly #nft: NftConnection;
  readonly #onWarning: (message: string) => void;
  readonly #known = new Map<Ability, boolean>();

  constructor(nft: NftConnection, onWarning: (message: string) => void) {
    this.#nft = nft;
    this.#onWarning = onWarning;
  }

  /** The same message, where the kernel has all that it asks for. */
  supported(message: ToDataplane): ToDataplane {
    switch (message.msg) {
      case "WorkloadEndpointUpdate": {
        const controls = this.#controls(message.endpoint.qos_controls);
        if (controls === undefined || controls === message.endpoint.qos_controls) return message;
        return { ...message, endpoint: { ...message.endpoint, qos_controls: controls } };
      }
      case "ActivePolicyUpdate": {
        const { inbound_rules, outbound_rules } = message.policy;
        if (!this.#lacksLog(inbound_rules, outbound_rules)) return message;
        return { ...message, policy: { ...message.policy, ...silent(inbound_rules, outbound_rules) } };
      }
      case "ActiveProfileUpdate": {
        const { inbound_rules, outbound_rules } = message.profile;
        if (!this.#lacksLog(inbound_rules, outbound_rules)) return message;
        return { ...message, profile: silent(inbound_rules, outbound_rules) };
      }
      default:
        return message;
    }
  }

  #controls(controls: DataplaneWorkloadEndpoint["qos_controls"]): DataplaneWorkloadEndpoint["qos_controls"] {
    let left = controls;
    for (const [ability, name] of CONTROLS)
      if ((controls?.[name] ?? 0) > 0 && !this.#has(ability)) left = { ...left, [name]: undefined };
    return left;
  }

  #lacksLog(...lists: readonly (readonly DataplaneRule[])[]): boolean {
    return lists.some((rules) => rules.some(({ action }) => action === "log")) && !this.#has("log");
  }

  #has(ability: Ability): boolean {
    const known = this.#known.get(ability);
    if (known !== undefined) return known;
    const has = this.#ask(NEEDS[ability]);
    if (has === undefined) return true;
    this.#known.set(ability, has);
    if (!has) this.#onWarning(MISSING[ability]);
    return has;
  }

  /** Asks in a transaction that fails whatever the answer: nothing is written. `undefined`: no answer. */
  #ask(rules: readonly (readonly Statement[])[]): boolean | undefined {
    const transaction = new Transaction().addTable(PROBE).addChain(PROBE, "c");
    for (const statements of rules) transaction.addRule(PROBE, "c", { statements });
    transaction.deleteChain(PROBE, "none");
    try {
      this.#nft.run(transaction);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      if (!(error instanceof NftError) || error.failures.length === 0) return undefined;
      return error.failures.every(({ index }) => index === transaction.operations.length - 1);
    }
    return undefined;
  }
}

/** Rules keep their places: their counters are found by them. */
function silent(
  inbound: readonly DataplaneRule[],
  outbound: readonly DataplaneRule[],
): { readonly inbound_rules: readonly DataplaneRule[]; readonly outbound_rules: readonly DataplaneRule[] } {
  const mute = (rule: DataplaneRule): DataplaneRule =>
    rule.action === "log" ? { action: "log", ...NO_PACKET, rule_id: rule.rule_id } : rule;
  return { inbound_rules: inbound.map(mute), outbound_rules: outbound.map(mute) };
}
