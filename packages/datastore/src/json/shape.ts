/** Which parts of a JSON value are of use. A list has the shape of its entries; what is no container is kept. */
export type Shape = typeof ALL | typeof NOTHING | ObjectShape;

export interface ObjectShape {
  readonly fields: readonly FieldShape[];
  /** The fields that are not among them. */
  readonly rest: typeof ALL | typeof NOTHING;
}

interface FieldShape {
  /** As it stands in a text, in UTF-8. */
  readonly name: Uint8Array;
  readonly shape: Shape;
}

export const ALL = "all";
export const NOTHING = "nothing";

/**
 * These fields of an object and no others. With the type of what is read of it as `T`, a field that somebody reads and
 * that is not here does not compile.
 */
export function only<T extends object>(fields: { readonly [K in keyof Required<T>]: Shape }): ObjectShape {
  return { fields: fieldsOf(fields), rest: NOTHING };
}

/** All of an object, but of these fields what their shape says. */
export function allBut(fields: Readonly<Record<string, Shape>>): ObjectShape {
  return { fields: fieldsOf(fields), rest: ALL };
}

function fieldsOf(fields: Readonly<Record<string, Shape>>): FieldShape[] {
  return Object.entries(fields).map(([name, shape]) => ({ name: Buffer.from(name), shape }));
}
