import { randomUUID } from "node:crypto";
import { systemClock } from "@bulrush/base";
import {
  CLUSTER_INFORMATION_ID,
  clusterInformationSpec,
  ensureInitialized,
  findLegacyData,
  legacyDataError,
} from "@bulrush/datastore";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { STORE_NOTE } from "../store/store-note.ts";
import { withWriter } from "../store/with-writer.ts";

/** bulrushctl initialise */
export const initialise: Command = {
  name: "initialise",
  summary: "Create what every datastore needs: ClusterInformation and the tiers",
  usage: ["initialise [--cluster-type TYPE] [--calico-version VERSION]"],
  description: [
    "Creates the ClusterInformation `default` and the tiers `default`, `kube-admin` and `kube-baseline` where they are missing, and leaves what is there. Typha does the same by itself where it may (TYPHA_INITIALISEDATASTORE); this is for the cases where it may only read.",
    STORE_NOTE,
  ],
  options: [
    { name: "cluster-type", value: "TYPE", doc: "Added to the type of the cluster: k8s, bgp, ..., with commas." },
    { name: "calico-version", value: "VERSION", doc: "Set as the version of the cluster. Default: left as it is." },
  ],
  examples: [{ what: "a new cluster, with the rights of an administrator", line: "bulrushctl initialise" }],
  run: runInitialise,
};

async function runInitialise(args: Arguments, io: CommandIo): Promise<number> {
  await withWriter(io, async (writer, signal) => {
    const legacy = await findLegacyData(writer, signal);
    if (legacy !== undefined) throw legacyDataError(legacy);
    await ensureInitialized(writer, {
      version: args.get("calico-version") ?? "",
      clusterType: args.get("cluster-type") ?? "",
      clock: systemClock({ keepAlive: true }),
      signal,
      newGuid: () => randomUUID().replaceAll("-", ""),
    });
    const spec = clusterInformationSpec((await writer.get(CLUSTER_INFORMATION_ID, signal))?.resource);
    const state = spec.datastoreReady === true ? "ready" : "locked (datastoreReady is false)";
    await io.out.write(`The datastore is initialised, cluster ${spec.clusterGUID ?? ""}, ${state}\n`);
  });
  return 0;
}
