import { hash } from "node:crypto";
import { CALICO_V3, kindFacts } from "@bulrush/model";
import type { ResourceId } from "../../driver/writer.ts";

/** NAME_MAX of Linux's file systems, less room for a number. */
const MAX_NAME_BYTES = 240;

/**
 * Where a new resource goes, below the directory: `networkpolicies/shop.web.yaml`, `tiers/platform.yaml`; kinds that are
 * not Calico's under their plural and group, `networkpolicies.networking.k8s.io/shop.web.yaml`.
 *
 * @param turn From 1: another name, for when there is such a file already.
 */
export function newFilePath({ apiVersion, kind, namespace, name }: ResourceId, turn: number): string {
  const plural = kindFacts(apiVersion, kind)?.plural ?? kind.toLowerCase();
  const group = apiVersion === CALICO_V3 || !apiVersion.includes("/") ? "" : `.${apiVersion.split("/")[0]}`;
  const full = namespace === "" ? name : `${namespace}.${name}`;
  const short = full.length <= MAX_NAME_BYTES ? full : `${full.slice(0, 200)}-${hash("sha256", full).slice(0, 16)}`;
  return `${plural}${group}/${short}${turn > 1 ? `-${turn}` : ""}.yaml`;
}
