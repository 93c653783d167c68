import { datastoreCodeOf, type DatastoreWriter, findLegacyData } from "@bulrush/datastore";
import { messageOf } from "@bulrush/base";

/** What `migrate --from-v1` says: what was found, that nothing is done with it, and who can. */
export async function legacyNote(writer: DatastoreWriter, signal: AbortSignal): Promise<string> {
  return [
    await finding(writer, signal),
    "bulrushctl does not convert v1 data (of Calico before version 3), and nothing here does so silently.",
    "What does:",
    "  - a whole datastore: Calico's own upgrade from 2.6 to 3.x (calico-upgrade for etcd; calico/node or Typha of a 3.x release for Kubernetes). Afterwards the datastore is one of v3, and is read as it is.",
    "  - manifests in the form of the old calicoctl (apiVersion: v1, kind: policy): calicoctl convert -f OLD -o yaml, and then bulrushctl apply -f NEW.",
    "Until then Typha stays unready on such a datastore, with the code DATASTORE_LEGACY_DATA.",
  ].join("\n");
}

async function finding(writer: DatastoreWriter, signal: AbortSignal): Promise<string> {
  try {
    const legacy = await findLegacyData(writer, signal);
    if (legacy !== undefined) return `The datastore holds v1 data of Calico ${legacy.version} (${legacy.where}).`;
    return `The ${writer.type} datastore holds no v1 data that says its version.`;
  } catch (error) {
    return `Whether the ${writer.type} datastore holds v1 data cannot be said: ${messageOf(error)} (${datastoreCodeOf(error)}).`;
  }
}
