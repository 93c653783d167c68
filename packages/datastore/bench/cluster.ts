import { networkPolicy } from "./network-policy.ts";
import { namespace, NAMESPACES, type Place, placeOf } from "./place.ts";
import { pod } from "./pod.ts";

/** How many of each there are. */
export interface ClusterSize {
  readonly pods: number;
  readonly policies: number;
}

/** One list of the API server. Every object is made anew when it is asked for. */
export interface Collection {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly count: number;
  readonly make: (n: number) => object;
}

/** The revision that every list of the cluster has. */
const LIST_REVISION = "9000000";

/** The lists of the cluster that are not empty. */
export function collectionsOf({ pods, policies }: ClusterSize): readonly Collection[] {
  const placed = (count: number, make: (n: number, place: Place) => object): Pick<Collection, "count" | "make"> => ({
    count,
    make: (n) => make(n, placeOf(n, count)),
  });
  return [
    { path: "/api/v1/pods", apiVersion: "v1", kind: "Pod", ...placed(pods, pod) },
    { path: "/api/v1/namespaces", apiVersion: "v1", kind: "Namespace", count: NAMESPACES, make: namespace },
    {
      path: "/apis/networking.k8s.io/v1/networkpolicies",
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      ...placed(policies, networkPolicy),
    },
  ];
}

/** The objects from `start` on as JSON, at most `limit`, with a comma between. */
export function itemsText({ make, count }: Collection, start: number, limit: number): string {
  const end = Math.min(count, start + limit);
  let text = "";
  for (let n = start; n < end; n++) text += (n === start ? "" : ",") + JSON.stringify(make(n));
  return text;
}

/** A page of a list as the API server answers, all of it where `limit` is not below the count. */
export function pageText(collection: Collection, start: number, limit: number): string {
  const { apiVersion, kind, count } = collection;
  const next = start + limit;
  const rest = next < count ? `,"continue":"${next}","remainingItemCount":${count - next}` : "";
  const metadata = `{"resourceVersion":"${LIST_REVISION}"${rest}}`;
  const items = itemsText(collection, start, limit);
  return `{"kind":"${kind}List","apiVersion":"${apiVersion}","metadata":${metadata},"items":[${items}]}\n`;
}

/** The objects from `start` on as the events of a streamed list, at most `limit`. */
export function eventsText({ apiVersion, kind, make, count }: Collection, start: number, limit: number): string {
  const end = Math.min(count, start + limit);
  let text = "";
  for (let n = start; n < end; n++)
    text += `${JSON.stringify({ type: "ADDED", object: { kind, apiVersion, ...make(n) } })}\n`;
  return text;
}

/** The event that ends a streamed list. */
export function endOfListText({ apiVersion, kind }: Pick<Collection, "apiVersion" | "kind">): string {
  const metadata = { resourceVersion: LIST_REVISION, annotations: { "k8s.io/initial-events-end": "true" } };
  return `${JSON.stringify({ type: "BOOKMARK", object: { kind, apiVersion, metadata } })}\n`;
}
