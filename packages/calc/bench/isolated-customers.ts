import type { Policy, Update, WorkloadEndpoint } from "@bulrush/model";
import { fresh, newUpdate, nthAddress, profileUpdates } from "./workload.ts";

const LOCAL_PODS = 100;
const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";

/** Text of a length, the same for the same number: unlike for different ones. */
function uniqueText(number: number, salt: number, length: number): string {
  let state = (Math.imul(number + 1, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca6b)) >>> 0;
  let text = "";
  for (let rest = number; text.length < length; rest = Math.floor(rest / 36)) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    // The first places count the number itself, so that no two are equal.
    const at = rest > 0 ? rest % 36 : (state >>> 16) % 36;
    text += ALPHABET.charAt(at);
  }
  return fresh(text);
}

/** The labels of pod `i`: 5 of unique text, 4 binary, 6 with few values. */
export function customerLabels(i: number): Map<string, string> {
  const labels = new Map<string, string>();
  for (const [salt, length] of [20, 20, 10, 20, 8].entries())
    labels.set(fresh(`unique-${salt}`), uniqueText(i, salt, length));
  for (const [bit, name] of ["enabled", "debug", "canary", "managed"].entries())
    labels.set(fresh(name), fresh(String((i >> bit) & 1)));
  labels.set(fresh("environment"), fresh(`environment-${i % 3}`));
  labels.set(fresh("tier"), fresh(`tier-${i % 4}`));
  labels.set(fresh("region"), fresh(`region-${i % 4}`));
  labels.set(fresh("team"), fresh(`team-${i % 5}`));
  labels.set(fresh("managed-by"), fresh("helm"));
  labels.set(fresh("tenant-id"), uniqueText(i % 5000, 9, 10));
  return labels;
}

export function customerPod(i: number, customer: number, hostname: string, address: string): Update {
  const isIPv6 = address.includes(":");
  const nets = [fresh(`${address}/${isIPv6 ? 128 : 32}`)];
  const value: WorkloadEndpoint = {
    state: "active",
    name: fresh(`cali${i}`),
    profile_ids: [fresh(`kns.customer-${customer}`)],
    ipv4_nets: isIPv6 ? [] : nets,
    ipv6_nets: isIPv6 ? nets : [],
    labels: customerLabels(i),
  };
  const workload = fresh(`customer-${customer}/pod-${i}`);
  return newUpdate({ type: "WorkloadEndpoint", hostname, orchestrator: "k8s", workload, endpoint: "eth0" }, value);
}

export function customerProfile(c: number): Update[] {
  return profileUpdates(`kns.customer-${c}`, {
    "pcns.projectcalico.org/name": `customer-${c}`,
    "namespace-id": uniqueText(c, 77, 20),
    production: String(c % 2 === 0),
  });
}

function customerPolicy(c: number): Update {
  const own = `pcns.projectcalico.org/name == 'customer-${c}'`;
  const value: Policy = {
    namespace: fresh(`customer-${c}`),
    tier: "default",
    selector: fresh(own),
    types: ["ingress", "egress"],
    inbound_rules: [{ action: "allow", src_selector: fresh(own) }],
    outbound_rules: [
      { action: "allow", dst_selector: fresh(own) },
      { action: "allow", protocol: "udp", dst_nets: ["10.96.0.10/32"], dst_ports: [53] },
    ],
  };
  const namespace = fresh(`customer-${c}`);
  return newUpdate({ type: "Policy", kind: "NetworkPolicy", namespace, name: "isolate" }, value);
}

/** The cluster of the reference's isolated customers: one namespace, policy and pod each. */
export function isolatedCustomersUpdates(customers: number): Update[] {
  const out: Update[] = [];
  for (let c = 0; c < customers; c++) out.push(customerPolicy(c));
  for (let c = 0; c < customers; c++) out.push(...customerProfile(c));
  const every = customers / LOCAL_PODS;
  const isLocal = (i: number): boolean => i % every === 0;
  for (let i = 0; i < customers; i++) if (!isLocal(i)) out.push(customerPod(i, i, "remotehost", nthAddress(i + 1)));
  for (let i = 0; i < customers; i++) if (isLocal(i)) out.push(customerPod(i, i, "localhost", nthAddress(i + 1)));
  return out;
}
