import { convertResources } from "@bulrush/datastore";
import { CALICO_V3, formatKey, type Key, type Resource, type SyncerType, type Value } from "@bulrush/model";
import { hashValue } from "@bulrush/proto";
import type { KubeAdmin, KubeObject } from "../kube/kube-admin.ts";
import { contentsOf } from "../lab/contents.ts";

/** Keys to hashes of contents, for each type of syncer. */
export type Wanted = Readonly<Record<SyncerType, ReadonlyMap<string, string>>>;

/** What the felix syncer makes nothing of, and the others do. */
const RAW = ["BGPFilter", "CalicoNodeStatus"] as const;

/** What of felix's keys a syncer of another type has as well. */
const SHARED: Readonly<Record<Exclude<SyncerType, "felix">, (key: Key) => boolean>> = {
  bgp: (key) =>
    key.type === "IPPool" || (key.type === "Resource" && ["Node", "BGPConfiguration", "BGPPeer"].includes(key.kind)),
  "tunnel-ip-allocation": (key) => key.type === "IPPool" || (key.type === "Resource" && key.kind === "Node"),
  "node-status": () => false,
};

/**
 * What each syncer should have told by now, from a list of everything that was read by other means than a driver's.
 *
 * @param felix What the felix syncer reads.
 */
export async function freshList(admin: KubeAdmin, felix: readonly Resource[]): Promise<Wanted> {
  const { updates } = convertResources(felix);
  const of = (list: readonly { readonly key: Key; readonly value: Value | undefined }[]): Map<string, string> =>
    new Map(
      list.map(({ key, value }) => {
        const path = formatKey(key);
        return [path, Buffer.from(hashValue(path, contentsOf(value)), "latin1").toString("hex")];
      }),
    );
  const [filters = [], statuses = []] = await Promise.all(RAW.map((kind) => listRaw(admin, kind)));
  const affinities = (await admin.list(CALICO_V3, "BlockAffinity")).map(affinityOf);
  return {
    felix: of(updates),
    bgp: of([...updates.filter(({ key }) => SHARED.bgp(key)), ...filters, ...affinities]),
    "tunnel-ip-allocation": of(updates.filter(({ key }) => SHARED["tunnel-ip-allocation"](key))),
    "node-status": of(statuses),
  };
}

async function listRaw(admin: KubeAdmin, kind: (typeof RAW)[number]): Promise<{ key: Key; value: Value }[]> {
  const items = await admin.list(CALICO_V3, kind);
  return items.map((item) => {
    const value = { ...item, apiVersion: CALICO_V3, kind } as unknown as Resource;
    return { key: { type: "Resource", kind, namespace: "", name: value.metadata.name }, value };
  });
}

function affinityOf(object: KubeObject): { key: Key; value: Value } {
  const { node, cidr, state } = object["spec"] as {
    readonly node: string;
    readonly cidr: string;
    readonly state: string;
  };
  return { key: { type: "BlockAffinity", affinityType: "host", host: node, cidr }, value: { state } };
}
