import { isObject, type JsonObject, type Resource } from "@bulrush/model";

/** Every way to say whether a block affinity is being deleted; what is none of them stays, for validation to name. */
const FLAGS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [true, true],
  ["true", true],
  [false, false],
  ["false", false],
  ["", false],
  [undefined, false],
  [null, false],
]);

/** A block affinity as `projectcalico.org/v3` has it: `deleted` is true or left out. Other kinds as they are. */
export function withDeletedAsFlag(resource: Resource): Resource {
  return withDeleted(resource, (flag) => (flag ? { deleted: true } : {}));
}

/** A block affinity as `crd.projectcalico.org/v1` has it: `deleted` is text, and must stand. Other kinds as they are. */
export function withDeletedAsText(resource: Resource): Resource {
  return withDeleted(resource, (flag) => ({ deleted: String(flag) }));
}

function withDeleted(resource: Resource, write: (flag: boolean) => JsonObject): Resource {
  if (resource.kind !== "BlockAffinity" || !isObject(resource.spec)) return resource;
  const { deleted, ...spec } = resource.spec as JsonObject;
  const flag = FLAGS.get(deleted);
  return flag === undefined ? resource : { ...resource, spec: { ...spec, ...write(flag) } };
}
