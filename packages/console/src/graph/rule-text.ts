import type { Port, Rule } from "@bulrush/model";

/** A rule in a line: `allow tcp from app == 'web' to ports 80, 443`. */
export function ruleText(rule: Rule): string {
  const action = rule.action === undefined || rule.action === "" ? "allow" : rule.action;
  const parts: string[] = [action === "next-tier" ? "pass" : action];
  if (rule.ip_version !== undefined) parts.push(`IPv${rule.ip_version}`);
  if (rule.protocol !== undefined) parts.push(String(rule.protocol));
  if (rule["!protocol"] !== undefined) parts.push(`not ${rule["!protocol"]}`);
  if (rule.icmp_type !== undefined) parts.push(icmpText(rule.icmp_type, rule.icmp_code));
  if (rule["!icmp_type"] !== undefined) parts.push(`not ${icmpText(rule["!icmp_type"], rule["!icmp_code"])}`);
  const from = peerText({
    nets: nets(rule.src_net, rule.src_nets),
    notNets: nets(rule["!src_net"], rule["!src_nets"]),
    selector: rule.src_selector,
    notSelector: rule["!src_selector"],
    ports: rule.src_ports,
    notPorts: rule["!src_ports"],
    service: serviceText(rule.src_service, rule.src_service_ns),
  });
  const to = peerText({
    nets: nets(rule.dst_net, rule.dst_nets),
    notNets: nets(rule["!dst_net"], rule["!dst_nets"]),
    selector: rule.dst_selector,
    notSelector: rule["!dst_selector"],
    ports: rule.dst_ports,
    notPorts: rule["!dst_ports"],
    service: serviceText(rule.dst_service, rule.dst_service_ns),
  });
  if (from !== "") parts.push(`from ${from}`);
  if (to !== "") parts.push(`to ${to}`);
  for (const method of rule.http?.methods ?? []) parts.push(method);
  for (const path of rule.http?.paths ?? [])
    parts.push("exact" in path ? `path ${path.exact}` : `path ${path.prefix}*`);
  return parts.join(" ");
}

interface Peer {
  readonly nets: readonly string[];
  readonly notNets: readonly string[];
  readonly selector: string | undefined;
  readonly notSelector: string | undefined;
  readonly ports: readonly Port[] | undefined;
  readonly notPorts: readonly Port[] | undefined;
  readonly service: string;
}

function peerText({ nets: inside, notNets, selector = "", notSelector = "", ports, notPorts, service }: Peer): string {
  return [
    selector,
    inside.join(", "),
    service,
    ...(notSelector === "" ? [] : [`not (${notSelector})`]),
    ...(notNets.length === 0 ? [] : [`not ${notNets.join(", ")}`]),
    portsText("", ports),
    portsText("not ", notPorts),
  ]
    .filter((part) => part !== "")
    .join(" and ");
}

function portsText(before: string, ports: readonly Port[] = []): string {
  return ports.length === 0 ? "" : `${before}${ports.length === 1 ? "port" : "ports"} ${ports.join(", ")}`;
}

function nets(one: string | undefined, many: readonly string[] = []): readonly string[] {
  return one === undefined || one === "" ? many : [one, ...many];
}

function serviceText(name = "", namespace = ""): string {
  return name === "" ? "" : `service ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

function icmpText(type: number, code: number | undefined): string {
  return `type ${type}${code === undefined ? "" : ` code ${code}`}`;
}
