import { boolean, integer, listOf, mapOf, object, type ObjectShape, oneOf, text } from "./shape.ts";

const CIDR = text({ formats: ["cidr"] });

export const ipamBlockSpec: ObjectShape = object(
  {
    cidr: CIDR,
    affinity: text({ nullable: true, about: "Whose the block is: host:<node> or virtual:<name>." }),
    affinityClaimTime: text({ nullable: true, formats: ["date-time"] }),
    allocations: listOf(integer(undefined, undefined, { nullable: true }), {
      about: "By ordinal: which of the attributes, or null for an address that is free.",
    }),
    unallocated: listOf(integer(), { about: "Ordinals that are free, the next one first." }),
    attributes: listOf(
      object({
        handle_id: text({ nullable: true }),
        secondary: mapOf(text(), { nullable: true }),
        alternate: mapOf(text(), { nullable: true }),
        alternateOwnerAttrs: mapOf(text(), { nullable: true }),
        releasedAt: text({ nullable: true }),
      }),
    ),
    sequenceNumber: integer(),
    sequenceNumberForAllocation: mapOf(integer()),
    deleted: boolean(),
    strictAffinity: boolean(),
  },
  { required: ["cidr", "allocations", "unallocated", "attributes"] },
);

export const ipamHandleSpec: ObjectShape = object(
  { handleID: text(), block: mapOf(integer(), { about: "By block: how many addresses." }), deleted: boolean() },
  { required: ["handleID", "block"] },
);

export const ipamConfigSpec: ObjectShape = object(
  {
    strictAffinity: boolean({ about: "No host takes addresses from the block of another." }),
    autoAllocateBlocks: boolean({ about: "A host that needs a block takes one." }),
    maxBlocksPerHost: integer(0, 1_000_000, { about: "0: no limit." }),
    ipCooldownSeconds: integer(0, undefined, { about: "How long an address stays unused after its release." }),
  },
  { required: ["strictAffinity", "autoAllocateBlocks"] },
);

const blockAffinitySpec: ObjectShape = object(
  {
    state: oneOf(["pending", "confirmed", "pendingDeletion", ""]),
    node: text({ minLength: 1 }),
    type: text(),
    cidr: CIDR,
  },
  { required: ["state", "node", "cidr"] },
);

/** `deleted` is text in the older group, and true or false in the newer one. */
export const blockAffinitySpecV1: ObjectShape = object(
  { ...blockAffinitySpec.fields, deleted: text() },
  { required: [...(blockAffinitySpec.required ?? []), "deleted"] },
);
export const blockAffinitySpecV3: ObjectShape = object(
  { ...blockAffinitySpec.fields, deleted: boolean() },
  { required: blockAffinitySpec.required ?? [] },
);
/** What a reader takes in either group: a manifest may have come from the other one. */
export const blockAffinitySpecRead: ObjectShape = object(
  { ...blockAffinitySpec.fields, deleted: boolean({ orText: true }) },
  { required: blockAffinitySpec.required ?? [] },
);
