/** Thrown only on a bug in Bulrush itself. The process ends; the kernel state stays as it is. */
export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

/** Throws an {@link AssertionError} when `condition` is false. The message is built only then. */
export function assert(condition: unknown, message: string | (() => string)): asserts condition {
  if (!condition) throw new AssertionError(typeof message === "string" ? message : message());
}

/** Returns `value`, or throws an {@link AssertionError} when it is `undefined` or `null`. */
export function must<T>(value: T | undefined | null, what: string): T {
  if (value === undefined || value === null) throw new AssertionError(`Expected ${what} to be there`);
  return value;
}

/** Marks the end of an exhaustive switch: a type error while a case is missing, a throw at run time. */
export function unreachable(value: never): never {
  throw new AssertionError(`Unreachable case: ${JSON.stringify(value)}`);
}
