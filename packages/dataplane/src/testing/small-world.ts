import { NFT_ERROR_CODES, NftError } from "@bulrush/nftables";
import type { ToDataplane, WorkloadEndpointUpdate } from "@bulrush/proto";
import { FakeHost } from "./fake-host.ts";
import { IN_SYNC, ipSet, policy, policyId, profile, rule, tier, workload } from "./messages.ts";

/** One pod behind interface "calia", with one policy that looks up one set, and the open profile of its namespace. */

const P = policyId("np/default/p");

export const CALICO = { family: "ip", name: "calico" } as const;

export const SET: ToDataplane = ipSet("s:web", "NET", "10.65.0.2/32", "10.66.0.0/16");
export const POLICY: ToDataplane = policy(P, [rule("allow", { src_ip_set_ids: ["s:web"] })]);
export const PROFILE: ToDataplane = profile("kns.default", [rule("allow")], [rule("allow")]);
export const POD: WorkloadEndpointUpdate = workload("a", {
  mac: "aa:bb:cc:dd:ee:01",
  ipv4_nets: ["10.65.0.7/32"],
  ipv6_nets: ["fd65::7/128"],
  profile_ids: ["kns.default"],
  tiers: [tier("default", [P])],
});
export const WORLD: readonly ToDataplane[] = [SET, POLICY, PROFILE, POD, IN_SYNC];

/** A host with that pod's interface, and one to the outside. */
export function smallHost(): FakeHost {
  const host = new FakeHost();
  host.routes.setLink(2, "eth0");
  host.routes.setLink(5, "calia");
  return host;
}

export function refusal(): NftError {
  return new NftError("Transaction refused", { code: NFT_ERROR_CODES.refused, op: "Run transaction" });
}

export function badListing(): NftError {
  return new NftError("Read failed", { code: NFT_ERROR_CODES.readFailed, op: "Read table" });
}
