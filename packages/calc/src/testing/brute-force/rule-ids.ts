import { base64Url, sha224 } from "@bulrush/base";
import type { DataplaneRule } from "@bulrush/proto";
import type { DataplaneState } from "../../state/dataplane-state.ts";

/**
 * The ids that the rules of policies and profiles must have, beside those that they have: of each list a text. What the
 * rules say is compared elsewhere.
 *
 * An id is the start of h(i) = SHA-224(h(i - 1), felix.Rule of rule i without its id), in base64url; h(0) is SHA-224 of
 * the seed. Policies that are not global ones have their kind and namespace in the seed.
 */
export function ruleIds(state: DataplaneState): { readonly actual: RuleIds; readonly expected: RuleIds } {
  const actual: Record<string, string> = {};
  const expected: Record<string, string> = {};
  const add = (seed: string, rules: readonly DataplaneRule[]): void => {
    if (rules.length === 0) return;
    actual[seed] = rules.map((rule) => rule.rule_id).join();
    expected[seed] = chainOf(seed, rules).join();
  };
  for (const { id, policy } of state.policies.values()) {
    const { kind, namespace, name } = id;
    const text = kind === "GlobalNetworkPolicy" ? name : [kind, namespace, name].join("/");
    add(`pol-in-${policy.tier}/${text}`, policy.inbound_rules);
    add(`pol-out-${policy.tier}/${text}`, policy.outbound_rules);
  }
  for (const [name, profile] of state.profiles) {
    add(`prof-in-${name}`, profile.inbound_rules);
    add(`prof-out-${name}`, profile.outbound_rules);
  }
  return { actual, expected };
}

/** By seed. */
export type RuleIds = Readonly<Record<string, string>>;

/** Lists never change: one that was seen has the ids that it had, under the same seed. */
const known = new WeakMap<readonly DataplaneRule[], { readonly seed: string; readonly ids: readonly string[] }>();

function chainOf(seed: string, rules: readonly DataplaneRule[]): readonly string[] {
  const old = known.get(rules);
  if (old?.seed === seed) return old.ids;
  let hash = sha224(seed);
  const ids = rules.map((rule) => {
    hash = sha224(Uint8Array.from([...hash, ...bytesOfRule(rule)]));
    return base64Url(hash).slice(0, 16);
  });
  known.set(rules, { seed, ids });
  return ids;
}

/** What a field of a message may hold: a number, a text, a nested message, or several of one. */
type Field = number | string | undefined | Message | readonly Field[];
/** By field number. */
type Message = ReadonlyMap<number, Field>;

const PORT_FIELDS: readonly (readonly [keyof DataplaneRule, number])[] = [
  ["src_ports", 5],
  ["dst_ports", 7],
  ["not_src_ports", 104],
  ["not_dst_ports", 106],
];

/** Fields that hold a text or texts, by their number in felixbackend.proto. */
const TEXT_FIELDS: readonly (readonly [keyof DataplaneRule, number])[] = [
  ["action", 1],
  ["src_net", 4],
  ["dst_net", 6],
  ["src_ip_set_ids", 10],
  ["dst_ip_set_ids", 11],
  ["src_named_port_ip_set_ids", 12],
  ["dst_named_port_ip_set_ids", 13],
  ["dst_ip_port_set_ids", 15],
  ["not_src_net", 103],
  ["not_dst_net", 105],
  ["not_src_ip_set_ids", 109],
  ["not_dst_ip_set_ids", 110],
  ["not_src_named_port_ip_set_ids", 112],
  ["not_dst_named_port_ip_set_ids", 113],
  ["original_src_selector", 114],
  ["original_dst_selector", 115],
  ["original_src_namespace_selector", 116],
  ["original_dst_namespace_selector", 117],
  ["original_not_src_selector", 118],
  ["original_not_dst_selector", 119],
  ["original_dst_service", 130],
  ["original_dst_service_namespace", 131],
  ["original_src_service", 132],
  ["original_src_service_namespace", 133],
];

function bytesOfRule(rule: DataplaneRule): number[] {
  const fields = new Map<number, Field>();
  for (const [name, number] of TEXT_FIELDS) fields.set(number, rule[name] as string | readonly string[] | undefined);
  for (const [name, number] of PORT_FIELDS) {
    const ranges = rule[name] as DataplaneRule["src_ports"];
    fields.set(
      number,
      ranges?.map(({ first, last }) => message([1, first || undefined], [2, last || undefined])),
    );
  }
  // The families are 4 and 6, and any is the default, which is not written.
  fields.set(2, rule.ip_version === "ANY" ? undefined : rule.ip_version);
  for (const [number, protocol] of [
    [3, rule.protocol],
    [102, rule.not_protocol],
  ] as const)
    if (protocol !== undefined)
      fields.set(number, "number" in protocol ? message([1, protocol.number]) : message([2, protocol.name]));
  for (const [number, icmp] of [
    [8, rule.icmp],
    [107, rule.not_icmp],
  ] as const) {
    if (icmp === undefined) continue;
    if (icmp.code === undefined) fields.set(number, icmp.type);
    else fields.set(number + 1, message([1, icmp.type || undefined], [2, icmp.code || undefined]));
  }
  for (const [number, match] of [
    [120, rule.src_service_account_match],
    [121, rule.dst_service_account_match],
  ] as const)
    if (match !== undefined) fields.set(number, message([1, match.selector], [2, match.names]));
  const { http_match: http, metadata } = rule;
  if (http !== undefined) {
    const paths = http.paths.map((path) => ("exact" in path ? message([1, path.exact]) : message([2, path.prefix])));
    fields.set(122, message([1, http.methods], [2, paths]));
  }
  if (metadata !== undefined) {
    const entries = [...metadata.annotations].sort(([a], [b]) => (a < b ? -1 : 1));
    fields.set(123, message([1, entries.map(([key, value]) => message([1, key], [2, value]))]));
  }
  return bytesOf(fields);
}

function message(...fields: readonly (readonly [number, Field])[]): Message {
  return new Map(fields);
}

/** https://protobuf.dev/programming-guides/encoding/: fields by number; a number is type 0, all others type 2. */
function bytesOf(fields: Message): number[] {
  return [...fields]
    .sort(([a], [b]) => a - b)
    .flatMap(([number, field]) => (isList(field) ? field : [field]).flatMap((one) => bytesOfField(number, one)));
}

function isList(field: Field): field is readonly Field[] {
  return Array.isArray(field);
}

function bytesOfField(number: number, value: Field): number[] {
  if (value === undefined || value === "") return [];
  if (typeof value === "number") return [...varint(number * 8), ...varint(value)];
  const content = typeof value === "string" ? [...new TextEncoder().encode(value)] : bytesOf(value as Message);
  return [...varint(number * 8 + 2), ...varint(content.length), ...content];
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}
