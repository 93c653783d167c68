import { compareStrings } from "@bulrush/base";
import type { DataplaneRule, IcmpMatch, PortRange, RuleProtocol, ServiceAccountMatch } from "@bulrush/proto";
import type { ProtobufWriter } from "./protobuf-writer.ts";

type Unidentified = Omit<DataplaneRule, "rule_id">;

/**
 * Writes a rule without its id as the message `felix.Rule` (field numbers of felixbackend.proto), in order of field
 * number. What rule ids are hashed over.
 */
export function encodeRule(rule: Unidentified, out: ProtobufWriter): void {
  string(out, 1, rule.action);
  if (rule.ip_version !== "ANY") out.int(2, rule.ip_version);
  protocol(out, 3, rule.protocol);
  strings(out, 4, rule.src_net);
  ports(out, 5, rule.src_ports);
  strings(out, 6, rule.dst_net);
  ports(out, 7, rule.dst_ports);
  icmp(out, 8, 9, rule.icmp);
  strings(out, 10, rule.src_ip_set_ids);
  strings(out, 11, rule.dst_ip_set_ids);
  strings(out, 12, rule.src_named_port_ip_set_ids);
  strings(out, 13, rule.dst_named_port_ip_set_ids);
  strings(out, 15, rule.dst_ip_port_set_ids);
  protocol(out, 102, rule.not_protocol);
  strings(out, 103, rule.not_src_net);
  ports(out, 104, rule.not_src_ports);
  strings(out, 105, rule.not_dst_net);
  ports(out, 106, rule.not_dst_ports);
  icmp(out, 107, 108, rule.not_icmp);
  strings(out, 109, rule.not_src_ip_set_ids);
  strings(out, 110, rule.not_dst_ip_set_ids);
  strings(out, 112, rule.not_src_named_port_ip_set_ids);
  strings(out, 113, rule.not_dst_named_port_ip_set_ids);
  string(out, 114, rule.original_src_selector);
  string(out, 115, rule.original_dst_selector);
  string(out, 116, rule.original_src_namespace_selector);
  string(out, 117, rule.original_dst_namespace_selector);
  string(out, 118, rule.original_not_src_selector);
  string(out, 119, rule.original_not_dst_selector);
  serviceAccount(out, 120, rule.src_service_account_match);
  serviceAccount(out, 121, rule.dst_service_account_match);
  http(out, 122, rule.http_match);
  metadata(out, 123, rule.metadata);
  string(out, 130, rule.original_dst_service);
  string(out, 131, rule.original_dst_service_namespace);
  string(out, 132, rule.original_src_service);
  string(out, 133, rule.original_src_service_namespace);
}

function string(out: ProtobufWriter, field: number, value: string | undefined): void {
  if (value !== undefined && value !== "") out.string(field, value);
}

function strings(out: ProtobufWriter, field: number, values: readonly string[] | undefined): void {
  if (values !== undefined) for (const value of values) out.string(field, value);
}

function protocol(out: ProtobufWriter, field: number, value: RuleProtocol | undefined): void {
  if (value === undefined) return;
  const start = out.begin(field);
  if ("number" in value) out.int(1, value.number);
  else out.string(2, value.name);
  out.end(start);
}

function ports(out: ProtobufWriter, field: number, ranges: readonly PortRange[] | undefined): void {
  if (ranges === undefined) return;
  for (const range of ranges) {
    const start = out.begin(field);
    if (range.first !== 0) out.int(1, range.first);
    if (range.last !== 0) out.int(2, range.last);
    out.end(start);
  }
}

/** The type alone and the type with a code are two members of one oneof: a zero is written too. */
function icmp(out: ProtobufWriter, typeField: number, typeCodeField: number, value: IcmpMatch | undefined): void {
  if (value === undefined) return;
  if (value.code === undefined) {
    out.int(typeField, value.type);
    return;
  }
  const start = out.begin(typeCodeField);
  if (value.type !== 0) out.int(1, value.type);
  if (value.code !== 0) out.int(2, value.code);
  out.end(start);
}

function serviceAccount(out: ProtobufWriter, field: number, value: ServiceAccountMatch | undefined): void {
  if (value === undefined) return;
  const start = out.begin(field);
  string(out, 1, value.selector);
  strings(out, 2, value.names);
  out.end(start);
}

function http(out: ProtobufWriter, field: number, value: Unidentified["http_match"]): void {
  if (value === undefined) return;
  const start = out.begin(field);
  strings(out, 1, value.methods);
  for (const path of value.paths) {
    const inner = out.begin(2);
    if ("exact" in path) out.string(1, path.exact);
    else out.string(2, path.prefix);
    out.end(inner);
  }
  out.end(start);
}

function metadata(out: ProtobufWriter, field: number, value: Unidentified["metadata"]): void {
  if (value === undefined) return;
  const start = out.begin(field);
  for (const [name, text] of [...value.annotations].sort(([a], [b]) => compareStrings(a, b))) {
    const entry = out.begin(1);
    string(out, 1, name);
    string(out, 2, text);
    out.end(entry);
  }
  out.end(start);
}
