import { base64Url, sha224 } from "@bulrush/base";
import type { DataplaneRule, PolicyID } from "@bulrush/proto";
import { encodeRule } from "./encode-rule.ts";
import { ProtobufWriter } from "./protobuf-writer.ts";

/** Characters of a rule id: 96 bits of a SHA-224. */
const ID_LENGTH = 16;

const writer = new ProtobufWriter();

/**
 * What the chain of a policy's rules starts from. For a global policy the reference system's seed; the other kinds add
 * their kind and namespace, so that policies of one name do not share ids.
 */
export function policySeed(direction: "in" | "out", tier: string, id: PolicyID): string {
  const name = id.kind === "GlobalNetworkPolicy" ? id.name : `${id.kind}/${id.namespace}/${id.name}`;
  return `pol-${direction}-${tier}/${name}`;
}

export function profileSeed(direction: "in" | "out", name: string): string {
  return `prof-${direction}-${name}`;
}

/**
 * Gives each rule its id: the start of a hash over the seed, all rules before it and itself. So an id is stable while
 * nothing before it in its list changes, and says where a counter or a log line came from.
 */
export function identifyRules(seed: string, rules: readonly Omit<DataplaneRule, "rule_id">[]): DataplaneRule[] {
  // Most lists are empty: all profiles', one direction of most policies.
  if (rules.length === 0) return [];
  let hash = sha224(seed);
  const out: DataplaneRule[] = [];
  for (const rule of rules) {
    writer.reset();
    writer.raw(hash);
    encodeRule(rule, writer);
    hash = sha224(writer.bytes());
    out.push({ ...rule, rule_id: base64Url(hash).slice(0, ID_LENGTH) });
  }
  return out;
}
