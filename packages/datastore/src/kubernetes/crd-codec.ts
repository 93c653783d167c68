import {
  CALICO_CRD_V1,
  CALICO_V3,
  isObject,
  type JsonObject,
  type Resource,
  type ResourceMetadata,
} from "@bulrush/model";
import { withDeletedAsFlag, withDeletedAsText } from "../driver/deleted-field.ts";
import { hasNameOfUser, METADATA_ANNOTATION, nameOfUser } from "../driver/name-of-user.ts";
import { translateUid } from "./uid.ts";

/** Labels and annotations that stand on the stored object itself too, for whoever selects by them. */
const SHOWN_KEY = /projectcalico\.org\/|operator\.tigera\.io\//;

/**
 * A resource as its user wrote it, from the form in which `crd.projectcalico.org/v1` stores it: the metadata of the
 * user is in an annotation, the UID is another one, and a policy of the default tier may have gained a prefix. Others
 * come back as they are, but for the version.
 */
export function readCrd(resource: Resource): Resource {
  if (resource.apiVersion !== CALICO_CRD_V1) return resource;
  const { [METADATA_ANNOTATION]: text, ...shownAnnotations } = stringsOf(resource.metadata.annotations);
  const stored = storedMetadata(text);
  const labels = { ...stringsOf(resource.metadata.labels), ...stringsOf(stored["labels"]) };
  const annotations = { ...shownAnnotations, ...stringsOf(stored["annotations"]) };
  const { uid, creationTimestamp } = resource.metadata;
  const owners = ownerReferences(resource.metadata, CALICO_CRD_V1, CALICO_V3);
  const { labels: _, annotations: __, ...metadataOfStore } = resource.metadata;
  const { labels: ___, annotations: ____, ...metadataOfUser } = stored;
  const metadata: JsonObject = {
    ...metadataOfStore,
    ...metadataOfUser,
    name: nameOfUser(resource, stored["name"]),
    ...(typeof stored["creationTimestamp"] !== "string" && creationTimestamp !== undefined && { creationTimestamp }),
    ...(uid !== undefined && { uid: otherUid(uid) }),
    ...(owners !== undefined && { ownerReferences: owners }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
  const read = { ...resource, apiVersion: CALICO_V3, metadata: metadata as unknown as ResourceMetadata };
  return withDeletedAsFlag(read);
}

/** The form in which `crd.projectcalico.org/v1` stores a v3 resource: what {@link readCrd} reads. */
export function writeCrd(resource: Resource): Resource {
  const {
    name,
    namespace,
    resourceVersion,
    uid,
    managedFields: _,
    ...own
  } = resource.metadata as ResourceMetadata & JsonObject;
  const owners = ownerReferences(resource.metadata, CALICO_V3, CALICO_CRD_V1);
  const labels = shown(own["labels"]);
  const annotations = shown(own["annotations"]);
  const stored = { ...(hasNameOfUser(resource.kind) && { name }), ...own };
  const metadata: JsonObject = {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(uid !== undefined && { uid: otherUid(uid) }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(owners !== undefined && { ownerReferences: owners }),
    annotations: { ...annotations, [METADATA_ANNOTATION]: JSON.stringify(stored) },
  };
  const written = { ...resource, apiVersion: CALICO_CRD_V1, metadata: metadata as unknown as ResourceMetadata };
  return withDeletedAsText(written);
}

/** The fields that only the user can have written: the rest is the store's to say. */
function storedMetadata(text: string | undefined): JsonObject {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return {};
    const { namespace: _, resourceVersion: __, uid: ___, managedFields: ____, ...stored } = value;
    return Object.fromEntries(Object.entries(stored).filter(([, entry]) => entry !== null));
  } catch {
    return {};
  }
}

function ownerReferences(metadata: ResourceMetadata, from: string, to: string): readonly unknown[] | undefined {
  const owners: unknown = (metadata as ResourceMetadata & JsonObject)["ownerReferences"];
  if (!Array.isArray(owners)) return undefined;
  return owners.map((owner: unknown) =>
    isObject(owner) && owner["apiVersion"] === from && typeof owner["uid"] === "string"
      ? { ...owner, apiVersion: to, uid: otherUid(owner["uid"]) }
      : owner,
  );
}

/** A UID that is no UUID is nobody's and stays. */
function otherUid(uid: string): string {
  try {
    return translateUid(uid);
  } catch {
    return uid;
  }
}

function stringsOf(map: unknown): Record<string, string> {
  if (!isObject(map)) return {};
  const entries = Object.entries(map);
  if (entries.every(([, value]) => typeof value === "string")) return map as Record<string, string>;
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function shown(map: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(stringsOf(map)).filter(([key]) => SHOWN_KEY.test(key)));
}
